/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * deferred_free.h - runs a function after a grace period, in process context, without a caller that
 * waits: frees objects when no RCU section can see them any more.
 */
#ifndef PAVO_DEFERRED_FREE_H
#define PAVO_DEFERRED_FREE_H

#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct pavo_deferred_free - a function to run; embedded in the object that ends.
 * @work: runs it
 * @act:  the function
 */
struct pavo_deferred_free {
	struct rcu_work work;
	void (*act)(struct pavo_deferred_free *deferred);
};

int pavo_deferred_free_init(void);
void pavo_deferred_free_exit(void);

/**
 * pavo_deferred_free - queue a function to be called after a grace period that begins now.
 * @deferred: embedded in the object
 * @act:      the function; it may free @deferred
 *
 * Does not wait.
 *
 * Context: process.
 */
void pavo_deferred_free(struct pavo_deferred_free *deferred,
			void (*act)(struct pavo_deferred_free *deferred));

/** pavo_deferred_free_pending - true if a function has not returned yet. */
bool pavo_deferred_free_pending(void);

/** pavo_deferred_free_flush - wait until all functions have returned. Sleeps. */
void pavo_deferred_free_flush(void);

#endif /* PAVO_DEFERRED_FREE_H */
