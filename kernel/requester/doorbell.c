// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doorbell.c - DoorbellProcessing (sources.md#engine-2-4-1).
 *
 * Takes 64-bit doorbells out of the page of a ucontext, or from a system call, checks them, and
 * puts them into the FIFO of their QP for the scheduler.
 * Runs in the context of the process that kicked, or of its worker. An attacker may write the
 * page: each word is read once, and the ring bounds the number of doorbells.
 */
#include <linux/sched/signal.h>
#include "rings/mmap.h"
#include "rings/ucontext.h"
#include "requester_private.h"

/*
 * Put a doorbell into the FIFO. A process needs at most one for each WQE of the ring; more are
 * dropped and counted.
 */
static void push_doorbell(struct pavo_qp *qp, u64 db)
{
	struct pavo_requester *req = &qp->req;

	spin_lock_bh(&req->db_lock);
	if (req->db_head - READ_ONCE(req->db_tail) >= req->count) {
		pavo_count(qp->dev, db_overflow);
	} else {
		req->doorbells[req->db_head & (req->count - 1)] = db;
		/* Pairs with the acquire in take_next_link(). */
		smp_store_release(&req->db_head, req->db_head + 1);
	}
	spin_unlock_bh(&req->db_lock);
	set_bit(PAVO_REQ_DOORBELL, &req->side.pending);
}

static struct pavo_qp *find_doorbell_qp(struct pavo_dev *dev,
					struct pavo_ucontext *uctx, u64 db)
{
	struct pavo_qp *qp = pavo_qp_find(dev, pavo_db_get_qpn(db));

	if (!qp) {
		pavo_count(dev, db_bad_qpn);
		return NULL;
	}
	if (qp->uctx != uctx) {
		pavo_count(dev, db_foreign_qp);
		return NULL;
	}
	if (pavo_qp_get_state(qp) < IB_QPS_RTS) {
		pavo_count(dev, db_bad_state);
		return NULL;
	}
	return qp;
}

/*
 * Take doorbells as long as they are for one QP, so that many of them cost
 * one run of that QP. *more: set if the ring has a doorbell for another QP.
 *
 * Return: the QP to run; NULL: none.
 */
static struct pavo_qp *take_batch(struct pavo_dev *dev,
				  struct pavo_ucontext *uctx, bool *more)
{
	struct pavo_doorbell_page *page = uctx->page;
	struct pavo_qp *qp = NULL, *next;
	u64 *slot, db;
	u32 prod, cons;

	*more = false;
	spin_lock_bh(&uctx->db_lock);
	/* Pairs with the release store of the process behind the entry. */
	prod = smp_load_acquire(&page->prod);
	cons = uctx->db_cons;
	if (prod - cons > PAVO_DB_RING_ENTRIES) {
		pavo_count(dev, db_ring_index);
		cons = prod;
	}
	while (cons != prod) {
		slot = &page->ring[cons % PAVO_DB_RING_ENTRIES];
		db = READ_ONCE(*slot);
		next = find_doorbell_qp(dev, uctx, db);
		if (next && qp && next != qp) {
			*more = true;
			break;
		}
		cons++;
		if (next) {
			qp = next;
			push_doorbell(qp, db);
		}
	}
	WRITE_ONCE(uctx->db_cons, cons);
	WRITE_ONCE(page->cons, cons);
	spin_unlock_bh(&uctx->db_lock);
	return qp;
}

bool pavo_requester_has_doorbells(const struct pavo_ucontext *uctx)
{
	/* Pairs with the release store of the process behind the entry. */
	return smp_load_acquire(&uctx->page->prod) != READ_ONCE(uctx->db_cons);
}

void pavo_requester_drain(struct pavo_dev *dev, struct pavo_ucontext *uctx)
{
	unsigned int rounds = 0;
	struct pavo_qp *qp;
	bool more;

	do {
		rcu_read_lock();
		qp = take_batch(dev, uctx, &more);
		if (qp)
			pavo_requester_run(qp);
		rcu_read_unlock();
		pavo_net_continue();
		/* A round may send for a while: let other tasks run. */
		cond_resched();
	} while (more && ++rounds < 2 * PAVO_DB_RING_ENTRIES &&
		 !fatal_signal_pending(current));
}

bool pavo_requester_takes(struct pavo_dev *dev, struct pavo_ucontext *uctx,
			  u64 doorbell)
{
	bool takes;

	rcu_read_lock();
	takes = find_doorbell_qp(dev, uctx, doorbell);
	rcu_read_unlock();
	return takes;
}

void pavo_requester_ring(struct pavo_dev *dev, struct pavo_ucontext *uctx,
			 u64 doorbell)
{
	struct pavo_qp *qp;

	pavo_requester_drain(dev, uctx);
	rcu_read_lock();
	qp = find_doorbell_qp(dev, uctx, doorbell);
	if (qp) {
		push_doorbell(qp, doorbell);
		pavo_requester_run(qp);
	}
	rcu_read_unlock();
	pavo_net_continue();
}
