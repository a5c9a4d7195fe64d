// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pager.c - threads that wait for pages; see pager.h.
 *
 * Called by odp.c. Each process with on-demand regions has a pager, with at least one thread,
 * and up to THREADS while faults wait. One lock protects all pagers of the machine and
 * their faults; no page is brought in under it.
 */
#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "budget.h"
#include "memory/memory.h"
#include "memory/pager.h"
#include "memory/key_state.h"
#include "kcov.h"

/* Threads of one process, each with one fault at a time; other faults wait. */
#define THREADS 4
/* Jiffies that a thread waits for a fault before it ends, if it is not the only one. */
#define LINGER HZ

/**
 * struct pavo_pager - threads that bring in pages of one process.
 * @node:    in the table of all pagers
 * @mm:      memory of the process; mmgrab()
 * @users:   its on-demand regions. At 0 the threads end, and the last one frees the pager.
 * @threads: its threads, with those in @starting
 * @idle:    threads that wait for a fault
 * @starting: threads that have not begun yet; their start may fail
 * @waiting: faults that no thread serves yet
 * @serving: faults that a thread serves
 * @wait:    where threads wait
 * @grow:    starts another thread
 */
struct pavo_pager {
	struct hlist_node node;
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
/* By mm. A process that registers memory waits for one chain, with BH disabled. */
static DEFINE_HASHTABLE(pagers, 10);
/* Protects pagers, faults, and missing.fault of sides. BH: packet processing requests pages. */
static DEFINE_SPINLOCK(lock);

/* Threads begun, and the end of each, for which the module's exit waits. */
static atomic_t begun;
static DECLARE_COMPLETION(ended);

/* Free a pager that has no thread and gets none any more. */
static void free_pager(struct pavo_pager *pager)
{
	mmdrop(pager->mm);
	kfree(pager);
}

/* End the wait of the side, with @err or 0, and run the QP's work. Lock held. */
static void notify_side(struct pavo_fault *fault, int err)
{
	struct pavo_missing *missing = fault->missing;

	if (err) {
		rcu_read_lock(); /* for the counter */
		pavo_stats_add(fault->key_state->stats, odp_fault_errors, 1);
		rcu_read_unlock();
	}
	missing->fault = NULL;
	/* Pairs with the acquire in pavo_side_waits(). */
	smp_store_release(&missing->state,
			  err ? PAVO_MISSING_FAILED : PAVO_MISSING_NONE);
	queue_work(fault->key_state->dev->wq, &fault->key_state->work);
}

/* End and free the fault. Lock not held. */
static void end_fault(struct pavo_fault *fault, int err)
{
	spin_lock_bh(&lock);
	list_del(&fault->list);
	fault->thread = NULL;
	if (fault->missing)
		notify_side(fault, err);
	spin_unlock_bh(&lock);
	pavo_odp_put(fault->odp);
	kfree(fault);
}

/* Take the next fault for this thread. Return: NULL if none waits. Lock held. */
static struct pavo_fault *take_fault(struct pavo_pager *pager)
{
	struct pavo_fault *fault;

	fault = list_first_entry_or_null(&pager->waiting, struct pavo_fault,
					 list);
	if (fault) {
		fault->thread = current;
		list_move(&fault->list, &pager->serving);
		list_del(&fault->of_odp);
	}
	return fault;
}

/*
 * Serve a fault with a reference to the module. Some waits end by no signal, as when a FUSE
 * server has taken a request and does not answer. Then only this thread waits, and the reference
 * keeps the module loaded.
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
		/* A kill was for that fault only. */
		flush_signals(current);
		cond_resched();
	}
}

/* True if a waiting thread has to serve a fault, or to end. */
static bool has_work(const struct pavo_pager *pager)
{
	return !list_empty_careful(&pager->waiting) || !READ_ONCE(pager->users);
}

/* True if this thread should end. Lock held. */
static bool is_thread_spare(const struct pavo_pager *pager, bool lingered)
{
	if (!list_empty(&pager->waiting))
		return false;
	return !pager->users ||
	       (lingered && pager->threads - pager->starting > 1);
}

/* Remove a thread from the count. Return: true if the caller has to free the pager. Lock held. */
static bool leave_pager(struct pavo_pager *pager)
{
	return !--pager->threads && !pager->users;
}

static int run_pager(void *data)
{
	struct pavo_pager *pager = data;
	bool lingered = false, last, seen;

	/* Only a signal ends the wait of a fault; see pavo_pager_end(). */
	allow_signal(SIGKILL);
	spin_lock_bh(&lock);
	pager->starting--;
	spin_unlock_bh(&lock);
	for (;;) {
		seen = pavo_kcov_begin();
		serve_all(pager);
		pavo_kcov_end(seen);
		spin_lock_bh(&lock);
		if (is_thread_spare(pager, lingered))
			break;
		pager->idle++;
		spin_unlock_bh(&lock);
		lingered = !wait_event_idle_timeout(pager->wait,
						    has_work(pager), LINGER);
		spin_lock_bh(&lock);
		pager->idle--;
		spin_unlock_bh(&lock);
	}
	last = leave_pager(pager);
	spin_unlock_bh(&lock);
	if (last)
		free_pager(pager);
	kthread_complete_and_exit(&ended, 0);
}

