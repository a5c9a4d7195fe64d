/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * side.h - a side of a QP: the work that waits for it, and its owner.
 *
 * The owner of a side is the CPU that holds its lock, and a CPU only ever tries the lock. A
 * CPU that does not get it leaves a packet on the backlog or a bit in pending, and goes on;
 * the owner looks again after it let go. So no CPU spins while the owner sends a cwnd of
 * packets, a packet that comes back to the CPU that sent it cannot deadlock, and packets are
 * executed where they arrive.
 *
 * enter.h has the code. Exception: process context that changes a QP's state, or the room for
 * its reads, waits for the lock and runs the side afterwards.
 */
#ifndef PAVO_SIDE_H
#define PAVO_SIDE_H

#include <linux/bitops.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include "memory/odp.h"
#include "memory/rkm.h"
#include "net/net.h"
#include "accounting.h"
#include "status.h"

/** Packets that may wait for a busy side; more are dropped and counted. */
#define PAVO_BACKLOG_MAX 1024

/** Pause of a side after the interface refused a packet. */
#define PAVO_CONGESTED_NS NSEC_PER_MSEC

/** enum pavo_stage - where the handling of a parked packet goes on. */
enum pavo_stage {
	PAVO_STAGE_BEGIN, /* no packet is parked */
	PAVO_STAGE_GRH, /* bytes of the GRH are to be written */
	PAVO_STAGE_DATA, /* the request is checked; bytes are to be written */
	PAVO_STAGE_KEY, /* a walk for the key that it invalidates is under way */
};

/**
 * struct pavo_side - what requester and responder have in common.
 * @lock:    held by the owner, BH disabled
 * @pending: event bits of the side
 * @backlog: parsed and verified packets that wait; has a lock of its own
 * @missing: pages that the side waits for; packets stay on the backlog meanwhile
 * @inval:   an invalidation that the side asked for, whose walk may still run
 * @stage:   enum pavo_stage. If it is not BEGIN, the first packet of @backlog is parked: the side
 *           has begun to handle it, and goes on there when @missing or @inval is over
 * @done:    bytes of that stage that have been written
 * @index:   which packet it is, if the first one of @backlog is a bundle
 * @backoff:    how near the peer is, by the packets that came from it
 * @mark:    its packets that stay inside, if the peer is in the same namespace
 * @resting: it left work to the QP's work. Softirqs leave more work to that, too
 */
struct pavo_side {
	spinlock_t lock; /* ownership of the side */
	unsigned long pending;
	struct sk_buff_head backlog;
	struct pavo_missing missing;
	struct pavo_rkm_request inval;
	u8 stage;
	u32 done;
	u32 index;
	struct pavo_gso_backoff backoff;
	struct pavo_loopback_mark mark;
	bool resting;
};

static inline void pavo_side_init(struct pavo_side *side)
{
	spin_lock_init(&side->lock);
	side->pending = 0;
	side->missing = (struct pavo_missing){};
	side->inval.state = PAVO_RKM_NONE;
	side->stage = PAVO_STAGE_BEGIN;
	side->done = 0;
	side->index = 0;
	side->backoff = (struct pavo_gso_backoff){};
	side->mark = (struct pavo_loopback_mark){};
	side->resting = false;
	skb_queue_head_init(&side->backlog);
}

static inline bool pavo_side_waits(const struct pavo_side *side)
{
	/* Pairs with the release in memory/pager.c. */
	if (smp_load_acquire(&side->missing.state) == PAVO_MISSING_WAITING)
		return true;
	if (READ_ONCE(side->stage) == PAVO_STAGE_BEGIN)
		return false;
	/* Pairs with the release in memory/rkm.c. */
	return smp_load_acquire(&side->inval.state) == PAVO_RKM_WAITING;
}

static inline bool pavo_side_has_work(const struct pavo_side *side)
{
	return READ_ONCE(side->pending) ||
	       (!skb_queue_empty_lockless(&side->backlog) &&
		!pavo_side_waits(side));
}

/**
 * pavo_side_defer - leave a packet to the owner, at the end of the backlog.
 * @side: the side
 * @user: of its QP
 * @skb:  the packet
 *
 * Return: false: the backlog is full, or the user has as many packets waiting as it may.
 */
static inline bool pavo_side_defer(struct pavo_side *side,
				   struct pavo_user *user, struct sk_buff *skb)
{
	if (skb_queue_len_lockless(&side->backlog) >= PAVO_BACKLOG_MAX ||
	    pavo_user_charge_packet(user))
		return false;
	skb_queue_tail(&side->backlog, skb);
	return true;
}

/**
 * pavo_side_defer_current - park the packet in hand.
 * @side: the side
 * @stage: where its handling goes on
 *
 * Return: PAVO_ST_WAIT, for the caller to pass on.
 */
static inline enum pavo_status pavo_side_defer_current(struct pavo_side *side,
						       enum pavo_stage stage)
{
	WRITE_ONCE(side->stage, stage);
	return PAVO_ST_WAIT;
}

/** pavo_side_wake - a work of the QP has begun: softirqs need not leave work to it any more. */
static inline void pavo_side_wake(struct pavo_side *side)
{
	WRITE_ONCE(side->resting, false);
	/* Pairs with the barrier in front of pavo_side_run() of one that leaves something. */
	smp_mb();
}

/** pavo_side_end_deferred - the packet in hand is handled, or dropped. */
static inline void pavo_side_end_deferred(struct pavo_side *side)
{
	if (likely(side->stage == PAVO_STAGE_BEGIN))
		return;
	WRITE_ONCE(side->stage, PAVO_STAGE_BEGIN);
	side->done = 0;
}

#endif /* PAVO_SIDE_H */
