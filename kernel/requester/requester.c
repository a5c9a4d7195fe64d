// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * requester.c - creation and end of the requester side, and the work of its owner (enter.h).
 */
#include <linux/module.h>
#include <linux/vmalloc.h>
#include "parameter.h"
#include "qp/enter.h"
#include "responder/responder.h"
#include "rings/mmap.h"
#include "rings/ucontext.h"
#include "requester_private.h"

static unsigned int sack = 1;
pavo_range_param(sack, sack, 0, 1, 0644);
MODULE_PARM_DESC(sack,
		 "new queue pairs offer selective acknowledgments (1); 0: not");

static unsigned int ecn = 1;
pavo_range_param(ecn, ecn, 0, 1, 0644);
MODULE_PARM_DESC(ecn, "new queue pairs heed marks of routers (1); 0: not");

/* Bytes of inline data that every queue pair takes: as long as one entry. */
#define PAVO_LEAST_INLINE 16

/* Bytes of a WQE before its payload. */
static u32 get_head_size(const struct pavo_qp *qp)
{
	u32 head = sizeof(struct pavo_next_seg);

	if (pavo_is_datagram(qp))
		head += sizeof(struct pavo_ud_seg);
	else
		head += sizeof(struct pavo_raddr_seg);
	if (pavo_is_xrc_initiator(qp))
		head += sizeof(struct pavo_xrc_seg);
	return head;
}

/*
 * Bytes of a WQE slot: max_send_sge entries or max_inline_data bytes, whichever is
 * more. Atomics have one segment more, up to an ExtAtomicSeg, and no inline data.
 */
static u32 get_slot_size(const struct pavo_qp *qp)
{
	u32 bytes = max_t(u32, qp->cap.max_inline_data, PAVO_LEAST_INLINE);
	u32 in = ALIGN(bytes + sizeof(struct pavo_inline_seg), PAVO_WQE_UNIT);
	u32 data = qp->cap.max_send_sge * sizeof(struct pavo_data_seg);

	if (!pavo_is_datagram(qp))
		data += sizeof(struct pavo_ext_atomic_seg);
	return get_head_size(qp) + max(data, in);
}

/* Bytes of inline data that fit the slot; at least as many as the consumer requested. */
static u32 get_inline_capacity(const struct pavo_qp *qp)
{
	u32 bytes = qp->req.wqe_size - get_head_size(qp) -
		    sizeof(struct pavo_inline_seg);

	return min_t(u32, bytes, PAVO_MAX_INLINE);
}

/* Consumers in user space keep wr_ids themselves, behind the slots. */
static int alloc_private(struct pavo_qp *qp, bool keeps_wr_ids)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_mq_entry *ring;

	req->wqe_stride = ALIGN(sizeof(struct pavo_swqe) + req->wqe_size,
				SMP_CACHE_BYTES);
	req->doorbells = kvcalloc(req->count, sizeof(u64), GFP_KERNEL_ACCOUNT);
	req->wqes = kvcalloc(req->count, req->wqe_stride, GFP_KERNEL_ACCOUNT);
	if (keeps_wr_ids)
		req->wr_id =
			kvcalloc(req->count, sizeof(u64), GFP_KERNEL_ACCOUNT);
	ring = kvcalloc(2 * req->count, sizeof(*ring), GFP_KERNEL_ACCOUNT);
	req->messages = ring;
	if (qp->sacks && pavo_board_create(&req->board))
		return -ENOMEM;
	if (!req->doorbells || !req->wqes || (keeps_wr_ids && !req->wr_id) ||
	    !ring)
		return -ENOMEM;
	return 0;
}

