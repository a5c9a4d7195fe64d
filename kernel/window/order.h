/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * order.h - what order the packets of RDMA may come in: any. Which attempt a packet
 * belongs to, and whether it came before (sources.md#windows-write). Pure.
 *
 * The network of sources.md#windows-order duplicates no packets. Ethernet may, so each
 * packet of an operation has a number, and those that came are remembered as far as packets
 * can overtake each other. What is further ahead counts as lost.
 */
#ifndef PAVO_WINDOW_ORDER_H
#define PAVO_WINDOW_ORDER_H

#include <linux/types.h>

/* Packets that may overtake one. */
#define PAVO_SEEN_BITS 4096u

/**
 * struct pavo_seen - fragments that came.
 * @base: all before it did
 * @bits: and these, of [@base, @base + PAVO_SEEN_BITS); bit n is that of fragment n
 *        modulo PAVO_SEEN_BITS
 */
struct pavo_seen {
	u32 base;
	u64 bits[PAVO_SEEN_BITS / 64];
};

enum pavo_seen_verdict {
	PAVO_SEEN_NEW,
	PAVO_SEEN_AGAIN,
	PAVO_SEEN_FAR, /* so far ahead that it cannot be remembered */
};

static inline u64 *pavo_seen_word(struct pavo_seen *seen, u32 fragment,
				  u64 *bit)
{
	u32 at = fragment % PAVO_SEEN_BITS;

	*bit = 1ull << (at % 64);
	return &seen->bits[at / 64];
}

/** pavo_seen_look - did @fragment come? */
static inline enum pavo_seen_verdict pavo_seen_look(struct pavo_seen *seen,
						    u32 fragment)
{
	u64 *word, bit;

	if (fragment < seen->base)
		return PAVO_SEEN_AGAIN;
	if (fragment - seen->base >= PAVO_SEEN_BITS)
		return PAVO_SEEN_FAR;
	word = pavo_seen_word(seen, fragment, &bit);
	return *word & bit ? PAVO_SEEN_AGAIN : PAVO_SEEN_NEW;
}

/** pavo_seen_note - @fragment, which is new, has come. */
static inline void pavo_seen_note(struct pavo_seen *seen, u32 fragment)
{
	u64 *word, bit;

	word = pavo_seen_word(seen, fragment, &bit);
	*word |= bit;
	/* At most PAVO_SEEN_BITS of them, each for one that came. */
	while (word = pavo_seen_word(seen, seen->base, &bit), *word & bit) {
		*word &= ~bit;
		seen->base++;
	}
}

/**
 * struct pavo_attempt - how far an rCxt is.
 * @tid:      the last that was begun on it; 0: none
 * @first:    that of the first attempt at the same operation
 * @complete: the last of those whose data all came; 0: none
 * @sending:  it sends the data of @tid
 * @placing:  it takes the data of @tid
 * @feeding:  the process sends the data of @tid, in pieces
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
	PAVO_TID_PART, /* of what is going on */
	PAVO_TID_BEGIN, /* a new operation */
	PAVO_TID_RESUME, /* another attempt at what is going on: what came, came */
	PAVO_TID_REPEAT, /* an attempt of one that is complete */
	PAVO_TID_STALE,
	PAVO_TID_LATE, /* of what is over */
	PAVO_TID_BUSY, /* new, but there is something to be sent */
};

/** pavo_tid_first - the tid with which an operation was begun. */
static inline u64 pavo_tid_first(u64 tid, u16 attempts)
{
	return attempts < tid ? tid - attempts : tid;
}

/** pavo_tid_resumes - is @tid, a higher one, an attempt at what is being placed? */
static inline bool pavo_tid_resumes(const struct pavo_attempt *a, u64 tid,
				    u16 attempts)
{
	return attempts && a->placing &&
	       pavo_tid_first(tid, attempts) == a->first;
}

/** pavo_tid_repeats - is @tid, a higher one, an attempt at what has all come? */
static inline bool pavo_tid_repeats(const struct pavo_attempt *a, u64 tid,
				    u16 attempts)
{
	return attempts && pavo_tid_first(tid, attempts) <= a->complete;
}

/** pavo_tid_data - a packet with data comes. @attempts: struct pavo_rdma_request. */
static inline enum pavo_tid_verdict pavo_tid_data(const struct pavo_attempt *a,
						  u64 tid, u16 attempts)
{
	/* Data of an earlier attempt at the same is as good. */
	if (tid < a->tid)
		return a->placing && pavo_tid_first(tid, attempts) == a->first ?
			       PAVO_TID_PART :
			       PAVO_TID_STALE;
	if (tid == a->tid)
		return a->placing ? PAVO_TID_PART : PAVO_TID_LATE;
	if (a->sending)
		return PAVO_TID_BUSY;
	if (pavo_tid_repeats(a, tid, attempts))
		return PAVO_TID_REPEAT;
	return pavo_tid_resumes(a, tid, attempts) ? PAVO_TID_RESUME :
						    PAVO_TID_BEGIN;
}

/** pavo_tid_request - a request for data comes, or one of the process's own. */
static inline enum pavo_tid_verdict
pavo_tid_request(const struct pavo_attempt *a, u64 tid)
{
	if (tid <= a->tid)
		return PAVO_TID_STALE;
	return a->sending ? PAVO_TID_BUSY : PAVO_TID_BEGIN;
}

/**
 * pavo_tid_ends - is an end told with @tid that of what is going on? The source of a read
 * is told with the tid of the reader's last attempt, whose request may be lost. An
 * attempt before the one that is going on ends nothing.
 */
static inline bool pavo_tid_ends(const struct pavo_attempt *a, u64 tid,
				 u16 attempts)
{
	return tid == a->tid || (attempts && tid > a->tid &&
				 pavo_tid_first(tid, attempts) == a->first);
}

/** pavo_tid_piece - a piece of data that the process itself sends. */
static inline enum pavo_tid_verdict pavo_tid_piece(const struct pavo_attempt *a,
						   u64 tid)
{
	if (tid == a->tid)
		return a->feeding ? PAVO_TID_PART : PAVO_TID_LATE;
	return pavo_tid_request(a, tid);
}

#endif /* PAVO_WINDOW_ORDER_H */
