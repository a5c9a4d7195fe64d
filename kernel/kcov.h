/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kcov.h - remote KCOV coverage of packets and workers, for a fuzzer (selftests/callfuzz). Does
 * nothing on kernels without KCOV.
 *
 * Put begin and end around the body of a function that the network stack or a worker calls. Pairs
 * must not nest.
 */
#ifndef PAVO_KCOV_H
#define PAVO_KCOV_H

#include <linux/kcov.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include "compat.h"

/* The common handle of the fuzzer. */
#define PAVO_KCOV_ID 0x7061

/* Begin remote coverage, except in a system call of a process, which KCOV covers itself. */
static inline bool pavo_kcov_begin(void)
{
	const bool begun = IS_ENABLED(CONFIG_KCOV) &&
			   (in_serving_softirq() ||
			    (in_task() && current->flags & PF_KTHREAD));

	if (begun)
		kcov_remote_start_common(pavo_kcov_handle(PAVO_KCOV_ID));
	return begun;
}

static inline void pavo_kcov_end(bool begun)
{
	if (begun)
		kcov_remote_stop();
}

#endif /* PAVO_KCOV_H */
