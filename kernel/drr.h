/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * drr.h - turns and credits: how the queue pairs of an adapter share its sending
 * (sources.md#engine-2-4-2, sources.md#engine-3-4-3).
 *
 * A turn is a number of packets, the quantum times the weight of the service level. A queue pair
 * that has sent them joins the end of a line, and gets the next turn when it is the first
 * (deficit round robin, by packets: Shreedhar and Varghese, 1995). A credit stands for
 * a packet that waits for its acknowledgment, or for a read or atomic that waits for its answer;
 * an adapter has pools of them, or as many as needed.
 *
 * Pure: callers hold the adapter's drr_lock.
 */
#ifndef PAVO_DRR_H
#define PAVO_DRR_H

#include <linux/list.h>
#include <linux/types.h>

/** Service levels. */
#define PAVO_LEVELS 16
/** Packets of a turn of weight 1: a train, or a chunk of a long read, at least. */
#define PAVO_QUANTUM_LEAST 32
#define PAVO_QUANTUM_MOST 65536
/** WQEs parsed and packets sent before the QP's work takes over. */
#define PAVO_QUANTUM 512
#define PAVO_WEIGHT_MOST 64
/** Credits of a pool at most. */
#define PAVO_CREDITS_MOST 1048576u

/** enum pavo_pool - what a queue pair needs beside its turn, and the line in which it waits. */
enum pavo_pool {
	PAVO_POOL_NONE, /* nothing */
	PAVO_POOL_SENDS, /* a credit for a packet of a send or write (SWPB) */
	PAVO_POOL_READS, /* a credit for a read or atomic (RPB) */
	PAVO_POOLS,
};

/**
 * struct pavo_drr_queue - turns and credits of a queue pair.
 * @wait:    place in the line of @pool, or empty
 * @pool:    that of the line
 * @level:   service level of what it sends
 * @touched: it waits, has its turn or holds credits; the requester's owner
 * @called:  it is its turn, which begins when its work runs
 * @scarce:  it has taken the last credit in this visit, so an ACK is urgent
 * @deficit:    packets left of its turn; below 0 after a train
 * @spent:   packets sent that @deficit does not know yet; the requester's owner
 * @held:    credits by pool
 * @cpu:     where it sent last
 */
struct pavo_drr_queue {
	struct list_head wait;
	u8 pool;
	u8 level;
	bool touched;
	bool called;
	bool scarce;
	s32 deficit;
	u32 spent;
	u32 held[PAVO_POOLS];
	int cpu;
};

/**
 * struct pavo_pool_state - a pool of credits and its line.
 * @waiting:  queue pairs that wait
 * @limit: credits; 0: as many as needed
 * @used:  credits that queue pairs hold
 * @most:  the most that were ever held at a time
 * @waits: times that a queue pair had to wait for a credit
 */
struct pavo_pool_state {
	struct list_head waiting;
	u32 limit;
	u32 used;
	u32 most;
	u64 waits;
};

/**
 * struct pavo_drr - how an adapter is shared.
 * @on:      weights differ, or a pool has a limit; else no queue pair waits for another
 * @quantum: packets of a turn of weight 1
 * @weight:  by service level
 * @pool:    by enum pavo_pool
 * @now:     whose turn it is; NULL: none that is known to send
 * @next:    the line that is asked first
 * @drr:   that were given
 */
struct pavo_drr {
	bool on;
	u32 quantum;
	u32 weight[PAVO_LEVELS];
	struct pavo_pool_state pool[PAVO_POOLS];
	struct pavo_drr_queue *now;
	u8 next;
	u64 drr;
};

/** pavo_drr_init - weights of 1. @sends, @reads: credits, 0: as many as needed. */
void pavo_drr_init(struct pavo_drr *drr, u32 quantum, u32 sends, u32 reads);

/** pavo_drr_enable - set @on after a change of weights or limits. */
void pavo_drr_enable(struct pavo_drr *drr);

/** pavo_drr_queue_init - a queue pair that waits for nothing, with a turn of weight 1. */
void pavo_drr_queue_init(struct pavo_drr_queue *queue, u32 quantum);

/**
 * pavo_drr_take - ask for leave to send.
 * @drr: of the adapter
 * @queue:  of the queue pair
 * @pool:  what it needs
 * @want:  packets, or 1 for a read or atomic
 *
 * Return: how many it may send, which hold as many credits; 0: it waits in a line.
 */
u32 pavo_drr_take(struct pavo_drr *drr, struct pavo_drr_queue *queue,
		  enum pavo_pool pool, u32 want);

/** pavo_drr_hold_credits - give back all credits of a pool beyond @count. */
void pavo_drr_hold_credits(struct pavo_drr *drr, struct pavo_drr_queue *queue,
			   enum pavo_pool pool, u32 count);

/**
 * pavo_drr_begin_round - the work of a queue pair runs: if it was called, its turn begins.
 * @drr: of the adapter
 * @queue:  of the queue pair
 *
 * Not before, or packets that are answered at once would keep a CPU with one queue pair, and
 * processes that have more for others could not say so.
 */
void pavo_drr_begin_round(struct pavo_drr *drr, struct pavo_drr_queue *queue);

/** pavo_drr_end_round - the queue pair has no more to send for now, or waits. */
void pavo_drr_end_round(struct pavo_drr *drr, struct pavo_drr_queue *queue);

/** pavo_drr_leave - forget a queue pair: its place, its turn and its credits. */
void pavo_drr_leave(struct pavo_drr *drr, struct pavo_drr_queue *queue);

/**
 * pavo_drr_next - call the next queue pair.
 * @drr: of the adapter
 *
 * Return: the queue pair whose work is to run; NULL: another has its turn, or none can go on.
 */
struct pavo_drr_queue *pavo_drr_next(struct pavo_drr *drr);

/** pavo_drr_dequeue_any - take any queue pair out of its line, to be run; NULL: all are empty. */
struct pavo_drr_queue *pavo_drr_dequeue_any(struct pavo_drr *drr);

/** pavo_drr_is_idle - does the queue pair wait for nothing, and hold nothing? */
bool pavo_drr_is_idle(const struct pavo_drr *drr,
		      const struct pavo_drr_queue *queue);

#endif /* PAVO_DRR_H */
