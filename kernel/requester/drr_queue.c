// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * drr_queue.c - DRR deficit and credits of a queue pair (drr.h): when it may send, and which
 * queue pair is next.
 *
 * Called by transmit.c and requester.c with the side owned, and by verbs/ when the policy
 * changes. A queue pair that DRR schedules runs in its own work, on the CPU where it sent last:
 * packets from two CPUs overtake each other.
 */
#include "requester_private.h"

static struct pavo_qp *get_drr_qp(struct pavo_drr_queue *queue)
{
	return container_of(queue, struct pavo_qp, req.drr);
}

/* Run a queue pair. Under drr_lock, so that it exists: it leaves DRR before it is freed. */
static void run_queue(struct pavo_drr_queue *queue)
{
	if (queue)
		pavo_key_state_continue(&get_drr_qp(queue)->key_state,
					queue->cpu);
}

u32 pavo_qp_drr_take(struct pavo_qp *qp, enum pavo_pool pool, u32 want,
		     u8 level)
{
	struct pavo_drr_queue *queue = &qp->req.drr;
	struct pavo_dev *dev = qp->dev;

	spin_lock(&dev->drr_lock);
	queue->active = true;
	queue->level = level;
	queue->cpu = smp_processor_id();
	want = pavo_drr_take(&dev->drr, queue, pool, want);
	if (!want)
		run_queue(pavo_drr_next(&dev->drr));
	spin_unlock(&dev->drr_lock);
	return want;
}

bool pavo_qp_drr_waits(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;
	bool waits;

	spin_lock(&dev->drr_lock);
	waits = !list_empty(&qp->req.drr.node);
	spin_unlock(&dev->drr_lock);
	return waits;
}

/* Keep the credits of packets between UPSN and cursor, and of reads; give back the others. */
static void hold_credits(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_drr *drr = &qp->dev->drr;
	u32 sends = pavo_recovery_get_sends_in_flight(&req->recovery);

	pavo_drr_hold_credits(drr, &req->drr, PAVO_POOL_SENDS, sends);
	pavo_drr_hold_credits(drr, &req->drr, PAVO_POOL_READS,
			      pavo_recovery_get_reads(&req->recovery));
}

void pavo_qp_drr_settle(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;

	spin_lock(&dev->drr_lock);
	hold_credits(qp);
	spin_unlock(&dev->drr_lock);
}

void pavo_qp_drr_begin(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;

	spin_lock_bh(&dev->drr_lock);
	pavo_drr_begin_round(&dev->drr, &qp->req.drr);
	spin_unlock_bh(&dev->drr_lock);
}

void pavo_qp_drr_end(struct pavo_qp *qp, bool more)
{
	struct pavo_drr_queue *queue = &qp->req.drr;
	struct pavo_dev *dev = qp->dev;

	spin_lock(&dev->drr_lock);
	hold_credits(qp);
	if (!more)
		pavo_drr_end_round(&dev->drr, queue);
	queue->scarce = false;
	queue->active = !pavo_drr_is_idle(&dev->drr, queue);
	run_queue(pavo_drr_next(&dev->drr));
	spin_unlock(&dev->drr_lock);
}

void pavo_qp_drr_leave(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;

	spin_lock_bh(&dev->drr_lock);
	pavo_drr_leave(&dev->drr, &qp->req.drr);
	qp->req.drr.active = false;
	run_queue(pavo_drr_next(&dev->drr));
	spin_unlock_bh(&dev->drr_lock);
}

/* Run one queue pair that waits: DRR was switched off, or there are more credits. */
static bool release_one(struct pavo_dev *dev)
{
	struct pavo_drr_queue *queue;

	spin_lock_bh(&dev->drr_lock);
	queue = READ_ONCE(dev->drr.on) ? pavo_drr_next(&dev->drr) :
					 pavo_drr_dequeue_any(&dev->drr);
	run_queue(queue);
	spin_unlock_bh(&dev->drr_lock);
	return queue;
}

void pavo_qp_drr_changed(struct pavo_dev *dev)
{
	while (release_one(dev))
		cond_resched();
}
