/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * expected_psn.h - the expected PSN of a responder: what becomes of a request by its PSN, and which
 * ACK or NAK is due (IBA 9.7.4.1.1 and 9.9.2).
 *
 * A machine of events, as requester/recovery.h: a request arrives, was executed, or finds no
 * receive WQE. It touches no packet and no memory. A policy decides what becomes of requests that
 * come early, behind a gap: a constant that the caller names and the compiler folds. The module has
 * hold_early.h. Pure.
 */
#ifndef PAVO_EXPECTED_PSN_H
#define PAVO_EXPECTED_PSN_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "wire/psn.h"
#include "wire/psn_set.h"
#include "wire/wire.h"

/** How far behind a gap a request may be at least that is held (pavo_expected_get_reach()). */
#define PAVO_REACH_LEAST 256u
/** PSNs that a requester hears of together, while some are behind a gap: at least so many, */
#define PAVO_SACK_EVERY 8
/** and this part of those that are held; at most so many, of the 256 of a map. */
#define PAVO_SACK_SHARE 16
#define PAVO_SACK_EVERY_MOST 64

/**
 * struct pavo_expected - the expected PSN.
 * @psn:      it
 * @far:      number of requests with an implausible PSN (pavo_psn_is_far())
 * @furthest: behind the furthest request that was early since a NAK is due
 * @nak_sent: a sequence error NAK or an RNR NAK is due, or was sent, for @psn
 * @ack_due:  an ACK or NAK is to be sent
 * @ack_syndrome: its syndrome
 * @ack_psn:  its PSN
 * @sacks:    the requester understands SACKs, as its last request said
 * @marked:   a request was marked by a router, and no response has echoed that yet
 * @marks:    how many packets of requests were marked, modulo PAVO_ATTEMPT_MASK + 1
 * @holds:    @held has PSNs
 * @early:    packets that came early since none was held
 * @unreported: PSNs that came since the last ACK, while some are held
 * @repeated: a request without a response came again since the last ACK
 * @attempt:  struct pavo_sack
 * @dups:     likewise
 * @echo:     likewise
 * @held:     PSNs of requests that are held behind the expected one
 * @since:    tick in which the period began that pavo_expected_get_reach() looks at
 * @start:    the expected PSN at that time
 * @before:   likewise, when the period before it began
 * @words:    its bits
 */
struct pavo_expected {
	u32 psn;
	u32 far;
	u32 furthest;
	bool nak_sent;
	bool ack_due;
	u8 ack_syndrome;
	u32 ack_psn;
	bool sacks;
	bool marked;
	u8 marks;
	bool holds;
	bool repeated;
	u8 attempt;
	u16 dups;
	u32 early;
	u32 unreported;
	u32 echo;
	struct pavo_psn_set held;
	u32 since;
	u32 start;
	u32 before;
	u64 words[PAVO_PSN_WINDOW / 64];
};

/* Verdict on a request by its PSN. */
enum pavo_psn_verdict {
	PAVO_PSN_EXECUTE, /* it is the expected one */
	PAVO_PSN_DUPLICATE, /* it was executed before */
	PAVO_PSN_EARLY, /* requests before it are missing */
};

/* Verdict on a request that is early. */
enum pavo_early_verdict {
	PAVO_EARLY_REPORT, /* hold it; a sequence error NAK is due now */
	PAVO_EARLY_HOLD, /* hold it until those before it are there */
	PAVO_EARLY_DROP, /* drop it: it is held */
};

/**
 * struct pavo_early_policy - what a responder does with requests behind a gap.
 * @arrived: @npkts packets from @psn on are early; note them in @e
 */
struct pavo_early_policy {
	enum pavo_early_verdict (*arrived)(struct pavo_expected *e, u32 psn,
					   u32 npkts);
};

/** pavo_expected_reset - nothing has arrived; pavo_expected_start() follows. */
static inline void pavo_expected_reset(struct pavo_expected *e)
{
	*e = (struct pavo_expected){ .psn = e->psn };
	pavo_psn_set_init(&e->held, e->words, PAVO_PSN_WINDOW);
}

/** pavo_expected_start - the QP enters RTR: @psn is the first one. */
static inline void pavo_expected_start(struct pavo_expected *e, u32 psn)
{
	e->psn = psn;
	e->start = psn;
	e->before = psn;
}

/** pavo_expected_find - event: a request of @psn arrives. */
static inline enum pavo_psn_verdict pavo_expected_find(struct pavo_expected *e,
						       u32 psn)
{
	s32 ahead = pavo_psn_diff(psn, e->psn);

	if (!ahead)
		return PAVO_PSN_EXECUTE;
	if (pavo_psn_is_far(ahead))
		e->far++;
	return ahead > 0 ? PAVO_PSN_EARLY : PAVO_PSN_DUPLICATE;
}

/**
 * pavo_expected_note_arrival - event: a request has arrived whose PSN is not far.
 * @e:    the expected PSN
 * @psn:  its PSN, or that of its last packet
 * @pkt:  its headers
 */
