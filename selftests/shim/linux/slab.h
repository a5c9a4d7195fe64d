/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * slab.h - memory of the heap, so that the sanitizer sees misuse and leaks. A test can let an
 * allocation fail (engine.h).
 */
#ifndef PAVO_SHIM_SLAB_H
#define PAVO_SHIM_SLAB_H

#include <linux/kernel.h>

typedef unsigned int gfp_t;

#define GFP_KERNEL 0u
#define GFP_KERNEL_ACCOUNT 0u
#define GFP_ATOMIC 1u
#define __GFP_NOWARN 2u
#define __GFP_ZERO 4u

void *engine_alloc(size_t size, gfp_t flags);
void kfree(const void *memory);

#define kzalloc(size, flags) engine_alloc(size, flags)
/* Not zeroed by the kernel: filled with a pattern. */
void *kmalloc(size_t size, gfp_t flags);
void *kmemdup(const void *from, size_t size, gfp_t flags);

#define kcalloc(count, size, flags) \
	engine_alloc((size_t)(count) * (size), flags)
#define kvcalloc kcalloc
#define kvzalloc kzalloc
#define kvfree kfree

#endif /* PAVO_SHIM_SLAB_H */
