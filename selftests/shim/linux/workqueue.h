/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* workqueue.h - works wait in one queue, in order; the engine runs them when it comes to rest. */
#ifndef PAVO_SHIM_WORKQUEUE_H
#define PAVO_SHIM_WORKQUEUE_H

#include <linux/list.h>
#include <linux/spinlock.h>

struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	work_func_t func;
	struct list_head queued; /* in the queue, or empty */
};

struct delayed_work {
	struct work_struct work;
};

struct rcu_work {
	struct work_struct work;
};

struct workqueue_struct;

struct completion {
	bool done;
};

bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool cancel_work_sync(struct work_struct *work);
bool flush_work(struct work_struct *work);
void wait_for_completion(struct completion *completion);

#define queue_work_on(cpu, wq, work) queue_work(wq, work)
#define INIT_WORK(work, function)                \
	do {                                     \
		(work)->func = (function);       \
		INIT_LIST_HEAD(&(work)->queued); \
	} while (0)
#define DECLARE_COMPLETION_ONSTACK(name) struct completion name = {}

static inline void complete(struct completion *completion)
{
	completion->done = true;
}

#endif /* PAVO_SHIM_WORKQUEUE_H */
