// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * responder.c - creation and end of the responder side, and the work of its owner (enter.h).
 */
#include "qp/enter.h"
#include "requester/requester.h"
#include "responder_private.h"

/* Attempts, about a millisecond apart, until no operation of the peer is under way. */
#define RESIZE_TRIES 1000

/* Set the ring of receive WQEs: one of the QP's own, or that of its SRQ. */
static int init_rq(struct pavo_qp *qp, struct pavo_mmap_info *info)
{
	struct pavo_rq *own = &qp->resp.own;
	int err;

	if (qp->srq || pavo_qp_get_service(qp) == PAVO_SVC_XRC) {
		if (qp->srq)
			qp->resp.rq = &qp->srq->rq;
		qp->cap.max_recv_wr = 0;
		qp->cap.max_recv_sge = 0;
		return 0;
	}
	err = pavo_rq_init(own, qp->uctx, qp->cap.max_recv_wr,
			   qp->cap.max_recv_sge, info);
	if (err)
		return err;
	own->pd = qp->key_state.pd;
	qp->resp.rq = own;
	qp->cap.max_recv_wr = own->count;
	return 0;
}

int pavo_responder_init(struct pavo_qp *qp, struct pavo_mmap_info *info)
{
	struct pavo_responder *resp = &qp->resp;
	int err;

	pavo_side_init(&resp->side);
	pavo_tx_init(&resp->side.tx, &qp->stats, &qp->flow, &qp->conn);
	pavo_respond_init(qp);
	resp->wqe = kzalloc(sizeof(*resp->wqe), GFP_KERNEL_ACCOUNT);
	if (!resp->wqe)
		return -ENOMEM;
	err = init_rq(qp, info);
	if (err)
		pavo_responder_destroy(qp);
	else
		pavo_responder_reset(qp);
	return err;
}

/* pavo_responder_destroy - free everything; no CPU enters the side any more. May sleep. */
void pavo_responder_destroy(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	hrtimer_cancel(&resp->pause);
	pavo_side_forget(qp, &resp->side);
	pavo_read_copies_free(qp);
	kfree(resp->wqe);
	kfree(resp->resources);
	pavo_rkm_free(&qp->key_state);
	pavo_rq_destroy(&resp->own);
	resp->wqe = NULL;
	resp->resources = NULL;
}

/* Send the last ACK, unless it would overtake packets that wait on another CPU. */
static void acknowledge_last(struct pavo_qp *qp)
{
	struct pavo_tx *tx = &qp->resp.side.tx;
	int cpu;

	if (!qp->has_flow || pavo_tx_is_elsewhere(tx, &cpu))
		return;
	rcu_read_lock();
	pavo_respond_now(qp);
	rcu_read_unlock();
	pavo_tx_leave(tx);
}

void pavo_responder_reset(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	acknowledge_last(qp);
	pavo_side_forget(qp, &resp->side);
	if (unlikely(resp->drr.active))
		pavo_round_leave(qp->dev, &resp->drr);
	resp->side.pending = 0;
	pavo_tx_reset(&resp->side.tx);
	pavo_expected_reset(&resp->expected);
	resp->msn = 0;
	resp->message = 0;
	resp->established = false;
	resp->last_wqe_notified = false;
	resp->failing = false;
	resp->paused = false;
	resp->send_head = 0;
	resp->send_tail = 0;
	resp->res_head = 0;
	pavo_read_copies_free(qp);
	if (resp->resources)
		memset(resp->resources, 0,
		       resp->res_count * sizeof(*resp->resources));
	pavo_rkm_forget(&qp->key_state);
	resp->wqe->active = false;
	if (resp->own.ring)
		pavo_rq_reset(&resp->own);
}

/*
 * Replace resources and remote-key slots. Keep the latest resources: the peer may retransmit
 * these requests.
 *
 * Return: 0; -EBUSY: operations of the peer are under way.
 */
static int replace_resources(struct pavo_qp *qp,
			     struct pavo_resource **resources,
			     struct pavo_key_slots *slots, u32 count)
{
	struct pavo_responder *resp = &qp->resp;
	u32 kept = min(count, resp->res_count), at = resp->res_head, i;

	/* pavo_rkm_slots_replace() needs it, but memory/ does not know the lock. */
	lockdep_assert_held(&resp->side.lock);
	if (resp->send_head != resp->send_tail ||
	    pavo_rkm_slots_replace(&qp->key_state, slots))
		return -EBUSY;
	pavo_read_copies_free(qp);
	for (i = kept; i--;) {
		at = (at ?: resp->res_count) - 1;
		(*resources)[i] = resp->resources[at];
	}
	swap(resp->resources, *resources);
	resp->res_count = count;
	resp->res_head = kept % count;
	return 0;
}

