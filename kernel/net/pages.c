// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pages.c - pages that payload is copied into, a ring of them for each CPU.
 *
 * A packet has a reference to its page. When the ring comes round to a page that no packet
 * has any more, the page is used again, so most packets cost no page allocation. A ring has as
 * many pages as a QP may have packets in flight. If a page is still in use, a new one takes its
 * place.
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

struct page *pavo_page_take(void)
{
	struct ring *ring = this_cpu_ptr(rings);
	struct page **place = &ring->page[ring->next];
	struct page *page = *place;

	ring->next = (ring->next + 1) % PAGES;
	/* Readers are done with it: dropping their reference was a full barrier. */
	if (!page || page_ref_count(page) != 1) {
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
