/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * operation.h - one end of an operation between windows, as a state machine: an event comes in,
 * and a transition says what follows. Pure: the owner of the rCxt carries the transition out
 * (actions.c), and so do the unit tests on memory of their own.
 *
 * An event is a frame of this end's process (operation.c), a packet (arrival.c), the sending of
 * the next packet, or an end (operation.c). Calls on one operation exclude each other.
 */
#ifndef PAVO_WINDOW_OPERATION_H
#define PAVO_WINDOW_OPERATION_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>
#include "seen.h"
#include "stats.h"
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

/* True for the same window. Its rCxt may be another one after a recovery there. */
static inline bool pavo_rdma_is_same_window(const struct pavo_rdma_peer *a,
					    const struct pavo_rdma_peer *b)
{
	return a->window == b->window && a->node == b->node;
}

static inline bool pavo_rdma_is_same_peer(const struct pavo_rdma_peer *a,
					  const struct pavo_rdma_peer *b)
{
	return pavo_rdma_is_same_window(a, b) && a->rcxt == b->rcxt;
}

/* Which of the three ends of a third-party operation (third.c) this one is. */
enum pavo_third_role {
	PAVO_THIRD_NONE, /* the operation has two ends */
	PAVO_THIRD_CONTROLLER, /* its process requested it */
	PAVO_THIRD_SOURCE,
	PAVO_THIRD_TARGET,
};

/**
 * struct pavo_operation - one operation at this end.
 * @id:       id of the rCxt in its window
 * @now:      tids of the operation, and its progress
 * @seen:     fragments that have arrived; memory of the owner
 * @notify:   put a frame RDMA_DONE for this process when the peer says that the operation has
 *            ended
 * @own:      a frame RDMA_WRITE of this process began the operation, and is to be marked
 * @sends:    counts the operations that it began to send, for all windows that had the rCxt, so
 *            that each value is used once
 * @requested: this process requested the data that it takes
 * @reading:  it takes data for memory that this process named, at @to
 * @flags:    of the operation, see struct pavo_rdma_request
 * @attempts: likewise
 * @tag:      likewise
 * @peer:     the other end: to which the data goes, which is notified of its end, or from
 *            which the controller requests it
 * @role:     of this end, if the operation has three
 * @third:    their third: the controller's target, else the end that @peer is not
 * @cookie:   of this process
 * @total:    bytes of the operation
 * @from:     PVO of the data that it sends
 * @to:       where the data goes: a PVO of the peer, or of this end if @reading; a byte offset
 *            for TO_FIFO
 * @left:     bytes that have not been sent, or have not arrived
 * @fragment: index of the next packet to be sent
 * @frame:    index of the frame, if @own
 * @group:    of a binding: number of its group, and @id is the group rCxt; else 0
 * @base:     of a binding: PVO of its first byte. Packets have offsets from it
 * @bound_length: of a binding: its bytes
 * @bound:    1 + number of the counter of operations that peers begin; 0: none
 * @counter:  1 + number of the counter that the operation's end adds to; 0: none, or it has
 * @counted:  tid of the first attempt at the latest operation that was counted
 */
struct pavo_operation {
	u32 id;
	struct pavo_attempt now;
	struct pavo_seen *seen;
	bool notify;
	bool own;
	u64 sends;
	bool requested;
	bool reading;
	u8 flags;
	u16 attempts;
	struct pavo_rdma_peer peer;
	enum pavo_third_role role;
	struct pavo_rdma_peer third;
	u32 tag;
	u32 cookie;
	u32 total;
	u64 from;
	u64 to;
	u32 left;
	u32 fragment;
	u32 frame;
	u32 group;
	u64 base;
	u64 bound_length;
	u8 bound;
	u8 counter;
	u64 counted;
};

/* ------------------------------------------------------------ transitions */

