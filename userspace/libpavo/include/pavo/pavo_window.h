/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_window.h - windows for C programs that use the frames themselves: messages, their outcome,
 * and RDMA as the adapter does it, at most once. Not for a window that a struct pavo_rdma or
 * struct pavo_striped uses. pavo_c_window(3) has more.
 *
 * Calls that return int return 0 on success or a negative errno. Lengths are in bytes.
 */
#ifndef PAVO_PAVO_WINDOW_H
#define PAVO_PAVO_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/pavo-abi.h>

#include <pavo/pavo.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- messages */

/**
 * pavo_window_send - send a message, which may be lost.
 * @node, @to: machine and number of the receiver's window
 * @kind:      enum pavo_message_kind: 0, or 64 to 255
 * @payload:   copied during the call
 * @bytes:     0 to pavo_window_max_payload()
 *
 * Return: 0; -ENOBUFS: all frames wait to be sent; -EMSGSIZE; -EIO: the adapter is gone.
 */
int pavo_window_send(struct pavo_window *window, uint16_t node, uint32_t to,
		     uint8_t kind, const void *payload, size_t bytes);
/**
 * pavo_window_prepare - write a message to the send FIFO, to be sent by pavo_window_start().
 * @node, @to, @kind, @payload, @bytes: as pavo_window_send()'s
 *
 * Return: as pavo_window_send().
 */
int pavo_window_prepare(struct pavo_window *window, uint16_t node, uint32_t to,
			uint8_t kind, const void *payload, size_t bytes);
/** pavo_window_start - send the frames that are prepared. Return: 0; -EIO. */
int pavo_window_start(struct pavo_window *window);

/**
 * struct pavo_message - a frame that has arrived
 * @node:    machine of its sender
 * @type:    enum pavo_frame_type; that of RDMA begins its payload with struct pavo_rdma_done,
 *           struct pavo_rdma_piece or struct pavo_rdma_request
 * @kind:    enum pavo_message_kind; 0 in frames of RDMA
 * @window:  number of the sender's window
 * @payload: of @bytes, valid during the call only
 * @bytes:   length of the payload
 */
struct pavo_message {
	uint16_t node;
	uint8_t type;
	uint8_t kind;
	uint32_t window;
	const void *payload;
	size_t bytes;
};

/** pavo_take_call - called for a frame that has arrived. */
typedef void pavo_take_call(void *context, const struct pavo_message *message);

/**
 * pavo_window_receive - take frames that have arrived; does not wait.
 * @most: how many at most
 * @take: called for each, in order
 * @context: of @take
 *
 * Return: how many there were.
 */
size_t pavo_window_receive(struct pavo_window *window, size_t most,
			   pavo_take_call *take, void *context);
/** pavo_window_received - return the number of frames taken since it was opened, modulo 2^32. */
uint32_t pavo_window_received(const struct pavo_window *window);

/**
 * pavo_window_sent - query the outcome of sent frames, in order; each is reported once.
 * @states: set to enum pavo_frame_state, up to @n
 *
 * Return: how many are known, and set.
 */
size_t pavo_window_sent(struct pavo_window *window, uint32_t *states, size_t n);
/** pavo_window_forget_sent - leave the frames that were sent so far out of pavo_window_sent(). */
void pavo_window_forget_sent(struct pavo_window *window);
/**
 * pavo_window_sent_event_after - signal pavo_window_options.send_event once.
 * @n: when @n more frames have been sent; 0: cancel
 *
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_window_sent_event_after(struct pavo_window *window, uint32_t n);

/**
 * pavo_window_lmt - read the window's local mapping table.
 * @lmt: set; all 0 on error
 *
 * Return: 0; -EIO: the adapter is gone.
 */
int pavo_window_lmt(const struct pavo_window *window, struct pavo_lmt *lmt);
/** pavo_window_recoveries - return the adapter's number of recoveries, without a system call. */
uint32_t pavo_window_recoveries(const struct pavo_window *window);

/* --------------------------------------------------------------------- RDMA */

/**
 * pavo_window_take_rcxts - take RDMA contexts from the adapter's pool.
 * @rcxts: set to @n numbers; none is taken on error
 *
 * Return: 0; -ENOSPC: the adapter has not so many left; -EDQUOT: this user may not have so many;
 * -ENOMEM; -ESHUTDOWN: the window is disabled; -EIO: the adapter is gone.
 */
int pavo_window_take_rcxts(struct pavo_window *window, uint32_t *rcxts,
			   size_t n);
/**
 * pavo_window_return_rcxts - give contexts back. None is given back on error.
 * @rcxts: @n numbers of pavo_window_take_rcxts()
 *
 * Operations by them that wait for their end are cancelled, with the requests that are held for
 * these, or name a context.
 * Return: 0; -EBUSY: one has data to send: cancel it first; -EINVAL: one is not the window's;
 * -EIO.
 */
