// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * worker.c - the state of a doorbell worker, and the flags by which the process reads it; see
 * worker.h.
 *
 * Called by verbs/ for ucontexts and their workers, and by parts of the module for pages of theirs.
 * The process may write to the flags, too: the module reads none of them.
 */
#include <linux/rculist.h>
#include <linux/sched.h>
#include "rings/worker.h"

void pavo_worker_init(struct pavo_worker *worker, u32 *flags, u32 flag)
{
	spin_lock_init(&worker->lock);
	worker->state = PAVO_WORKER_NONE;
	worker->idle = 0;
	worker->flags = flags;
	worker->flag = flag;
	INIT_LIST_HEAD(&worker->pages);
	worker->count = 0;
	worker->poll_pages = NULL;
	init_waitqueue_head(&worker->wait);
	INIT_LIST_HEAD(&worker->list);
	WRITE_ONCE(*flags, flag);
}

/* The flags of a page for the present state. Lock held. */
static u32 get_worker_flags(const struct pavo_worker *worker)
{
	return worker->state == PAVO_WORKER_AWAKE ? 0 : worker->flag;
}

/* Set the state, and the flags of all pages. Lock held. */
static void set_worker_state(struct pavo_worker *worker, u32 state)
{
	struct pavo_worker_page *page;

	WRITE_ONCE(worker->state, state);
	WRITE_ONCE(*worker->flags, get_worker_flags(worker));
	list_for_each_entry(page, &worker->pages, list)
		WRITE_ONCE(*page->flags, get_worker_flags(worker));
}

void pavo_worker_set(struct pavo_worker *worker, u32 state)
{
	spin_lock(&worker->lock);
	set_worker_state(worker, state);
	spin_unlock(&worker->lock);
	/*
	 * Pairs with the barrier of a process between its doorbell and its read of the flag: it
	 * sees the flag, or the worker sees the doorbell.
	 */
	smp_mb();
}

void pavo_worker_call(struct pavo_worker *worker)
{
	spin_lock(&worker->lock);
	if (worker->state == PAVO_WORKER_ASLEEP) {
		set_worker_state(worker, PAVO_WORKER_AWAKE);
		wake_up(&worker->wait);
	}
	spin_unlock(&worker->lock);
}

void pavo_worker_add(struct pavo_worker *worker, struct pavo_worker_page *page,
		     u32 *flags, pavo_worker_poller *poll)
{
	INIT_LIST_HEAD(&page->list);
	page->flags = flags;
	page->worker = worker;
	spin_lock(&worker->lock);
	WRITE_ONCE(worker->poll_pages, poll);
	if (worker->count < PAVO_WORKER_PAGES) {
		worker->count++;
		list_add_tail_rcu(&page->list, &worker->pages);
		WRITE_ONCE(*flags, get_worker_flags(worker));
	} else {
		WRITE_ONCE(*flags, worker->flag);
	}
	spin_unlock(&worker->lock);
}

void pavo_worker_remove(struct pavo_worker_page *page)
{
	struct pavo_worker *worker = page->worker;

	if (!worker)
		return;
	spin_lock(&worker->lock);
	if (!list_empty(&page->list)) {
		worker->count--;
		list_del_rcu(&page->list);
		WRITE_ONCE(*page->flags, worker->flag);
	}
	page->worker = NULL;
	spin_unlock(&worker->lock);
}
