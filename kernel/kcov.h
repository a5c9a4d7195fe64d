/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kcov.h - shows a fuzzer (selftests/callfuzz) which code packets and workers reach, as
 * KCOV shows it for system calls. Does nothing on kernels without KCOV.
 *
 * Put begin and end around the body of a function that the network stack or a worker calls,
 * and never one pair inside another.
 */
#ifndef PAVO_KCOV_H
#define PAVO_KCOV_H

#include <linux/kcov.h>
#include <linux/preempt.h>
#include <linux/sched.h>

/* The number that the fuzzer asks for. */
#define PAVO_KCOV_ID 0x7061

/* Begin, but not in a system call of a process: there KCOV runs already, or is not wanted. */
static inline bool pavo_kcov_begin(void)
{
	const bool seen = IS_ENABLED(CONFIG_KCOV) &&
			  (in_serving_softirq() ||
			   (in_task() && current->flags & PF_KTHREAD));

	if (seen)
		kcov_remote_start_common(PAVO_KCOV_ID);
	return seen;
}

static inline void pavo_kcov_end(bool seen)
{
	if (seen)
		kcov_remote_stop();
}

#endif /* PAVO_KCOV_H */
