/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* barrier.h - what unit/shim has of it, and the others. The engine has one CPU. */
#ifndef PAVO_ENGINE_ASM_BARRIER_H
#define PAVO_ENGINE_ASM_BARRIER_H

#include_next <asm/barrier.h>

#define smp_store_release(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_mb__before_atomic() smp_mb()
#define smp_mb__after_atomic() smp_mb()

#endif /* PAVO_ENGINE_ASM_BARRIER_H */
