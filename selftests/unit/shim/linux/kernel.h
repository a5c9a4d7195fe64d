/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.h - of the kernel's <linux/kernel.h> what the pure C files of the module need when
 * they are built in user space.
 */
#ifndef PAVO_SHIM_KERNEL_H
#define PAVO_SHIM_KERNEL_H

#include <stddef.h>

#include <linux/types.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define container_of(at, type, member) \
	((type *)((char *)(at)-offsetof(type, member)))

#endif /* PAVO_SHIM_KERNEL_H */
