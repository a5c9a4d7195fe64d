// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * paging.c - on-demand regions of the engine, in place of memory/odp.c and memory/pager.c: a page
 * is there or not, and a timer brings missing ones in.
 */
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "memory/key_state.h"
#include "memory/memory.h"
#include "memory/pager.h"
#include "runtime.h"

struct pavo_odp {
	struct list_head node;
	u64 start; /* of the first page */
	unsigned long count;
	unsigned int waiting; /* faults */
	bool there[];
};

/* A fault, and the timer that ends it. */
struct paging {
	struct pavo_fault fault;
	struct hrtimer timer;
};

static LIST_HEAD(regions);

bool pavo_odp_is_present(const struct pavo_region *region, u64 va, u64 len,
			 bool write)
{
	u64 at = va - region->iova + region->offset;
	unsigned long i;

	for (i = at >> PAGE_SHIFT; i <= (at + len - 1) >> PAGE_SHIFT; i++)
		if (!region->odp->there[i])
			return false;
	return true;
}

struct page *pavo_odp_find_page(const struct pavo_odp *odp, unsigned long index)
{
	ENGINE_MUST(index < odp->count && odp->there[index]);
	return virt_to_page(odp->start + index * PAGE_SIZE);
}

static enum hrtimer_restart bring_in(struct hrtimer *timer)
{
	struct paging *paging = container_of(timer, struct paging, timer);
	struct pavo_fault *fault = &paging->fault;
	unsigned long i;

	for (i = 0; i < fault->count; i++)
		fault->odp->there[fault->first + i] = true;
	fault->odp->waiting--;
	fault->missing->fault = NULL;
	fault->missing->state = PAVO_MISSING_NONE;
	queue_work(fault->key_state->dev->wq, &fault->key_state->work);
	kfree(paging);
	return HRTIMER_NORESTART;
}

enum pavo_status pavo_fault_request(struct pavo_key_state *key_state,
				    struct pavo_missing *missing,
				    const struct pavo_region *region, u64 va,
				    u64 len, bool write)
{
	u64 at = va - region->iova + region->offset;
	struct paging *paging;

	if (missing->state == PAVO_MISSING_WAITING)
		return PAVO_ST_WAIT;
	paging = kmalloc(sizeof(*paging), GFP_ATOMIC | __GFP_NOWARN);
	if (!paging) {
		queue_work(key_state->dev->wq, &key_state->work);
		return PAVO_ST_WAIT;
	}
	pavo_stats_add(key_state->stats, odp_faults, 1);
	paging->fault = (struct pavo_fault){
		.odp = region->odp,
		.first = at >> PAGE_SHIFT,
		.count =
			((at + len - 1) >> PAGE_SHIFT) - (at >> PAGE_SHIFT) + 1,
		.key_state = key_state,
		.missing = missing,
	};
	region->odp->waiting++;
	missing->fault = &paging->fault;
	missing->state = PAVO_MISSING_WAITING;
	hrtimer_setup(&paging->timer, bring_in, CLOCK_MONOTONIC, 0);
	hrtimer_start(&paging->timer,
		      engine_host->paging ? engine_host->paging() : 0,
		      HRTIMER_MODE_REL_SOFT);
	return PAVO_ST_WAIT;
}

void pavo_fault_detach(struct pavo_missing *missing)
{
	struct paging *paging;

	missing->state = PAVO_MISSING_NONE;
	if (!missing->fault)
		return;
	paging = container_of(missing->fault, struct paging, fault);
	missing->fault = NULL;
	paging->fault.odp->waiting--;
	hrtimer_cancel(&paging->timer);
	kfree(paging);
}

int pavo_odp_get(struct pavo_memory *memory, struct pavo_dev *dev, u64 start,
		 u64 length, bool persistent)
{
	unsigned long count = PFN_UP(offset_in_page(start) + length);
	struct pavo_odp *odp =
		kzalloc(struct_size(odp, there, count), GFP_KERNEL);

	if (!odp)
		return -ENOMEM;
	odp->start = start & PAGE_MASK;
	odp->count = count;
	list_add_tail(&odp->node, &regions);
	*memory = (struct pavo_memory){.odp = odp, .start = start};
	return 0;
}

void pavo_odp_set(struct pavo_region *region, const struct pavo_memory *memory)
{
	region->odp = memory->odp;
	/* Not used, but a region without is one of all kernel memory. */
	region->pages = (struct page **)memory->odp->there;
	region->offset = offset_in_page(memory->start);
	region->copied = true;
}

int pavo_odp_fill_device(struct pavo_odp *odp, bool writable)
{
	return -EOPNOTSUPP;
}

/* Queue pairs that wait for its pages are gone before. */
void pavo_odp_release(struct pavo_odp *odp)
{
	if (!odp)
		return;
	ENGINE_MUST(!odp->waiting);
	list_del(&odp->node);
	kfree(odp);
}

void engine_page_out(bool (*chooses)(void))
{
	struct pavo_odp *odp;
	unsigned long i;

	list_for_each_entry (odp, &regions, node)
		for (i = 0; i < odp->count; i++)
			if (odp->there[i] && chooses())
				odp->there[i] = false;
}
