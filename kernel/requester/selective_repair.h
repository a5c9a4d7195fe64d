/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * selective_repair.h - the module's policy of recovery.h: towards a peer that sends SACKs only what
 * was lost is sent once more, as RACK-TLP finds it (rack.h); towards any other peer it is
 * go-back-N (go_back_n.h). Pure.
 *
 * The peer holds requests behind a gap, and this side holds responses; both are noted on the
 * scoreboard. The next packet is the oldest one that is lost, or behind all that was sent.
 */
#ifndef PAVO_SELECTIVE_REPAIR_H
#define PAVO_SELECTIVE_REPAIR_H

#include "requester/congestion.h"
#include "requester/go_back_n.h"
#include "requester/recovery_congestion.h"

/* Continue with the oldest packet that is lost, or behind all that was sent. */
static inline unsigned int pavo_sr_continue(struct pavo_recovery *r)
{
	u32 span = pavo_psn_diff(r->sent, r->upsn);
	u32 next =
		pavo_psn_add(r->upsn, pavo_psn_set_find(&r->board->lost,
							r->upsn, span, true));

	if (next == r->next)
		return 0;
	r->next = next;
	return PAVO_REC_SEEK;
}

/*
 * Set the repair timer: to the end of a reordering window, @wait, or to that of a tail loss probe.
 * A path that has lost nothing gets no probe, as a late answer means a busy peer there, unless the
 * peer holds packets behind a gap.
 */
static inline void pavo_sr_set_timer(struct pavo_recovery *r, u32 wait, u64 now)
{
	struct pavo_scoreboard *b = r->board;

	b->waiting = wait;
	r->timer.repair = 0;
	if (r->upsn == r->sent)
		return;
	if (!wait && (b->lossy || !pavo_psn_set_is_empty(&b->held)) &&
	    b->probes < PAVO_RACK_PROBES_MAX && b->rack.srtt)
		wait = pavo_rack_get_probe_wait(&b->rack, b->probes);
	if (wait)
		r->timer.repair = now + pavo_rack_to_ns(wait);
}

/* ------------------------------------------------- sending */

/*
 * True if the peer has no space for the last of @npkts new packets: it would drop that. A peer that
 * holds nothing needs none.
 */
static inline bool pavo_sr_is_bounded(const struct pavo_recovery *r, u32 npkts)
{
	const struct pavo_scoreboard *b = r->board;

	return unlikely(b->bounded) && !pavo_psn_set_is_empty(&b->held) &&
	       pavo_psn_diff(r->next, b->bound) + (s32)npkts > 0;
}

static inline bool pavo_sr_admits(const struct pavo_recovery *r, u32 npkts)
{
	u32 span = pavo_psn_diff(r->sent, r->upsn);

	if (!r->sacks)
		return pavo_gbn_admits(r, npkts);
	/* After the loss timer what counts as in flight may be lost. */
	if (r->probing && span)
		return r->next == r->upsn;
	if (!pavo_recovery_is_retransmit(r) &&
	    (span + npkts > r->board->size || pavo_sr_is_bounded(r, npkts)))
		return false;
	span -= pavo_board_count_away(r->board);
	if (unlikely(r->board->rack.drain) && span >= PAVO_CWND_LEAST)
		return false;
	return pavo_cwnd_admits(&r->cwnd, span, npkts);
}

/*
 * Of what is lost: as far as it is in a row. A read that may not have been executed is requested as
 * before: its parts would be more requests than the peer has resources for.
 */
static inline u32 pavo_sr_run(const struct pavo_recovery *r)
{
	u32 span = pavo_psn_diff(r->sent, r->next);

	if (!r->sacks || !span ||
	    pavo_psn_diff(r->next, r->board->executed) >= 0)
		return pavo_gbn_run(r);
	return pavo_psn_set_find(&r->board->lost, r->next, span, false);
}

