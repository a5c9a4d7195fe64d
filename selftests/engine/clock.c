// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * clock.c - the clock of the engine, its timers and its works.
 *
 * Time stands still while the module runs. Works run in the order in which they were queued,
 * timers in the order of their expiry.
 */
#include <linux/hrtimer.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "runtime.h"

/* Works in a row, or timers at one time, that count as an endless loop. */
#define ENDLESS 100000

/* First time, ns. Not 0: a deadline of 0 means none to the module. */
#define BEGINNING 1000000000

static u64 now = BEGINNING;
static unsigned int fired; /* since the clock moved */
static LIST_HEAD(timers);
static LIST_HEAD(works);

u64 ktime_get_ns(void)
{
	return now;
}

void engine_reset_clock(void)
{
	now = BEGINNING;
}

__u64 engine_now(void)
{
	return now;
}

void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode)
{
	struct hrtimer *next;

	ENGINE_MUST(timer->function);
	list_del_init(&timer->queued);
	timer->expires = mode == HRTIMER_MODE_REL_SOFT ? (s64)now + time : time;
	timer->fires = timer->expires;
	if (engine_host && engine_host->late)
		timer->fires += engine_host->late();
	list_for_each_entry (next, &timers, queued)
		if (next->fires > timer->fires)
			break;
	list_add_tail(&timer->queued, &next->queued);
}

void hrtimer_cancel(struct hrtimer *timer)
{
	engine_may_sleep();
	list_del_init(&timer->queued);
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	ENGINE_MUST(wq && work->func);
	if (!list_empty(&work->queued))
		return false;
	list_add_tail(&work->queued, &works);
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	bool was = !list_empty(&work->queued);

	engine_may_sleep();
	list_del_init(&work->queued);
	return was;
}

static void run_work(struct work_struct *work)
{
	list_del_init(&work->queued);
	work->func(work);
	engine_may_sleep();
}

bool flush_work(struct work_struct *work)
{
	engine_may_sleep();
	if (list_empty(&work->queued))
		return false;
	run_work(work);
	return true;
}

static void run_works(void)
{
	unsigned int n;

	for (n = 0; !list_empty(&works); n++) {
		ENGINE_MUST(n < ENDLESS);
		run_work(list_first_entry(&works, struct work_struct, queued));
	}
}

void wait_for_completion(struct completion *completion)
{
	engine_may_sleep();
	run_works();
	/* Only a work can complete it. */
	ENGINE_MUST(completion->done);
}

void engine_settle(void)
{
	run_works();
	engine_grace_period();
	engine_may_sleep();
}

static void fire(struct hrtimer *timer)
{
	list_del_init(&timer->queued);
	engine_spinning++;
	timer->function(timer);
	engine_spinning--;
}

static void move_to(u64 time)
{
	if (time <= now)
		return;
	now = time;
	fired = 0;
}

void engine_pass(__u64 until)
{
	struct hrtimer *first;

	engine_settle();
	first = list_first_entry_or_null(&timers, struct hrtimer, queued);
	if (!first || first->fires > (s64)until) {
		move_to(until);
		return;
	}
	move_to(first->fires);
	ENGINE_MUST(++fired < ENDLESS);
	fire(first);
	engine_settle();
}

bool engine_idle(void)
{
	return list_empty(&works) && list_empty(&timers);
}

/* Timers and works run while the caller sleeps. */
void usleep_range(unsigned long least, unsigned long most)
{
	u64 until = now + least * NSEC_PER_USEC;

	engine_may_sleep();
	while (now < until)
		engine_pass(until);
}

void engine_check_rest(void)
{
	engine_may_sleep();
	ENGINE_MUST(list_empty(&works));
	ENGINE_MUST(list_empty(&timers));
}
