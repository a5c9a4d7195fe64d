// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * persistent_memory.c - persistent memory of the engine: a range of the process's memory, as the
 * CPU sees it, and what a power failure would leave of it.
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/libnvdimm.h>
#include <linux/memremap.h>
#include <linux/mm.h>

#include "persistent_memory.h"
#include "runtime.h"

/* Bytes on their way from the caches. */
struct leaving {
	char *at;
	size_t size;
};

static char *memory, *left;
static size_t size;
static struct leaving leaving[8];
static unsigned int count;

void engine_set_persistent(void *start, void *image, size_t length)
{
	memory = start;
	left = image;
	size = length;
	count = 0;
}

static bool lies_inside(const void *at, size_t n)
{
	return (const char *)at >= memory &&
	       (const char *)at + n <= memory + size;
}

bool is_zone_device_page(const struct page *page)
{
	return lies_inside(page_address(page), PAGE_SIZE);
}

int region_intersects(phys_addr_t start, size_t n, unsigned long flags,
		      unsigned long desc)
{
	return desc == IORES_DESC_PERSISTENT_MEMORY &&
			       lies_inside((void *)(uintptr_t)start, n) ?
		       REGION_INTERSECTS :
		       REGION_DISJOINT;
}

void arch_wb_cache_pmem(void *addr, size_t n)
{
	ENGINE_MUST(lies_inside(addr, n) && count < ARRAY_SIZE(leaving));
	leaving[count++] = (struct leaving){addr, n};
}

void pmem_wmb(void)
{
	while (count) {
		const struct leaving *last = &leaving[--count];

		memcpy(left + (last->at - memory), last->at, last->size);
	}
}
