// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * operation.c - an operation between windows as this end's process has it: begun by its
 * frames, sent packet by packet, and ended. See operation.h; arrival.c has the packets that
 * come. Pure.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "window/operation.h"

/* ------------------------------------------------------------ beginnings */

void pavo_operation_begin(struct pavo_operation *op,
			  const struct pavo_rdma_peer *peer,
			  const struct pavo_wreth *wreth)
{
	op->now.tid = wreth->tid;
	op->now.first = pavo_tid_first(wreth->tid, wreth->attempts);
	op->now.placing = false;
	op->now.feeding = false;
	op->told = false;
	op->own = false;
	op->reading = false;
	op->flags = wreth->flags & PAVO_RDMA_FLAGS;
	op->attempts = wreth->attempts;
	op->peer = *peer;
	op->tag = wreth->tag;
	op->cookie = 0;
	op->total = wreth->total;
	op->left = wreth->total;
	op->fragment = 0;
}

void pavo_operation_expect(struct pavo_operation *op)
{
	op->now.placing = true;
	memset(op->seen, 0, sizeof(*op->seen));
}

void pavo_operation_begin_sending(struct pavo_operation *op)
{
	op->now.sending = true;
	op->sends++;
}

/* ----------------------------------------------------------------- ends */

void pavo_operation_end_sending(struct pavo_operation *op,
				enum pavo_frame_state state,
				struct pavo_transition *tr)
{
	if (!op->now.sending)
		return;
	op->now.sending = false;
	tr->effects |= PAVO_EFFECT_UNQUEUE;
	if (!op->own)
		return;
	tr->effects |= PAVO_EFFECT_MARK;
	tr->mark = state;
}

void pavo_operation_end(struct pavo_operation *op, enum pavo_frame_state state,
			struct pavo_transition *tr)
{
	pavo_operation_end_sending(op, state, tr);
	op->now.placing = false;
	op->now.feeding = false;
	op->told = false;
}

void pavo_operation_reset(struct pavo_operation *op)
{
	op->now = (struct pavo_attempt){};
	op->told = false;
	op->own = false;
}

/* ------------------------------------------------------- writes and reads */

static u32 refusal_state(enum pavo_tid_verdict verdict)
{
	return verdict == PAVO_TID_BUSY ? PAVO_FRAME_BUSY : PAVO_FRAME_STALE;
}

static struct pavo_rdma_peer peer_of(const struct pavo_frame_request *req)
{
	return (struct pavo_rdma_peer){
		.node = req->told.node,
		.window = req->told.window,
		.rcxt = req->told.wreth.rcxt,
	};
}

/* Ask the source of a read for its data, or tell it that all has come. */
static void set_control(struct pavo_transition *tr, enum pavo_window_op opcode)
{
	tr->control_opcode = opcode;
	tr->told = tr->req->told;
}

/* Does @req repeat the read that the rCxt had last? */
static bool same_read(const struct pavo_operation *op,
		      const struct pavo_frame_request *req)
{
	const struct pavo_rdma_peer peer = peer_of(req);

	return req->type == PAVO_FRAME_RDMA_READ &&
	       pavo_rdma_same_window(&op->peer, &peer) &&
	       op->total == req->told.wreth.total &&
	       op->flags == req->told.wreth.flags;
}

/* The process was told again of a read whose data has all come. */
static void notified_again(struct pavo_operation *op,
			   struct pavo_transition *tr, u32 full)
{
	tr->state = full ? PAVO_FRAME_NOT_SENT : PAVO_FRAME_SENT;
	if (!full && op->flags & PAVO_RDMA_NOTIFY_SOURCE)
		set_control(tr, PAVO_OP_WINDOW_DONE);
}

/*
 * Go on with a read whose earlier attempt brought some data, and keep that data. If all data
 * has come, tell the process again: it waits for the tid of its last attempt. The source is
 * told again, too.
 * Return: false: the frame begins a new operation.
 */
static bool go_on_reading(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const u64 tid = req->told.wreth.tid;
	const u16 attempts = req->told.wreth.attempts;
	const bool repeat = pavo_tid_repeats(&op->now, tid, attempts);

	if (!same_read(op, req) ||
	    (!repeat && !pavo_tid_resumes(&op->now, tid, attempts)))
		return false;
	op->now.tid = tid;
	op->attempts = attempts;
	op->peer = peer_of(req);
	op->to = req->local;
	if (!repeat) {
		set_control(tr, PAVO_OP_WINDOW_READ);
		return true;
	}
	tr->counts |= PAVO_TRANSITION_RDMA_REPEATS;
	if (op->flags & PAVO_RDMA_NOTIFY_TARGET) {
		tr->target = true;
		tr->status = PAVO_PVO_OK;
		pavo_transition_act(tr, PAVO_ACTION_PUT_DONE, notified_again);
	} else {
		notified_again(op, tr, 0);
	}
	return true;
}

static void write_queued(struct pavo_operation *op, struct pavo_transition *tr,
			 u32 ended)
{
	if (ended)
		tr->state = PAVO_FRAME_DEAD;
	else
		pavo_operation_begin_sending(op);
}

static void begin_window_write(struct pavo_operation *op,
			       struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;

	op->told = op->flags & PAVO_RDMA_NOTIFY_SOURCE;
	op->from = req->local;
	op->to = req->told.wreth.pvo;
	op->own = true;
	op->frame = req->frame;
	pavo_transition_act(tr, PAVO_ACTION_QUEUE, write_queued);
}