static inline unsigned int pavo_sr_sent(struct pavo_recovery *r, u32 npkts,
					bool again, u64 now)
{
	u32 psn = r->next, end = pavo_psn_add(psn, npkts), i;
	struct pavo_scoreboard *b = r->board;
	u8 *attempts;

	if (!r->sacks)
		return pavo_gbn_sent(r, npkts, again, now);
	for (i = 0; i < npkts; i++, psn++) {
		*pavo_board_get_time(b, psn) = pavo_rack_get_time(now);
		attempts = pavo_board_get_attempts(b, psn);
		*attempts = again ? *attempts + 1 : 0;
	}
	if (again) {
		pavo_psn_set_add(&b->resent, r->next, npkts);
		pavo_psn_set_remove(&b->lost, r->next, npkts);
	}
	if (!r->timer.repair)
		pavo_sr_set_timer(r, 0, now);
	/* The caller's cursor is at @end then. */
	r->next = end;
	return again ? pavo_sr_continue(r) : 0;
}

/* The interface has refused the packet of @psn, and what was sent after it. */
static inline void pavo_sr_refused(struct pavo_recovery *r, u32 psn)
{
	struct pavo_scoreboard *b = r->board;
	u32 at;

	if (!r->sacks) {
		pavo_gbn_refused(r, psn);
		return;
	}
	at = *pavo_board_get_time(b, psn);
	for (; pavo_psn_diff(psn, r->sent) < 0; psn = pavo_psn_add(psn, 1)) {
		if ((s32)(*pavo_board_get_time(b, psn) - at) >= 0 &&
		    !pavo_board_has_arrived(b, psn))
			pavo_board_lose(b, psn);
	}
	pavo_sr_continue(r);
}

/* ------------------------------------------------- what has arrived */

/*
 * The packet of @psn has arrived before one that was sent before it, so it may have overtaken.
 * Where packets do that, all may have that are ahead of one that is on its way.
 */
static inline bool pavo_sr_has_jumped(const struct pavo_recovery *r, u32 psn)
{
	const struct pavo_scoreboard *b = r->board;
	s32 ahead = pavo_psn_diff(psn, r->upsn);

	if (pavo_psn_diff(psn, b->fack) > 1)
		return true;
	return b->rack.reordered && ahead > 0 &&
	       pavo_board_find_open(b, r->upsn, ahead, false) != (u32)ahead;
}

/*
 * The packet of @psn has arrived. An answer to an earlier transmission than the last one shows that
 * later ones have overtaken it. A packet that overtakes says nothing of round trips of the others.
 */
static inline void pavo_sr_note_arrival(struct pavo_recovery *r, u32 psn,
					u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 at = *pavo_board_get_time(b, psn);
	u32 rtt = pavo_rack_get_time(now) - at;

	b->probes = 0;
	r->probing = false;
	if (pavo_psn_set_has(&b->resent, psn)) {
		if (pavo_rack_is_too_soon(&b->rack, rtt)) {
			pavo_rack_note_reordering(&b->rack);
			return;
		}
	} else {
		if (pavo_psn_diff(psn, b->fack) < 0)
			pavo_rack_note_reordering(&b->rack);
		if (!pavo_sr_has_jumped(r, psn))
			pavo_rack_measure(&b->rack, rtt);
	}
	if (pavo_psn_diff(psn, b->fack) > 0)
		b->fack = psn;
	pavo_rack_arrived(&b->rack, at, psn, pavo_rack_get_time(now));
}

/* A recovery begins: @fresh packets are lost that were sent once. */
static inline void pavo_sr_begin_recovery(struct pavo_recovery *r, u32 fresh)
{
	struct pavo_scoreboard *b = r->board;

	b->lossy = true;
	if (pavo_psn_diff(r->upsn, b->recover) < 0)
		return;
	b->recover = r->sent;
	pavo_rack_recovered(&b->rack);
	pavo_cc_delay.lost(&r->cwnd, fresh, b->rack.delayed);
}

/*
 * The packet of @psn was sent before one that has arrived @rtt after its transmission: it is lost
 * if the reordering window has passed. Return: the rest of the window; 0: lost.
 */
