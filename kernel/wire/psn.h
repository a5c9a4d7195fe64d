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

/**
 * pavo_psn_passed - does @psn lie behind all of the @npkts PSNs from @first on?
 * @npkts: up to 2^23, a message of 2 GiB - 1 in packets of 256 bytes
 *
 * Such a message spans half of the circle, so one comparison with its end
 * cannot tell "behind it" from "before it"; its middle decides. @psn must be
 * within 2^22 PSNs of the message.
 */
static inline bool pavo_psn_passed(u32 psn, u32 first, u32 npkts)
{
	return pavo_psn_diff(psn, first + npkts / 2) >= 0 &&
	       pavo_psn_diff(psn, first + npkts) >= 0;
}

#endif /* PAVO_PSN_H */
