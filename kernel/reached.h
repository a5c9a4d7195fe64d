/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * reached.h - lets a fuzzer (selftests/callfuzz) see what packets and workers reach, as
 * KCOV shows it what system calls do. Nothing at all on kernels without KCOV.
 *
 * Around the body of what the network stack or a worker calls; not one within another.
 */
#ifndef PAVO_REACHED_H
#define PAVO_REACHED_H

#include <linux/kcov.h>
#include <linux/preempt.h>
#include <linux/sched.h>

/* The number that the fuzzer asks for. */
#define PAVO_KCOV_ID 0x7061

/* In a process's own call KCOV is at work already, or not wanted. */
static inline bool pavo_reached_begin(void)
{
	const bool seen = IS_ENABLED(CONFIG_KCOV) &&
			  (in_serving_softirq() ||
			   (in_task() && current->flags & PF_KTHREAD));

	if (seen)
		kcov_remote_start_common(PAVO_KCOV_ID);
	return seen;
}

static inline void pavo_reached_end(bool seen)
{
	if (seen)
		kcov_remote_stop();
}

#endif /* PAVO_REACHED_H */
