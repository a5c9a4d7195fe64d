// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pager.c - threads that wait for pages; see pager.h.
 *
 * Called by odp.c. Each process with memory on demand has a pager, and that at least one
 * thread; as long as faults wait there may be more of them, up to a bound. The machine's
 * pagers and their faults are under one lock, which nothing is done in.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "memory/memory.h"
#include "memory/pager.h"
#include "memory/holder.h"
#include "reached.h"

/* Faults of one process that are served at a time; the rest wait for their turn. */
#define THREADS 4
/* How long a thread beyond the first waits for more. */
#define LINGER HZ

/**
 * struct pavo_pager - threads of one process's memory.
 * @list:    in the list of all
 * @mm:      whose memory; mmgrab()
 * @users:   pieces of memory. At 0 the threads end, and the last frees it.
 * @threads: that there are, or are being started
 * @idle: those that wait for a fault
 * @starting: one that has not begun yet, and may not come to be
 * @waiting: faults that no thread serves yet
 * @serving: those that one does
 * @wait:    where threads wait
 * @grow:    starts another thread
 */
struct pavo_pager {
	struct list_head list;
	struct mm_struct *mm;
	unsigned int users;
	unsigned int threads;
	unsigned int idle;
	unsigned int starting;
	struct list_head waiting;
	struct list_head serving;
	wait_queue_head_t wait;
	struct work_struct grow;
};

static struct workqueue_struct *grow_wq;
static LIST_HEAD(pagers);
/* All pagers, faults, and what sides know of them. BH: packets ask for pages. */
static DEFINE_SPINLOCK(lock);

/* Threads begun, and their ends; each is waited for when the module goes. */
static atomic_t begun;
static DECLARE_COMPLETION(ended);

/* No thread of it is there or will be. */
static void free_pager(struct pavo_pager *pager)
{
	mmdrop(pager->mm);
	kfree(pager);
}

/* The side goes on. Lock held. */
static void tell_side(struct pavo_fault *fault, int err)
{
	struct pavo_missing *missing = fault->missing;

	if (err) {
		rcu_read_lock(); /* for the counter */
		pavo_tally_add(fault->holder->tally, odp_fault_errors, 1);
		rcu_read_unlock();
	}
	missing->fault = NULL;
	/* Pairs with the acquire in pavo_side_waits(). */
	smp_store_release(&missing->state,
			  err ? PAVO_MISSING_FAILED : PAVO_MISSING_NONE);
	queue_work(fault->holder->dev->wq, &fault->holder->work);
}

/* It is over. Not under the lock. */
static void end_fault(struct pavo_fault *fault, int err)
{
	spin_lock_bh(&lock);
	list_del(&fault->list);
	fault->thread = NULL;
	if (fault->missing)
		tell_side(fault, err);
	spin_unlock_bh(&lock);
	pavo_odp_put(fault->odp);
	kfree(fault);
}

/* The next fault, or NULL: there is none. Lock held. */
static struct pavo_fault *take_fault(struct pavo_pager *pager)
{
	struct pavo_fault *fault;

	fault = list_first_entry_or_null(&pager->waiting, struct pavo_fault,
					 list);
	if (fault) {
		fault->thread = current;
		list_move(&fault->list, &pager->serving);
	}
	return fault;
}

/*
 * Some waits in a fault end by no signal: a FUSE server has taken the request and is silent.
 * Nothing but the thread waits then, and the module stays in use, or it would be unloaded
 * under the thread.
 */
static int serve_fault(const struct pavo_fault *fault)
{
	int err;

	if (!try_module_get(THIS_MODULE))
		return -ECANCELED;
	err = pavo_odp_fault(fault);
	module_put(THIS_MODULE);
	return err;
}

static void serve_all(struct pavo_pager *pager)
{
	struct pavo_fault *fault;

	for (;;) {
		spin_lock_bh(&lock);
		fault = take_fault(pager);
		spin_unlock_bh(&lock);
		if (!fault)
			return;
		end_fault(fault, serve_fault(fault));
		/* It was for that fault alone. */
		flush_signals(current);
		cond_resched();
	}
}

/* Is there anything to do for a thread that waits? */
static bool is_called(const struct pavo_pager *pager)
{
	return !list_empty_careful(&pager->waiting) || !READ_ONCE(pager->users);
}

/* Shall this thread go? Lock held. */
static bool is_spare(const struct pavo_pager *pager, bool lingered)
{
	if (!list_empty(&pager->waiting))
		return false;
	return !pager->users ||
	       (lingered && pager->threads - pager->starting > 1);
}

/* One thread less. Return: it was the last, and the pager is to be freed. Lock held. */
static bool leave(struct pavo_pager *pager)
{
	return !--pager->threads && !pager->users;
}

static int pager_thread(void *data)
{
	struct pavo_pager *pager = data;
	bool lingered = false, last, seen;

	/* The only way to have a thread out of a fault; see pavo_pager_end(). */
	allow_signal(SIGKILL);
	spin_lock_bh(&lock);
	pager->starting--;
	spin_unlock_bh(&lock);
	for (;;) {
		seen = pavo_reached_begin();
		serve_all(pager);
		pavo_reached_end(seen);
		spin_lock_bh(&lock);
		if (is_spare(pager, lingered))
			break;
		pager->idle++;
		spin_unlock_bh(&lock);
		lingered = !wait_event_idle_timeout(pager->wait,
						    is_called(pager), LINGER);
		spin_lock_bh(&lock);
		pager->idle--;
		spin_unlock_bh(&lock);
	}
	last = leave(pager);
	spin_unlock_bh(&lock);
	if (last)
		free_pager(pager);
	kthread_complete_and_exit(&ended, 0);
}

