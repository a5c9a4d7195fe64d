// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recv_queue.c - RQWQEManager (sources.md#engine-4-4-2): the receive WQE in use.
 *
 * Receives have no doorbell: an arriving Send takes the next WQE of the QP's ring, its own or
 * a shared one (rq.c). Also posts for kernel consumers, and flushes posted WQEs.
 */
#include "responder_private.h"

/* pavo_xrc_rq - find the ring of SRQ @srqn, if it is in the target's XRC domain. Context: RCU. */
struct pavo_rq *pavo_xrc_rq(struct pavo_qp *qp, u32 srqn)
{
	struct pavo_srq *srq = xa_load(&qp->dev->srqs, srqn);

	return srq && srq->ib.ext.xrc.xrcd == qp->ib.xrcd ? &srq->rq : NULL;
}

/*
 * pavo_rq_take - make the next posted receive WQE the one in use.
 *
 * Return: PAVO_ST_OK; PAVO_ST_NOT_READY: none is posted; PAVO_ST_FAILED: the process wrote a
 * wrong index.
 */
enum pavo_status pavo_rq_take(struct pavo_qp *qp)
{
	struct pavo_recv_wqe *wqe = qp->resp.wqe;

	if (wqe->active)
		return PAVO_ST_OK;
	switch (pavo_rq_pop(qp->resp.rq, wqe)) {
	case PAVO_RQ_OK:
		wqe->active = true;
		return PAVO_ST_OK;
	case PAVO_RQ_EMPTY:
		return PAVO_ST_NOT_READY;
	default:
		pavo_count(qp, rq_index_errors);
		return PAVO_ST_FAILED;
	}
}

/* Find the next piece of the WQE in use: at most *len bytes, all in one entry. */
static enum pavo_status find_recv_piece(struct pavo_qp *qp, u32 *len, u64 *va,
					struct pavo_region **region)
{
	struct pavo_recv_wqe *wqe = qp->resp.wqe;
	const struct pavo_data_seg *sge;
	enum pavo_status status;

	while (wqe->i < wqe->num_sge &&
	       wqe->off == wqe->sge[wqe->i].byte_count) {
		wqe->i++;
		wqe->off = 0;
	}
	if (wqe->i >= wqe->num_sge)
		return PAVO_ST_RQ_LENGTH;
	sge = &wqe->sge[wqe->i];
	*len = min(*len, sge->byte_count - wqe->off);
	*va = sge->va + wqe->off;
	status = pavo_xlate(qp->dev, qp->resp.rq->pd, sge->lkey, *va, *len,
			    IB_ACCESS_LOCAL_WRITE, region);
	if (unlikely(status == PAVO_ST_FAULT))
		return pavo_fault_request(&qp->key_state,
					  &qp->resp.side.missing, *region, *va,
					  *len, true);
	/* A claimed region takes responses, and no messages (memory/claim.h). */
	if (unlikely(*region && (*region)->access & PAVO_ACCESS_CLAIMED))
		return PAVO_ST_ACCESS;
	return status;
}

/* Bytes of a packet or of a kernel buffer. */
struct source {
	struct sk_buff *skb; /* else @data */
	u32 from;
	const void *data;
};

/*
 * Write bytes of @source to the next bytes of the WQE in use. For a deferred packet, continue
 * behind those that have been written.
 */
static enum pavo_status write_wqe(struct pavo_qp *qp,
				  const struct source *source, u32 len)
{
	struct pavo_recv_wqe *wqe = qp->resp.wqe;
	u32 done = qp->resp.side.done, n;
	struct pavo_region *region;
	enum pavo_status status;
	u64 va;

	if (len - done > wqe->length - wqe->done)
		return PAVO_ST_RQ_LENGTH;
	for (; done < len; done += n) {
		n = len - done;
		status = find_recv_piece(qp, &n, &va, &region);
		if (status == PAVO_ST_WAIT)
			qp->resp.side.done = done;
		if (status)
			return status;
		if (!source->skb)
			pavo_region_write(region, va, source->data + done, n);
		else if (pavo_payload_take(region, va, source->skb,
					   source->from + done, n))
			return PAVO_ST_RQ_LENGTH;
		wqe->off += n;
		wqe->done += n;
	}
	return PAVO_ST_OK;
}

/*
 * pavo_rq_scatter - write payload to the next bytes of the WQE in use.
 *
 * Return: PAVO_ST_OK; PAVO_ST_RQ_LENGTH ("Invalid Entry", sources.md#engine-7-1-6): the WQE is
 * too small; PAVO_ST_WAIT: for pages; or why its memory may not be written.
 */
enum pavo_status pavo_rq_scatter(struct pavo_qp *qp, struct sk_buff *skb,
				 u32 from, u32 len)
{
	const struct source source = { .skb = skb, .from = from };

	return write_wqe(qp, &source, len);
}

/* pavo_rq_write - write bytes of a kernel buffer likewise (the GRH of a datagram). */
enum pavo_status pavo_rq_write(struct pavo_qp *qp, const void *data, u32 len)
{
	const struct source source = { .data = data };

	return write_wqe(qp, &source, len);
}

