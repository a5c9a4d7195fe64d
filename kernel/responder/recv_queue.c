// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recv_queue.c - RQWQEManager (engine document 4.4.2): receive WQEs.
 *
 * There is no receive doorbell: an arriving Send comes here and takes the next
 * WQE of the ring. The ring is hostile: the index is read once and checked,
 * the WQE is copied and the copy is checked. Also posts of kernel consumers.
 */
#include "internal.h"

static void *slot(struct pavo_responder *resp, u32 n)
{
	return (void *)resp->rq + PAVO_RQ_HEADER_SIZE +
	       (size_t)(n & (resp->count - 1)) * resp->wqe_size;
}

/*
 * Copy the entries up to the terminator of 16 zero bytes. A slot without one,
 * or an entry beyond 2 GiB, is not a receive WQE.
 */
static bool copy_wqe(struct pavo_responder *resp, struct pavo_recv_wqe *wqe,
		     u32 n)
{
	const struct pavo_data_seg *from =
		slot(resp, n) + sizeof(struct pavo_next_seg);
	u32 max =
		(resp->wqe_size - sizeof(struct pavo_next_seg)) / sizeof(*from);
	struct pavo_data_seg seg;
	u64 length = 0;
	u32 i;

	for (i = 0; i < max; i++) {
		memcpy(&seg, &from[i], sizeof(seg));
		barrier();
		if (!seg.byte_count && !seg.lkey && !seg.va)
			break;
		if (seg.byte_count & PAVO_INLINE_SEG || i == max - 1)
			return false;
		length += seg.byte_count;
		wqe->sge[i] = seg;
	}
	wqe->num_sge = i;
	wqe->length = min_t(u64, length, PAVO_MAX_MSG_SIZE);
	wqe->number = n;
	wqe->done = 0;
	wqe->i = 0;
	wqe->off = 0;
	return true;
}

/* pavo_rq_take - make the next posted receive WQE the one in use. */
enum pavo_rq_status pavo_rq_take(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;
	u32 posted;

	if (resp->wqe->active)
		return PAVO_RQ_OK;
	/* Pairs with the release store behind a posted WQE. */
	posted = smp_load_acquire(&resp->rq->prod) - resp->head;
	if (!posted)
		return PAVO_RQ_EMPTY;
	if (posted > resp->count) {
		pavo_count(qp->dev, rq_index_errors);
		return PAVO_RQ_BAD;
	}
	if (!copy_wqe(resp, resp->wqe, resp->head)) {
		pavo_count(qp->dev, rq_index_errors);
		return PAVO_RQ_BAD;
	}
	resp->wqe->active = true;
	resp->head++;
	WRITE_ONCE(resp->rq->cons, resp->head);
	return PAVO_RQ_OK;
}

static enum pavo_vendor_err vendor_of(enum pavo_xlate status)
{
	static const u8 table[] = {
		[PAVO_XLATE_OK] = PAVO_VE_NONE,
		[PAVO_XLATE_LENGTH] = PAVO_VE_LKEY_RANGE,
		[PAVO_XLATE_KEY] = PAVO_VE_LKEY,
		[PAVO_XLATE_FLAGS] = PAVO_VE_LKEY_ACCESS,
		[PAVO_XLATE_PD] = PAVO_VE_LKEY_PD,
		[PAVO_XLATE_STATE] = PAVO_VE_KEY_STATE,
		[PAVO_XLATE_QP] = PAVO_VE_LKEY,
	};

	return table[status];
}

/*
 * The next piece of the WQE in use, at most *len bytes, all in one entry.
 */
static enum pavo_vendor_err next_piece(struct pavo_qp *qp, u32 *len, u64 *va,
				       struct pavo_region **region)
{
	struct pavo_recv_wqe *wqe = qp->resp.wqe;
	const struct pavo_data_seg *sge;

	while (wqe->i < wqe->num_sge &&
	       wqe->off == wqe->sge[wqe->i].byte_count) {
		wqe->i++;
		wqe->off = 0;
	}
	if (wqe->i >= wqe->num_sge)
		return PAVO_VE_RQ_LENGTH;
	sge = &wqe->sge[wqe->i];
	*len = min(*len, sge->byte_count - wqe->off);
	*va = sge->va + wqe->off;
	wqe->off += *len;
	wqe->done += *len;
	return vendor_of(pavo_xlate(qp->dev, qp->pd, sge->lkey, *va, *len,
				    IB_ACCESS_LOCAL_WRITE, region));
}

/*
 * pavo_rq_scatter - write payload to the next bytes of the WQE in use.
 *
 * PAVO_VE_RQ_LENGTH ("Invalid Entry" of the document): it is too small.
 */