/* Start a thread that is counted already. */
static int begin_thread(struct pavo_pager *pager)
{
	struct task_struct *task;

	task = kthread_run(run_pager, pager, "pavo_pager");
	if (!IS_ERR(task))
		atomic_inc(&begun);
	return PTR_ERR_OR_ZERO(task);
}

/* Start a thread, which pavo_pager_serve() has counted already. */
static void start_pager_thread(struct work_struct *work)
{
	struct pavo_pager *pager = container_of(work, struct pavo_pager, grow);
	bool last;

	/* A started thread may free the pager: do not touch it any more. */
	if (!begin_thread(pager))
		return;
	/* No memory for a thread: the others serve all faults. */
	spin_lock_bh(&lock);
	pager->starting--;
	last = leave_pager(pager);
	spin_unlock_bh(&lock);
	if (last)
		free_pager(pager);
}

void pavo_pager_serve(struct pavo_pager *pager, struct pavo_fault *fault,
		      struct list_head *of_odp)
{
	spin_lock_bh(&lock);
	list_add_tail(&fault->list, &pager->waiting);
	list_add_tail(&fault->of_odp, of_odp);
	if (!pager->idle && !pager->starting && pager->threads < THREADS) {
		pager->starting++;
		pager->threads++;
		queue_work(grow_wq, &pager->grow);
	}
	/* Under the lock: after it the fault may be over and the pager freed. */
	wake_up(&pager->wait);
	spin_unlock_bh(&lock);
}

static struct pavo_pager *find_pager(const struct mm_struct *mm)
{
	struct pavo_pager *pager;

	hash_for_each_possible(pagers, pager, node, (unsigned long)mm)
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
	INIT_WORK(&pager->grow, start_pager_thread);
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
		hash_add(pagers, &made->node, (unsigned long)mm);
	spin_unlock_bh(&lock);
	if (!pager)
		return made;
	/* Another thread of the process has added one meanwhile. */
	pavo_pager_put(made);
	return pager;
}

void pavo_pager_put(struct pavo_pager *pager)
{
	spin_lock_bh(&lock);
	WRITE_ONCE(pager->users, pager->users - 1);
	if (!pager->users) {
		/* New regions of the process get a new pager. */
		hash_del(&pager->node);
		/* Under the lock: without users the last thread frees it. */
		wake_up_all(&pager->wait);
	}
	spin_unlock_bh(&lock);
}

/*
 * Take a slice of the faults in @of_odp for this thread, into @over.
 *
 * Return: true if more are left. Lock held.
 */
static bool take_slice(struct list_head *of_odp, struct list_head *over)
{
	struct pavo_fault *fault;
	unsigned int n;

	for (n = 0; n < PAVO_SLICE_PACKETS && !list_empty(of_odp); n++) {
		fault = list_first_entry(of_odp, struct pavo_fault, of_odp);
		/* A queue pair that detaches leaves the fault to this thread. */
		fault->thread = current;
		list_del(&fault->of_odp);
		list_move_tail(&fault->list, over);
	}
	if (list_empty(of_odp))
		return false;
	pavo_budget_used_up(PAVO_LOOP_FAULTS, n, 0);
	return true;
}

/* A thread that takes a fault of @odp later ends it at once (pavo_odp_fault()). Lock held. */
static void kill_servers(struct pavo_pager *pager, const struct pavo_odp *odp)
{
	struct pavo_fault *fault;

	list_for_each_entry(fault, &pager->serving, list)
		if (fault->odp == odp)
			send_sig(SIGKILL, fault->thread, 1);
}

void pavo_pager_end(struct pavo_pager *pager, const struct pavo_odp *odp,
		    struct list_head *of_odp)
{
	struct pavo_fault *fault, *next;
	LIST_HEAD(over);
	bool more;

	do {
		spin_lock_bh(&lock);
		kill_servers(pager, odp);
		more = take_slice(of_odp, &over);
		spin_unlock_bh(&lock);
		list_for_each_entry_safe(fault, next, &over, list)
			end_fault(fault, -ECANCELED);
		cond_resched();
	} while (more);
}

void pavo_fault_detach(struct pavo_missing *missing)
{
	struct pavo_fault *fault, *unserved = NULL;

	spin_lock_bh(&lock);
	fault = missing->fault;
	if (fault) {
		fault->missing = NULL;
		fault->key_state = NULL;
		if (!fault->thread) {
			list_del(&fault->list);
			list_del(&fault->of_odp);
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
	WARN_ON(!hash_empty(pagers));
}
