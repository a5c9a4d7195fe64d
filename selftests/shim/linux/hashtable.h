/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hashtable.h - tables are small: all entries are in the first bucket. */
#ifndef PAVO_SHIM_HASHTABLE_H
#define PAVO_SHIM_HASHTABLE_H

#include <linux/kernel.h>
#include <linux/list.h>

#define pavo_shim_hlist_entry(at, entry, member) \
	((at) ? container_of(at, typeof(*(entry)), member) : NULL)
#define hash_for_each_possible_rcu(table, entry, member, key)                  \
	for ((void)(key),                                                      \
	     (entry) = pavo_shim_hlist_entry((table)[0].first, entry, member); \
	     (entry); (entry) = pavo_shim_hlist_entry((entry)->member.next,    \
						      entry, member))

#endif /* PAVO_SHIM_HASHTABLE_H */
