// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * arrival.c - packets for windows: the table of their kinds, and what each does to the
 * operation of its rCxt. Data goes to memory or frames in any order; others are requests for
 * data, and ends of operations. See operation.h. Pure.
 *
 * An rCxt stays locked for a whole event: its transitions and their actions. So all bytes are
 * in place when the last one is counted.
 */
#include <linux/kernel.h>
#include <linux/stddef.h>
#include "window/operation.h"
#include "window/third.h"

/* Is the data in @pkt from the ends that the operation has? */
static bool is_from_peer(const struct pavo_operation *op,
			 const struct pavo_pkt *pkt)
{
	const struct pavo_data_ends ends = pavo_third_data_ends(pkt);

	return op->role == ends.role &&
	       pavo_rdma_is_same_peer(&op->peer, &ends.peer) &&
	       pavo_rdma_is_same_peer(&op->third, &ends.third);
}

/* As is_from_peer(), but a recovery there may have changed the rCxts. */
static bool are_same_ends(const struct pavo_operation *op,
			  const struct pavo_data_ends *ends)
{
	return op->role == ends->role &&
	       pavo_rdma_is_same_window(&op->peer, &ends->peer) &&
	       pavo_rdma_is_same_window(&op->third, &ends->third);
}

static void set_ends(struct pavo_operation *op,
		     const struct pavo_data_ends *ends)
{
	op->role = ends->role;
	op->peer = ends->peer;
	op->third = ends->third;
}

/* Drop the packet for its tid. */
static void drop_for_tid(struct pavo_transition *tr,
			 enum pavo_tid_verdict verdict)
{
	pavo_transition_count(tr, verdict == PAVO_TID_BUSY ?
					  PAVO_CNT_rx_drop_rcxt_busy :
					  PAVO_CNT_rx_drop_tid);
}

/* ------------------------------------------------------ the end of placing */

/*
 * Notify the source, if it wants that, or the controller: its operation is over, or failed with
 * @tr->status.
 */
static void notify_source(const struct pavo_operation *op,
			  struct pavo_transition *tr, u64 tid)
{
	if (!(op->flags & PAVO_RDMA_NOTIFY_SOURCE) &&
	    op->role != PAVO_THIRD_TARGET)
		return;
	tr->control_opcode = PAVO_OP_WINDOW_DONE;
	tr->control = (struct pavo_rdma_control){
		.node = op->peer.node,
		.window = op->peer.window,
		.wreth = {
			.rcxt = op->peer.rcxt,
			.peer_rcxt = op->id,
			.tid = tid,
			.total = op->total,
			.tag = op->tag,
			.attempts = op->attempts,
			.flags = op->flags,
			.status = tr->status,
		},
	};
}

static void stop_placing(struct pavo_operation *op)
{
	op->now.placing = false;
	op->notify = false;
}

void pavo_arrival_target_done(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 full)
{
	/* The next attempt ends the operation, without placing anything. */
	if (full && !tr->status)
		return;
	stop_placing(op);
	pavo_operation_count(op, !tr->status, tr);
	if (full)
		return;
	if (!tr->status) {
		op->now.complete = op->now.tid;
		pavo_transition_count(tr, PAVO_CNT_rdma_done);
	}
	notify_source(op, tr, op->now.tid);
}

/*
 * End an operation of which all data has arrived, or whose data has no place (@tr->status).
 * This end's process is notified first. If its FIFO is full, neither end is notified.
 */
static void end_placing(struct pavo_operation *op, struct pavo_transition *tr)
{
	if (!(op->flags & PAVO_RDMA_NOTIFY_TARGET)) {
		pavo_arrival_target_done(op, tr, 0);
		return;
	}
	tr->target = true;
	pavo_transition_act(tr, PAVO_ACTION_PUT_DONE, PAVO_WAIT_TARGET_DONE);
}

/* ------------------------------------------------------------------- data */

