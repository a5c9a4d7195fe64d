/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * budget.h - budget of a loop: packets and bytes that it handles before it yields its CPU.
 *
 * A loop that runs with bottom halves disabled, or holds a lock, spends its budget for each packet
 * and byte. When that is used up, it queues a work for the rest, or continues in process context
 * after a cond_resched(). docs/security.md lists all loops.
 *
 * The budget is pure; budget.c counts how often each kind was used up.
 */
#ifndef PAVO_BUDGET_H
#define PAVO_BUDGET_H

#include <linux/types.h>

/*
 * Packets and bytes of a slice: about a millisecond of a CPU. A loop may exceed them by its last
 * packet.
 */
#define PAVO_SLICE_PACKETS 512
#define PAVO_SLICE_BYTES (4 << 20)

/**
 * struct pavo_budget - the rest of a slice.
 * @packets: packets, WQEs, and other items of about a microsecond
 * @bytes:   bytes that are copied, or covered by an ICRC
 */
struct pavo_budget {
	s32 packets;
	s32 bytes;
};

static inline struct pavo_budget pavo_budget_begin_slice(void)
{
	const struct pavo_budget slice = {
		.packets = PAVO_SLICE_PACKETS,
		.bytes = PAVO_SLICE_BYTES,
	};

	return slice;
}

static inline bool pavo_budget_remains(const struct pavo_budget *budget)
{
	return budget->packets > 0 && budget->bytes > 0;
}

/**
 * pavo_budget_spend - subtract packets and bytes that were handled. The rest may become negative.
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
	PAVO_LOOP_LOCAL, /* delivery of packets that are looped back */
	PAVO_LOOP_REQUESTER, /* runs of requester sides */
	PAVO_LOOP_RESPONDER, /* runs of responder sides */
	PAVO_LOOP_TIMERS, /* timers of queue pairs, in one tick */
	PAVO_LOOP_VISITS, /* visits for received packets, in one run */
	PAVO_LOOP_GROUPS, /* copies for members of multicast groups */
	PAVO_LOOP_WINDOWS, /* rounds over sending windows */
	PAVO_LOOP_RINGS, /* entries of completion queues that are resized */
	PAVO_LOOP_OFFLINE, /* loopback packets of a CPU that went offline */
	PAVO_LOOP_FAULTS, /* faults that end with their region */
	PAVO_LOOP_LINKS, /* links of XRC targets to a PD that ends */
	PAVO_LOOP_COUNT,
};

/**
 * pavo_budget_used_up - count a loop that ends with work left.
 * @loop:    its kind
 * @packets: packets that it has handled
 * @bytes:   bytes that it has handled
 *
 * Context: any but a hard interrupt.
 */
void pavo_budget_used_up(enum pavo_loop loop, u32 packets, u32 bytes);

/** pavo_budget_end - as pavo_budget_used_up(), for a slice of which @budget is left. */
static inline void pavo_budget_end(enum pavo_loop loop,
				   const struct pavo_budget *budget)
{
	pavo_budget_used_up(loop, PAVO_SLICE_PACKETS - budget->packets,
			    PAVO_SLICE_BYTES - budget->bytes);
}

/**
 * pavo_budget_check_tick - check how many items of a kind this CPU has handled in the present tick.
 * For softirqs, which run many loops in a row.
 * @loop: the kind
 * @most: most items in a tick
 *
 * Context: BH disabled.
 * Return: 0: handle the next item; -EBUSY: @most items were handled (counted), so queue a work.
 */
int pavo_budget_check_tick(enum pavo_loop loop, u32 most);

/** pavo_budget_add - count items in the tick of the last pavo_budget_check_tick(). BH disabled. */
void pavo_budget_add(enum pavo_loop loop, u32 items);

/** pavo_budgets_show - print for each kind how often a budget was used up, and the longest loop. */
void pavo_budgets_show(struct seq_file *file);

#endif /* PAVO_BUDGET_H */
