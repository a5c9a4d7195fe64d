/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * key_table.h - state of memory/ for an adapter: its keys, and the remote key manager.
 */
#ifndef PAVO_KEY_TABLE_H
#define PAVO_KEY_TABLE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "lookup_cache.h"

/**
 * struct pavo_key_table - keys of one adapter.
 * @hash:   struct pavo_region by index (upper 24 bits of a key); read under RCU
 * @lock:   held for every change of a key's meaning, and protects the bindings of memory windows
 * @cache:  lookup cache of @hash
 *
 * Indices are random, so each of them would have a node of its own in an xarray.
 */
struct pavo_key_table {
	struct rhashtable hash;
	spinlock_t lock; /* meanings of keys, bindings of memory windows */
	struct pavo_lookup_cache cache;
};

/**
 * struct pavo_rkm - the remote key manager of an adapter.
 * @mutex:    held during a walk, so that no QP is removed from a list while the walker sleeps
 * @all:      every QP, under @mutex
 * @list_lock: lists of PDs; leaf
 * @lock:     @requests; leaf
 * @requests: those that no walk has taken yet; one walk serves several of one PD
 * @work:     walks for @requests
 */
struct pavo_rkm {
	struct mutex mutex; /* walks, and removals from lists */
	struct list_head all;
	spinlock_t list_lock; /* lists of PDs */
	spinlock_t lock; /* requests */
	struct list_head requests;
	struct work_struct work;
};

#endif /* PAVO_KEY_TABLE_H */
