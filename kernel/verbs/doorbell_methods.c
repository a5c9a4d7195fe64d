// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doorbell_methods.c - doorbell workers: threads of processes that take doorbells without a
 * kick, and the methods by which a process runs such a thread, and kicks.
 *
 * A worker is in a call of its process, so the scheduler charges its time to the process, and
 * a signal ends it like any thread. It is bounded by the idle limit, and yields its CPU to any
 * other task that waits for it. rings/worker.h has the flags that it shares with the process.
 *
 * rdma core waits for the calls of processes before it notifies a driver that an adapter is
 * being removed, and a worker's call does not end by itself. A client of rdma core is notified
 * before that: rdma core removes the clients of a device in the reverse order of their
 * registration, and this module registers after ib_uverbs, on which it depends.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "adapter.h"
#include "requester/requester.h"
#include "rings/ucontext.h"
#include "verbs/verbs.h"

#define UVERBS_MODULE_NAME pavo
#include <rdma/uverbs_named_ioctl.h>

static unsigned int poll_idle_max = USEC_PER_SEC;
module_param(poll_idle_max, uint, 0644);
MODULE_PARM_DESC(poll_idle_max,
		 "longest idle busy-poll of a doorbell worker, us (1000000)");

/* Workers of all contexts. The lock also protects changes of pavo_dev.leaving. */
static LIST_HEAD(workers);
static DEFINE_SPINLOCK(workers_lock);

/* us without doorbells until @worker sleeps; 0: it ends. */
static u32 get_idle_limit(const struct pavo_worker *worker)
{
	return min(READ_ONCE(worker->idle), READ_ONCE(poll_idle_max));
}

static bool must_worker_end(const struct pavo_dev *dev,
			    const struct pavo_worker *worker)
{
	return !get_idle_limit(worker) || READ_ONCE(dev->leaving) ||
	       signal_pending(current);
}

/* Take doorbells, and what other pages have. Return: true: there was any. */
static bool poll_ucontext(struct pavo_dev *dev, struct pavo_ucontext *uctx)
{
	bool found = pavo_requester_has_doorbells(uctx);

	if (found)
		pavo_requester_drain(dev, uctx);
	return pavo_worker_poll(dev, &uctx->worker) || found;
}

/*
 * Yield the CPU. A task that waits for it may be the one that is to ring. A worker may be awake
 * for days, so it reports a quiescent state to all kinds of RCU.
 */
static void yield_cpu(void)
{
	if (single_task_running()) {
		cond_resched_tasks_rcu_qs();
		cpu_relax();
	} else {
		schedule();
	}
}

/* Take doorbells until there were none for the idle limit, or the worker must end. */
static void poll_until_idle(struct pavo_dev *dev, struct pavo_ucontext *uctx)
{
	const struct pavo_worker *worker = &uctx->worker;
	u64 last = ktime_get_ns(), now;

	while (!must_worker_end(dev, worker)) {
		now = ktime_get_ns();
		if (poll_ucontext(dev, uctx))
			last = now;
		else if (now - last >=
			 (u64)get_idle_limit(worker) * NSEC_PER_USEC)
			return;
		yield_cpu();
	}
}

/* Sleep until a kick, or until the worker must end. */
static void sleep_until_kick(struct pavo_dev *dev, struct pavo_ucontext *uctx)
{
	struct pavo_worker *worker = &uctx->worker;

	pavo_worker_set(worker, PAVO_WORKER_ASLEEP);
	/* Doorbells of processes that saw the flag clear. */
	if (!poll_ucontext(dev, uctx))
		wait_event_interruptible(worker->wait,
					 READ_ONCE(worker->state) !=
							 PAVO_WORKER_ASLEEP ||
						 must_worker_end(dev, worker));
	pavo_worker_set(worker, PAVO_WORKER_AWAKE);
}

static int begin_worker(const struct pavo_dev *dev, struct pavo_worker *worker)
{
	int err = 0;

	spin_lock(&workers_lock);
	if (dev->leaving)
		err = -EIO;
	else if (!list_empty(&worker->list))
		err = -EBUSY;
	else
		list_add(&worker->list, &workers);
	spin_unlock(&workers_lock);
	return err;
}

static void end_worker(struct pavo_worker *worker)
{
	spin_lock(&workers_lock);
	list_del_init(&worker->list);
	spin_unlock(&workers_lock);
}

/* The reason why the worker has ended: 0, or an error for the process. */
static int get_end_reason(const struct pavo_dev *dev,
			  const struct pavo_worker *worker)
{
	if (!READ_ONCE(worker->idle))
		return 0;
	if (READ_ONCE(dev->leaving))
		return -EIO;
	return signal_pending(current) ? -ERESTARTSYS : -EPERM;
}

