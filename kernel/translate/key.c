// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * key.c - keys: giving them out, taking them back, and the one decision
 * whether the holder of a key may touch a range of memory.
 *
 * Called by region.c (insert, remove) and by both halves of the QPs for every
 * piece of memory that a packet or WQE names (pavo_xlate()).
 *
 * A key is (index << 8 | tag). Indexes are given out in a circle, and the tag
 * of an index moves on by one with each lap, so that a stale key is refused
 * until its index has been used 256 times. Where the tags start differs from
 * index to index by a keyed hash: knowing one key does not tell the next.
 */
#include <linux/limits.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include "device.h"
#include "translate.h"

/*
 * What the local DMA key of kernel consumers stands for: all memory, by
 * kernel address. It is in no table and belongs to every PD of the kernel.
 */
static struct pavo_region kernel_memory = {
	.access = IB_ACCESS_LOCAL_WRITE,
	.length = U64_MAX,
};

void pavo_key_table_init(struct pavo_key_table *table)
{
	xa_init_flags(&table->xa, XA_FLAGS_ALLOC);
	mutex_init(&table->mutex);
	table->next = 1;
	table->lap = 0;
	get_random_bytes(&table->secret, sizeof(table->secret));
}

void pavo_key_table_destroy(struct pavo_key_table *table)
{
	WARN_ON(!xa_empty(&table->xa));
	xa_destroy(&table->xa);
	mutex_destroy(&table->mutex);
}

int pavo_key_insert(struct pavo_key_table *table, struct pavo_region *region)
{
	/* index 0 is left out: key 0 is the local DMA key */
	struct xa_limit limit = XA_LIMIT(1, PAVO_MAX_MR);
	u32 index;
	u8 tag;
	int err;

	mutex_lock(&table->mutex);
	/* Reserve only: the region may be found when it knows its key. */
	err = xa_alloc_cyclic(&table->xa, &index, NULL, limit, &table->next,
			      GFP_KERNEL);
	if (err < 0) {
		mutex_unlock(&table->mutex);
		return err == -EBUSY ? -ENOSPC : err;
	}
	if (err == 1)
		table->lap++;

	tag = (u8)siphash_1u32(index, &table->secret) + table->lap;
	region->key = index << 8 | tag;
	region->ib.lkey = region->key;
	region->ib.rkey = region->key;
	err = xa_err(xa_store(&table->xa, index, region, GFP_KERNEL));
	mutex_unlock(&table->mutex);
	return err;
}

void pavo_key_remove(struct pavo_key_table *table, struct pavo_region *region)
{
	xa_erase(&table->xa, region->key >> 8);
	synchronize_rcu_expedited();
}

static struct pavo_region *find_region(struct pavo_dev *dev, struct pavo_pd *pd,
				       u32 key)
{
	struct pavo_region *region;

	if (!key)
		return pd->ib.uobject ? NULL : &kernel_memory;

	region = xa_load(&dev->keys.xa, key >> 8);
	return region && region->key == key ? region : NULL;
}

enum pavo_xlate pavo_xlate(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			   u64 va, u64 len, int access,
			   struct pavo_region **region)
{
	struct pavo_region *found;
	u64 offset;

	*region = NULL;
	if (!len)
		return PAVO_XLATE_OK;

	found = find_region(dev, pd, key);
	if (unlikely(!found))
		return PAVO_XLATE_KEY;
	if (unlikely(found->pd != pd && found != &kernel_memory))
		return PAVO_XLATE_PD;
	if (unlikely(access & ~found->access))
		return PAVO_XLATE_FLAGS;

	/* A @va before the region becomes an offset far behind its end. */
	offset = va - found->iova;
	if (unlikely(offset > found->length || len > found->length - offset))
		return PAVO_XLATE_LENGTH;

	*region = found;
	return PAVO_XLATE_OK;
}
