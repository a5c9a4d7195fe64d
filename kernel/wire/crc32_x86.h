/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * crc32_x86.h - CRC-32 (IEEE 802.3) by carry-less multiplication, for 64-bit x86.
 *
 * Pure: reads its arguments, and writes vector registers.
 */
#ifndef PAVO_CRC32_X86_H
#define PAVO_CRC32_X86_H

#include <linux/types.h>

/* Implementations, by the width of their registers: a later one is faster. */
enum pavo_crc_way {
	PAVO_CRC_BY_NONE,
	PAVO_CRC_BY_128, /* PCLMULQDQ, SSE4.1 */
	PAVO_CRC_BY_256, /* VPCLMULQDQ, AVX2 */
	PAVO_CRC_BY_512, /* VPCLMULQDQ, AVX-512F */
	PAVO_CRC_WAYS,
};

/* Least length for an implementation other than PAVO_CRC_BY_NONE, bytes. */
#define PAVO_CRC_MIN 16

/**
 * pavo_find_crc_way - find the fastest implementation whose instructions the CPU has, and whose
 * registers its kernel saves for each thread.
 *
 * On Intel's CPUs that lower their frequency for registers of 512 bits, that is the one of 256
 * bits.
 */
enum pavo_crc_way pavo_find_crc_way(void);

/** pavo_crc_way_name - return the name of an implementation for the log; not PAVO_CRC_BY_NONE. */
const char *pavo_crc_way_name(enum pavo_crc_way way);

/**
 * pavo_crc32 - continue a CRC-32 over more bytes, as crc32_le() does: without complement.
 * @way:  not later than that of pavo_find_crc_way(), not PAVO_CRC_BY_NONE
 * @crc:  CRC of all bytes before
 * @from: the bytes, at any alignment; no other byte is read
 * @len:  length in bytes, PAVO_CRC_MIN or more
 *
 * Context: the caller owns the vector registers.
 */
u32 pavo_crc32(enum pavo_crc_way way, u32 crc, const void *from, size_t len);

/* crc32_fold.S: the implementations, with len >= PAVO_CRC_MIN */
u32 pavo_crc32_128(u32 crc, const u8 *from, size_t len);
u32 pavo_crc32_256(u32 crc, const u8 *from, size_t len);
u32 pavo_crc32_512(u32 crc, const u8 *from, size_t len);

#endif /* PAVO_CRC32_X86_H */
