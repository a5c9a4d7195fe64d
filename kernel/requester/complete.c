// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * complete.c - completions of send WQEs, in posting order, and the end of a
 * QP's requester in error.
 *
 * The only writer of req->tail. Called with the side owned.
 */
#include "requester_private.h"

static enum ib_wc_status status_of(u8 op, enum pavo_vendor_err vendor)
{
	const struct pavo_xlate_codes *codes = pavo_xlate_vendor(vendor);

	if (codes->status != IB_WC_GENERAL_ERR)
		return pavo_op_is_local(op) ? codes->bind : codes->status;
	switch (vendor) {
	case PAVO_VE_MW_BIND:
	case PAVO_VE_MW_RANGE:
		return IB_WC_MW_BIND_ERR;
	case PAVO_VE_WQE_LENGTH:
		return IB_WC_LOC_LEN_ERR;
	default:
		return IB_WC_LOC_QP_OP_ERR;
	}
}

/* Complete the oldest WQE. */
static void complete_oldest(struct pavo_qp *qp, enum ib_wc_status status,
			    enum pavo_vendor_err vendor)
{
	struct pavo_requester *req = &qp->req;
	const struct pavo_swqe *wqe = pavo_swqe(req, req->tail);
	struct pavo_cqe cqe = {
		.qpn = qp->ib.qp_num,
		.wqe = req->tail,
		.byte_len = wqe->length,
		.status = status,
		.vendor_err = vendor,
		.opcode = wqe->op,
	};

	if (status != IB_WC_SUCCESS || wqe->flags & PAVO_WQE_SIGNALED)
		pavo_cq_push(qp->send_cq, &cqe, false);
	/* Frees the slot for kernel posters; pairs with pavo_requester_post. */
	smp_store_release(&req->tail, req->tail + 1);
}

/* End the key of the oldest WQE, a read with invalidation. False: it does not complete now. */
static bool end_read_key(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	int err = pavo_local_end_read(qp, wqe);

	if (!err)
		return true;
	if (err != PAVO_VE_WAIT) {
		complete_oldest(qp, status_of(PAVO_WQE_LOCAL_INV, err), err);
		pavo_qp_error(qp, -1);
	}
	return false;
}

/* pavo_complete_acked - complete all WQEs whose last PSN is before UPSN. */
void pavo_complete_acked(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	while (req->tail != req->numbered) {
		struct pavo_swqe *wqe = pavo_swqe(req, req->tail);

		if (!pavo_psn_passed(req->upsn, wqe->first_psn, wqe->npkts))
			break;
		if (unlikely(wqe->flags & PAVO_SWQE_READ_INV) &&
		    !end_read_key(qp, wqe))
			return;
		complete_oldest(qp, IB_WC_SUCCESS, PAVO_VE_NONE);
	}
	if (unlikely(req->tell_drained) && pavo_requester_idle(qp)) {
		req->tell_drained = false;
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
	const struct pavo_swqe *wqe = pavo_swqe(req, req->tail);
	enum pavo_vendor_err vendor;

	if (req->tail == req->head)
		return;
	vendor = wqe->vendor_err;
	if (!vendor)
		return;
	pavo_qp_send_error(qp);
	complete_oldest(qp, status_of(wqe->op, vendor), vendor);
}

/*
 * pavo_complete_fatal - the request with PSN @psn failed: flush the WQEs before it that are
 * still open, complete it with @status, and move the QP to Error.
 */
void pavo_complete_fatal(struct pavo_qp *qp, u32 psn, enum ib_wc_status status,
			 enum pavo_vendor_err vendor)
{
	struct pavo_requester *req = &qp->req;

	while (req->tail != req->numbered) {
		const struct pavo_swqe *wqe = pavo_swqe(req, req->tail);

		if (!pavo_psn_passed(psn, wqe->first_psn, wqe->npkts)) {
			complete_oldest(qp, status, vendor);
			break;
		}
		complete_oldest(qp, IB_WC_WR_FLUSH_ERR, PAVO_VE_FLUSHED);
	}
	pavo_qp_error(qp, -1);
}

/*
 * pavo_complete_flush - in Error and SQE: complete all posted WQEs as flushed,
 * also those that were not parsed yet.
 *
 * Return: what is left of the budget.
 */
unsigned int pavo_complete_flush(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_requester *req = &qp->req;

	pavo_timer_init(&req->timer, 0, 0, 0);
	req->pause = 0;
	for (;;) {
		while (budget && req->tail != req->head) {
			complete_oldest(qp, IB_WC_WR_FLUSH_ERR,
					PAVO_VE_FLUSHED);
			budget--;
		}
		budget = pavo_schedule(qp, budget);
		if (!budget || req->tail == req->head)
			break;
	}
	req->numbered = req->tail;
	req->cursor = (struct pavo_tx_cursor){ .wqe = req->tail };
	pavo_mq_init(&req->outstanding.reads, req->outstanding.reads.ring,
		     req->count);
	pavo_mq_init(&req->outstanding.sends, req->outstanding.sends.ring,
		     req->count);
	return budget;
}

void pavo_requester_recover(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	/* A budget for all: each WQE is taken and completed, and the ring has @count of them. */
	rcu_read_lock();
	pavo_complete_flush(qp, 2 * req->count);
	rcu_read_unlock();
	/* Leave out the PSNs of flushed WQEs: to the peer their packets were lost. */
	req->sent = req->npsn;
	req->upsn = req->npsn;
}
