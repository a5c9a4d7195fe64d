// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * state.c - the state machine of QPs (IBA 10.3.1).
 *
 * With qp/failure.c the only writer of qp->state, the only one of qp->flow, and the only
 * reader of qp->events, in which the responder sets bits, too. verbs/qp_verbs.c requests
 * transitions in process context, one at a time under modify_mutex; both sides report
 * errors from any context (pavo_qp_error()). A transition locks both sides, so an owner
 * never sees a state half set up. Only SQE and Error come at any time; a bit in pending
 * notifies the owners.
 *
 * Lock order: modify_mutex, requester side, responder side.
 */
#include "control/control.h"
#include "memory/memory.h"
#include "pavo_trace.h"
#include "qp/qp.h"
#include "round.h"
#include "kcov.h"
#include "requester/requester.h"
#include "responder/responder.h"

static void lock_sides(struct pavo_qp *qp) __acquires(&qp->req.side.lock)
	__acquires(&qp->resp.side.lock)
{
	spin_lock_bh(&qp->req.side.lock);
	spin_lock_bh(&qp->resp.side.lock);
}

static void run_sides(struct pavo_qp *qp)
{
	pavo_requester_run(qp);
	pavo_responder_run(qp);
}

/*
 * Unlock both sides and run them: a CPU that found one locked has left work to it
 * (side.h), and the new state may allow more.
 */
static void unlock_sides(struct pavo_qp *qp) __releases(&qp->resp.side.lock)
	__releases(&qp->req.side.lock)
{
	spin_unlock_bh(&qp->resp.side.lock);
	spin_unlock_bh(&qp->req.side.lock);
	/* Pairs with the barriers of CPUs that leave work to an owner (enter.h). */
	smp_mb();
	run_sides(qp);
}

static void raise_event(struct pavo_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = type,
	};

	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

/*
 * Run both sides, because pages or a walk that they wait for may be there. The bits are for a CPU
 * that owns a side and has already checked for work: it checks once more before it unlocks.
 */
static void wake_sides(struct pavo_qp *qp)
{
	/* Pairs with the owner's barrier before it looks at pending (enter.h). */
	smp_mb__before_atomic();
	set_bit(PAVO_REQ_DOORBELL, &qp->req.side.pending);
	set_bit(PAVO_RESP_SEND, &qp->resp.side.pending);
	pavo_side_wake(&qp->req.side);
	pavo_side_wake(&qp->resp.side);
	run_sides(qp);
}

static void run_work(struct work_struct *work)
{
	struct pavo_qp *qp = container_of(work, struct pavo_qp, key_state.work);
	bool seen = pavo_kcov_begin();

	if (unlikely(READ_ONCE(qp->req.drr.active)))
		pavo_round_begin(qp->dev, &qp->req.drr);
	if (unlikely(READ_ONCE(qp->resp.drr.active)))
		pavo_round_begin(qp->dev, &qp->resp.drr);
	wake_sides(qp);
	pavo_kcov_end(seen);
}

static void run_end_work(struct work_struct *work)
{
	struct pavo_qp *qp = container_of(work, struct pavo_qp, end_work);
	unsigned long events = xchg(&qp->events, 0);
	unsigned int type;

	wake_sides(qp);
	for_each_set_bit(type, &events, BITS_PER_LONG)
		raise_event(qp, type);
}

void pavo_qp_context_init(struct pavo_qp *qp)
{
	qp->state = IB_QPS_RESET;
	mutex_init(&qp->modify_mutex);
	INIT_WORK(&qp->key_state.work, run_work);
	INIT_WORK(&qp->end_work, run_end_work);
}

/* Wait until the walks that the QP requested are over, and forget them. The sides have no owner. */
static void forget_invalidations(struct pavo_qp *qp)
{
	struct pavo_rkm_request *req = &qp->req.side.inval;
	struct pavo_rkm_request *resp = &qp->resp.side.inval;

	if (req->state == PAVO_RKM_NONE && resp->state == PAVO_RKM_NONE)
		return;
	pavo_rkm_settle(qp->dev);
	req->state = PAVO_RKM_NONE;
	resp->state = PAVO_RKM_NONE;
}

void pavo_qp_reset(struct pavo_qp *qp)
{
	struct pavo_flow flow = qp->flow;
	bool has_flow;

	lock_sides(qp);
	trace_pavo_state(qp, qp->state, IB_QPS_RESET);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	pavo_requester_reset(qp);
	pavo_responder_reset(qp);
	has_flow = qp->has_flow;
	qp->has_flow = false;
	unlock_sides(qp);
	pavo_conn_leave(&qp->conn);

	/* A fault that a pager thread serves continues without the queue pair. */
	pavo_fault_detach(&qp->req.side.missing);
	pavo_fault_detach(&qp->resp.side.missing);
	if (has_flow)
		pavo_flow_destroy(&flow);
	forget_invalidations(qp);
	xchg(&qp->events, 0);
	/* Completions that were not polled name WQEs that are gone. */
	pavo_cq_forget(qp->send_cq, qp->ib.qp_num);
	pavo_cq_forget(qp->recv_cq, qp->ib.qp_num);
}

