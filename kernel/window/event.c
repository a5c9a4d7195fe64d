// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * event.c - handlers of a window's events (sources.md#windows-interrupt).
 *
 * Called by receive.c when a threshold is reached, by fifo_window.c for commands and by
 * window_methods.c. The next handler that is ready, in round-robin order, gets the event.
 * An event only says that frames may have arrived, so events that find no handler ready count
 * as one. The end of a window is signalled to all handlers, since no further event could wake
 * them.
 */
#include <linux/bitmap.h>
#include <linux/nospec.h>
#include "window/handler.h"

void pavo_events_init(struct pavo_events *events, struct eventfd_ctx **handler,
		      u32 most)
{
	spin_lock_init(&events->lock);
	events->handler = handler;
	events->most = most;
}

void pavo_events_free(struct pavo_events *events)
{
	unsigned int n;

	for_each_set_bit(n, events->registered, events->most)
		eventfd_ctx_put(events->handler[n]);
}

/* --------------------------------------------------------------- delivery */

/* Raise a registered handler. Lock held, so its eventfd stays. */
static void raise_handler(struct pavo_events *events, u32 number)
{
	__clear_bit(number, events->ready);
	__set_bit(number, events->given);
	events->next = (number + 1) % events->most;
	pavo_eventfd_signal(events->handler[number]);
}

void pavo_events_deliver(struct pavo_events *events)
{
	u32 number =
		find_next_bit_wrap(events->ready, events->most, events->next);

	if (number < events->most)
		raise_handler(events, number);
	else
		events->kept = true;
}

void pavo_window_event(struct pavo_fifo_window *window)
{
	struct pavo_events *events = &window->events;

	if (window->recv.event)
		pavo_eventfd_signal(window->recv.event);
	spin_lock_bh(&events->lock);
	pavo_events_deliver(events);
	spin_unlock_bh(&events->lock);
	pavo_handlers_event(window);
	pavo_count(window->dev, window_events);
}

/* Raise an event that is no arrival: the process may wait for space in its send FIFO only. */
static void raise_notice(struct pavo_fifo_window *window)
{
	if (window->send.event)
		pavo_eventfd_signal(window->send.event);
	pavo_window_event(window);
}

void pavo_window_notify_end(struct pavo_fifo_window *window)
{
	struct pavo_events *events = &window->events;
	unsigned int number;

	if (window->calls)
		window->calls->ended(window->owner);
	if (window->recv.event)
		pavo_eventfd_signal(window->recv.event);
	if (window->send.event)
		pavo_eventfd_signal(window->send.event);
	spin_lock_bh(&events->lock);
	/* A handler that becomes ready after this is raised at once. */
	events->over = true;
	for_each_set_bit(number, events->registered, events->most)
		raise_handler(events, number);
	spin_unlock_bh(&events->lock);
	pavo_handlers_event(window);
	pavo_count(window->dev, window_events);
}

int pavo_events_ready(struct pavo_events *events, u32 number)
{
	bool registered;

	if (number >= events->most)
		return -EINVAL;
	number = array_index_nospec(number, events->most);
	spin_lock_bh(&events->lock);
	registered = test_bit(number, events->registered);
	if (registered && (events->kept || events->over)) {
		events->kept = false;
		raise_handler(events, number);
	} else if (registered) {
		__clear_bit(number, events->given);
		__set_bit(number, events->ready);
	}
	spin_unlock_bh(&events->lock);
	return registered ? 0 : -EINVAL;
}

/* ------------------------------------------------------------ notifications */

void pavo_window_violation(struct pavo_fifo_window *window, u32 rcxt,
			   const struct pavo_rdma_peer *peer)
{
	struct pavo_violations *violations = &window->violations;
	bool event_due;

	spin_lock_bh(&window->lock);
	violations->count++;
	violations->rcxt = rcxt;
	violations->node = peer->node;
	violations->window = peer->window;
	/* A peer that repeats a violation does not wake the process each time. */
	event_due = !violations->unread;
	violations->unread = true;
	spin_unlock_bh(&window->lock);
	if (event_due)
		raise_notice(window);
}

