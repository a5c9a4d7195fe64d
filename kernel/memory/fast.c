// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fast.c - fast registration: regions of kernel consumers. ib_map_mr_sg() lists their pages;
 * work requests validate and invalidate their keys, without sleeping.
 *
 * verbs/ makes the objects in process context; pages are listed and registered in any
 * context. Addresses are kernel addresses, as everywhere on a device without DMA.
 */
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "compat.h"
#include "memory/key_state.h"

/* Allocate the list of pages; the key of @mr is not valid before a REG_MR. */
static int alloc_fast(struct pavo_mr *mr, struct ib_pd *ibpd, u32 max_num_sg)
{
	struct pavo_fast *fast;

	fast = kvzalloc(struct_size(fast, pages, max_num_sg), GFP_KERNEL);
	if (!fast)
		return -ENOMEM;
	fast->max = max_num_sg;
	fast->none.mr = mr;
	fast->none.pd = to_pavo_pd(ibpd);
	mr->fast = fast;
	kfree(mr->region);
	mr->region = &fast->none;
	return 0;
}

struct ib_mr *pavo_alloc_mr(struct ib_pd *ibpd, enum ib_mr_type type,
			    u32 max_num_sg)
{
	struct pavo_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_num_sg || max_num_sg > PAVO_MAX_FAST_PAGES)
		return ERR_PTR(-EINVAL);
	mr = pavo_mr_alloc(ibpd, 0);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = alloc_fast(mr, ibpd, max_num_sg);
	if (err) {
		pavo_mr_free(mr);
		return ERR_PTR(err);
	}
	return pavo_mr_publish(mr);
}

static int set_page(struct ib_mr *ibmr, u64 addr)
{
	struct pavo_fast *fast = to_pavo_mr(ibmr)->fast;

	if (fast->count == fast->max)
		return -ENOMEM;
	fast->pages[fast->count++] = virt_to_page((void *)(uintptr_t)addr);
	return 0;
}

int pavo_map_mr_sg(struct ib_mr *ibmr, struct scatterlist *sg, int sg_nents,
		   unsigned int *sg_offset)
{
	struct pavo_mr *mr = to_pavo_mr(ibmr);

	if (!mr->fast || ibmr->page_size != PAGE_SIZE)
		return -EINVAL;
	mr->fast->count = 0;
	return ib_sg_to_pages(ibmr, sg, sg_nents, sg_offset, set_page);
}

/* Check whether @key_state may register the region @now as in @seg. Keys are locked. */
static enum pavo_status check_fast_reg(const struct pavo_key_state *key_state,
				       const struct pavo_region *now,
				       const struct pavo_bind_seg *seg)
{
	if (!now || now->mw || !now->mr->fast)
		return PAVO_ST_KEY;
	if (now->pd != key_state->pd)
		return PAVO_ST_PD;
	if (now->valid || (seg->new_rkey ^ now->key) >> 8)
		return PAVO_ST_STATE;
	if (!now->mr->fast->count || pavo_check_access(seg->access) ||
	    seg->access & (IB_ACCESS_MW_BIND | IB_ACCESS_ON_DEMAND |
			   PAVO_ACCESS_FLUSH_PERSISTENT))
		return PAVO_ST_ACCESS;
	return PAVO_ST_OK;
}

static void set_fast(struct pavo_region *region, struct pavo_mr *mr,
		     const struct pavo_bind_seg *seg, struct pavo_pd *pd)
{
	*region = (struct pavo_region){
		.key = seg->new_rkey,
		.access = seg->access,
		.valid = true,
		/* As for memory windows: attached pages could be sent after the invalidation. */
		.copied = true,
		.pd = pd,
		.iova = seg->access & IB_ZERO_BASED ? 0 : seg->va,
		.length = seg->length,
		.offset = offset_in_page(seg->va),
		.pages = mr->fast->pages,
		.mr = mr,
	};
}

enum pavo_status pavo_mr_fast_reg(struct pavo_key_state *key_state,
				  const struct pavo_bind_seg *seg)
{
	struct pavo_key_table *keys = &key_state->dev->keys;
	struct pavo_region *now, *next;
	enum pavo_status status;

	next = kmalloc(sizeof(*next), GFP_ATOMIC | __GFP_NOWARN);
	if (!next)
		return PAVO_ST_BUSY;
	spin_lock_bh(&keys->lock);
	now = pavo_key_find(keys, seg->mr_lkey);
	status = check_fast_reg(key_state, now, seg);
	if (!status) {
		set_fast(next, now->mr, seg, key_state->pd);
		pavo_key_replace(keys, next);
		next->mr->region = next;
	}
	spin_unlock_bh(&keys->lock);
	if (status)
		kfree(next);
	return status;
}

struct pavo_region *pavo_mr_fast_end(struct pavo_region *now)
{
	struct pavo_mr *mr = now->mr;

	WRITE_ONCE(mr->fast->none.key, now->key);
	mr->region = &mr->fast->none;
	return pavo_key_replace(&mr->dev->keys, mr->region);
}
