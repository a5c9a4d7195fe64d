/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * window_group.h - groups of windows, and the memory that members bind to a group's rCxts
 * (sources.md#windows-broadcast, sources.md#windows-multicast).
 */
#ifndef PAVO_WINDOW_WINDOW_GROUP_H
#define PAVO_WINDOW_WINDOW_GROUP_H

#include <linux/list.h>
#include <linux/types.h>
#include "accounting.h"

struct pavo_fifo_window;
struct pavo_group_bind_args;
struct pavo_group_join_args;
struct pavo_rcxt;
struct pavo_rx;

/**
 * struct pavo_window_groups - the groups of an adapter.
 * @buckets: groups that have members, by number; changed under RTNL, read under RCU
 * @count:   number of memberships
 * @shares:  number of memberships of each user
 */
struct pavo_window_groups {
	struct hlist_head buckets[64];
	u32 count;
	struct pavo_shares shares;
};

void pavo_groups_init(struct pavo_window_groups *groups);
void pavo_groups_destroy(struct pavo_window_groups *groups);

/** pavo_group_join - make @window a member; see struct pavo_group_join_args. Sleeps. */
int pavo_group_join(struct pavo_fifo_window *window,
		    const struct pavo_group_join_args *args);
/**
 * pavo_group_leave - end a membership and its bindings. No packet of the group is placed when this
 * returns.
 * @window: the member
 * @number: of the group
 *
 * Return: 0; -EINVAL: @window is no member. Sleeps.
 */
int pavo_group_leave(struct pavo_fifo_window *window, u32 number);
/** pavo_group_leave_all - leave all groups: the window is disabled. Sleeps. */
void pavo_group_leave_all(struct pavo_fifo_window *window);

/** pavo_group_bind - bind memory to a group rCxt; see struct pavo_group_bind_args. Sleeps. */
int pavo_group_bind(struct pavo_fifo_window *window,
		    const struct pavo_group_bind_args *args);
/**
 * pavo_group_unbind - end a binding. Nothing is placed by it when this returns.
 * @window: the member
 * @number: of the group
 * @rcxt:   group rCxt
 *
 * Return: 0; -EINVAL: there is no such binding. Sleeps.
 */
int pavo_group_unbind(struct pavo_fifo_window *window, u32 number, u32 rcxt);

/**
 * pavo_group_each_binding - call a function for each binding of the groups of a bucket.
 * @groups: groups of the adapter
 * @bucket: its index, below ARRAY_SIZE(@groups->buckets)
 * @call:   the function; it does not sleep
 * @context: of @call
 */
void pavo_group_each_binding(struct pavo_window_groups *groups, u32 bucket,
			     void (*call)(void *context,
					  struct pavo_rcxt *rcxt),
			     void *context);

/**
 * pavo_group_receive - give a packet to all members of a group; see struct pavo_part.
 * @rx: the packet
 *
 * Return: number of members that got it.
 */
u32 pavo_group_receive(const struct pavo_rx *rx);

#endif /* PAVO_WINDOW_WINDOW_GROUP_H */
