// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * window_round.c - a window as a DRR queue of its adapter (round.h): all that it sends counts.
 *
 * Called by the worker of the window (send.c), and where a window is made and shut. A window that
 * waits for its round keeps its bit among the active ones, and workers pass it over.
 */
#include "round.h"
#include "window/rdma.h"

/* Windows have no service level. */
#define WINDOW_LEVEL 0

/* DRR has scheduled it, or the policy has changed. Under drr_lock. */
static void run_window_queue(struct pavo_drr_queue *queue)
{
	struct pavo_fifo_window *window =
		container_of(queue, struct pavo_fifo_window, drr);

	WRITE_ONCE(window->waits_round, false);
	pavo_window_wake(window->dev->windows);
}

void pavo_window_round_init(struct pavo_fifo_window *window)
{
	pavo_drr_queue_init(&window->drr, PAVO_KIND_REQUESTS,
			    READ_ONCE(window->dev->drr.quantum));
	window->drr.run = run_window_queue;
}

void pavo_window_round_leave(struct pavo_fifo_window *window)
{
	pavo_round_leave(window->dev, &window->drr);
	WRITE_ONCE(window->waits_round, false);
}

/* True if the window may send; else it is in the list, and no worker comes before its round. */
static bool request_round(struct pavo_fifo_window *window)
{
	u32 may;

	/* Before it may be scheduled, which clears this. */
	WRITE_ONCE(window->waits_round, true);
	may = pavo_round_take(window->dev, &window->drr, PAVO_POOL_NONE, 1,
			      WINDOW_LEVEL);
	/* A worker that came as it began to wait may find that it is scheduled already. */
	if (may || READ_ONCE(window->drr.scheduled))
		WRITE_ONCE(window->waits_round, false);
	/* A window that is shut is in no list: no worker would come when its round begins. */
	else if (READ_ONCE(window->closed))
		pavo_window_round_leave(window);
	return may;
}

bool pavo_window_round_begin(struct pavo_fifo_window *window)
{
	if (likely(!READ_ONCE(window->dev->drr.on) &&
		   !READ_ONCE(window->drr.active))) {
		window->drr.spent = 0;
		return true;
	}
	pavo_round_begin(window->dev, &window->drr);
	return request_round(window);
}

/*
 * The work manager sends the rest of the round, too: the caller may be a process that gets no CPU
 * for long, and others wait meanwhile.
 */
void pavo_window_round_end(struct pavo_fifo_window *window, bool more)
{
	struct pavo_dev *dev = window->dev;

	if (likely(!READ_ONCE(window->drr.active)))
		return;
	/* Now, not when a worker comes again: others would have the adapter alone until then. */
	more = more && request_round(window);
	pavo_round_end(dev, &window->drr, more);
	if (more && READ_ONCE(dev->drr.serving) == &window->drr)
		pavo_window_wake(dev->windows);
}
