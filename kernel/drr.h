/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * drr.h - deficit round robin and credits: how the queue pairs and windows of an adapter share its
 * sending (sources.md#engine-2-4-2, sources.md#engine-3-4-3). A queue pair is two queues, which may
 * have different weights: its requests, and its read responses. A window is one.
 *
 * Deficit round robin (Shreedhar and Varghese, 1995), counted in packets. In each round a queue
 * pair may send as many packets as its deficit counter says; the quantum times the weight of its
 * service level is added to that when its service begins. A queue pair that has used them up, and
 * has more to send, is appended to the active list, and the first of that list is served next. A
 * service level may have strict priority: its queue pairs are served before those with weights. A
 * credit is held by a packet until its acknowledgment, or by a read or atomic until its answer. An
 * adapter has pools of credits, or no limit.
 *
 * Pure: callers hold the adapter's drr_lock.
 */
#ifndef PAVO_DRR_H
#define PAVO_DRR_H

#include <linux/list.h>
#include <linux/types.h>

/** Service levels. */
#define PAVO_LEVELS 16
/** Least quantum, packets: a GSO super-packet, or a chunk of a long read. */
#define PAVO_QUANTUM_LEAST 32
#define PAVO_QUANTUM_MOST 65536
/** Default quantum; also WQEs parsed and packets sent before the QP's work takes over. */
#define PAVO_QUANTUM 512
#define PAVO_WEIGHT_MOST 64
/** In the place of a weight: strict priority, in front of all levels with weights. */
#define PAVO_WEIGHT_STRICT 0
/** Most credits of a pool. */
#define PAVO_CREDITS_MOST 1048576u

/** enum pavo_drr_kind - what a queue sends: each kind has weights of its own. */
enum pavo_drr_kind {
	PAVO_KIND_REQUESTS, /* and what windows send */
	PAVO_KIND_RESPONSES,
	PAVO_KINDS,
};

/** enum pavo_pool - the credit that a queue pair needs to send, and the active list it is in. */
enum pavo_pool {
	PAVO_POOL_NONE, /* no credit */
	PAVO_POOL_SENDS, /* a credit for a packet of a send or write (SWPB) */
	PAVO_POOL_READS, /* a credit for a read or atomic (RPB) */
	PAVO_POOLS,
};

/**
 * struct pavo_drr_queue - a half of a queue pair, or a window, as a DRR queue.
 * @node:      in the active list of @pool, or empty
 * @kind:      enum pavo_drr_kind
 * @pool:      enum pavo_pool
 * @level:     service level of its packets
 * @strict:    it was appended to the list of strict priority
 * @active:    it is in an active list, is served, or holds credits; written by the requester's
 *             owner
 * @scheduled: it is to be served; its service begins when its work runs
 * @scarce:    it has taken the last credit in this service, or begun to wait for one, so an ACK is
 *             urgent
 * @deficit:   deficit counter: packets that it may send; below 0 after a GSO super-packet
 * @spent:     packets sent that are not subtracted from @deficit yet; the requester's owner
 * @held:      credits by pool
 * @cpu:       CPU on which it sent last
 * @run:       runs it on @cpu, for a caller of this file
 */
struct pavo_drr_queue {
	struct list_head node;
	u8 kind;
	u8 pool;
	u8 level;
	bool strict;
	bool active;
	bool scheduled;
	bool scarce;
	s32 deficit;
	u32 spent;
	u32 held[PAVO_POOLS];
	int cpu;
	void (*run)(struct pavo_drr_queue *queue);
};

/**
 * struct pavo_pool_state - a pool of credits and its active list.
 * @active_list: queue pairs that have more to send and wait for service
 * @strict_list: likewise, those with strict priority
 * @limit: number of credits; 0: no limit
 * @used:  credits that queue pairs hold
 * @most:  maximum of @used since the limit was set
 * @waits: number of times that a queue pair had to wait for a credit
 */
struct pavo_pool_state {
	struct list_head active_list;
	struct list_head strict_list;
	u32 limit;
	u32 used;
	u32 most;
	u64 waits;
};

/**
 * struct pavo_drr - DRR scheduler of an adapter.
 * @on:      weights differ, or a pool has a limit; else no queue pair waits for another
 * @quantum: packets of a round for weight 1
 * @weight:  by kind and service level; PAVO_WEIGHT_STRICT: strict priority
 * @pool:    by enum pavo_pool
 * @serving: the queue pair that is served or scheduled; NULL: none
 * @next_pool: pool whose active list is looked at first
 * @rounds:  number of times that a quantum was added
 */
struct pavo_drr {
	bool on;
	u32 quantum;
	u32 weight[PAVO_KINDS][PAVO_LEVELS];
	struct pavo_pool_state pool[PAVO_POOLS];
	struct pavo_drr_queue *serving;
	u8 next_pool;
	u64 rounds;
};

/** pavo_drr_init - initialize with weights of 1. @sends, @reads: credits, 0: no limit. */
void pavo_drr_init(struct pavo_drr *drr, u32 quantum, u32 sends, u32 reads);

/** pavo_drr_enable - update @on after a change of weights or limits. */
void pavo_drr_enable(struct pavo_drr *drr);

/** pavo_drr_queue_init - initialize a queue, with a deficit of @quantum and without @run. */
void pavo_drr_queue_init(struct pavo_drr_queue *queue, enum pavo_drr_kind kind,
			 u32 quantum);

/**
 * pavo_drr_take - take credits, within the deficit, to send packets.
 * @drr:   of the adapter
 * @queue: of the queue pair
 * @pool:  credits that it needs
 * @want:  packets, or 1 for a read or atomic
 *
 * Return: number of packets that it may send, which hold as many credits; 0: the queue pair is in
 * an active list, or has to wait until its service begins.
 */
u32 pavo_drr_take(struct pavo_drr *drr, struct pavo_drr_queue *queue,
		  enum pavo_pool pool, u32 want);

/** pavo_drr_hold_credits - return all credits of a pool beyond @count. */
void pavo_drr_hold_credits(struct pavo_drr *drr, struct pavo_drr_queue *queue,
			   enum pavo_pool pool, u32 count);

/**
 * pavo_drr_begin_round - begin the service of a queue pair that is scheduled: add a quantum to its
 * deficit. Does nothing for others.
 * @drr:   of the adapter
 * @queue: of the queue pair
 *
 * The work of the queue pair calls this. If service began earlier, packets that are answered at
 * once would keep a CPU busy with one queue pair, and processes could not post to others.
 */
void pavo_drr_begin_round(struct pavo_drr *drr, struct pavo_drr_queue *queue);

/** pavo_drr_end_round - end the service of a queue pair: it has no more to send, or waits. */
void pavo_drr_end_round(struct pavo_drr *drr, struct pavo_drr_queue *queue);

/** pavo_drr_leave - remove a queue pair from list and service, and return its credits. */
void pavo_drr_leave(struct pavo_drr *drr, struct pavo_drr_queue *queue);

/**
 * pavo_drr_next - schedule the next queue pair.
 * @drr: of the adapter
 *
 * Return: the queue pair whose work is to run; NULL: another one is served, or none can send.
 */
struct pavo_drr_queue *pavo_drr_next(struct pavo_drr *drr);

/** pavo_drr_dequeue_any - remove a queue pair from any active list; NULL: all are empty. */
struct pavo_drr_queue *pavo_drr_dequeue_any(struct pavo_drr *drr);

/** pavo_drr_is_idle - true if it is in no active list, not served, and has no credits. */
bool pavo_drr_is_idle(const struct pavo_drr *drr,
		      const struct pavo_drr_queue *queue);

#endif /* PAVO_DRR_H */
