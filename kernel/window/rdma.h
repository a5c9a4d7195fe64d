/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma.h - RDMA between windows: request.c begins, rdma.c sends, place.c receives. All
 * functions are called on the RCU read side with BH disabled.
 */
#ifndef PAVO_WINDOW_RDMA_H
#define PAVO_WINDOW_RDMA_H

#include "window/window_private.h"

/**
 * pavo_rdma_request - begin the operation that a frame asks for.
 * @window: the window
 * @line:   copy of the frame's first line
 * @number: number of the frame
 *
 * Return: enum pavo_frame_state; PAVO_FRAME_EMPTY: the frame will be marked later.
 */
u32 pavo_rdma_request(struct pavo_fifo_window *window,
		      const struct pavo_frame_line *line, u32 number);

/**
 * pavo_rdma_piece - send the data of a frame RDMA_PIECE.
 * @window: the window
 * @line:   copy of the frame's first line
 * @frame:  the frame
 *
 * Return: enum pavo_frame_state.
 */
u32 pavo_rdma_piece(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, const void *frame);

/**
 * pavo_rdma_begin - set up a new operation. The caller then sets what this end does.
 * @rcxt:  its rCxt, locked
 * @peer:  the other end
 * @wreth: the operation, as in its packets
 */
void pavo_rdma_begin(struct pavo_rcxt *rcxt, const struct pavo_rdma_peer *peer,
		     const struct pavo_wreth *wreth);

/** pavo_rdma_expect - let @rcxt, locked, take the data of its operation. */
void pavo_rdma_expect(struct pavo_rcxt *rcxt);

/**
 * pavo_rdma_send - send up to @budget packets of the rCxt whose turn it is.
 * @window: the window
 * @budget: bound for packets
 *
 * Return: false: the interface has no room now.
 */
bool pavo_rdma_send(struct pavo_fifo_window *window, u32 budget);

/** pavo_rdma_mapped - are @length bytes at @pvo memory of @window's job? */
bool pavo_rdma_mapped(const struct pavo_fifo_window *window, u64 pvo,
		      u32 length);

/**
 * pavo_rdma_kill - make @window dead: a request of its process named memory that is not its
 * job's.
 * @window: the window
 * @rcxt:   number of the request's rCxt, which may be locked
 */
void pavo_rdma_kill(struct pavo_fifo_window *window, u32 rcxt);

/** pavo_rdma_queue - @rcxt, locked, has something to send. False: the window has ended. */
bool pavo_rdma_queue(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt);

/** pavo_rdma_end - end the sending of @rcxt, locked, and mark its frame. */
void pavo_rdma_end(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   enum pavo_frame_state state);

/**
 * struct pavo_rdma_told - a message for the other end, sent after the rCxt was unlocked.
 * @node:   its node
 * @window: its window
 * @wreth:  the message
 */
struct pavo_rdma_told {
	u32 node;
	u32 window;
	struct pavo_wreth wreth;
};

/** pavo_rdma_tell - send a packet without payload. Return: as pavo_tx_send(). */
int pavo_rdma_tell(struct pavo_fifo_window *window, enum pavo_window_op op,
		   const struct pavo_rdma_told *told);

/** pavo_rdma_send_bytes - send a packet with a copy of @data. Return: likewise. */
int pavo_rdma_send_bytes(struct pavo_fifo_window *window,
			 const struct pavo_rdma_told *told, const void *data,
			 u32 length);

/**
 * pavo_rdma_put_done - tell this end's process that an operation is over. In place.c.
 * @window: the window
 * @rcxt:   rCxt of the operation, locked
 * @target: this end took the data
 * @status: how it ended
 *
 * Return: as pavo_window_put().
 */
bool pavo_rdma_put_done(struct pavo_fifo_window *window,
			const struct pavo_rcxt *rcxt, bool target,
			enum pavo_pvo_result status);

/** pavo_rdma_receive - receive a packet of RDMA. True: it was used. In place.c. */
bool pavo_rdma_receive(struct pavo_fifo_window *window, struct pavo_rx *rx);

#endif /* PAVO_WINDOW_RDMA_H */