void pavo_arrival_still_mapped(struct pavo_operation *op,
			       struct pavo_transition *tr, u32 foreign)
{
	if (!foreign) {
		tr->effects |= PAVO_EFFECT_VIOLATION;
		end_placing(op, tr);
		return;
	}
	tr->effects |= PAVO_EFFECT_KILL;
	stop_placing(op);
	notify_source(op, tr, op->now.tid);
}

/*
 * End an operation because some of its data has no place. If this process's own read named
 * memory that is not its job's, its window is dead. The memory of the request decides that, not
 * the PVO of the packet, which a peer may have invented.
 */
static void refuse_place(struct pavo_operation *op, struct pavo_transition *tr)
{
	pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_pvo);
	if (!op->reading) {
		tr->effects |= PAVO_EFFECT_VIOLATION;
		end_placing(op, tr);
		return;
	}
	tr->pvo = op->to;
	tr->length = op->total;
	pavo_transition_act(tr, PAVO_ACTION_CHECK_MAPPED,
			    PAVO_WAIT_STILL_MAPPED);
}

/* All bytes of the packet are in place. */
static void note_placed(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;

	pavo_seen_note(op->seen, pkt->rdma.fragment);
	pavo_transition_count(tr, PAVO_CNT_rx_rdma_packets);
	tr->used = true;
	op->left -= pkt->payload;
	if (!op->left)
		end_placing(op, tr);
}

void pavo_arrival_placed(struct pavo_operation *op, struct pavo_transition *tr,
			 u32 result)
{
	tr->status = result;
	if (result)
		refuse_place(op, tr);
	else
		note_placed(op, tr);
}

void pavo_arrival_piece_put(struct pavo_operation *op,
			    struct pavo_transition *tr, u32 full)
{
	if (!full)
		note_placed(op, tr);
}

/* Place a new packet, whose bytes fit the operation: in memory, or in a frame of the FIFO. */
static void place_data(struct pavo_operation *op, struct pavo_transition *tr)
{
	const u32 length = tr->pkt->payload;

	if (length > op->left || (!length && op->left))
		pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_length);
	else if (op->flags & PAVO_RDMA_TO_FIFO && length > PAVO_PIECE_DATA)
		pavo_transition_count(tr, PAVO_CNT_rx_drop_too_long);
	else if (!length)
		note_placed(op, tr);
	else if (op->flags & PAVO_RDMA_TO_FIFO)
		pavo_transition_act(tr, PAVO_ACTION_PUT_PIECE,
				    PAVO_WAIT_PIECE_PUT);
	else
		pavo_transition_act(tr, PAVO_ACTION_PLACE, PAVO_WAIT_PLACED);
}

static void take_fragment(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;

	if (pkt->rdma.total != op->total) {
		pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_length);
		return;
	}
	switch (pavo_seen_find(op->seen, pkt->rdma.fragment)) {
	case PAVO_SEEN_NEW:
		place_data(op, tr);
		break;
	case PAVO_SEEN_DUPLICATE:
		pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_again);
		/* All data has arrived, but the FIFO was full when the process was notified. */
		if (!op->left)
			end_placing(op, tr);
		break;
	case PAVO_SEEN_FAR:
		pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_far);
		break;
	}
}

/* The source of a group's data learns of its end from this end's process. */
static void renotify_target(const struct pavo_operation *op,
			    struct pavo_transition *tr)
{
	if (!(op->flags & PAVO_RDMA_NOTIFY_TARGET))
		return;
	tr->target = true;
	tr->status = PAVO_PVO_OK;
	pavo_transition_act(tr, PAVO_ACTION_PUT_DONE, PAVO_WAIT_RENOTIFIED);
}

/* Answer an attempt at an operation that is complete, once for each attempt. */
static void answer_repeat(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_data_ends ends = pavo_third_data_ends(tr->pkt);

	tr->used = true;
	if (!are_same_ends(op, &ends)) {
		pavo_transition_count(tr, PAVO_CNT_rx_drop_tid);
		return;
	}
	if (tr->pkt->rdma.fragment) {
		pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_again);
		return;
	}
	pavo_transition_count(tr, PAVO_CNT_rdma_repeats);
	set_ends(op, &ends);
	if (op->group)
		renotify_target(op, tr);
	else
		notify_source(op, tr, tr->pkt->rdma.tid);
}

