// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * local.c - WQEs that send nothing: bind, register, invalidate.
 *
 * Called by transmit.c when the cursor is at such a WQE: all WQEs before it
 * have been sent (with a fence: answered), and none behind it. A WQE is carried out once, and
 * completes when all WQEs before it have. Touches keys, through memory/.
 */
#include "requester_private.h"

static enum pavo_status execute_local_op(struct pavo_qp *qp,
					 const struct pavo_swqe *wqe)
{
	struct pavo_rkm_request *request = &qp->req.side.inval;

	switch (wqe->op) {
	case PAVO_WQE_LOCAL_INV:
		return pavo_key_invalidate_local(&qp->key_state, wqe->imm,
						 request);
	case PAVO_WQE_BIND_MW:
		return pavo_mw_bind(&qp->key_state, wqe->bind, request);
	case PAVO_WQE_REG_MR:
		return pavo_mr_fast_reg(&qp->key_state, wqe->bind);
	default:
		return PAVO_ST_OK;
	}
}

/*
 * pavo_local_execute - carry out a WQE that sends nothing.
 *
 * Return: PAVO_ST_OK; PAVO_ST_BUSY: to be repeated after a pause; PAVO_ST_WAIT: to be repeated
 * when the QP's work runs; or why it failed.
 */
enum pavo_status pavo_local_execute(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_rkm_request *request = &qp->req.side.inval;
	bool back = pavo_rkm_has_come_back(request);
	enum pavo_status status;

	/* The running walk may be for an earlier WQE, which was flushed meanwhile. */
	if (!back && request->state == PAVO_RKM_WAITING)
		return PAVO_ST_WAIT;
	if (wqe->flags & PAVO_SWQE_WAITS) {
		wqe->flags &= ~PAVO_SWQE_WAITS;
		return PAVO_ST_OK;
	}
	status = execute_local_op(qp, wqe);
	if (status == PAVO_ST_WAIT)
		wqe->flags |= PAVO_SWQE_WAITS;
	return status;
}

/*
 * pavo_local_end_read - invalidate the key of an answered read with invalidation. The WQE
 * completes after that.
 *
 * Return: as pavo_local_execute().
 */
enum pavo_status pavo_local_end_read(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_rkm_request *request = &qp->req.side.inval;
	enum pavo_status status;

	if (!pavo_rkm_has_come_back(request) &&
	    request->state == PAVO_RKM_WAITING)
		return PAVO_ST_WAIT;
	if (wqe->flags & PAVO_SWQE_WAITS) {
		wqe->flags &= ~(PAVO_SWQE_WAITS | PAVO_SWQE_READ_INV);
		return PAVO_ST_OK;
	}
	status = pavo_key_invalidate_local(&qp->key_state, wqe->imm, request);
	if (status == PAVO_ST_WAIT)
		wqe->flags |= PAVO_SWQE_WAITS;
	else
		wqe->flags &= ~PAVO_SWQE_READ_INV;
	return status;
}
