// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * tce.c - the TCE tables of this machine: their memory, the allocation of entries, and keys.
 * Called by job.c, with the mutex of the job that has the slot; packets read entries under RCU
 * (pvo.c).
 *
 * Keys are used cyclically, from a random start that is chosen when the module is loaded. So
 * the PVO of an earlier buffer, job or load does not match the entries that are in its place
 * now.
 */
#include <linux/bitmap.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "jobs/tce.h"
#include "parameter.h"

#define KEYS ((1u << PAVO_PVO_KEY_BITS) - 1) /* keys are 1 to KEYS */
#define SMALL_SHIFT PAGE_SHIFT
#define MEDIUM_SHIFT 16
#define LARGE_SHIFT 24
/* Entries of a table that a PVO can name */
#define MOST_ENTRIES(shift) ((PAVO_PVO_OFFSET_MASK + 1) >> (shift))

static unsigned int job_slots = 5;
pavo_range_param(job_slots, job_slots, 1, PAVO_TCE_TABLES, 0444);
MODULE_PARM_DESC(job_slots, "jobs that may have TCE tables at a time (5)");

static unsigned int job_large_tables = 4;
pavo_range_param(job_large_tables, job_large_tables, 0, PAVO_TCE_TABLES, 0444);
MODULE_PARM_DESC(job_large_tables,
		 "tables of 64 KiB or 16 MiB pages for each job (4)");

static unsigned int job_small_tables = 2;
pavo_range_param(job_small_tables, job_small_tables, 1, PAVO_TCE_TABLES, 0444);
MODULE_PARM_DESC(job_small_tables, "tables of 4 KiB pages for each job (2)");

static unsigned int tce_large_entries = 1 << 16;
pavo_range_param(tce_large_entries, tce_large_entries, 1,
		 MOST_ENTRIES(LARGE_SHIFT), 0444);
MODULE_PARM_DESC(tce_large_entries,
		 "pages that a table of large pages can hold (65536)");

static unsigned int tce_small_entries = 1 << 20;
pavo_range_param(tce_small_entries, tce_small_entries, 1,
		 MOST_ENTRIES(SMALL_SHIFT), 0444);
MODULE_PARM_DESC(tce_small_entries,
		 "pages that a table of small pages can hold (1048576)");

/**
 * struct space - allocator of the entries of a table.
 * @tce:   its entries; NULL until the first is needed
 * @used:  bit map of entries in use
 * @in_use: their number
 * @next_key: key of the next buffer
 */
struct space {
	u64 *tce;
	unsigned long *used;
	u32 in_use;
	u32 next_key;
};

struct pavo_tce_table pavo_tce_tables[PAVO_TCE_TABLES];
static struct space spaces[PAVO_TCE_TABLES];

unsigned int pavo_tce_slots(void)
{
	return job_slots;
}

unsigned int pavo_tce_slot_tables(void)
{
	return job_large_tables + job_small_tables;
}

/* Large tables come first in a slot. */
static bool is_large(unsigned int index)
{
	return index < job_large_tables;
}

static u32 count_table_entries(unsigned int index)
{
	return is_large(index) ? tce_large_entries : tce_small_entries;
}

int pavo_tce_init(void)
{
	unsigned int i;

	if (job_slots > PAVO_TCE_TABLES / pavo_tce_slot_tables()) {
		pr_err("job_slots * (job_large_tables + job_small_tables): give %u at most\n",
		       PAVO_TCE_TABLES);
		return -EINVAL;
	}
	for (i = 0; i < PAVO_TCE_TABLES; i++)
		spaces[i].next_key = 1 + get_random_u32() % KEYS;
	return 0;
}

void pavo_tce_assign(unsigned int slot, u32 job)
{
	unsigned int i, table = slot * pavo_tce_slot_tables();

	for (i = 0; i < pavo_tce_slot_tables(); i++, table++) {
		pavo_tce_tables[table].shift = is_large(i) ? LARGE_SHIFT :
							     SMALL_SHIFT;
		/* Pairs with find_table() in pvo.c. */
		smp_store_release(&pavo_tce_tables[table].job, job);
	}
}

void pavo_tce_release(unsigned int slot)
{
	unsigned int first = slot * pavo_tce_slot_tables();
	unsigned int end = first + pavo_tce_slot_tables(), i;

	for (i = first; i < end; i++)
		WRITE_ONCE(pavo_tce_tables[i].job, 0);
	synchronize_rcu_expedited();
	for (i = first; i < end; i++) {
		WARN_ON(spaces[i].in_use);
		pavo_tce_tables[i].count = 0;
		pavo_tce_tables[i].tce = NULL;
		vfree(spaces[i].tce);
		kvfree(spaces[i].used);
		spaces[i].tce = NULL;
		spaces[i].used = NULL;
	}
}

/* Are these pages one aligned page of 1 << @shift bytes? */
static bool is_large_page(struct page **pages, u8 shift)
{
	unsigned long pfn = page_to_pfn(pages[0]);
	unsigned long i, n = 1ul << (shift - PAGE_SHIFT);

	if (!IS_ALIGNED(pfn, n))
		return false;
	for (i = 1; i < n; i++)
		if (page_to_pfn(pages[i]) != pfn + i)
			return false;
	return true;
}

/* A mapping may have millions of pages: every 2^16 of them other tasks may run. */
static void yield_at_page(unsigned long page)
{
	if (!(page & 0xffff))
		cond_resched();
}

