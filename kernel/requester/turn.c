// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * turn.c - turns and credits of a queue pair (turns.h): when it may send, and who goes next.
 *
 * Called by transmit.c and requester.c with the side owned, and by verbs/ when the policy
 * changes. A queue pair that is called runs in its own work, on the CPU where it sent last:
 * packets from two CPUs overtake each other.
 */
#include "requester_private.h"

static struct pavo_qp *qp_of(struct pavo_turn *turn)
{
	return container_of(turn, struct pavo_qp, req.turn);
}

/* Run a queue pair. Under turns_lock, so that it is not gone: it leaves before it ends. */
static void call(struct pavo_turn *turn)
{
	if (turn)
		pavo_holder_continue(&qp_of(turn)->holder, turn->cpu);
}

u32 pavo_turn_take(struct pavo_qp *qp, enum pavo_pool pool, u32 want, u8 level)
{
	struct pavo_turn *turn = &qp->req.turn;
	struct pavo_dev *dev = qp->dev;

	spin_lock(&dev->turns_lock);
	turn->touched = true;
	turn->level = level;
	turn->cpu = smp_processor_id();
	want = pavo_turns_take(&dev->turns, turn, pool, want);
	if (!want)
		call(pavo_turns_next(&dev->turns));
	spin_unlock(&dev->turns_lock);
	return want;
}

/* The credits that a queue pair needs: of packets between UPSN and cursor, and of reads. */
static void hold_credits(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_turns *turns = &qp->dev->turns;
	u32 sends = pavo_mq_span(&req->outstanding.sends, req->upsn,
				 pavo_cursor_psn(req));

	pavo_turns_hold(turns, &req->turn, PAVO_POOL_SENDS, sends);
	pavo_turns_hold(turns, &req->turn, PAVO_POOL_READS, req->reads_out);
}

void pavo_turn_settle(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;

	spin_lock(&dev->turns_lock);
	hold_credits(qp);
	spin_unlock(&dev->turns_lock);
}

void pavo_turn_begin(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;

	spin_lock_bh(&dev->turns_lock);
	pavo_turns_begin(&dev->turns, &qp->req.turn);
	spin_unlock_bh(&dev->turns_lock);
}

void pavo_turn_end(struct pavo_qp *qp, bool more)
{
	struct pavo_turn *turn = &qp->req.turn;
	struct pavo_dev *dev = qp->dev;

	spin_lock(&dev->turns_lock);
	hold_credits(qp);
	if (!more)
		pavo_turns_end(&dev->turns, turn);
	turn->scarce = false;
	turn->touched = !pavo_turn_idle(&dev->turns, turn);
	call(pavo_turns_next(&dev->turns));
	spin_unlock(&dev->turns_lock);
}

void pavo_turn_leave(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;

	spin_lock_bh(&dev->turns_lock);
	pavo_turns_leave(&dev->turns, &qp->req.turn);
	qp->req.turn.touched = false;
	call(pavo_turns_next(&dev->turns));
	spin_unlock_bh(&dev->turns_lock);
}

/* Run those that waited: turns are off, or there are more credits. */
static bool release_one(struct pavo_dev *dev)
{
	struct pavo_turn *turn;

	spin_lock_bh(&dev->turns_lock);
	turn = READ_ONCE(dev->turns.on) ? pavo_turns_next(&dev->turns) :
					  pavo_turns_dismiss(&dev->turns);
	call(turn);
	spin_unlock_bh(&dev->turns_lock);
	return turn;
}

void pavo_turns_changed(struct pavo_dev *dev)
{
	while (release_one(dev))
		cond_resched();
}
