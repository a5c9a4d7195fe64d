/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * side.h - a side of a QP: its pending work, its backlog, and its owner.
 *
 * The owner of a side is the CPU that holds its lock. A CPU only tries the lock. If it fails, the
 * CPU adds the packet to the backlog, or sets a bit in pending, and returns; the owner checks both
 * again after it has dropped the lock. So no CPU spins while the owner sends a cwnd of packets, a
 * packet that is looped back to the sending CPU cannot deadlock, and packets are executed on the
 * CPU that receives them.
 *
 * enter.h has the code. Exception: process context that changes a QP's state, or the number of its
 * responder resources, waits for the lock, and runs the side afterwards.
 */
#ifndef PAVO_SIDE_H
#define PAVO_SIDE_H

#include <linux/bitops.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/xarray.h>
#include "memory/odp.h"
#include "memory/rkm.h"
#include "net/xmit.h"
#include "qp/out_of_order.h"
#include "accounting.h"
#include "status.h"

/** Most packets on a backlog; more are dropped and counted. */
#define PAVO_BACKLOG_MAX 1024

/** Pause of a side after the interface refused a packet. */
#define PAVO_CONGESTED_NS NSEC_PER_MSEC

/** enum pavo_stage - the point from which a deferred packet is handled on. */
enum pavo_stage {
	PAVO_STAGE_BEGIN, /* no packet is deferred */
	PAVO_STAGE_GRH, /* write bytes of the GRH */
	PAVO_STAGE_DATA, /* write bytes; the request has been checked */
	PAVO_STAGE_KEY, /* wait for the walk for the key that it invalidates */
};

/**
 * struct pavo_side - state that requester and responder have in common.
 * @lock:    held by the owner, BH disabled
 * @pending: event bits of the side
 * @backlog: verified packets that wait; has a lock of its own
 * @held:    packets behind a gap by their first PSN (out_of_order.h); the owner's
 * @held_bytes: their truesize
 * @held_searched: no packet is held that begins at this PSN or before; PAVO_PSN_NONE: unknown
 * @released: the packet on the backlog that was held; NULL: none. The owner's
 * @missing: pages that the side waits for; packets stay on the backlog meanwhile
 * @inval:   an invalidation that the side has requested, whose walk may still run
 * @stage:   enum pavo_stage. If it is not BEGIN, the first packet of @backlog is deferred: the side
 *           has begun to handle it, and continues there when @missing or @inval has ended
 * @done:    bytes of that stage that have been written
 * @index:   index of the deferred packet in the first skb of @backlog
 * @tx:      what net/ knows of it as a sender
 * @resting: it has left work to the QP's work. Softirqs leave more work to that, too
 */
struct pavo_side {
	spinlock_t lock; /* ownership of the side */
	unsigned long pending;
	struct sk_buff_head backlog;
	struct xarray held;
	u32 held_bytes;
	u32 held_searched;
	const struct sk_buff *released;
	struct pavo_missing missing;
	struct pavo_rkm_request inval;
	u8 stage;
	u32 done;
	u32 index;
	struct pavo_tx tx;
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
	side->resting = false;
	skb_queue_head_init(&side->backlog);
	xa_init_flags(&side->held, XA_FLAGS_LOCK_BH);
	side->held_bytes = 0;
	side->held_searched = PAVO_PSN_NONE;
	side->released = NULL;
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
 * pavo_side_add_backlog - append a packet to the backlog, for the owner.
 * @side: the side
 * @user: account of its QP
 * @skb:  the packet; not consumed by an error
 *
 * Return: 0; -ENOBUFS: the backlog is full; -EDQUOT: the user has too many packets on backlogs.
 */
static inline int pavo_side_add_backlog(struct pavo_side *side,
					struct pavo_user *user,
					struct sk_buff *skb)
{
	int err;

	if (skb_queue_len_lockless(&side->backlog) >= PAVO_BACKLOG_MAX)
		return -ENOBUFS;
	err = pavo_user_charge_packet(user);
	if (!err)
		skb_queue_tail(&side->backlog, skb);
	return err;
}

/**
 * pavo_side_defer_current - defer the packet that is being handled.
 * @side: the side
 * @stage: point from which it is handled on
 *
 * Return: PAVO_ST_WAIT, for the caller to pass on.
 */
static inline enum pavo_status pavo_side_defer_current(struct pavo_side *side,
						       enum pavo_stage stage)
{
	WRITE_ONCE(side->stage, stage);
	return PAVO_ST_WAIT;
}

/** pavo_side_has_held - true if packets wait behind a gap. */
static inline bool pavo_side_has_held(const struct pavo_side *side)
{
	return !xa_empty(&side->held);
}

/**
 * pavo_side_close_gap - handle next what was held for the packet that has been handled.
 * @qp:   the QP
 * @side: its side
 * @psn:  the expected PSN now
 */
static inline void pavo_side_close_gap(struct pavo_qp *qp,
				       struct pavo_side *side, u32 psn)
{
	if (unlikely(pavo_side_has_held(side)))
		pavo_held_release(qp, side, psn);
}

/** pavo_side_wake - clear @resting when the QP's work begins, for softirqs. */
static inline void pavo_side_wake(struct pavo_side *side)
{
	WRITE_ONCE(side->resting, false);
	/* Pairs with the barrier in front of pavo_side_run() of a CPU that has added work. */
	smp_mb();
}

/** pavo_side_end_deferred - reset the stage: the packet is handled, or dropped. */
static inline void pavo_side_end_deferred(struct pavo_side *side)
{
	if (likely(side->stage == PAVO_STAGE_BEGIN))
		return;
	WRITE_ONCE(side->stage, PAVO_STAGE_BEGIN);
	side->done = 0;
}

#endif /* PAVO_SIDE_H */
