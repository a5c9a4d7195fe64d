/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * later.h - runs a function after a grace period, so that no caller has to wait for one:
 * frees objects when no RCU section can see them any more.
 */
#ifndef PAVO_LATER_H
#define PAVO_LATER_H

#include <linux/types.h>
#include <linux/workqueue.h>

/**
 * struct pavo_later - a function to run; embedded in the object that ends.
 * @work: runs it
 * @act:  the function
 */
struct pavo_later {
	struct rcu_work work;
	void (*act)(struct pavo_later *later);
};

int pavo_later_init(void);
void pavo_later_exit(void);

/**
 * pavo_later - call a function in process context, after a grace period that begins now.
 * @later: embedded in the object
 * @act:   the function; it may free @later
 *
 * Does not wait. Context: process.
 */
void pavo_later(struct pavo_later *later,
		void (*act)(struct pavo_later *later));

/** pavo_later_pending - has a function not run yet? */
bool pavo_later_pending(void);

/** pavo_later_settle - wait until all functions have run. Sleeps. */
void pavo_later_settle(void);

#endif /* PAVO_LATER_H */
