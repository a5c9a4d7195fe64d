/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * scoreboard.h - what a requester knows of each packet in flight whose peer sends SACKs: selective
 * repair (selective_repair.h) is the only writer. Pure.
 */
#ifndef PAVO_SCOREBOARD_H
#define PAVO_SCOREBOARD_H

#include <linux/string.h>
#include <linux/types.h>
#include "requester/ecn.h"
#include "requester/rack.h"
#include "wire/psn_set.h"
#include "wire/wire.h"

/** PSNs of a scoreboard at first, and at most: powers of two. */
#define PAVO_BOARD_LEAST 256u
#define PAVO_BOARD_MOST PAVO_PSN_WINDOW
/** Bytes of the memory of a scoreboard of @size PSNs: four sets, a time and a number for each. */
#define PAVO_BOARD_BYTES(size) (11 * (size) / 2)

/**
 * struct pavo_scoreboard - PSNs from UPSN to the last one that was sent. A PSN is held, here, lost,
 * or in the network.
 * @memory:   PAVO_BOARD_BYTES(@size) bytes of the caller
 * @size:     PSNs
 * @held:     requests that the peer holds behind a gap
 * @here:     responses that this side holds behind a gap
 * @lost:     to be sent once more
 * @resent:   sent more than once
 * @executed: the peer has executed the requests before this PSN, as its responses show
 * @fack:     the latest PSN that is known to have arrived
 * @recover:  the recovery under way ends when UPSN is here
 * @widened:  likewise the round trip in which the reordering window was widened
 * @round:    the round of round trips under way ends when UPSN is here
 * @rack:     round trips
 * @ecn:      marks
 * @dups:     duplicates that the peer has counted (struct pavo_sack)
 * @bound:    if @bounded: PSN behind the last one that the peer has space for
 * @read_end: PSN behind the read of which data was taken last
 * @generation: newest one of the data of that read, and of those before it
 *             (responder/read_copy.h)
 * @least:    newest one of the data of those before it
 * @generated: the three are set
 * @bounded:  the latest SACK has said how many more packets the peer could hold
 * @lossy:    a packet was lost since the QP is in use
 * @waiting:  the repair timer runs for the reordering window, not for a tail loss probe
 * @probes:   probes that were sent since the last answer
 * @sent_at:  when each was sent last (pavo_rack_get_time()): that of pavo_board_get_time()
 * @attempts: how often it was sent before: that of pavo_board_get_attempts()
 */
struct pavo_scoreboard {
	void *memory;
	u32 size;
	struct pavo_psn_set held;
	struct pavo_psn_set here;
	struct pavo_psn_set lost;
	struct pavo_psn_set resent;
	u32 executed;
	u32 fack;
	u32 recover;
	u32 widened;
	u32 round;
	struct pavo_rack rack;
	struct pavo_ecn ecn;
	u32 bound;
	u32 read_end;
	u8 generation;
	u8 least;
	u16 dups;
	bool generated;
	bool bounded;
	bool lossy;
	bool waiting;
	u8 probes;
	u32 *sent_at;
	u8 *attempts;
};

/** pavo_board_attach - use @memory for @size PSNs: PAVO_BOARD_BYTES(@size) zeros. */
static inline void pavo_board_attach(struct pavo_scoreboard *b, void *memory,
				     u32 size)
{
	u64 *words = (u64 *)memory;

	b->memory = memory;
	b->size = size;
	pavo_psn_set_init(&b->held, words, size);
	pavo_psn_set_init(&b->here, words + size / 64, size);
	pavo_psn_set_init(&b->lost, words + 2 * size / 64, size);
	pavo_psn_set_init(&b->resent, words + 3 * size / 64, size);
	b->sent_at = (u32 *)(words + 4 * size / 64);
	b->attempts = (u8 *)(b->sent_at + size);
}

/** pavo_board_get_time - when @psn was sent last. */
static inline u32 *pavo_board_get_time(const struct pavo_scoreboard *b, u32 psn)
{
	return &b->sent_at[psn & (b->size - 1)];
}