void pavo_window_show_recoveries(struct pavo_fifo_window *window)
{
	const struct pavo_rcxt_pool *pool = &window->dev->windows->rcxts;
	struct pavo_command_page *page;

	/* Kernel code asks for it. */
	if (!window->commands)
		return;
	page = window->commands->addr;
	/* The lock, so that the last CPU to write has read the latest number. */
	spin_lock_bh(&window->lock);
	WRITE_ONCE(page->recoveries, READ_ONCE(pool->recoveries));
	spin_unlock_bh(&window->lock);
}

/*
 * Cancel what a window holds, since it names rCxts of before the recovery, and notify its process.
 * Return: its id; 0: there is none from @id on.
 */
static unsigned long notify_next_window(struct pavo_windows *all,
					unsigned long id)
{
	struct pavo_fifo_window *window;

	rcu_read_lock();
	window = xa_find(&all->table, &id, ULONG_MAX, XA_PRESENT);
	if (window) {
		pavo_held_recover(window);
		pavo_window_show_recoveries(window);
		raise_notice(window);
	}
	rcu_read_unlock();
	return window ? id : 0;
}

void pavo_windows_notify_recovery(struct pavo_windows *all)
{
	unsigned long id = 0;

	while ((id = notify_next_window(all, id + 1)))
		cond_resched();
}

/* ----------------------------------------------------------- early events */

void pavo_event_early(struct pavo_fifo_window *window, u32 n)
{
	/*
	 * Count the frames that have a slot but are not visible yet: a process that polls after
	 * its command does not find them.
	 */
	u32 under_way =
		window->recv.count - (u32)atomic_read_acquire(&window->written);

	window->early = 0;
	if (n && n <= under_way)
		pavo_window_event(window);
	else if (n)
		window->early = n - under_way;
}

bool pavo_event_slot(struct pavo_fifo_window *window)
{
	return window->early && !--window->early;
}

/* ------------------------------------------------------------ registering */

static int find_free_handler(const struct pavo_events *events)
{
	u32 number = find_first_zero_bit(events->registered, events->most);

	return number < events->most ? number : -ENOSPC;
}

int pavo_events_add(struct pavo_events *events, int fd)
{
	struct eventfd_ctx *ctx = eventfd_ctx_fdget(fd);
	int number;

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	spin_lock_bh(&events->lock);
	number = find_free_handler(events);
	if (number >= 0) {
		events->handler[number] = ctx;
		__set_bit(number, events->registered);
	}
	spin_unlock_bh(&events->lock);
	if (number < 0)
		eventfd_ctx_put(ctx);
	return number;
}

void pavo_events_wake(struct pavo_events *events, u32 number)
{
	spin_lock_bh(&events->lock);
	if (test_bit(number, events->registered))
		pavo_eventfd_signal(events->handler[number]);
	spin_unlock_bh(&events->lock);
}

int pavo_events_remove(struct pavo_events *events, u32 number)
{
	struct eventfd_ctx *ctx = NULL;

	if (number >= events->most)
		return -EINVAL;
	number = array_index_nospec(number, events->most);
	spin_lock_bh(&events->lock);
	if (__test_and_clear_bit(number, events->registered)) {
		swap(ctx, events->handler[number]);
		__clear_bit(number, events->ready);
		/* The handler may not have polled since its event: give the event to another. */
		if (__test_and_clear_bit(number, events->given) &&
		    !events->over)
			pavo_events_deliver(events);
	}
	spin_unlock_bh(&events->lock);
	if (!ctx)
		return -EINVAL;
	eventfd_ctx_put(ctx);
	return 0;
}

void pavo_events_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt)
{
	struct pavo_events *events = &window->events;

	spin_lock_bh(&events->lock);
	lmt->handlers = events->registered[0];
	lmt->handlers_ready = events->ready[0];
	lmt->event_kept = events->kept;
	spin_unlock_bh(&events->lock);
}
