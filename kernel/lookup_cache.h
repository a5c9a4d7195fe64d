/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * lookup_cache.h - the front of a table whose numbers are drawn at random (id_alloc.h): the tree of such
 * an xarray is four nodes deep even for a few objects. Packets look here first.
 *
 * Each place shows the object that came last of those whose numbers share it; others are found
 * in the xarray alone. An object in the front is in the xarray, too, so the rules of its RCU
 * are the same: its owner removes it, hides it, waits, then frees it.
 */
#ifndef PAVO_LOOKUP_CACHE_H
#define PAVO_LOOKUP_CACHE_H

#include <linux/rcupdate.h>
#include <linux/types.h>

/** Places: two pages of pointers. */
#define PAVO_LOOKUP_CACHE_PLACES 1024

/**
 * struct pavo_lookup_cache - the objects that came last.
 * @place: by number modulo PAVO_LOOKUP_CACHE_PLACES; NULL: nothing is shown. Read under RCU, written
 *         under the lock of the xarray.
 */
struct pavo_lookup_cache {
	void __rcu *place[PAVO_LOOKUP_CACHE_PLACES];
};

/** pavo_lookup_cache_add - show @object; the xarray is locked, and has it. */
static inline void pavo_lookup_cache_add(struct pavo_lookup_cache *cache,
					 u32 number, void *object)
{
	rcu_assign_pointer(cache->place[number % PAVO_LOOKUP_CACHE_PLACES],
			   object);
}

/** pavo_lookup_cache_remove - do not show @object any more; the xarray is locked. */
static inline void pavo_lookup_cache_remove(struct pavo_lookup_cache *cache,
					    u32 number, const void *object)
{
	void __rcu **place = &cache->place[number % PAVO_LOOKUP_CACHE_PLACES];

	if (rcu_access_pointer(*place) == object)
		rcu_assign_pointer(*place, NULL);
}

/** pavo_lookup_cache_find - an object that may have @number, or NULL; RCU read side. */
static inline void *
pavo_lookup_cache_find(const struct pavo_lookup_cache *cache, u32 number)
{
	return rcu_dereference(cache->place[number % PAVO_LOOKUP_CACHE_PLACES]);
}

#endif /* PAVO_LOOKUP_CACHE_H */
