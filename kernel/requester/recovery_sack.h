/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * recovery_sack.h - the events of recovery.h that peers cause which send SACKs (docs/protocol.md):
 * what they hold behind a gap, and what this side holds of their responses. Pure.
 */
#ifndef PAVO_RECOVERY_SACK_H
#define PAVO_RECOVERY_SACK_H

#include "requester/recovery.h"

/**
 * pavo_recovery_begin_sacks - event: the peer has announced SACKs. This waits until no packet is
 * being retransmitted.
 * @r:   the machine
 * @now: the time, ns
 */
void pavo_recovery_begin_sacks(struct pavo_recovery *r, u64 now);

/**
 * pavo_recovery_end_sacks - event: the peer does not announce SACKs any more. It may hold nothing,
 * so all from UPSN on is sent once more.
 * @r: the machine
 *
 * Return: what is to be done.
 */
unsigned int pavo_recovery_end_sacks(struct pavo_recovery *r);

/* How often the packet that is sent next was sent before: the peer echoes it (struct pavo_sack). */
static inline u8 pavo_recovery_get_attempt(const struct pavo_recovery *r)
{
	if (!pavo_recovery_is_repair(r))
		return 0;
	return (*pavo_board_get_attempts(r->board, r->next) + 1) &
	       PAVO_ATTEMPT_MASK;
}

/*
 * The packet of the PSN that a SACK echoes has arrived. An echo of a retransmission shows which one
 * that was; the others are taken into account with the PSNs that they acknowledge.
 */
static inline void pavo_recovery_note_echo(struct pavo_recovery *r,
					   const struct pavo_sack *sack,
					   u64 now)
{
	struct pavo_scoreboard *b = r->board;
	u32 at = *pavo_board_get_time(b, sack->echo);
	s32 ahead = pavo_psn_diff(sack->echo, r->sent);

	if (ahead >= 0 || ahead < -(s32)b->size || !sack->attempt ||
	    sack->attempt != (*pavo_board_get_attempts(b, sack->echo) &
			      PAVO_ATTEMPT_MASK))
		return;
	pavo_rack_measure(&b->rack, pavo_rack_get_time(now) - at);
	pavo_rack_arrived(&b->rack, at, sack->echo, pavo_rack_get_time(now));
}

/**
 * struct pavo_sack_news - the map of a SACK, then what of it was not known.
 * @expected: the PSN that the peer expects
 * @psn:      the first one of the map
 * @set:      those that are held, as distances from @psn
 * @words:    its bits
 */
struct pavo_sack_news {
	u32 expected;
	u32 psn;
	struct pavo_psn_set set;
	u64 words[PAVO_SACK_PSNS / 64];
};

/** pavo_sack_news_load - begin with all that the map of a SACK says. */
static inline void pavo_sack_news_load(struct pavo_sack_news *news,
				       u32 expected,
				       const struct pavo_sack *sack)
{
	news->expected = expected;
	news->psn = pavo_psn_add(expected, 64 * sack->from);
	memcpy(news->words, sack->map, sizeof(news->words));
}

/**
 * pavo_recovery_take_map - note what the peer holds, in front of the ACK that is in the same SACK.
 * @r:      the machine
 * @policy: its policy
 * @news:   what the SACK says; what was known is removed
 *
 * A SACK that came late, or that names packets that were never sent, is believed as far as it can
 * be true: what a forger gains is a wait for the loss timer.
 */
static __always_inline void
pavo_recovery_take_map(struct pavo_recovery *r,
		       const struct pavo_recovery_policy *policy,
		       struct pavo_sack_news *news)
{
	const struct pavo_psn_set *held = &r->board->held;
	u32 at, psn;

	/* Most of a map is known. PSNs beyond the board have bits of others: they go as well. */
	for (at = 0; at < PAVO_SACK_PSNS; at += 64) {
		psn = pavo_psn_add(news->psn, at);
		news->words[at / 64] &= ~pavo_psn_set_get_word(held, psn);
	}
	pavo_psn_set_load(&news->set, news->words, PAVO_SACK_PSNS);
	for (at = 0; at < PAVO_SACK_PSNS; at++) {
		at += pavo_psn_set_find(&news->set, at, PAVO_SACK_PSNS - at,
					true);
		psn = pavo_psn_add(news->psn, at);
		if (at == PAVO_SACK_PSNS)
			break;
		if (psn == news->expected || pavo_psn_diff(psn, r->upsn) <= 0 ||
		    pavo_psn_diff(psn, r->sent) >= 0)
			pavo_psn_set_remove(&news->set, at, 1);
		else
			policy->held(r, psn);
	}
}

