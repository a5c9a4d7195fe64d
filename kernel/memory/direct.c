// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.c - the key of a direct window: a region whose list of pages its window changes.
 *
 * Called by direct/ in process context. The key has no rights for peers, so it is never in their
 * remote-key slots. A requester claims a range of the window before each use (direct/direct.h).
 */
#include "memory/memory.h"
#include "memory/memory_private.h"

struct pavo_mr *pavo_mr_of_direct(struct ib_pd *ibpd, u64 base, u64 length,
				  struct page **pages,
				  struct pavo_direct *window)
{
	struct pavo_mr *mr;
	struct ib_mr *published;

	mr = pavo_mr_alloc(ibpd, IB_ACCESS_LOCAL_WRITE | PAVO_ACCESS_DIRECT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->region->iova = base;
	mr->region->length = length;
	mr->region->pages = pages;
	mr->region->direct = window;
	published = pavo_mr_publish(mr);
	return IS_ERR(published) ? ERR_CAST(published) : mr;
}

void pavo_mr_end_direct(struct pavo_mr *mr)
{
	struct pavo_key_table *keys = &mr->dev->keys;

	xa_lock_bh(&keys->xa);
	pavo_key_remove(keys, mr->region);
	xa_unlock_bh(&keys->xa);
	synchronize_rcu_expedited();
	pavo_mr_free(mr);
}
