/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * key_table.h - what memory/ keeps of an adapter: its keys, and the manager of those in use.
 */
#ifndef PAVO_KEY_TABLE_H
#define PAVO_KEY_TABLE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

/**
 * struct pavo_key_table - keys of one adapter.
 * @xa:     index (upper 24 bits of a key) -> struct pavo_region; read under
 *          RCU. Its lock (BH) is held for every change of what a key means,
 *          and protects the bindings of windows.
 */
struct pavo_key_table {
	struct xarray xa;
};

/**
 * struct pavo_rkm - the manager of an adapter.
 * @mutex:    held during a walk, which thus may rest: nothing leaves a list
 * @all:      every QP, under @mutex
 * @list_lock: lists of PDs; inside of it is none
 * @lock:     @requests; leaf
 * @requests: that no walk has taken up yet; one walk serves all of a PD
 * @work:     walks
 */
struct pavo_rkm {
	struct mutex mutex; /* walks, and what leaves a list */
	struct list_head all;
	spinlock_t list_lock; /* lists of PDs */
	spinlock_t lock; /* requests */
	struct list_head requests;
	struct work_struct work;
};

#endif /* PAVO_KEY_TABLE_H */
