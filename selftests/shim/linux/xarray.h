/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * xarray.h - an array of pairs of index and entry, searched from the first on. An index may be
 * reserved: look-ups do not find its entry.
 */
#ifndef PAVO_SHIM_XARRAY_H
#define PAVO_SHIM_XARRAY_H

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

struct engine_pair {
	unsigned long index;
	void *entry;
};

struct xarray {
	spinlock_t xa_lock;
	struct engine_pair *pairs;
	unsigned int count;
	unsigned int size;
};

struct xa_limit {
	u32 low;
	u32 high;
};

struct xa_state {
	struct xarray *xa;
};

#define XA_FLAGS_ALLOC 1u
#define XA_FLAGS_LOCK_BH 2u
#define XA_FLAGS_ACCOUNT 4u
#define XA_FLAGS_LOCK_IRQ 8u
#define XA_LIMIT(from, to) ((struct xa_limit){.low = (from), .high = (to)})
#define XA_STATE(name, table, from) struct xa_state name = {.xa = (table)}

void xa_init_flags(struct xarray *xa, unsigned int flags);
void xa_destroy(struct xarray *xa);
/* These take the lock, except __xa_store() and __xa_erase(), whose caller holds it. */
void *xa_load(struct xarray *xa, unsigned long index);
int xa_insert(struct xarray *xa, unsigned long index, void *entry, gfp_t flags);
void *xa_store(struct xarray *xa, unsigned long index, void *entry,
	       gfp_t flags);
void *__xa_store(struct xarray *xa, unsigned long index, void *entry,
		 gfp_t flags);
void *xa_erase(struct xarray *xa, unsigned long index);
void *__xa_erase(struct xarray *xa, unsigned long index);
/* The entry of the lowest index from *@index to @last, which *@index is set to. */
#define XA_PRESENT 0u
void *xa_find(struct xarray *xa, unsigned long *index, unsigned long last,
	      unsigned int filter);
int xa_alloc_cyclic_bh(struct xarray *xa, u32 *index, void *entry,
		       struct xa_limit limit, u32 *next, gfp_t flags);
/* The first entry, reserved or not. */
void *xas_find(struct xa_state *state, unsigned long last);

/* An integer as an entry. */
static inline void *xa_mk_value(unsigned long value)
{
	return (void *)(value << 1 | 1);
}

static inline unsigned long xa_to_value(const void *entry)
{
	return (unsigned long)entry >> 1;
}

static inline bool xa_empty(const struct xarray *xa)
{
	return !xa->count;
}

static inline int xa_err(const void *entry)
{
	return IS_ERR(entry) ? (int)PTR_ERR(entry) : 0;
}

#define xa_insert_bh xa_insert
#define xa_store_bh xa_store
#define xa_erase_bh xa_erase
#define xa_lock_bh(xa) spin_lock(&(xa)->xa_lock)
#define xa_unlock_bh(xa) spin_unlock(&(xa)->xa_lock)
#define xa_lock_irqsave(xa, flags) spin_lock_irqsave(&(xa)->xa_lock, flags)
#define xa_unlock_irqrestore(xa, flags) \
	spin_unlock_irqrestore(&(xa)->xa_lock, flags)
#define xa_is_retry(entry) false
#define xa_for_each(xa, at, found)                                            \
	for (unsigned int _i = 0;                                             \
	     _i < (xa)->count &&                                              \
	     ((at) = (xa)->pairs[_i].index, (found) = xa_load(xa, at), true); \
	     _i++)                                                            \
		if (found)

#endif /* PAVO_SHIM_XARRAY_H */