static inline u32 pavo_sr_check(struct pavo_scoreboard *b, u32 psn, u32 rtt,
				u32 window, u64 now)
{
	s32 left = *pavo_board_get_time(b, psn) + rtt + window -
		   pavo_rack_get_time(now);

	if (left > 0)
		return left;
	pavo_psn_set_add(&b->lost, psn, 1);
	return 0;
}

/*
 * Find what is lost of the packets that were sent once. That was in the order of their PSNs, so the
 * first one that may yet arrive ends the search; @wait is the rest of its window.
 *
 * Return: how many are lost.
 */
static inline u32 pavo_sr_detect_once(struct pavo_recovery *r, u32 window,
				      u32 *wait, u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 span = pavo_psn_diff(r->sent, r->upsn), i, psn, at, found = 0;

	for (i = 0; i < span; i++, found++) {
		i += pavo_board_find_open(b, r->upsn + i, span - i, false);
		psn = pavo_psn_add(r->upsn, i);
		at = *pavo_board_get_time(b, psn);
		if (i == span || !pavo_rack_was_sent_before(&b->rack, at, psn))
			break;
		*wait = pavo_sr_check(b, psn, b->rack.rtt, window, now);
		if (*wait)
			break;
	}
	return found;
}

/*
 * Likewise, of those that were sent more than once. Others that have arrived may have overtaken
 * them, so they are lost once in a round trip. @wait becomes that of the first to end.
 */
static inline u32 pavo_sr_detect_resent(struct pavo_recovery *r, u32 window,
					u32 *wait, u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 span = pavo_psn_diff(r->sent, r->upsn), i, found = 0;
	u32 rtt = b->rack.rtt > b->rack.min_rtt ? b->rack.rtt : b->rack.min_rtt;

	if (pavo_psn_set_is_empty(&b->resent))
		return 0;
	for (i = 0; i < span; i++) {
		u32 psn, at, left;

		i += pavo_board_find_open(b, r->upsn + i, span - i, true);
		if (i == span)
			break;
		psn = pavo_psn_add(r->upsn, i);
		at = *pavo_board_get_time(b, psn);
		/*
		 * At one time a retransmission is behind all that are sent for the first time, and
		 * retransmissions have the order of their PSNs.
		 */
		if ((at == b->rack.at &&
		     !pavo_psn_set_has(&b->resent, b->rack.psn)) ||
		    !pavo_rack_was_sent_before(&b->rack, at, psn))
			continue;
		left = pavo_sr_check(b, psn, rtt, window, now);
		if (!left)
			found++;
		else if (!*wait || left < *wait)
			*wait = left;
	}
	return found;
}

/*
 * Find what is lost: sent before a packet that has arrived, and not known to be there although the
 * reordering window has passed.
 */
static inline unsigned int pavo_sr_detect(struct pavo_recovery *r, u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 window =
		pavo_rack_get_window(&b->rack, b->held.count + b->here.count);
	u32 wait = 0, fresh = pavo_sr_detect_once(r, window, &wait, now);
	u32 found = fresh + pavo_sr_detect_resent(r, window, &wait, now);

	pavo_sr_set_timer(r, wait, now);
	if (!found)
		return pavo_sr_continue(r);
	pavo_sr_begin_recovery(r, fresh);
	return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT;
}

/* Packets from @from to UPSN were acknowledged, which is not on the scoreboard yet. */
static inline struct pavo_progress
pavo_sr_get_progress(const struct pavo_recovery *r, u32 from)
{
	u32 in_network =
		pavo_psn_diff(r->sent, from) - pavo_board_count_away(r->board);

	return (struct pavo_progress){
		.packets = (u32)pavo_psn_diff(r->upsn, from),
		.rtt = r->board->rack.min_rtt,
		.limited = 2 * in_network >= r->cwnd.size,
	};
}

