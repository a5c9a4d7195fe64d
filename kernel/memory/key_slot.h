/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * key_slot.h - a remote-key slot: the key that an operation of a peer uses, and whether the
 * key is still valid (sources.md#keys-memory).
 *
 *     63      62     61                32 31                        0
 *     | valid | busy |   generation 30   |         R_Key 32          |
 *
 * The responder writes the word when the operation begins and when it ends, and sets
 * "busy" around every copy. A walker only clears "valid", and only in the word
 * that it read: an operation that began meanwhile has another generation, even with the same
 * key. Responder and walker share the word and no lock. Pure.
 *
 * No operation is missed: the responder writes the word, then looks the key up.
 * The walker reads the words after the key table was changed. Both have a full barrier
 * in between, so one of them sees the other.
 */
#ifndef PAVO_KEY_SLOT_H
#define PAVO_KEY_SLOT_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/types.h>

#define PAVO_KEY_SLOT_VALID 0x8000000000000000ull
#define PAVO_KEY_SLOT_BUSY 0x4000000000000000ull
#define PAVO_KEY_SLOT_GEN_SHIFT 32
#define PAVO_KEY_SLOT_GEN_MASK 0x3fffffffu

/** pavo_key_slot_begin - begin an operation with @key, and its first copy. */
static inline void pavo_key_slot_begin(atomic64_t *slot, u32 gen, u32 key)
{
	u64 word = PAVO_KEY_SLOT_VALID | PAVO_KEY_SLOT_BUSY | key |
		   (u64)(gen & PAVO_KEY_SLOT_GEN_MASK)
			   << PAVO_KEY_SLOT_GEN_SHIFT;

	/* A full barrier; the responder looks the key up behind it. */
	atomic64_xchg(slot, word);
}

/** pavo_key_slot_enter - begin another copy. Return: 0; -EKEYREVOKED: the key was invalidated. */
static inline int pavo_key_slot_enter(atomic64_t *slot)
{
	s64 word = atomic64_read(slot);

	do {
		if (!(word & PAVO_KEY_SLOT_VALID))
			return -EKEYREVOKED;
	} while (!atomic64_try_cmpxchg(slot, &word, word | PAVO_KEY_SLOT_BUSY));
	return 0;
}

/** pavo_key_slot_leave - end a copy; the operation continues. */
static inline void pavo_key_slot_leave(atomic64_t *slot)
{
	atomic64_fetch_andnot_release(PAVO_KEY_SLOT_BUSY, slot);
}

/** pavo_key_slot_end - end the operation, if there is one. */
static inline void pavo_key_slot_end(atomic64_t *slot)
{
	atomic64_set_release(slot, 0);
}

static inline bool pavo_key_slot_matches(u64 word, u32 key)
{
	return word & PAVO_KEY_SLOT_VALID && (u32)word == key;
}

/**
 * pavo_key_slot_revoke - clear "valid" if the operation uses @key.
 * @slot: the slot
 * @key:  the key that was invalidated
 * @left: set to the word without "valid"; for pavo_key_slot_is_quiet(), if it is of @key
 *
 * Return: 0: this call cleared it; -EALREADY: the operation uses another key, or another walk had
 * cleared it before.
 */
static inline int pavo_key_slot_revoke(atomic64_t *slot, u32 key, u64 *left)
{
	s64 word = atomic64_read(slot);

	do {
		*left = word & ~PAVO_KEY_SLOT_VALID;
		if (!pavo_key_slot_matches(word, key))
			return -EALREADY;
	} while (!atomic64_try_cmpxchg(slot, &word, *left));
	return 0;
}

/** pavo_key_slot_is_quiet - true if the copy that ran when the slot was revoked has ended. */
static inline bool pavo_key_slot_is_quiet(const atomic64_t *slot, u64 left)
{
	return !(left & PAVO_KEY_SLOT_BUSY) ||
	       (u64)atomic64_read_acquire(slot) != left;
}

#endif /* PAVO_KEY_SLOT_H */
