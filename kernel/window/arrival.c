// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * arrival.c - packets for windows: the table of their kinds, and what each does to the
 * operation of its rCxt. Data goes to memory or frames in any order; others are requests for
 * data, and ends of operations. See operation.h. Pure.
 *
 * An rCxt stays locked for a whole step and its deeds. So all bytes are in place when the last
 * one is counted.
 */
#include <linux/kernel.h>
#include <linux/stddef.h>
#include "window/operation.h"

/* The window and rCxt that sent @pkt. */
static struct pavo_rdma_peer packet_sender(const struct pavo_pkt *pkt)
{
	return (struct pavo_rdma_peer){
		.node = pkt->src_node,
		.window = pkt->src_window,
		.rcxt = pkt->rdma.peer_rcxt,
	};
}

static bool from_peer(const struct pavo_operation *op,
		      const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer peer = packet_sender(pkt);

	return pavo_rdma_same_peer(&op->peer, &peer);
}

/* Drop the packet for its tid. */
static void drop_for_tid(struct pavo_transition *tr,
			 enum pavo_tid_verdict verdict)
{
	tr->counts |= verdict == PAVO_TID_BUSY ?
			      PAVO_TRANSITION_RX_DROP_RCXT_BUSY :
			      PAVO_TRANSITION_RX_DROP_TID;
}

/* ------------------------------------------------------ the end of placing */

