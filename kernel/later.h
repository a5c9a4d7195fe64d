/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * later.h - what is to be done when no RCU section can see something any
 * more, so that no caller has to wait for that.
 */
#ifndef PAVO_LATER_H
#define PAVO_LATER_H

#include <linux/types.h>
#include <linux/workqueue.h>

/** struct pavo_later - one such thing; part of what is to end. */
struct pavo_later {
	struct rcu_work work;
	void (*act)(struct pavo_later *later);
};

int pavo_later_init(void);
void pavo_later_exit(void);

/**
 * pavo_later - call @act in process context, after a grace period that begins now. It may
 * free @later. Does not wait. Context: process.
 */
void pavo_later(struct pavo_later *later,
		void (*act)(struct pavo_later *later));

/** pavo_later_pending - is there anything that was not done yet? */
bool pavo_later_pending(void);

/** pavo_later_settle - all that was to be done is done. Sleeps. */
void pavo_later_settle(void);

#endif /* PAVO_LATER_H */