/* Set up a read, before its packet is sent: data may come before the sender returns. */
static void begin_read(struct pavo_operation *op, struct pavo_transition *tr)
{
	op->told = op->flags & PAVO_RDMA_NOTIFY_TARGET;
	op->reading = !(op->flags & PAVO_RDMA_TO_FIFO);
	op->to = tr->req->local;
	pavo_operation_expect(op);
	set_control(tr, PAVO_OP_WINDOW_READ);
}

static void begin_request(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const struct pavo_rdma_peer peer = peer_of(req);

	pavo_operation_begin(op, &peer, &req->told.wreth);
	op->cookie = req->cookie;
	if (req->type == PAVO_FRAME_RDMA_WRITE)
		begin_window_write(op, tr);
	else
		begin_read(op, tr);
}

static void room_known(struct pavo_operation *op, struct pavo_transition *tr,
		       u32 foreign)
{
	if (!foreign) {
		begin_request(op, tr);
		return;
	}
	tr->effects |= PAVO_EFFECT_KILL;
	tr->state = PAVO_FRAME_BAD_PVO;
}

/* The memory of a write is checked when it is sent. */
static bool needs_room(const struct pavo_frame_request *req)
{
	return req->type == PAVO_FRAME_RDMA_READ &&
	       !(req->told.wreth.flags & PAVO_RDMA_TO_FIFO);
}

void pavo_operation_request(struct pavo_operation *op,
			    struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const enum pavo_tid_verdict verdict =
		pavo_tid_request(&op->now, req->told.wreth.tid);

	if (verdict != PAVO_TID_BEGIN) {
		tr->state = refusal_state(verdict);
		return;
	}
	if (go_on_reading(op, tr))
		return;
	if (needs_room(req)) {
		tr->pvo = req->local;
		tr->length = req->told.wreth.total;
		pavo_transition_act(tr, PAVO_ACTION_CHECK_MAPPED, room_known);
	} else {
		begin_request(op, tr);
	}
}

void pavo_operation_piece(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const struct pavo_rdma_peer peer = peer_of(req);
	const enum pavo_tid_verdict verdict =
		pavo_tid_piece(&op->now, req->told.wreth.tid);

	if (verdict == PAVO_TID_PART) {
		if (!pavo_rdma_same_peer(&op->peer, &peer))
			tr->state = PAVO_FRAME_BAD_REQUEST;
		return;
	}
	if (verdict != PAVO_TID_BEGIN) {
		tr->state = refusal_state(verdict);
		return;
	}
	pavo_operation_begin(op, &peer, &req->told.wreth);
	op->cookie = req->cookie;
	op->told = op->flags & PAVO_RDMA_NOTIFY_SOURCE;
	op->now.feeding = true;
}

/* ---------------------------------------------------------------- sending */

/* Bytes of data in a packet; those of one that becomes a frame must fit the frame. */
static u32 room_of(u8 flags, u32 room)
{
	if (!(flags & PAVO_RDMA_TO_FIFO))
		return room;
	return min(room, PAVO_PIECE_DATA) & ~(PAVO_PIECE_ALIGN - 1);
}

bool pavo_operation_next(const struct pavo_operation *op, u32 room,
			 struct pavo_fragment *fragment)
{
	if (!op->now.sending)
		return false;
	*fragment = (struct pavo_fragment){
		.told = {
			.node = op->peer.node,
			.window = op->peer.window,
			.wreth = {
				.rcxt = op->peer.rcxt,
				.peer_rcxt = op->id,
				.tid = op->now.tid,
				.pvo = op->to,
				.total = op->total,
				.fragment = op->fragment,
				.tag = op->tag,
				.attempts = op->attempts,
				.flags = op->flags,
			},
		},
		.sends = op->sends,
		.from = op->from,
		.length = min(op->left, room_of(op->flags, room)),
	};
	return true;
}

/*
 * Is the operation of @fragment still being sent? Since the packet was made, the rCxt may have
 * gone back to the pool and come to the same window again, even with the same number and tid.
 * Only @sends differs then.
 */
static bool still_sending(const struct pavo_operation *op,
			  const struct pavo_fragment *fragment)
{
	return op->now.sending && op->sends == fragment->sends;
}

bool pavo_operation_sent(struct pavo_operation *op,
			 const struct pavo_fragment *fragment,
			 struct pavo_transition *tr)
{
	/* The process may have cancelled it meanwhile. */
	if (!still_sending(op, fragment))
		return false;
	op->left -= fragment->length;
	op->from += fragment->length;
	op->to += fragment->length;
	op->fragment++;
	if (op->left)
		return true;
	pavo_operation_end_sending(op, PAVO_FRAME_SENT, tr);
	return false;
}

void pavo_operation_give_up(struct pavo_operation *op,
			    const struct pavo_fragment *fragment,
			    enum pavo_frame_state state,
			    struct pavo_transition *tr)
{
	if (still_sending(op, fragment))
		pavo_operation_end(op, state, tr);
}

void pavo_operation_no_memory(struct pavo_operation *op,
			      const struct pavo_fragment *fragment,
			      enum pavo_pvo_result result,
			      struct pavo_transition *tr)
{
	const bool own = still_sending(op, fragment) && op->own;

	pavo_operation_give_up(op, fragment, PAVO_FRAME_BAD_PVO, tr);
	if (own) {
		tr->effects |= PAVO_EFFECT_KILL;
		return;
	}
	tr->counts |= PAVO_TRANSITION_RX_DROP_RDMA_PVO;
	tr->control_opcode = PAVO_OP_WINDOW_DONE;
	tr->told = fragment->told;
	tr->told.wreth.status = result;
}
