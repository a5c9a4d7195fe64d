// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * complete.c - completions of send WQEs, in posting order, and the end of a
 * QP's requester in error.
 *
 * The only writer of req->tail. Called with the side owned.
 */
#include "requester_private.h"
#include "qp/comp_cntr.h"

/* Count a send WQE that completes in error. */
static void count_send_error(struct pavo_qp *qp, enum pavo_status status)
{
	pavo_count(qp, req_cqe_error);
	if (status == PAVO_ST_FLUSHED)
		pavo_count(qp, req_cqe_flush_error);
	else if (status == PAVO_ST_PEER_ACCESS)
		pavo_count(qp, req_remote_access_errors);
	else if (status == PAVO_ST_PEER_INVALID)
		pavo_count(qp, req_remote_invalid_request);
}

/* The operation that completion counters count a WQE as. */
static enum pavo_comp_op get_comp_op(u8 op)
{
	switch (op) {
	case PAVO_WQE_SEND:
	case PAVO_WQE_SEND_IMM:
	case PAVO_WQE_SEND_INV:
		return PAVO_COMP_SEND;
	case PAVO_WQE_READ:
		return PAVO_COMP_READ;
	case PAVO_WQE_WRITE:
	case PAVO_WQE_WRITE_IMM:
		return PAVO_COMP_WRITE;
	default:
		return PAVO_COMP_NONE;
	}
}

/*
 * Complete the oldest WQE. Here @status becomes the status of a completion.
 * @of_key: @status is of the key that the WQE was to change
 */
static void complete_wqe(struct pavo_qp *qp, enum pavo_status status,
			 bool of_key)
{
	const struct pavo_status_codes *codes = pavo_status_codes(status);
	struct pavo_requester *req = &qp->req;
	const struct pavo_swqe *wqe = pavo_get_swqe(req, req->tail);
	struct pavo_cqe cqe = {
		.qpn = qp->ib.qp_num,
		.wqe = req->tail,
		.byte_len = wqe->length,
		.status = of_key ? codes->wc_key : codes->wc,
		.vendor_err = codes->vendor,
		.opcode = wqe->op,
	};

	if (unlikely(wqe->flags & PAVO_SWQE_CLAIMS))
		pavo_sgl_release(qp, wqe);
	if (unlikely(status))
		count_send_error(qp, status);
	pavo_comp_count(qp, get_comp_op(wqe->op), !status);
	if (status || wqe->flags & PAVO_WQE_SIGNALED)
		pavo_cq_push(qp->send_cq, &cqe, false);
	/* Frees the slot for kernel consumers; pairs with the acquire in post_send_wr(). */
	smp_store_release(&req->tail, req->tail + 1);
}

static void complete_oldest(struct pavo_qp *qp, enum pavo_status status)
{
	u8 op = pavo_get_swqe(&qp->req, qp->req.tail)->op;

	complete_wqe(qp, status, pavo_op_is_local(op));
}

/*
 * Invalidate the key of the oldest WQE, a read with invalidation.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: for a walk; or why it failed: the WQE is completed in error.
 */
static enum pavo_status invalidate_read_key(struct pavo_qp *qp,
					    struct pavo_swqe *wqe)
{
	enum pavo_status status = pavo_local_end_read(qp, wqe);

	if (status && status != PAVO_ST_WAIT) {
		complete_wqe(qp, status, true);
		pavo_qp_error(qp, -1);
	}
	return status;
}

/* pavo_complete_acked - complete all WQEs whose last PSN is before UPSN. */
void pavo_complete_acked(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	while (req->tail != req->numbered) {
		struct pavo_swqe *wqe = pavo_get_swqe(req, req->tail);

		if (!pavo_recovery_completes(&req->recovery, wqe->first_psn,
					     wqe->npkts))
			break;
		if (unlikely(wqe->flags & PAVO_SWQE_READ_INV) &&
		    invalidate_read_key(qp, wqe))
			return;
		complete_oldest(qp, PAVO_ST_OK);
	}
	if (unlikely(req->notify_drained) && pavo_requester_idle(qp)) {
		req->notify_drained = false;
		pavo_qp_drained(qp);
	}
}

/*
 * pavo_complete_bad - if the oldest WQE is bad, move the QP to Error or SQE and complete the
 * WQE in error. The state changes first: a consumer that sees the completion may query or
 * modify the QP.
 */
void pavo_complete_bad(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	const struct pavo_swqe *wqe = pavo_get_swqe(req, req->tail);

	if (req->tail == req->head || !wqe->status)
		return;
	pavo_qp_send_error(qp);
	complete_oldest(qp, wqe->status);
}

/*
 * pavo_complete_fatal - the request with PSN @psn failed: flush the WQEs before it that are
 * not complete, complete it with @status, and move the QP to Error.
 */
void pavo_complete_fatal(struct pavo_qp *qp, u32 psn, enum pavo_status status)
{
	struct pavo_requester *req = &qp->req;

	while (req->tail != req->numbered) {
		const struct pavo_swqe *wqe = pavo_get_swqe(req, req->tail);

		if (!pavo_psn_is_passed(psn, wqe->first_psn, wqe->npkts)) {
			complete_oldest(qp, status);
			break;
		}
		complete_oldest(qp, PAVO_ST_FLUSHED);
	}
	pavo_qp_error(qp, -1);
}

/*
 * pavo_complete_flush - in Error and SQE: complete all posted WQEs as flushed,
 * also those that were not parsed yet.
 *
 * Return: the rest of @budget, in WQEs.
 */
unsigned int pavo_complete_flush(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_requester *req = &qp->req;

	pavo_recovery_flush(&req->recovery);
	req->pause = 0;
	for (;;) {
		while (budget && req->tail != req->head) {
			complete_oldest(qp, PAVO_ST_FLUSHED);
			budget--;
		}
		budget = pavo_schedule(qp, budget);
		if (!budget || req->tail == req->head)
			break;
	}
	req->numbered = req->tail;
	req->cursor = (struct pavo_tx_cursor){ .wqe = req->tail };
	return budget;
}

void pavo_requester_recover(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	/* A budget for all: each WQE is taken and completed, and the ring has @count of them. */
	rcu_read_lock();
	pavo_complete_flush(qp, 2 * req->count);
	rcu_read_unlock();
	/* Skip the PSNs of flushed WQEs: to the peer their packets were lost. */
	pavo_recovery_skip(&req->recovery);
}
