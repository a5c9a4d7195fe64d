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

struct pavo_rcxt;
struct pavo_window_tasks;

/**
 * struct pavo_rcxt_pool - of an adapter.
 * @all:   @count of them, NULL until the first is taken
 * @key:   part of their numbers; random at first, then counts @recoveries
 * @users: how many each user has, by its number; those that have any
 * @free:  handed out at its head, given back at its tail, so that a number comes back
 *         only after all others had their turn
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

/**
 * struct pavo_windows - windows of an adapter.
 * @table:   number -> struct pavo_fifo_window, read under RCU
 * @next:    number that is tried first for a new one
 * @active:  vector of windows that have frames to send, a bit for each number
 * @most:    bits of it
 * @cursor:  where the round robin goes on
 * @workers: transmit workers at work, each for one turn
 * @manager: work manager: hands out what no worker was free for, or the interface
 *           had no room for
 * @rcxts:   RDMA contexts
 * @tasks:   the live view: who is at work, by CPU
 * @closing: pages of windows that are closed and not freed yet
 * @retired: routes of windows that were replaced and not freed yet
 */
struct pavo_windows {
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
