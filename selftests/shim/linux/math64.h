/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* math64.h - for pure files of the module in user space; see kernel.h. */
#ifndef PAVO_SHIM_MATH64_H
#define PAVO_SHIM_MATH64_H

#include <linux/types.h>

static inline u64 mul_u32_u32(u32 a, u32 b)
{
	return (u64)a * b;
}

static inline u64 div_u64(u64 dividend, u32 divisor)
{
	return dividend / divisor;
}

static inline u64 div_u64_rem(u64 dividend, u32 divisor, u32 *remainder)
{
	*remainder = dividend % divisor;
	return dividend / divisor;
}

#endif /* PAVO_SHIM_MATH64_H */
