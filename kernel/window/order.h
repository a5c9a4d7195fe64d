/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * order.h - decides to which attempt a packet of RDMA belongs, and whether it is a duplicate.
 * Packets may arrive in any order (sources.md#windows-write). Pure.
 *
 * The network of sources.md#windows-order duplicates no packets, but Ethernet may. So each
 * packet of an operation has an index, its fragment. The target records which fragments have
 * arrived, up to PAVO_SEEN_BITS ahead of the first missing one. A packet further ahead counts
 * as lost.
 */
#ifndef PAVO_WINDOW_ORDER_H
#define PAVO_WINDOW_ORDER_H

#include <linux/types.h>

/* Packets that may overtake one. */
#define PAVO_SEEN_BITS 4096u

/**
 * struct pavo_seen - fragments that have arrived.
 * @base: the first missing fragment
 * @bits: the fragments of [@base, @base + PAVO_SEEN_BITS) that have arrived; fragment n has
 *        bit n modulo PAVO_SEEN_BITS
 */
struct pavo_seen {
	u32 base;
	u64 bits[PAVO_SEEN_BITS / 64];
};

enum pavo_seen_verdict {
	PAVO_SEEN_NEW,
	PAVO_SEEN_DUPLICATE,
	PAVO_SEEN_FAR, /* PAVO_SEEN_BITS or more ahead of the first missing one */
};

static inline u64 *pavo_seen_bits(struct pavo_seen *seen, u32 fragment,
				  u64 *bit)
{
	u32 at = fragment % PAVO_SEEN_BITS;

	*bit = 1ull << (at % 64);
	return &seen->bits[at / 64];
}

/** pavo_seen_find - is @fragment new, or a duplicate? */
static inline enum pavo_seen_verdict pavo_seen_find(struct pavo_seen *seen,
						    u32 fragment)
{
	u64 *bits, bit;

	if (fragment < seen->base)
		return PAVO_SEEN_DUPLICATE;
	if (fragment - seen->base >= PAVO_SEEN_BITS)
		return PAVO_SEEN_FAR;
	bits = pavo_seen_bits(seen, fragment, &bit);
	return *bits & bit ? PAVO_SEEN_DUPLICATE : PAVO_SEEN_NEW;
}

/** pavo_seen_note - record @fragment, which is new, as arrived. */
static inline void pavo_seen_note(struct pavo_seen *seen, u32 fragment)
{
	u64 *bits, bit;

	bits = pavo_seen_bits(seen, fragment, &bit);
	*bits |= bit;
	/* Ends: each round clears a bit, and there are PAVO_SEEN_BITS. */
	while (bits = pavo_seen_bits(seen, seen->base, &bit), *bits & bit) {
		*bits &= ~bit;
		seen->base++;
	}
}

/**
 * struct pavo_attempt - the attempts at the operation of an rCxt.
 * @tid:      tid of the latest attempt; 0: none
 * @first:    tid of the first attempt at the same operation
 * @complete: latest tid of which all data has arrived; 0: none
 * @sending:  the rCxt sends the data of @tid
 * @placing:  the rCxt takes the data of @tid
 * @feeding:  the process itself sends the data of @tid, in pieces
 */
struct pavo_attempt {
	u64 tid;
	u64 first;
	u64 complete;
	bool sending;
	bool placing;
	bool feeding;
};

enum pavo_tid_verdict {
	PAVO_TID_PART, /* part of the attempt that is going on */
	PAVO_TID_BEGIN, /* a new operation */
	PAVO_TID_RESUME, /* another attempt at the operation, which keeps the data placed so far */
	PAVO_TID_REPEAT, /* another attempt at an operation that is complete */
	PAVO_TID_STALE, /* a tid that is too low */
	PAVO_TID_ENDED, /* part of an attempt that is over */
	PAVO_TID_BUSY, /* a new operation, but the rCxt is sending */
};

/** pavo_tid_first - the tid of the first attempt, @attempts before @tid. */
static inline u64 pavo_tid_first(u64 tid, u16 attempts)
{
	return attempts < tid ? tid - attempts : tid;
}

/** pavo_tid_resumes - is @tid, above the latest, an attempt at the operation being placed? */
static inline bool pavo_tid_resumes(const struct pavo_attempt *a, u64 tid,
				    u16 attempts)
{
	return attempts && a->placing &&
	       pavo_tid_first(tid, attempts) == a->first;
}

/** pavo_tid_repeats - is @tid, above the latest, an attempt at an operation that is complete? */
static inline bool pavo_tid_repeats(const struct pavo_attempt *a, u64 tid,
				    u16 attempts)
{
	return attempts && pavo_tid_first(tid, attempts) <= a->complete;
}

/** pavo_tid_data - classify a packet with data. @attempts: see struct pavo_rdma_request. */
static inline enum pavo_tid_verdict pavo_tid_data(const struct pavo_attempt *a,
						  u64 tid, u16 attempts)
{
	/* Data of an earlier attempt at the same operation is as good. */
	if (tid < a->tid)
		return a->placing && pavo_tid_first(tid, attempts) == a->first ?
			       PAVO_TID_PART :
			       PAVO_TID_STALE;
	if (tid == a->tid)
		return a->placing ? PAVO_TID_PART : PAVO_TID_ENDED;
	if (a->sending)
		return PAVO_TID_BUSY;
	if (pavo_tid_repeats(a, tid, attempts))
		return PAVO_TID_REPEAT;
	return pavo_tid_resumes(a, tid, attempts) ? PAVO_TID_RESUME :
						    PAVO_TID_BEGIN;
}

/** pavo_tid_request - classify a request of the peer, or of this end's process. */
static inline enum pavo_tid_verdict
pavo_tid_request(const struct pavo_attempt *a, u64 tid)
{
	if (tid <= a->tid)
		return PAVO_TID_STALE;
	return a->sending ? PAVO_TID_BUSY : PAVO_TID_BEGIN;
}

/**
 * pavo_tid_ends - does an end with @tid end the operation of the rCxt?
 * @a:        the operation
 * @tid:      tid in the packet
 * @attempts: likewise
 *
 * An end may have a higher tid: the reader notifies the source with the tid of its latest
 * attempt, whose request may be lost. The end of an earlier attempt ends nothing.
 */
static inline bool pavo_tid_ends(const struct pavo_attempt *a, u64 tid,
				 u16 attempts)
{
	return tid == a->tid || (attempts && tid > a->tid &&
				 pavo_tid_first(tid, attempts) == a->first);
}

/** pavo_tid_piece - classify a piece of data that the process itself sends. */
static inline enum pavo_tid_verdict pavo_tid_piece(const struct pavo_attempt *a,
						   u64 tid)
{
	if (tid == a->tid)
		return a->feeding ? PAVO_TID_PART : PAVO_TID_ENDED;
	return pavo_tid_request(a, tid);
}

#endif /* PAVO_WINDOW_ORDER_H */
