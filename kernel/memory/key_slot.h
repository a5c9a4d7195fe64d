/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * key_slot.h - one word of the remote key memory: the key that an inbound operation
 * uses, and whether it still may (sources.md#keys-memory).
 *
 *     63      62     61                32 31                        0
 *     | valid | busy |   generation 30   |         R_Key 32          |
 *
 * Its responder writes the word when the operation begins and when it ends, and
 * sets busy around every copy. A walker only ever takes "valid" away,
 * from the very word it saw: an operation that began meanwhile, with the same key
 * even, is another generation. The word is all that the two share; none waits for a
 * lock of the other. Pure.
 *
 * Why nothing slips through: the responder writes the word, then looks the key up;
 * the walker looks at the words after the key table was changed, with a full
 * barrier in between on both sides. One of them sees the other.
 */
#ifndef PAVO_KEY_SLOT_H
#define PAVO_KEY_SLOT_H

#include <linux/atomic.h>
#include <linux/types.h>

#define PAVO_KEY_SLOT_VALID 0x8000000000000000ull
#define PAVO_KEY_SLOT_BUSY 0x4000000000000000ull
#define PAVO_KEY_SLOT_GEN_SHIFT 32
#define PAVO_KEY_SLOT_GEN_MASK 0x3fffffffu

/** pavo_key_slot_begin - an operation with @key begins, and its first copy, too. */
static inline void pavo_key_slot_begin(atomic64_t *slot, u32 gen, u32 key)
{
	u64 word = PAVO_KEY_SLOT_VALID | PAVO_KEY_SLOT_BUSY | key |
		   (u64)(gen & PAVO_KEY_SLOT_GEN_MASK)
			   << PAVO_KEY_SLOT_GEN_SHIFT;

	/* A full barrier; the key is looked up behind it. */
	atomic64_xchg(slot, word);
}

/** pavo_key_slot_enter - another copy. False: the key was invalidated. */
static inline bool pavo_key_slot_enter(atomic64_t *slot)
{
	s64 word = atomic64_read(slot);

	do {
		if (!(word & PAVO_KEY_SLOT_VALID))
			return false;
	} while (!atomic64_try_cmpxchg(slot, &word, word | PAVO_KEY_SLOT_BUSY));
	return true;
}

/** pavo_key_slot_leave - the copy is over, the operation is not. */
static inline void pavo_key_slot_leave(atomic64_t *slot)
{
	atomic64_fetch_andnot_release(PAVO_KEY_SLOT_BUSY, slot);
}

/** pavo_key_slot_end - the operation is over, or there is none. */
static inline void pavo_key_slot_end(atomic64_t *slot)
{
	atomic64_set_release(slot, 0);
}

static inline bool pavo_key_slot_matches(u64 word, u32 key)
{
	return word & PAVO_KEY_SLOT_VALID && (u32)word == key;
}

/**
 * pavo_key_slot_revoke - take validity away if the operation uses @key.
 * @left: what the word was left as; for pavo_key_slot_quiet(), if it is of @key
 *
 * Return: it did use it, and no walk had taken its validity away before.
 */
static inline bool pavo_key_slot_revoke(atomic64_t *slot, u32 key, u64 *left)
{
	s64 word = atomic64_read(slot);

	do {
		*left = word & ~PAVO_KEY_SLOT_VALID;
		if (!pavo_key_slot_matches(word, key))
			return false;
	} while (!atomic64_try_cmpxchg(slot, &word, *left));
	return true;
}

/** pavo_key_slot_quiet - the copy that ran when the slot was revoked is over. */
static inline bool pavo_key_slot_quiet(const atomic64_t *slot, u64 left)
{
	return !(left & PAVO_KEY_SLOT_BUSY) ||
	       (u64)atomic64_read_acquire(slot) != left;
}

#endif /* PAVO_KEY_SLOT_H */
