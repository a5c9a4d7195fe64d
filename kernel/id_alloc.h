/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * id_alloc.h - numbers that a peer has to be told: of queue pairs, shared receive queues
 * and keys. They are drawn at random, so the sender of a forged packet has to guess.
 */
#ifndef PAVO_ID_ALLOC_H
#define PAVO_ID_ALLOC_H

#include <linux/types.h>

struct xarray;

/**
 * pavo_id_reserve - draw a free number.
 * @xa:     table of the objects; made with XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH, for the lock
 *          is let go of the same way while memory is waited for
 * @low:    lowest number
 * @high:   highest number
 * @id: the result. It is reserved in @xa until an entry is stored or it is erased;
 *          xa_load() finds nothing there.
 *
 * Context: process; sleeps.
 * Return: 0; -EBUSY: all are taken; -ENOMEM.
 */
int pavo_id_reserve(struct xarray *xa, u32 low, u32 high, u32 *id);

/**
 * pavo_ids_destroy - destroy a table, and warn if a number is still reserved or stored.
 * @xa: the table
 *
 * xa_empty() would not do: an insert that lacks memory for its second node keeps the
 * first one, without any entry, until the table is destroyed.
 * Context: the table has no users any more.
 */
void pavo_ids_destroy(struct xarray *xa);

#endif /* PAVO_ID_ALLOC_H */
