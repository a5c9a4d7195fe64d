/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel.h - the macros that all files of the module use. Tests in C++ get those that its headers
 * need: many others have names that the C++ library has, too.
 */
#ifndef PAVO_SHIM_KERNEL_H
#define PAVO_SHIM_KERNEL_H

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <linux/compiler.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <stdint.h>
#include <stdio.h>

/* Notes for sparse. */
#define __rcu
#define __percpu
#define __force
#define __acquires(lock)
#define __releases(lock)

/* A warning of the kernel ends the engine. */
void engine_broken(const char *what, const char *file, int line)
	__attribute__((__noreturn__));

#define ENGINE_MUST(condition)                                         \
	do {                                                           \
		if (!(condition))                                      \
			engine_broken(#condition, __FILE__, __LINE__); \
	} while (0)
#define WARN_ON(wrong)                                             \
	({                                                         \
		if (wrong)                                         \
			engine_broken(#wrong, __FILE__, __LINE__); \
		false;                                             \
	})
#define RCU_LOCKDEP_WARN(wrong, text) WARN_ON(wrong)

#ifndef __cplusplus

/* The engine has CONFIG_MMU_NOTIFIER, by its command line. */
#define IS_ENABLED(option) (option)
#define CONFIG_KCOV 0
#define CONFIG_X86 0

#undef __always_inline
#define __always_inline inline __attribute__((__always_inline__))
#define fallthrough __attribute__((__fallthrough__))
#define barrier() __asm__ __volatile__("" ::: "memory")
#define cpu_relax() barrier()

#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define U64_MAX ((u64)~0ULL)
#define SMP_CACHE_BYTES 64
#define BITS_PER_LONG 64
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BUILD_BUG_ON(wrong) _Static_assert(!(wrong), #wrong)
#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)0)->member))
#define container_of(at, type, member) \
	((type *)((char *)(at)-offsetof(type, member)))
#define struct_size(p, member, count) \
	(sizeof(*(p)) + sizeof((p)->member[0]) * (size_t)(count))
#define check_add_overflow(a, b, sum) __builtin_add_overflow(a, b, sum)

#define min(a, b)                     \
	({                            \
		__auto_type _a = (a); \
		__auto_type _b = (b); \
		_a < _b ? _a : _b;    \
	})
#define max(a, b)                     \
	({                            \
		__auto_type _a = (a); \
		__auto_type _b = (b); \
		_a > _b ? _a : _b;    \
	})
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define swap(a, b)                       \
	do {                             \
		__auto_type _kept = (a); \
		(a) = (b);               \
		(b) = _kept;             \
	} while (0)
#define DIV_ROUND_UP(n, d) (((n) + (d)-1) / (d))
#define round_down(n, unit) ((n) & ~((__typeof__(n))(unit)-1))
#define ALIGN(n, unit) \
	(((n) + (unit)-1) & ~((__typeof__((n) + (unit)))(unit)-1))

static inline unsigned long roundup_pow_of_two(unsigned long n)
{
	return n < 2 ? 1 : 1UL << (BITS_PER_LONG - __builtin_clzl(n - 1));
}

#define WARN_ON_ONCE(wrong) WARN_ON(wrong)
#define pr_err(...) fprintf(stderr, __VA_ARGS__)

#define MAX_ERRNO 4095
#define IS_ERR(p) ((unsigned long)(p) >= (unsigned long)-MAX_ERRNO)
#define ERR_PTR(error) ((void *)(long)(error))
#define PTR_ERR(p) ((long)(p))
#define ERR_CAST(p) ((void *)(p))

static inline u16 ntohs(__be16 n)
{
	return be16toh((__force u16)n);
}

#define htons(n) ((__be16)ntohs((__force __be16)(u16)(n)))

static inline u32 ntohl(__be32 n)
{
	return be32toh((__force u32)n);
}

#define htonl(n) ((__be32)ntohl((__force __be32)(u32)(n)))

#endif /* __cplusplus */

#endif /* PAVO_SHIM_KERNEL_H */