/* Effects of a transition, carried out in this order after its counts. */
enum pavo_effect {
	PAVO_EFFECT_UNQUEUE = 1 << 0, /* the rCxt has nothing to send now */
	PAVO_EFFECT_MARK = 1 << 1, /* mark the frame that began the operation */
	PAVO_EFFECT_KILL = 1 << 2, /* the window is dead */
	PAVO_EFFECT_COUNT = 1 << 3, /* a component of @counter ended well */
	PAVO_EFFECT_FAIL = 1 << 4, /* a component of @counter failed */
	/* a peer named memory of this end that is not the job's */
	PAVO_EFFECT_VIOLATION = 1 << 5,
};

/* An action that may fail, carried out after the effects. Its outcome is 0 for success. */
enum pavo_action {
	PAVO_ACTION_NONE,
	PAVO_ACTION_PLACE, /* payload to memory; outcome: enum pavo_pvo_result */
	PAVO_ACTION_PUT_PIECE, /* a frame with the payload: pavo_operation_piece_frame() */
	PAVO_ACTION_PUT_READ, /* a frame RDMA_READ: pavo_operation_read_frame() */
	/* a frame: pavo_operation_done_frame(); of a binding, RDMA_BROADCAST: binding.h */
	PAVO_ACTION_PUT_DONE,
	PAVO_ACTION_FIND_ROUTE, /* is there a route to @peer? */
	PAVO_ACTION_CHECK_MAPPED, /* are the bytes at @pvo memory of this end's job? */
	PAVO_ACTION_QUEUE, /* queue the rCxt to be sent; fails if the window has ended */
};

/*
 * The state of an operation within one event: the outcome for which it waits.
 * pavo_transition_continue() has the one switch on it.
 */
enum pavo_operation_wait {
	/* operation.c: frames of this process */
	PAVO_WAIT_READ_MAPPED, /* CHECK_MAPPED of the memory for a read */
	PAVO_WAIT_WRITE_QUEUED, /* QUEUE of a write */
	PAVO_WAIT_REPEAT_DONE, /* PUT_DONE of a read that was complete before */
	/* arrival.c: packets */
	PAVO_WAIT_PLACED, /* PLACE of a packet's data */
	PAVO_WAIT_PIECE_PUT, /* PUT_PIECE of a packet's data */
	PAVO_WAIT_STILL_MAPPED, /* CHECK_MAPPED, after data had no place */
	PAVO_WAIT_TARGET_DONE, /* PUT_DONE at the target of the data */
	PAVO_WAIT_READ_PUT, /* PUT_READ of a peer's read */
	PAVO_WAIT_ROUTE, /* FIND_ROUTE for a peer's read */
	PAVO_WAIT_READ_QUEUED, /* QUEUE of a peer's read */
	PAVO_WAIT_END_DONE, /* PUT_DONE of an end that the peer reported */
	PAVO_WAIT_RENOTIFIED, /* PUT_DONE of a group's operation that was complete before */
};

/**
 * struct pavo_rdma_control - a control message for the other end, sent after the rCxt was
 * unlocked; also the header of a packet with data.
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
 * struct pavo_frame_request - a copied frame of this end's process that requests an operation.
 * @type:    enum pavo_frame_type: RDMA_WRITE, RDMA_READ, RDMA_PIECE, RDMA_THIRD
 * @rcxt:    rCxt of this end
 * @control: what goes into packets; of a piece, its header
 * @local:   PVO of this end; not of a piece
 * @cookie:  of the process
 * @frame:   index of the frame; not of a piece
 * @counter: 1 + number of the counter that its end adds to; 0: none
 */
struct pavo_frame_request {
	u8 type;
	u32 rcxt;
	struct pavo_rdma_control control;
	u64 local;
	u32 cookie;
	u32 frame;
	u8 counter;
};

/* Counters that one transition may add to. */
#define PAVO_TRANSITION_COUNTS 2

