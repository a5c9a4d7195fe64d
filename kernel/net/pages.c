// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pages.c - pages that payload is copied into, a ring of them for each CPU.
 *
 * A packet has a reference to its page. When the ring comes round to a page that no packet
 * has any more, the page is used again, so most packets cost no page allocation. It comes round
 * early if the last page that was taken is free, as then all are: pages that were used a moment
 * ago are in the CPU's caches. A ring has as many pages as a QP may have packets in flight. If a
 * page is still in use, a new one takes its place.
 */
#include <linux/mm.h>
#include <linux/percpu.h>
#include "net_private.h"

#define PAGES 128

struct ring {
	struct page *page[PAGES];
	unsigned int next;
};

static struct ring __percpu *rings;

int pavo_pages_init(void)
{
	rings = alloc_percpu(struct ring);
	return rings ? 0 : -ENOMEM;
}

void pavo_pages_exit(void)
{
	unsigned int cpu, i;

	for_each_possible_cpu(cpu) {
		struct ring *ring = per_cpu_ptr(rings, cpu);

		for (i = 0; i < PAGES; i++)
			if (ring->page[i])
				put_page(ring->page[i]);
	}
	free_percpu(rings);
}

/* Has no packet the page any more? Dropping its reference was a full barrier. */
static bool is_free(struct page *page)
{
	return page && page_ref_count(page) == 1;
}

struct page *pavo_page_take(void)
{
	struct ring *ring = this_cpu_ptr(rings);
	struct page **place, *page;

	if (ring->next == PAGES ||
	    (ring->next && is_free(ring->page[ring->next - 1])))
		ring->next = 0;
	place = &ring->page[ring->next++];
	page = *place;
	if (!is_free(page)) {
		page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		if (unlikely(!page))
			return NULL;
		if (*place)
			put_page(*place);
		*place = page;
	}
	get_page(page);
	return page;
}
