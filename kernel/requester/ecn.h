/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ecn.h - the share of packets that routers mark (RFC 3168), as the peer's answers echo it: what
 * DCTCP goes by (RFC 8257, 3.3). Pure.
 */
#ifndef PAVO_ECN_H
#define PAVO_ECN_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "wire/wire.h"

/** The whole, of which @share is a part. */
#define PAVO_ECN_WHOLE 1024u
/** A round trip counts for so much of @share: a sixteenth (RFC 8257, 4.2). */
#define PAVO_ECN_GAIN 16

/**
 * struct pavo_ecn - marks that the peer has echoed.
 * @acked:  packets acknowledged in this round
 * @marked: packets of which answers have said in this round that they were marked
 * @share:  smoothed share of the second in the first. At first it is the whole: nothing is known of
 *          the path
 * @peer:   the peer's count of marked packets, modulo PAVO_ATTEMPT_MASK + 1
 * @recent: packets were marked in the last round
 */
struct pavo_ecn {
	u32 acked;
	u32 marked;
	u16 share;
	u8 peer;
	bool recent;
};

static inline void pavo_ecn_init(struct pavo_ecn *e)
{
	*e = (struct pavo_ecn){ .share = PAVO_ECN_WHOLE };
}

/** pavo_ecn_note_count - an answer has the peer's count. Return: marks since the last one. */
static inline u32 pavo_ecn_note_count(struct pavo_ecn *e, u8 count)
{
	u32 fresh = (count - e->peer) & PAVO_ATTEMPT_MASK;

	e->peer = count;
	return fresh;
}

/*
 * pavo_ecn_end_round - a round trip has ended. Marks of packets that wait behind a gap come before
 * their acknowledgment, so there may be more of them.
 */
static inline void pavo_ecn_end_round(struct pavo_ecn *e)
{
	u32 share = PAVO_ECN_WHOLE;

	if (!e->acked)
		return;
	if (e->marked < e->acked)
		share = e->marked * PAVO_ECN_WHOLE / e->acked;
	e->share =
		(u16)((e->share * (PAVO_ECN_GAIN - 1) + share) / PAVO_ECN_GAIN);
	e->recent = e->marked;
	e->acked = 0;
	e->marked = 0;
}

#endif /* PAVO_ECN_H */