/* Tell the source, if it is to be told: its operation is over, or failed with @tr->status. */
static void notify_source(const struct pavo_operation *op,
			  struct pavo_transition *tr, u64 tid)
{
	if (!(op->flags & PAVO_RDMA_NOTIFY_SOURCE))
		return;
	tr->control_opcode = PAVO_OP_WINDOW_DONE;
	tr->told = (struct pavo_rdma_control){
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
	op->told = false;
}

static void target_notified(struct pavo_operation *op,
			    struct pavo_transition *tr, u32 full)
{
	/* The next attempt ends the operation, without placing anything again. */
	if (full && !tr->status)
		return;
	stop_placing(op);
	if (full)
		return;
	if (!tr->status) {
		op->now.complete = op->now.tid;
		tr->counts |= PAVO_TRANSITION_RDMA_DONE;
	}
	notify_source(op, tr, op->now.tid);
}

/*
 * End an operation of which all data came, or whose data has no place (@tr->status). This
 * end's process is told first. If its FIFO is full, neither end is told.
 */
static void end_placing(struct pavo_operation *op, struct pavo_transition *tr)
{
	if (!(op->flags & PAVO_RDMA_NOTIFY_TARGET)) {
		target_notified(op, tr, 0);
		return;
	}
	tr->target = true;
	pavo_transition_act(tr, PAVO_ACTION_PUT_DONE, target_notified);
}

/* ------------------------------------------------------------------- data */

/* The memory of a read was checked again: is it still this end's? */
static void room_checked(struct pavo_operation *op, struct pavo_transition *tr,
			 u32 foreign)
{
	if (!foreign) {
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
	tr->counts |= PAVO_TRANSITION_RX_DROP_RDMA_PVO;
	if (!op->reading) {
		end_placing(op, tr);
		return;
	}
	tr->pvo = op->to;
	tr->length = op->total;
	pavo_transition_act(tr, PAVO_ACTION_CHECK_MAPPED, room_checked);
}

/* All bytes of the packet are in place. */
static void note_placed(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;

	pavo_seen_note(op->seen, pkt->rdma.fragment);
	tr->counts |= PAVO_TRANSITION_RX_RDMA_PACKETS;
	tr->used = true;
	op->left -= pkt->payload;
	if (!op->left)
		end_placing(op, tr);
}

static void data_placed(struct pavo_operation *op, struct pavo_transition *tr,
			u32 result)
{
	tr->status = result;
	if (result)
		refuse_place(op, tr);
	else
		note_placed(op, tr);
}

static void piece_put(struct pavo_operation *op, struct pavo_transition *tr,
		      u32 full)
{
	if (!full)
		note_placed(op, tr);
}

/* Do the bytes of a new packet fit the operation? Return: 0, or why not. */
static u32 check_length(const struct pavo_operation *op,
			const struct pavo_pkt *pkt)
{
	if (pkt->payload > op->left || (!pkt->payload && op->left))
		return PAVO_TRANSITION_RX_DROP_RDMA_LENGTH;
	if (op->flags & PAVO_RDMA_TO_FIFO && pkt->payload > PAVO_PIECE_DATA)
		return PAVO_TRANSITION_RX_DROP_TOO_LONG;
	return 0;
}

/* Place a new packet: in memory, or in a frame of the FIFO. */
static void place_data(struct pavo_operation *op, struct pavo_transition *tr)
{
	const u32 refused = check_length(op, tr->pkt);

	if (refused)
		tr->counts |= refused;
	else if (!tr->pkt->payload)
		note_placed(op, tr);
	else if (op->flags & PAVO_RDMA_TO_FIFO)
		pavo_transition_act(tr, PAVO_ACTION_PUT_PIECE, piece_put);
	else
		pavo_transition_act(tr, PAVO_ACTION_PLACE, data_placed);
}

static void take_part(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;

	if (pkt->rdma.total != op->total) {
		tr->counts |= PAVO_TRANSITION_RX_DROP_RDMA_LENGTH;
		return;
	}
	switch (pavo_seen_look(op->seen, pkt->rdma.fragment)) {
	case PAVO_SEEN_NEW:
		place_data(op, tr);
		break;
	case PAVO_SEEN_DUPLICATE:
		tr->counts |= PAVO_TRANSITION_RX_DROP_RDMA_AGAIN;
		/* All data has come, but the FIFO was full when the process was to be told. */
		if (!op->left)
			end_placing(op, tr);
		break;
	case PAVO_SEEN_FAR:
		tr->counts |= PAVO_TRANSITION_RX_DROP_RDMA_FAR;
		break;
	}
}

/* Answer an attempt at an operation that is complete, once for each attempt. */
static void repeat_done(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_rdma_peer peer = packet_sender(tr->pkt);

	tr->used = true;
	if (!pavo_rdma_same_window(&op->peer, &peer)) {
		tr->counts |= PAVO_TRANSITION_RX_DROP_TID;
		return;
	}
	if (tr->pkt->rdma.fragment) {
		tr->counts |= PAVO_TRANSITION_RX_DROP_RDMA_AGAIN;
		return;
	}
	tr->counts |= PAVO_TRANSITION_RDMA_REPEATS;
	op->peer = peer;
	notify_source(op, tr, tr->pkt->rdma.tid);
}

/* Resume the operation if the packet is of another attempt at it; else begin a new one. */
static void begin_or_resume(struct pavo_operation *op,
			    const struct pavo_pkt *pkt, bool resume)
{
	const struct pavo_rdma_peer peer = packet_sender(pkt);

	if (resume && pavo_rdma_same_window(&op->peer, &peer) &&
	    op->total == pkt->rdma.total &&
	    op->flags == (pkt->rdma.flags & PAVO_RDMA_FLAGS)) {
		op->now.tid = pkt->rdma.tid;
		op->attempts = pkt->rdma.attempts;
		op->peer = peer;
		return;
	}
	pavo_operation_begin(op, &peer, &pkt->rdma);
	pavo_operation_expect(op);
}

static void take_data(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;
	const enum pavo_tid_verdict verdict =
		pavo_tid_data(&op->now, pkt->rdma.tid, pkt->rdma.attempts);

	switch (verdict) {
	case PAVO_TID_BEGIN:
	case PAVO_TID_RESUME:
		begin_or_resume(op, pkt, verdict == PAVO_TID_RESUME);
		take_part(op, tr);
		break;
	case PAVO_TID_PART:
		if (from_peer(op, pkt))
			take_part(op, tr);
		else
			drop_for_tid(tr, PAVO_TID_STALE);
		break;
	case PAVO_TID_REPEAT:
		repeat_done(op, tr);
		break;
	default:
		drop_for_tid(tr, verdict);
	}
}

/* ----------------------------------------------------- requests for data */

static void begin_giving(struct pavo_operation *op, const struct pavo_pkt *pkt)
{
	const struct pavo_rdma_peer peer = packet_sender(pkt);

	pavo_operation_begin(op, &peer, &pkt->rdma);
	op->told = op->flags & PAVO_RDMA_NOTIFY_SOURCE;
}

/* The process was asked to send the data. */
static void read_requested(struct pavo_operation *op,
			   struct pavo_transition *tr, u32 full)
{
	if (full)
		return;
	begin_giving(op, tr->pkt);
	op->now.feeding = true;
	tr->used = true;
}

static void rcxt_queued(struct pavo_operation *op, struct pavo_transition *tr,
			u32 ended)
{
	if (ended)
		return;
	pavo_operation_begin_sending(op);
	tr->used = true;
	tr->wake = true;
}

static void way_known(struct pavo_operation *op, struct pavo_transition *tr,
		      u32 none)
{
	if (none) {
		tr->counts |= PAVO_TRANSITION_TX_DROP_NODE;
		return;
	}
	begin_giving(op, tr->pkt);
	op->from = tr->pkt->rdma.pvo;
	op->to = tr->pkt->rdma.back_pvo;
	pavo_transition_act(tr, PAVO_ACTION_QUEUE, rcxt_queued);
}

/* Take a peer's request for data. */
static void take_request(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_wreth *wreth = &tr->pkt->rdma;
	enum pavo_tid_verdict verdict = pavo_tid_request(&op->now, wreth->tid);

	if (verdict == PAVO_TID_BEGIN && op->now.placing)
		verdict = PAVO_TID_BUSY;
	if (verdict != PAVO_TID_BEGIN)
		drop_for_tid(tr, verdict);
	/* A process that sends the data itself learns of a missing route by its own frames. */
	else if (wreth->flags & PAVO_RDMA_FROM_FIFO)
		pavo_transition_act(tr, PAVO_ACTION_PUT_READ, read_requested);
	else
		pavo_transition_act(tr, PAVO_ACTION_FIND_ROUTE, way_known);
}

/* ------------------------------------------------------------------- ends */

/* Is the operation open? Its end may have been told already, or not asked for. */
static bool open_end(const struct pavo_operation *op)
{
	return op->told || op->now.sending || op->now.placing ||
	       op->now.feeding;
}

static void end_notified(struct pavo_operation *op, struct pavo_transition *tr,
			 u32 full)
{
	if (!full)
		op->told = false;
}

/* Take a packet that tells of an end. */
static void take_end(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_pkt *pkt = tr->pkt;
	const u8 status = pkt->rdma.status;
	enum pavo_frame_state mark;

	if (!pavo_tid_ends(&op->now, pkt->rdma.tid, pkt->rdma.attempts) ||
	    !from_peer(op, pkt) || !open_end(op) ||
	    /* An operation that takes data ends with its last byte, not with a packet. */
	    (!status && op->now.placing)) {
		tr->counts |= PAVO_TRANSITION_RX_DROP_TID;
		return;
	}
	/*
	 * The peer cannot take the data or has none to give, or it has all data. In each case
	 * stop sending: the process may reuse the memory.
	 */
	mark = status ? PAVO_FRAME_CANCELLED : PAVO_FRAME_SENT;
	pavo_operation_end_sending(op, mark, tr);
	tr->used = true;
	tr->status = status;
	tr->target = op->now.placing;
	op->now.placing = false;
	op->now.feeding = false;
	if (op->told)
		pavo_transition_act(tr, PAVO_ACTION_PUT_DONE, end_notified);
}

/* -------------------------------------------------------------- the table */

static const struct pavo_arrival arrivals[] = {
	{
		.opcode = PAVO_OP_WINDOW_MESSAGE,
		.most = PAVO_FRAME_PAYLOAD,
	},
	{
		.opcode = PAVO_OP_WINDOW_DATA,
		.most = ~0u, /* by its operation: see check_length() */
		.last_status = PAVO_PVO_OK,
		.take = take_data,
	},
	{
		.opcode = PAVO_OP_WINDOW_READ,
		.last_status = PAVO_PVO_OK,
		.take = take_request,
	},
	{
		.opcode = PAVO_OP_WINDOW_DONE,
		.last_status = PAVO_PVO_KEY,
		.take = take_end,
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
	if (pkt->payload > arrival->most)
		return PAVO_TRANSITION_RX_DROP_TOO_LONG;
	if (arrival->take && (pkt->rdma.flags & ~PAVO_RDMA_FLAGS ||
			      pkt->rdma.status > arrival->last_status))
		return PAVO_TRANSITION_RX_DROP_RDMA_INVALID;
	return 0;
}
