/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* barrier.h - the barriers, by those of the compiler. */
#ifndef PAVO_SHIM_BARRIER_H
#define PAVO_SHIM_BARRIER_H

#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, value) __atomic_store_n(p, value, __ATOMIC_RELEASE)
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define wmb() smp_mb()
#define smp_mb__before_atomic() smp_mb()
#define smp_mb__after_atomic() smp_mb()

#endif /* PAVO_SHIM_BARRIER_H */
