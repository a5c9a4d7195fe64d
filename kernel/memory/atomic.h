/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * atomic.h - the result of an atomic operation on a word. The masked operations
 * (sources.md#ext-fetch-add, sources.md#ext-swap, sources.md#ext-cmp-swap) have those of
 * IBA 9.4.5 as special cases.
 *
 * Pure: arithmetic, the same in the module and in the unit tests.
 */
#ifndef PAVO_MEMORY_ATOMIC_H
#define PAVO_MEMORY_ATOMIC_H

#include <linux/types.h>
#include "../wire/wire.h"

/**
 * struct pavo_atomic - an atomic operation and its operands, host byte order.
 * @aop:      enum pavo_aop
 * @swap_add: value to swap in, or to add
 * @swap_add_mask: CMP_SWAP: bits to swap in; FETCH_ADD: each set bit is the highest of a
 *            field, and no carry leaves a field
 * @compare:  CMP_SWAP: value to compare with
 * @compare_mask: CMP_SWAP: bits to compare
 */
struct pavo_atomic {
	enum pavo_aop aop;
	u64 swap_add;
	u64 swap_add_mask;
	u64 compare;
	u64 compare_mask;
};

/**
 * pavo_atomic_add - the sum of two words, field by field.
 * @a:    a word
 * @b:    a word
 * @tops: the highest bit of each field
 *
 * Added without its highest bit, a field keeps its own carry. The highest bits are then added
 * without carry, by exclusive or.
 */
static inline u64 pavo_atomic_add(u64 a, u64 b, u64 tops)
{
	return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

/** pavo_atomic_compute - the new value of a word that held @old. */
static inline u64 pavo_atomic_compute(const struct pavo_atomic *op, u64 old)
{
	switch (op->aop) {
	case PAVO_AOP_FETCH_ADD:
		return pavo_atomic_add(old, op->swap_add, op->swap_add_mask);
	case PAVO_AOP_SWAP:
		return op->swap_add;
	case PAVO_AOP_CMP_SWAP:
		if ((old ^ op->compare) & op->compare_mask)
			return old;
		return (old & ~op->swap_add_mask) |
		       (op->swap_add & op->swap_add_mask);
	}
	return old;
}

#endif /* PAVO_MEMORY_ATOMIC_H */