static inline void pavo_expected_note_arrival(struct pavo_expected *e, u32 psn,
					      const struct pavo_pkt *pkt)
{
	e->sacks = pkt->wants_sack;
	e->attempt = pkt->attempt;
	e->echo = psn;
}

/* The first @npkts packets from the expected one on are not held any more. */
static inline void pavo_expected_forget(struct pavo_expected *e, u32 npkts)
{
	pavo_psn_set_remove(&e->held, e->psn, npkts);
	e->holds = !pavo_psn_set_is_empty(&e->held);
	if (!e->holds)
		e->early = 0;
}

/**
 * pavo_expected_begin - event: the expected request is executed; the gap before it is closed.
 * @e:     the expected PSN
 * @npkts: packets of the request: none of them is held any more
 */
static inline void pavo_expected_begin(struct pavo_expected *e, u32 npkts)
{
	e->nak_sent = false;
	if (unlikely(e->holds))
		pavo_expected_forget(e, npkts);
}

static inline bool pavo_expected_nak_is_due(const struct pavo_expected *e)
{
	return e->ack_due && e->ack_syndrome & PAVO_AETH_CLASS;
}

/**
 * pavo_expected_ack - an ACK or NAK becomes due.
 * @e:        the expected PSN
 * @psn:      PSN of the ACK or NAK
 * @syndrome: its syndrome
 *
 * An ACK of a PSN before a waiting NAK is left out: the NAK acknowledges that PSN, too.
 */
static inline void pavo_expected_ack(struct pavo_expected *e, u32 psn,
				     u8 syndrome)
{
	if (pavo_expected_nak_is_due(e) && !(syndrome & PAVO_AETH_CLASS) &&
	    pavo_psn_diff(psn, e->ack_psn) < 0)
		return;
	e->ack_due = true;
	e->ack_psn = psn;
	e->ack_syndrome = syndrome;
}

/** pavo_expected_ack_all - an ACK of all that was executed becomes due. */
static inline void pavo_expected_ack_all(struct pavo_expected *e)
{
	pavo_expected_ack(e, pavo_psn_add(e->psn, -1), PAVO_AETH_ACK_UNLIMITED);
}

/*
 * The packet that a NAK names has come before that NAK was sent. If requests behind that packet
 * came early, let the NAK name the next one that is missing: the requester ignores a NAK before its
 * oldest request, and would retransmit only after its loss timer. Those that are held are executed
 * before the NAK is sent, and renew it, too.
 */
static inline void pavo_expected_renew_nak(struct pavo_expected *e)
{
	e->nak_sent = pavo_psn_diff(e->furthest, e->psn) > 0;
	if (e->nak_sent) {
		e->ack_psn = e->psn;
		e->ack_syndrome = PAVO_NAK_PSN_SEQ;
	} else {
		e->ack_psn = pavo_psn_add(e->psn, -1);
		e->ack_syndrome = PAVO_AETH_ACK_UNLIMITED;
	}
}

/** pavo_expected_advance - event: @npkts packets from the expected PSN on were executed. */
static inline void pavo_expected_advance(struct pavo_expected *e, u32 npkts)
{
	if (unlikely(e->holds))
		pavo_expected_forget(e, npkts);
	e->psn = pavo_psn_add(e->psn, npkts);
	if (pavo_expected_nak_is_due(e))
		pavo_expected_renew_nak(e);
}

/** pavo_expected_handle_early - event: @npkts packets from @psn on are early (PAVO_PSN_EARLY). */
static __always_inline enum pavo_early_verdict
pavo_expected_handle_early(struct pavo_expected *e,
			   const struct pavo_early_policy *policy, u32 psn,
			   u32 npkts)
{
	return policy->arrived(e, psn, npkts);
}

/* ------------------------------------------------- SACKs */

/**
 * pavo_expected_note_time - event: an ACK is sent.
 * @e:      the expected PSN
 * @ticks:  the time
 * @period: ticks of a period
 */
static inline void pavo_expected_note_time(struct pavo_expected *e, u32 ticks,
					   u32 period)
{
	if (likely(ticks - e->since < period))
		return;
	e->since = ticks;
	e->before = e->start;
	e->start = e->psn;
}

/**
 * pavo_expected_get_reach - how far behind the gap a request may be that is held.
 * @e: the expected PSN
 *
 * A requester has at most twice as many packets in flight as in the round trip before, so less than
 * twice as many as have come in the last two periods. Where few come, a forger has to name a PSN
 * that is near.
 */
static inline u32 pavo_expected_get_reach(const struct pavo_expected *e)
{
	u32 reach = 2 * pavo_psn_diff(e->psn, e->before);

	if (reach < PAVO_REACH_LEAST)
		return PAVO_REACH_LEAST;
	return reach < PAVO_PSN_WINDOW ? reach : PAVO_PSN_WINDOW;
}

