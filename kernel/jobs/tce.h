/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tce.h - the TCE tables of this machine: which there are, and their entries
 * (sources.md#windows-tce).
 *
 * All adapters use the same tables. They belong to job slots, a few of large and
 * a few of small pages to each. Small tables have pages of 4 KiB, large ones of
 * 64 KiB or of 16 MiB: an empty one takes the size that is first asked of it.
 */
#ifndef PAVO_TCE_H
#define PAVO_TCE_H

#include <linux/types.h>
#include "jobs/pvo.h"

struct page;

/** The tables; entries may be read under RCU. */
extern struct pavo_tce_table pavo_tce_tables[PAVO_TCE_TABLES];

/**
 * struct pavo_tce_run - entries of one region, side by side.
 * @pvo:   of the first byte of the first page
 * @table: where they are, @count of them from @first on
 * @shift: page size is 1 << shift
 */
struct pavo_tce_run {
	u64 pvo;
	u32 table;
	u32 first;
	u32 count;
	u8 shift;
};

/** struct pavo_tce_use - how full a table is. */
struct pavo_tce_use {
	u32 table;
	u32 shift;
	u32 entries;
	u32 used;
};

/** pavo_tce_init - Return: -EINVAL if the parameters ask for more than 32 tables. */
int pavo_tce_init(void);

/** pavo_tce_slots - job slots there are; each has pavo_tce_slot_tables() tables. */
unsigned int pavo_tce_slots(void);
unsigned int pavo_tce_slot_tables(void);

/** pavo_tce_give - the tables of @slot belong to job @job from now on. */
void pavo_tce_give(unsigned int slot, u32 job);

/**
 * pavo_tce_take - they belong to no job, and their memory is freed. There are no
 * entries in them any more. Sleeps.
 */
void pavo_tce_take(unsigned int slot);

/**
 * pavo_tce_map - make entries for pages, of the largest size that they come in.
 *
 * A large page is one that lies whole in the region, at a multiple of its size in
 * real memory: entries never let anybody reach beyond what was asked for.
 *
 * Return: 0; -ENOSPC: no table of @slot has room; -ERANGE: a page lies behind
 * what 42 bits can address; -ENOMEM.
 *
 * Context: one at a time for each slot; sleeps.
 */
int pavo_tce_map(unsigned int slot, struct page **pages, unsigned long npages,
		 struct pavo_tce_run *run);

/**
 * pavo_tce_unmap - undo that. When it returns no packet uses the entries. Context: as
 * pavo_tce_map().
 */
void pavo_tce_unmap(const struct pavo_tce_run *run);

/** pavo_tce_use - of table @index of @slot. Context: as pavo_tce_map(). */
struct pavo_tce_use pavo_tce_use(unsigned int slot, unsigned int index);

#endif /* PAVO_TCE_H */