static inline unsigned int pavo_sr_released(struct pavo_recovery *r, u32 from,
					    u64 now)
{
	struct pavo_scoreboard *b = r->board;
	struct pavo_progress progress;
	unsigned int todo = 0;
	bool clean;

	if (!r->sacks)
		return pavo_gbn_released(r, from, now);
	progress = pavo_sr_get_progress(r, from);
	clean = pavo_board_is_clean(b);
	if (likely(clean)) {
		/* All before it have arrived, too. */
		b->fack = pavo_psn_add(r->upsn, -2);
		pavo_sr_note_arrival(r, pavo_psn_add(r->upsn, -1), now);
	} else {
		/*
		 * The ACK came when the first one did. Others may have been held since long, if the
		 * SACK that said so was lost: that is no round trip, and no reordering.
		 */
		b->probes = 0;
		r->probing = false;
		if (!pavo_board_has_arrived(b, from))
			pavo_sr_note_arrival(r, from, now);
		pavo_board_forget(b, from, pavo_psn_diff(r->upsn, from));
	}
	pavo_board_pass(b, r->upsn, r->upsn != r->sent);
	b->ecn.acked += progress.packets;
	if (pavo_psn_diff(r->upsn, b->round) >= 0) {
		pavo_ecn_end_round(&b->ecn);
		pavo_rack_end_round(&b->rack, pavo_rack_get_time(now));
		b->round = r->sent;
	}
	progress.delayed = b->rack.delayed;
	progress.mean = b->rack.mean;
	progress.marked = b->ecn.recent;
	pavo_cc_delay.acked(&r->cwnd, &progress);
	if (unlikely(r->cwnd.wanted))
		todo = PAVO_REC_WIDEN;
	if (unlikely(!clean || b->waiting))
		return todo | pavo_sr_detect(r, now);
	if (r->timer.repair)
		pavo_sr_set_timer(r, 0, now);
	return todo;
}

/* The peer holds the packet of @psn behind the one at UPSN. */
static inline void pavo_sr_note_held(struct pavo_recovery *r, u32 psn)
{
	if (pavo_psn_set_has(&r->board->here, psn))
		return;
	pavo_psn_set_add(&r->board->held, psn, 1);
	pavo_psn_set_remove(&r->board->lost, psn, 1);
}

/* This side holds @npkts responses from @psn on. */
static inline void pavo_sr_note_here(struct pavo_recovery *r, u32 psn,
				     u32 npkts)
{
	pavo_board_note_executed(r->board, pavo_psn_add(psn, npkts));
	pavo_psn_set_add(&r->board->here, psn, npkts);
	pavo_psn_set_remove(&r->board->held, psn, npkts);
	pavo_psn_set_remove(&r->board->lost, psn, npkts);
}

/*
 * The peer has executed the requests before @psn. Those without a response need not be sent again,
 * and it does not hold the others any more.
 */
static inline void pavo_sr_note_executed(struct pavo_recovery *r, u32 psn)
{
	struct pavo_scoreboard *b = r->board;
	u32 from = r->upsn, n;

	pavo_board_note_executed(b, psn);
	pavo_psn_set_remove(&b->held, from, pavo_psn_diff(psn, from));
	for (; pavo_psn_diff(psn, from) > 0; from = pavo_psn_add(from, n)) {
		n = pavo_mq_find_next(&r->outstanding.reads, from, psn);
		pavo_psn_set_add(&b->held, from, n);
		pavo_psn_set_remove(&b->lost, from, n);
		from = pavo_psn_add(from, n);
		n = pavo_mq_find_next(&r->outstanding.sends, from, psn);
	}
}

/*
 * The peer has executed the requests up to @psn, but a response from UPSN on is not there. If @psn
 * is UPSN, the peer has reported that it lacks that packet.
 */
static inline unsigned int pavo_sr_handle_gap(struct pavo_recovery *r, u32 psn,
					      u64 now)
{
	struct pavo_scoreboard *b = r->board;

	if (!r->sacks)
		return pavo_gbn_handle_gap(r, psn, now);
	if (psn == r->upsn) {
		if (!pavo_psn_set_has(&b->resent, psn))
			pavo_board_lose(b, psn);
		return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT;
	}
	pavo_sr_note_executed(r, pavo_psn_add(psn, 1));
	pavo_sr_note_arrival(r, psn, now);
	return pavo_sr_detect(r, now);
}

