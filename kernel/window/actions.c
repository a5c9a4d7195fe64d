// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * actions.c - RDMA between windows: carries out the transitions of an rCxt's operation
 * (operation.h).
 *
 * Called with the rCxt locked. So a cancel or a higher tid, which takes the lock, finds no byte
 * of a packet on its way to memory. Other CPUs place packets of other rCxts at the same time.
 */
#include <linux/skbuff.h>
#include "jobs/job.h"
#include "window/binding.h"
#include "window/rdma.h"
#include "window/third.h"

/* ---------------------------------------------------------------- effects */

static void unqueue_rcxt(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt)
{
	spin_lock(&window->lock);
	list_del_init(&rcxt->queued);
	window->nrcxts--;
	spin_unlock(&window->lock);
}

void pavo_frame_mark(struct pavo_fifo_window *window, u32 number, u32 state)
{
	struct pavo_frame_hdr *hdr = pavo_fifo_get_frame(&window->send, number);

	/* The process may reuse the FIFO slot when it sees the state. */
	smp_store_release(&hdr->state, state);
	pavo_fifo_notify(&window->send);
}

/* A request of the window's process named memory that is not its job's. */
static void kill_window(struct pavo_fifo_window *window, u32 rcxt)
{
	spin_lock(&window->lock);
	window->dead = true;
	window->fatal_rcxt = rcxt;
	pavo_held_dead(window);
	spin_unlock(&window->lock);
	pavo_window_notify_end(window);
}

static void do_effects(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		       const struct pavo_transition *tr)
{
	unsigned int i;

	for (i = 0; i < tr->ncounts; i++)
		pavo_stats_add_id(&window->dev->stats, tr->counts[i], 1);
	if (tr->effects & PAVO_EFFECT_UNQUEUE)
		unqueue_rcxt(window, rcxt);
	if (tr->effects & PAVO_EFFECT_MARK)
		pavo_frame_mark(window, rcxt->op.frame, tr->mark);
	if (tr->effects & PAVO_EFFECT_KILL)
		kill_window(window, rcxt->op.id);
	if (tr->effects & (PAVO_EFFECT_COUNT | PAVO_EFFECT_FAIL))
		pavo_held_count(window, tr->counter,
				tr->effects & PAVO_EFFECT_COUNT);
	if (tr->effects & PAVO_EFFECT_VIOLATION)
		pavo_window_violation(window, rcxt->op.id,
				      pavo_third_get_requester(&rcxt->op));
}

/* ---------------------------------------------------------------- actions */

/* Queue the rCxt to be sent. Return: 0; -ESHUTDOWN: the window has ended. */
static int queue_rcxt(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt)
{
	int err = 0;

	spin_lock(&window->lock);
	if (window->closed || window->dead) {
		err = -ESHUTDOWN;
	} else {
		list_add_tail(&rcxt->queued, &window->rcxts);
		window->nrcxts++;
		set_bit(window->id, window->dev->windows->active);
	}
	spin_unlock(&window->lock);
	return err;
}

/*
 * Check the first and the last byte only: a buffer is mapped as a whole. If the process unmaps
 * the memory after this, the access to it fails.
 */
static bool is_mapped(const struct pavo_fifo_window *window, u64 pvo,
		      u32 length)
{
	return !length || (!pavo_job_check(window->job, pvo, 1) &&
			   !pavo_job_check(window->job, pvo + length - 1, 1));
}

/* Notify a member's process that an operation of a group is over. Return: 0; -ENOSPC. */
static int put_group_done(struct pavo_fifo_window *window,
			  const struct pavo_operation *op,
			  const struct pavo_transition *tr)
{
	const struct pavo_group_done done = pavo_binding_get_done_frame(op, tr);
	const struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_BROADCAST,
		.node = op->peer.node,
		.window = op->peer.window,
		.head = &done,
		.head_len = sizeof(done),
	};

	return pavo_window_put(window, &put);
}

