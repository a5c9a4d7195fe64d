/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32_x86.h - CRC-32 (IEEE 802.3) by carry-less multiplication, for 64-bit x86.
 *
 * Pure: touches memory that it is given to read, and vector registers.
 */
#ifndef PAVO_CRC32_X86_H
#define PAVO_CRC32_X86_H

#include <linux/types.h>

/* Ways to compute it, by the width of their registers: a later one is faster. */
enum pavo_crc_way {
	PAVO_CRC_BY_NONE,
	PAVO_CRC_BY_128, /* PCLMULQDQ, SSE4.1 */
	PAVO_CRC_BY_256, /* VPCLMULQDQ, AVX2 */
	PAVO_CRC_BY_512, /* VPCLMULQDQ, AVX-512F */
	PAVO_CRC_WAYS,
};

/* Fewest bytes that a way other than PAVO_CRC_BY_NONE takes. */
#define PAVO_CRC_MIN 16

/**
 * pavo_find_crc_way - find the fastest way that the CPU has instructions for, and whose
 * registers its kernel keeps for each thread.
 *
 * On Intel's CPUs that run slower while they use registers of 512 bits that is one of 256 bits.
 */
enum pavo_crc_way pavo_find_crc_way(void);

/** pavo_crc_way_name - what a log says of a way. @way: not PAVO_CRC_BY_NONE */
const char *pavo_crc_way_name(enum pavo_crc_way way);

/**
 * pavo_crc32 - continue a CRC-32 over more bytes, as crc32_le() does: without complement.
 * @way:  no later than that of pavo_find_crc_way(), not PAVO_CRC_BY_NONE
 * @crc:  CRC of all before
 * @from: the bytes, aligned or not; no byte beside them is read
 * @len:  how many, PAVO_CRC_MIN or more
 *
 * Context: the caller owns the vector registers.
 */
u32 pavo_crc32(enum pavo_crc_way way, u32 crc, const void *from, size_t len);

/* crc32_fold.S: each of the ways, with len >= PAVO_CRC_MIN */
u32 pavo_crc32_128(u32 crc, const u8 *from, size_t len);
u32 pavo_crc32_256(u32 crc, const u8 *from, size_t len);
u32 pavo_crc32_512(u32 crc, const u8 *from, size_t len);

#endif /* PAVO_CRC32_X86_H */
