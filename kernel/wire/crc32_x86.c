// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * crc32_x86.c - the choice between the functions of crc32_fold.S.
 *
 * Called by net/packet_icrc.c. Uses CPUID and XGETBV, because User-Mode Linux does not have the
 * table of CPU features of other kernels for x86.
 */
#include <linux/types.h>
#include "crc32_x86.h"

/* Leaf 1, ECX */
#define HAS_PCLMULQDQ 0x00000002u
#define HAS_SSE41 0x00080000u
#define HAS_XGETBV 0x08000000u
#define HAS_AVX 0x10000000u
/* Leaf 7, EBX and ECX */
#define HAS_AVX2 0x00000020u
#define HAS_AVX512F 0x00010000u
#define HAS_VPCLMULQDQ 0x00000400u
/* XCR0: registers that the kernel saves for each thread */
#define KEEPS_YMM 0x06u
#define KEEPS_ZMM 0xe6u

struct cpuid {
	u32 eax, ebx, ecx, edx;
};

static struct cpuid read_cpuid(u32 leaf)
{
	struct cpuid id;

	asm volatile("cpuid"
		     : "=a"(id.eax), "=b"(id.ebx), "=c"(id.ecx), "=d"(id.edx)
		     : "a"(leaf), "c"(0));
	return id;
}

static u32 read_xcr0(void)
{
	u32 low, high;

	asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static bool has_all(u32 bits, u32 wanted)
{
	return (bits & wanted) == wanted;
}

/*
 * True if the CPU lowers its frequency for a while after it has used registers of 512 bits. The
 * models are those with VPCLMULQDQ of the list in the kernel's own CRC code.
 */
static bool slows_down_for_zmm(void)
{
	static const u8 models[] = {
		0x6a, 0x6c, 0x7d, 0x7e, 0x9d, /* Ice Lake */
		0x8c, 0x8d, /* Tiger Lake */
	};
	struct cpuid vendor = read_cpuid(0);
	u32 signature = read_cpuid(1).eax;
	u32 model = (signature >> 4 & 0xf) | (signature >> 12 & 0xf0);
	unsigned int i;

	/* "GenuineIntel", family 6 */
	if (vendor.ebx != 0x756e6547 || (signature >> 8 & 0xf) != 6)
		return false;
	for (i = 0; i < sizeof(models); i++) {
		if (models[i] == model)
			return true;
	}
	return false;
}

enum pavo_crc_way pavo_find_crc_way(void)
{
	u32 base = read_cpuid(1).ecx;
	struct cpuid more;
	u32 kept;

	if (!has_all(base, HAS_PCLMULQDQ | HAS_SSE41))
		return PAVO_CRC_BY_NONE;
	if (!has_all(base, HAS_XGETBV | HAS_AVX) || read_cpuid(0).eax < 7)
		return PAVO_CRC_BY_128;
	more = read_cpuid(7);
	kept = read_xcr0();
	if (!(more.ecx & HAS_VPCLMULQDQ) || !(more.ebx & HAS_AVX2) ||
	    !has_all(kept, KEEPS_YMM))
		return PAVO_CRC_BY_128;
	if (!(more.ebx & HAS_AVX512F) || !has_all(kept, KEEPS_ZMM) ||
	    slows_down_for_zmm())
		return PAVO_CRC_BY_256;
	return PAVO_CRC_BY_512;
}

const char *pavo_crc_way_name(enum pavo_crc_way way)
{
	switch (way) {
	case PAVO_CRC_BY_512:
		return "VPCLMULQDQ, AVX-512";
	case PAVO_CRC_BY_256:
		return "VPCLMULQDQ, AVX2";
	default:
		return "PCLMULQDQ";
	}
}

/* Direct calls, because kernels with control-flow integrity check calls by pointer. */
u32 pavo_crc32(enum pavo_crc_way way, u32 crc, const void *from, size_t len)
{
	switch (way) {
	case PAVO_CRC_BY_512:
		return pavo_crc32_512(crc, from, len);
	case PAVO_CRC_BY_256:
		return pavo_crc32_256(crc, from, len);
	default:
		return pavo_crc32_128(crc, from, len);
	}
}