/* Are all of the pages parts of whole pages of 1 << @shift bytes? */
static bool are_large_pages(struct page **pages, unsigned long npages, u8 shift)
{
	unsigned long i, n = 1ul << (shift - PAGE_SHIFT);

	if (npages % n)
		return false;
	for (i = 0; i < npages; i += n) {
		if (!is_large_page(pages + i, shift))
			return false;
		yield_at_page(i);
	}
	return true;
}

/*
 * Can the table take entries of that size? An empty large table changes its size if need be.
 * It stays empty for a grace period, so no reader with the old size finds an entry: one of
 * 64 KiB read as one of 16 MiB would let a peer that guesses the key access memory far beyond
 * it.
 */
static bool is_table_usable(unsigned int table, unsigned int index, u8 shift)
{
	struct pavo_tce_table *t = &pavo_tce_tables[table];
	bool small = shift == SMALL_SHIFT;

	if (is_large(index) == small)
		return false;
	if (t->shift == shift)
		return true;
	if (spaces[table].in_use)
		return false;
	WRITE_ONCE(t->shift, shift);
	synchronize_rcu_expedited();
	return true;
}

/* Allocate the memory of the table, if it has none yet. */
static int alloc_table(unsigned int table, u32 entries)
{
	struct space *space = &spaces[table];

	if (space->tce)
		return 0;
	space->used = kvcalloc(BITS_TO_LONGS(entries), sizeof(long),
			       GFP_KERNEL_ACCOUNT);
	space->tce = __vmalloc(array_size(entries, sizeof(*space->tce)),
			       GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!space->used || !space->tce) {
		kvfree(space->used);
		vfree(space->tce);
		space->used = NULL;
		space->tce = NULL;
		return -ENOMEM;
	}
	pavo_tce_tables[table].tce = space->tce;
	/* Pairs with find_entry() in pvo.c. */
	smp_store_release(&pavo_tce_tables[table].count, entries);
	return 0;
}

static u32 take_tce_key(struct space *space)
{
	u32 key = space->next_key;

	space->next_key = key == KEYS ? 1 : key + 1;
	return key;
}

/* Reserve the first @count free entries in a row. Return: 0; -ENOSPC. */
static int reserve_entries(unsigned int table, u32 count,
			   struct pavo_tce_run *run)
{
	struct pavo_tce_table *t = &pavo_tce_tables[table];
	struct space *space = &spaces[table];
	unsigned long at;

	at = bitmap_find_next_zero_area(space->used, t->count, 0, count, 0);
	if (at >= t->count)
		return -ENOSPC;
	bitmap_set(space->used, at, count);
	space->in_use += count;
	*run = (struct pavo_tce_run){
		.pvo = pavo_pvo_make(take_tce_key(space), table,
				     (u64)at << t->shift),
		.table = table,
		.first = at,
		.count = count,
		.shift = t->shift,
	};
	return 0;
}

static int place_entries(unsigned int slot, u8 shift, unsigned long count,
			 struct pavo_tce_run *run)
{
	unsigned int i, table = slot * pavo_tce_slot_tables();
	int err;

	for (i = 0; i < pavo_tce_slot_tables(); i++, table++) {
		if (count > count_table_entries(i) ||
		    !is_table_usable(table, i, shift))
			continue;
		err = alloc_table(table, count_table_entries(i));
		if (err)
			return err;
		if (!reserve_entries(table, count, run))
			return 0;
	}
	return -ENOSPC;
}

static void write_entries(const struct pavo_tce_run *run, struct page **pages)
{
	u64 *tce = spaces[run->table].tce + run->first;
	unsigned int order = run->shift - PAGE_SHIFT;
	u32 i;

	for (i = 0; i < run->count; i++) {
		WRITE_ONCE(tce[i],
			   pavo_tce_make(run->pvo,
					 page_to_phys(pages[(u64)i << order])));
		yield_at_page(i);
	}
}

int pavo_tce_map(unsigned int slot, struct page **pages, unsigned long npages,
		 struct pavo_tce_run *run)
{
	static const u8 shifts[] = { LARGE_SHIFT, MEDIUM_SHIFT, SMALL_SHIFT };
	int err = -ENOSPC;
	unsigned long i;

	for (i = 0; i < npages; i++) {
		if (page_to_phys(pages[i]) > PAVO_PVO_OFFSET_MASK)
			return -ERANGE;
		yield_at_page(i);
	}
	for (i = 0; err == -ENOSPC && i < ARRAY_SIZE(shifts); i++)
		if (are_large_pages(pages, npages, shifts[i]))
			err = place_entries(slot, shifts[i],
					    npages >> (shifts[i] - PAGE_SHIFT),
					    run);
	if (!err)
		write_entries(run, pages);
	return err;
}

void pavo_tce_unmap(const struct pavo_tce_run *run)
{
	struct space *space = &spaces[run->table];
	u32 i;

	for (i = 0; i < run->count; i++) {
		WRITE_ONCE(space->tce[run->first + i], 0);
		yield_at_page(i);
	}
	synchronize_rcu_expedited();
	bitmap_clear(space->used, run->first, run->count);
	space->in_use -= run->count;
}

struct pavo_tce_use pavo_tce_use(unsigned int slot, unsigned int index)
{
	unsigned int table = slot * pavo_tce_slot_tables() + index;

	return (struct pavo_tce_use){
		.table = table,
		.shift = pavo_tce_tables[table].shift,
		.entries = count_table_entries(index),
		.used = spaces[table].in_use,
	};
}
