/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cq_ring.h - completion queues: rings of completions, and the events that are owed for them.
 */
#ifndef PAVO_RINGS_CQ_RING_H
#define PAVO_RINGS_CQ_RING_H

#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>

struct pavo_mmap;

/*
 * Bits of a CQ's @event. TELLING: the completion handler is being called. A side that owes an
 * event meanwhile leaves it to that caller; the side may run inside the handler itself.
 */
#define PAVO_CQ_OWED 0
#define PAVO_CQ_NOTIFYING 1
#define PAVO_CQ_OVERRUN 2

/**
 * struct pavo_cq - completion queue.
 * @ib:     the object of rdma core, first
 * @account:  user that it counts for
 * @mmap:   the memory of @ring and @cqes: mapped by the process, or private to the kernel.
 *          verbs/resize.c replaces it under @lock
 * @ring:   its header
 * @cqes:   its entries
 * @count:  of them, a power of two
 * @lock:   all below, and writing entries
 * @prod:   entries written
 * @cons:   kernel CQs: entries polled
 * @armed:  enum ib_cq_notify_flags asked for, 0 if not
 * @moderate_count: events come after so many completions,
 * @moderate_us: or so long after the first of them; either 0: at once
 * @held:   completions that shall wake the waiter and have not yet
 * @timer:  for @moderate_us
 * @event:  PAVO_CQ_*: events that are owed, raised by pavo_cq_raise() outside of any side
 * @dead:   it has overrun: no entry is written any more
 * @work:   tells the users of a dead CQ, and of events that bring about each other
 * @resize_mutex: one resize at a time
 * @users_mutex: the lists below, of those that an overrun takes to Error
 * @senders: queue pairs that complete requests here
 * @receivers: queue pairs that complete receives here
 * @srqs:   shared receive queues of XRC
 */
struct pavo_cq {
	struct ib_cq ib;
	kuid_t account;
	struct pavo_mmap *mmap;
	struct pavo_cq_header *ring;
	struct pavo_cqe *cqes;
	u32 count; /* a power of two */
	spinlock_t lock; /* all below, and writing entries */
	u32 prod;
	u32 cons;
	int armed;
	u16 moderate_count;
	u16 moderate_us;
	u32 held;
	struct hrtimer timer;
	unsigned long event;
	bool dead;
	struct work_struct work;
	struct mutex resize_mutex; /* one resize at a time */
	struct mutex users_mutex; /* the lists below */
	struct list_head senders;
	struct list_head receivers;
	struct list_head srqs;
};

static inline struct pavo_cq *to_pavo_cq(struct ib_cq *ib)
{
	return container_of(ib, struct pavo_cq, ib);
}

/**
 * pavo_cq_push - write a completion.
 * @cq:        the CQ
 * @cqe:       the completion; its owner bit does not matter
 * @solicited: wakes a waiter that asked for solicited events only; a status
 *             other than success does so as well
 *
 * Context: any, also with a side locked. An overrun kills the CQ and moves
 * its QPs to Error through an event (work).
 */
void pavo_cq_push(struct pavo_cq *cq, const struct pavo_cqe *cqe,
		  bool solicited);

/**
 * pavo_cq_raise - call the completion handler if a push owed it one. One caller at a time: a
 * handler that brings about another event is called again when it has returned.
 * @cq: the CQ, or NULL
 */
void pavo_cq_raise(struct pavo_cq *cq);

/**
 * pavo_cq_forget - drop the completions of a QP that a kernel consumer has not polled: their
 * wr_ids are freed with the QP's queues. (User space does this for its own CQs.)
 * @cq:  a CQ; NULL or one of user space: nothing is done
 * @qpn: number of the QP
 */
void pavo_cq_forget(struct pavo_cq *cq, u32 qpn);

/** pavo_cq_consumed - entries polled so far; for a CQ of user space, as the process claims. */
u32 pavo_cq_consumed(struct pavo_cq *cq);

/**
 * pavo_cq_owe - note that the waiter is to be woken: pavo_cq_raise() tells it.
 * @cq: the CQ
 *
 * Context: cq->lock is held.
 */
void pavo_cq_owe(struct pavo_cq *cq);

/** pavo_cq_timer_init - the timer that ends moderation. */
void pavo_cq_timer_init(struct pavo_cq *cq);

#endif /* PAVO_RINGS_CQ_RING_H */