int pavo_requester_init(struct pavo_qp *qp, struct pavo_mmap_info *info)
{
	struct pavo_requester *req = &qp->req;
	size_t size;
	int err;

	pavo_side_init(&req->side);
	pavo_tx_init(&req->side.tx, &qp->stats, &qp->flow, &qp->conn);
	spin_lock_init(&req->db_lock);
	spin_lock_init(&req->post_lock);
	pavo_timers_init(qp);
	pavo_qp_drr_init(qp);
	req->count = roundup_pow_of_two(max(qp->cap.max_send_wr, 1u));
	req->wqe_size = get_slot_size(qp);
	qp->cap.max_send_wr = req->count;
	if (!pavo_is_xrc_target(qp))
		qp->cap.max_inline_data = get_inline_capacity(qp);
	qp->sacks = READ_ONCE(sack) && pavo_is_reliable(qp);
	qp->ecn = READ_ONCE(ecn) && pavo_is_reliable(qp);
	size = (size_t)req->count * req->wqe_size;
	if (qp->uctx)
		size += PAVO_QUEUE_OWN_SIZE((size_t)req->count);
	req->sq_mmap =
		pavo_mmap_create(qp->uctx ? &qp->uctx->ib : NULL, size, info);
	if (!req->sq_mmap)
		return -ENOMEM;
	req->sq = req->sq_mmap->addr;
	err = alloc_private(qp, !qp->uctx);
	if (err)
		pavo_requester_destroy(qp);
	else
		pavo_requester_reset(qp);
	return err;
}

/* pavo_requester_destroy - free everything; no CPU enters the side any more. May sleep. */
void pavo_requester_destroy(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	hrtimer_cancel(&req->hrtimer);
	pavo_side_forget(qp, &req->side);
	pavo_tx_forget(&req->side.tx);
	kvfree(req->doorbells);
	kvfree(req->wqes);
	kvfree(req->wr_id);
	kvfree(req->messages);
	pavo_board_destroy(qp);
	if (req->sq_mmap)
		pavo_mmap_destroy(req->sq_mmap);
	req->doorbells = NULL;
	req->wqes = NULL;
	req->wr_id = NULL;
	req->messages = NULL;
	req->sq_mmap = NULL;
}

/* Release what incomplete WQEs have claimed. */
static void release_claims(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	u32 n;

	rcu_read_lock();
	for (n = req->tail; n != req->head; n++) {
		if (pavo_get_swqe(req, n)->flags & PAVO_SWQE_CLAIMS)
			pavo_sgl_release(qp, pavo_get_swqe(req, n));
	}
	rcu_read_unlock();
}

void pavo_requester_reset(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	release_claims(qp);
	pavo_side_forget(qp, &req->side);
	pavo_tx_reset(&req->side.tx);
	if (unlikely(req->drr.active))
		pavo_round_leave(qp->dev, &req->drr);
	req->side.pending = 0;
	req->db_head = 0;
	req->db_tail = 0;
	req->in_chain = false;
	req->head = 0;
	req->last_local = -1;
	req->numbered = 0;
	req->tail = 0;
	req->cursor = (struct pavo_tx_cursor){};
	req->scatter = (struct pavo_tx_cursor){ .wqe = -1 };
	pavo_recovery_init(&req->recovery, req->board, req->messages,
			   req->count);
	req->ready = false;
	req->far = false;
	req->notify_drained = false;
	req->pause = 0;
	req->departure = 0;
	req->posted = 0;
}

void pavo_requester_ready(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	if (!req->ready) {
		if (pavo_is_reliable(qp))
			pavo_recovery_set_mtu(&req->recovery, qp->attr.mtu);
		pavo_recovery_start(&req->recovery, qp->attr.sq_psn);
		req->ready = true;
	}
	pavo_requester_set_timeouts(qp);
}

void pavo_requester_set_timeouts(struct pavo_qp *qp)
{
	pavo_recovery_set_limits(&qp->req.recovery,
				 pavo_timeout_to_ns(qp->attr.timeout),
				 qp->attr.retry_cnt, qp->attr.rnr_retry);
}

bool pavo_requester_idle(struct pavo_qp *qp)
{
	return qp->req.tail == qp->req.numbered;
}

/* True if a posted WQE was not taken yet, or a taken one is not sent. */
static bool has_more(const struct pavo_requester *req)
{
	return req->in_chain || req->db_tail != READ_ONCE(req->db_head) ||
	       req->cursor.wqe != req->head;
}

