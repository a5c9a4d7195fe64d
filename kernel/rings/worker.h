/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * worker.h - the doorbell worker of a ucontext, as the memory that it shares with its process
 * shows it: pages with a flag that says whether a process that wrote to them has to call.
 *
 * The worker is a thread of the process (verbs/doorbell_methods.c). While it looks at the pages, the flags
 * are clear. Before it sleeps it sets them, and looks once more.
 */
#ifndef PAVO_RINGS_WORKER_H
#define PAVO_RINGS_WORKER_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

/** Pages beside that of doorbells that a worker looks at; the flags of others stay set. */
#define PAVO_WORKER_PAGES 64

/** enum pavo_worker_state - what the worker of a ucontext does. */
enum pavo_worker_state {
	PAVO_WORKER_NONE, /* there is none */
	PAVO_WORKER_AWAKE, /* it looks at the pages: their flags are clear */
	PAVO_WORKER_ASLEEP, /* a kick wakes it */
};

/**
 * struct pavo_worker - the doorbell worker of a ucontext, or the room for one.
 * @lock:  protects @state with the flags of all pages, @pages and @count
 * @state: enum pavo_worker_state; written under @lock
 * @idle:  us without doorbells after which it sleeps, as the process asked for; 0: it ends
 * @flags: word of the doorbell page
 * @flag:  its bit that tells the process to kick
 * @pages: of struct pavo_worker_page, read under RCU
 * @count: how many they are
 * @wait:  where it sleeps
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
	wait_queue_head_t wait;
	struct list_head list;
};

/**
 * struct pavo_worker_page - one more page that a worker looks at.
 * @list:   in the worker's list; empty if it does not look at this page
 * @flags:  word of the page
 * @worker: the worker
 */
struct pavo_worker_page {
	struct list_head list;
	u32 *flags;
	struct pavo_worker *worker;
};

/**
 * pavo_worker_init - prepare the room for a worker. There is none yet, and the flag is set.
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
 * A full barrier is behind the change: a caller that looks at the pages next sees all that
 * processes wrote which have found a flag as it was before. Context: process.
 */
void pavo_worker_set(struct pavo_worker *worker, u32 state);

/** pavo_worker_call - wake a worker that sleeps. Process context; called by pavo_worker_wake(). */
void pavo_worker_call(struct pavo_worker *worker);

/**
 * pavo_worker_wake - a process has kicked: wake the worker, if it sleeps.
 * @worker: of the ucontext
 *
 * The flags are clear when this returns, so the next doorbell needs no kick. Context: process.
 */
static inline void pavo_worker_wake(struct pavo_worker *worker)
{
	if (READ_ONCE(worker->state) == PAVO_WORKER_ASLEEP)
		pavo_worker_call(worker);
}

/**
 * pavo_worker_add - have the worker look at one more page, present and future workers alike.
 * @worker: of the ucontext
 * @page:   zeroed
 * @flags:  word of the page
 *
 * With PAVO_WORKER_PAGES pages there already, sets the flag for good. Context: process.
 */
void pavo_worker_add(struct pavo_worker *worker, struct pavo_worker_page *page,
		     u32 *flags);

/**
 * pavo_worker_remove - take a page from the worker and set its flag.
 * @page: of pavo_worker_add(), or zeroed
 *
 * A worker in an RCU section may still look at it. Context: process.
 */
void pavo_worker_remove(struct pavo_worker_page *page);

#endif /* PAVO_RINGS_WORKER_H */
