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
				struct pavo_step *step)
{
	if (!op->now.sending)
		return;
	op->now.sending = false;
	step->effects |= PAVO_EFFECT_UNQUEUE;
	if (!op->own)
		return;
	step->effects |= PAVO_EFFECT_MARK;
	step->mark = state;
}

void pavo_operation_end(struct pavo_operation *op, enum pavo_frame_state state,
			struct pavo_step *step)
{
	pavo_operation_end_sending(op, state, step);
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

static u32 refusal(enum pavo_tid_verdict verdict)
{
	return verdict == PAVO_TID_BUSY ? PAVO_FRAME_BUSY : PAVO_FRAME_STALE;
}

static struct pavo_rdma_peer peer_of(const struct pavo_ask *ask)
{
	return (struct pavo_rdma_peer){
		.node = ask->told.node,
		.window = ask->told.window,
		.rcxt = ask->told.wreth.rcxt,
	};
}

/* Ask the source of a read for its data, or tell it that all has come. */
static void tell_source(struct pavo_step *step, enum pavo_window_op opcode)
{
	step->tell = opcode;
	step->told = step->ask->told;
}

/* Does @ask repeat the read that the rCxt had last? */
static bool same_read(const struct pavo_operation *op,
		      const struct pavo_ask *ask)
{
	const struct pavo_rdma_peer peer = peer_of(ask);

	return ask->type == PAVO_FRAME_RDMA_READ &&
	       pavo_rdma_same_window(&op->peer, &peer) &&
	       op->total == ask->told.wreth.total &&
	       op->flags == ask->told.wreth.flags;
}

/* The process was told again of a read whose data has all come. */
static void told_again(struct pavo_operation *op, struct pavo_step *step,
		       u32 full)
{
	step->state = full ? PAVO_FRAME_NOT_SENT : PAVO_FRAME_SENT;
	if (!full && op->flags & PAVO_RDMA_TELL_SOURCE)
		tell_source(step, PAVO_OP_WINDOW_DONE);
}

/*
 * Go on with a read whose earlier attempt brought some data, and keep that data. If all data
 * has come, tell the process again: it waits for the tid of its last attempt. The source is
 * told again, too.
 * Return: false: the frame begins a new operation.
 */
static bool go_on_reading(struct pavo_operation *op, struct pavo_step *step)
{
	const struct pavo_ask *ask = step->ask;
	const u64 tid = ask->told.wreth.tid;
	const u16 attempts = ask->told.wreth.attempts;
	const bool repeat = pavo_tid_repeats(&op->now, tid, attempts);

	if (!same_read(op, ask) ||
	    (!repeat && !pavo_tid_resumes(&op->now, tid, attempts)))
		return false;
	op->now.tid = tid;
	op->attempts = attempts;
	op->peer = peer_of(ask);
	op->to = ask->local;
	if (!repeat) {
		tell_source(step, PAVO_OP_WINDOW_READ);
		return true;
	}
	step->counts |= PAVO_STEP_RDMA_REPEATS;
	if (op->flags & PAVO_RDMA_TELL_TARGET) {
		step->target = true;
		step->status = PAVO_PVO_OK;
		pavo_step_do(step, PAVO_DEED_TELL, told_again);
	} else {
		told_again(op, step, 0);
	}
	return true;
}

static void write_queued(struct pavo_operation *op, struct pavo_step *step,
			 u32 ended)
{
	if (ended)
		step->state = PAVO_FRAME_DEAD;
	else
		pavo_operation_begin_sending(op);
}

static void begin_write(struct pavo_operation *op, struct pavo_step *step)
{
	const struct pavo_ask *ask = step->ask;

	op->told = op->flags & PAVO_RDMA_TELL_SOURCE;
	op->from = ask->local;
	op->to = ask->told.wreth.pvo;
	op->own = true;
	op->frame = ask->frame;
	pavo_step_do(step, PAVO_DEED_QUEUE, write_queued);
}

/* Set up a read, before its packet is sent: data may come before the sender returns. */
static void begin_read(struct pavo_operation *op, struct pavo_step *step)
{
	op->told = op->flags & PAVO_RDMA_TELL_TARGET;
	op->reading = !(op->flags & PAVO_RDMA_TO_FIFO);
	op->to = step->ask->local;
	pavo_operation_expect(op);
	tell_source(step, PAVO_OP_WINDOW_READ);
}

static void begin_request(struct pavo_operation *op, struct pavo_step *step)
{
	const struct pavo_ask *ask = step->ask;
	const struct pavo_rdma_peer peer = peer_of(ask);

	pavo_operation_begin(op, &peer, &ask->told.wreth);
	op->cookie = ask->cookie;
	if (ask->type == PAVO_FRAME_RDMA_WRITE)
		begin_write(op, step);
	else
		begin_read(op, step);
}

static void room_known(struct pavo_operation *op, struct pavo_step *step,
		       u32 foreign)
{
	if (!foreign) {
		begin_request(op, step);
		return;
	}
	step->effects |= PAVO_EFFECT_KILL;
	step->state = PAVO_FRAME_BAD_PVO;
}

/* The memory of a write is checked when it is sent. */
static bool needs_room(const struct pavo_ask *ask)
{
	return ask->type == PAVO_FRAME_RDMA_READ &&
	       !(ask->told.wreth.flags & PAVO_RDMA_TO_FIFO);
}

void pavo_operation_request(struct pavo_operation *op, struct pavo_step *step)
{
	const struct pavo_ask *ask = step->ask;
	const enum pavo_tid_verdict verdict =
		pavo_tid_request(&op->now, ask->told.wreth.tid);

	if (verdict != PAVO_TID_BEGIN) {
		step->state = refusal(verdict);
		return;
	}
	if (go_on_reading(op, step))
		return;
	if (needs_room(ask)) {
		step->pvo = ask->local;
		step->length = ask->told.wreth.total;
		pavo_step_do(step, PAVO_DEED_MAPPED, room_known);
	} else {
		begin_request(op, step);
	}
}

void pavo_operation_piece(struct pavo_operation *op, struct pavo_step *step)
{
	const struct pavo_ask *ask = step->ask;
	const struct pavo_rdma_peer peer = peer_of(ask);
	const enum pavo_tid_verdict verdict =
		pavo_tid_piece(&op->now, ask->told.wreth.tid);

	if (verdict == PAVO_TID_PART) {
		if (!pavo_rdma_same_peer(&op->peer, &peer))
			step->state = PAVO_FRAME_BAD_REQUEST;
		return;
	}
	if (verdict != PAVO_TID_BEGIN) {
		step->state = refusal(verdict);
		return;
	}
	pavo_operation_begin(op, &peer, &ask->told.wreth);
	op->cookie = ask->cookie;
	op->told = op->flags & PAVO_RDMA_TELL_SOURCE;
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
			 struct pavo_step *step)
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
	pavo_operation_end_sending(op, PAVO_FRAME_SENT, step);
	return false;
}

void pavo_operation_give_up(struct pavo_operation *op,
			    const struct pavo_fragment *fragment,
			    enum pavo_frame_state state, struct pavo_step *step)
{
	if (still_sending(op, fragment))
		pavo_operation_end(op, state, step);
}

void pavo_operation_no_memory(struct pavo_operation *op,
			      const struct pavo_fragment *fragment,
			      enum pavo_pvo_result result,
			      struct pavo_step *step)
{
	const bool own = still_sending(op, fragment) && op->own;

	pavo_operation_give_up(op, fragment, PAVO_FRAME_BAD_PVO, step);
	if (own) {
		step->effects |= PAVO_EFFECT_KILL;
		return;
	}
	step->counts |= PAVO_STEP_RX_DROP_RDMA_PVO;
	step->tell = PAVO_OP_WINDOW_DONE;
	step->told = fragment->told;
	step->told.wreth.status = result;
}
