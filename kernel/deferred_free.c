// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * deferred_free.c - runs functions after a grace period; see deferred_free.h. Called by main.c and
 * by parts of the module. A caller that lacks memory or ids may wait for the functions that free
 * them.
 */
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include "deferred_free.h"

static struct workqueue_struct *deferred_free_wq;
static atomic_t pending;

int pavo_deferred_free_init(void)
{
	deferred_free_wq = alloc_workqueue("pavo_deferred_free", WQ_UNBOUND, 0);
	return deferred_free_wq ? 0 : -ENOMEM;
}

void pavo_deferred_free_exit(void)
{
	pavo_deferred_free_flush();
	destroy_workqueue(deferred_free_wq);
}

static void run_deferred_free(struct work_struct *work)
{
	struct pavo_deferred_free *deferred;

	deferred = container_of(to_rcu_work(work), struct pavo_deferred_free,
				work);
	deferred->act(deferred);
	/* Pairs with pavo_deferred_free_pending(): its caller sees what @act has freed. */
	smp_mb__before_atomic();
	atomic_dec(&pending);
}

void pavo_deferred_free(struct pavo_deferred_free *deferred,
			void (*act)(struct pavo_deferred_free *deferred))
{
	deferred->act = act;
	INIT_RCU_WORK(&deferred->work, run_deferred_free);
	atomic_inc(&pending);
	queue_rcu_work(deferred_free_wq, &deferred->work);
}

bool pavo_deferred_free_pending(void)
{
	return atomic_read_acquire(&pending);
}

void pavo_deferred_free_flush(void)
{
	/* Wait until each one is queued as a work, then until the works have run. */
	rcu_barrier();
	flush_workqueue(deferred_free_wq);
}
