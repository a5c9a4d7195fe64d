/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * front.h - the front of a table whose numbers are drawn at random (number.h): the tree of such
 * an xarray is four nodes deep even for a few objects. Packets look here first.
 *
 * Each place shows the object that came last of those whose numbers share it; others are found
 * in the xarray alone. An object in the front is in the xarray, too, so the rules of its RCU
 * are the same: its owner removes it, hides it, waits, then frees it.
 */
#ifndef PAVO_FRONT_H
#define PAVO_FRONT_H

#include <linux/rcupdate.h>
#include <linux/types.h>

/** Places: two pages of pointers. */
#define PAVO_FRONT_PLACES 1024

/**
 * struct pavo_front - the objects that came last.
 * @place: by number modulo PAVO_FRONT_PLACES; NULL: nothing is shown. Read under RCU, written
 *         under the lock of the xarray.
 */
struct pavo_front {
	void __rcu *place[PAVO_FRONT_PLACES];
};

/** pavo_front_show - show @object; the xarray is locked, and has it. */
static inline void pavo_front_show(struct pavo_front *front, u32 number,
				   void *object)
{
	rcu_assign_pointer(front->place[number % PAVO_FRONT_PLACES], object);
}

/** pavo_front_hide - do not show @object any more; the xarray is locked. */
static inline void pavo_front_hide(struct pavo_front *front, u32 number,
				   const void *object)
{
	void __rcu **place = &front->place[number % PAVO_FRONT_PLACES];

	if (rcu_access_pointer(*place) == object)
		rcu_assign_pointer(*place, NULL);
}

/** pavo_front_look - an object that may have @number, or NULL; RCU read side. */
static inline void *pavo_front_look(const struct pavo_front *front, u32 number)
{
	return rcu_dereference(front->place[number % PAVO_FRONT_PLACES]);
}

#endif /* PAVO_FRONT_H */
