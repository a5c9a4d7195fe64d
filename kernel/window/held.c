// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * held.c - counters of windows, and requests that are held for them
 * (sources.md#windows-conditional). condition.h decides; this carries out.
 *
 * send.c's worker takes frames CONDITIONAL and COUNTER_*, and the frames that are held. actions.c
 * counts the ends of operations, under the rCxt's lock, in which the window's nests. A condition
 * that becomes ready there is left to a worker, since its requests take the locks of other rCxts.
 */
#include <linux/slab.h>
#include "window/rdma.h"

int pavo_held_init(struct pavo_fifo_window *window)
{
	const u32 frames = window->send.mask + 1;

	window->conditions =
		kvzalloc(pavo_conditions_size(frames), GFP_KERNEL_ACCOUNT);
	if (!window->conditions)
		return -ENOMEM;
	pavo_conditions_init(window->conditions, frames);
	return 0;
}

void pavo_held_destroy(struct pavo_fifo_window *window)
{
	kvfree(window->conditions);
}

/* ------------------------------------------------------------- for a worker */

/* Has a worker anything to do? It has not if the process has no slot for its frame. Locked. */
static bool has_held_work(const struct pavo_fifo_window *window)
{
	const struct pavo_conditions *c = window->conditions;

	return pavo_conditions_is_ready(c) ||
	       (c->unreported && window->recv.avail);
}

bool pavo_held_activate(struct pavo_fifo_window *window)
{
	if (window->closed || !has_held_work(window))
		return false;
	set_bit(window->id, window->dev->windows->active);
	return true;
}

/* Wake a worker if the event made a condition ready. Locked. */
static void wake_for_held(struct pavo_fifo_window *window)
{
	if (pavo_held_activate(window))
		pavo_window_wake(window->dev->windows);
}

/* ------------------------------------------------------------------ frames */

u32 pavo_held_begin(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number)
{
	u32 state;

	spin_lock(&window->lock);
	state = pavo_conditions_begin(window->conditions, line, number);
	spin_unlock(&window->lock);
	return state;
}

u32 pavo_held_take(struct pavo_fifo_window *window,
		   const struct pavo_frame_line *line, u32 number)
{
	u32 all = number, state;

	spin_lock(&window->lock);
	state = pavo_conditions_take(window->conditions, line, number, &all);
	spin_unlock(&window->lock);
	if (state == PAVO_FRAME_HELD)
		pavo_count(window->dev, window_held);
	if (all != number)
		pavo_frame_mark(window, all, PAVO_FRAME_SENT);
	return state;
}

/* Bind an rCxt to a counter; 0: to none. Return: enum pavo_frame_state. */
static u32 bind_rcxt(struct pavo_fifo_window *window, u32 id, u8 counter)
{
	struct pavo_rcxt *rcxt = pavo_rcxt_find(window, id);
	bool owned;

	if (!rcxt)
		return PAVO_FRAME_BAD_RCXT;
	spin_lock(&rcxt->lock);
	owned = pavo_rcxt_owned(window, rcxt, id);
	if (owned)
		rcxt->op.bound = counter;
	spin_unlock(&rcxt->lock);
	return owned ? PAVO_FRAME_SENT : PAVO_FRAME_BAD_RCXT;
}

u32 pavo_counter_set(struct pavo_fifo_window *window,
		     const struct pavo_frame_line *line, u32 number)
{
	struct pavo_counter_request request;
	u32 state = pavo_counter_check(line, &request);

	if (state)
		return state;
	if (request.flags & PAVO_COUNTER_BIND)
		return bind_rcxt(window, request.rcxt, request.counter + 1);
	spin_lock(&window->lock);
	pavo_conditions_set(window->conditions, request.counter, request.value);
	spin_unlock(&window->lock);
	return PAVO_FRAME_SENT;
}

u32 pavo_counter_clear(struct pavo_fifo_window *window,
		       const struct pavo_frame_line *line, u32 number)
{
	struct pavo_counter_request request;
	u32 state = pavo_counter_check(line, &request);

	if (state)
		return state;
	if (request.flags & PAVO_COUNTER_BIND)
		return bind_rcxt(window, request.rcxt, 0);
	spin_lock(&window->lock);
	if (request.flags & PAVO_COUNTER_CANCEL)
		pavo_conditions_cancel(window->conditions, request.counter);
	pavo_conditions_set(window->conditions, request.counter, 0);
	spin_unlock(&window->lock);
	return PAVO_FRAME_SENT;
}

/* Give the process the value of a counter. Return: 0; -ENOSPC. */
static int put_value(struct pavo_fifo_window *window,
		     const struct pavo_counter_value *value)
{
	const struct pavo_put put = {
		.type = PAVO_FRAME_COUNTER_VALUE,
		.node = window->node,
		.window = window->id,
		.head = value,
		.head_len = sizeof(*value),
	};

	return pavo_window_put(window, &put);
}

u32 pavo_counter_query(struct pavo_fifo_window *window,
		       const struct pavo_frame_line *line, u32 number)
{
	struct pavo_counter_request request;
	struct pavo_counter_value value;
	u32 state = pavo_counter_check(line, &request);

	if (state)
		return state;
	spin_lock(&window->lock);
	value = pavo_conditions_value(window->conditions, request.counter);
	spin_unlock(&window->lock);
	value.cookie = request.cookie;
	return put_value(window, &value) ? PAVO_FRAME_NOT_SENT :
					   PAVO_FRAME_SENT;
}

/* ------------------------------------------------------------------ events */

void pavo_held_count(struct pavo_fifo_window *window, u32 counter, bool ok)
{
	spin_lock(&window->lock);
	if (ok)
		pavo_conditions_count(window->conditions, counter);
	else
		pavo_conditions_fail(window->conditions, counter);
	wake_for_held(window);
	spin_unlock(&window->lock);
}

void pavo_held_refused(struct pavo_fifo_window *window, u8 counter, u32 state)
{
	if (counter && counter <= PAVO_WINDOW_COUNTERS &&
	    pavo_frame_has_failed(state))
		pavo_held_count(window, counter - 1, false);
}

void pavo_held_recover(struct pavo_fifo_window *window)
{
	spin_lock_bh(&window->lock);
	pavo_conditions_fail_all(window->conditions);
	wake_for_held(window);
	spin_unlock_bh(&window->lock);
}

void pavo_held_cancel(struct pavo_fifo_window *window, u32 rcxt)
{
	spin_lock_bh(&window->lock);
	pavo_conditions_cancel_rcxt(window->conditions, rcxt);
	wake_for_held(window);
	spin_unlock_bh(&window->lock);
}

void pavo_held_dead(struct pavo_fifo_window *window)
{
	pavo_conditions_end(window->conditions);
	wake_for_held(window);
}

/* --------------------------------------------------------------- the worker */

/* Take the next request that is ready. Return: 0; -ENOENT: there is none. */
static int take_ready_frame(struct pavo_fifo_window *window,
			    struct pavo_held *held, u32 *mark)
{
	int err;

	spin_lock_bh(&window->lock);
	err = pavo_conditions_next(window->conditions, held, mark);
	if (!err && !*mark && (window->closed || window->dead))
		*mark = PAVO_FRAME_DEAD;
	spin_unlock_bh(&window->lock);
	return err;
}

/* Carry out a request, or mark its frame. RCU read side, BH disabled. */
static void finish_held(struct pavo_fifo_window *window,
			const struct pavo_held *held, u32 mark)
{
	if (mark)
		pavo_held_refused(window, pavo_request_counter(&held->line),
				  mark);
	else
		mark = pavo_rdma_request(window, &held->line, held->number);
	if (mark)
		pavo_frame_mark(window, held->number, mark);
	if (mark == PAVO_FRAME_CANCELLED)
		pavo_count(window->dev, window_held_cancelled);
}

/*
 * A packet took the last free slot before the frame about that counter: notify the process later.
 * It may have freed slots since.
 */
static void retry_report(struct pavo_fifo_window *window, u32 counter)
{
	spin_lock(&window->lock);
	pavo_conditions_unreport(window->conditions, counter);
	wake_for_held(window);
	spin_unlock(&window->lock);
}

/* Notify the process of cancelled requests, as far as it has slots; the rest later. */
static void report_cancelled(struct pavo_fifo_window *window)
{
	struct pavo_counter_value value;
	u32 n;
	bool any;

	for (n = 0; n < PAVO_WINDOW_COUNTERS; n++) {
		spin_lock(&window->lock);
		any = window->recv.avail && !window->closed &&
		      !pavo_conditions_unreported(window->conditions, &value);
		if (any)
			pavo_conditions_reported(window->conditions,
						 value.counter);
		spin_unlock(&window->lock);
		if (!any)
			return;
		if (put_value(window, &value)) {
			retry_report(window, value.counter);
			return;
		}
	}
}

u32 pavo_held_send(struct pavo_fifo_window *window, u32 budget)
{
	struct pavo_held held;
	u32 mark, n;

	for (n = 0; n < budget && !take_ready_frame(window, &held, &mark); n++)
		finish_held(window, &held, mark);
	if (READ_ONCE(window->conditions->unreported))
		report_cancelled(window);
	return n;
}

void pavo_held_end(struct pavo_fifo_window *window)
{
	struct pavo_held held;
	u32 mark;

	while (!take_ready_frame(window, &held, &mark)) {
		pavo_frame_mark(window, held.number, mark);
		cond_resched();
	}
}
