/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rcxt.h - rCxts: the state of one operation at one end (sources.md#windows-rcxt),
 * and the pool of an adapter that windows take them from.
 *
 * Packets find an rCxt by its number, and need no reference: the pool's memory stays until
 * the adapter ends. A CPU locks the rCxt, then checks which window has it.
 */
#ifndef PAVO_WINDOW_RCXT_H
#define PAVO_WINDOW_RCXT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "window/order.h"

struct pavo_fifo_window;
struct pavo_windows;

/**
 * struct pavo_rdma_peer - the other end of an operation.
 * @window: its window
 * @rcxt:   its rCxt
 * @node:   its node
 */
struct pavo_rdma_peer {
	u32 window;
	u32 rcxt;
	u16 node;
};

/* Is it the same window? Its rCxt may be another one after a recovery there. */
static inline bool pavo_rdma_same_window(const struct pavo_rdma_peer *a,
					 const struct pavo_rdma_peer *b)
{
	return a->window == b->window && a->node == b->node;
}

static inline bool pavo_rdma_same_peer(const struct pavo_rdma_peer *a,
				       const struct pavo_rdma_peer *b)
{
	return pavo_rdma_same_window(a, b) && a->rcxt == b->rcxt;
}

/**
 * struct pavo_rcxt - state of one operation at this end.
 * @lock:     all but @owned and @queued; BH, taken before a window's lock
 * @owned:    in its window's list, or in the pool's free list; under the pool's mutex
 * @queued:   in its window's list of rCxts with something to send; under the window's lock
 * @window:   the window that has it; NULL: in the pool
 * @id:       its number, as the window knows it; stays after a recovery
 * @now:      the operation, and how far it is
 * @seen:     fragments that came; allocated while a window has the rCxt
 * @told:     tell this process of the end when a packet says that it has come
 * @own:      a frame RDMA_WRITE of this process began the operation, and is to be marked
 * @sends:    counts how often it began to send, for all windows that had it, so that no value
 *            comes again
 * @reading:  it takes data for memory that this process named, at @to
 * @flags:    of the operation, see struct pavo_rdma_request
 * @attempts: likewise
 * @tag:      likewise
 * @peer:     the other end
 * @cookie:   of this process
 * @total:    bytes of the operation
 * @from:     PVO of the data that it sends
 * @to:       where the data goes: a PVO of the peer, or of this end if @reading; a
 *            number for TO_FIFO
 * @left:     bytes that have not been sent, or have not come
 * @fragment: number of the next packet to be sent
 * @frame:    number of the frame, if @own
 */
struct pavo_rcxt {
	spinlock_t lock; /* all but the lists */
	struct list_head owned;
	struct list_head queued;
	struct pavo_fifo_window *window;
	u32 id;
	struct pavo_attempt now;
	struct pavo_seen *seen;
	bool told;
	bool own;
	u64 sends;
	bool reading;
	u8 flags;
	u16 attempts;
	struct pavo_rdma_peer peer;
	u32 tag;
	u32 cookie;
	u32 total;
	u64 from;
	u64 to;
	u32 left;
	u32 fragment;
	u32 frame;
};

/**
 * struct pavo_rcxt_pool - the rCxts of an adapter.
 * @mutex: lists, and the owners of rCxts
 * @all:   array of all rCxts; NULL until the first is taken
 * @count: how many they are
 * @key:   part of their numbers; random at first, then counts up with each recovery
 * @recoveries: number of recoveries
 * @users: uid -> number of rCxts that the user has, if any
 * @free:  free rCxts. Taken from its head and given back at its tail, so that a number comes
 *         back only after all other free ones had their turn
 */
struct pavo_rcxt_pool {
	struct mutex mutex; /* lists and owners */
	struct pavo_rcxt *all;
	u32 count;
	u32 key;
	u32 recoveries;
	struct xarray users;
	struct list_head free;
};

void pavo_rcxts_init(struct pavo_rcxt_pool *pool);
void pavo_rcxts_destroy(struct pavo_rcxt_pool *pool);

/**
 * pavo_rcxts_take - give @window rCxts, all or none; their tid is 0.
 * @window: the window
 * @ids:    set to their numbers
 * @n:      how many
 *
 * Return: 0; -ENOSPC: the pool has not so many; -EDQUOT: the user that the job counts for would
 * have more than rcxts_per_user; -ENOMEM; -ESHUTDOWN: the window is disabled. Context: process.
 */
int pavo_rcxts_take(struct pavo_fifo_window *window, u32 *ids, u32 n);

/**
 * pavo_rcxt_return - give an rCxt back to the pool.
 * @window: the window that has it
 * @id:     its number
 *
 * Return: 0; -EINVAL: the window does not have it; -EBUSY: it is sending (cancel first).
 * Context: process.
 */
int pavo_rcxt_return(struct pavo_fifo_window *window, u32 id);

/**
 * pavo_rcxts_return_all - end the operations of all rCxts of a closed window, and give them
 * back to the pool. No packet touches memory by them when this returns. Context: process.
 * @window: the window; pavo_rcxts_take() refuses it from now on
 */
void pavo_rcxts_return_all(struct pavo_fifo_window *window);

/**
 * pavo_rcxts_recover - recovery (sources.md#windows-failover): take all rCxts back to the pool,
 * and make all numbers that were given out invalid. Sleeps.
 * @pool: the pool
 */
void pavo_rcxts_recover(struct pavo_rcxt_pool *pool);

/**
 * pavo_rcxt_find - the rCxt at the place that @id names. The caller locks it, then uses it only
 * if pavo_rcxt_owned() says so.
 * @window: a window of the adapter
 * @id:     number of the rCxt
 *
 * Return: NULL: the pool has no such place.
 */
struct pavo_rcxt *pavo_rcxt_find(struct pavo_fifo_window *window, u32 id);
/** pavo_rcxt_owned - has @window @rcxt, by the number @id? @rcxt is locked. */
bool pavo_rcxt_owned(const struct pavo_fifo_window *window,
		     const struct pavo_rcxt *rcxt, u32 id);

#endif /* PAVO_WINDOW_RCXT_H */
