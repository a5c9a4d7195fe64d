/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * enter.h - a CPU takes the ownership of a side, handles packets and pending work, and drops the
 * ownership without losing work (side.h). Each of the two sides inlines these functions with a
 * struct pavo_side_work of its own.
 */
#ifndef PAVO_ENTER_H
#define PAVO_ENTER_H

#include "budget.h"
#include "net/net.h"
#include "pavo_trace.h"
#include "qp/qp.h"
#include "qp/side.h"
#include "visit_budget.h"

/**
 * struct pavo_side_work - functions of a side; its owner calls them, RCU read side.
 * @handle: handles a packet. PAVO_ST_WAIT: the packet is deferred until the side's wait ends;
 *          PAVO_ST_HELD: the side has taken its skb over
 * @visit:  does the pending work within a budget. Returns true if work is left
 * @loop:   kind of loop that a run of the side counts as
 */
struct pavo_side_work {
	enum pavo_status (*handle)(struct pavo_qp *qp, struct pavo_rx *rx);
	bool (*visit)(struct pavo_qp *qp, struct pavo_budget *budget);
	enum pavo_loop loop;
};

/* Advance to the next packet of an skb. Return: as pavo_rx_next(). */
static __always_inline int pavo_side_take_next(struct pavo_qp *qp,
					       struct pavo_rx *rx)
{
	int err = pavo_rx_has_next(rx) ? pavo_rx_next(rx) : -ENODATA;

	if (err)
		return err;
	trace_pavo_receive(qp, &rx->pkt, rx->pkt.payload);
	return 0;
}

/*
 * Handle the packets of an skb, from @side->index on if that one was deferred.
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: the packet is deferred; PAVO_ST_HELD: the skb is the side's.
 */
static __always_inline enum pavo_status
pavo_side_handle(struct pavo_qp *qp, struct pavo_side *side, struct pavo_rx *rx,
		 const struct pavo_side_work *work)
{
	enum pavo_status status;

	while (unlikely(rx->index < side->index) && !pavo_rx_next(rx))
		;
	do {
		status = work->handle(qp, rx);
		if (unlikely(status == PAVO_ST_HELD))
			return status;
		if (unlikely(status == PAVO_ST_WAIT)) {
			side->index = rx->index;
			return status;
		}
		pavo_side_end_deferred(side);
	} while (!pavo_side_take_next(qp, rx));
	side->index = 0;
	return PAVO_ST_OK;
}

/* Handle packets of the backlog, within a budget. */
static __always_inline void pavo_side_drain(struct pavo_qp *qp,
					    struct pavo_side *side,
					    struct pavo_budget *budget,
					    const struct pavo_side_work *work)
{
	while (!skb_queue_empty_lockless(&side->backlog) &&
	       pavo_budget_remains(budget) && !pavo_side_waits(side)) {
		struct sk_buff *skb = skb_dequeue(&side->backlog);
		struct pavo_rx
			rx; /* the compiler clears it here, so not on the fast path */

		if (!skb)
			break;
		pavo_budget_spend(budget, 1, skb->len);
		pavo_rx_parse(&rx, &qp->dev->port, skb);
		switch (pavo_side_handle(qp, side, &rx, work)) {
		case PAVO_ST_WAIT:
			skb_queue_head(&side->backlog, skb);
			continue;
		case PAVO_ST_HELD:
			break;
		default:
			kfree_skb(skb);
		}
		pavo_user_uncharge_packet(qp->user);
		if (unlikely(side->released == skb))
			side->released = NULL;
	}
}

/*
 * Do the pending work, unless packets that the side has sent wait on another CPU. The side is
 * locked.
 * Return: true: work is left for the QP's work, on CPU *@cpu.
 */
static __always_inline bool pavo_side_visit(struct pavo_qp *qp,
					    struct pavo_side *side, int *cpu,
					    struct pavo_budget *budget,
					    const struct pavo_side_work *work)
{
	bool more = true;

	if (likely(!pavo_tx_is_elsewhere(&side->tx, cpu))) {
		*cpu = smp_processor_id();
		more = work->visit(qp, budget);
		pavo_tx_leave(&side->tx);
	}
	if (unlikely(more)) {
		WRITE_ONCE(side->resting, true);
		pavo_budget_end(work->loop, budget);
	}
	return more;
}

/*
 * True if the side has left work to the QP's work, so softirqs leave more to that. In Error they
 * flush nevertheless, because a consumer may poll without end, and no work can run then.
 */
static __always_inline bool pavo_side_rests(struct pavo_qp *qp,
					    const struct pavo_side *side)
{
	return unlikely(READ_ONCE(side->resting)) &&
	       pavo_qp_get_state(qp) != IB_QPS_ERR;
}

/* Queue the QP's work for the rest. */
static __always_inline void pavo_side_rest(struct pavo_qp *qp, int cpu)
{
	if (unlikely(pavo_qp_get_state(qp) == IB_QPS_ERR))
		pavo_qp_end(qp);
	else
		pavo_key_state_continue(&qp->key_state, cpu);
}

