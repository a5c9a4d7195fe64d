// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * later.c - runs functions after a grace period; see later.h. Called by window/ and
 * translate/. A caller that needs what they give back may wait for them.
 */
#include <linux/atomic.h>
#include <linux/rcupdate.h>
#include "later.h"

static struct workqueue_struct *later_wq;
static atomic_t pending;

int pavo_later_init(void)
{
	later_wq = alloc_workqueue("pavo_later", WQ_UNBOUND, 0);
	return later_wq ? 0 : -ENOMEM;
}

void pavo_later_exit(void)
{
	pavo_later_settle();
	destroy_workqueue(later_wq);
}

static void run(struct work_struct *work)
{
	struct pavo_later *later =
		container_of(to_rcu_work(work), struct pavo_later, work);

	later->act(later);
	/* Pairs with pavo_later_pending(): its caller can take what @act gave back. */
	smp_mb__before_atomic();
	atomic_dec(&pending);
}

void pavo_later(struct pavo_later *later, void (*act)(struct pavo_later *later))
{
	later->act = act;
	INIT_RCU_WORK(&later->work, run);
	atomic_inc(&pending);
	queue_rcu_work(later_wq, &later->work);
}

bool pavo_later_pending(void)
{
	return atomic_read_acquire(&pending);
}

void pavo_later_settle(void)
{
	/* Wait until each is queued as a work, then until the works are done. */
	rcu_barrier();
	flush_workqueue(later_wq);
}
