// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* pvo.c - translates Protocol Virtual Offsets; see pvo.h. Pure. */
#include <asm/barrier.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/nospec.h> /* needs bug.h on arm64 */
#include "pvo.h"

/* The table that @pvo names, if the job has it. */
static enum pavo_pvo_result find_table(const struct pavo_tce_table *tables,
				       u32 job, u64 pvo,
				       const struct pavo_tce_table **found)
{
	const struct pavo_tce_table *table = &tables[pavo_pvo_get_table(pvo)];
	/* Pairs with the release in pavo_tce_assign(): a table with a job is complete. */
	u32 owner = smp_load_acquire(&table->job);

	if (!owner)
		return PAVO_PVO_TABLE;
	if (owner != job)
		return PAVO_PVO_JOB;
	*found = table;
	return PAVO_PVO_OK;
}

/* The entry of page @index, if it is of the buffer of @pvo. */
static enum pavo_pvo_result find_entry(const struct pavo_tce_table *table,
				       u64 index, u64 pvo, u64 *tce)
{
	/* Pairs with alloc_table() in tce.c, which sets the entries before their count. */
	u64 count = smp_load_acquire(&table->count);

	if (index >= count)
		return PAVO_PVO_RANGE;
	/* The index comes from a packet: a CPU may speculate past the check. */
	index = array_index_nospec(index, count);
	*tce = READ_ONCE(table->tce[index]);
	if (!*tce || pavo_tce_get_key(*tce) != pavo_tce_get_key(pvo))
		return PAVO_PVO_KEY;
	return PAVO_PVO_OK;
}

enum pavo_pvo_result pavo_pvo_translate(const struct pavo_tce_table *tables,
					u32 job, u64 pvo,
					struct pavo_pvo_place *place)
{
	u64 offset = pavo_pvo_get_offset(pvo);
	const struct pavo_tce_table *table;
	enum pavo_pvo_result result;
	u64 tce, in_page;
	u8 shift;

	result = find_table(tables, job, pvo, &table);
	if (result)
		return result;
	shift = READ_ONCE(table->shift);
	result = find_entry(table, offset >> shift, pvo, &tce);
	if (result)
		return result;
	in_page = offset & ((1ull << shift) - 1);
	place->real = pavo_tce_get_real(tce) + in_page;
	place->left = (1ull << shift) - in_page;
	return PAVO_PVO_OK;
}

enum pavo_pvo_result pavo_pvo_check(const struct pavo_tce_table *tables,
				    u32 job, u64 pvo, u64 length)
{
	u64 offset = pavo_pvo_get_offset(pvo);
	const struct pavo_tce_table *table;
	enum pavo_pvo_result result;
	u64 index, last, tce;
	u8 shift;

	result = find_table(tables, job, pvo, &table);
	if (result)
		return result;
	shift = READ_ONCE(table->shift);
	if (length > PAVO_PVO_OFFSET_MASK + 1 - offset)
		return PAVO_PVO_RANGE;
	index = offset >> shift;
	last = (offset + (length ? length - 1 : 0)) >> shift;
	/* Check first: the size of the table bounds the loop. */
	if (last >= smp_load_acquire(&table->count))
		return PAVO_PVO_RANGE;
	for (; index <= last; index++) {
		result = find_entry(table, index, pvo, &tce);
		if (result)
			return result;
	}
	return PAVO_PVO_OK;
}
