/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * compiler.h - of the kernel's <linux/compiler.h> what the pure C files of the
 * module need when they are built in user space.
 */
#ifndef PAVO_SHIM_COMPILER_H
#define PAVO_SHIM_COMPILER_H

#ifndef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#endif

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))

#endif /* PAVO_SHIM_COMPILER_H */
