// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * operation.c - an operation between windows as this end's process has it: begun by its
 * frames, sent packet by packet, and ended. See operation.h; arrival.c takes packets. Pure.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include "window/operation.h"
#include "window/third.h"

/* ------------------------------------------------------------ beginnings */

void pavo_operation_begin(struct pavo_operation *op,
			  const struct pavo_rdma_peer *peer,
			  const struct pavo_wreth *wreth)
{
	op->now.tid = wreth->tid;
	op->now.first = pavo_tid_get_first(wreth->tid, wreth->attempts);
	op->now.placing = false;
	op->now.feeding = false;
	op->notify = false;
	op->own = false;
	op->requested = false;
	op->reading = false;
	op->flags = wreth->flags & PAVO_RDMA_FLAGS;
	op->attempts = wreth->attempts;
	op->peer = *peer;
	op->role = PAVO_THIRD_NONE;
	op->third = (struct pavo_rdma_peer){};
	op->tag = wreth->tag;
	op->cookie = 0;
	op->total = wreth->total;
	op->left = wreth->total;
	op->fragment = 0;
	/* Of an operation that a peer begins. */
	op->counter = op->bound;
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

void pavo_operation_count(struct pavo_operation *op, bool ok,
			  struct pavo_transition *tr)
{
	if (!op->counter || op->now.first <= op->counted)
		return;
	tr->effects |= ok ? PAVO_EFFECT_COUNT : PAVO_EFFECT_FAIL;
	tr->counter = op->counter - 1;
	op->counter = 0;
	if (ok)
		op->counted = op->now.first;
}

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
	pavo_operation_count(op, false, tr);
	op->now.placing = false;
	op->now.feeding = false;
	op->notify = false;
}

void pavo_operation_reset(struct pavo_operation *op)
{
	op->now = (struct pavo_attempt){};
	op->notify = false;
	op->own = false;
	op->bound = 0;
	op->counter = 0;
	op->counted = 0;
}

/* ------------------------------------------------------- writes and reads */

static u32 get_refusal_state(enum pavo_tid_verdict verdict)
{
	return verdict == PAVO_TID_BUSY ? PAVO_FRAME_BUSY : PAVO_FRAME_STALE;
}

static struct pavo_rdma_peer
get_request_peer(const struct pavo_frame_request *req)
{
	return (struct pavo_rdma_peer){
		.node = req->control.node,
		.window = req->control.window,
		.rcxt = req->control.wreth.rcxt,
	};
}

/* Request the data of a read from its source, or notify the source that all has arrived. */
static void set_control(struct pavo_transition *tr, enum pavo_window_op opcode)
{
	tr->control_opcode = opcode;
	tr->control = tr->req->control;
}

/* Does @req repeat the latest read of the rCxt? */
static bool is_same_read(const struct pavo_operation *op,
			 const struct pavo_frame_request *req)
{
	const struct pavo_rdma_peer peer = get_request_peer(req);

	return req->type == PAVO_FRAME_RDMA_READ &&
	       pavo_rdma_is_same_window(&op->peer, &peer) &&
	       op->total == req->control.wreth.total &&
	       op->flags == req->control.wreth.flags;
}

/* PAVO_WAIT_REPEAT_DONE: the process was notified once more of a complete read. */
static void finish_repeated_read(struct pavo_operation *op,
				 struct pavo_transition *tr, u32 full)
{
	tr->state = full ? PAVO_FRAME_NOT_SENT : PAVO_FRAME_SENT;
	if (!full && op->flags & PAVO_RDMA_NOTIFY_SOURCE)
		set_control(tr, PAVO_OP_WINDOW_DONE);
}

/*
 * Resume a read of which an earlier attempt has brought data, and keep that data. If all data
 * has arrived, notify the process once more, since it waits for the tid of its latest attempt,
 * and then the source.
 * Return: 0: resumed; -ENOENT: the frame begins a new operation.
 */
static int resume_read(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const u64 tid = req->control.wreth.tid;
	const u16 attempts = req->control.wreth.attempts;
	const bool repeat = pavo_tid_repeats(&op->now, tid, attempts);

	if (!is_same_read(op, req) ||
	    (!repeat && !pavo_tid_resumes(&op->now, tid, attempts)))
		return -ENOENT;
	op->now.tid = tid;
	op->attempts = attempts;
	op->peer = get_request_peer(req);
	op->to = req->local;
	if (!repeat) {
		set_control(tr, PAVO_OP_WINDOW_READ);
		return 0;
	}
	pavo_transition_count(tr, PAVO_CNT_rdma_repeats);
	if (op->flags & PAVO_RDMA_NOTIFY_TARGET) {
		tr->target = true;
		tr->status = PAVO_PVO_OK;
		pavo_transition_act(tr, PAVO_ACTION_PUT_DONE,
				    PAVO_WAIT_REPEAT_DONE);
	} else {
		finish_repeated_read(op, tr, 0);
	}
	return 0;
}

