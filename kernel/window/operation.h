/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * operation.h - one end of an operation between windows, as a machine: an event comes in, and
 * a step says what follows. Pure: the owner of the rCxt carries the step out (actions.c), and
 * so do the unit tests on memory of their own.
 *
 * An event is a frame of this end's process (operation.c), a packet (arrival.c), the turn to
 * send the next packet, or an end (operation.c). Calls on one operation exclude each other.
 */
#ifndef PAVO_WINDOW_OPERATION_H
#define PAVO_WINDOW_OPERATION_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>
#include "window/order.h"
#include "wire/wire.h"

/**
 * struct pavo_rdma_peer - the other end of an operation.
 * @window: its window
 * @rcxt:   its rCxt
 * @node:   its node
 */
struct pavo_rdma_peer {
	u32 window;
	u32 rcxt;
	u16 node;
};

/* Is it the same window? Its rCxt may be another one after a recovery there. */
static inline bool pavo_rdma_same_window(const struct pavo_rdma_peer *a,
					 const struct pavo_rdma_peer *b)
{
	return a->window == b->window && a->node == b->node;
}

static inline bool pavo_rdma_same_peer(const struct pavo_rdma_peer *a,
				       const struct pavo_rdma_peer *b)
{
	return pavo_rdma_same_window(a, b) && a->rcxt == b->rcxt;
}

/**
 * struct pavo_operation - one operation at this end.
 * @id:       number of the rCxt, as its window knows it
 * @now:      the operation, and how far it is
 * @seen:     fragments that came; memory of the owner
 * @told:     tell this process of the end when a packet says that it has come
 * @own:      a frame RDMA_WRITE of this process began the operation, and is to be marked
 * @sends:    counts how often it began to send, for all windows that had the rCxt, so that no
 *            value comes again
 * @reading:  it takes data for memory that this process named, at @to
 * @flags:    of the operation, see struct pavo_rdma_request
 * @attempts: likewise
 * @tag:      likewise
 * @peer:     the other end
 * @cookie:   of this process
 * @total:    bytes of the operation
 * @from:     PVO of the data that it sends
 * @to:       where the data goes: a PVO of the peer, or of this end if @reading; a
 *            number for TO_FIFO
 * @left:     bytes that have not been sent, or have not come
 * @fragment: number of the next packet to be sent
 * @frame:    number of the frame, if @own
 */
struct pavo_operation {
	u32 id;
	struct pavo_attempt now;
	struct pavo_seen *seen;
	bool told;
	bool own;
	u64 sends;
	bool reading;
	u8 flags;
	u16 attempts;
	struct pavo_rdma_peer peer;
	u32 tag;
	u32 cookie;
	u32 total;
	u64 from;
	u64 to;
	u32 left;
	u32 fragment;
	u32 frame;
};

/* ------------------------------------------------------------------ steps */

/* Counters of hw_stats.h that a step counts in: bits. */
enum pavo_transition_count {
	PAVO_TRANSITION_TX_DROP_NODE = 1 << 0,
	PAVO_TRANSITION_RX_DROP_RCXT_BUSY = 1 << 1,
	PAVO_TRANSITION_RX_DROP_TID = 1 << 2,
	PAVO_TRANSITION_RX_DROP_TOO_LONG = 1 << 3,
	PAVO_TRANSITION_RX_DROP_RDMA_AGAIN = 1 << 4,
	PAVO_TRANSITION_RX_DROP_RDMA_FAR = 1 << 5,
	PAVO_TRANSITION_RX_DROP_RDMA_LENGTH = 1 << 6,
	PAVO_TRANSITION_RX_DROP_RDMA_PVO = 1 << 7,
	PAVO_TRANSITION_RX_DROP_RDMA_INVALID = 1 << 8,
	PAVO_TRANSITION_RX_RDMA_PACKETS = 1 << 9,
	PAVO_TRANSITION_RDMA_DONE = 1 << 10,
	PAVO_TRANSITION_RDMA_REPEATS = 1 << 11,
};

/* Effects of a step, carried out in this order behind its counts. */
enum pavo_effect {
	PAVO_EFFECT_UNQUEUE = 1 << 0, /* the rCxt has nothing to send now */
	PAVO_EFFECT_MARK = 1 << 1, /* mark the frame that began the operation */
	PAVO_EFFECT_KILL = 1 << 2, /* the window is dead */
};

/* A deed that may fail, carried out behind the effects. The outcome is 0 if it did not. */
enum pavo_action {
	PAVO_ACTION_NONE,
	PAVO_ACTION_PLACE, /* payload to memory; outcome: enum pavo_pvo_result */
	PAVO_ACTION_PUT_PIECE, /* a frame with the payload: pavo_operation_piece_frame() */
	PAVO_ACTION_PUT_READ, /* a frame RDMA_READ: pavo_operation_read_frame() */
	PAVO_ACTION_PUT_DONE, /* a frame RDMA_DONE: pavo_operation_done_frame() */
	PAVO_ACTION_FIND_ROUTE, /* is there a route to the node that the packet came from? */
	PAVO_ACTION_CHECK_MAPPED, /* are the bytes at @pvo memory of this end's job? */
	PAVO_ACTION_QUEUE, /* let the rCxt have its turns; fails if the window has ended */
};

