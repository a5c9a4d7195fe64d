/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * atomic.h - of the kernel's <linux/atomic.h> what the pure parts of the module
 * need when they are built in user space.
 */
#ifndef PAVO_SHIM_ATOMIC_H
#define PAVO_SHIM_ATOMIC_H

#include <linux/types.h>

typedef struct {
	s64 counter;
} atomic64_t;

static inline s64 atomic64_read(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
}

static inline s64 atomic64_read_acquire(const atomic64_t *v)
{
	return __atomic_load_n(&v->counter, __ATOMIC_ACQUIRE);
}

static inline void atomic64_set_release(atomic64_t *v, s64 value)
{
	__atomic_store_n(&v->counter, value, __ATOMIC_RELEASE);
}

static inline s64 atomic64_xchg(atomic64_t *v, s64 value)
{
	return __atomic_exchange_n(&v->counter, value, __ATOMIC_SEQ_CST);
}

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 value)
{
	return __atomic_compare_exchange_n(&v->counter, old, value, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static inline s64 atomic64_fetch_andnot_release(s64 bits, atomic64_t *v)
{
	return __atomic_fetch_and(&v->counter, ~bits, __ATOMIC_RELEASE);
}

#endif /* PAVO_SHIM_ATOMIC_H */
