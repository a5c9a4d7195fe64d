// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * claim.c - the key of a region that work requests claim; see claim.h.
 *
 * Called by the owner of the region in process context. The key has no rights for peers, so it is
 * never in their remote-key slots.
 */
#include "memory/claim.h"
#include "memory/memory.h"
#include "memory/memory_private.h"

struct pavo_mr *pavo_mr_claimed(struct ib_pd *ibpd, u64 base, u64 length,
				struct page **pages,
				const struct pavo_claim_ops *ops, void *owner)
{
	struct pavo_mr *mr;
	struct ib_mr *published;

	mr = pavo_mr_alloc(ibpd, IB_ACCESS_LOCAL_WRITE | PAVO_ACCESS_CLAIMED);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->region->iova = base;
	mr->region->length = length;
	mr->region->pages = pages;
	mr->region->claims = ops;
	mr->region->owner = owner;
	published = pavo_mr_publish(mr);
	return IS_ERR(published) ? ERR_CAST(published) : mr;
}

void pavo_mr_end_claimed(struct pavo_mr *mr)
{
	struct pavo_key_table *keys = &mr->dev->keys;

	spin_lock_bh(&keys->lock);
	pavo_key_remove(keys, mr->region);
	spin_unlock_bh(&keys->lock);
	synchronize_rcu_expedited();
	pavo_mr_free(mr);
}