int pavo_responder_resize(struct pavo_qp *qp)
{
	u32 count = max_t(u32, 1, qp->attr.max_dest_rd_atomic);
	struct pavo_key_slots *slots = pavo_rkm_slots_alloc(count);
	struct pavo_resource *resources =
		kcalloc(count, sizeof(*resources), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;
	int tries;

	for (tries = 0; slots && resources && tries < RESIZE_TRIES; tries++) {
		spin_lock_bh(&qp->resp.side.lock);
		err = replace_resources(qp, &resources, slots, count);
		spin_unlock_bh(&qp->resp.side.lock);
		smp_mb(); /* as in pavo_side_run() */
		pavo_responder_run(qp);
		if (!err)
			break;
		usleep_range(1000, 2000);
	}
	if (err)
		pavo_rkm_slots_free(slots);
	kfree(resources);
	return err;
}

int pavo_responder_ready(struct pavo_qp *qp)
{
	pavo_expected_start(&qp->resp.expected, qp->attr.rq_psn);
	return pavo_responder_resize(qp);
}

/*
 * Raise COMM_EST, once, for a packet before RTS: the peer is connected, even if the message
 * of the connection manager was lost (IBA 11.6.3.2).
 */
static void notify_established(struct pavo_qp *qp)
{
	if (qp->resp.established)
		return;
	qp->resp.established = true;
	set_bit(IB_EVENT_COMM_EST, &qp->events);
	pavo_qp_end(qp);
}

/*
 * Drop a packet whose attached memory the sender has released: its request, region or queue pair
 * has ended. If some bytes were written, the message cannot be completed any more.
 */
static void drop_attached(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	pavo_count(qp, rx_icrc_encapsulated);
	if (qp->resp.side.stage != PAVO_STAGE_BEGIN)
		pavo_respond_fatal(qp, pkt->psn, PAVO_NAK_REM_OP,
				   IB_EVENT_QP_FATAL);
}

/* Handle a packet. Return: PAVO_ST_WAIT: it is deferred until pages are there or a walk is over. */
static enum pavo_status handle_request(struct pavo_qp *qp, struct pavo_rx *rx)
{
	int state = pavo_qp_get_state(qp);

	if (state < IB_QPS_RTR || state == IB_QPS_ERR || qp->resp.failing) {
		pavo_count(qp, rx_drop_state);
		return PAVO_ST_OK;
	}
	pavo_tx_seen(&qp->resp.side.tx);
	if (pavo_rx_is_attached(rx) &&
	    unlikely(!pavo_qp_may_read(rx->meta.port, rx->meta.qpn, rx->pkt.psn,
				       rx->meta.lkey, rx->meta.token))) {
		drop_attached(qp, &rx->pkt);
		return PAVO_ST_OK;
	}
	if (pavo_is_datagram(qp))
		return pavo_datagram(qp, rx);
	if (unlikely(state == IB_QPS_RTR))
		notify_established(qp);
	return pavo_is_reliable(qp) ? pavo_execute(qp, rx) :
				      pavo_execute_unreliable(qp, rx);
}

/* Send responses, or flush. Return: true if more is due than the budget of a visit allows. */
static bool visit_responder(struct pavo_qp *qp, struct pavo_budget *slice)
{
	struct pavo_responder *resp = &qp->resp;
	unsigned int left;
	bool more;

	if (READ_ONCE(resp->side.pending)) {
		if (test_and_clear_bit(PAVO_RESP_SEND, &resp->side.pending))
			resp->paused = false;
		clear_bit(PAVO_RESP_FLUSH, &resp->side.pending);
		/* Clear the bits before looking at the work that they stand for. */
		smp_mb__after_atomic();
	}
	if (pavo_qp_get_state(qp) != IB_QPS_ERR) {
		more = pavo_respond(qp, slice);
		if (unlikely(resp->drr.active))
			pavo_round_end(qp->dev, &resp->drr, more);
		return more;
	}
	if (unlikely(resp->drr.active))
		pavo_round_leave(qp->dev, &resp->drr);
	if (likely(!resp->paused))
		pavo_respond_now(qp);
	/* In Error the peer has no operations any more, nor packets that are executed. */
	pavo_held_forget(qp, &resp->side);
	pavo_rkm_forget(&qp->key_state);
	left = pavo_rq_flush(qp, max(slice->packets, 0));
	slice->packets = left;
	return !left;
}

static const struct pavo_side_work work = {
	.handle = handle_request,
	.visit = visit_responder,
	.loop = PAVO_LOOP_RESPONDER,
};

static void run_responder(struct pavo_qp *qp)
{
	pavo_side_run(qp, &qp->resp.side, qp->recv_cq, &work);
}

void pavo_responder_run(struct pavo_qp *qp)
{
	run_responder(qp);
	if (unlikely(pavo_qp_get_state(qp) == IB_QPS_ERR))
		pavo_requester_end(qp);
}

void pavo_responder_receive(struct pavo_qp *qp, struct pavo_rx *rx)
{
	pavo_side_receive(qp, &qp->resp.side, qp->recv_cq, rx, &work);
	if (unlikely(pavo_qp_get_state(qp) == IB_QPS_ERR))
		pavo_requester_end(qp);
}

/* pavo_responder_end - flush if that is pending; the owner of the requester has seen an error. */
void pavo_responder_end(struct pavo_qp *qp)
{
	if (test_bit(PAVO_RESP_FLUSH, &qp->resp.side.pending))
		run_responder(qp);
}

void pavo_responder_kick(struct pavo_qp *qp)
{
	if (pavo_qp_get_state(qp) == IB_QPS_ERR)
		pavo_responder_flush(qp);
}

/* pavo_responder_flush - run the side to flush it; the QP is in Error. */
void pavo_responder_flush(struct pavo_qp *qp)
{
	set_bit(PAVO_RESP_FLUSH, &qp->resp.side.pending);
	pavo_responder_run(qp);
}
