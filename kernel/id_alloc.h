/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * id_alloc.h - id allocator for QPNs and SRQNs. Ids are drawn at random, so the sender of a
 * forged packet has to guess them.
 */
#ifndef PAVO_ID_ALLOC_H
#define PAVO_ID_ALLOC_H

#include <linux/types.h>

struct xarray;

/**
 * pavo_id_reserve - reserve a random free id.
 * @xa:   table of the objects, with XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH
 * @low:  lowest id
 * @high: highest id
 * @id:   set. The id is reserved in @xa until an entry is stored or erased; xa_load() returns NULL
 *        for it
 *
 * Context: process; sleeps.
 * Return: 0; -EBUSY: all ids are in use; -ENOMEM.
 */
int pavo_id_reserve(struct xarray *xa, u32 low, u32 high, u32 *id);

/**
 * pavo_ids_destroy - destroy a table, and warn if an id is still reserved or stored.
 * @xa: the table, without users
 *
 * xa_empty() is not enough: an insert without memory for its second node keeps the first one,
 * without any entry, until the table is destroyed.
 */
void pavo_ids_destroy(struct xarray *xa);

#endif /* PAVO_ID_ALLOC_H */