static int run_worker(struct pavo_dev *dev, struct pavo_ucontext *uctx)
{
	struct pavo_worker *worker = &uctx->worker;
	int err;

	err = begin_worker(dev, worker);
	if (err)
		return err;
	pavo_worker_set(worker, PAVO_WORKER_AWAKE);
	while (!must_worker_end(dev, worker)) {
		poll_until_idle(dev, uctx);
		if (!must_worker_end(dev, worker))
			sleep_until_kick(dev, uctx);
	}
	pavo_worker_set(worker, PAVO_WORKER_NONE);
	poll_ucontext(dev, uctx);
	end_worker(worker);
	return get_end_reason(dev, worker);
}

static int
UVERBS_HANDLER(PAVO_METHOD_DOORBELLS_KICK)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	struct pavo_ucontext *uctx;

	if (IS_ERR(context))
		return PTR_ERR(context);
	uctx = to_pavo_uctx(context);
	pavo_worker_wake(&uctx->worker);
	pavo_requester_drain(to_pavo_dev(context->device), uctx);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_DOORBELLS_RING)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	struct pavo_ucontext *uctx;
	struct pavo_dev *dev;
	u64 doorbell;
	int err;

	if (IS_ERR(context))
		return PTR_ERR(context);
	err = uverbs_copy_from(&doorbell, attrs, PAVO_ATTR_DOORBELLS_BELL);
	if (err)
		return err;
	uctx = to_pavo_uctx(context);
	dev = to_pavo_dev(context->device);
	if (!pavo_requester_takes(dev, uctx, doorbell))
		return -EINVAL;
	pavo_worker_wake(&uctx->worker);
	pavo_requester_ring(dev, uctx, doorbell);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_DOORBELLS_IDLE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);
	struct pavo_worker *worker;
	u32 idle;
	int err;

	if (IS_ERR(context))
		return PTR_ERR(context);
	err = uverbs_copy_from(&idle, attrs, PAVO_ATTR_DOORBELLS_IDLE);
	if (err)
		return err;
	if (idle && !READ_ONCE(poll_idle_max))
		return -EPERM;
	worker = &to_pavo_uctx(context)->worker;
	WRITE_ONCE(worker->idle, idle);
	wake_up(&worker->wait);
	return 0;
}

static int
UVERBS_HANDLER(PAVO_METHOD_DOORBELLS_POLL)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *context = ib_uverbs_get_ucontext(attrs);

	if (IS_ERR(context))
		return PTR_ERR(context);
	return run_worker(to_pavo_dev(context->device), to_pavo_uctx(context));
}

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_DOORBELLS_KICK);

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_DOORBELLS_RING,
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_DOORBELLS_BELL,
					       UVERBS_ATTR_TYPE(u64),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_DOORBELLS_IDLE,
			    UVERBS_ATTR_PTR_IN(PAVO_ATTR_DOORBELLS_IDLE,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY));

DECLARE_UVERBS_NAMED_METHOD(PAVO_METHOD_DOORBELLS_POLL);

DECLARE_UVERBS_GLOBAL_METHODS(PAVO_OBJECT_DOORBELLS,
			      &UVERBS_METHOD(PAVO_METHOD_DOORBELLS_KICK),
			      &UVERBS_METHOD(PAVO_METHOD_DOORBELLS_IDLE),
			      &UVERBS_METHOD(PAVO_METHOD_DOORBELLS_POLL),
			      &UVERBS_METHOD(PAVO_METHOD_DOORBELLS_RING));

const struct uapi_definition pavo_verbs_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE_NAMED(PAVO_OBJECT_DOORBELLS),
#ifdef CONFIG_MMU_NOTIFIER
	UAPI_DEF_CHAIN(pavo_watch_defs),
#endif
	{},
};

static struct pavo_dev *find_own_dev(struct ib_device *ibdev)
{
	return ibdev->ops.owner == THIS_MODULE ? to_pavo_dev(ibdev) : NULL;
}

/* An adapter was registered, or has moved to another namespace: allow workers. */
static int add_device(struct ib_device *ibdev)
{
	struct pavo_dev *dev = find_own_dev(ibdev);

	if (!dev)
		return -EOPNOTSUPP;
	spin_lock(&workers_lock);
	WRITE_ONCE(dev->leaving, false);
	spin_unlock(&workers_lock);
	return 0;
}

/* The device is being removed: end its workers, and allow no more. */
static void remove_device(struct ib_device *ibdev, void *data)
{
	struct pavo_dev *dev = find_own_dev(ibdev);
	struct pavo_worker *worker;

	spin_lock(&workers_lock);
	WRITE_ONCE(dev->leaving, true);
	list_for_each_entry(worker, &workers, list)
		wake_up(&worker->wait);
	spin_unlock(&workers_lock);
}

static struct ib_client client = {
	.name = "pavo",
	.add = add_device,
	.remove = remove_device,
};

int pavo_workers_init(void)
{
	return ib_register_client(&client);
}

void pavo_workers_exit(void)
{
	ib_unregister_client(&client);
}