/* PAVO_WAIT_WRITE_QUEUED */
static void start_queued_write(struct pavo_operation *op,
			       struct pavo_transition *tr, u32 ended)
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

	op->notify = op->flags & PAVO_RDMA_NOTIFY_SOURCE;
	op->from = req->local;
	op->to = req->control.wreth.pvo;
	op->own = true;
	op->frame = req->frame;
	pavo_transition_act(tr, PAVO_ACTION_QUEUE, PAVO_WAIT_WRITE_QUEUED);
}

/* Set up a read before its packet is sent: data may arrive before the sender returns. */
static void begin_read(struct pavo_operation *op, struct pavo_transition *tr)
{
	op->notify = op->flags & PAVO_RDMA_NOTIFY_TARGET;
	op->requested = true;
	op->reading = !(op->flags & PAVO_RDMA_TO_FIFO);
	op->to = tr->req->local;
	pavo_operation_expect(op);
	set_control(tr, PAVO_OP_WINDOW_READ);
}

/* Begin the operation of a frame. If it is not an attempt at the present one, that is over. */
static void begin_own(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const struct pavo_wreth *wreth = &req->control.wreth;
	const struct pavo_rdma_peer peer = get_request_peer(req);

	if (pavo_tid_get_first(wreth->tid, wreth->attempts) != op->now.first)
		pavo_operation_count(op, false, tr);
	pavo_operation_begin(op, &peer, wreth);
	op->cookie = req->cookie;
	op->counter = req->counter;
}

static void begin_request(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;

	begin_own(op, tr);
	if (req->type == PAVO_FRAME_RDMA_WRITE)
		begin_window_write(op, tr);
	else
		begin_read(op, tr);
}

/* PAVO_WAIT_READ_MAPPED */
static void begin_checked_read(struct pavo_operation *op,
			       struct pavo_transition *tr, u32 foreign)
{
	if (!foreign) {
		begin_request(op, tr);
		return;
	}
	tr->effects |= PAVO_EFFECT_KILL;
	tr->state = PAVO_FRAME_BAD_PVO;
}

/* The memory of a write is checked when it is sent. */
static bool needs_mapped_check(const struct pavo_frame_request *req)
{
	return req->type == PAVO_FRAME_RDMA_READ &&
	       !(req->control.wreth.flags & PAVO_RDMA_TO_FIFO);
}

/* Let the operation of the rCxt give way to that of @tr->req. Return: 0; -EBUSY: it does not. */
static int accept_tid(struct pavo_operation *op, struct pavo_transition *tr)
{
	const enum pavo_tid_verdict verdict =
		pavo_tid_check_request(&op->now, tr->req->control.wreth.tid);

	if (verdict == PAVO_TID_BEGIN)
		return 0;
	tr->state = get_refusal_state(verdict);
	return -EBUSY;
}

int pavo_operation_begin_request(struct pavo_operation *op,
				 struct pavo_transition *tr)
{
	if (accept_tid(op, tr))
		return -EBUSY;
	begin_own(op, tr);
	return 0;
}

void pavo_operation_request(struct pavo_operation *op,
			    struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;

	if (accept_tid(op, tr) || !resume_read(op, tr))
		return;
	if (needs_mapped_check(req)) {
		tr->pvo = req->local;
		tr->length = req->control.wreth.total;
		pavo_transition_act(tr, PAVO_ACTION_CHECK_MAPPED,
				    PAVO_WAIT_READ_MAPPED);
	} else {
		begin_request(op, tr);
	}
}

void pavo_operation_piece(struct pavo_operation *op, struct pavo_transition *tr)
{
	const struct pavo_frame_request *req = tr->req;
	const struct pavo_rdma_peer peer = get_request_peer(req);
	const enum pavo_tid_verdict verdict =
		pavo_tid_check_piece(&op->now, req->control.wreth.tid);

	if (verdict == PAVO_TID_PART) {
		if (!pavo_rdma_is_same_peer(&op->peer, &peer))
			tr->state = PAVO_FRAME_BAD_REQUEST;
		return;
	}
	if (verdict != PAVO_TID_BEGIN) {
		tr->state = get_refusal_state(verdict);
		return;
	}
	begin_own(op, tr);
	op->notify = op->flags & PAVO_RDMA_NOTIFY_SOURCE;
	op->now.feeding = true;
}

