// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * id_alloc.c - allocates random ids; see id_alloc.h. Called by qp/ and verbs/ when an
 * object is made, and by the owners of tables when a table is destroyed.
 */
#include <linux/random.h>
#include <linux/xarray.h>
#include "id_alloc.h"

/* Draws before the next free id is taken; only nearly full tables need so many. */
#define DRAWS 32

static u32 draw_id(u32 low, u32 high)
{
	return low + ((u64)get_random_u32() * (high - low + 1) >> 32);
}

int pavo_id_reserve(struct xarray *xa, u32 low, u32 high, u32 *id)
{
	unsigned int i;
	u32 next;
	int err;

	for (i = 0; i < DRAWS; i++) {
		*id = draw_id(low, high);
		err = xa_insert_bh(xa, *id, NULL, GFP_KERNEL);
		if (err != -EBUSY)
			return err;
	}
	next = draw_id(low, high);
	err = xa_alloc_cyclic_bh(xa, id, NULL, XA_LIMIT(low, high), &next,
				 GFP_KERNEL);
	return err < 0 ? err : 0;
}

/* True if an id is reserved or stored. xas_find() does not skip reserved ones. */
static bool has_ids(struct xarray *xa)
{
	XA_STATE(xas, xa, 0);
	void *entry;

	rcu_read_lock();
	do {
		entry = xas_find(&xas, ULONG_MAX);
	} while (xa_is_retry(entry));
	rcu_read_unlock();
	return entry;
}

void pavo_ids_destroy(struct xarray *xa)
{
	WARN_ON(has_ids(xa));
	xa_destroy(xa);
}
