// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * drr_queue.c - the requester as a DRR queue (round.h), and the credits that it holds.
 */
#include "requester_private.h"

static void run_requester_queue(struct pavo_drr_queue *queue)
{
	struct pavo_qp *qp = container_of(queue, struct pavo_qp, req.drr);

	pavo_key_state_continue(&qp->key_state, queue->cpu);
}

void pavo_qp_drr_init(struct pavo_qp *qp)
{
	struct pavo_drr_queue *queue = &qp->req.drr;

	pavo_drr_queue_init(queue, PAVO_KIND_REQUESTS,
			    READ_ONCE(qp->dev->drr.quantum));
	queue->run = run_requester_queue;
}

/* Keep the credits of packets between UPSN and cursor, and of reads; give back the others. */
void pavo_qp_drr_settle(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_drr *drr = &qp->dev->drr;
	u32 sends = pavo_recovery_get_sends_in_flight(&req->recovery);

	spin_lock(&qp->dev->drr_lock);
	pavo_drr_hold_credits(drr, &req->drr, PAVO_POOL_SENDS, sends);
	pavo_drr_hold_credits(drr, &req->drr, PAVO_POOL_READS,
			      pavo_recovery_get_reads(&req->recovery));
	spin_unlock(&qp->dev->drr_lock);
}
