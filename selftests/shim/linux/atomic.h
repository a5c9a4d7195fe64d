/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* atomic.h - atomic operations, by those of the compiler, and bits. Tests in C++ use those of 64 bits. */
#ifndef PAVO_SHIM_ATOMIC_H
#define PAVO_SHIM_ATOMIC_H

#include <asm/barrier.h>
#include <linux/kernel.h>
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

/* So many exchanges fail, as if another CPU had changed the word; the engine's. */
extern unsigned int shim_failing_exchanges __attribute__((weak));

static inline bool atomic64_try_cmpxchg(atomic64_t *v, s64 *old, s64 value)
{
	if (&shim_failing_exchanges && shim_failing_exchanges) {
		shim_failing_exchanges--;
		*old = __atomic_load_n(&v->counter, __ATOMIC_RELAXED);
		return false;
	}
	return __atomic_compare_exchange_n(&v->counter, old, value, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

static inline s64 atomic64_fetch_andnot_release(s64 bits, atomic64_t *v)
{
	return __atomic_fetch_and(&v->counter, ~bits, __ATOMIC_RELEASE);
}

static inline s64 atomic64_fetch_add(s64 n, atomic64_t *v)
{
	return __atomic_fetch_add(&v->counter, n, __ATOMIC_SEQ_CST);
}

static inline void atomic64_inc(atomic64_t *v)
{
	atomic64_fetch_add(1, v);
}

static inline s64 atomic64_cmpxchg(atomic64_t *v, s64 old, s64 value)
{
	atomic64_try_cmpxchg(v, &old, value);
	return old;
}

#ifndef __cplusplus

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

static inline int atomic_read(const atomic_t *v)
{
	return v->counter;
}

static inline int atomic_add_return(int n, atomic_t *v)
{
	return __atomic_add_fetch(&v->counter, n, __ATOMIC_SEQ_CST);
}

static inline void atomic_sub(int n, atomic_t *v)
{
	__atomic_sub_fetch(&v->counter, n, __ATOMIC_RELAXED);
}

static inline int atomic_inc_return(atomic_t *v)
{
	return ++v->counter;
}

static inline void atomic_inc(atomic_t *v)
{
	v->counter++;
}

static inline void atomic_dec(atomic_t *v)
{
	v->counter--;
}

static inline bool atomic_add_unless(atomic_t *v, int n, int unless)
{
	if (v->counter == unless)
		return false;
	v->counter += n;
	return true;
}

#define xchg(p, value) __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST)
#define cmpxchg(p, old, value)                                      \
	({                                                          \
		__typeof__(*(p)) _old = (old);                      \
		__atomic_compare_exchange_n(p, &_old, value, false, \
					    __ATOMIC_SEQ_CST,       \
					    __ATOMIC_SEQ_CST);      \
		_old;                                               \
	})

static inline void set_bit(unsigned int n, unsigned long *word)
{
	*word |= BIT(n);
}

static inline void clear_bit(unsigned int n, unsigned long *word)
{
	*word &= ~BIT(n);
}

#define clear_bit_unlock clear_bit

static inline bool test_bit(unsigned int n, const unsigned long *word)
{
	return *word & BIT(n);
}

static inline bool test_and_set_bit(unsigned int n, unsigned long *word)
{
	bool was = test_bit(n, word);

	set_bit(n, word);
	return was;
}

static inline bool test_and_clear_bit(unsigned int n, unsigned long *word)
{
	bool was = test_bit(n, word);

	clear_bit(n, word);
	return was;
}

#define for_each_set_bit(n, word, count)    \
	for ((n) = 0; (n) < (count); (n)++) \
		if (!test_bit(n, word))     \
			continue;           \
		else

#endif /* __cplusplus */

static inline unsigned int hweight64(u64 word)
{
	return (unsigned int)__builtin_popcountll(word);
}

#endif /* PAVO_SHIM_ATOMIC_H */