/** pavo_expected_hold - event: @npkts packets from @psn on are held. */
static inline void pavo_expected_hold(struct pavo_expected *e, u32 psn,
				      u32 npkts)
{
	u32 most = PAVO_PSN_WINDOW - pavo_psn_diff(psn, e->psn);

	pavo_psn_set_add(&e->held, psn, npkts < most ? npkts : most);
	e->holds = true;
}

/** pavo_expected_drop - event: all that was held from @psn on was dropped. */
static inline void pavo_expected_drop(struct pavo_expected *e, u32 psn)
{
	pavo_psn_set_remove(&e->held, psn,
			    PAVO_PSN_WINDOW - pavo_psn_diff(psn, e->psn));
	e->holds = !pavo_psn_set_is_empty(&e->held);
}

/** pavo_expected_note_duplicate - event: a request without a response came again. */
static inline void pavo_expected_note_duplicate(struct pavo_expected *e)
{
	e->dups++;
	e->repeated = true;
	pavo_expected_ack_all(e);
}

/* PSNs that a SACK is to report. Where many are in flight, a few at a time are many SACKs. */
static inline u32 pavo_expected_get_sack_step(const struct pavo_expected *e)
{
	u32 step = e->held.count / PAVO_SACK_SHARE;

	if (step < PAVO_SACK_EVERY)
		return PAVO_SACK_EVERY;
	return step < PAVO_SACK_EVERY_MOST ? step : PAVO_SACK_EVERY_MOST;
}

/**
 * pavo_expected_count_unreported - event: a request has come that closes no gap.
 * @e:     the expected PSN
 * @npkts: its PSNs
 *
 * Return: true if the requester is to hear of it now.
 */
static inline bool pavo_expected_count_unreported(struct pavo_expected *e,
						  u32 npkts)
{
	if (likely(!e->holds) || !e->sacks)
		return false;
	e->unreported += npkts;
	return e->unreported >= pavo_expected_get_sack_step(e);
}

/** pavo_expected_ack_sent - event: the ACK or NAK that was due was sent. */
static inline void pavo_expected_ack_sent(struct pavo_expected *e)
{
	e->ack_due = false;
	e->repeated = false;
	e->unreported = 0;
}

/** pavo_expected_is_sack - true if the ACK that is due goes as a SACK. */
static inline bool pavo_expected_is_sack(const struct pavo_expected *e)
{
	return unlikely(e->holds || e->repeated) && e->sacks &&
	       !pavo_expected_nak_is_due(e);
}

/*
 * Where the map of a SACK begins, in words, if @psn came last: the map has that, and those that
 * came shortly before. Earlier SACKs had the others.
 */
static inline u8 pavo_expected_get_from(const struct pavo_expected *e, u32 psn)
{
	const s32 before = PAVO_SACK_PSNS - 64, last = PAVO_PSN_WINDOW - 1;
	const s32 away = pavo_psn_diff(psn, e->psn);

	if (away <= before)
		return 0;
	return ((away < last ? away : last) - before) / 64;
}

/*
 * True if the ACK that is due has to be sent before the arrival of @psn is noted: it is a SACK
 * whose map would have either that or the request that came before.
 */
static inline bool pavo_expected_outgrows_map(const struct pavo_expected *e,
					      u32 psn)
{
	s32 ahead;

	if (likely(!e->ack_due || !e->holds) || !pavo_expected_is_sack(e))
		return false;
	ahead = pavo_psn_diff(e->echo, e->psn) -
		64 * pavo_expected_get_from(e, psn);
	return ahead < 0 ? pavo_psn_diff(e->echo, e->psn) > 0 :
			   ahead >= (s32)PAVO_SACK_PSNS;
}

/** pavo_expected_get_sack - what it says. */
static inline struct pavo_sack
pavo_expected_get_sack(const struct pavo_expected *e)
{
	struct pavo_sack sack = {
		.dups = e->dups,
		.from = pavo_expected_get_from(e, e->echo),
		.attempt = e->attempt,
		.echo = e->echo,
	};
	u32 i, psn = e->psn + 64 * sack.from;

	for (i = 0; i < PAVO_SACK_PSNS / 64; i++, psn += 64)
		sack.map[i] = pavo_psn_set_get_word(&e->held, psn);
	return sack;
}

/**
 * pavo_expected_handle_rnr - event: the expected request finds no receive WQE. An RNR NAK becomes
 * due: the requester retransmits the request after a delay.
 * @e:        the expected PSN
 * @syndrome: of the NAK
 */
static inline void pavo_expected_handle_rnr(struct pavo_expected *e,
					    u8 syndrome)
{
	if (!pavo_expected_nak_is_due(e))
		e->furthest = e->psn;
	pavo_expected_ack(e, e->psn, syndrome);
	/* Packets behind it in flight must not be reported as a gap. */
	e->nak_sent = true;
}

#endif /* PAVO_EXPECTED_PSN_H */
