// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * key.c - the table of keys: insertion, removal, and the one decision
 * whether a range of memory may be touched by a key.
 *
 * Called by region.c, mw.c and fast.c (insert, replace, remove) and by both sides
 * of the QPs for every piece of memory that a packet or WQE names.
 *
 * A key is (index << 8 | tag). Both are drawn at random, so a peer that does not know the key
 * has to guess all 32 bits. A stale key is refused like a wrong guess.
 */
#include <linux/jhash.h>
#include <linux/limits.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include "memory/memory.h"
#include "wire/wire.h"
#include "memory/key_state.h"

#define PAVO_ACCESS_WRITES                                \
	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_ATOMIC)

/*
 * The meaning of the kernel consumers' local DMA key: all memory, by kernel address. It is
 * in no table and belongs to every PD of the kernel.
 */
static struct pavo_region kernel_memory = {
	.access = IB_ACCESS_LOCAL_WRITE,
	.valid = true,
	.length = U64_MAX,
};

/* Index 0 is not used, since key 0 is the local DMA key. */
#define MOST_KEYS (PAVO_MAX_MR + PAVO_MAX_MW)

static u32 hash_index(const void *index, u32 len, u32 seed)
{
	return jhash2(index, 1, seed);
}

/* The index stays, while a bind or unbind may change the tag. */
static u32 get_region_index(const struct pavo_region *region)
{
	return READ_ONCE(region->key) >> 8;
}

static u32 hash_region(const void *region, u32 len, u32 seed)
{
	const u32 index = get_region_index(region);

	return hash_index(&index, len, seed);
}

/* Return: 0: @region has that index. */
static int compare_index(struct rhashtable_compare_arg *arg, const void *region)
{
	return get_region_index(region) != *(const u32 *)arg->key;
}

static const struct rhashtable_params by_index = {
	.key_len = sizeof(u32),
	.head_offset = offsetof(struct pavo_region, node),
	.hashfn = hash_index,
	.obj_hashfn = hash_region,
	.obj_cmpfn = compare_index,
	.automatic_shrinking = true,
};

int pavo_key_table_init(struct pavo_key_table *table)
{
	BUILD_BUG_ON(offsetofend(struct pavo_region, pages) > 64);
	spin_lock_init(&table->lock);
	return rhashtable_init(&table->hash, &by_index);
}

void pavo_key_table_destroy(struct pavo_key_table *table)
{
	if (!rcu_access_pointer(table->hash.tbl))
		return;
	WARN_ON(atomic_read(&table->hash.nelems));
	rhashtable_destroy(&table->hash);
}

/* Copy the rare pointers to flags in the cache line that packets read; draw the token. */
static void complete_region(struct pavo_region *region)
{
	region->token = get_random_u32();
	region->paged = region->odp;
	region->window = region->mw;
}

static u32 draw_key(void)
{
	u32 index = 1 + ((u64)get_random_u32() * MOST_KEYS >> 32);

	return index << 8 | (get_random_u32() & PAVO_KEY_TAG);
}

/* Return: 0; -EEXIST: the index is in use; -EBUSY, -ENOMEM: the hash table has to grow first. */
static int insert_region(struct pavo_key_table *table,
			 struct pavo_region *region)
{
	const u32 index = region->key >> 8;
	int err;

	spin_lock_bh(&table->lock);
	err = rhashtable_lookup_insert_key(&table->hash, &index, &region->node,
					   by_index);
	if (!err)
		pavo_lookup_cache_add(&table->cache, index, region);
	spin_unlock_bh(&table->lock);
	return err;
}

int pavo_key_insert(struct pavo_key_table *table, struct pavo_region *region)
{
	bool grown = false;
	int err;

	complete_region(region);
	while (atomic_read(&table->hash.nelems) < MOST_KEYS) {
		/* The key of a region is set before packets can find it. */
		region->key = draw_key();
		err = insert_region(table, region);
		if (!err)
			return 0;
		if (err != -EEXIST) {
			if (grown)
				return -ENOMEM;
			/* The work grows the table, and may sleep for memory. */
			flush_work(&table->hash.run_work);
			grown = true;
		}
		cond_resched();
	}
	return -ENOSPC;
}

void pavo_key_remove(struct pavo_key_table *table, struct pavo_region *region)
{
	rhashtable_remove_fast(&table->hash, &region->node, by_index);
	pavo_lookup_cache_remove(&table->cache, region->key >> 8, region);
}

struct pavo_region *pavo_key_find(struct pavo_key_table *table, u32 key)
{
	const u32 index = key >> 8;

	return rhashtable_lookup_fast(&table->hash, &index, by_index);
}

struct pavo_region *pavo_key_replace(struct pavo_key_table *table,
				     struct pavo_region *region)
{
	struct pavo_region *old = pavo_key_find(table, region->key);

	complete_region(region);
	rhashtable_replace_fast(&table->hash, &old->node, &region->node,
				by_index);
	pavo_lookup_cache_add(&table->cache, region->key >> 8, region);
	return old;
}

static struct pavo_region *find_region(struct pavo_dev *dev, struct pavo_pd *pd,
				       u32 key)
{
	struct pavo_region *region;
	u32 index = key >> 8;

	if (!key)
		return pd->ib.uobject ? NULL : &kernel_memory;

	/* READ_ONCE(): a bind or unbind may change the key of an unbound memory window. */
	region = pavo_lookup_cache_find(&dev->keys.cache, index);
	if (likely(region && READ_ONCE(region->key) == key))
		return region;
	region = pavo_key_find(&dev->keys, key);
	return region && READ_ONCE(region->key) == key ? region : NULL;
}

