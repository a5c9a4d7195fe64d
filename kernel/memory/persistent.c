// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * persistent.c - which pages are persistent memory, and how bytes get there (persistent.h).
 */
#include <linux/highmem.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include "memory/persistent.h"

/* Let other tasks run after every so many pages of a range. */
#define PAGES_BEFORE_RESCHED 4096

static bool find_memory(phys_addr_t at, unsigned long kind)
{
	return region_intersects(at, PAGE_SIZE, IORESOURCE_MEM, kind) ==
	       REGION_INTERSECTS;
}

bool pavo_page_is_persistent(struct page *page)
{
	phys_addr_t at = page_to_phys(page);

	return is_zone_device_page(page) &&
	       (find_memory(at, IORES_DESC_PERSISTENT_MEMORY) ||
		find_memory(at, IORES_DESC_PERSISTENT_MEMORY_LEGACY));
}

bool pavo_pages_are_persistent(struct page *const *pages, unsigned long count)
{
	unsigned long i;

	for (i = 0; i < count; i++) {
		if (!pavo_page_is_persistent(pages[i]))
			return false;
		if (i % PAGES_BEFORE_RESCHED == 0)
			cond_resched();
	}
	return true;
}

void pavo_write_back(struct page *page, unsigned int offset, unsigned int len)
{
	void *at = kmap_local_page(page);

	arch_wb_cache_pmem(at + offset, len);
	/* Another CPU's barrier does not wait for what this one writes back. */
	pmem_wmb();
	kunmap_local(at);
}
