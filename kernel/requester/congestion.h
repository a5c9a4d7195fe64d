/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * congestion.h - congestion control: how losses, round trips and acknowledgments change the cwnd.
 * Each algorithm is a table of functions. Pure.
 */
#ifndef PAVO_CONGESTION_H
#define PAVO_CONGESTION_H

#include "requester/cwnd.h"
#include "requester/ecn.h"

/** Steps without a sign of congestion after which slow start begins again. */
#define PAVO_CC_CALM 8
/** Least share of PAVO_ECN_WHOLE by which a mark shrinks the cwnd: 15 %. */
#define PAVO_CC_MARKED 154

/**
 * struct pavo_progress - packets that were acknowledged.
 * @packets: how many
 * @limited: at least half of the cwnd was in flight, so that the cwnd limits the QP
 * @rtt:     the shortest round trip, us; 0: unknown
 * @mean:    mean round trip of the last round, in us: more than twice @rtt if @delayed
 * @delayed: round trips have grown, since a queue has (struct pavo_rack)
 * @marked:  routers have marked packets in the last round
 */
struct pavo_progress {
	u32 packets;
	u32 rtt;
	u32 mean;
	bool limited;
	bool delayed;
	bool marked;
};

/**
 * struct pavo_congestion - an algorithm.
 * @acked:   packets were acknowledged
 * @lost:    a recovery begins with so many packets lost, while round trips have grown, or not
 * @expired: the loss timer expired
 * @marked:  routers mark packets: such a share of PAVO_ECN_WHOLE. Once in a round trip
 */
struct pavo_congestion {
	void (*acked)(struct pavo_cwnd *w, const struct pavo_progress *what);
	void (*lost)(struct pavo_cwnd *w, u32 packets, bool delayed);
	void (*expired)(struct pavo_cwnd *w);
	void (*marked)(struct pavo_cwnd *w, u32 share);
};

/* ------------------------------------------------- losses alone: RFC 5681, 3.1 */

static inline void pavo_cc_loss_acked(struct pavo_cwnd *w,
				      const struct pavo_progress *what)
{
	if (w->size >= w->most)
		return;
	if (w->size < w->threshold)
		pavo_cwnd_grow(w, what->packets);
	else if (pavo_cwnd_step(w, what->packets))
		pavo_cwnd_grow(w, PAVO_CWND_STEP);
}

static inline void pavo_cc_halve_cwnd(struct pavo_cwnd *w)
{
	pavo_cwnd_shrink(w, w->size / 2, PAVO_CWND_LEAST);
	w->threshold = w->size;
}

static inline void pavo_cc_loss_lost(struct pavo_cwnd *w, u32 packets,
				     bool delayed)
{
	pavo_cc_halve_cwnd(w);
}

static inline void pavo_cc_loss_note_marks(struct pavo_cwnd *w, u32 share)
{
	pavo_cwnd_shrink(w, w->size / 2, PAVO_CWND_FLOOR);
	w->threshold = w->size;
}

/** For peers whose round trips are not measured: each loss halves the cwnd. */
static const struct pavo_congestion pavo_cc_loss = {
	.acked = pavo_cc_loss_acked,
	.lost = pavo_cc_loss_lost,
	.expired = pavo_cc_halve_cwnd,
	.marked = pavo_cc_loss_note_marks,
};

/* ------------------------------------------------- round trips and losses */

/*
 * Round trips have grown. If that is slow start's doing (as HyStart++ judges, RFC 9406), the cwnd
 * shrinks to what the path holds, and as much in a queue. Else others may have filled the queue, so
 * it goes on to grow, slowly.
 */
static inline void pavo_cc_delay_wait(struct pavo_cwnd *w,
				      const struct pavo_progress *what)
{
	w->calm = 0;
	if (w->size < w->threshold) {
		pavo_cwnd_shrink(w, w->size * 2 * what->rtt / what->mean,
				 PAVO_CWND_LEAST);
		w->threshold = w->size;
	} else if (pavo_cwnd_step(w, what->packets)) {
		pavo_cwnd_grow(w, PAVO_CWND_STEP_CAUTIOUS);
	}
}

/* Where round trips stay short the path has become faster: slow start begins again. */
static inline void pavo_cc_delay_acked(struct pavo_cwnd *w,
				       const struct pavo_progress *what)
{
	if (!what->limited || pavo_cwnd_fills(w, what->rtt))
		return;
	if (what->delayed) {
		pavo_cc_delay_wait(w, what);
	} else if (w->size < w->threshold) {
		pavo_cwnd_grow(w, what->packets);
	} else if (pavo_cwnd_step(w, what->packets)) {
		pavo_cwnd_grow(w, what->marked ? PAVO_CWND_STEP_CAUTIOUS :
						 PAVO_CWND_STEP);
		if (++w->calm < PAVO_CC_CALM)
			return;
		w->calm = 0;
		w->threshold = PAVO_CWND_MOST;
	}
}

/*
 * Shrink, to 0.7 as RFC 9438, 4.6, if a queue has grown, or if an eighth of the cwnd is lost at
 * once: a loss alone is no sign of congestion.
 */
static inline void pavo_cc_delay_lost(struct pavo_cwnd *w, u32 packets,
				      bool delayed)
{
	if (!delayed && 8 * packets <= w->size)
		return;
	pavo_cwnd_shrink(w, w->size * 7 / 10, PAVO_CWND_FLOOR);
	w->threshold = w->size;
}

/* RFC 5681, 3.1: nothing is known of the path any more. */
static inline void pavo_cc_delay_expired(struct pavo_cwnd *w)
{
	w->threshold = w->size / 2;
	pavo_cwnd_shrink(w, 0, PAVO_CWND_LEAST);
}

/*
 * Shrink by half of the share (RFC 8257, 3.3). A router that marks few packets for long queues, as
 * RFC 3168 has it, expects more than that: at least PAVO_CC_MARKED (RFC 8511).
 */
static inline void pavo_cc_delay_note_marks(struct pavo_cwnd *w, u32 share)
{
	u32 cut = share / 2;

	if (cut < PAVO_CC_MARKED)
		cut = PAVO_CC_MARKED;
	pavo_cwnd_shrink(w, w->size - w->size * cut / PAVO_ECN_WHOLE,
			 PAVO_CWND_FLOOR);
	w->threshold = w->size;
}

/** For peers that send SACKs: a loss counts if round trips agree. */
static const struct pavo_congestion pavo_cc_delay = {
	.acked = pavo_cc_delay_acked,
	.lost = pavo_cc_delay_lost,
	.expired = pavo_cc_delay_expired,
	.marked = pavo_cc_delay_note_marks,
};

#endif /* PAVO_CONGESTION_H */