/** pavo_side_run - do pending work unless the side has an owner, and raise events of @cq. */
static __always_inline void pavo_side_run(struct pavo_qp *qp,
					  struct pavo_side *side,
					  struct pavo_cq *cq,
					  const struct pavo_side_work *work)
{
	struct pavo_budget budget = pavo_budget_begin_slice();
	bool more;
	int cpu;

	if (in_softirq() && pavo_side_rests(qp, side))
		return;
	do {
		local_bh_disable();
		if (!spin_trylock(&side->lock)) {
			local_bh_enable();
			return;
		}
		rcu_read_lock();
		pavo_side_drain(qp, side, &budget, work);
		more = pavo_side_visit(qp, side, &cpu, &budget, work);
		rcu_read_unlock();
		spin_unlock(&side->lock);
		/* Each iteration costs budget, because other CPUs may add work without end. */
		pavo_budget_spend(&budget, 1, 0);
		if (unlikely(pavo_net_deliver(&budget)))
			budget.packets = 0;
		local_bh_enable();
		pavo_cq_raise(cq);
		/*
		 * Pairs with the atomics of a CPU that has added work and found the
		 * lock taken: one of the two sees the other.
		 */
		smp_mb();
		if (more || !pavo_side_has_work(side))
			break;
		more = !pavo_budget_remains(&budget);
	} while (!more);
	if (unlikely(more))
		pavo_side_rest(qp, cpu);
}

/*
 * True if this CPU has sent so much for received packets in this run of the softirq that the QP's
 * work is to do the visit: a poll of 64 packets for as many QPs would be 64 slices. Loopback has
 * a budget of its own.
 */
static __always_inline bool pavo_side_puts_off(void)
{
	return unlikely(this_cpu_read(pavo_visits_over)) &&
	       !pavo_net_delivers() && !pavo_budget_may_visit();
}

/*
 * A visit that is put off does what needs no budget: it sends an ACK, which the answers of other
 * QPs are not to delay. The side is locked. Return: as pavo_side_visit().
 */
static inline bool pavo_side_put_off(struct pavo_qp *qp, struct pavo_side *side,
				     int *cpu,
				     const struct pavo_side_work *work)
{
	struct pavo_budget none = {};
	bool more = true;

	if (!pavo_tx_is_elsewhere(&side->tx, cpu)) {
		*cpu = smp_processor_id();
		more = work->visit(qp, &none);
		pavo_tx_leave(&side->tx);
	}
	if (more)
		WRITE_ONCE(side->resting, true);
	return more;
}

/* Visit the side for a received packet. The side is locked. Return: as pavo_side_visit(). */
static __always_inline bool
pavo_side_visit_now(struct pavo_qp *qp, struct pavo_side *side, int *cpu,
		    struct pavo_budget *budget,
		    const struct pavo_side_work *work)
{
	bool more;
	u32 sent;

	if (pavo_side_puts_off() && pavo_qp_get_state(qp) != IB_QPS_ERR)
		return pavo_side_put_off(qp, side, cpu, work);
	more = pavo_side_visit(qp, side, cpu, budget, work);
	sent = pavo_budget_visited(budget);
	if (unlikely(sent >= PAVO_VISIT_SMALL) && !pavo_net_delivers())
		pavo_budget_add_visit(sent);
	return more;
}

/** pavo_side_receive - as pavo_side_run(), for a received packet, which is consumed; softirq. */
static __always_inline void pavo_side_receive(struct pavo_qp *qp,
					      struct pavo_side *side,
					      struct pavo_cq *cq,
					      struct pavo_rx *rx,
					      const struct pavo_side_work *work)
{
	struct pavo_budget budget = pavo_budget_begin_slice();
	enum pavo_status status;
	bool more = false;
	int cpu = 0;

	if (!skb_queue_empty_lockless(&side->backlog) ||
	    !spin_trylock(&side->lock))
		goto add_to_backlog;
	/* A packet that was added meanwhile is handled before this one. */
	if (unlikely(!skb_queue_empty_lockless(&side->backlog))) {
		spin_unlock(&side->lock);
		goto add_to_backlog;
	}
	rcu_read_lock();
	status = pavo_side_handle(qp, side, rx, work);
	if (unlikely(status == PAVO_ST_WAIT)) {
		pavo_user_force_charge_packet(qp->user);
		skb_queue_head(&side->backlog, rx->skb);
	}
	/* If the packet has closed a gap, those that were held are handled before the visit. */
	if (!pavo_side_rests(qp, side) &&
	    (unlikely(status == PAVO_ST_WAIT) ||
	     likely(skb_queue_empty_lockless(&side->backlog))))
		more = pavo_side_visit_now(qp, side, &cpu, &budget, work);
	rcu_read_unlock();
	spin_unlock(&side->lock);
	pavo_net_deliver(&budget);
	if (likely(status == PAVO_ST_OK))
		pavo_rx_free(rx->skb);
	pavo_cq_raise(cq);
	smp_mb(); /* as in pavo_side_run() */
	if (unlikely(more))
		pavo_side_rest(qp, cpu);
	else if (pavo_side_has_work(side))
		pavo_side_run(qp, side, cq, work);
	return;

add_to_backlog:
	if (pavo_side_add_backlog(side, qp->user, rx->skb)) {
		pavo_count(qp, rx_drop_backlog);
		kfree_skb(rx->skb);
	}
	/* Pairs with the barrier of the owner in pavo_side_run(). */
	smp_mb();
	pavo_side_run(qp, side, cq, work);
}

/**
 * pavo_side_forget - drop all packets of the backlog, also a deferred one. The side has no owner.
 * @qp:   the QP
 * @side: one of its sides
 */
static inline void pavo_side_forget(struct pavo_qp *qp, struct pavo_side *side)
{
	struct sk_buff *skb;

	while ((skb = skb_dequeue(&side->backlog))) {
		pavo_count(qp, rx_drop_state);
		pavo_user_uncharge_packet(qp->user);
		kfree_skb(skb);
	}
	pavo_held_forget(qp, side);
	side->held_searched = PAVO_PSN_NONE;
	side->released = NULL;
	pavo_side_end_deferred(side);
	side->index = 0;
}

#endif /* PAVO_ENTER_H */
