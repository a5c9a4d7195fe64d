/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * persistent.h - memory that keeps its bytes without power.
 *
 * A region with the right to be flushed for persistence (IBA 1.6) consists of such memory alone.
 * Bytes that the adapter writes to it leave the caches of the CPU at once, a packet at a time, so a
 * flush has nothing left to walk over, and needs no more time for a longer range.
 */
#ifndef PAVO_PERSISTENT_H
#define PAVO_PERSISTENT_H

#include <linux/bits.h>
#include <linux/types.h>

struct page;

/*
 * In the access of a region and of the memory windows bound to it: its memory is persistent, and
 * was asked for as such. Verbs have no right with this bit.
 */
#define PAVO_ACCESS_PERSISTENT BIT(19)

/**
 * pavo_page_is_persistent - true if a page of a process keeps its bytes without power.
 * @page: the page; the caller keeps it from going
 *
 * Of a device or a file without a page cache (DAX) on a persistent memory device, or on a range
 * that the boot loader or memmap=SIZE!ADDRESS names so. Persistent memory that the kernel uses as
 * ordinary memory is not: it gives the page to anyone at the next boot.
 *
 * Context: any but hard interrupts.
 */
bool pavo_page_is_persistent(struct page *page);

/**
 * pavo_pages_are_persistent - true if all of some pages do.
 * @pages: the pages
 * @count: of them
 *
 * Context: process; sleeps.
 */
bool pavo_pages_are_persistent(struct page *const *pages, unsigned long count);

/**
 * pavo_write_back - have bytes that were written leave the caches of this CPU.
 * @page:   a page of persistent memory
 * @offset: of the first byte
 * @len:    bytes, in this page
 *
 * They are persistent when it returns, whichever CPU executes the flush.
 */
void pavo_write_back(struct page *page, unsigned int offset, unsigned int len);

#endif /* PAVO_PERSISTENT_H */
