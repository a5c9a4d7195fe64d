// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * trace.c - the bodies of the tracepoints, and the one that counters use,
 * whose header is included everywhere.
 */
#define CREATE_TRACE_POINTS
#include "pavo_trace.h"

/**
 * pavo_count_traced - show a counter that moves to the tracer.
 * @dev: the adapter
 * @name: of the counter
 */
void pavo_count_traced(const struct pavo_dev *dev, const char *name)
{
	trace_pavo_count(dev, name);
}
