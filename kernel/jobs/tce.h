/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tce.h - the TCE tables of this machine, and their entries (sources.md#windows-tce).
 *
 * All adapters use the same tables. Each job slot has some large and some small tables.
 * Small tables have pages of 4 KiB, large ones of 64 KiB or of 16 MiB: the first entry of an
 * empty large table decides.
 */
#ifndef PAVO_TCE_H
#define PAVO_TCE_H

#include <linux/types.h>
#include "jobs/pvo.h"

struct page;

/** The tables; entries may be read under RCU. */
extern struct pavo_tce_table pavo_tce_tables[PAVO_TCE_TABLES];

/**
 * struct pavo_tce_run - the consecutive entries of one buffer.
 * @pvo:   PVO of the first byte of the first page
 * @table: their table
 * @first: index of the first entry
 * @count: number of entries
 * @shift: page size is 1 << shift
 */
struct pavo_tce_run {
	u64 pvo;
	u32 table;
	u32 first;
	u32 count;
	u8 shift;
};

/**
 * struct pavo_tce_use - the use of a table.
 * @table:   its number
 * @shift:   page size is 1 << shift
 * @entries: entries that it can hold
 * @used:    entries in use
 */
struct pavo_tce_use {
	u32 table;
	u32 shift;
	u32 entries;
	u32 used;
};

/** pavo_tce_init - check the parameters. Return: 0; -EINVAL: too many tables or pages. */
int pavo_tce_init(void);

/** pavo_tce_slots - number of job slots; each has pavo_tce_slot_tables() tables. */
unsigned int pavo_tce_slots(void);
unsigned int pavo_tce_slot_tables(void);

/** pavo_tce_assign - assign the tables of @slot to job @job. */
void pavo_tce_assign(unsigned int slot, u32 job);

/**
 * pavo_tce_release - end the assignment of the tables of @slot and free their memory. Called
 * when no entry is in use any more. Sleeps.
 * @slot: the job slot
 */
void pavo_tce_release(unsigned int slot);

/**
 * pavo_tce_map - make entries for pages, of the largest page size that fits all of them.
 * @slot:   the job slot
 * @pages:  the pages
 * @npages: how many
 * @run:    set; the entries
 *
 * A large page must lie whole in the buffer, at a multiple of its size in real memory. So
 * entries never let a peer reach beyond the pages that were mapped.
 *
 * Return: 0; -ENOSPC: no table of @slot has enough free entries in a row; -ERANGE: the address
 * of a page needs more than 42 bits; -ENOMEM.
 *
 * Context: one at a time for each slot; sleeps.
 */
int pavo_tce_map(unsigned int slot, struct page **pages, unsigned long npages,
		 struct pavo_tce_run *run);

/**
 * pavo_tce_unmap - balances pavo_tce_map(). When it returns, no packet uses the entries.
 * @run: the entries
 *
 * Context: as pavo_tce_map().
 */
void pavo_tce_unmap(const struct pavo_tce_run *run);

/** pavo_tce_use - report the use of table @index of @slot. Context: as pavo_tce_map(). */
struct pavo_tce_use pavo_tce_use(unsigned int slot, unsigned int index);

#endif /* PAVO_TCE_H */
