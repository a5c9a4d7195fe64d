/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * order.h - decides to which attempt a packet of RDMA belongs. Packets may arrive in any order
 * (sources.md#windows-write). Pure.
 *
 * The network of sources.md#windows-order duplicates no packets, but Ethernet may. So each
 * packet of an operation has an index, its fragment, and the target records which fragments have
 * arrived (seen.h).
 */
#ifndef PAVO_WINDOW_ORDER_H
#define PAVO_WINDOW_ORDER_H

#include <linux/types.h>

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

/** pavo_tid_get_first - the tid of the first attempt, @attempts before @tid. */
static inline u64 pavo_tid_get_first(u64 tid, u16 attempts)
{
	return attempts < tid ? tid - attempts : tid;
}

/** pavo_tid_resumes - is @tid, above the latest, an attempt at the operation being placed? */
static inline bool pavo_tid_resumes(const struct pavo_attempt *a, u64 tid,
				    u16 attempts)
{
	return attempts && a->placing &&
	       pavo_tid_get_first(tid, attempts) == a->first;
}

/** pavo_tid_repeats - is @tid, above the latest, an attempt at an operation that is complete? */
static inline bool pavo_tid_repeats(const struct pavo_attempt *a, u64 tid,
				    u16 attempts)
{
	return attempts && pavo_tid_get_first(tid, attempts) <= a->complete;
}

/** pavo_tid_check_data - classify a packet with data. @attempts: see struct pavo_rdma_request. */
static inline enum pavo_tid_verdict
pavo_tid_check_data(const struct pavo_attempt *a, u64 tid, u16 attempts)
{
	/* Data of an earlier attempt at the same operation is as good. */
	if (tid < a->tid)
		return a->placing && pavo_tid_get_first(tid, attempts) ==
					       a->first ?
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

/** pavo_tid_check_request - classify a request of the peer, or of this end's process. */
static inline enum pavo_tid_verdict
pavo_tid_check_request(const struct pavo_attempt *a, u64 tid)
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
				 pavo_tid_get_first(tid, attempts) == a->first);
}

/** pavo_tid_check_piece - classify a piece of data that the process itself sends. */
static inline enum pavo_tid_verdict
pavo_tid_check_piece(const struct pavo_attempt *a, u64 tid)
{
	if (tid == a->tid)
		return a->feeding ? PAVO_TID_PART : PAVO_TID_ENDED;
	return pavo_tid_check_request(a, tid);
}

#endif /* PAVO_WINDOW_ORDER_H */
