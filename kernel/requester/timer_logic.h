/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * timer_logic.h - Loss and RNR timer of a QP (sources.md#engine-3-4-2) and their
 * events (sources.md#engine-7-1-4).
 *
 * The table scanned by a thread becomes a deadline per QP that is
 * moved by storing a number; timers.c wakes up and asks whether it passed.
 * Time is given in, in ns. Pure.
 */
#ifndef PAVO_TIMER_LOGIC_H
#define PAVO_TIMER_LOGIC_H

#include <linux/types.h>

/** An RNR retry count of 7 means: for ever (IBA 9.7.5.2.8). */
#define PAVO_RNR_RETRY_INFINITE 7

/** How long a repeated NAK may be an echo, if no loss timer tells. */
#define PAVO_ECHO_NS (100 * 1000 * 1000ull)

/** Times that an expiry of the loss timer is put off without progress. */
#define PAVO_PUT_OFF_MAX 32

/** RNR NAKs of one packet that are counted: 10 us doubled so often is patience. */
#define PAVO_RNR_WAITS_MAX 8

/** Longest wait that repeated RNR NAKs of one packet grow to, if they ask for less. */
#define PAVO_RNR_PATIENCE_NS (1000 * 1000ull)

/**
 * struct pavo_timer_state - both timers.
 * @loss, @rnr:   deadlines; 0 while the timer does not run
 * @timeout:      set value of the loss timer; 0: it never runs
 * @retry_limit, @retries: limit and retries left
 * @rnr_limit, @rnr_retries: the same for RNR NAKs
 * @rnr_waits: RNR NAKs since there was progress, as far as they are counted
 * @put_off:   expiries of the loss timer since then that were put off
 * @answered:  the peer has answered something since this began
 */
struct pavo_timer_state {
	u64 loss;
	u64 rnr;
	u64 timeout;
	u8 retry_limit;
	u8 retries;
	u8 rnr_limit;
	u8 rnr_retries;
	u8 rnr_waits;
	u8 put_off;
	bool answered;
};

/** pavo_timer_init - limits as by modify_qp; both timers stopped. */
static inline void pavo_timer_init(struct pavo_timer_state *t, u64 timeout,
				   u8 retry_limit, u8 rnr_limit)
{
	t->loss = 0;
	t->rnr = 0;
	t->timeout = timeout;
	t->retry_limit = retry_limit;
	t->retries = retry_limit;
	t->rnr_limit = rnr_limit;
	t->rnr_retries = rnr_limit;
	t->rnr_waits = 0;
	t->put_off = 0;
	t->answered = false;
}

/** pavo_timer_set - Set event: something is outstanding. */
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
 * pavo_timer_restart - Restart event: progress; value and counts reloaded. The
 * request that was to be delayed is among what was answered.
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
 *
 * The set value is the least, four times as much is allowed (IBA 9.7.6.1.3). What
 * two attempts could not mend is a peer or a path with too much to do: the more
 * often it was tried, the longer it gets. A peer that never answered has nothing to do
 * for this sender: more likely it is not there, and the sender is told soon.
 */
static inline u64 pavo_timer_wait(const struct pavo_timer_state *t)
{
	u8 used = t->retry_limit - t->retries;

	if (used < 2 || !t->answered)
		return t->timeout;
	return t->timeout << (used == 2 ? 1 : 2);
}

/**
 * pavo_timer_retry - one more attempt is needed (timeout, sequence NAK, lost
 * response); false: Counter Expired, the retries are used up.
 */
static inline bool pavo_timer_retry(struct pavo_timer_state *t, u64 now)
{
	if (!t->retries)
		return false;
	t->retries--;
	t->loss = t->timeout ? now + pavo_timer_wait(t) : 0;
	return true;
}

/** pavo_timer_hold - it is we who are late: the loss timer begins anew. */
static inline void pavo_timer_hold(struct pavo_timer_state *t, u64 now)
{
	if (t->loss)
		t->loss =
			now + (t->timeout ? pavo_timer_wait(t) : PAVO_ECHO_NS);
}

/**
 * pavo_timer_put_off - the loss timer has expired, but what was sent again has not left this
 * machine: another attempt would only wait behind it. False: it was put off often enough.
 */
static inline bool pavo_timer_put_off(struct pavo_timer_state *t, u64 now)
{
	if (t->put_off == PAVO_PUT_OFF_MAX)
		return false;
	t->put_off++;
	pavo_timer_hold(t, now);
	return true;
}

/**
 * pavo_timer_told_again - the peer speaks of a gap though what fills it was sent
 * again: an echo, something that was under way before, or that was lost, too. The
 * peer is there, but busy: the loss timer begins anew, and tells if nothing else
 * comes; this once it runs even if it has no set value.
 */
static inline void pavo_timer_told_again(struct pavo_timer_state *t, u64 now)
{
	if (t->rnr)
		return;
	if (t->timeout)
		t->loss = now + pavo_timer_wait(t);
	else if (!t->loss)
		t->loss = now + PAVO_ECHO_NS;
}

/** pavo_timer_answered - something came from the peer, whatever it says. */
static inline void pavo_timer_answered(struct pavo_timer_state *t)
{
	t->answered = true;
}

/**
 * pavo_timer_rnr_wait - how long an RNR NAK that asks for @delay is waited for, in ns.
 *
 * The delay is the least (IBA 9.7.5.2.8). Two NAKs are taken at their word. After that
 * the receiver sleeps, and asking it again and again costs CPU time of both ends: the
 * wait doubles up to PAVO_RNR_PATIENCE_NS.
 */
static inline u64 pavo_timer_rnr_wait(const struct pavo_timer_state *t,
				      u64 delay)
{
	u64 wait = delay << (t->rnr_waits < 2 ? 0 : t->rnr_waits - 1);

	if (wait > PAVO_RNR_PATIENCE_NS)
		wait = PAVO_RNR_PATIENCE_NS;
	return wait > delay ? wait : delay;
}

/**
 * pavo_timer_rnr - an RNR NAK asks to wait for @delay; false: retries used up.
 * The loss timer rests meanwhile.
 */
static inline bool pavo_timer_rnr(struct pavo_timer_state *t, u64 now,
				  u64 delay)
{
	if (t->rnr_limit != PAVO_RNR_RETRY_INFINITE) {
		if (!t->rnr_retries)
			return false;
		t->rnr_retries--;
	}
	t->loss = 0;
	t->rnr = now + pavo_timer_rnr_wait(t, delay);
	if (t->rnr_waits < PAVO_RNR_WAITS_MAX)
		t->rnr_waits++;
	return true;
}

/** pavo_timer_loss_expired - Timer Expired of the loss timer? */
static inline bool pavo_timer_loss_expired(const struct pavo_timer_state *t,
					   u64 now)
{
	return t->loss && now >= t->loss;
}

/** pavo_timer_rnr_expired - is the RNR delay over? Clears it. */
static inline bool pavo_timer_rnr_expired(struct pavo_timer_state *t, u64 now)
{
	if (!t->rnr || now < t->rnr)
		return false;
	t->rnr = 0;
	return true;
}

/** pavo_timer_next - the nearer deadline; 0 if none runs. */
static inline u64 pavo_timer_next(const struct pavo_timer_state *t)
{
	if (t->loss && t->rnr)
		return t->loss < t->rnr ? t->loss : t->rnr;
	return t->loss ? t->loss : t->rnr;
}

#endif /* PAVO_TIMER_LOGIC_H */
