/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * HRTIMER_SETUP: one call sets up an hrtimer and its function
 * HRTIMER_INIT: the function of an hrtimer is a field
 */
#include <linux/hrtimer.h>

void probe(struct hrtimer *timer, enum hrtimer_restart (*fn)(struct hrtimer *))
{
#ifdef PAVO_HAS_HRTIMER_SETUP
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = fn;
#endif
}
