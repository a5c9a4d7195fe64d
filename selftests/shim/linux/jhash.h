/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* jhash.h - hashes of words; not those of the kernel. */
#ifndef PAVO_SHIM_JHASH_H
#define PAVO_SHIM_JHASH_H

#include <linux/kernel.h>

static inline u32 jhash2(const u32 *words, u32 count, u32 seed)
{
	while (count--)
		seed = (seed ^ *words++) * 0x01000193;
	return seed ^ seed >> 16;
}

static inline u32 jhash_2words(u32 a, u32 b, u32 seed)
{
	const u32 words[] = {a, b};

	return jhash2(words, 2, seed);
}

#endif /* PAVO_SHIM_JHASH_H */