enum pavo_vendor_err pavo_rq_scatter(struct pavo_qp *qp, struct sk_buff *skb,
				     u32 from, u32 len)
{
	struct pavo_region *region;
	enum pavo_vendor_err err;
	u32 n;
	u64 va;

	if (len > qp->resp.wqe->length - qp->resp.wqe->done)
		return PAVO_VE_RQ_LENGTH;
	for (; len; len -= n, from += n) {
		n = len;
		err = next_piece(qp, &n, &va, &region);
		if (err)
			return err;
		if (pavo_region_from_skb(region, va, skb, from, n))
			return PAVO_VE_RQ_LENGTH;
	}
	return PAVO_VE_NONE;
}

/* pavo_rq_write - the same from a kernel buffer (the GRH of a datagram). */
enum pavo_vendor_err pavo_rq_write(struct pavo_qp *qp, const void *data,
				   u32 len)
{
	struct pavo_region *region;
	enum pavo_vendor_err err;
	u32 n;
	u64 va;

	if (len > qp->resp.wqe->length - qp->resp.wqe->done)
		return PAVO_VE_RQ_LENGTH;
	for (; len; len -= n, data += n) {
		n = len;
		err = next_piece(qp, &n, &va, &region);
		if (err)
			return err;
		pavo_region_write(region, va, data, n);
	}
	return PAVO_VE_NONE;
}

/* pavo_rq_complete - the message of the WQE in use is here. */
void pavo_rq_complete(struct pavo_qp *qp, struct pavo_cqe *cqe, bool solicited)
{
	struct pavo_responder *resp = &qp->resp;

	cqe->qpn = qp->ib.qp_num;
	cqe->wqe = resp->wqe->number;
	cqe->flags |= PAVO_CQE_RECV;
	resp->wqe->active = false;
	pavo_cq_push(qp->recv_cq, cqe, solicited);
}

/* pavo_rq_fail - the WQE in use completes in error. */
void pavo_rq_fail(struct pavo_qp *qp, enum ib_wc_status status,
		  enum pavo_vendor_err vendor)
{
	struct pavo_cqe cqe = {
		.status = status,
		.vendor_err = vendor,
		.opcode = PAVO_WQE_SEND,
	};

	if (qp->resp.wqe->active)
		pavo_rq_complete(qp, &cqe, true);
}

/*
 * pavo_rq_flush - in Error: complete all posted WQEs as flushed, and ask the
 * poster to call for what it posts from now on.
 *
 * Return: what is left of the budget.
 */
unsigned int pavo_rq_flush(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_responder *resp = &qp->resp;
	u32 posted;

	WRITE_ONCE(resp->rq->flags, PAVO_RQ_NEED_KICK);
	/* Pairs with the poster's barrier between index and flag. */
	smp_mb();
	pavo_rq_fail(qp, IB_WC_WR_FLUSH_ERR, PAVO_VE_FLUSHED);
	posted = READ_ONCE(resp->rq->prod) - resp->head;
	if (posted > resp->count) {
		pavo_count(qp->dev, rq_index_errors);
		return budget;
	}
	for (; posted && budget; posted--, budget--) {
		resp->wqe->number = resp->head++;
		resp->wqe->active = true;
		pavo_rq_fail(qp, IB_WC_WR_FLUSH_ERR, PAVO_VE_FLUSHED);
	}
	WRITE_ONCE(resp->rq->cons, resp->head);
	return budget;
}

static int post_one(struct pavo_qp *qp, const struct ib_recv_wr *wr)
{
	struct pavo_responder *resp = &qp->resp;
	u32 n = resp->rq->prod;
	struct pavo_next_seg *next = slot(resp, n);
	struct pavo_data_seg *seg = (void *)(next + 1);
	int i;

	if (wr->num_sge > qp->cap.max_recv_sge)
		return -EINVAL;
	if (n - READ_ONCE(resp->head) >= resp->count)
		return -ENOMEM;
	memset(next, 0, sizeof(*next));
	for (i = 0; i < wr->num_sge; i++, seg++) {
		seg->byte_count = wr->sg_list[i].length;
		seg->lkey = wr->sg_list[i].lkey;
		seg->va = wr->sg_list[i].addr;
	}
	memset(seg, 0, sizeof(*seg));
	resp->wr_id[n & (resp->count - 1)] = wr->wr_id;
	/* Pairs with the acquire in pavo_rq_take(). */
	smp_store_release(&resp->rq->prod, n + 1);
	return 0;
}

int pavo_responder_post(struct pavo_qp *qp, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct pavo_responder *resp = &qp->resp;
	unsigned long flags;
	int err = 0;

	if (pavo_qp_state(qp) == IB_QPS_RESET) {
		*bad_wr = wr;
		return -EINVAL;
	}
	spin_lock_irqsave(&resp->post_lock, flags);
	for (; wr; wr = wr->next) {
		err = post_one(qp, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&resp->post_lock, flags);
	/* Pairs with the barrier in pavo_rq_flush(). */
	smp_mb();
	if (pavo_qp_state(qp) == IB_QPS_ERR) {
		set_bit(PAVO_RESP_FLUSH, &resp->half.pending);
		queue_work(qp->dev->wq, &qp->work);
	}
	return err;
}
