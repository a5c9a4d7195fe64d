/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rdma.h - RDMA between windows: request.c begins, rdma.c sends, place.c receives. All
 * with the RCU read side and BH disabled.
 */
#ifndef PAVO_WINDOW_RDMA_H
#define PAVO_WINDOW_RDMA_H

#include "window/window_private.h"

/**
 * pavo_rdma_request - begin what frame @number asks for.
 * Return: enum pavo_frame_state; PAVO_FRAME_EMPTY: it will be marked later.
 */
u32 pavo_rdma_request(struct pavo_fifo_window *window,
		      const struct pavo_frame_line *line, u32 number);

/**
 * pavo_rdma_piece - send the data of a frame RDMA_PIECE. @line: copied from @frame.
 * Return: enum pavo_frame_state.
 */
u32 pavo_rdma_piece(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, const void *frame);

/**
 * pavo_rdma_begin - @rcxt, locked, is at a new operation: that of @wreth with @peer.
 * What this end does is for the caller to say.
 */
void pavo_rdma_begin(struct pavo_rcxt *rcxt, const struct pavo_rdma_peer *peer,
		     const struct pavo_wreth *wreth);

/** pavo_rdma_expect - @rcxt, locked, is to take all data of its operation. */
void pavo_rdma_expect(struct pavo_rcxt *rcxt);

/**
 * pavo_rdma_send - up to @budget packets of what is next.
 * Return: false: the interface has no room now.
 */
bool pavo_rdma_send(struct pavo_fifo_window *window, u32 budget);

/** pavo_rdma_mapped - are @length bytes at @pvo memory of @window's job? */
bool pavo_rdma_mapped(const struct pavo_fifo_window *window, u64 pvo,
		      u32 length);

/**
 * pavo_rdma_kill - a request of @window, on its context @rcxt, named memory that is not
 * its job's: a fault of the process. That context may be locked.
 */
void pavo_rdma_kill(struct pavo_fifo_window *window, u32 rcxt);

/** pavo_rdma_queue - @rcxt, locked, has something to send. False: window closed. */
bool pavo_rdma_queue(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt);

/** pavo_rdma_end - nothing more of @rcxt, locked, is sent; its frame is marked. */
void pavo_rdma_end(struct pavo_fifo_window *window, struct pavo_rcxt *rcxt,
		   enum pavo_frame_state state);

/**
 * struct pavo_rdma_told - what the other end is to be told, without a lock.
 */
struct pavo_rdma_told {
	u32 node;
	u32 window;
	struct pavo_wreth wreth;
};

/** pavo_rdma_tell - a packet without payload. Return: as pavo_tx_send(). */
int pavo_rdma_tell(struct pavo_fifo_window *window, enum pavo_window_op op,
		   const struct pavo_rdma_told *told);

/** pavo_rdma_send_bytes - a packet of data. Return: likewise. */
int pavo_rdma_send_bytes(struct pavo_fifo_window *window,
			 const struct pavo_rdma_told *told, const void *data,
			 u32 length);

/**
 * pavo_rdma_put_done - tell this process that the operation of @rcxt, locked, is over.
 * @target: it took the data. Return: as pavo_window_put(). place.c
 */
bool pavo_rdma_put_done(struct pavo_fifo_window *window,
			const struct pavo_rcxt *rcxt, bool target,
			enum pavo_pvo_result status);

/** pavo_rdma_receive - a packet of RDMA; true: it was used. place.c */
bool pavo_rdma_receive(struct pavo_fifo_window *window, struct pavo_rx *rx);

#endif /* PAVO_WINDOW_RDMA_H */
