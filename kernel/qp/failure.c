// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * failure.c - moves a queue pair to Error or SQE after an error.
 *
 * Called by both sides, with their lock held, and by all folders above them. Changes the state; the
 * owners of the sides and qp->end_work flush the queues and raise events.
 */
#include "pavo_trace.h"
#include "qp/qp.h"

int pavo_qp_to_error(struct pavo_qp *qp, int from)
{
	if (cmpxchg(&qp->state, from, IB_QPS_ERR) != from)
		return -EAGAIN;
	trace_pavo_state(qp, from, IB_QPS_ERR);
	set_bit(PAVO_REQ_FLUSH, &qp->req.side.pending);
	set_bit(PAVO_RESP_FLUSH, &qp->resp.side.pending);
	return 0;
}

void pavo_qp_error(struct pavo_qp *qp, int event)
{
	int state;

	do {
		state = pavo_qp_get_state(qp);
		if (state == IB_QPS_RESET || state == IB_QPS_ERR)
			return;
	} while (pavo_qp_to_error(qp, state));

	rcu_read_lock(); /* for the counter: callers may be in any context */
	pavo_count(qp, qp_errors);
	rcu_read_unlock();
	if (event >= 0)
		set_bit(event, &qp->events);
	pavo_qp_end(qp);
}

void pavo_qp_drained(struct pavo_qp *qp)
{
	set_bit(IB_EVENT_SQ_DRAINED, &qp->events);
	pavo_qp_end(qp);
}

void pavo_qp_send_error(struct pavo_qp *qp)
{
	int state = pavo_qp_get_state(qp);

	if (pavo_is_reliable(qp)) {
		pavo_qp_error(qp, -1);
		return;
	}
	if ((state != IB_QPS_RTS && state != IB_QPS_SQD) ||
	    cmpxchg(&qp->state, state, IB_QPS_SQE) != state)
		return;
	trace_pavo_state(qp, state, IB_QPS_SQE);
	pavo_count(qp, sq_errors);
	set_bit(PAVO_REQ_FLUSH, &qp->req.side.pending);
}