/**
 * struct pavo_transition - what follows from an event.
 * @pkt:     the packet that arrived
 * @req:     the frame of this end's process
 * @counts:  counters to add 1 to, @ncounts of enum pavo_counter
 * @ncounts: their number
 * @effects: bits of enum pavo_effect
 * @mark:    enum pavo_frame_state for PAVO_EFFECT_MARK
 * @counter: number of the counter for PAVO_EFFECT_COUNT and PAVO_EFFECT_FAIL
 * @action:  the action to carry out
 * @wait:    the state in which the operation takes the outcome of @action
 * @pvo:     for PAVO_ACTION_CHECK_MAPPED
 * @length:  likewise, bytes
 * @peer:    for PAVO_ACTION_FIND_ROUTE
 * @status:  how an operation ended, enum pavo_pvo_result
 * @target:  for PAVO_ACTION_PUT_DONE: this end took the data
 * @used:    the packet was used; else it is dropped
 * @state:   of @req's frame, enum pavo_frame_state. EMPTY: the frame is marked when the
 *           operation has been sent, or the data of a piece is to be sent now
 * @control_opcode: send @control in a packet of this opcode; 0: send none
 * @wake:    this end has something to send now, and a worker may have to be woken
 * @control: see @control_opcode
 *
 * The caller sets @pkt or @req, and all else to 0. It carries out @counts, @effects and @action,
 * and calls pavo_transition_continue() until @action is PAVO_ACTION_NONE. Then it unlocks the
 * rCxt, sends @control and obeys @wake.
 */
struct pavo_transition {
	const struct pavo_pkt *pkt;
	const struct pavo_frame_request *req;
	u16 counts[PAVO_TRANSITION_COUNTS];
	u8 ncounts;
	u8 effects;
	u8 mark;
	u8 counter;
	enum pavo_action action;
	enum pavo_operation_wait wait;
	u64 pvo;
	u32 length;
	struct pavo_rdma_peer peer;
	u8 status;
	bool target;
	bool used;
	u8 state;
	u8 control_opcode;
	bool wake;
	struct pavo_rdma_control control;
};

/**
 * pavo_transition_continue - go on with the outcome of an action. An operation comes to each
 * state of enum pavo_operation_wait at most once in an event, so a caller's loop ends.
 * @op:      the operation
 * @tr:      of which all was carried out; set to what follows from the outcome
 * @outcome: of its action; 0: success
 */
void pavo_transition_continue(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 outcome);

/* For operation.c and arrival.c. */

/** pavo_transition_act - carry out @action, and take its outcome in state @wait. */
static inline void pavo_transition_act(struct pavo_transition *tr,
				       enum pavo_action action,
				       enum pavo_operation_wait wait)
{
	tr->action = action;
	tr->wait = wait;
}

/** pavo_transition_count - let @tr add 1 to @counter. */
static inline void pavo_transition_count(struct pavo_transition *tr,
					 enum pavo_counter counter)
{
	if (tr->ncounts < PAVO_TRANSITION_COUNTS)
		tr->counts[tr->ncounts++] = counter;
}

/*
 * The states of arrival.c, in the order of enum pavo_operation_wait, for
 * pavo_transition_continue(). The last argument is the outcome of the action: not 0 if it failed.
 */

/** pavo_arrival_placed - PAVO_WAIT_PLACED. @result: enum pavo_pvo_result. */
void pavo_arrival_placed(struct pavo_operation *op, struct pavo_transition *tr,
			 u32 result);
/** pavo_arrival_piece_put - PAVO_WAIT_PIECE_PUT. @full: the FIFO has no free frame. */
void pavo_arrival_piece_put(struct pavo_operation *op,
			    struct pavo_transition *tr, u32 full);
/** pavo_arrival_still_mapped - PAVO_WAIT_STILL_MAPPED. @foreign: it is not the job's any more. */
void pavo_arrival_still_mapped(struct pavo_operation *op,
			       struct pavo_transition *tr, u32 foreign);