/* Notify this end's process that its operation is over. Return: 0; -ENOSPC. */
static int put_done(struct pavo_fifo_window *window,
		    const struct pavo_operation *op,
		    const struct pavo_transition *tr)
{
	const struct pavo_rdma_done done = pavo_operation_done_frame(op, tr);
	const struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_DONE,
		.node = op->peer.node,
		.window = op->peer.window,
		.head = &done,
		.head_len = sizeof(done),
	};

	return pavo_window_put(window, &put);
}

/* Put the data into a frame of the FIFO. Return: 0; -ENOSPC. */
static int put_piece(struct pavo_fifo_window *window,
		     const struct pavo_operation *op,
		     const struct pavo_transition *tr, const struct pavo_rx *rx)
{
	const struct pavo_rdma_piece piece = pavo_operation_piece_frame(op, tr);
	const struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_PIECE,
		.node = op->peer.node,
		.window = op->peer.window,
		.head = &piece,
		.head_len = sizeof(piece),
		.rx = rx,
	};

	return pavo_window_put(window, &put);
}

/* Request the data of a read from the process. Return: 0; -ENOSPC. */
static int put_request(struct pavo_fifo_window *window,
		       const struct pavo_transition *tr)
{
	const struct pavo_rdma_request request = pavo_operation_read_frame(tr);
	const struct pavo_put put = {
		.type = PAVO_FRAME_RDMA_READ,
		.node = tr->pkt->src_node,
		.window = tr->pkt->src_window,
		.head = &request,
		.head_len = sizeof(request),
	};

	return pavo_window_put(window, &put);
}

/* Copy the data of a packet to its place. Return: enum pavo_pvo_result. */
static u32 place_payload(struct pavo_fifo_window *window,
			 const struct pavo_operation *op,
			 const struct pavo_transition *tr,
			 const struct pavo_rx *rx)
{
	u64 pvo;
	enum pavo_pvo_result result = pavo_operation_place(op, tr->pkt, &pvo);

	return result ?:
			pavo_job_from_skb(window->job, pvo, rx->skb, rx->payload,
					  tr->pkt->payload);
}

/* Do the action of @tr. Return: its outcome, see enum pavo_action. */
static u32 do_action(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		     const struct pavo_transition *tr, const struct pavo_rx *rx)
{
	switch (tr->action) {
	case PAVO_ACTION_PLACE:
		return place_payload(window, &rcxt->op, tr, rx);
	case PAVO_ACTION_PUT_PIECE:
		return put_piece(window, &rcxt->op, tr, rx);
	case PAVO_ACTION_PUT_READ:
		return put_request(window, tr);
	case PAVO_ACTION_PUT_DONE:
		return rcxt->op.group ? put_group_done(window, &rcxt->op, tr) :
					put_done(window, &rcxt->op, tr);
	case PAVO_ACTION_FIND_ROUTE:
		return !pavo_window_has_route(window, tr->peer.node,
					      tr->peer.window);
	case PAVO_ACTION_CHECK_MAPPED:
		return !is_mapped(window, tr->pvo, tr->length);
	case PAVO_ACTION_QUEUE:
		return queue_rcxt(window, rcxt);
	case PAVO_ACTION_NONE:
		break;
	}
	return 0;
}

void pavo_rdma_carry_out(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, struct pavo_transition *tr,
			 const struct pavo_rx *rx)
{
	lockdep_assert_held(&rcxt->lock);
	do_effects(window, rcxt, tr);
	/* Ends: see pavo_transition_continue(). */
	while (tr->action) {
		pavo_transition_continue(&rcxt->op, tr,
					 do_action(window, rcxt, tr, rx));
		do_effects(window, rcxt, tr);
	}
}

void pavo_rdma_end(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   enum pavo_frame_state state)
{
	struct pavo_transition tr = {};

	pavo_operation_end(&rcxt->op, state, &tr);
	pavo_rdma_carry_out(window, rcxt, &tr, NULL);
}
