// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * responder.c - life of the responder half, and how it is entered (half.h).
 */
#include <linux/vmalloc.h>
#include "internal.h"

/* NextSeg, entries, terminator. */
static u32 slot_size(const struct pavo_qp *qp)
{
	return sizeof(struct pavo_next_seg) +
	       (qp->cap.max_recv_sge + 1) * sizeof(struct pavo_data_seg);
}

int pavo_responder_init(struct pavo_qp *qp, struct pavo_mmap_info *info)
{
	struct ib_ucontext *uctx = qp->uctx ? &qp->uctx->ib : NULL;
	struct pavo_responder *resp = &qp->resp;
	size_t size;

	pavo_half_init(&resp->half);
	spin_lock_init(&resp->post_lock);
	resp->count = roundup_pow_of_two(max(qp->cap.max_recv_wr, 1u));
	resp->wqe_size = slot_size(qp);
	qp->cap.max_recv_wr = resp->count;
	size = PAVO_RQ_HEADER_SIZE + (size_t)resp->count * resp->wqe_size;
	resp->rq_mmap = pavo_mmap_create(uctx, size, info);
	if (!resp->rq_mmap)
		return -ENOMEM;
	resp->rq = resp->rq_mmap->addr;
	resp->wqe = kzalloc(sizeof(*resp->wqe), GFP_KERNEL);
	resp->wr_id = kvcalloc(resp->count, sizeof(u64), GFP_KERNEL);
	if (!resp->wqe || !resp->wr_id) {
		pavo_responder_destroy(qp);
		return -ENOMEM;
	}
	pavo_responder_reset(qp);
	return 0;
}

/* pavo_responder_destroy - nothing can enter the half any more; may sleep. */
void pavo_responder_destroy(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	skb_queue_purge(&resp->half.backlog);
	kfree(resp->wqe);
	kvfree(resp->wr_id);
	kfree(resp->resources);
	if (resp->rq_mmap)
		pavo_mmap_destroy(resp->rq_mmap);
	resp->wqe = NULL;
	resp->wr_id = NULL;
	resp->resources = NULL;
	resp->rq_mmap = NULL;
}

void pavo_responder_reset(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	skb_queue_purge(&resp->half.backlog);
	resp->half.pending = 0;
	resp->head = 0;
	resp->msn = 0;
	resp->message = 0;
	resp->nak_sent = false;
	resp->established = false;
	resp->failing = false;
	resp->ack_due = false;
	resp->send_head = 0;
	resp->send_tail = 0;
	resp->res_head = 0;
	if (resp->resources)
		memset(resp->resources, 0,
		       resp->res_count * sizeof(*resp->resources));
	resp->wqe->active = false;
	WRITE_ONCE(resp->rq->prod, 0);
	WRITE_ONCE(resp->rq->cons, 0);
	WRITE_ONCE(resp->rq->flags, 0);
}

int pavo_responder_ready(struct pavo_qp *qp)
{
	u32 count = max_t(u32, 1, qp->attr.max_dest_rd_atomic);
	struct pavo_responder *resp = &qp->resp;
	struct pavo_resource *resources;

	resources = kcalloc(count, sizeof(*resources), GFP_KERNEL);
	if (!resources)
		return -ENOMEM;
	kfree(resp->resources);
	resp->resources = resources;
	resp->res_count = count;
	resp->epsn = qp->attr.rq_psn;
	return 0;
}

/*
 * A packet before RTS tells that the peer is there, even if the message that
 * should have said so was lost (IBA 11.6.3.2): raised once, by the work.
 */
static void established(struct pavo_qp *qp)
{
	if (qp->resp.established)
		return;
	qp->resp.established = true;
	set_bit(IB_EVENT_COMM_EST, &qp->events);
	queue_work(qp->dev->wq, &qp->work);
}

static void handle(struct pavo_qp *qp, struct pavo_rx *rx)
{
	int state = pavo_qp_state(qp);

	if (state < IB_QPS_RTR || state == IB_QPS_ERR || qp->resp.failing) {
		pavo_count(qp->dev, rx_drop_state);
	} else if (qp->ib.qp_type == IB_QPT_RC) {
		if (unlikely(state == IB_QPS_RTR))
			established(qp);
		pavo_execute(qp, rx);
	} else {
		pavo_datagram(qp, rx);
	}
}

static void drain_backlog(struct pavo_qp *qp)
{
	struct sk_buff *skb;
	struct pavo_rx rx;

	while ((skb = skb_dequeue(&qp->resp.half.backlog))) {
		pavo_rx_parse(&rx, qp->dev, skb);
		handle(qp, &rx);
		kfree_skb(skb);
	}
}

/* Send answers, or flush. True: more is due than one visit may do. */
static bool visit(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	clear_bit(PAVO_RESP_SEND, &resp->half.pending);
	clear_bit(PAVO_RESP_FLUSH, &resp->half.pending);
	/* The bits are cleared before looking at what they stand for. */
	smp_mb__after_atomic();
	if (pavo_qp_state(qp) != IB_QPS_ERR)
		return pavo_respond(qp, PAVO_RESPOND_BUDGET);
	return !pavo_rq_flush(qp, PAVO_FLUSH_BUDGET);
}

void pavo_responder_run(struct pavo_qp *qp)
{
	struct pavo_half *half = &qp->resp.half;
	bool more = false;

	do {
		if (!spin_trylock_bh(&half->lock))
			return;
		rcu_read_lock();
		drain_backlog(qp);
		more = visit(qp);
		rcu_read_unlock();
		spin_unlock_bh(&half->lock);
		pavo_cq_raise(qp->recv_cq);
		/*
		 * Pairs with the atomics of who left something and found the
		 * lock taken: one of us sees the other.
		 */
		smp_mb();
	} while (!more && pavo_half_has_work(half));
	if (more)
		queue_work(qp->dev->wq, &qp->work);
}

void pavo_responder_receive(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_half *half = &qp->resp.half;
	bool more;

	if (!skb_queue_empty(&half->backlog) || !spin_trylock(&half->lock)) {
		if (!pavo_half_defer(half, rx->skb)) {
			pavo_count(qp->dev, rx_drop_backlog);
			kfree_skb(rx->skb);
		}
		/* Pairs with the barrier of the owner, see above. */
		smp_mb();
		pavo_responder_run(qp);
		return;
	}
	rcu_read_lock();
	handle(qp, rx);
	more = visit(qp);
	rcu_read_unlock();
	spin_unlock(&half->lock);
	pavo_rx_free(rx->skb);
	pavo_cq_raise(qp->recv_cq);
	smp_mb(); /* as in pavo_responder_run() */
	if (more)
		queue_work(qp->dev->wq, &qp->work);
	else if (pavo_half_has_work(half))
		pavo_responder_run(qp);
}

void pavo_responder_kick(struct pavo_qp *qp)
{
	if (pavo_qp_state(qp) == IB_QPS_ERR)
		pavo_responder_flush(qp);
}

/* pavo_responder_flush - enter the half to flush it; QP is in Error. */
void pavo_responder_flush(struct pavo_qp *qp)
{
	set_bit(PAVO_RESP_FLUSH, &qp->resp.half.pending);
	pavo_responder_run(qp);
}
