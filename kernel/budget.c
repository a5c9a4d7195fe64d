// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * budget.c - counts loops that ended with work left; see budget.h.
 *
 * Called by loops of all folders, and by debugfs.c. A loop that ends within its budget is not
 * counted.
 */
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kernel_stat.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/time64.h>
#include "budget.h"
#include "visit_budget.h"

/**
 * struct loop_count - counts of one kind of loop on one CPU.
 * @used_up:      loops that ended with work left
 * @most_packets: most packets of one of them
 * @most_bytes:   most bytes of one of them
 * @tick:         tick in which items were counted last (jiffies), or run of a softirq
 * @items:        number of items in that
 * @began:        time at which that run began
 */
struct loop_count {
	u64 used_up;
	u32 most_packets;
	u32 most_bytes;
	unsigned long tick;
	u32 items;
	u64 began;
};

static DEFINE_PER_CPU(struct loop_count[PAVO_LOOP_COUNT], counts);

static const char *const names[PAVO_LOOP_COUNT] = {
	[PAVO_LOOP_LOCAL] = "loopback",
	[PAVO_LOOP_REQUESTER] = "requester",
	[PAVO_LOOP_RESPONDER] = "responder",
	[PAVO_LOOP_TIMERS] = "timers",
	[PAVO_LOOP_VISITS] = "visits",
	[PAVO_LOOP_GROUPS] = "groups",
	[PAVO_LOOP_WINDOWS] = "windows",
	[PAVO_LOOP_RINGS] = "rings",
	[PAVO_LOOP_OFFLINE] = "offline",
	[PAVO_LOOP_FAULTS] = "faults",
	[PAVO_LOOP_LINKS] = "links",
};

void pavo_budget_used_up(enum pavo_loop loop, u32 packets, u32 bytes)
{
	struct loop_count *count;

	local_bh_disable();
	count = this_cpu_ptr(&counts[loop]);
	count->used_up++;
	if (packets > count->most_packets)
		count->most_packets = packets;
	if (bytes > count->most_bytes)
		count->most_bytes = bytes;
	local_bh_enable();
}

int pavo_budget_check_tick(enum pavo_loop loop, u32 most)
{
	struct loop_count *count = this_cpu_ptr(&counts[loop]);
	unsigned long now = jiffies;

	if (count->tick != now) {
		count->tick = now;
		count->items = 0;
	}
	if (likely(count->items < most))
		return 0;
	pavo_budget_used_up(loop, count->items, 0);
	return -EBUSY;
}

void pavo_budget_add(enum pavo_loop loop, u32 items)
{
	this_cpu_ptr(&counts[loop])->items += items;
}

/* The budget of this CPU's present run is used up, or that of an earlier one was. */
DEFINE_PER_CPU(bool, pavo_visits_over);

/* Number of the present run. Threads that poll interfaces have runs of a tick. */
static unsigned long get_present_run(void)
{
	if (likely(in_serving_softirq()))
		return kstat_softirqs_cpu(NET_RX_SOFTIRQ, smp_processor_id());
	return jiffies;
}

/* The count of the present run, which begins with 0. */
static struct loop_count *count_run(void)
{
	struct loop_count *count = this_cpu_ptr(&counts[PAVO_LOOP_VISITS]);
	unsigned long run = get_present_run();

	if (count->tick != run) {
		count->tick = run;
		count->items = 0;
		count->began = local_clock();
	}
	return count;
}

static bool is_run_over(const struct loop_count *count)
{
	return count->items >= PAVO_VISITS_IN_RUN ||
	       local_clock() - count->began >= PAVO_VISITS_TIME;
}

void pavo_budget_add_visit(u32 packets)
{
	struct loop_count *count = count_run();

	count->items += packets;
	if (is_run_over(count))
		this_cpu_write(pavo_visits_over, true);
}

bool pavo_budget_may_visit(void)
{
	struct loop_count *count = count_run();

	if (is_run_over(count)) {
		pavo_budget_used_up(PAVO_LOOP_VISITS, count->items, 0);
		return false;
	}
	this_cpu_write(pavo_visits_over, false);
	return true;
}

static void show_loop(struct seq_file *file, enum pavo_loop loop)
{
	struct loop_count sum = {};
	const struct loop_count *count;
	int cpu;

	for_each_possible_cpu(cpu) {
		count = per_cpu_ptr(&counts[loop], cpu);
		sum.used_up += READ_ONCE(count->used_up);
		sum.most_packets =
			max(sum.most_packets, READ_ONCE(count->most_packets));
		sum.most_bytes =
			max(sum.most_bytes, READ_ONCE(count->most_bytes));
	}
	seq_printf(file, "%s used_up %llu most_packets %u most_bytes %u\n",
		   names[loop], sum.used_up, sum.most_packets, sum.most_bytes);
}

void pavo_budgets_show(struct seq_file *file)
{
	unsigned int loop;

	for (loop = 0; loop < PAVO_LOOP_COUNT; loop++)
		show_loop(file, loop);
}