bool pavo_key_means(struct pavo_dev *dev, u32 key, u32 token)
{
	struct pavo_region *region = key ? pavo_key_find(&dev->keys, key) :
					   &kernel_memory;

	return region && region->token == token;
}

/* The checks that local and remote keys have in common. */
static enum pavo_status check_region(const struct pavo_region *region,
				     const struct pavo_pd *pd, u64 va, u64 len,
				     int access)
{
	u64 offset;

	if (unlikely(region->pd != pd && region != &kernel_memory))
		return PAVO_ST_PD;
	if (unlikely(!region->valid))
		return PAVO_ST_STATE;
	if (unlikely(access & ~region->access))
		return PAVO_ST_ACCESS;

	/* A @va before the region becomes an offset far behind its end. */
	offset = va - region->iova;
	if (unlikely(offset > region->length || len > region->length - offset))
		return PAVO_ST_RANGE;
	return PAVO_ST_OK;
}

enum pavo_status pavo_check(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			    u64 va, u64 len, int access,
			    struct pavo_region **region)
{
	struct pavo_region *found;
	enum pavo_status status;

	*region = NULL;
	if (!len)
		return PAVO_ST_OK;

	found = find_region(dev, pd, key);
	if (unlikely(!found || found->window))
		return PAVO_ST_KEY;
	status = check_region(found, pd, va, len, access);
	if (likely(!status))
		*region = found;
	return status;
}

/* True if all pages are present. Only those of on-demand regions can be missing. */
static bool are_pages_present(const struct pavo_region *region, u64 va, u64 len,
			      int access)
{
	return likely(!region->paged) ||
	       pavo_odp_is_present(region, va, len,
				   access & PAVO_ACCESS_WRITES);
}

enum pavo_status pavo_xlate(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			    u64 va, u64 len, int access,
			    struct pavo_region **region)
{
	enum pavo_status status;

	status = pavo_check(dev, pd, key, va, len, access, region);
	if (likely(!status) && *region &&
	    !are_pages_present(*region, va, len, access))
		return PAVO_ST_FAULT;
	return status;
}

/* The checks of a region that a peer names. @found: NULL: it named none. */
static enum pavo_status check_peer_region(struct pavo_key_state *key_state,
					  const struct pavo_region *found,
					  u64 va, u64 len, int access)
{
	if (unlikely(!found))
		return PAVO_ST_KEY;
	if (unlikely(found->key_state && found->key_state != key_state))
		return PAVO_ST_QP;
	return check_region(found, key_state->peer_pd, va, len, access);
}

static enum pavo_status check_r_key(struct pavo_key_state *key_state, u32 key,
				    u64 va, u64 len, int access,
				    struct pavo_region **region)
{
	*region = find_region(key_state->dev, key_state->peer_pd, key);
	return check_peer_region(key_state, *region, va, len, access);
}

enum pavo_status pavo_xlate_remote(struct pavo_key_state *key_state, u32 key,
				   u64 va, u64 len, int access,
				   struct pavo_region **region)
{
	enum pavo_status status;

	*region = NULL;
	if (!len)
		return PAVO_ST_OK;
	status = check_r_key(key_state, key, va, len, access, region);
	if (likely(!status) && !are_pages_present(*region, va, len, access))
		return PAVO_ST_FAULT;
	return status;
}

enum pavo_status pavo_check_remote(struct pavo_key_state *key_state, u32 key,
				   u64 va, u64 len, int access)
{
	struct pavo_region *found;

	if (!len)
		return PAVO_ST_OK;
	return check_r_key(key_state, key, va, len, access, &found);
}

enum pavo_status pavo_check_remote_range(struct pavo_key_state *key_state,
					 u32 key, u64 va, u64 len, int access)
{
	struct pavo_region *found;

	return check_r_key(key_state, key, va, len, access, &found);
}

enum pavo_status pavo_check_remote_key(struct pavo_key_state *key_state,
				       u32 key, int access)
{
	const struct pavo_region *found =
		find_region(key_state->dev, key_state->peer_pd, key);

	return check_peer_region(key_state, found, found ? found->iova : 0, 0,
				 access);
}

/* Find a remote-key slot: pavo_rkm_slots_replace() has set them before the QP could receive. */
static atomic64_t *get_key_slot(const struct pavo_key_state *key_state,
				unsigned int slot)
{
	return &rcu_dereference(key_state->rkm.slots)->slot[slot];
}

enum pavo_status pavo_use_begin(struct pavo_key_state *key_state,
				unsigned int slot, u32 key, u64 va, u64 len,
				int access)
{
	struct pavo_key_slots *slots = rcu_dereference(key_state->rkm.slots);
	enum pavo_status status;

	if (!len)
		return PAVO_ST_OK;
	/* Write the slot before the look-up of the key: see key_slot.h. */
	pavo_key_slot_begin(&slots->slot[slot], slots->gen++, key);
	status = pavo_check_remote(key_state, key, va, len, access);
	if (unlikely(status))
		pavo_key_slot_end(&slots->slot[slot]);
	return status;
}

enum pavo_status pavo_use_enter(struct pavo_key_state *key_state,
				unsigned int slot)
{
	return pavo_key_slot_enter(get_key_slot(key_state, slot)) ?
		       PAVO_ST_STATE :
		       PAVO_ST_OK;
}

void pavo_use_leave(struct pavo_key_state *key_state, unsigned int slot)
{
	pavo_key_slot_leave(get_key_slot(key_state, slot));
}

void pavo_use_end(struct pavo_key_state *key_state, unsigned int slot)
{
	pavo_key_slot_end(get_key_slot(key_state, slot));
}
