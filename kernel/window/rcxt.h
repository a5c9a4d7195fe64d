/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rcxt.h - RDMA contexts: the state of one operation at one end (sources.md#windows-rcxt),
 * and the pool of an adapter that windows take them from.
 *
 * Packets find a context by its number, which is all they need: the pool's memory
 * stays until the adapter ends. Whoever uses one locks it and looks whose it is.
 */
#ifndef PAVO_WINDOW_RCXT_H
#define PAVO_WINDOW_RCXT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "window/adapter_windows.h"
#include "window/order.h"

struct pavo_fifo_window;
struct pavo_windows;

/** struct pavo_rdma_peer - the other end of an operation: its node, window, rCxt. */
struct pavo_rdma_peer {
	u32 window;
	u32 rcxt;
	u16 node;
};

/* The same window; its rCxt may be another after a recovery there. */
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
 * struct pavo_rcxt - one.
 * @lock:     all but @owned and @queued; BH, taken before a window's lock
 * @owned:    in its window's list, or in that of free ones; the pool's mutex
 * @queued:   in its window's list of those with something to send; the window's lock
 * @window:   whose it is; NULL: in the pool
 * @id:       its number, as that window knows it, also after a recovery
 * @now:      how far it is
 * @seen:     fragments of what it takes, memory of its own while it has a window
 * @told:     the end is to be told to this process, when a packet says so
 * @own:      begun by frame number @frame, which is to be marked
 * @sends:    how often there was something to be sent on it, whoever had it: never the
 *            same again
 * @reading:  it takes data for memory that this process named, at @to
 * @flags, @attempts, @tag, @total: of the operation, see struct pavo_rdma_request
 * @cookie:   of this process
 * @peer:     the other end
 * @from:     where the data is that it sends, a PVO
 * @to:       where it goes, at the other end, or at this one if it is @reading; a
 *            number for TO_FIFO
 * @left:     bytes that have not been sent, or have not come
 * @fragment: the next to be sent
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

void pavo_rcxts_init(struct pavo_rcxt_pool *pool);
void pavo_rcxts_destroy(struct pavo_rcxt_pool *pool);

/**
 * pavo_rcxts_take - @n contexts for @window, all or none; their tid is 0.
 * Return: 0; -ENOSPC: the pool has not so many; -EDQUOT: they are more than
 * rcxts_per_user of the user whose job it is; -ENOMEM; -ESHUTDOWN: it is disabled.
 * Context: process.
 */
int pavo_rcxts_take(struct pavo_fifo_window *window, u32 *ids, u32 n);

/**
 * pavo_rcxt_return - Return: 0; -EINVAL: not the window's; -EBUSY: it has something
 * to send (cancel first). Context: process.
 */
int pavo_rcxt_return(struct pavo_fifo_window *window, u32 id);

/**
 * pavo_rcxts_return_all - the window is closed: what they are at ends, no packet touches
 * memory by them when this returns, and it gets no more. Context: process.
 */
void pavo_rcxts_return_all(struct pavo_fifo_window *window);

/**
 * pavo_rcxts_recover - begin anew (sources.md#windows-failover): all go back
 * to the pool, and no number that was given out is one any more. Sleeps.
 */
void pavo_rcxts_recover(struct pavo_rcxt_pool *pool);

/**
 * pavo_rcxt_find - the place of number @id in the pool, or NULL. To be locked, and
 * then used only if pavo_rcxt_owned().
 */
struct pavo_rcxt *pavo_rcxt_find(struct pavo_fifo_window *window, u32 id);
bool pavo_rcxt_owned(const struct pavo_fifo_window *window,
		     const struct pavo_rcxt *rcxt, u32 id);

#endif /* PAVO_WINDOW_RCXT_H */
