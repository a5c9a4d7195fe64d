/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * seen.h - which packets of a sequence have arrived, if they may arrive in any order and more than
 * once. Pure.
 *
 * Each packet has an index, its fragment. A receiver records those that have arrived, up to
 * PAVO_SEEN_BITS ahead of the first missing one. A packet further ahead counts as lost.
 */
#ifndef PAVO_SEEN_H
#define PAVO_SEEN_H

#include <linux/types.h>

/* Packets that may overtake one. */
#define PAVO_SEEN_BITS 4096u

/**
 * struct pavo_seen - fragments that have arrived.
 * @base: the first missing fragment
 * @bits: the fragments of [@base, @base + PAVO_SEEN_BITS) that have arrived; fragment n has
 *        bit n modulo PAVO_SEEN_BITS
 */
struct pavo_seen {
	u32 base;
	u64 bits[PAVO_SEEN_BITS / 64];
};

enum pavo_seen_verdict {
	PAVO_SEEN_NEW,
	PAVO_SEEN_DUPLICATE,
	PAVO_SEEN_FAR, /* PAVO_SEEN_BITS or more ahead of the first missing one */
};

static inline u64 *pavo_seen_get_bits(struct pavo_seen *seen, u32 fragment,
				      u64 *bit)
{
	u32 at = fragment % PAVO_SEEN_BITS;

	*bit = 1ull << (at % 64);
	return &seen->bits[at / 64];
}

/** pavo_seen_find - is @fragment new, or a duplicate? */
static inline enum pavo_seen_verdict pavo_seen_find(struct pavo_seen *seen,
						    u32 fragment)
{
	u64 *bits, bit;

	if (fragment < seen->base)
		return PAVO_SEEN_DUPLICATE;
	if (fragment - seen->base >= PAVO_SEEN_BITS)
		return PAVO_SEEN_FAR;
	bits = pavo_seen_get_bits(seen, fragment, &bit);
	return *bits & bit ? PAVO_SEEN_DUPLICATE : PAVO_SEEN_NEW;
}

/** pavo_seen_note - record @fragment, which is new, as arrived. */
static inline void pavo_seen_note(struct pavo_seen *seen, u32 fragment)
{
	u64 *bits, bit;

	bits = pavo_seen_get_bits(seen, fragment, &bit);
	*bits |= bit;
	/* Ends: each round clears a bit, and there are PAVO_SEEN_BITS. */
	while (bits = pavo_seen_get_bits(seen, seen->base, &bit), *bits & bit) {
		*bits &= ~bit;
		seen->base++;
	}
}

#endif /* PAVO_SEEN_H */