/* Of @npkts responses from @first on, mark those as lost that were requested and are not here. */
static inline void pavo_sr_lose_responses(struct pavo_recovery *r, u32 first,
					  u32 npkts)
{
	for (; npkts; npkts--, first = pavo_psn_add(first, 1)) {
		if (pavo_psn_diff(first, r->upsn) >= 0 &&
		    pavo_psn_diff(first, r->sent) < 0)
			pavo_board_lose(r->board, first);
	}
}

/* The responses from @psn on that were here are lost. */
static inline unsigned int pavo_sr_drop_older(struct pavo_recovery *r, u32 psn)
{
	struct pavo_scoreboard *b = r->board;
	s32 span = pavo_psn_diff(r->sent, psn);
	u32 found;

	for (; span > 0; span--, psn = pavo_psn_add(psn, 1)) {
		found = pavo_psn_set_find(&b->here, psn, span, true);
		psn = pavo_psn_add(psn, found);
		span -= found;
		if (!span)
			break;
		pavo_psn_set_remove(&b->here, psn, 1);
		pavo_board_lose(b, psn);
	}
	return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT;
}

/* @npkts responses from @psn on are too old. If they were requested again, newer ones will come. */
static inline unsigned int pavo_sr_refuse(struct pavo_recovery *r, u32 psn,
					  u32 npkts)
{
	struct pavo_scoreboard *b = r->board;

	pavo_psn_set_remove(&b->here, psn, npkts);
	for (; npkts; npkts--, psn = pavo_psn_add(psn, 1))
		if (!pavo_psn_set_has(&b->resent, psn))
			pavo_board_lose(b, psn);
	return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT;
}

/* A router has marked packets of this side, or answers: so many, if that is known. */
static inline void pavo_sr_note_marks(struct pavo_recovery *r, u32 packets)
{
	r->board->ecn.marked += packets;
	if (pavo_recovery_begin_cut(r))
		pavo_cc_delay.marked(&r->cwnd, r->board->ecn.share);
}

/* The queue of the own interface is full: so is the bottleneck, which that is. */
static inline void pavo_sr_note_congestion(struct pavo_recovery *r)
{
	if (pavo_recovery_begin_cut(r))
		pavo_cc_delay.lost(&r->cwnd, 1, true);
}

/* A packet came once more than was needed. */
static inline void pavo_sr_note_needless(struct pavo_recovery *r)
{
	struct pavo_scoreboard *b = r->board;

	if (pavo_psn_diff(r->upsn, b->widened) < 0)
		return;
	b->widened = r->sent;
	pavo_rack_widen(&b->rack);
}

/* ------------------------------------------------- delays and timers */

/*
 * The peer has dropped that packet, those behind it that came as one with it, and what it could not
 * hold. Its next SACK says what it holds.
 */
static inline unsigned int pavo_sr_handle_rnr(struct pavo_recovery *r, u32 psn)
{
	u32 span = pavo_psn_diff(r->sent, psn), n;

	if (!r->sacks)
		return pavo_gbn_handle_rnr(r, psn);
	r->probing = false;
	pavo_psn_set_remove(&r->board->held, psn, 1);
	n = pavo_psn_set_find(&r->board->held, psn + 1, span - 1, false);
	pavo_psn_set_remove(&r->board->held, psn + 1, n);
	for (; pavo_psn_diff(psn, r->sent) < 0; psn = pavo_psn_add(psn, 1))
		if (!pavo_board_has_arrived(r->board, psn))
			pavo_board_lose(r->board, psn);
	return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT;
}

