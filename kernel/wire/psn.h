/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * psn.h - arithmetic of packet sequence numbers (IBA 9.7.2).
 *
 * PSNs are 24 bits and wrap. A PSN is "after" another if it is at most 2^23 - 1 ahead, else
 * "before" it. Pure: also for user space.
 */
#ifndef PAVO_PSN_H
#define PAVO_PSN_H

#include <linux/types.h>

#define PAVO_PSN_MASK 0xffffffu
/** Packets that may be behind a gap: a responder holds no others. A power of two. */
#define PAVO_PSN_WINDOW 8192u
/** Not a PSN: PSNs have 24 bits. */
#define PAVO_PSN_NONE (~0u)

/** pavo_psn_add - return the PSN @n packets after @psn (@n may be negative). */
static inline u32 pavo_psn_add(u32 psn, s32 n)
{
	return (psn + (u32)n) & PAVO_PSN_MASK;
}

/**
 * pavo_psn_diff - return how many packets @a is after @b, -2^23 .. 2^23 - 1.
 * @a: a PSN
 * @b: a PSN
 *
 * The shift moves the sign of the 24-bit difference into the sign bit of the result.
 */
static inline s32 pavo_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/**
 * pavo_psn_is_far - true if a PSN is farther from the expected one than losses explain.
 * @diff: pavo_psn_diff() of the PSN and the expected one
 *
 * Of PSNs that a forger draws at random, all but one in 128 are.
 */
static inline bool pavo_psn_is_far(s32 diff)
{
	return diff > 1 << 16 || diff < -(1 << 16);
}

/**
 * pavo_psn_is_passed - true if @psn is after all of the @npkts PSNs from @first on.
 * @psn:   within 2^22 PSNs of the message
 * @first: its first PSN
 * @npkts: up to 2^23, a message of 2 GiB - 1 in packets of 256 bytes
 *
 * The longest message has half of all PSNs, so a comparison with its end alone cannot distinguish
 * "after" from "before"; compare with its middle, too.
 */
static inline bool pavo_psn_is_passed(u32 psn, u32 first, u32 npkts)
{
	return pavo_psn_diff(psn, first + npkts / 2) >= 0 &&
	       pavo_psn_diff(psn, first + npkts) >= 0;
}

#endif /* PAVO_PSN_H */