/* Resume the operation if the packet is of another attempt at it; else begin a new one. */
static void begin_or_resume(struct pavo_operation *op,
			    const struct pavo_pkt *pkt, bool resume)
{
	const struct pavo_data_ends ends = pavo_third_data_ends(pkt);

	if (resume && are_same_ends(op, &ends) &&
	    op->total == pkt->rdma.total &&
	    op->flags == (pkt->rdma.flags & PAVO_RDMA_FLAGS)) {
		op->now.tid = pkt->rdma.tid;
		op->attempts = pkt->rdma.attempts;
		set_ends(op, &ends);
		return;
	}
	pavo_operation_begin(op, &ends.peer, &pkt->rdma);
	set_ends(op, &ends);
	pavo_operation_expect(op);
}

static void take_data(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;
	enum pavo_tid_verdict verdict;

	verdict = pavo_tid_check_data(&op->now, pkt->rdma.tid,
				      pkt->rdma.attempts);
	switch (verdict) {
	case PAVO_TID_BEGIN:
	case PAVO_TID_RESUME:
		begin_or_resume(op, pkt, verdict == PAVO_TID_RESUME);
		take_fragment(op, tr);
		break;
	case PAVO_TID_PART:
		if (is_from_peer(op, pkt))
			take_fragment(op, tr);
		else
			drop_for_tid(tr, PAVO_TID_STALE);
		break;
	case PAVO_TID_REPEAT:
		answer_repeat(op, tr);
		break;
	default:
		drop_for_tid(tr, verdict);
	}
}

/* ----------------------------------------------------- requests for data */

static void begin_peer_read(struct pavo_operation *op,
			    const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer reader = pavo_third_reader(pkt);

	pavo_operation_begin(op, &reader, &pkt->rdma);
	op->notify = op->flags & PAVO_RDMA_NOTIFY_SOURCE;
	if (pkt->opcode == PAVO_OP_WINDOW_THIRD_READ)
		pavo_third_become_source(op, pkt);
}

void pavo_arrival_read_put(struct pavo_operation *op,
			   struct pavo_transition *tr, u32 full)
{
	if (full)
		return;
	begin_peer_read(op, tr->pkt);
	op->now.feeding = true;
	tr->used = true;
}

void pavo_arrival_read_queued(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 ended)
{
	if (ended)
		return;
	pavo_operation_begin_sending(op);
	tr->used = true;
	tr->wake = true;
}

void pavo_arrival_route_found(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 none)
{
	if (none) {
		pavo_transition_count(tr, PAVO_CNT_tx_drop_node);
		return;
	}
	begin_peer_read(op, tr->pkt);
	op->from = tr->pkt->rdma.pvo;
	op->to = tr->pkt->rdma.back_pvo;
	pavo_transition_act(tr, PAVO_ACTION_QUEUE, PAVO_WAIT_READ_QUEUED);
}

/* Take a peer's request for data. */
static void take_peer_read(struct pavo_operation *op,
			   struct pavo_transition *tr)
{
	const struct pavo_wreth *wreth = &tr->pkt->rdma;
	enum pavo_tid_verdict verdict =
		pavo_tid_check_request(&op->now, wreth->tid);

	/*
	 * An operation that a peer began and does not go on with gives way, as it does to data of a
	 * newer one. Data that this end's own process requested does not.
	 */
	if (verdict == PAVO_TID_BEGIN && op->now.placing && op->requested)
		verdict = PAVO_TID_BUSY;
	if (verdict != PAVO_TID_BEGIN)
		drop_for_tid(tr, verdict);
	/* A missing route fails the frames of a process that sends the data itself. */
	else if (wreth->flags & PAVO_RDMA_FROM_FIFO)
		pavo_transition_act(tr, PAVO_ACTION_PUT_READ,
				    PAVO_WAIT_READ_PUT);
	else
		pavo_transition_act(tr, PAVO_ACTION_FIND_ROUTE,
				    PAVO_WAIT_ROUTE);
	tr->peer = pavo_third_reader(tr->pkt);
}

