// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * codes.c - decodes the timer field of RNR NAKs.
 *
 * Called by requester/ when an RNR NAK arrives. Constant data only.
 */
#include "wire.h"

/* IBA table 45, in steps of 10 us */
static const u32 pavo_rnr_delay[32] = {
	65536, 1,    2,	   3,	 4,    6,     8,     12,    16,	   24,	  32,
	48,    64,   96,   128,	 192,  256,   384,   512,   768,   1024,  1536,
	2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

u64 pavo_rnr_ns(u8 code)
{
	return pavo_rnr_delay[code & PAVO_AETH_VALUE] * 10000ull;
}
