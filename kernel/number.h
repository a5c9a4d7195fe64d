/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * number.h - numbers that a peer has to be told: of queue pairs, shared receive queues
 * and keys. They are drawn at random, so that the
 * sender of a forged packet has to guess.
 */
#ifndef PAVO_NUMBER_H
#define PAVO_NUMBER_H

#include <linux/types.h>

struct xarray;

/**
 * pavo_number_reserve - draw a free number.
 * @xa:     what is numbered; made with XA_FLAGS_ALLOC
 * @low, @high: range of the numbers, inclusive
 * @number: the result. It is reserved in @xa until an entry is stored or it is erased;
 *          xa_load() finds nothing there.
 *
 * Context: process; sleeps.
 * Return: 0; -EBUSY: all are taken; -ENOMEM.
 */
int pavo_number_reserve(struct xarray *xa, u32 low, u32 high, u32 *number);

/**
 * pavo_numbers_end - the table goes; warns of what is in it still, reserved or stored.
 * @xa: what was numbered
 *
 * xa_empty() would not do: an insert that lacks memory for its second node keeps the
 * first one, without any entry, until the table is destroyed.
 * Context: the table has no users any more.
 */
void pavo_numbers_end(struct xarray *xa);

#endif /* PAVO_NUMBER_H */
