/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ecn.h - the share of packets that routers mark (RFC 3168), as the peer's answers echo it: what
 * DCTCP goes by (RFC 8257, 3.3). Pure.
 */
#ifndef PAVO_ECN_H
#define PAVO_ECN_H

#include <linux/compiler.h>
#include <linux/types.h>

/** The whole, of which @share is a part. */
#define PAVO_ECN_WHOLE 1024u
/** A round trip counts for so much of @share: a sixteenth (RFC 8257, 4.2). */
#define PAVO_ECN_GAIN 16

/**
 * struct pavo_ecn - marks that the peer has echoed.
 * @acked:  packets acknowledged in this round
 * @marked: of them: by answers with an echo
 * @share:  smoothed share of the second in the first. At first it is the whole: nothing is known of
 *          the path
 * @echoed: the answer that is handled now has an echo
 */
struct pavo_ecn {
	u32 acked;
	u32 marked;
	u16 share;
	bool echoed;
};

static inline void pavo_ecn_init(struct pavo_ecn *e)
{
	*e = (struct pavo_ecn){ .share = PAVO_ECN_WHOLE };
}

/** pavo_ecn_count - @packets were acknowledged by the answer that is handled now. */
static inline void pavo_ecn_count(struct pavo_ecn *e, u32 packets)
{
	e->acked += packets;
	if (unlikely(e->echoed))
		e->marked += packets;
}

/** pavo_ecn_end_round - a round trip has ended. */
static inline void pavo_ecn_end_round(struct pavo_ecn *e)
{
	u32 share;

	if (!e->acked)
		return;
	share = e->marked * PAVO_ECN_WHOLE / e->acked;
	e->share =
		(u16)((e->share * (PAVO_ECN_GAIN - 1) + share) / PAVO_ECN_GAIN);
	e->acked = 0;
	e->marked = 0;
}

#endif /* PAVO_ECN_H */