/** pavo_arrival_target_done - PAVO_WAIT_TARGET_DONE. @full: the FIFO has no free frame. */
void pavo_arrival_target_done(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 full);
/** pavo_arrival_read_put - PAVO_WAIT_READ_PUT. @full: the FIFO has no free frame. */
void pavo_arrival_read_put(struct pavo_operation *op,
			   struct pavo_transition *tr, u32 full);
/** pavo_arrival_route_found - PAVO_WAIT_ROUTE. @none: there is no route to the peer. */
void pavo_arrival_route_found(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 none);
/** pavo_arrival_read_queued - PAVO_WAIT_READ_QUEUED. @ended: the window has ended. */
void pavo_arrival_read_queued(struct pavo_operation *op,
			      struct pavo_transition *tr, u32 ended);
/** pavo_arrival_end_done - PAVO_WAIT_END_DONE. @full: the FIFO has no free frame. */
void pavo_arrival_end_done(struct pavo_operation *op,
			   struct pavo_transition *tr, u32 full);

/* ----------------------------------------------- frames of this process */

/**
 * pavo_frame_parse_request - check and parse a frame RDMA_WRITE or RDMA_READ.
 * @req:     set
 * @hdr:     copy of the frame's header
 * @request: copy of its payload
 * @number:  index of the frame
 *
 * Return: enum pavo_frame_state; EMPTY: it is in order.
 */
u32 pavo_frame_parse_request(struct pavo_frame_request *req,
			     const struct pavo_frame_hdr *hdr,
			     const struct pavo_rdma_request *request,
			     u32 number);

/**
 * pavo_frame_parse_piece - check and parse a frame RDMA_PIECE.
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

/** pavo_operation_request - begin or resume the write or read of @tr->req. */
void pavo_operation_request(struct pavo_operation *op,
			    struct pavo_transition *tr);
/** pavo_operation_piece - check a piece, and begin its operation if it is the first. */
void pavo_operation_piece(struct pavo_operation *op,
			  struct pavo_transition *tr);
/**
 * pavo_operation_begin_request - set up the operation of @tr->req.
 * @op: the operation
 * @tr: transition; its state is set
 *
 * Return: 0; -EBUSY: the tid is refused, as @tr->state says.
 */
int pavo_operation_begin_request(struct pavo_operation *op,
				 struct pavo_transition *tr);

/* ---------------------------------------------------------------- packets */

/**
 * struct pavo_arrival - a kind of packet for windows: a row for each opcode. Its headers are
 * in its row of wire/packets.h.
 * @opcode:      enum pavo_window_op
 * @most:        most bytes of payload, whatever the operation
 * @flags:       of RDMA: enum pavo_rdma_flag that it may have
 * @last_status: of RDMA: the largest enum pavo_pvo_result that it may have
 * @take:        of RDMA: use @tr->pkt on its operation; NULL: it becomes a frame
 */
struct pavo_arrival {
	u8 opcode;
	u32 most;
	u8 flags;
	u8 last_status;
	void (*take)(struct pavo_operation *op, struct pavo_transition *tr);
};

/** pavo_arrival_of - the row of an opcode; NULL: it is no packet for windows. */
const struct pavo_arrival *pavo_arrival_of(u8 opcode);
/**
 * pavo_arrival_check - check a packet by the row of its opcode.
 * @arrival: the row
 * @pkt:     the packet
 *
 * Return: 0: it is in order; else the counter (enum pavo_counter) of the reason to drop it.
 */
u32 pavo_arrival_check(const struct pavo_arrival *arrival,
		       const struct pavo_pkt *pkt);

/* ---------------------------------------------------------------- frames */

/** pavo_operation_done_frame - the payload of the frame of PAVO_ACTION_PUT_DONE. */
struct pavo_rdma_done
pavo_operation_done_frame(const struct pavo_operation *op,
			  const struct pavo_transition *tr);
/** pavo_operation_piece_frame - the first bytes of the frame of PAVO_ACTION_PUT_PIECE. */
struct pavo_rdma_piece
pavo_operation_piece_frame(const struct pavo_operation *op,
			   const struct pavo_transition *tr);
