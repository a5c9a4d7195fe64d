/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * kernel_window.h - windows of kernel code, without a process. It gets what arrives by a call in
 * place of a receive FIFO, and its send FIFO is memory of the kernel. RDMA is requested by frames
 * and ends with them, as for a process.
 */
#ifndef PAVO_KERNEL_WINDOW_H
#define PAVO_KERNEL_WINDOW_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

struct pavo_dev;
struct pavo_fifo_window;
struct pavo_job;
struct pavo_rx;

/**
 * struct pavo_put - a frame to be put into the receive FIFO.
 * @type:     as in its header
 * @kind:     likewise
 * @node:     likewise
 * @window:   likewise
 * @head:     first bytes of its payload
 * @head_len: number of these, no more than fit the first line
 * @rx:       the packet whose payload follows @head; NULL: none
 */
struct pavo_put {
	enum pavo_frame_type type;
	u8 kind;
	u16 node;
	u32 window;
	const void *head;
	u32 head_len;
	const struct pavo_rx *rx;
};

/**
 * struct pavo_window_calls - calls to the owner of a kernel window. BH is disabled, on the RCU read
 * side.
 * @receive: take a frame, which is valid during the call. Unless it is a message an rCxt is locked,
 *           so that the call may use no function of the window. Return: 0; -ENOSPC: no space, as
 *           if the FIFO were full
 * @sent:    the frame that pavo_kernel_window_threshold() named was sent; likewise
 * @ended:   the window is dead, or was disabled. Also called from process context
 */
struct pavo_window_calls {
	int (*receive)(void *owner, const struct pavo_put *put);
	void (*sent)(void *owner);
	void (*ended)(void *owner);
};

/**
 * struct pavo_kernel_window_args - a kernel window to be opened.
 * @calls:       calls to the owner
 * @owner:       for @calls; valid until a grace period after pavo_window_close()
 * @send_frames: of the send FIFO, as for a process
 * @nodes:       likewise
 * @node:        likewise
 * @sgid_index:  likewise
 * @window:      id that it must have; 0: any
 */
struct pavo_kernel_window_args {
	const struct pavo_window_calls *calls;
	void *owner;
	u32 send_frames;
	u32 nodes;
	u16 node;
	u16 sgid_index;
	u32 window;
};

/**
 * pavo_kernel_window_open - open a window of @job on @dev, for pavo_window_close().
 * @dev:  the adapter
 * @job:  the job, of which the owner is a member
 * @args: numbers may come from user space
 *
 * Return: the window; -EINVAL: a number is out of its range; -EBUSY: another window has the id;
 * and those of pavo_window_open(). Context: process.
 */
struct pavo_fifo_window *
pavo_kernel_window_open(struct pavo_dev *dev, struct pavo_job *job,
			const struct pavo_kernel_window_args *args);

u32 pavo_kernel_window_id(const struct pavo_fifo_window *window);
/** pavo_kernel_window_payload - most bytes of payload of a message. */
u32 pavo_kernel_window_payload(const struct pavo_fifo_window *window);
/** pavo_kernel_window_recoveries - of the adapter: each revoked all rCxts. */
u32 pavo_kernel_window_recoveries(const struct pavo_fifo_window *window);

/**
 * pavo_kernel_window_frame - frame @number of the send FIFO, counted from the window's begin.
 * @window: the window
 * @number: the owner reuses a frame when its state is not EMPTY any more
 */
struct pavo_frame_hdr *
pavo_kernel_window_frame(const struct pavo_fifo_window *window, u32 number);

/** pavo_kernel_window_start - @n more frames are ready to be sent. BH disabled. */
void pavo_kernel_window_start(struct pavo_fifo_window *window, u32 n);
/** pavo_kernel_window_transmit - send, here or by the work manager. BH disabled, no rCxt locked. */
void pavo_kernel_window_transmit(struct pavo_fifo_window *window);
/** pavo_kernel_window_threshold - call @sent with the @n-th frame from now; 0: never. */
void pavo_kernel_window_threshold(struct pavo_fifo_window *window, u32 n);

/** pavo_kernel_window_take - pavo_rcxts_take() of its owner. */
int pavo_kernel_window_take(struct pavo_fifo_window *window, u32 *rcxts, u32 n);
/** pavo_kernel_window_return - end the operation of an rCxt, and give it back. Sleeps. */
void pavo_kernel_window_return(struct pavo_fifo_window *window, u32 rcxt);

#endif /* PAVO_KERNEL_WINDOW_H */
