// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cq_ring.c - rings of completions: entries, and the events that are due for them.
 *
 * The sides of QPs push entries while they are locked, and raise the due events
 * after the unlock. User space polls its ring in its own memory; verbs/cq.c
 * polls those of kernel consumers, and verbs/resize.c replaces rings.
 *
 * Lock: cq->lock, a leaf.
 */
#include <linux/ktime.h>
#include "adapter.h"
#include "rings/cq_ring.h"
#include "rings/cqe.h"

/* QPN of an entry whose QP is gone: no QP has more than 24 bits. */
#define PAVO_CQE_FORGOTTEN U32_MAX

/*
 * Calls of the handler in a row before a work takes over: a handler that posts to a queue pair in
 * Error causes another event each time.
 */
#define PAVO_CQ_CALLS 16

/*
 * True if another entry fits. The consumer index of user space may have any value: one
 * that claims entries which were never written counts as an overrun.
 */
static bool has_free_cqe(struct pavo_cq *cq)
{
	struct pavo_dev *dev = to_pavo_dev(cq->ib.device);
	u32 cons = cq->ib.uobject ? READ_ONCE(cq->ring->cons) : cq->cons;
	u32 used = cq->prod - cons;

	if (likely(used < cq->count))
		return true;
	if (used > cq->count)
		pavo_count(dev, cq_index_errors);
	pavo_count(dev, cq_overruns);
	return false;
}

u32 pavo_cq_consumed(struct pavo_cq *cq)
{
	unsigned long flags;
	u32 cons;

	spin_lock_irqsave(&cq->lock, flags);
	cons = cq->ib.uobject ? READ_ONCE(cq->ring->cons) : cq->cons;
	spin_unlock_irqrestore(&cq->lock, flags);
	return cons;
}

static void write_cqe(struct pavo_cq *cq, const struct pavo_cqe *from)
{
	struct pavo_cqe cqe = *from;

	/* Kernel consumers cannot request timestamps. */
	if (cq->ib.uobject)
		cqe.timestamp = ktime_get_ns();
	pavo_cqe_put(cq->cqes, cq->count, cq->prod, &cqe);
	cq->prod++;
	WRITE_ONCE(cq->ring->prod, cq->prod);
}

void pavo_cq_owe(struct pavo_cq *cq)
{
	cq->armed = 0;
	cq->held = 0;
	set_bit(PAVO_CQ_OWED, &cq->event);
}

/*
 * Have the waiter woken for the entry just written: at once, or, if events are moderated, with
 * the last of moderate_count entries or moderate_us after the first.
 */
static void wake_waiter(struct pavo_cq *cq)
{
	if (++cq->held >= cq->moderate_count || !cq->moderate_us)
		pavo_cq_owe(cq);
	else if (cq->held == 1)
		hrtimer_start(&cq->timer,
			      ns_to_ktime(cq->moderate_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
}

/* Raise the event moderate_us after the first completion that moderation delayed. */
static enum hrtimer_restart end_moderation(struct hrtimer *timer)
{
	struct pavo_cq *cq = container_of(timer, struct pavo_cq, timer);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->held)
		pavo_cq_owe(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	pavo_cq_raise(cq);
	return HRTIMER_NORESTART;
}

void pavo_cq_push(struct pavo_cq *cq, const struct pavo_cqe *cqe,
		  bool solicited)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->dead)
		goto out;
	if (unlikely(!has_free_cqe(cq))) {
		cq->dead = true;
		set_bit(PAVO_CQ_OVERRUN, &cq->event);
		queue_work(to_pavo_dev(cq->ib.device)->wq, &cq->work);
		goto out;
	}
	write_cqe(cq, cqe);
	if (cq->armed == IB_CQ_NEXT_COMP ||
	    (cq->armed && (solicited || cqe->status != IB_WC_SUCCESS)))
		wake_waiter(cq);
out:
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Call the handler as long as an event is due. BH disabled: a preempted caller would delay
 * events of other CPUs.
 */
static void notify_handler(struct pavo_cq *cq)
{
	unsigned int calls;

	for (calls = 0; test_bit(PAVO_CQ_OWED, &cq->event); calls++) {
		if (calls == PAVO_CQ_CALLS) {
			queue_work(to_pavo_dev(cq->ib.device)->end_wq,
				   &cq->work);
			return;
		}
		if (test_and_set_bit(PAVO_CQ_NOTIFYING, &cq->event))
			return;
		if (test_and_clear_bit(PAVO_CQ_OWED, &cq->event))
			cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		clear_bit_unlock(PAVO_CQ_NOTIFYING, &cq->event);
		/* A CPU that found the bit set has set PAVO_CQ_OWED before. */
		smp_mb__after_atomic();
	}
}

void pavo_cq_raise(struct pavo_cq *cq)
{
	if (!cq || !test_bit(PAVO_CQ_OWED, &cq->event))
		return;
	local_bh_disable();
	notify_handler(cq);
	local_bh_enable();
}

void pavo_cq_forget(struct pavo_cq *cq, u32 qpn)
{
	unsigned long flags;
	u32 n;

	if (!cq || cq->ib.uobject)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (n = cq->cons; n != cq->prod; n++) {
		struct pavo_cqe *cqe = &cq->cqes[n & (cq->count - 1)];

		if (cqe->qpn == qpn)
			cqe->qpn = PAVO_CQE_FORGOTTEN;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}

void pavo_cq_timer_init(struct pavo_cq *cq)
{
	pavo_hrtimer_setup(&cq->timer, end_moderation, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_SOFT);
}