/**
 * struct pavo_rdma_control - a message for the other end, sent after the rCxt was unlocked.
 * @node:   its node
 * @window: its window
 * @wreth:  the message
 */
struct pavo_rdma_control {
	u32 node;
	u32 window;
	struct pavo_wreth wreth;
};

/**
 * struct pavo_frame_request - a frame of this end's process, copied, that asks for an operation.
 * @type:   enum pavo_frame_type: RDMA_WRITE, RDMA_READ, RDMA_PIECE
 * @rcxt:   rCxt of this end
 * @told:   what goes into packets; of a piece, its header
 * @local:  PVO of this end; not of a piece
 * @cookie: of the process
 * @frame:  number of the frame; not of a piece
 */
struct pavo_frame_request {
	u8 type;
	u32 rcxt;
	struct pavo_rdma_control told;
	u64 local;
	u32 cookie;
	u32 frame;
};

/**
 * struct pavo_transition - what follows from an event. The caller sets @pkt or @req, and all else to
 * 0. It carries out @counts, @effects and @action, and calls pavo_transition_continue() until there is no
 * deed. Then it unlocks the rCxt and does @control_opcode and @wake.
 * @pkt:     the packet that came
 * @req:     the frame of this end's process
 * @counts:  counters, bits of enum pavo_transition_count
 * @effects: enum pavo_effect
 * @mark:    enum pavo_frame_state for PAVO_EFFECT_MARK
 * @action:    what to do
 * @then:    how the operation goes on with the outcome
 * @pvo:     for PAVO_ACTION_CHECK_MAPPED
 * @length:  likewise
 * @status:  how an operation ended, enum pavo_pvo_result
 * @target:  for PAVO_ACTION_PUT_DONE: this end took the data
 * @used:    the packet was used; else it is dropped
 * @state:   of @req's frame, enum pavo_frame_state. EMPTY: it will be marked later; a piece is
 *           to be sent
 * @control_opcode:    send @told in a packet of this opcode; 0: send none
 * @wake:    this end has something to send now, and no worker may know
 * @told:    see @control_opcode
 */
struct pavo_transition {
	const struct pavo_pkt *pkt;
	const struct pavo_frame_request *req;
	u32 counts;
	u8 effects;
	u8 mark;
	enum pavo_action action;
	void (*then)(struct pavo_operation *op, struct pavo_transition *tr,
		     u32 outcome);
	u64 pvo;
	u32 length;
	u8 status;
	bool target;
	bool used;
	u8 state;
	u8 control_opcode;
	bool wake;
	struct pavo_rdma_control told;
};

/**
 * pavo_transition_continue - go on with the outcome of a deed. No operation comes to a deed twice in one
 * event, so a loop that carries out deeds ends.
 * @op:      the operation
 * @tr:    of which all was carried out; what follows from the outcome is in it now
 * @outcome: of its deed; 0: done
 */
static inline void pavo_transition_continue(struct pavo_operation *op,
					    struct pavo_transition *tr,
					    u32 outcome)
{
	tr->counts = 0;
	tr->effects = 0;
	tr->action = PAVO_ACTION_NONE;
	tr->then(op, tr, outcome);
}

/** pavo_transition_act - let @tr come to @action, and go on with @then. For files of the machine. */
static inline void
pavo_transition_act(struct pavo_transition *tr, enum pavo_action action,
		    void (*then)(struct pavo_operation *op,
				 struct pavo_transition *tr, u32 outcome))
{
	tr->action = action;
	tr->then = then;
}

/* ----------------------------------------------- frames of this process */

/**
 * pavo_frame_parse_request - check a frame RDMA_WRITE or RDMA_READ, and take it apart.
 * @req:     set
 * @hdr:     copy of the frame's header
 * @request: copy of its payload
 * @number:  of the frame
 *
 * Return: enum pavo_frame_state; EMPTY: it is in order.
 */
u32 pavo_frame_parse_request(struct pavo_frame_request *req,
			     const struct pavo_frame_hdr *hdr,
			     const struct pavo_rdma_request *request,
			     u32 number);

/**
 * pavo_frame_parse_piece - check a frame RDMA_PIECE, and take it apart.
 * @req:   set
 * @hdr:   copy of the frame's header
 * @piece: copy of the beginning of its payload
 * @most:  bytes of payload that a frame may have
 *
 * Return: as pavo_frame_parse_request().
 */
u32 pavo_frame_parse_piece(struct pavo_frame_request *req,
			   const struct pavo_frame_hdr *hdr,
			   const struct pavo_rdma_piece *piece, u32 most);

/** pavo_operation_request - begin or resume what @tr->ask asks for: a write or a read. */
void pavo_operation_request(struct pavo_operation *op,
			    struct pavo_transition *tr);
