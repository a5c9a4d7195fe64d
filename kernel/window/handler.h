/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* handler.h - handlers of an adapter; see handler.c. */
#ifndef PAVO_WINDOW_HANDLER_H
#define PAVO_WINDOW_HANDLER_H

#include <linux/list.h>
#include <linux/refcount.h>
#include "window/window_private.h"

/**
 * struct pavo_handler_group - windows and handlers of a context.
 * @list:    in struct pavo_windows; under its handlers_mutex
 * @context: the context
 * @users:   windows that are open, and handlers; under that mutex. 0: not in the list any more
 * @refs:    windows that are not freed, and handlers
 * @events:  the handlers; its lock protects @pending, too
 * @pending: windows with events since their ids were taken
 * @handler: eventfds, by handler number
 */
struct pavo_handler_group {
	struct list_head list;
	const struct ib_ucontext *context;
	u32 users;
	refcount_t refs;
	struct pavo_events events;
	struct list_head pending;
	struct eventfd_ctx *handler[PAVO_ADAPTER_HANDLERS];
};

/**
 * pavo_handlers_join - find or make the group of a context, for a window or a handler of it.
 * @all:     windows of the adapter
 * @context: the context
 *
 * Return: the group, for pavo_handlers_leave() and pavo_handlers_put(); NULL: no memory. Sleeps.
 */
struct pavo_handler_group *
pavo_handlers_join(struct pavo_windows *all, const struct ib_ucontext *context);
/**
 * pavo_handlers_leave - the window is closed, or the handler ends: the context may end after that.
 * @all:   windows of the adapter
 * @group: the group, which stays until pavo_handlers_put()
 */
void pavo_handlers_leave(struct pavo_windows *all,
			 struct pavo_handler_group *group);
void pavo_handlers_put(struct pavo_handler_group *group);

/** pavo_handlers_event - give an event of @window to a handler. Any context but hard IRQs. */
void pavo_handlers_event(struct pavo_fifo_window *window);
/** pavo_handlers_forget - forget the events of @window, which is closed or being freed. */
void pavo_handlers_forget(struct pavo_fifo_window *window);
/** pavo_handlers_take - take the id of a window with an event. Return: 0: there is none. */
u32 pavo_handlers_take(struct pavo_handler_group *group);

#endif /* PAVO_WINDOW_HANDLER_H */
