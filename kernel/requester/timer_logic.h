/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * timer_logic.h - loss timer and RNR timer of a QP (sources.md#engine-3-4-2), their events
 * (sources.md#engine-7-1-4), and the repair timer of selective repair.
 *
 * The document has a table that a thread scans. Here each timer is a deadline, moved by
 * storing a number; timers.c checks whether it has passed. Callers pass the time in ns. Pure.
 */
#ifndef PAVO_TIMER_LOGIC_H
#define PAVO_TIMER_LOGIC_H

#include <linux/errno.h>
#include <linux/types.h>

/** RNR retry count without a limit (IBA 9.7.5.2.8). */
#define PAVO_RNR_RETRY_INFINITE 7

/** Wait in ns after a repeated NAK, if the loss timer has no set value. */
#define PAVO_ECHO_NS (100 * 1000 * 1000ull)

/** Most times that an expiry of the loss timer is put off without progress. */
#define PAVO_PUT_OFF_MAX 32

/** RNR NAKs of one packet that are counted: 10 us doubled so often exceed PAVO_RNR_TIMEOUT_NS. */
#define PAVO_RNR_WAITS_MAX 8

/** Longest wait in ns that repeated RNR NAKs of one packet grow to, if their delay is less. */
#define PAVO_RNR_TIMEOUT_NS (1000 * 1000ull)

/** Slack of the loss timer: a sixteenth of its set value, but no more than PAVO_SLACK_MAX_NS. */
#define PAVO_SLACK_SHIFT 4
#define PAVO_SLACK_MAX_NS (1000 * 1000ull)

/**
 * struct pavo_timer_state - the timers.
 * @loss:      deadline of the loss timer, ns; 0: it does not run
 * @rnr:       deadline of the RNR timer, likewise
 * @repair:    deadline of the repair timer, likewise: a reordering window, or a tail loss probe
 * @timeout:   set value of the loss timer, ns; 0: none
 * @retry_limit: most retries without progress
 * @retries:   retries left
 * @rnr_limit: most retries after RNR NAKs without progress; PAVO_RNR_RETRY_INFINITE: no limit
 * @rnr_retries: those left
 * @rnr_waits: RNR NAKs since the last progress, up to PAVO_RNR_WAITS_MAX
 * @put_off:   expiries of the loss timer since the last progress that were put off
 * @answered:  the peer has sent a response since pavo_timer_init()
 */
struct pavo_timer_state {
	u64 loss;
	u64 rnr;
	u64 repair;
	u64 timeout;
	u8 retry_limit;
	u8 retries;
	u8 rnr_limit;
	u8 rnr_retries;
	u8 rnr_waits;
	u8 put_off;
	bool answered;
};

/** pavo_timer_init - set value and limits; both timers are stopped. */
static inline void pavo_timer_init(struct pavo_timer_state *t, u64 timeout,
				   u8 retry_limit, u8 rnr_limit)
{
	t->loss = 0;
	t->rnr = 0;
	t->repair = 0;
	t->timeout = timeout;
	t->retry_limit = retry_limit;
	t->retries = retry_limit;
	t->rnr_limit = rnr_limit;
	t->rnr_retries = rnr_limit;
	t->rnr_waits = 0;
	t->put_off = 0;
	t->answered = false;
}

/** pavo_timer_set - Set event: packets are outstanding. */
static inline void pavo_timer_set(struct pavo_timer_state *t, u64 now)
{
	if (!t->loss && t->timeout)
		t->loss = now + t->timeout;
}

/** pavo_timer_stop - Stop event: nothing is outstanding. */
static inline void pavo_timer_stop(struct pavo_timer_state *t)
{
	t->loss = 0;
}

/**
 * pavo_timer_restart - Restart event, after progress: reload deadline and counts. The RNR timer
 * stops, since the request that it delayed was answered.
 * @t:   the timers
 * @now: the time, ns
 */
static inline void pavo_timer_restart(struct pavo_timer_state *t, u64 now)
{
	t->rnr = 0;
	t->retries = t->retry_limit;
	t->rnr_retries = t->rnr_limit;
	t->rnr_waits = 0;
	t->put_off = 0;
	t->loss = t->timeout ? now + t->timeout : 0;
}

/**
 * pavo_timer_wait - how long the loss timer waits at present, in ns.
 * @t: the timers
 *
 * The set value is the least; four times as much is allowed (IBA 9.7.6.1.3). If two attempts
 * failed, peer or path are busy, so later waits are longer. A peer that has never answered is
 * more likely not there: its waits stay short, so that the consumer gets the error soon.
 */
static inline u64 pavo_timer_wait(const struct pavo_timer_state *t)
{
	u8 used = t->retry_limit - t->retries;

	if (used < 2 || !t->answered)
		return t->timeout;
	return t->timeout << (used == 2 ? 1 : 2);
}

/**
 * pavo_timer_retry - take a retry (timeout, sequence NAK, lost response).
 * @t:   the timers
 * @now: the time, ns
 *
 * Return: 0; -ETIMEDOUT: no retry is left (Counter Expired event).
 */
static inline int pavo_timer_retry(struct pavo_timer_state *t, u64 now)
{
	if (!t->retries)
		return -ETIMEDOUT;
	t->retries--;
	t->loss = t->timeout ? now + pavo_timer_wait(t) : 0;
	return 0;
}

/** pavo_timer_hold - restart the loss timer, because this side itself has delayed packets. */
static inline void pavo_timer_hold(struct pavo_timer_state *t, u64 now)
{
	if (t->loss)
		t->loss =
			now + (t->timeout ? pavo_timer_wait(t) : PAVO_ECHO_NS);
}

/**
 * pavo_timer_put_off - put off an expiry of the loss timer: the retransmitted packet has
 * not left this host, and another one would only wait behind it.
 * @t:   the timers
 * @now: the time, ns
 *
 * Return: 0; -ETIMEDOUT: it was put off PAVO_PUT_OFF_MAX times without progress.
 */
static inline int pavo_timer_put_off(struct pavo_timer_state *t, u64 now)
{
	if (t->put_off == PAVO_PUT_OFF_MAX)
		return -ETIMEDOUT;
	t->put_off++;
	pavo_timer_hold(t, now);
	return 0;
}

/**
 * pavo_timer_gap_repeated - restart the loss timer, because the peer reports a gap once more
 * after the packets that fill it were retransmitted.
 * @t:   the timers
 * @now: the time, ns
 *
 * The report may have crossed the retransmission, or that was lost, too. The peer is there, but
 * may be busy. If the packets were lost, the timer expires; here it runs even without a set value.
 */
static inline void pavo_timer_gap_repeated(struct pavo_timer_state *t, u64 now)
{
	if (t->rnr)
		return;
	if (t->timeout)
		t->loss = now + pavo_timer_wait(t);
	else if (!t->loss)
		t->loss = now + PAVO_ECHO_NS;
}

/** pavo_timer_answered - note that the peer has sent a response. */
static inline void pavo_timer_answered(struct pavo_timer_state *t)
{
	t->answered = true;
}

/**
 * pavo_timer_rnr_wait - how long to wait after an RNR NAK, in ns.
 * @t:     the timers
 * @delay: RNR timer field of the NAK, in ns
 *
 * The delay is the least (IBA 9.7.5.2.8), and the wait after the first two NAKs. After that
 * the receiver probably sleeps, and frequent requests cost CPU time of both ends: the
 * wait doubles up to PAVO_RNR_TIMEOUT_NS.
 */
static inline u64 pavo_timer_rnr_wait(const struct pavo_timer_state *t,
				      u64 delay)
{
	u64 wait = delay << (t->rnr_waits < 2 ? 0 : t->rnr_waits - 1);

	if (wait > PAVO_RNR_TIMEOUT_NS)
		wait = PAVO_RNR_TIMEOUT_NS;
	return wait > delay ? wait : delay;
}

/**
 * pavo_timer_start_rnr - start the RNR timer after an RNR NAK; the loss timer stops meanwhile.
 * @t:     the timers
 * @now:   the time, ns
 * @delay: RNR timer field of the NAK, in ns
 *
 * Return: 0; -ETIMEDOUT: no retry is left.
 */
static inline int pavo_timer_start_rnr(struct pavo_timer_state *t, u64 now,
				       u64 delay)
{
	if (t->rnr_limit != PAVO_RNR_RETRY_INFINITE) {
		if (!t->rnr_retries)
			return -ETIMEDOUT;
		t->rnr_retries--;
	}
	t->loss = 0;
	t->rnr = now + pavo_timer_rnr_wait(t, delay);
	if (t->rnr_waits < PAVO_RNR_WAITS_MAX)
		t->rnr_waits++;
	return 0;
}

/** pavo_timer_has_loss_expired - true if the loss timer has expired (Timer Expired event). */
static inline bool pavo_timer_has_loss_expired(const struct pavo_timer_state *t,
					       u64 now)
{
	return t->loss && now >= t->loss;
}

/** pavo_timer_end_rnr - true if the RNR timer has expired; stops it then. */
static inline bool pavo_timer_end_rnr(struct pavo_timer_state *t, u64 now)
{
	if (!t->rnr || now < t->rnr)
		return false;
	t->rnr = 0;
	return true;
}

/** pavo_timer_end_repair - true if the repair timer has expired; stops it then. */
static inline bool pavo_timer_end_repair(struct pavo_timer_state *t, u64 now)
{
	if (!t->repair || now < t->repair)
		return false;
	t->repair = 0;
	return true;
}

/* The nearer of two deadlines; 0: none. */
static inline u64 pavo_timer_get_nearer(u64 a, u64 b)
{
	if (a && b)
		return a < b ? a : b;
	return a ? a : b;
}

/** pavo_timer_get_next - the nearest deadline; 0 if no timer runs. */
static inline u64 pavo_timer_get_next(const struct pavo_timer_state *t)
{
	return pavo_timer_get_nearer(pavo_timer_get_nearer(t->loss, t->rnr),
				     t->repair);
}

/**
 * pavo_timer_get_slack - ns by which the hrtimer may fire after pavo_timer_get_next(). The set
 * value is the least of a range (IBA 9.7.6.1.3). 0 if another timer than the loss timer runs.
 * @t: the timers
 */
static inline u64 pavo_timer_get_slack(const struct pavo_timer_state *t)
{
	u64 slack = t->timeout >> PAVO_SLACK_SHIFT;

	if (!t->loss || t->rnr || t->repair)
		return 0;
	return slack < PAVO_SLACK_MAX_NS ? slack : PAVO_SLACK_MAX_NS;
}

#endif /* PAVO_TIMER_LOGIC_H */
