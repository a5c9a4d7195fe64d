/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rhashtable.h - tables are small: all objects are in one list, the last one first. A table takes
 * no memory, so it never has to grow.
 */
#ifndef PAVO_SHIM_RHASHTABLE_H
#define PAVO_SHIM_RHASHTABLE_H

#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

struct rhash_head {
	struct rhash_head *next;
};

struct rhlist_head {
	struct rhash_head node;
};

struct rhashtable_compare_arg {
	struct rhashtable *ht;
	const void *key;
};

struct rhashtable_params {
	u16 key_len;
	u16 head_offset;
	bool automatic_shrinking;
	u32 (*hashfn)(const void *key, u32 len, u32 seed);
	u32 (*obj_hashfn)(const void *object, u32 len, u32 seed);
	int (*obj_cmpfn)(struct rhashtable_compare_arg *arg,
			 const void *object);
};

struct rhashtable {
	const struct rhashtable_params *tbl; /* NULL: there is no table */
	struct rhash_head *first;
	atomic_t nelems;
	struct work_struct run_work;
};

int rhashtable_init(struct rhashtable *ht,
		    const struct rhashtable_params *params);
void rhashtable_destroy(struct rhashtable *ht);

/* These check that the objects are where the caller says, and that both hashes agree. */
void *rhashtable_lookup_fast(struct rhashtable *ht, const void *key,
			     struct rhashtable_params params);
int rhashtable_lookup_insert_key(struct rhashtable *ht, const void *key,
				 struct rhash_head *head,
				 struct rhashtable_params params);
void rhashtable_remove_fast(struct rhashtable *ht, struct rhash_head *head,
			    struct rhashtable_params params);
void rhashtable_replace_fast(struct rhashtable *ht, struct rhash_head *from,
			     struct rhash_head *to,
			     struct rhashtable_params params);

#endif /* PAVO_SHIM_RHASHTABLE_H */
