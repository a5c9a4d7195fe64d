/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * psn_set.h - a set of PSNs, all within PAVO_PSN_SET consecutive ones. Pure.
 *
 * A PSN has the bit of its lowest eight bits. So its user removes PSNs that are done before others
 * take their bits.
 */
#ifndef PAVO_PSN_SET_H
#define PAVO_PSN_SET_H

#include <linux/types.h>

/** PSNs of a set: the first and the last one are less than this apart. */
#define PAVO_PSN_SET 256u

/**
 * struct pavo_psn_set - the set.
 * @words: bit n of the whole: the PSN that is n modulo PAVO_PSN_SET
 */
struct pavo_psn_set {
	u64 words[PAVO_PSN_SET / 64];
};

/** pavo_psn_set_has - true if @psn is in the set. */
static inline bool pavo_psn_set_has(const struct pavo_psn_set *set, u32 psn)
{
	return set->words[psn % PAVO_PSN_SET / 64] >> psn % 64 & 1;
}

/** pavo_psn_set_is_empty - true if no PSN is in the set. */
static inline bool pavo_psn_set_is_empty(const struct pavo_psn_set *set)
{
	return !(set->words[0] | set->words[1] | set->words[2] | set->words[3]);
}

/** pavo_psn_set_add - add the @n PSNs from @psn on; beyond PAVO_PSN_SET none. */
static inline void pavo_psn_set_add(struct pavo_psn_set *set, u32 psn, u32 n)
{
	u32 i;

	for (i = 0; i < n && i < PAVO_PSN_SET; i++, psn++)
		set->words[psn % PAVO_PSN_SET / 64] |= 1ull << psn % 64;
}

/** pavo_psn_set_remove - remove the @n PSNs from @psn on. */
static inline void pavo_psn_set_remove(struct pavo_psn_set *set, u32 psn, u32 n)
{
	u32 i;

	for (i = 0; i < n && i < PAVO_PSN_SET; i++, psn++)
		set->words[psn % PAVO_PSN_SET / 64] &= ~(1ull << psn % 64);
}

/** pavo_psn_set_count - how many PSNs are in the set. */
static inline u32 pavo_psn_set_count(const struct pavo_psn_set *set)
{
	u32 i, count = 0;
	u64 word;

	for (i = 0; i < PAVO_PSN_SET / 64; i++)
		for (word = set->words[i]; word; word &= word - 1)
			count++;
	return count;
}

/**
 * pavo_psn_set_find - find a PSN that is in the set, or one that is not.
 * @set: the set
 * @psn: the first PSN to look at
 * @n:   how many to look at, up to PAVO_PSN_SET
 * @in:  true: look for one in the set
 *
 * Return: its distance from @psn; @n: there is none.
 */
static inline u32 pavo_psn_set_find(const struct pavo_psn_set *set, u32 psn,
				    u32 n, bool in)
{
	u32 i = 0, at;
	u64 word;

	while (i < n) {
		at = (psn + i) % PAVO_PSN_SET;
		word = in ? set->words[at / 64] : ~set->words[at / 64];
		word >>= at % 64;
		if (word) {
			i += __builtin_ctzll(word);
			return i < n ? i : n;
		}
		i += 64 - at % 64;
	}
	return n;
}

/**
 * pavo_psn_set_get_word - 64 PSNs of the set, beginning with any one.
 * @set: the set
 * @psn: the first PSN: bit 0 of the result
 */
static inline u64 pavo_psn_set_get_word(const struct pavo_psn_set *set, u32 psn)
{
	u32 at = psn % PAVO_PSN_SET / 64, shift = psn % 64;
	u64 word = set->words[at] >> shift;

	if (shift)
		word |= set->words[(at + 1) % (PAVO_PSN_SET / 64)]
			<< (64 - shift);
	return word;
}

#endif /* PAVO_PSN_SET_H */
