/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * adapter_windows.h - what window/ keeps of an adapter: its windows, and RDMA contexts.
 */
#ifndef PAVO_ADAPTER_WINDOWS_H
#define PAVO_ADAPTER_WINDOWS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "accounting.h"

struct pavo_rcxt;
struct pavo_window_tasks;

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

/**
 * struct pavo_windows - windows of an adapter.
 * @shares:  number of windows that each user has
 * @table:   id -> struct pavo_fifo_window, read under RCU
 * @next:    id to try first for a new window
 * @active:  bit map of windows with something to send, by id
 * @most:    number of bits in @active
 * @cursor:  id of the window at which the round robin goes on
 * @workers: transmit workers at work, each for one quantum of one window
 * @manager: work manager: sends what found no free worker, or a full queue of the interface
 * @rcxts:   pool of rCxts
 * @tasks:   the live view: the windows that each CPU is working for
 * @closing: pages of windows that are closed and not freed yet
 * @retired: routes that were replaced and are not freed yet
 */
struct pavo_windows {
	struct pavo_shares shares;
	struct xarray table;
	u32 next;
	unsigned long *active;
	u32 most;
	u32 cursor;
	atomic_t workers;
	struct delayed_work manager;
	struct pavo_rcxt_pool rcxts;
	struct pavo_window_tasks __percpu *tasks;
	atomic_long_t closing;
	atomic_t retired;
};

#endif /* PAVO_ADAPTER_WINDOWS_H */
