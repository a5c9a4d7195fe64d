/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * CRC32_OF_CPU: crc32_le() uses the CPU's instructions where CONFIG_CRC32_ARCH is on
 */
#include <linux/crc32.h>

unsigned int probe(void)
{
	return crc32_optimizations();
}
