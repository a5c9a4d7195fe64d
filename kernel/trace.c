// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * trace.c - the bodies of the tracepoints, and a function for the tracepoint of counters:
 * stats.h, which all files include, cannot include its header.
 */
#define CREATE_TRACE_POINTS
#include "pavo_trace.h"

/**
 * pavo_count_traced - trace a counter that moved.
 * @dev: the adapter
 * @name: name of the counter
 */
void pavo_count_traced(const struct pavo_dev *dev, const char *name)
{
	trace_pavo_count(dev, name);
}
