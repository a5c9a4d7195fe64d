// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pages.c - a ring of pages for each CPU, into which payload is copied.
 *
 * A packet has a reference to its page. A page without such references is used again, so most
 * packets cost no page allocation. The ring starts over as soon as the page that was taken last is
 * free, because then all are, and recently used pages are in the CPU's caches. A ring has as many
 * pages as a QP may have packets in flight. A page that is still in use is replaced by a new one.
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

/* True if no packet has the page. Packets drop their references by a full barrier. */
static bool is_free(struct page *page)
{
	return page && page_ref_count(page) == 1;
}

struct page *pavo_page_take(void)
{
	struct ring *ring = this_cpu_ptr(rings);
	struct page **slot, *page;

	if (ring->next == PAGES ||
	    (ring->next && is_free(ring->page[ring->next - 1])))
		ring->next = 0;
	slot = &ring->page[ring->next++];
	page = *slot;
	if (!is_free(page)) {
		page = alloc_page(GFP_ATOMIC | __GFP_NOWARN);
		if (unlikely(!page))
			return NULL;
		if (*slot)
			put_page(*slot);
		*slot = page;
	}
	get_page(page);
	return page;
}