/** pavo_board_get_attempts - how often @psn was sent before. */
static inline u8 *pavo_board_get_attempts(const struct pavo_scoreboard *b,
					  u32 psn)
{
	return &b->attempts[psn & (b->size - 1)];
}

/** pavo_board_init - no packet is in flight; @psn is the first one that is to be sent. */
static inline void pavo_board_init(struct pavo_scoreboard *b, u32 psn)
{
	void *memory = b->memory;
	u32 size = b->size;

	memset(memory, 0, PAVO_BOARD_BYTES(size));
	*b = (struct pavo_scoreboard){
		.executed = psn,
		.fack = pavo_psn_add(psn, -1),
		.recover = psn,
		.widened = psn,
		.round = psn,
	};
	pavo_board_attach(b, memory, size);
	pavo_rack_init(&b->rack);
	pavo_ecn_init(&b->ecn);
}

static inline void pavo_board_copy_mark(struct pavo_psn_set *to,
					const struct pavo_psn_set *from,
					u32 psn)
{
	if (pavo_psn_set_has(from, psn))
		pavo_psn_set_add(to, psn, 1);
}

/**
 * pavo_board_grow - use more memory.
 * @b:      the scoreboard
 * @memory: as of pavo_board_attach()
 * @size:   more than now
 * @psn:    UPSN
 * @n:      packets in flight
 *
 * Return: the memory that was used before.
 */
static inline void *pavo_board_grow(struct pavo_scoreboard *b, void *memory,
				    u32 size, u32 psn, u32 n)
{
	const struct pavo_scoreboard old = *b;

	pavo_board_attach(b, memory, size);
	for (; n; n--, psn = pavo_psn_add(psn, 1)) {
		pavo_board_copy_mark(&b->held, &old.held, psn);
		pavo_board_copy_mark(&b->here, &old.here, psn);
		pavo_board_copy_mark(&b->lost, &old.lost, psn);
		pavo_board_copy_mark(&b->resent, &old.resent, psn);
		*pavo_board_get_time(b, psn) = *pavo_board_get_time(&old, psn);
		*pavo_board_get_attempts(b, psn) =
			*pavo_board_get_attempts(&old, psn);
	}
	return old.memory;
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
	if (pavo_psn_diff(psn, b->read_end) > 0)
		b->read_end = psn;
	if (!rest)
		b->rack.valid = false;
}

/** pavo_board_lose - the packet of @psn is to be sent once more, unless its response is here. */
static inline void pavo_board_lose(struct pavo_scoreboard *b, u32 psn)
{
	if (pavo_psn_set_has(&b->here, psn))
		return;
	pavo_psn_set_remove(&b->held, psn, 1);
	pavo_psn_set_add(&b->lost, psn, 1);
}

/**
 * pavo_board_find_open - find a packet in the network.
 * @b:      the scoreboard
 * @psn:    PSN to begin with
 * @n:      PSNs to look at
 * @resent: find one that was sent more than once; else, one that was not
 *
 * Return: its distance from @psn; @n: there is none.
 */
static inline u32 pavo_board_find_open(const struct pavo_scoreboard *b, u32 psn,
				       u32 n, bool resent)
{
	u32 i, took;
	u64 word, mask;

	for (i = 0; i < n; i += took) {
		mask = pavo_psn_set_get_mask(psn + i, n - i, &took);
		word = *pavo_psn_set_get_part(&b->resent, psn + i);
		mask &= resent ? word : ~word;
		word = *pavo_psn_set_get_part(&b->held, psn + i) |
		       *pavo_psn_set_get_part(&b->here, psn + i) |
		       *pavo_psn_set_get_part(&b->lost, psn + i);
		word = ~word & mask;
		if (word)
			return i + __builtin_ctzll(word) - (psn + i) % 64;
	}
	return n;
}

/** pavo_board_count_away - sent packets that are not in the network: held, here or lost. */
static inline u32 pavo_board_count_away(const struct pavo_scoreboard *b)
{
	return b->held.count + b->here.count + b->lost.count;
}

#endif /* PAVO_SCOREBOARD_H */
