/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lookup_cache.h - direct-mapped cache of a table whose ids are random (id_alloc.h): an xarray,
 * which is four nodes deep then even for a few objects, or a hash table. Packets look here first.
 *
 * Each slot has the object that was added last of those whose ids share it; others are found in the
 * table only. An object in the cache is in the table, too, and has the same lifetime rules: its
 * owner removes it from both, waits for a grace period, and frees it.
 */
#ifndef PAVO_LOOKUP_CACHE_H
#define PAVO_LOOKUP_CACHE_H

#include <linux/rcupdate.h>
#include <linux/types.h>

/** Number of slots: two pages of pointers. */
#define PAVO_LOOKUP_CACHE_SLOTS 1024

/**
 * struct pavo_lookup_cache - the objects that were added last.
 * @slot:  by id modulo PAVO_LOOKUP_CACHE_SLOTS; NULL: empty. Read under RCU, written under the
 *         lock of the table
 */
struct pavo_lookup_cache {
	void __rcu *slot[PAVO_LOOKUP_CACHE_SLOTS];
};

/** pavo_lookup_cache_add - add @object, which is in the table; the table is locked. */
static inline void pavo_lookup_cache_add(struct pavo_lookup_cache *cache,
					 u32 number, void *object)
{
	rcu_assign_pointer(cache->slot[number % PAVO_LOOKUP_CACHE_SLOTS],
			   object);
}

/** pavo_lookup_cache_remove - remove @object if it is in the cache; the table is locked. */
static inline void pavo_lookup_cache_remove(struct pavo_lookup_cache *cache,
					    u32 number, const void *object)
{
	void __rcu **slot = &cache->slot[number % PAVO_LOOKUP_CACHE_SLOTS];

	if (rcu_access_pointer(*slot) == object)
		rcu_assign_pointer(*slot, NULL);
}

/**
 * pavo_lookup_cache_find - return an object that may have an id, or NULL; RCU read side. The caller
 * compares the ids.
 * @cache:  the cache
 * @number: the id
 */
static inline void *
pavo_lookup_cache_find(const struct pavo_lookup_cache *cache, u32 number)
{
	return rcu_dereference(cache->slot[number % PAVO_LOOKUP_CACHE_SLOTS]);
}

#endif /* PAVO_LOOKUP_CACHE_H */
