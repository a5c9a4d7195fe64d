/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* hrtimer.h - timers on the clock of the engine, which only the engine moves. */
#ifndef PAVO_SHIM_HRTIMER_H
#define PAVO_SHIM_HRTIMER_H

#include <linux/list.h>

#define NSEC_PER_USEC 1000L
#define NSEC_PER_MSEC 1000000L
#define CLOCK_MONOTONIC 1

typedef s64 ktime_t;

enum hrtimer_restart {
	HRTIMER_NORESTART,
};

enum hrtimer_mode {
	HRTIMER_MODE_ABS_SOFT,
	HRTIMER_MODE_REL_SOFT,
};

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	ktime_t expires;
	ktime_t fires; /* at @expires, or later if the caller of the engine delays it */
	struct list_head queued; /* by @fires; or empty */
};

u64 ktime_get_ns(void);
void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode);
/* The clock stops at every timer, so none is delayed. */
#define hrtimer_start_range_ns(timer, time, slack, mode) \
	((void)(slack), hrtimer_start(timer, time, mode))
void hrtimer_cancel(struct hrtimer *timer);

#define hrtimer_setup(timer, call, clock, mode)   \
	do {                                      \
		(timer)->function = (call);       \
		INIT_LIST_HEAD(&(timer)->queued); \
	} while (0)
#define ns_to_ktime(ns) ((ktime_t)(ns))
#define ktime_to_ns(time) (time)

static inline bool hrtimer_is_queued(const struct hrtimer *timer)
{
	return !list_empty(&timer->queued);
}

static inline ktime_t hrtimer_get_expires(const struct hrtimer *timer)
{
	return timer->expires;
}

void usleep_range(unsigned long least, unsigned long most);

#endif /* PAVO_SHIM_HRTIMER_H */
