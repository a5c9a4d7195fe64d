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
 * @count: how many they are
 * @key:   part of their numbers; random at first, then counts up with each recovery
 * @recoveries: number of recoveries
 * @shares: how many each user has
 * @free:  free rCxts. Taken from its head and given back at its tail, so that a number comes
 *         back only after all other free ones had their turn
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
 * @shares:  how many each user has
 * @table:   number -> struct pavo_fifo_window, read under RCU
 * @next:    number to try first for a new window
 * @active:  vector of windows with something to send, a bit for each number
 * @most:    number of bits in @active
 * @cursor:  number of the window at which the round robin goes on
 * @workers: transmit workers at work, each for one turn
 * @manager: work manager: sends what found no free worker, or no room at the interface
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