/* ------------------------------------------------------------------- ends */

/* Is the operation open? This process may have its notification already, or want none. */
static bool is_open(const struct pavo_operation *op)
{
	return op->notify || op->now.sending || op->now.placing ||
	       op->now.feeding;
}

void pavo_arrival_end_done(struct pavo_operation *op,
			   struct pavo_transition *tr, u32 full)
{
	if (!full)
		op->notify = false;
}

/* Take a packet that reports an end. */
static void take_end(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;
	const u8 status = pkt->rdma.status;
	enum pavo_frame_state mark;

	if (!pavo_tid_ends(&op->now, pkt->rdma.tid, pkt->rdma.attempts) ||
	    !pavo_third_may_end(op, pkt) || !is_open(op) ||
	    /* An operation that takes data ends with its last byte, not with a packet. */
	    (!status && op->now.placing)) {
		pavo_transition_count(tr, PAVO_CNT_rx_drop_tid);
		return;
	}
	/*
	 * The peer cannot take the data or has none to give, or it has all data. In each case
	 * stop sending: the process may reuse the memory.
	 */
	mark = status ? PAVO_FRAME_CANCELLED : PAVO_FRAME_SENT;
	pavo_operation_end_sending(op, mark, tr);
	pavo_operation_count(op, !status, tr);
	tr->used = true;
	tr->status = status;
	tr->target = op->now.placing;
	/* The controller's process learns by it which end that is. */
	if (op->role == PAVO_THIRD_CONTROLLER)
		op->peer = pavo_packet_get_sender(pkt);
	op->now.placing = false;
	op->now.feeding = false;
	if (op->notify)
		pavo_transition_act(tr, PAVO_ACTION_PUT_DONE,
				    PAVO_WAIT_END_DONE);
}

/* -------------------------------------------------------------- the table */

static const struct pavo_arrival arrivals[] = {
	{
		.opcode = PAVO_OP_WINDOW_MESSAGE,
		.most = PAVO_FRAME_PAYLOAD,
	},
	{
		.opcode = PAVO_OP_WINDOW_DATA,
		.most = ~0u, /* by its operation: see place_data() */
		.flags = PAVO_RDMA_FLAGS,
		.last_status = PAVO_PVO_OK,
		.take = take_data,
	},
	{
		.opcode = PAVO_OP_WINDOW_READ,
		.flags = PAVO_RDMA_FLAGS,
		.last_status = PAVO_PVO_OK,
		.take = take_peer_read,
	},
	{
		.opcode = PAVO_OP_WINDOW_DONE,
		.flags = PAVO_RDMA_FLAGS,
		.last_status = PAVO_PVO_KEY,
		.take = take_end,
	},
	{
		.opcode = PAVO_OP_WINDOW_THIRD_READ,
		.last_status = PAVO_PVO_OK,
		.take = take_peer_read,
	},
	{
		.opcode = PAVO_OP_WINDOW_THIRD_DATA,
		.most = ~0u,
		.last_status = PAVO_PVO_OK,
		.take = take_data,
	},
};

const struct pavo_arrival *pavo_arrival_of(u8 opcode)
{
	const struct pavo_arrival *row;

	for (row = arrivals; row < arrivals + ARRAY_SIZE(arrivals); row++)
		if (row->opcode == opcode)
			return row;
	return NULL;
}

u32 pavo_arrival_check(const struct pavo_arrival *arrival,
		       const struct pavo_pkt *pkt)
{
	/* None of these is 0: see operation_test.cpp. */
	if (pkt->payload > arrival->most)
		return PAVO_CNT_rx_drop_too_long;
	if (arrival->take && (pkt->rdma.flags & ~arrival->flags ||
			      pkt->rdma.status > arrival->last_status))
		return PAVO_CNT_rx_drop_rdma_invalid;
	/* No window has the number of a group. Answers would go to all of its members. */
	if (pavo_third_names_group(pkt))
		return PAVO_CNT_rx_drop_rdma_invalid;
	return 0;
}
