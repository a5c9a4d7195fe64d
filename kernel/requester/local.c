// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * local.c - WQEs that send nothing: bind, register, invalidate.
 *
 * Called by transmit.c when the turn of a WQE has come: all WQEs before it
 * have been sent (with a fence: answered), and none behind it. A WQE is carried out once, and
 * completes when all WQEs before it have. Touches keys, through translate/.
 */
#include "requester_private.h"

static int execute(struct pavo_qp *qp, const struct pavo_swqe *wqe)
{
	struct pavo_rkm_request *request = &qp->req.side.inval;

	switch (wqe->op) {
	case PAVO_WQE_LOCAL_INV:
		return pavo_key_invalidate_local(qp, wqe->imm, request);
	case PAVO_WQE_BIND_MW:
		return pavo_mw_bind(qp, wqe->bind, request);
	case PAVO_WQE_REG_MR:
		return pavo_mr_fast_reg(qp, wqe->bind);
	default:
		return 0;
	}
}

/*
 * pavo_local_execute - carry out a WQE that sends nothing.
 *
 * Return: 0, a positive enum pavo_vendor_err, or -ENOMEM: try again.
 * PAVO_VE_WAIT: call again for the WQE when the QP's work runs.
 */
int pavo_local_execute(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_rkm_request *request = &qp->req.side.inval;
	bool back = pavo_rkm_came_back(request);
	int err;

	/* The running walk may be for an earlier WQE, which was flushed meanwhile. */
	if (!back && request->state == PAVO_RKM_WAITING)
		return PAVO_VE_WAIT;
	if (wqe->flags & PAVO_SWQE_WAITS) {
		wqe->flags &= ~PAVO_SWQE_WAITS;
		return 0;
	}
	err = execute(qp, wqe);
	if (err == PAVO_VE_WAIT)
		wqe->flags |= PAVO_SWQE_WAITS;
	return err;
}

/*
 * pavo_local_end_read - invalidate the key of a read with invalidation that was answered; it
 * completes after that.
 *
 * Return: 0, a positive enum pavo_vendor_err, or PAVO_VE_WAIT: call again when the QP's work
 * runs.
 */
int pavo_local_end_read(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_rkm_request *request = &qp->req.side.inval;
	int err;

	if (!pavo_rkm_came_back(request) && request->state == PAVO_RKM_WAITING)
		return PAVO_VE_WAIT;
	if (wqe->flags & PAVO_SWQE_WAITS) {
		wqe->flags &= ~(PAVO_SWQE_WAITS | PAVO_SWQE_READ_INV);
		return 0;
	}
	err = pavo_key_invalidate_local(qp, wqe->imm, request);
	if (err == PAVO_VE_WAIT)
		wqe->flags |= PAVO_SWQE_WAITS;
	else
		wqe->flags &= ~PAVO_SWQE_READ_INV;
	return err;
}