/* Mark the request of @psn as lost, with all that is missing of its chunk if it is a read. */
static inline void pavo_sr_lose_request(struct pavo_recovery *r, u32 psn)
{
	const struct pavo_mq *reads = &r->outstanding.reads;
	const struct pavo_mq_entry *entry;
	u32 at, n, from, left;

	pavo_board_lose(r->board, psn);
	for (at = reads->head; at != reads->tail; at++) {
		entry = &reads->ring[at & reads->mask];
		n = pavo_psn_diff(psn, entry->first);
		if (n >= entry->npkts)
			continue;
		from = n - n % PAVO_READ_CHUNK;
		left = entry->npkts - from;
		if (left > PAVO_READ_CHUNK)
			left = PAVO_READ_CHUNK;
		from = pavo_psn_add(entry->first, from);
		pavo_sr_lose_responses(r, from, left);
	}
}

/*
 * The loss timer expired: send the oldest request once more, and no new one until it is answered.
 * The peer has dropped what it held if that includes the oldest; it may have if the timer expires
 * again. A SACK has 256 PSNs, so what is forgotten here may never be heard of again.
 */
static inline unsigned int pavo_sr_expired(struct pavo_recovery *r, u64 now)
{
	struct pavo_scoreboard *b = r->board;

	if (!r->sacks)
		return pavo_gbn_expired(r, now);
	if (pavo_timer_retry(&r->timer, now))
		return PAVO_REC_NO_RETRY;
	pavo_cc_delay.expired(&r->cwnd);
	pavo_rack_mark_doubted(&b->rack);
	b->lossy = true;
	b->recover = r->sent;
	if (pavo_psn_set_has(&b->held, r->upsn) ||
	    r->timer.retry_limit - r->timer.retries > 1)
		pavo_psn_set_remove(&b->held, r->upsn, b->size);
	pavo_sr_lose_request(r, r->upsn);
	r->probing = true;
	return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT;
}

/*
 * Send the last packet once more: its answer shows what was lost before it (RFC 8985, 7.3). Without
 * an answer, send it again later. If the second one is not answered either, all is lost that is in
 * flight: little may be sent before the path is known again.
 */
static inline unsigned int pavo_sr_probe_tail(struct pavo_recovery *r, u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 last = pavo_psn_add(r->sent, -1);

	r->timer.repair = 0;
	/* A lost packet has not left yet, as the own interface is full: no answer is missing. */
	if (!pavo_psn_set_is_empty(&b->lost) || r->timer.rnr)
		return 0;
	if (++b->probes == 3)
		pavo_cc_delay.expired(&r->cwnd);
	if (r->probing || pavo_board_has_arrived(b, last))
		last = r->upsn;
	if (pavo_psn_diff(last, b->executed) < 0)
		pavo_board_lose(b, last);
	else
		pavo_sr_lose_request(r, last);
	return pavo_sr_continue(r) | PAVO_REC_RETRANSMIT | PAVO_REC_PROBE;
}

/* The repair timer expired: a reordering window has passed, or a tail loss probe is due. */
static inline unsigned int pavo_sr_repair(struct pavo_recovery *r, u64 now)
{
	bool waited = r->board->waiting;
	unsigned int todo = pavo_sr_detect(r, now);

	if (waited || todo || r->upsn == r->sent ||
	    r->board->probes == PAVO_RACK_PROBES_MAX)
		return todo;
	return pavo_sr_probe_tail(r, now);
}

static const struct pavo_recovery_policy pavo_selective_repair = {
	.admits = pavo_sr_admits,
	.run = pavo_sr_run,
	.sent = pavo_sr_sent,
	.refused = pavo_sr_refused,
	.released = pavo_sr_released,
	.gap = pavo_sr_handle_gap,
	.not_ready = pavo_sr_handle_rnr,
	.expired = pavo_sr_expired,
	.notified = pavo_gbn_note_cnp,
	.held = pavo_sr_note_held,
	.arrived = pavo_sr_note_arrival,
	.here = pavo_sr_note_here,
	.older = pavo_sr_drop_older,
	.stale = pavo_sr_refuse,
	.needless = pavo_sr_note_needless,
	.marked = pavo_sr_note_marks,
	.congested = pavo_sr_note_congestion,
	.detect = pavo_sr_detect,
	.repair = pavo_sr_repair,
};

#endif /* PAVO_SELECTIVE_REPAIR_H */
