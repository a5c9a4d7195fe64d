/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * worker.h - state of the doorbell worker of a ucontext: the pages that it polls, each with a
 * flag that says whether a process that wrote to the page has to make a system call (kick).
 *
 * The worker is a thread of the process (verbs/doorbell_methods.c). While it polls the pages, the
 * flags are clear. Before it sleeps it sets them, and polls once more.
 */
#ifndef PAVO_RINGS_WORKER_H
#define PAVO_RINGS_WORKER_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

struct pavo_dev;
struct pavo_worker;

/** Most pages that a worker polls beside that of doorbells; the flags of others stay set. */
#define PAVO_WORKER_PAGES 64

/** enum pavo_worker_state - state of the worker of a ucontext. */
enum pavo_worker_state {
	PAVO_WORKER_NONE, /* there is none */
	PAVO_WORKER_AWAKE, /* it polls the pages: their flags are clear */
	PAVO_WORKER_ASLEEP, /* a kick wakes it */
};

/* Polls all pages of a worker. Return: true: a process had written to one. Context: process. */
typedef bool pavo_worker_poller(struct pavo_dev *dev,
				struct pavo_worker *worker);

/**
 * struct pavo_worker - state of the doorbell worker of a ucontext, which may have none.
 * @lock:  protects @state with the flags of all pages, @pages and @count
 * @state: enum pavo_worker_state; written under @lock
 * @idle:  us without doorbells after which it sleeps, set by the process; 0: it ends
 * @flags: word of the doorbell page
 * @flag:  bit of the words: the process has to kick
 * @pages: of struct pavo_worker_page, read under RCU
 * @count: entries of @pages
 * @poll_pages: takes what the process has written to @pages; NULL: there was none yet
 * @wait:  wait queue of the sleeping worker
 * @list:  in verbs/doorbell_methods.c's list, while there is a worker
 */
struct pavo_worker {
	spinlock_t lock; /* state with the flags, pages */
	u32 state;
	u32 idle;
	u32 *flags;
	u32 flag;
	struct list_head pages;
	u32 count;
	pavo_worker_poller *poll_pages;
	wait_queue_head_t wait;
	struct list_head list;
};

/**
 * struct pavo_worker_page - one more page that a worker polls.
 * @list:   in the worker's list; empty if it does not poll this page
 * @flags:  word of the page
 * @worker: the worker
 */
struct pavo_worker_page {
	struct list_head list;
	u32 *flags;
	struct pavo_worker *worker;
};

/**
 * pavo_worker_init - set the state to "no worker", and set the flag.
 * @worker: of the ucontext
 * @flags:  word of the doorbell page
 * @flag:   bit of all pages' words
 */
void pavo_worker_init(struct pavo_worker *worker, u32 *flags, u32 flag);

/**
 * pavo_worker_set - change the state, and the flags of all pages with it.
 * @worker: the worker
 * @state:  enum pavo_worker_state
 *
 * A full barrier follows the change. A caller that polls the pages after that sees the doorbells
 * of each process that has read the old flag.
 *
 * Context: process.
 */
void pavo_worker_set(struct pavo_worker *worker, u32 state);

/** pavo_worker_call - wake a worker that sleeps. Process context; called by pavo_worker_wake(). */
void pavo_worker_call(struct pavo_worker *worker);

/**
 * pavo_worker_wake - wake the worker, if it sleeps, after a kick.
 * @worker: of the ucontext
 *
 * The flags are clear when this returns, so the next doorbell needs no kick.
 *
 * Context: process.
 */
static inline void pavo_worker_wake(struct pavo_worker *worker)
{
	if (READ_ONCE(worker->state) == PAVO_WORKER_ASLEEP)
		pavo_worker_call(worker);
}

/**
 * pavo_worker_add - add a page to those that the worker of a ucontext polls, also a future one.
 * @worker: of the ucontext
 * @page:   zeroed
 * @flags:  word of the page
 * @poll:   for this page and all others of the worker
 *
 * If there are PAVO_WORKER_PAGES already, the page is not polled and its flag stays set.
 *
 * Context: process.
 */
void pavo_worker_add(struct pavo_worker *worker, struct pavo_worker_page *page,
		     u32 *flags, pavo_worker_poller *poll);

/** pavo_worker_poll - poll the pages, if there are any. */
static inline bool pavo_worker_poll(struct pavo_dev *dev,
				    struct pavo_worker *worker)
{
	/* It is set before a page is in the list, and does not change after that. */
	pavo_worker_poller *poll = READ_ONCE(worker->poll_pages);

	return poll && poll(dev, worker);
}

/**
 * pavo_worker_remove - remove a page from those that the worker polls, and set its flag.
 * @page: of pavo_worker_add(), or zeroed
 *
 * A worker in an RCU section may still read it.
 *
 * Context: process.
 */
void pavo_worker_remove(struct pavo_worker_page *page);

#endif /* PAVO_RINGS_WORKER_H */
