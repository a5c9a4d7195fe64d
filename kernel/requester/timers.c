// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * timers.c - TimerControl (sources.md#engine-3-4-2): wakes a QP when one of its
 * deadlines may have passed.
 *
 * Storing a number moves a deadline (timer_logic.h). The hrtimer stays as it is
 * as long as it fires no later than the nearest deadline; if it
 * fires too early it is set anew. So acknowledged traffic costs no timer
 * operation per packet. Deadlines of the loss timer have slack, so one interrupt can serve
 * those of many QPs.
 */
#include "requester_private.h"
#include "pavo_trace.h"

static enum hrtimer_restart handle_timer(struct hrtimer *timer)
{
	struct pavo_qp *qp = container_of(timer, struct pavo_qp, req.hrtimer);

	set_bit(PAVO_REQ_TIMER, &qp->req.side.pending);
	if (!pavo_qp_admit_timer(qp))
		pavo_requester_run(qp);
	return HRTIMER_NORESTART;
}

void pavo_timers_init(struct pavo_qp *qp)
{
	pavo_hrtimer_setup(&qp->req.hrtimer, handle_timer, CLOCK_MONOTONIC,
			   HRTIMER_MODE_ABS_SOFT);
}

/* pavo_timers_arm - make the hrtimer fire no later than the nearest deadline and its slack. */
void pavo_timers_arm(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	u64 next = pavo_timer_get_next(&req->recovery.timer);
	u64 slack = pavo_timer_get_slack(&req->recovery.timer);

	if (req->pause && (!next || req->pause < next)) {
		next = req->pause;
		slack = 0;
	}
	if (!next)
		return;
	if (hrtimer_is_queued(&req->hrtimer) &&
	    ktime_to_ns(hrtimer_get_expires(&req->hrtimer)) <=
		    (s64)(next + slack))
		return;
	hrtimer_start_range_ns(&req->hrtimer, ns_to_ktime(next), slack,
			       HRTIMER_MODE_ABS_SOFT);
}

/* pavo_timers_check - act on deadlines that have passed. */
void pavo_timers_check(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	u64 now = ktime_get_ns();

	if (req->pause && now >= req->pause)
		req->pause = 0;
	if (pavo_recovery_end_delay(&req->recovery, now)) {
		trace_pavo_timer(qp, true);
		pavo_count(qp, rnr_timer_expired);
	}
	if (pavo_timer_end_repair(&req->recovery.timer, now))
		pavo_requester_repair(qp);
	if (pavo_timer_has_loss_expired(&req->recovery.timer, now)) {
		trace_pavo_timer(qp, false);
		pavo_requester_timeout(qp);
	}
}
