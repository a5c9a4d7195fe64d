/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* crc32.h - the CRC of Ethernet, bit by bit: least significant first, not complemented. */
#ifndef PAVO_SHIM_CRC32_H
#define PAVO_SHIM_CRC32_H

#include <linux/types.h>

static inline u32 crc32_le(u32 crc, const void *bytes, size_t size)
{
	const u8 *p = (const u8 *)bytes;
	int bit;

	while (size--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

#endif /* PAVO_SHIM_CRC32_H */
