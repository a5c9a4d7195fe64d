/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * psn_set.h - a set of PSNs, all within as many consecutive ones as it has bits. Pure.
 */
#ifndef PAVO_PSN_SET_H
#define PAVO_PSN_SET_H

#include <linux/bitops.h>
#include <linux/types.h>

/**
 * struct pavo_psn_set - the set.
 * @words: bit n of the whole: the PSN that is n modulo @size
 * @size:  bits; a power of two, at least 64
 * @count: PSNs in the set
 */
struct pavo_psn_set {
	u64 *words;
	u32 size;
	u32 count;
};

/** pavo_psn_set_init - the set is empty: @size bits at @words are 0. */
static inline void pavo_psn_set_init(struct pavo_psn_set *set, u64 *words,
				     u32 size)
{
	set->words = words;
	set->size = size;
	set->count = 0;
}

/** pavo_psn_set_load - the set is that of @size bits at @words. */
static inline void pavo_psn_set_load(struct pavo_psn_set *set, u64 *words,
				     u32 size)
{
	u32 i;

	pavo_psn_set_init(set, words, size);
	for (i = 0; i < size / 64; i++)
		set->count += hweight64(words[i]);
}

static inline u64 *pavo_psn_set_get_part(const struct pavo_psn_set *set,
					 u32 psn)
{
	return &set->words[(psn & (set->size - 1)) / 64];
}

/** pavo_psn_set_has - true if @psn is in the set. */
static inline bool pavo_psn_set_has(const struct pavo_psn_set *set, u32 psn)
{
	return *pavo_psn_set_get_part(set, psn) >> psn % 64 & 1;
}

/** pavo_psn_set_is_empty - true if no PSN is in the set. */
static inline bool pavo_psn_set_is_empty(const struct pavo_psn_set *set)
{
	return !set->count;
}

/* The bits of the word of @psn that stand for the next PSNs, at most @n, of which @took is set. */
static inline u64 pavo_psn_set_get_mask(u32 psn, u32 n, u32 *took)
{
	u32 shift = psn % 64;

	*took = 64 - shift < n ? 64 - shift : n;
	return (*took == 64 ? ~0ull : (1ull << *took) - 1) << shift;
}

/** pavo_psn_set_add - add the @n PSNs from @psn on; beyond the size none. */
static inline void pavo_psn_set_add(struct pavo_psn_set *set, u32 psn, u32 n)
{
	u32 i, took;
	u64 *word, mask;

	if (n > set->size)
		n = set->size;
	for (i = 0; i < n; i += took) {
		mask = pavo_psn_set_get_mask(psn + i, n - i, &took);
		word = pavo_psn_set_get_part(set, psn + i);
		set->count += hweight64(mask & ~*word);
		*word |= mask;
	}
}

/** pavo_psn_set_remove - remove the @n PSNs from @psn on. */
static inline void pavo_psn_set_remove(struct pavo_psn_set *set, u32 psn, u32 n)
{
	u32 i, took;
	u64 *word, mask;

	if (!set->count)
		return;
	if (n > set->size)
		n = set->size;
	for (i = 0; i < n; i += took) {
		mask = pavo_psn_set_get_mask(psn + i, n - i, &took);
		word = pavo_psn_set_get_part(set, psn + i);
		set->count -= hweight64(mask & *word);
		*word &= ~mask;
	}
}

/**
 * pavo_psn_set_find - find a PSN that is in the set, or one that is not.
 * @set: the set
 * @psn: the first PSN to look at
 * @n:   how many to look at, up to the size
 * @in:  true: look for one in the set
 *
 * Return: its distance from @psn; @n: there is none.
 */
static inline u32 pavo_psn_set_find(const struct pavo_psn_set *set, u32 psn,
				    u32 n, bool in)
{
	u32 i, took;
	u64 word, mask;

	if (!set->count)
		return in ? n : 0;
	for (i = 0; i < n; i += took) {
		mask = pavo_psn_set_get_mask(psn + i, n - i, &took);
		word = *pavo_psn_set_get_part(set, psn + i);
		word = (in ? word : ~word) & mask;
		if (word)
			return i + __builtin_ctzll(word) - (psn + i) % 64;
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
	u32 shift = psn % 64;
	u64 word = *pavo_psn_set_get_part(set, psn) >> shift;

	if (shift)
		word |= *pavo_psn_set_get_part(set, psn + 64) << (64 - shift);
	return word;
}

#endif /* PAVO_PSN_SET_H */
