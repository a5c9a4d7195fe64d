// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * handler.c - handlers of an adapter: eventfds for the events of all windows that a context of
 * rdma core has (sources.md#windows-interrupt). Called by event.c, and by handler_methods.c for
 * the process.
 *
 * An event of any of these windows goes to one handler that is ready. A list has the windows with
 * events that no handler has looked at: the handler takes their ids, so it need not ask each
 * window. Windows and handlers of a context have one group, whichever of them is made first. A
 * packet may be on its way to a closed window until a grace period has passed, so the window has
 * a reference to the group until it is freed.
 */
#include <linux/slab.h>
#include "window/handler.h"

/* ------------------------------------------------------------------ groups */

/* Mutex held. Return: NULL: the context has no group. */
static struct pavo_handler_group *
find_handler_group(struct pavo_windows *all, const struct ib_ucontext *context)
{
	struct pavo_handler_group *group;

	list_for_each_entry(group, &all->handler_groups, list)
		if (group->context == context)
			return group;
	return NULL;
}

/* Mutex held. Return: NULL: no memory. */
static struct pavo_handler_group *
make_handler_group(struct pavo_windows *all, const struct ib_ucontext *context)
{
	struct pavo_handler_group *group =
		kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);

	if (!group)
		return NULL;
	group->context = context;
	refcount_set(&group->refs, 1);
	pavo_events_init(&group->events, group->handler, PAVO_ADAPTER_HANDLERS);
	INIT_LIST_HEAD(&group->pending);
	list_add(&group->list, &all->handler_groups);
	return group;
}

struct pavo_handler_group *pavo_handlers_join(struct pavo_windows *all,
					      const struct ib_ucontext *context)
{
	struct pavo_handler_group *group;

	mutex_lock(&all->handlers_mutex);
	group = find_handler_group(all, context);
	if (group)
		refcount_inc(&group->refs);
	else
		group = make_handler_group(all, context);
	if (group)
		group->users++;
	mutex_unlock(&all->handlers_mutex);
	return group;
}

void pavo_handlers_leave(struct pavo_windows *all,
			 struct pavo_handler_group *group)
{
	mutex_lock(&all->handlers_mutex);
	if (!--group->users)
		list_del(&group->list);
	mutex_unlock(&all->handlers_mutex);
}

void pavo_handlers_put(struct pavo_handler_group *group)
{
	if (!refcount_dec_and_test(&group->refs))
		return;
	pavo_events_free(&group->events);
	kfree(group);
}

/* ------------------------------------------------------------------ events */

void pavo_handlers_event(struct pavo_fifo_window *window)
{
	struct pavo_handler_group *group = window->handler_group;

	if (!group)
		return;
	spin_lock_bh(&group->events.lock);
	if (list_empty(&window->pending))
		list_add_tail(&window->pending, &group->pending);
	pavo_events_deliver(&group->events);
	spin_unlock_bh(&group->events.lock);
}

void pavo_handlers_forget(struct pavo_fifo_window *window)
{
	if (!window->handler_group)
		return;
	spin_lock_bh(&window->handler_group->events.lock);
	list_del_init(&window->pending);
	spin_unlock_bh(&window->handler_group->events.lock);
}

u32 pavo_handlers_take(struct pavo_handler_group *group)
{
	struct pavo_fifo_window *window;
	u32 id = 0;

	spin_lock_bh(&group->events.lock);
	window = list_first_entry_or_null(&group->pending,
					  struct pavo_fifo_window, pending);
	if (window) {
		id = window->id;
		list_del_init(&window->pending);
	}
	spin_unlock_bh(&group->events.lock);
	return id;
}