/** pavo_operation_read_frame - the frame of PAVO_ACTION_PUT_READ: the data to be sent. */
struct pavo_rdma_request
pavo_operation_read_frame(const struct pavo_transition *tr);

/* ---------------------------------------------------------------- sending */

/**
 * struct pavo_fragment - the next packet of an operation.
 * @opcode:  its opcode
 * @control: its header
 * @sends:   of the operation when the packet was made
 * @from:    PVO of its data
 * @length:  bytes of its data
 */
struct pavo_fragment {
	enum pavo_window_op opcode;
	struct pavo_rdma_control control;
	u64 sends;
	u64 from;
	u32 length;
};

/**
 * pavo_operation_next - describe the packet that is sent next.
 * @op:       the operation
 * @most:     bytes of data that fit into a packet
 * @fragment: set
 *
 * Return: 0; -ENODATA: there is nothing to send.
 */
int pavo_operation_next(const struct pavo_operation *op, u32 most,
			struct pavo_fragment *fragment);

/**
 * pavo_operation_sent - note that a packet was sent, or lost on its way.
 * @op:       the operation, which may have changed since the packet was made
 * @fragment: the packet
 * @tr:       set
 *
 * Return: true: there is more to send.
 */
bool pavo_operation_sent(struct pavo_operation *op,
			 const struct pavo_fragment *fragment,
			 struct pavo_transition *tr);

/**
 * pavo_operation_no_memory - give up sending: the data is not memory of the job. If this
 * process requested the operation, its window is dead; else the peer is notified.
 * @op:       the operation, which may have changed since the packet was made
 * @fragment: the packet that could not be made
 * @result:   the reason
 * @tr:       set
 */
void pavo_operation_no_memory(struct pavo_operation *op,
			      const struct pavo_fragment *fragment,
			      enum pavo_pvo_result result,
			      struct pavo_transition *tr);

/** pavo_operation_give_up - give up sending if @op still sends the operation of @fragment. */
void pavo_operation_give_up(struct pavo_operation *op,
			    const struct pavo_fragment *fragment,
			    enum pavo_frame_state state,
			    struct pavo_transition *tr);

/* ------------------------------------------------------------------- ends */

/** pavo_operation_reset - forget the operation: the rCxt comes to a window, or leaves it. */
void pavo_operation_reset(struct pavo_operation *op);

/**
 * pavo_operation_end - end the operation: no more of it is sent or placed. The next one has a
 * higher tid.
 * @op:    the operation
 * @state: mark for its frame, if that is still to be marked
 * @tr:    set
 */
void pavo_operation_end(struct pavo_operation *op, enum pavo_frame_state state,
			struct pavo_transition *tr);

/* Of operation.c, for arrival.c. */

/**
 * pavo_operation_count - the operation has ended: count that once, however often it is attempted.
 * @op: the operation
 * @ok: it ended with status 0; else its counter fails
 * @tr: set
 */
void pavo_operation_count(struct pavo_operation *op, bool ok,
			  struct pavo_transition *tr);

/** pavo_operation_begin - set up a new operation. The caller then sets what this end does. */
void pavo_operation_begin(struct pavo_operation *op,
			  const struct pavo_rdma_peer *peer,
			  const struct pavo_wreth *wreth);
/** pavo_operation_expect - take the data of the operation. */
void pavo_operation_expect(struct pavo_operation *op);
/** pavo_operation_begin_sending - the rCxt is queued: its packets are sent from now on. */
void pavo_operation_begin_sending(struct pavo_operation *op);
/** pavo_operation_end_sending - as pavo_operation_end(), but of sending only. */
void pavo_operation_end_sending(struct pavo_operation *op,
				enum pavo_frame_state state,
				struct pavo_transition *tr);

#endif /* PAVO_WINDOW_OPERATION_H */
