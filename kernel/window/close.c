// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * close.c - the end of a window: it is disabled, polled until no CPU uses it, and closed
 * (sources.md#windows-snapshot).
 *
 * A CPU that sends or receives for a window is in an RCU section. So the snapshot of the tasks
 * at work is a state of RCU: it has passed when all of these sections have ended. No caller
 * waits for that: the process polls, and the memory of a closed window is freed after a grace
 * period. The live view, which shows which CPU works for which window, is for debugging only.
 */
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include "jobs/job.h"
#include "window/handler.h"

/* Let no more frames be sent or received. Return: 0; -EALREADY: it was closed before. */
static int shut_window(struct pavo_fifo_window *window)
{
	int err;

	spin_lock_bh(&window->lock);
	err = window->closed ? -EALREADY : 0;
	window->closed = true;
	window->send.avail = 0;
	window->recv.avail = 0;
	pavo_held_dead(window);
	clear_bit(window->id, window->dev->windows->active);
	spin_unlock_bh(&window->lock);
	pavo_window_round_leave(window);
	return err;
}

void pavo_window_disable(struct pavo_fifo_window *window)
{
	mutex_lock(&window->mutex);
	if (!shut_window(window)) {
		pavo_held_end(window);
		pavo_rcxts_return_all(window);
		pavo_group_leave_all(window);
		/* Last: a CPU whose RCU section begins after this sees the window shut. */
		window->snapshot = start_poll_synchronize_rcu();
		window->disabled = true;
		pavo_window_notify_end(window);
	}
	mutex_unlock(&window->mutex);
}

/* The id of the window for which @cpu does @task; 0: none. */
static u32 get_window_at_work(const struct pavo_windows *all, int cpu, int task)
{
	return READ_ONCE(per_cpu_ptr(all->tasks, cpu)->window[task]);
}

/* Count the tasks, of all CPUs, that work for the window at this moment. */
static int count_at_work(const struct pavo_fifo_window *window)
{
	const struct pavo_windows *all = window->dev->windows;
	int cpu, task, n = 0;

	for_each_possible_cpu(cpu)
		for (task = 0; task < PAVO_TASKS; task++)
			if (get_window_at_work(all, cpu, task) == window->id)
				n++;
	return n;
}

int pavo_window_snapshot(struct pavo_fifo_window *window)
{
	int result = -EINVAL;

	mutex_lock(&window->mutex);
	if (window->disabled)
		result = poll_state_synchronize_rcu(window->snapshot) ?
				 0 :
				 max(count_at_work(window), 1);
	mutex_unlock(&window->mutex);
	return result;
}

static void end_window(struct pavo_deferred_free *deferred)
{
	struct pavo_fifo_window *window =
		container_of(deferred, struct pavo_fifo_window, deferred);
	struct pavo_windows *all = window->dev->windows;
	struct pavo_job *job = window->job;

	atomic_long_sub(window->locked, &all->closing);
	pavo_window_free(window);
	pavo_job_unuse(job);
}

void pavo_window_close(struct pavo_fifo_window *window)
{
	struct pavo_windows *all = window->dev->windows;

	pavo_worker_remove(&window->page);
	pavo_window_disable(window);
	xa_erase(&all->table, window->id);
	pavo_handlers_forget(window);
	if (window->handler_group)
		pavo_handlers_leave(all, window->handler_group);
	pavo_share_give(&all->shares, pavo_job_user(window->job));
	pavo_window_detach(window);
	atomic_long_add(window->locked, &all->closing);
	pavo_deferred_free(&window->deferred, end_window);
}

void pavo_window_live_show(struct seq_file *file, struct pavo_dev *dev)
{
	static const char *const does[PAVO_TASKS] = { "sends", "receives" };
	const struct pavo_windows *all = dev->windows;
	int cpu, task;
	u32 id;

	if (!all)
		return;
	for_each_possible_cpu(cpu)
		for (task = 0; task < PAVO_TASKS; task++) {
			id = get_window_at_work(all, cpu, task);
			if (id)
				seq_printf(file, "%s cpu %d %s window %u\n",
					   dev->ib.name, cpu, does[task], id);
		}
	seq_printf(file, "%s closing %ld pages\n", dev->ib.name,
		   atomic_long_read(&all->closing));
}