int pavo_window_return_rcxts(struct pavo_window *window, const uint32_t *rcxts,
			     size_t n);
/**
 * pavo_window_cancel - abort operations by contexts: no more of them is sent or placed.
 * @rcxts: @n numbers of pavo_window_take_rcxts()
 *
 * Operations of peers that have not begun here may still begin, and may be tried again: final are
 * only pavo_window_return_rcxts() and pavo_mapping_close().
 * Return: 0; -EINVAL: one is not the window's; -EIO.
 */
int pavo_window_cancel(struct pavo_window *window, const uint32_t *rcxts,
		       size_t n);

/**
 * pavo_window_prepare_rdma - write a request for RDMA, to be sent by pavo_window_start().
 * @write:     not 0: from here to there; 0: from there to here
 * @node, @to: machine and number of the peer's window
 * @request:   the operation
 *
 * pavo_window_sent() reports the outcome of its frame. Return: 0; -ENOBUFS: all frames wait to be
 * sent.
 */
int pavo_window_prepare_rdma(struct pavo_window *window, int write,
			     uint16_t node, uint32_t to,
			     const struct pavo_rdma_request *request);
/**
 * pavo_window_prepare_third - write a third-party request, to be sent by pavo_window_start().
 * @node, @to: the source of the data
 * @third:     the operation, and the target
 *
 * Return: as pavo_window_prepare_rdma().
 */
int pavo_window_prepare_third(struct pavo_window *window, uint16_t node,
			      uint32_t to, const struct pavo_rdma_third *third);
/**
 * pavo_window_prepare_piece - write data of an operation, to be sent by pavo_window_start().
 * @node, @to: machine and number of the peer's window
 * @piece:     its place in the operation
 * @data:      @bytes, up to pavo_window_max_piece(), copied during the call
 *
 * Return: 0; -ENOBUFS: all frames wait to be sent; -EMSGSIZE.
 */
int pavo_window_prepare_piece(struct pavo_window *window, uint16_t node,
			      uint32_t to, const struct pavo_rdma_piece *piece,
			      const void *data, size_t bytes);
/** pavo_window_max_piece - return the most bytes of a piece. */
size_t pavo_window_max_piece(const struct pavo_window *window);

/* ------------------------------------------------------------- conditional */

/**
 * struct pavo_held_request - a request that is held until a counter reaches its target
 * @write:   as of pavo_window_prepare_rdma()
 * @node:    likewise
 * @to:      likewise
 * @request: the operation
 */
struct pavo_held_request {
	int write;
	uint16_t node;
	uint32_t to;
	struct pavo_rdma_request request;
};

/**
 * pavo_window_prepare_held - write requests that the adapter holds until @counter is at least
 * @target, to be sent by pavo_window_start().
 * @counter:  0 to 63
 * @target:   at least 1
 * @requests: @n of them, at least 1
 *
 * pavo_window_sent() reports first the frame that holds them, then each of them, as PAVO_FRAME_HELD
 * while it waits. Return: 0; -ENOBUFS: not all find a frame: none is written; -EINVAL: @n or
 * @target is 0, or there is no such counter.
 */
int pavo_window_prepare_held(struct pavo_window *window, uint32_t counter,
			     uint64_t target,
			     const struct pavo_held_request *requests,
			     size_t n);
/** pavo_window_frames - return the number of frames written, modulo 2^32: that of the next one. */
uint32_t pavo_window_frames(const struct pavo_window *window);
/**
 * pavo_window_released - query the outcome of frames that pavo_window_sent() reported as held.
 * @frames: set to their numbers, up to @n
 * @states: set to enum pavo_frame_state
 *
 * Return: how many are known, and set; each is reported once.
 */
size_t pavo_window_released(struct pavo_window *window, uint32_t *frames,
			    uint32_t *states, size_t n);
/**
 * pavo_window_prepare_counter - write a frame that changes or queries a counter, to be sent by
 * pavo_window_start().
 * @type: PAVO_FRAME_COUNTER_SET, PAVO_FRAME_COUNTER_CLEAR or PAVO_FRAME_COUNTER_QUERY. An answer is a
 *        frame PAVO_FRAME_COUNTER_VALUE with struct pavo_counter_value
 * @request: the counter, and its value for PAVO_FRAME_COUNTER_SET
 *
 * Return: 0; -ENOBUFS: all frames wait to be sent; -EINVAL: @type.
 */
int pavo_window_prepare_counter(struct pavo_window *window, uint8_t type,
				const struct pavo_counter_request *request);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* PAVO_PAVO_WINDOW_H */
