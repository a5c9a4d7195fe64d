/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo_window.h - windows for C programs that use the frames themselves: messages,
 * their outcome, and RDMA as the adapter does it, at most once. window.hpp says what the
 * calls mean. Not for a window that a struct pavo_rdma or pavo_striped has.
 *
 * Calls return 0 or a negative errno, unless told otherwise.
 */
#ifndef PAVO_PAVO_WINDOW_H
#define PAVO_PAVO_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/pavo-abi.h>

#include <pavo/pavo.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- messages */

/**
 * A message; @kind: what it is to its receiver, enum pavo_message_kind. -ENOBUFS: all
 * frames are waiting to be sent; -EMSGSIZE.
 */
int pavo_window_send(struct pavo_window *window, uint16_t node, uint32_t to,
		     uint8_t kind, const void *payload, size_t bytes);
/** The same, but nothing happens before pavo_window_start(). */
int pavo_window_prepare(struct pavo_window *window, uint16_t node, uint32_t to,
			uint8_t kind, const void *payload, size_t bytes);
int pavo_window_start(struct pavo_window *window);

/**
 * struct pavo_message - what came.
 * @node, @window: from where
 * @type:    enum pavo_frame_type; of RDMA the payload begins with its structure:
 *           struct pavo_rdma_done, struct pavo_rdma_piece, struct pavo_rdma_request
 * @kind:    of a message, enum pavo_message_kind
 * @payload: @bytes of them, valid during the call only
 */
struct pavo_message {
	uint16_t node;
	uint8_t type;
	uint8_t kind;
	uint32_t window;
	const void *payload;
	size_t bytes;
};

typedef void pavo_take_call(void *context, const struct pavo_message *message);

/** Calls @take for what has come, at most @most times. Return: how often. */
size_t pavo_window_receive(struct pavo_window *window, size_t most,
			   pavo_take_call *take, void *context);
/** How many it has received, and thrown away. */
uint32_t pavo_window_received(const struct pavo_window *window);

/**
 * The outcome of frames that were sent and not asked for yet, in order, as far as it is
 * known: enum pavo_frame_state. Return: how many of @n @states were filled.
 */
size_t pavo_window_sent(struct pavo_window *window, uint32_t *states, size_t n);
/** The program will not ask for frames that were sent so far. */
void pavo_window_forget_sent(struct pavo_window *window);
/** An event, of options.send_event, when @n more frames were sent; 0: none. */
int pavo_window_sent_event_after(struct pavo_window *window, uint32_t n);

/** Its local mapping table. -EIO: the adapter is gone; all is 0 then. */
int pavo_window_lmt(const struct pavo_window *window, struct pavo_lmt *lmt);

/* --------------------------------------------------------------------- RDMA */

/**
 * @n contexts of this window from now on, or none. -ENOSPC: the adapter has not so many
 * left; -EDQUOT: nor may this user have so many; -ENOMEM; -ESHUTDOWN: the window was
 * disabled.
 */
int pavo_window_take_rcxts(struct pavo_window *window, uint32_t *rcxts,
			   size_t n);
/** Gives them back. -EBUSY: one has something to send. */
int pavo_window_return_rcxts(struct pavo_window *window, const uint32_t *rcxts,
			     size_t n);
/**
 * Ends what they are at: nothing more of it is sent or placed after that. But of what others
 * send here what has not come yet may still begin, and another attempt of theirs begins anew:
 * only to return the contexts, or to unmap the memory, is final.
 */
int pavo_window_cancel(struct pavo_window *window, const uint32_t *rcxts,
		       size_t n);

/**
 * A request for RDMA, @write not 0: from here to there; nothing happens before
 * pavo_window_start(). Its frame is one of those of pavo_window_sent(). -ENOBUFS.
 */
int pavo_window_prepare_rdma(struct pavo_window *window, int write,
			     uint16_t node, uint32_t to,
			     const struct pavo_rdma_request *request);
/**
 * Some of the data of an operation, likewise: @bytes of them at @data, up to
 * pavo_window_piece_room(). -ENOBUFS, -EMSGSIZE.
 */
int pavo_window_prepare_piece(struct pavo_window *window, uint16_t node,
			      uint32_t to, const struct pavo_rdma_piece *piece,
			      const void *data, size_t bytes);
size_t pavo_window_piece_room(const struct pavo_window *window);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_PAVO_WINDOW_H */