/* Parse WQEs, send and complete, until nothing changes or the budget is used up. */
static unsigned int advance_requester(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_requester *req = &qp->req;
	unsigned int before;

	/* Nothing is posted or outstanding. */
	if (req->tail == req->head && !has_more(req) && !req->notify_drained)
		return budget;
	do {
		before = budget;
		budget = pavo_schedule(qp, budget);
		budget = pavo_transmit(qp, budget);
		pavo_complete_acked(qp);
		pavo_complete_bad(qp);
	} while (budget && budget != before && has_more(req) &&
		 pavo_qp_get_state(qp) < IB_QPS_SQE);
	return budget;
}

/* Clear the pending bits that other CPUs set, and act on deadlines that have passed. */
static void take_pending(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	if (!READ_ONCE(req->side.pending))
		return;
	if (test_and_clear_bit(PAVO_REQ_TIMER, &req->side.pending) &&
	    pavo_qp_get_state(qp) != IB_QPS_ERR)
		pavo_timers_check(qp);
	clear_bit(PAVO_REQ_DOORBELL, &req->side.pending);
	clear_bit(PAVO_REQ_FLUSH, &req->side.pending);
	/* Clear the bits before looking at the work that they stand for. */
	smp_mb__after_atomic();
}

/* End the DRR round with the visit. @more: the visit had too little budget for all work. */
static void end_drr_round(struct pavo_qp *qp, bool more)
{
	struct pavo_drr_queue *queue = &qp->req.drr;

	if (pavo_qp_get_state(qp) >= IB_QPS_SQE) {
		pavo_round_leave(qp->dev, queue);
		return;
	}
	pavo_qp_drr_settle(qp);
	pavo_round_end(qp->dev, queue, more);
}

/*
 * Do the pending work of the side. A packet has at most 4 KiB that are copied or go into an ICRC,
 * so packets bound the bytes. Before RTS nothing is sent, since the attributes for that are not
 * set.
 *
 * Return: true if the budget, or a quantum, is used up and there may be more work.
 */
static bool visit_requester(struct pavo_qp *qp, struct pavo_budget *slice)
{
	struct pavo_requester *req = &qp->req;
	unsigned int most, budget;
	int state;

	req->time = 0;
	most = min_t(unsigned int, READ_ONCE(qp->dev->drr.quantum),
		     max(slice->packets, 0));
	budget = most;

	if (unlikely(pavo_side_waits(&req->side)))
		pavo_timer_hold(&req->recovery.timer, ktime_get_ns());
	take_pending(qp);
	state = pavo_qp_get_state(qp);
	if (state >= IB_QPS_SQE) {
		pavo_held_forget(qp, &req->side);
		budget = pavo_complete_flush(qp, budget);
	} else if (req->ready) {
		budget = advance_requester(qp, budget);
	}
	if (unlikely(req->drr.active))
		end_drr_round(qp, !budget);
	pavo_timers_arm(qp);
	pavo_budget_spend(slice, most - budget, 0);
	return !budget;
}

static const struct pavo_side_work work = {
	.handle = pavo_requester_handle,
	.visit = visit_requester,
	.loop = PAVO_LOOP_REQUESTER,
};

static void run_requester(struct pavo_qp *qp)
{
	pavo_side_run(qp, &qp->req.side, qp->send_cq, &work);
}

void pavo_requester_run(struct pavo_qp *qp)
{
	run_requester(qp);
	if (unlikely(pavo_qp_get_state(qp) == IB_QPS_ERR))
		pavo_responder_end(qp);
}

void pavo_requester_receive(struct pavo_qp *qp, struct pavo_rx *rx)
{
	pavo_side_receive(qp, &qp->req.side, qp->send_cq, rx, &work);
	if (unlikely(pavo_qp_get_state(qp) == IB_QPS_ERR))
		pavo_responder_end(qp);
}

/* pavo_requester_end - flush if that is pending; the owner of the responder has seen an error. */
void pavo_requester_end(struct pavo_qp *qp)
{
	if (test_bit(PAVO_REQ_FLUSH, &qp->req.side.pending))
		run_requester(qp);
}