/** pavo_operation_piece - check a piece, and begin its operation if it is the first. */
void pavo_operation_piece(struct pavo_operation *op,
			  struct pavo_transition *tr);

/* ---------------------------------------------------------------- packets */

/**
 * struct pavo_arrival - a kind of packet for windows: a row for each opcode. Its headers are
 * in the row of wire/opcode.c.
 * @opcode:      enum pavo_window_op
 * @most:        most bytes of payload, whatever the operation
 * @last_status: of RDMA: last enum pavo_pvo_result that it may have
 * @take:        of RDMA: use @tr->pkt on its operation; NULL: it becomes a frame
 */
struct pavo_arrival {
	u8 opcode;
	u32 most;
	u8 last_status;
	void (*take)(struct pavo_operation *op, struct pavo_transition *tr);
};

/** pavo_arrival_of - the row of an opcode; NULL: it is no packet for windows. */
const struct pavo_arrival *pavo_arrival_of(u8 opcode);
/** pavo_arrival_check - Return: 0, or enum pavo_transition_count: why @pkt is dropped. */
u32 pavo_arrival_check(const struct pavo_arrival *arrival,
		       const struct pavo_pkt *pkt);

/* ---------------------------------------------------------------- frames */

/** pavo_operation_done_frame - for PAVO_ACTION_PUT_DONE: what this end's process is told. */
struct pavo_rdma_done
pavo_operation_done_frame(const struct pavo_operation *op,
			  const struct pavo_transition *tr);
/** pavo_operation_piece_frame - for PAVO_ACTION_PUT_PIECE: how the frame begins. */
struct pavo_rdma_piece
pavo_operation_piece_frame(const struct pavo_operation *op,
			   const struct pavo_transition *tr);
/** pavo_operation_read_frame - for PAVO_ACTION_PUT_READ: the data that the process is to send. */
struct pavo_rdma_request
pavo_operation_read_frame(const struct pavo_transition *tr);

/* ---------------------------------------------------------------- sending */

/**
 * struct pavo_fragment - the next packet of an operation.
 * @told:   its header
 * @sends:  of the operation when the packet was made
 * @from:   PVO of its data
 * @length: bytes of its data
 */
struct pavo_fragment {
	struct pavo_rdma_control told;
	u64 sends;
	u64 from;
	u32 length;
};

/**
 * pavo_operation_next - describe the packet that is sent next.
 * @op:       the operation
 * @room:     bytes of data that fit a packet
 * @fragment: set
 *
 * Return: false: there is nothing to send.
 */
bool pavo_operation_next(const struct pavo_operation *op, u32 room,
			 struct pavo_fragment *fragment);

/**
 * pavo_operation_sent - go on behind a packet that was sent, or lost on its way.
 * @op:       the operation, as it is by now
 * @fragment: the packet
 * @tr:     set
 *
 * Return: is there more to send?
 */
bool pavo_operation_sent(struct pavo_operation *op,
			 const struct pavo_fragment *fragment,
			 struct pavo_transition *tr);

/**
 * pavo_operation_no_memory - give up sending: the data is not memory of the job. If this
 * process asked for the operation, its window is dead; else the peer is told.
 * @op:       the operation, as it is by now
 * @fragment: the packet that could not be made
 * @result:   why
 * @tr:     set
 */
void pavo_operation_no_memory(struct pavo_operation *op,
			      const struct pavo_fragment *fragment,
			      enum pavo_pvo_result result,
			      struct pavo_transition *tr);

/** pavo_operation_give_up - give up sending if @op still sends what @fragment is of. */
void pavo_operation_give_up(struct pavo_operation *op,
			    const struct pavo_fragment *fragment,
			    enum pavo_frame_state state,
			    struct pavo_transition *tr);

/* ------------------------------------------------------------------- ends */

/** pavo_operation_reset - forget the operation: the rCxt comes to a window, or leaves it. */
void pavo_operation_reset(struct pavo_operation *op);

/**
 * pavo_operation_end - end the operation: nothing more of it is sent or placed. The next one
 * has a higher tid.
 * @op:    the operation
 * @state: what its frame is marked with, if it is still to be marked
 * @tr:  set
 */
void pavo_operation_end(struct pavo_operation *op, enum pavo_frame_state state,
			struct pavo_transition *tr);

/* Of operation.c, for arrival.c. */

/** pavo_operation_begin - set up a new operation. The caller then sets what this end does. */
void pavo_operation_begin(struct pavo_operation *op,
			  const struct pavo_rdma_peer *peer,
			  const struct pavo_wreth *wreth);
/** pavo_operation_expect - take the data of the operation. */
void pavo_operation_expect(struct pavo_operation *op);
/** pavo_operation_begin_sending - the rCxt has its turns from now on. */
void pavo_operation_begin_sending(struct pavo_operation *op);
/** pavo_operation_end_sending - as pavo_operation_end(), but of sending only. */
void pavo_operation_end_sending(struct pavo_operation *op,
				enum pavo_frame_state state,
				struct pavo_transition *tr);

#endif /* PAVO_WINDOW_OPERATION_H */
