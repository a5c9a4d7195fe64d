/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * budget.h - what a loop may do for processes and peers before it gives its CPU away.
 *
 * A loop that runs with bottom halves disabled, or holds a lock, spends its budget for each packet
 * and byte. When that is used up, it leaves the rest to a work of the kernel, or goes on in
 * process context behind a cond_resched(). docs/security.md lists all loops.
 *
 * The budget is pure; budget.c counts how often each kind was used up.
 */
#ifndef PAVO_BUDGET_H
#define PAVO_BUDGET_H

#include <linux/types.h>

/*
 * Packets and bytes of a slice: about a millisecond of a CPU. A loop may exceed it by its last
 * step.
 */
#define PAVO_SLICE_PACKETS 512
#define PAVO_SLICE_BYTES (4 << 20)

/**
 * struct pavo_budget - packets and bytes that are left.
 * @packets: packets, WQEs, and other steps of about a microsecond
 * @bytes:   bytes that are copied, or go into an ICRC
 */
struct pavo_budget {
	s32 packets;
	s32 bytes;
};

static inline struct pavo_budget pavo_budget_slice(void)
{
	const struct pavo_budget slice = {
		.packets = PAVO_SLICE_PACKETS,
		.bytes = PAVO_SLICE_BYTES,
	};

	return slice;
}

static inline bool pavo_budget_left(const struct pavo_budget *budget)
{
	return budget->packets > 0 && budget->bytes > 0;
}

/**
 * pavo_budget_spend - take off what was done. Less than nothing may be left.
 * @budget:  the budget
 * @packets: at most 2^20
 * @bytes:   at most 2^30
 */
static inline void pavo_budget_spend(struct pavo_budget *budget, u32 packets,
				     u32 bytes)
{
	if (budget->packets > 0)
		budget->packets -= (s32)packets;
	if (budget->bytes > 0)
		budget->bytes -= (s32)bytes;
}

struct seq_file;

/** enum pavo_loop - kinds of loops that are counted. */
enum pavo_loop {
	PAVO_LOOP_LOOPBACK, /* packets that stay inside a namespace */
	PAVO_LOOP_REQUESTER, /* runs of requester sides */
	PAVO_LOOP_RESPONDER, /* runs of responder sides */
	PAVO_LOOP_TIMERS, /* of queue pairs, in one tick */
	PAVO_LOOP_GROUPS, /* copies for members of multicast groups */
	PAVO_LOOP_WINDOWS, /* turns of windows */
	PAVO_LOOP_RINGS, /* entries of completion queues that get another ring */
	PAVO_LOOP_OFFLINE, /* packets inside a namespace, of a CPU that went offline */
	PAVO_LOOP_COUNT,
};

/**
 * pavo_budget_used_up - a loop ends with work left to do.
 * @loop:    its kind
 * @packets: that it has dealt with
 * @bytes:   likewise
 *
 * Context: any but a hard interrupt.
 */
void pavo_budget_used_up(enum pavo_loop loop, u32 packets, u32 bytes);

/** pavo_budget_end - the same, for a slice of which @budget is left. */
static inline void pavo_budget_end(enum pavo_loop loop,
				   const struct pavo_budget *budget)
{
	pavo_budget_used_up(loop, PAVO_SLICE_PACKETS - budget->packets,
			    PAVO_SLICE_BYTES - budget->bytes);
}

/**
 * pavo_budget_in_tick - may this CPU go on with steps of a kind? For softirqs, which run many of
 * them in a row.
 * @loop: the kind
 * @most: so many may be in a tick
 *
 * Context: BH disabled.
 * Return: false: as many were in the present tick; the next is for a work.
 */
bool pavo_budget_in_tick(enum pavo_loop loop, u32 most);

/** pavo_budget_add - count steps in the tick of the last pavo_budget_in_tick(). BH disabled. */
void pavo_budget_add(enum pavo_loop loop, u32 steps);

/** pavo_budgets_show - print for each kind how often, and the longest of them. */
void pavo_budgets_show(struct seq_file *file);

#endif /* PAVO_BUDGET_H */
