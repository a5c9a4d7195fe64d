/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * psn.h - arithmetic of packet sequence numbers (IBA 9.7.2).
 *
 * PSNs are 24 bits and wrap. "Before" and "after" are meant in the half of
 * the circle around a PSN. Pure: usable by everybody, in user space too.
 */
#ifndef PAVO_PSN_H
#define PAVO_PSN_H

#include <linux/types.h>

#define PAVO_PSN_MASK 0xffffffu

/** pavo_psn_add - the PSN @n packets after @psn (n may be negative). */
static inline u32 pavo_psn_add(u32 psn, s32 n)
{
	return (psn + (u32)n) & PAVO_PSN_MASK;
}

/**
 * pavo_psn_diff - how many packets @a is after @b, -2^23 .. 2^23 - 1.
 *
 * Shifting into the top of a word lets the sign bit of the word stand for
 * the sign of a 24-bit difference.
 */
static inline s32 pavo_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

#endif /* PAVO_PSN_H */
