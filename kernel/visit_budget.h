/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * visit_budget.h - budget of all visits that a CPU makes for received packets in one run of its
 * receive softirq.
 *
 * Each visit has a slice, and one poll of an interface may hand over 64 packets for as many queue
 * pairs. Used by qp/enter.h; budget.c has the counts.
 */
#ifndef PAVO_VISIT_BUDGET_H
#define PAVO_VISIT_BUDGET_H

#include <linux/percpu.h>
#include "budget.h"

/* Most packets of answers and requests that visits for received packets send in a run. */
#define PAVO_VISITS_IN_RUN (2 * PAVO_SLICE_PACKETS)
/*
 * Nanoseconds from the first of these visits to the last: as long as the kernel handles softirqs in
 * a row. Since 6.5 they run at the end of interrupts on the time of whichever thread is there, also
 * while ksoftirqd waits.
 */
#define PAVO_VISITS_TIME (2 * NSEC_PER_MSEC)
/* Bytes that count as one of these, too. */
#define PAVO_VISIT_BYTES (PAVO_SLICE_BYTES / PAVO_SLICE_PACKETS)
/* A visit of fewer is not counted: the kernel's budget of packets (64 for a poll) bounds those. */
#define PAVO_VISIT_SMALL 8

DECLARE_PER_CPU(bool, pavo_visits_over);

/** pavo_budget_add_visit - count what a visit for a received packet has sent. BH disabled. */
void pavo_budget_add_visit(u32 packets);

/** pavo_budget_may_visit - false if the present run has used up its budget. BH disabled. */
bool pavo_budget_may_visit(void);

/** pavo_budget_visited - packets that a visit has sent with a slice of which @budget is left. */
static inline u32 pavo_budget_visited(const struct pavo_budget *budget)
{
	return PAVO_SLICE_PACKETS - budget->packets +
	       (PAVO_SLICE_BYTES - budget->bytes) / PAVO_VISIT_BYTES;
}

#endif /* PAVO_VISIT_BUDGET_H */
