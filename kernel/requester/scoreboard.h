/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * scoreboard.h - what a requester knows of each packet in flight whose peer sends SACKs: selective
 * repair (selective_repair.h) is the only writer. Pure.
 */
#ifndef PAVO_SCOREBOARD_H
#define PAVO_SCOREBOARD_H

#include <linux/string.h>
#include <linux/types.h>
#include "requester/rack.h"
#include "wire/psn_set.h"
#include "wire/wire.h"

/**
 * struct pavo_scoreboard - PSNs from UPSN to the last one that was sent.
 * @held:     requests that the peer holds behind a gap
 * @here:     responses that this side holds behind a gap
 * @lost:     to be sent once more
 * @resent:   sent more than once
 * @executed: the peer has executed the requests before this PSN, as its responses show
 * @fack:     the latest PSN that is known to have arrived
 * @recover:  the recovery under way ends when UPSN is here
 * @widened:  likewise the round trip in which the reordering window was widened
 * @rack:     round trips
 * @dups:     duplicates that the peer has counted (struct pavo_sack)
 * @lossy:    a packet was lost since the QP is in use
 * @waiting:  the repair timer runs for the reordering window, not for a tail loss probe
 * @probed:   a tail loss probe was sent since the last answer
 * @sent_at:  when each was sent last (pavo_rack_get_time()), by the lowest eight bits of the PSN
 * @attempts: how often it was sent before, likewise
 */
struct pavo_scoreboard {
	struct pavo_psn_set held;
	struct pavo_psn_set here;
	struct pavo_psn_set lost;
	struct pavo_psn_set resent;
	u32 executed;
	u32 fack;
	u32 recover;
	u32 widened;
	struct pavo_rack rack;
	u16 dups;
	bool lossy;
	bool waiting;
	bool probed;
	u32 sent_at[PAVO_PSN_SET];
	u8 attempts[PAVO_PSN_SET];
};

/** pavo_board_init - no packet is in flight; @psn is the first one that is to be sent. */
static inline void pavo_board_init(struct pavo_scoreboard *b, u32 psn)
{
	memset(b, 0, sizeof(*b));
	b->executed = psn;
	b->fack = pavo_psn_add(psn, -1);
	b->recover = psn;
	b->widened = psn;
	pavo_rack_init(&b->rack);
}

/** pavo_board_forget - @n PSNs from @psn on are done. */
static inline void pavo_board_forget(struct pavo_scoreboard *b, u32 psn, u32 n)
{
	pavo_psn_set_remove(&b->held, psn, n);
	pavo_psn_set_remove(&b->here, psn, n);
	pavo_psn_set_remove(&b->lost, psn, n);
	pavo_psn_set_remove(&b->resent, psn, n);
}

/** pavo_board_is_clean - true if no packet in flight is held, here, lost or resent. */
static inline bool pavo_board_is_clean(const struct pavo_scoreboard *b)
{
	return pavo_psn_set_is_empty(&b->held) &&
	       pavo_psn_set_is_empty(&b->here) &&
	       pavo_psn_set_is_empty(&b->lost) &&
	       pavo_psn_set_is_empty(&b->resent);
}

/** pavo_board_has_arrived - true if a packet, or its response, is known to be held. */
static inline bool pavo_board_has_arrived(const struct pavo_scoreboard *b,
					  u32 psn)
{
	return pavo_psn_set_has(&b->held, psn) ||
	       pavo_psn_set_has(&b->here, psn);
}

/** pavo_board_note_executed - the peer has executed the requests before @psn. */
static inline void pavo_board_note_executed(struct pavo_scoreboard *b, u32 psn)
{
	if (pavo_psn_diff(psn, b->executed) > 0)
		b->executed = psn;
}

/**
 * pavo_board_pass - all before @psn is done. Marks behind it move along, as PSNs wrap.
 * @b:    the scoreboard
 * @psn:  the new UPSN
 * @rest: packets are in flight; without any the time of the latest arrival says nothing
 */
static inline void pavo_board_pass(struct pavo_scoreboard *b, u32 psn,
				   bool rest)
{
	pavo_board_note_executed(b, psn);
	if (pavo_psn_diff(psn, b->recover) > 0)
		b->recover = psn;
	if (pavo_psn_diff(psn, b->widened) > 0)
		b->widened = psn;
	if (!rest)
		b->rack.valid = false;
}

/** pavo_board_read_map - the map of a SACK as a set: PSN 0 is the expected one. */
static inline struct pavo_psn_set pavo_board_read_map(const struct pavo_sack *s)
{
	return (struct pavo_psn_set){ { s->map[0], s->map[1], s->map[2],
					s->map[3] } };
}

/** pavo_board_get_settled - the PSNs that are not in the network: held, here or lost. */
static inline struct pavo_psn_set
pavo_board_get_settled(const struct pavo_scoreboard *b)
{
	struct pavo_psn_set set;
	u32 i;

	for (i = 0; i < PAVO_PSN_SET / 64; i++)
		set.words[i] = b->held.words[i] | b->here.words[i] |
			       b->lost.words[i];
	return set;
}

/** pavo_board_count_away - sent packets that are not in the network: held, here or lost. */
static inline u32 pavo_board_count_away(const struct pavo_scoreboard *b)
{
	struct pavo_psn_set set = pavo_board_get_settled(b);

	return pavo_psn_set_count(&set);
}

#endif /* PAVO_SCOREBOARD_H */