/* @space: of struct pavo_sack: for packets behind those that the peer holds. */
static inline void pavo_recovery_note_space(struct pavo_recovery *r, u8 space)
{
	r->board->bounded = space;
	r->board->bound = pavo_psn_add(r->board->fack, space);
}

/**
 * pavo_recovery_handle_sack - event: the rest of a SACK, behind its map and the ACK in it.
 * @r:        the machine
 * @policy:   its policy
 * @sack:     what the SACK says
 * @news:     what pavo_recovery_take_map() has set
 * @now:      the time, ns
 */
static __always_inline unsigned int
pavo_recovery_handle_sack(struct pavo_recovery *r,
			  const struct pavo_recovery_policy *policy,
			  const struct pavo_sack *sack,
			  const struct pavo_sack_news *news, u64 now)
{
	u32 at;

	for (at = 0; at < PAVO_SACK_PSNS; at++) {
		at += pavo_psn_set_find(&news->set, at, PAVO_SACK_PSNS - at,
					true);
		if (at < PAVO_SACK_PSNS)
			policy->arrived(r, pavo_psn_add(news->psn, at), now);
	}
	pavo_recovery_note_space(r, sack->space);
	pavo_recovery_note_echo(r, sack, now);
	if (sack->dups != r->board->dups) {
		r->board->dups = sack->dups;
		policy->needless(r);
	}
	return policy->detect(r, now);
}

/** pavo_recovery_note_needless - event: a response has come that was here already. */
static __always_inline void
pavo_recovery_note_needless(struct pavo_recovery *r,
			    const struct pavo_recovery_policy *policy)
{
	if (r->sacks)
		policy->needless(r);
}

/** pavo_recovery_drop_here - event: responses from @psn on that were held were dropped. */
static inline void pavo_recovery_drop_here(struct pavo_recovery *r, u32 psn)
{
	if (r->sacks)
		pavo_psn_set_remove(&r->board->here, psn,
				    pavo_psn_diff(r->sent, psn));
}

/**
 * pavo_recovery_is_stale - true if data of a read is older than that of reads before it. Data of
 * one read may be of any order.
 * @r:          the machine
 * @psn:        PSN of the data
 * @generation: its generation
 */
static inline bool pavo_recovery_is_stale(const struct pavo_recovery *r,
					  u32 psn, u8 generation)
{
	const struct pavo_scoreboard *b = r->board;
	u8 least;

	if (!r->sacks || !b->generated)
		return false;
	least = pavo_psn_diff(psn, b->read_end) < 0 ? b->least : b->generation;
	return pavo_generation_diff(generation, least) < 0;
}

/**
 * pavo_recovery_take_generation - event: data of a read is taken that is not stale.
 * @r:          the machine
 * @end:        PSN behind the read
 * @generation: of the data
 *
 * Return: true if data of the reads behind it that is here may be older.
 */
static inline bool pavo_recovery_take_generation(struct pavo_recovery *r,
						 u32 end, u8 generation)
{
	struct pavo_scoreboard *b = r->board;

	if (!r->sacks)
		return false;
	if (!b->generated) {
		b->generated = true;
		b->generation = generation;
		b->read_end = end;
		/* Nothing is known of the reads before it: take all. */
		b->least = generation - PAVO_GENERATION_PAST;
		return false;
	}
	if (end != b->read_end) {
		b->read_end = end;
		b->least = b->generation;
	}
	if (pavo_generation_diff(generation, b->generation) <= 0)
		return false;
	b->generation = generation;
	return true;
}

/** pavo_recovery_refuse - event: @npkts responses from @psn on have come, and are stale. */
static __always_inline unsigned int
pavo_recovery_refuse(struct pavo_recovery *r,
		     const struct pavo_recovery_policy *policy, u32 psn,
		     u32 npkts)
{
	return policy->stale(r, psn, npkts);
}

/* Event: responses from @psn on are older than data that has come, and were dropped. */
static __always_inline unsigned int
pavo_recovery_drop_older(struct pavo_recovery *r,
			 const struct pavo_recovery_policy *policy, u32 psn)
{
	return policy->older(r, psn);
}

/** pavo_recovery_hold_here - event: @npkts responses from @psn on are held behind a missing one. */
static __always_inline unsigned int
pavo_recovery_hold_here(struct pavo_recovery *r,
			const struct pavo_recovery_policy *policy, u32 psn,
			u32 npkts, u64 now)
{
	policy->here(r, psn, npkts);
	return policy->detect(r, now);
}

/** pavo_recovery_repair - event: the repair timer expired. */
static __always_inline unsigned int
pavo_recovery_repair(struct pavo_recovery *r,
		     const struct pavo_recovery_policy *policy, u64 now)
{
	return policy->repair(r, now);
}

#endif /* PAVO_RECOVERY_SACK_H */
