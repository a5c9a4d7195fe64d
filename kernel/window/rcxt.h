/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rcxt.h - rCxts: the state of one operation at one end (sources.md#windows-rcxt),
 * and the pool of an adapter that windows take them from.
 *
 * Packets find an rCxt by its id, and need no reference: the pool's memory stays until the
 * adapter ends. A CPU locks the rCxt, then checks which window has it.
 */
#ifndef PAVO_WINDOW_RCXT_H
#define PAVO_WINDOW_RCXT_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include "accounting.h"
#include "window/operation.h"

struct pavo_fifo_window;

/**
 * struct pavo_rcxt - state of one operation at this end.
 * @lock:   all but @owned and @queued; BH, taken before a window's lock
 * @owned:  in its window's list, or in the pool's free list; under the pool's mutex
 * @queued: in its window's list of rCxts with something to send; under the window's lock
 * @window: the window that has it; NULL: in the pool
 * @op:     the operation; its id stays after a recovery, and @op.seen is allocated while a
 *          window has the rCxt
 */
struct pavo_rcxt {
	spinlock_t lock; /* all but the lists */
	struct list_head owned;
	struct list_head queued;
	struct pavo_fifo_window *window;
	struct pavo_operation op;
};

/**
 * struct pavo_rcxt_pool - the rCxts of an adapter.
 * @mutex: lists, and the owners of rCxts
 * @all:   array of all rCxts; NULL until the first is taken
 * @count: number of entries in @all
 * @key:   part of their ids; random at first, then counts up with each recovery
 * @recoveries: number of recoveries
 * @shares: number of rCxts that each user has
 * @free:  free rCxts. Taken from its head and returned at its tail, so that an id is reused
 *         only after all other free ones
 */
struct pavo_rcxt_pool {
	struct mutex mutex; /* lists and owners */
	struct pavo_rcxt *all;
	u32 count;
	u32 key;
	u32 recoveries;
	struct pavo_shares shares;
	struct list_head free;
};

void pavo_rcxts_init(struct pavo_rcxt_pool *pool);
void pavo_rcxts_destroy(struct pavo_rcxt_pool *pool);

/**
 * pavo_rcxts_take - give @window rCxts, all or none; their tid is 0.
 * @window: the window
 * @ids:    set to their ids
 * @n:      number of rCxts
 *
 * Return: 0; -ENOSPC: the pool has fewer; -EDQUOT: the user that the job counts for would have
 * more than rcxts_per_user; -ENOMEM; -ESHUTDOWN: the window is disabled. Context: process.
 */
int pavo_rcxts_take(struct pavo_fifo_window *window, u32 *ids, u32 n);

/**
 * pavo_rcxt_return - give an rCxt back to the pool. Its operation ends as by a cancel, which fails
 * the counter of that operation, and so do held requests that name the rCxt.
 * @window: the window that has it
 * @id:     its id
 *
 * Return: 0; -EINVAL: the window does not have it; -EBUSY: it is sending (cancel first).
 * Context: process.
 */
int pavo_rcxt_return(struct pavo_fifo_window *window, u32 id);

/**
 * pavo_rcxts_return_all - end the operations of all rCxts of a closed window, and return them
 * to the pool. No packet touches memory by them when this returns. Context: process.
 * @window: the window; pavo_rcxts_take() refuses it from now on
 */
void pavo_rcxts_return_all(struct pavo_fifo_window *window);

/**
 * pavo_rcxts_recover - recovery (sources.md#windows-failover): return all rCxts to the pool, and
 * make all ids that windows have invalid. Sleeps.
 * @pool: the pool
 */
void pavo_rcxts_recover(struct pavo_rcxt_pool *pool);

/**
 * pavo_rcxt_find - find the rCxt at the index that @id has. The caller locks it, then uses it
 * only if pavo_rcxt_owned() returns true.
 * @window: a window of the adapter
 * @id:     id of the rCxt
 *
 * Return: the rCxt; NULL: the pool has no such index.
 */
struct pavo_rcxt *pavo_rcxt_find(struct pavo_fifo_window *window, u32 id);
/** pavo_rcxt_owned - does @window have @rcxt, with the id @id? @rcxt is locked. */
bool pavo_rcxt_owned(const struct pavo_fifo_window *window,
		     const struct pavo_rcxt *rcxt, u32 id);

#endif /* PAVO_WINDOW_RCXT_H */