/* ----------------------------------------------------- outcomes of actions */

void pavo_transition_continue(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 outcome)
{
	tr->ncounts = 0;
	tr->effects = 0;
	tr->action = PAVO_ACTION_NONE;
	switch (tr->wait) {
	case PAVO_WAIT_READ_MAPPED:
		begin_checked_read(op, tr, outcome);
		break;
	case PAVO_WAIT_WRITE_QUEUED:
		start_queued_write(op, tr, outcome);
		break;
	case PAVO_WAIT_REPEAT_DONE:
		finish_repeated_read(op, tr, outcome);
		break;
	case PAVO_WAIT_PLACED:
		pavo_arrival_placed(op, tr, outcome);
		break;
	case PAVO_WAIT_PIECE_PUT:
		pavo_arrival_piece_put(op, tr, outcome);
		break;
	case PAVO_WAIT_STILL_MAPPED:
		pavo_arrival_still_mapped(op, tr, outcome);
		break;
	case PAVO_WAIT_TARGET_DONE:
		pavo_arrival_target_done(op, tr, outcome);
		break;
	case PAVO_WAIT_READ_PUT:
		pavo_arrival_read_put(op, tr, outcome);
		break;
	case PAVO_WAIT_ROUTE:
		pavo_arrival_route_found(op, tr, outcome);
		break;
	case PAVO_WAIT_READ_QUEUED:
		pavo_arrival_read_queued(op, tr, outcome);
		break;
	case PAVO_WAIT_END_DONE:
		pavo_arrival_end_done(op, tr, outcome);
		break;
	case PAVO_WAIT_RENOTIFIED:
		/* If the FIFO is full, the next attempt notifies the process. */
		break;
	}
}

/* ---------------------------------------------------------------- sending */

/* Most bytes of data in a packet; those of one that becomes a frame must fit the frame. */
static u32 limit_packet_data(const struct pavo_operation *op, u32 most)
{
	if (op->role == PAVO_THIRD_SOURCE)
		return most - PAVO_WTETH_LEN;
	if (!(op->flags & PAVO_RDMA_TO_FIFO))
		return most;
	return min(most, PAVO_PIECE_DATA) & ~(PAVO_PIECE_ALIGN - 1);
}

int pavo_operation_next(const struct pavo_operation *op, u32 most,
			struct pavo_fragment *fragment)
{
	if (!op->now.sending)
		return -ENODATA;
	*fragment = (struct pavo_fragment){
		.opcode = PAVO_OP_WINDOW_DATA,
		.control = {
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
		.length = min(op->left, limit_packet_data(op, most)),
	};
	if (op->role == PAVO_THIRD_SOURCE)
		pavo_third_name_controller(op, fragment);
	return 0;
}

/*
 * Is the operation of @fragment still being sent? Since the packet was made, the rCxt may have
 * gone back to the pool and come to the same window once more, even with the same id and tid.
 * Only @sends differs then.
 */
static bool is_still_sending(const struct pavo_operation *op,
			     const struct pavo_fragment *fragment)
{
	return op->now.sending && op->sends == fragment->sends;
}

bool pavo_operation_sent(struct pavo_operation *op,
			 const struct pavo_fragment *fragment,
			 struct pavo_transition *tr)
{
	/* The process may have cancelled it meanwhile. */
	if (!is_still_sending(op, fragment))
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
	if (is_still_sending(op, fragment))
		pavo_operation_end(op, state, tr);
}

void pavo_operation_no_memory(struct pavo_operation *op,
			      const struct pavo_fragment *fragment,
			      enum pavo_pvo_result result,
			      struct pavo_transition *tr)
{
	const bool still = is_still_sending(op, fragment);

	pavo_operation_give_up(op, fragment, PAVO_FRAME_BAD_PVO, tr);
	if (still && op->own) {
		tr->effects |= PAVO_EFFECT_KILL;
		return;
	}
	if (still)
		tr->effects |= PAVO_EFFECT_VIOLATION;
	pavo_transition_count(tr, PAVO_CNT_rx_drop_rdma_pvo);
	tr->control_opcode = PAVO_OP_WINDOW_DONE;
	tr->control = fragment->control;
	if (fragment->opcode == PAVO_OP_WINDOW_THIRD_DATA)
		pavo_third_address_controller(&tr->control);
	tr->control.wreth.status = result;
}
