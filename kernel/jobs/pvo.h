/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pvo.h - Protocol Virtual Offsets and Translation Control Entries: their bits,
 * and what a PVO means (sources.md#windows-tce, tables I and II).
 *
 * A PVO names a byte of a mapped buffer to any node:
 *
 *     63            47 46   42 41                                  0
 *     | region key 17 | table 5 |        virtual offset 42         |
 *
 * The virtual offset counts bytes from the start of a table, so a byte offset can be added to
 * a PVO. A TCE is one page of a table:
 *
 *     63                 42 41                                     0
 *     |     TCE key 22     |             real address 42           |
 *
 * The TCE key is the region key joined with the number of the table: bits 63 to 42
 * of a PVO and a TCE are equal if they belong together. A TCE of 0 is no page; no
 * buffer has key 0. Pure.
 */
#ifndef PAVO_PVO_H
#define PAVO_PVO_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

#define PAVO_PVO_KEY_BITS 17
#define PAVO_PVO_TABLE_BITS 5
#define PAVO_PVO_OFFSET_BITS 42

/** Tables that the five bits of a PVO can name. */
#define PAVO_TCE_TABLES 32
#define PAVO_PVO_OFFSET_MASK ((1ull << PAVO_PVO_OFFSET_BITS) - 1)

/**
 * struct pavo_tce_table - pages of one size for one job.
 * @tce:   the entries
 * @count: how many there are
 * @shift: page size is 1 << shift; 12, 16 or 24. Changes only while the table is
 *         empty, and a grace period before its next entry. Readers read @shift before
 *         an entry, so they never take an entry for one of another size.
 * @job:   JOBID of the job that has it; 0: no job has it, and no entry is valid
 */
struct pavo_tce_table {
	const u64 *tce;
	u32 count;
	u8 shift;
	u32 job;
};

/**
 * struct pavo_pvo_place - where the byte of a PVO is.
 * @real: its real address
 * @left: bytes from there to the end of its page
 */
struct pavo_pvo_place {
	u64 real;
	u64 left;
};

/** pavo_pvo_make - the PVO of byte @offset of table @table, with region key @key. */
static inline u64 pavo_pvo_make(u32 key, u32 table, u64 offset)
{
	return (u64)key << (PAVO_PVO_TABLE_BITS + PAVO_PVO_OFFSET_BITS) |
	       (u64)table << PAVO_PVO_OFFSET_BITS | offset;
}

static inline u32 pavo_pvo_get_table(u64 pvo)
{
	return (pvo >> PAVO_PVO_OFFSET_BITS) & (PAVO_TCE_TABLES - 1);
}

static inline u64 pavo_pvo_get_offset(u64 pvo)
{
	return pvo & PAVO_PVO_OFFSET_MASK;
}

/** pavo_tce_get_key - the 22 bits that say to which buffer a PVO or TCE belongs. */
static inline u32 pavo_tce_get_key(u64 pvo_or_tce)
{
	return pvo_or_tce >> PAVO_PVO_OFFSET_BITS;
}

/** pavo_tce_make - the TCE of a page of the buffer of @pvo, at real address @real. */
static inline u64 pavo_tce_make(u64 pvo, u64 real)
{
	return (pvo & ~PAVO_PVO_OFFSET_MASK) | real;
}

static inline u64 pavo_tce_get_real(u64 tce)
{
	return tce & PAVO_PVO_OFFSET_MASK;
}

/**
 * pavo_pvo_translate - translate @pvo to a real address.
 * @tables: PAVO_TCE_TABLES of them
 * @job:    JOBID of the window; not 0
 * @pvo:    the PVO
 * @place:  set if the result is PAVO_PVO_OK
 *
 * Entries may change meanwhile; each is read once.
 */
enum pavo_pvo_result pavo_pvo_translate(const struct pavo_tce_table *tables,
					u32 job, u64 pvo,
					struct pavo_pvo_place *place);

/**
 * pavo_pvo_check - check that a window of a job may access a range. Protection is per page:
 * bytes after a buffer in its last page count as part of it.
 * @tables: PAVO_TCE_TABLES of them
 * @job:    JOBID
 * @pvo:    PVO of the first byte
 * @length: bytes; 0 checks the byte at @pvo
 */
enum pavo_pvo_result pavo_pvo_check(const struct pavo_tce_table *tables,
				    u32 job, u64 pvo, u64 length);

#endif /* PAVO_PVO_H */