/* One more thread, which is counted already. */
static int begin_thread(struct pavo_pager *pager)
{
	struct task_struct *task;

	task = kthread_run(pager_thread, pager, "pavo_pager");
	if (!IS_ERR(task))
		atomic_inc(&begun);
	return PTR_ERR_OR_ZERO(task);
}

/* Queued by pavo_pager_serve(), which has counted the thread. */
static void grow(struct work_struct *work)
{
	struct pavo_pager *pager = container_of(work, struct pavo_pager, grow);
	bool last;

	/* From here on the pager is the thread's. */
	if (!begin_thread(pager))
		return;
	/* Those that there are have to do. */
	spin_lock_bh(&lock);
	pager->starting--;
	last = leave(pager);
	spin_unlock_bh(&lock);
	if (last)
		free_pager(pager);
}

void pavo_pager_serve(struct pavo_pager *pager, struct pavo_fault *fault)
{
	spin_lock_bh(&lock);
	list_add_tail(&fault->list, &pager->waiting);
	if (!pager->idle && !pager->starting && pager->threads < THREADS) {
		pager->starting++;
		pager->threads++;
		queue_work(grow_wq, &pager->grow);
	}
	/* Once the lock is let go of, the fault may be over and the pager gone. */
	wake_up(&pager->wait);
	spin_unlock_bh(&lock);
}

static struct pavo_pager *find_pager(const struct mm_struct *mm)
{
	struct pavo_pager *pager;

	list_for_each_entry(pager, &pagers, list)
		if (pager->mm == mm)
			return pager;
	return NULL;
}

static struct pavo_pager *make_pager(struct mm_struct *mm)
{
	struct pavo_pager *pager;

	pager = kzalloc(sizeof(*pager), GFP_KERNEL_ACCOUNT);
	if (!pager)
		return NULL;
	pager->users = 1;
	pager->threads = 1;
	pager->starting = 1;
	INIT_LIST_HEAD(&pager->waiting);
	INIT_LIST_HEAD(&pager->serving);
	init_waitqueue_head(&pager->wait);
	INIT_WORK(&pager->grow, grow);
	mmgrab(mm);
	pager->mm = mm;
	if (begin_thread(pager)) {
		free_pager(pager);
		return NULL;
	}
	return pager;
}

struct pavo_pager *pavo_pager_get(struct mm_struct *mm)
{
	struct pavo_pager *pager, *made;

	spin_lock_bh(&lock);
	pager = find_pager(mm);
	if (pager)
		pager->users++;
	spin_unlock_bh(&lock);
	if (pager)
		return pager;

	made = make_pager(mm);
	if (!made)
		return NULL;
	spin_lock_bh(&lock);
	pager = find_pager(mm);
	if (pager)
		pager->users++;
	else
		list_add(&made->list, &pagers);
	spin_unlock_bh(&lock);
	if (!pager)
		return made;
	/* Another thread of the process was faster. */
	INIT_LIST_HEAD(&made->list);
	pavo_pager_put(made);
	return pager;
}

void pavo_pager_put(struct pavo_pager *pager)
{
	spin_lock_bh(&lock);
	WRITE_ONCE(pager->users, pager->users - 1);
	if (!pager->users) {
		/* A new one is made for the same memory, if it comes to that. */
		list_del(&pager->list);
		/* Under the lock: without users the last thread frees it. */
		wake_up_all(&pager->wait);
	}
	spin_unlock_bh(&lock);
}

void pavo_pager_end(struct pavo_pager *pager, const struct pavo_odp *odp)
{
	struct pavo_fault *fault, *next;
	LIST_HEAD(over);

	spin_lock_bh(&lock);
	list_for_each_entry_safe(fault, next, &pager->waiting, list) {
		if (fault->odp != odp)
			continue;
		/* A queue pair that detaches leaves the fault to this thread. */
		fault->thread = current;
		list_move_tail(&fault->list, &over);
	}
	list_for_each_entry(fault, &pager->serving, list)
		if (fault->odp == odp)
			send_sig(SIGKILL, fault->thread, 1);
	spin_unlock_bh(&lock);
	list_for_each_entry_safe(fault, next, &over, list)
		end_fault(fault, -ECANCELED);
}

void pavo_fault_detach(struct pavo_missing *missing)
{
	struct pavo_fault *fault, *unserved = NULL;

	spin_lock_bh(&lock);
	fault = missing->fault;
	if (fault) {
		fault->missing = NULL;
		fault->holder = NULL;
		if (!fault->thread) {
			list_del(&fault->list);
			unserved = fault;
		}
	}
	missing->fault = NULL;
	missing->state = PAVO_MISSING_NONE;
	spin_unlock_bh(&lock);
	if (!unserved)
		return;
	pavo_odp_put(unserved->odp);
	kfree(unserved);
}

int pavo_pager_init(void)
{
	grow_wq = alloc_workqueue("pavo_pager", WQ_UNBOUND, 0);
	return grow_wq ? 0 : -ENOMEM;
}

void pavo_pager_exit(void)
{
	destroy_workqueue(grow_wq);
	for (; atomic_read(&begun); atomic_dec(&begun))
		wait_for_completion(&ended);
	WARN_ON(!list_empty(&pagers));
}
