/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma.h - RDMA between windows: request.c takes frames, rdma.c sends, receive.c takes packets.
 * Each calls the state machine of an rCxt's operation (operation.h), and actions.c carries out
 * the transition. All functions are called on the RCU read side with BH disabled.
 */
#ifndef PAVO_WINDOW_RDMA_H
#define PAVO_WINDOW_RDMA_H

#include "window/window_private.h"

/**
 * pavo_rdma_request - begin the operation that a frame requests.
 * @window: the window
 * @line:   copy of the frame's first line
 * @number: index of the frame
 *
 * Return: enum pavo_frame_state; PAVO_FRAME_EMPTY: actions.c marks the frame when the operation
 * has been sent.
 */
u32 pavo_rdma_request(struct pavo_fifo_window *window,
		      const struct pavo_frame_line *line, u32 number);

/** pavo_rdma_third - request what a frame RDMA_THIRD requests. As pavo_rdma_request(). */
u32 pavo_rdma_third(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number);

/** pavo_rdma_piece - send the data of a frame RDMA_PIECE. As pavo_rdma_request(). */
u32 pavo_rdma_piece(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number);

/**
 * pavo_rdma_send - send packets of the next rCxt, in round-robin order.
 * @window: the window
 * @budget: most packets to send; those that are left of it when this returns
 *
 * Return: 0; -ENOBUFS: the interface takes no more packets now.
 */
int pavo_rdma_send(struct pavo_fifo_window *window, u32 *budget);

/**
 * pavo_rdma_carry_out - carry out a transition of an rCxt's operation, and all that follow from
 * it.
 * @window: the window that has the rCxt
 * @rcxt:   the rCxt, locked
 * @tr:     the transition
 * @rx:     the packet of @tr->pkt; NULL: none
 *
 * In actions.c. The caller unlocks the rCxt, then sends @tr->control and obeys @tr->wake.
 */
void pavo_rdma_carry_out(struct pavo_fifo_window *window,
			 struct pavo_rcxt *rcxt, struct pavo_transition *tr,
			 const struct pavo_rx *rx);

/** pavo_rdma_end - end the operation of @rcxt, locked, and mark its frame. In actions.c. */
void pavo_rdma_end(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   enum pavo_frame_state state);

/**
 * pavo_frame_mark - mark a frame of the send FIFO. In actions.c.
 * @window: the window
 * @number: index of the frame
 * @state:  enum pavo_frame_state
 */
void pavo_frame_mark(struct pavo_fifo_window *window, u32 number, u32 state);

/* held.c: counters and held requests. */

/** pavo_held_begin - a frame CONDITIONAL; as pavo_rdma_request(). */
u32 pavo_held_begin(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number);
/** pavo_held_take - a frame that follows it; likewise. */
u32 pavo_held_take(struct pavo_fifo_window *window,
		   const struct pavo_frame_line *line, u32 number);
/** pavo_counter_set - a frame COUNTER_SET; as pavo_rdma_request(), and so the next two. */
u32 pavo_counter_set(struct pavo_fifo_window *window,
		     const struct pavo_frame_line *line, u32 number);
/** pavo_counter_clear - a frame COUNTER_CLEAR. */
u32 pavo_counter_clear(struct pavo_fifo_window *window,
		       const struct pavo_frame_line *line, u32 number);
/** pavo_counter_query - a frame COUNTER_QUERY. */
u32 pavo_counter_query(struct pavo_fifo_window *window,
		       const struct pavo_frame_line *line, u32 number);

/** pavo_held_count - a component of @counter ended with status 0, or failed. */
void pavo_held_count(struct pavo_fifo_window *window, u32 counter, bool ok);
/**
 * pavo_held_refused - the frame of a component is marked so: if it failed, its counter fails.
 * @window:  the window
 * @counter: 1 + number of the counter, not checked yet; 0: none
 * @state:   enum pavo_frame_state
 */
void pavo_held_refused(struct pavo_fifo_window *window, u8 counter, u32 state);
/**
 * pavo_held_send - carry out held requests whose counter came to its target, mark those that are
 * not, and notify the process of these.
 * @window: the window
 * @budget: most requests
 *
 * Return: their number.
 */
u32 pavo_held_send(struct pavo_fifo_window *window, u32 budget);

/** pavo_rdma_send_control - send a packet without payload. Return: as pavo_tx_send(). */
int pavo_rdma_send_control(struct pavo_fifo_window *window,
			   enum pavo_window_op op,
			   const struct pavo_rdma_control *control);

/** pavo_rdma_send_bytes - send a packet with a copy of @data. Return: likewise. */
int pavo_rdma_send_bytes(struct pavo_fifo_window *window,
			 const struct pavo_rdma_control *control,
			 const void *data, u32 length);

#endif /* PAVO_WINDOW_RDMA_H */
