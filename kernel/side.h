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
#include "translate/rkm.h"
#include "payer.h"

struct pavo_fault;

/** Packets that may wait for a busy side; more are dropped and counted. */
#define PAVO_BACKLOG_MAX 1024

/** Pause of a side after the interface refused a packet. */
#define PAVO_CONGESTED_NS NSEC_PER_MSEC

/* State of pages that a side waits for (translate/odp.c). */
enum pavo_missing_state {
	PAVO_MISSING_NONE,
	PAVO_MISSING_WAITING, /* a pager brings them in, then the QP's work runs */
	PAVO_MISSING_FAILED, /* the pager failed; the side's next try reports it */
};

/**
 * struct pavo_missing - pages that a side needs.
 * @state: enum pavo_missing_state; the side begins WAITING, and the pager's thread or
 *         pavo_fault_detach() ends it
 * @id:    id of the memory; tells the side whether FAILED is of the range that it tries
 * @first: first page, likewise
 * @fault: set while WAITING; under the lock of translate/pager.c
 */
struct pavo_missing {
	int state;
	u64 id;
	unsigned long first;
	struct pavo_fault *fault;
};

/**
 * struct pavo_side - what requester and responder have in common.
 * @lock:    held by the owner, BH disabled
 * @pending: event bits of the side
 * @backlog: parsed and verified packets that wait; has a lock of its own
 * @missing: pages that the side waits for; packets stay on the backlog meanwhile
 * @inval:   an invalidation that the side asked for, whose walk may still run
 * @hold:    handle the packet in hand again when @missing or @inval is over
 */
struct pavo_side {
	spinlock_t lock; /* ownership of the side */
	unsigned long pending;
	struct sk_buff_head backlog;
	struct pavo_missing missing;
	struct pavo_rkm_request inval;
	bool hold;
};

static inline void pavo_side_init(struct pavo_side *side)
{
	spin_lock_init(&side->lock);
	side->pending = 0;
	side->missing = (struct pavo_missing){};
	side->inval.state = PAVO_RKM_NONE;
	side->hold = false;
	skb_queue_head_init(&side->backlog);
}

static inline bool pavo_side_waits(const struct pavo_side *side)
{
	/* Pairs with the release in translate/pager.c. */
	if (smp_load_acquire(&side->missing.state) == PAVO_MISSING_WAITING)
		return true;
	if (!READ_ONCE(side->hold))
		return false;
	/* Pairs with the release in translate/rkm.c. */
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
	    !pavo_user_wait(user))
		return false;
	skb_queue_tail(&side->backlog, skb);
	return true;
}

/**
 * pavo_side_hold - put the packet in hand at the head of the backlog, to be handled again.
 * @side: the side
 * @user: of its QP
 * @skb:  the packet
 *
 * Return: false: the user has as many packets waiting as it may, and the packet is lost.
 */
static inline bool pavo_side_hold(struct pavo_side *side,
				  struct pavo_user *user, struct sk_buff *skb)
{
	if (!pavo_user_wait(user))
		return false;
	skb_queue_head(&side->backlog, skb);
	return true;
}

#endif /* PAVO_SIDE_H */
