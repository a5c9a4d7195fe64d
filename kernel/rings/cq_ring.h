/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cq_ring.h - completion queues: rings of completions, and the events that are due for them.
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
 * Bits of a CQ's @event. OWED: a completion event is due. NOTIFYING: a CPU calls the completion
 * handler; another one leaves its event to that caller, as a side may run within the handler.
 * OVERRUN: the CQ's users are to be moved to Error.
 */
#define PAVO_CQ_OWED 0
#define PAVO_CQ_NOTIFYING 1
#define PAVO_CQ_OVERRUN 2

/**
 * struct pavo_cq - completion queue.
 * @ib:     the object of rdma core, first
 * @account: user that it counts for
 * @mmap:   the memory of @ring and @cqes: mapped by the process, or private to the kernel.
 *          verbs/resize.c replaces it under @lock
 * @ring:   its header
 * @cqes:   its entries
 * @count:  their number, a power of two
 * @lock:   all below, and writing entries
 * @prod:   entries written
 * @cons:   kernel CQs: entries polled
 * @armed:  enum ib_cq_notify_flags that the consumer requested, else 0
 * @moderate_count: events come after so many completions,
 * @moderate_us: or so many us after the first of them; either 0: at once
 * @held:   completions whose event moderation delays
 * @timer:  for @moderate_us
 * @event:  PAVO_CQ_*: events that are due; pavo_cq_raise() raises them while no side is locked
 * @dead:   it has overrun: no entry is written any more
 * @work:   moves the users of a dead CQ to Error; raises events after PAVO_CQ_CALLS in a row
 * @resize_mutex: one resize at a time
 * @users_mutex: the lists below, whose members an overrun moves to Error
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
 * @solicited: wakes a waiter that requested solicited events only; a status
 *             other than success does so as well
 *
 * Context: any, also with a side locked. An overrun kills the CQ and moves
 * its QPs to Error through an event (work).
 */
void pavo_cq_push(struct pavo_cq *cq, const struct pavo_cqe *cqe,
		  bool solicited);

/**
 * pavo_cq_raise - call the completion handler if an event is due. One caller at a time: after a
 * handler that causes another event it is called once more.
 * @cq: the CQ, or NULL
 */
void pavo_cq_raise(struct pavo_cq *cq);

/**
 * pavo_cq_forget - drop the completions of a QP that a kernel consumer has not polled: their
 * wr_ids are freed with the QP's queues. (The provider does this for CQs of user space.)
 * @cq:  a CQ; NULL or one of user space: nothing is done
 * @qpn: QPN
 */
void pavo_cq_forget(struct pavo_cq *cq, u32 qpn);

/** pavo_cq_consumed - entries polled so far; for a CQ of user space, by the process's index. */
u32 pavo_cq_consumed(struct pavo_cq *cq);

/**
 * pavo_cq_owe - mark a completion event as due: pavo_cq_raise() calls the handler.
 * @cq: the CQ
 *
 * Context: cq->lock is held.
 */
void pavo_cq_owe(struct pavo_cq *cq);

/** pavo_cq_timer_init - set up the timer of event moderation. */
void pavo_cq_timer_init(struct pavo_cq *cq);

#endif /* PAVO_RINGS_CQ_RING_H */