/* pavo_rq_complete - complete the WQE in use, in success or error. */
void pavo_rq_complete(struct pavo_qp *qp, struct pavo_cqe *cqe, bool solicited)
{
	struct pavo_responder *resp = &qp->resp;

	cqe->qpn = qp->ib.qp_num;
	cqe->wqe = resp->wqe->number;
	cqe->flags |= PAVO_CQE_RECV;
	if (resp->rq->srq) {
		cqe->wr_id = resp->wqe->wr_id;
		cqe->flags |= PAVO_CQE_SRQ;
	}
	resp->wqe->active = false;
	pavo_comp_count(qp, PAVO_COMP_RECV, cqe->status == IB_WC_SUCCESS);
	if (!resp->rq->cq) {
		pavo_cq_push(qp->recv_cq, cqe, solicited);
		return;
	}
	/*
	 * Raise its event now: the next packet may name another SRQ, with another CQ. The
	 * side is locked, but the handler is that of uverbs, which does not call the adapter.
	 */
	pavo_cq_push(resp->rq->cq, cqe, solicited);
	pavo_cq_raise(resp->rq->cq);
}

/* Count a receive that completes in error. */
static void count_recv_error(struct pavo_qp *qp, u8 wc)
{
	pavo_count(qp, resp_cqe_error);
	if (wc == IB_WC_WR_FLUSH_ERR)
		pavo_count(qp, resp_cqe_flush_error);
	else if (wc == IB_WC_LOC_LEN_ERR)
		pavo_count(qp, resp_local_length_error);
}

static void fail_wqe(struct pavo_qp *qp, u8 wc, u8 vendor)
{
	struct pavo_cqe cqe = {
		.status = wc,
		.vendor_err = vendor,
		.opcode = PAVO_WQE_SEND,
	};

	if (!qp->resp.wqe->active)
		return;
	count_recv_error(qp, wc);
	pavo_rq_complete(qp, &cqe, true);
}

/*
 * pavo_rq_fail - complete the WQE in use in error, if there is one. Here @status becomes the
 * status of a completion.
 */
void pavo_rq_fail(struct pavo_qp *qp, enum pavo_status status)
{
	const struct pavo_status_codes *codes = pavo_status_codes(status);

	fail_wqe(qp, codes->wc, codes->vendor);
}

/* pavo_rq_fail_key - likewise; the error is of the key that the message was to invalidate. */
void pavo_rq_fail_key(struct pavo_qp *qp, enum pavo_status status)
{
	const struct pavo_status_codes *codes = pavo_status_codes(status);

	fail_wqe(qp, codes->wc_key, codes->vendor);
}

/* pavo_rq_rewind - set the WQE in use back to its first byte, after an incomplete message. */
void pavo_rq_rewind(struct pavo_qp *qp)
{
	struct pavo_recv_wqe *wqe = qp->resp.wqe;

	wqe->done = 0;
	wqe->i = 0;
	wqe->off = 0;
}

/*
 * Raise LAST_WQE_REACHED: a QP in Error takes no WQEs from its SRQ any more. Its consumer
 * waits for that before it destroys the QP (IBA 11.6.3.1).
 */
static void notify_last_wqe(struct pavo_qp *qp)
{
	if (qp->resp.last_wqe_notified)
		return;
	qp->resp.last_wqe_notified = true;
	set_bit(IB_EVENT_QP_LAST_WQE_REACHED, &qp->events);
	pavo_qp_end(qp);
}

/* Flush the posted WQEs of a QP's own ring, and have the process make a call for each new one. */
static unsigned int flush_own(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_recv_wqe *wqe = qp->resp.wqe;
	struct pavo_rq *rq = &qp->resp.own;
	u32 posted;

	WRITE_ONCE(rq->ring->flags, PAVO_RQ_NEED_KICK);
	/* Pairs with the poster's barrier between index and flag. */
	smp_mb();
	posted = READ_ONCE(rq->ring->prod) - rq->head;
	if (posted > rq->count) {
		pavo_count(qp, rq_index_errors);
		return budget;
	}
	for (; posted && budget; posted--, budget--) {
		wqe->number = rq->head;
		wqe->active = true;
		/* Pairs with the acquire in post_recv_wr(). */
		smp_store_release(&rq->head, rq->head + 1);
		pavo_rq_fail(qp, PAVO_ST_FLUSHED);
	}
	WRITE_ONCE(rq->ring->cons, rq->head);
	return budget;
}

/*
 * pavo_rq_flush - in Error: complete all WQEs of the QP as flushed, and set the flag that
 * makes the process call for WQEs that it posts from now on.
 *
 * Return: the rest of @budget, in WQEs.
 */
unsigned int pavo_rq_flush(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_responder *resp = &qp->resp;

	if (pavo_is_xrc_target(qp)) {
		resp->rq = pavo_xrc_rq(qp, resp->srqn);
		/* The SRQ was destroyed, so no completion is expected. */
		if (!resp->rq)
			resp->wqe->active = false;
	}
	pavo_rq_fail(qp, PAVO_ST_FLUSHED);
	if (resp->own.ring)
		return flush_own(qp, budget);
	if (qp->srq)
		notify_last_wqe(qp);
	return budget;
}

int pavo_responder_post(struct pavo_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct pavo_responder *resp = &qp->resp;
	int err;

	if (pavo_qp_get_state(qp) == IB_QPS_RESET || !resp->own.ring) {
		*bad_wr = wr;
		return -EINVAL;
	}
	err = pavo_rq_post(&resp->own, wr, bad_wr);
	/* Pairs with the barrier in flush_own(). */
	smp_mb();
	if (pavo_qp_get_state(qp) != IB_QPS_ERR)
		return err;
	/* Flush at once if possible: the consumer may poll without end. */
	set_bit(PAVO_RESP_FLUSH, &resp->side.pending);
	if (irqs_disabled() || in_hardirq())
		pavo_qp_end(qp);
	else
		pavo_responder_run(qp);
	return err;
}