void pavo_qp_remove(struct pavo_qp *qp)
{
	pavo_qp_forget(qp);
	mutex_lock(&qp->modify_mutex);
	pavo_qp_reset(qp);
	mutex_unlock(&qp->modify_mutex);
	/* Its remote-key slots are empty. */
	pavo_rkm_remove(&qp->key_state);
	synchronize_rcu_expedited();
	/* In this order: timers leave work to the works. */
	hrtimer_cancel(&qp->req.hrtimer);
	hrtimer_cancel(&qp->resp.pause);
	cancel_work_sync(&qp->end_work);
	cancel_work_sync(&qp->key_state.work);
}

/* Replace the flow by one for the present attributes. */
static int set_flow(struct pavo_qp *qp)
{
	struct pavo_flow old, new;
	bool had_flow;
	int err;

	err = pavo_flow_init(&new, &qp->dev->port, &qp->attr.ah, qp->ib.qp_num,
			     qp->attr.dest_qpn, true);
	if (err)
		return err;
	pavo_flow_connect(&new, qp->user);
	pavo_conn_leave(&qp->conn);
	lock_sides(qp);
	had_flow = qp->has_flow;
	old = qp->flow;
	qp->flow = new;
	qp->conn.flow = &qp->flow;
	qp->conn.port = qp->dev->port.number;
	qp->conn.qpn = qp->ib.qp_num;
	qp->conn.dqpn = qp->attr.dest_qpn;
	qp->conn.type = qp->ib.qp_type;
	qp->conn.peer_type = pavo_qp_get_peer_type(qp);
	qp->has_flow = true;
	unlock_sides(qp);
	pavo_conn_enter(&qp->conn, pavo_qp_get_state(qp) >= IB_QPS_RTS);
	if (had_flow)
		pavo_flow_destroy(&old);
	return 0;
}

/*
 * Enter @next with both sides locked.
 * @notify_drained: SQD: raise the event SQ_DRAINED. The requester raises it as soon as
 * it runs and nothing is outstanding, else with the last response.
 *
 * Return: 0; -EINVAL: an error has changed the state meanwhile.
 */
static int enter_state(struct pavo_qp *qp, int from, int next,
		       bool notify_drained)
{
	bool ok;

	lock_sides(qp);
	if (from == IB_QPS_RTR && next == IB_QPS_RTS)
		pavo_requester_ready(qp);
	else if (from == IB_QPS_SQD && next == IB_QPS_SQD)
		pavo_requester_set_timeouts(qp);
	else if (from == IB_QPS_SQE)
		pavo_requester_recover(qp);
	ok = cmpxchg(&qp->state, from, next) == from;
	if (ok && from != next)
		trace_pavo_state(qp, from, next);
	if (from != next)
		qp->req.notify_drained = ok && notify_drained;
	unlock_sides(qp);
	return ok ? 0 : -EINVAL;
}

/* Carry out a transition whose attributes have been checked and applied. */
static int move_state(struct pavo_qp *qp, int from, int next,
		      const struct ib_qp_attr *attr, int mask)
{
	bool notify_drained;
	int err = 0;

	switch (next) {
	case IB_QPS_RESET:
		pavo_qp_reset(qp);
		return 0;
	case IB_QPS_ERR:
		/* Repeat if a side has moved the QP to SQE. */
		while (from != IB_QPS_ERR && pavo_qp_to_error(qp, from))
			from = pavo_qp_get_state(qp);
		run_sides(qp);
		return 0;
	}

	if (mask & IB_QP_AV && !pavo_is_datagram(qp)) {
		err = set_flow(qp);
		if (err)
			return err;
	}
	if (next == IB_QPS_RTR)
		err = pavo_responder_ready(qp);
	else if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		err = pavo_responder_resize(qp);
	/* In SQD the requester has to take the changed timeouts and retries. */
	if (err || (from == next && from != IB_QPS_SQD))
		return err;
	notify_drained = next == IB_QPS_SQD &&
			 (mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
			 attr->en_sqd_async_notify;
	return enter_state(qp, from, next, notify_drained);
}

static int modify_locked(struct pavo_qp *qp, const struct ib_qp_attr *attr,
			 int mask)
{
	int cur = pavo_qp_get_state(qp);
	int next = mask & IB_QP_STATE ? attr->qp_state : cur;
	struct pavo_qp_attrs old = qp->attr;
	int err;

	if ((mask & IB_QP_CUR_STATE) && attr->cur_qp_state != cur)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(cur, next, qp->ib.qp_type, mask))
		return -EINVAL;
	err = pavo_attr_check(qp, attr, mask);
	if (err)
		return err;
	pavo_attr_apply(qp, attr, mask);
	err = move_state(qp, cur, next, attr, mask);
	if (err)
		qp->attr = old;
	return err;
}

int pavo_qp_modify(struct pavo_qp *qp, struct ib_qp_attr *attr, int mask)
{
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&qp->modify_mutex);
	err = modify_locked(qp, attr, mask);
	mutex_unlock(&qp->modify_mutex);
	return err;
}
