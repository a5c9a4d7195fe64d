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
 * @budget: most packets to send
 *
 * Return: 0; -ENOBUFS: the interface takes no more packets now.
 */
int pavo_rdma_send(struct pavo_fifo_window *window, u32 budget);

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

/** pavo_rdma_send_control - send a packet without payload. Return: as pavo_tx_send(). */
int pavo_rdma_send_control(struct pavo_fifo_window *window,
			   enum pavo_window_op op,
			   const struct pavo_rdma_control *control);

/** pavo_rdma_send_bytes - send a packet with a copy of @data. Return: likewise. */
int pavo_rdma_send_bytes(struct pavo_fifo_window *window,
			 const struct pavo_rdma_control *control,
			 const void *data, u32 length);

#endif /* PAVO_WINDOW_RDMA_H */
