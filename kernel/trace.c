// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * trace.c - the bodies of the tracepoints, and a function that stats.h calls, because it cannot
 * include the header of the tracepoints.
 */
#define CREATE_TRACE_POINTS
#include "pavo_trace.h"

/**
 * pavo_count_traced - trace the increment of a counter.
 * @dev: the adapter
 * @name: name of the counter
 */
void pavo_count_traced(const struct pavo_dev *dev, const char *name)
{
	trace_pavo_count(dev, name);
}
