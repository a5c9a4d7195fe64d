/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * enter.h - how a CPU becomes the owner of a side, does the pending work, and lets go
 * without leaving work behind (side.h). The two sides differ in how they handle packets and
 * pending work; each builds these functions with its own struct pavo_side_work.
 */
#ifndef PAVO_ENTER_H
#define PAVO_ENTER_H

#include "net/net.h"
#include "pavo_trace.h"
#include "qp/qp.h"
#include "qp/side.h"

/* Rounds and packets from the backlog before the QP's work takes over. */
#define PAVO_ENTER_BUDGET 256

/**
 * struct pavo_side_work - functions of a side; its owner calls them, RCU read side.
 * @handle: handle a packet. PAVO_ST_WAIT: it is parked, and is handled on when the side's wait
 *          is over
 * @visit:  do the pending work. True: there is more than the budget of one visit
 */
struct pavo_side_work {
	enum pavo_status (*handle)(struct pavo_qp *qp, struct pavo_rx *rx);
	bool (*visit)(struct pavo_qp *qp);
};

/* Go on to the next packet of a bundle; false if there is none. */
static __always_inline bool pavo_side_next(struct pavo_qp *qp,
					   struct pavo_rx *rx)
{
	if (likely(!rx->meta.packets) || !pavo_rx_next(rx))
		return false;
	trace_pavo_receive(qp, &rx->pkt, rx->pkt.payload);
	return true;
}

/*
 * Handle a packet, or all of a bundle; of one that was parked, those from @side->index on. True: it
 * is parked.
 */
static __always_inline bool pavo_side_handle(struct pavo_qp *qp,
					     struct pavo_side *side,
					     struct pavo_rx *rx,
					     const struct pavo_side_work *work)
{
	while (unlikely(rx->index < side->index) && pavo_rx_next(rx))
		;
	do {
		if (unlikely(work->handle(qp, rx) == PAVO_ST_WAIT)) {
			side->index = rx->index;
			return true;
		}
		pavo_side_unpark(side);
	} while (pavo_side_next(qp, rx));
	side->index = 0;
	return false;
}

/* Handle packets of the backlog. Return: what is left of the budget. */
static __always_inline int pavo_side_drain(struct pavo_qp *qp,
					   struct pavo_side *side, int budget,
					   const struct pavo_side_work *work)
{
	while (budget > 0 && !skb_queue_empty_lockless(&side->backlog) &&
	       !pavo_side_waits(side)) {
		struct sk_buff *skb = skb_dequeue(&side->backlog);
		struct pavo_rx rx; /* in here, as it is cleared where it stands */

		if (!skb)
			break;
		budget--;
		pavo_rx_parse(&rx, &qp->dev->port, skb);
		if (unlikely(pavo_side_handle(qp, side, &rx, work))) {
			skb_queue_head(&side->backlog, skb);
		} else {
			kfree_skb(skb);
			pavo_user_waited(qp->user);
		}
	}
	return budget;
}

/** pavo_side_run - do pending work unless the side has an owner; then raise events of @cq. */
static __always_inline void pavo_side_run(struct pavo_qp *qp,
					  struct pavo_side *side,
					  struct pavo_cq *cq,
					  const struct pavo_side_work *work)
{
	int budget = PAVO_ENTER_BUDGET;
	bool more = false;
	int cpu;

	do {
		local_bh_disable();
		if (!spin_trylock(&side->lock)) {
			local_bh_enable();
			return;
		}
		cpu = smp_processor_id();
		rcu_read_lock();
		budget = pavo_side_drain(qp, side, budget - 1, work);
		more = work->visit(qp) || budget <= 0;
		rcu_read_unlock();
		spin_unlock(&side->lock);
		pavo_inside_deliver();
		local_bh_enable();
		pavo_cq_raise(cq);
		/*
		 * Pairs with the atomics of a CPU that left something and found
		 * the lock taken: one of the two sees the other.
		 */
		smp_mb();
	} while (!more && pavo_side_has_work(side));
	if (unlikely(more && pavo_qp_state(qp) == IB_QPS_ERR))
		pavo_qp_end(qp);
	else if (more)
		pavo_holder_continue(&qp->holder, cpu);
}

/** pavo_side_receive - the same, with a packet in hand, which it consumes; softirq. */
static __always_inline void pavo_side_receive(struct pavo_qp *qp,
					      struct pavo_side *side,
					      struct pavo_cq *cq,
					      struct pavo_rx *rx,
					      const struct pavo_side_work *work)
{
	bool more, parked;

	if (!skb_queue_empty_lockless(&side->backlog) ||
	    !spin_trylock(&side->lock))
		goto leave_it;
	/* A packet that came meanwhile goes before this one. */
	if (unlikely(!skb_queue_empty_lockless(&side->backlog))) {
		spin_unlock(&side->lock);
		goto leave_it;
	}
	rcu_read_lock();
	parked = pavo_side_handle(qp, side, rx, work);
	if (unlikely(parked)) {
		pavo_user_park(qp->user);
		skb_queue_head(&side->backlog, rx->skb);
	}
	more = work->visit(qp);
	rcu_read_unlock();
	spin_unlock(&side->lock);
	pavo_inside_deliver();
	if (likely(!parked))
		pavo_rx_free(rx->skb);
	pavo_cq_raise(cq);
	smp_mb(); /* as in pavo_side_run() */
	if (more)
		pavo_holder_continue(&qp->holder, smp_processor_id());
	else if (pavo_side_has_work(side))
		pavo_side_run(qp, side, cq, work);
	return;

leave_it:
	if (!pavo_side_defer(side, qp->user, rx->skb)) {
		pavo_count(qp, rx_drop_backlog);
		kfree_skb(rx->skb);
	}
	/* Pairs with the barrier of the owner, see above. */
	smp_mb();
	pavo_side_run(qp, side, cq, work);
}

/**
 * pavo_side_forget - drop the packets of the backlog, a parked one among them; no owner handles
 * them meanwhile.
 * @qp:   the QP
 * @side: one of its sides
 */
static inline void pavo_side_forget(struct pavo_qp *qp, struct pavo_side *side)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&side->backlog))) {
		pavo_count(qp, rx_drop_state);
		pavo_user_waited(qp->user);
		kfree_skb(skb);
	}
	pavo_side_unpark(side);
	side->index = 0;
}

#endif /* PAVO_ENTER_H */
