// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * round.c - DRR of an adapter; see round.h.
 *
 * Called by requester/, responder/, control/ and window/, and by verbs/ when the policy changes.
 */
#include "adapter.h"
#include "round.h"

/* Run a queue. Under drr_lock, so that it exists: it leaves DRR before it is freed. */
static void run_drr_queue(struct pavo_drr_queue *queue)
{
	if (queue)
		queue->run(queue);
}

u32 pavo_round_take(struct pavo_dev *dev, struct pavo_drr_queue *queue,
		    enum pavo_pool pool, u32 want, u8 level)
{
	spin_lock(&dev->drr_lock);
	queue->active = true;
	queue->level = level;
	queue->cpu = smp_processor_id();
	want = pavo_drr_take(&dev->drr, queue, pool, want);
	if (!want)
		run_drr_queue(pavo_drr_next(&dev->drr));
	spin_unlock(&dev->drr_lock);
	return want;
}

bool pavo_round_waits(struct pavo_dev *dev, const struct pavo_drr_queue *queue)
{
	bool waits;

	spin_lock(&dev->drr_lock);
	waits = !list_empty(&queue->node);
	spin_unlock(&dev->drr_lock);
	return waits;
}

void pavo_round_begin(struct pavo_dev *dev, struct pavo_drr_queue *queue)
{
	spin_lock_bh(&dev->drr_lock);
	pavo_drr_begin_round(&dev->drr, queue);
	spin_unlock_bh(&dev->drr_lock);
}

void pavo_round_end(struct pavo_dev *dev, struct pavo_drr_queue *queue,
		    bool more)
{
	spin_lock(&dev->drr_lock);
	if (!more)
		pavo_drr_end_round(&dev->drr, queue);
	queue->scarce = false;
	queue->active = !pavo_drr_is_idle(&dev->drr, queue);
	run_drr_queue(pavo_drr_next(&dev->drr));
	spin_unlock(&dev->drr_lock);
}

void pavo_round_leave(struct pavo_dev *dev, struct pavo_drr_queue *queue)
{
	spin_lock_bh(&dev->drr_lock);
	pavo_drr_leave(&dev->drr, queue);
	queue->active = false;
	run_drr_queue(pavo_drr_next(&dev->drr));
	spin_unlock_bh(&dev->drr_lock);
}

/* Run one queue that waits: DRR was switched off, or there are more credits. */
static bool release_one(struct pavo_dev *dev)
{
	struct pavo_drr_queue *queue;

	spin_lock_bh(&dev->drr_lock);
	queue = READ_ONCE(dev->drr.on) ? pavo_drr_next(&dev->drr) :
					 pavo_drr_dequeue_any(&dev->drr);
	run_drr_queue(queue);
	spin_unlock_bh(&dev->drr_lock);
	return queue;
}

void pavo_rounds_changed(struct pavo_dev *dev)
{
	while (release_one(dev))
		cond_resched();
}
