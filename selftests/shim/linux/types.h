/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * types.h - what the kernel's <linux/types.h> has beyond the one of user
 * space, as far as the pure C files of the module need it. Found before the
 * system's by the include path of unit/ and fuzz/.
 */
#ifndef PAVO_SHIM_TYPES_H
#define PAVO_SHIM_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef u64 phys_addr_t;

#ifndef __aligned
#define __aligned(x) __attribute__((__aligned__(x)))
#endif

#endif /* PAVO_SHIM_TYPES_H */
