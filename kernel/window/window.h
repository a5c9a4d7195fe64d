/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * window.h - interface of window/: windows, the transport of FIFOs (sources.md#windows).
 *
 * A window belongs to a process and a job and uses one adapter. The verbs engine does not
 * depend on windows. Both use the network (net/), the packet formats (wire/) and the checks of
 * memory (memory/, jobs/).
 */
#ifndef PAVO_WINDOW_H
#define PAVO_WINDOW_H

#include <linux/types.h>
#include <linux/device.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/pavo-abi.h>
#include "part.h"

struct ib_ucontext;
struct pavo_dev;
struct pavo_job;
struct pavo_fifo_window;

/** Windows as a part of the module (part.h), methods of windows and handlers, an attribute. */
extern const struct pavo_part pavo_window_part;
extern const struct uapi_definition pavo_window_defs[];
extern const struct uapi_definition pavo_handler_defs[];
extern struct device_attribute dev_attr_recover;

/**
 * pavo_window_open - open a window of @job on @dev.
 * @dev:  the adapter
 * @uctx: of the process, for the mappings
 * @job:  the job
 * @args: from user space, not checked yet; errors as listed there
 * @resp: response to user space
 *
 * Return: the window, or an error pointer. Context: process.
 */
struct pavo_fifo_window *pavo_window_open(struct pavo_dev *dev,
					  struct ib_ucontext *uctx,
					  struct pavo_job *job,
					  const struct pavo_window_args *args,
					  struct pavo_window_resp *resp);

/**
 * pavo_window_disable - disable a window: callers and packets that begin after this send and
 * receive nothing by it.
 * @window: the window
 *
 * Returns its rCxts to the pool: when this returns, no RDMA by them touches memory. Does not
 * wait for CPUs that use its FIFOs: pavo_window_snapshot() counts them
 * (sources.md#windows-snapshot). Context: process.
 */
void pavo_window_disable(struct pavo_fifo_window *window);

/**
 * pavo_window_snapshot - count the CPUs that may still use a disabled window.
 * @window: the window
 *
 * Return: their number; once 0 it stays 0. -EINVAL: the window is not disabled. Context: process.
 */
int pavo_window_snapshot(struct pavo_fifo_window *window);

/**
 * pavo_window_close - disable a window, and free it when no CPU uses it any more.
 * @window: the window
 *
 * Does not wait. Context: process.
 */
void pavo_window_close(struct pavo_fifo_window *window);

/**
 * pavo_window_node - set or add routes to a node.
 * @window: the window
 * @args:   from user space, not checked yet
 *
 * Return: 0, or an error listed at struct pavo_window_node_args. Context: process.
 */
int pavo_window_node(struct pavo_fifo_window *window,
		     const struct pavo_window_node_args *args);

/**
 * pavo_window_cancel - end the operation of an rCxt: when this returns, no more of it is sent
 * or placed. A higher tid begins a new operation, also one of the peer that is on its way.
 * @window: the window
 * @rcxt:   id of the rCxt
 *
 * Return: 0; -EINVAL: the window does not have it. Context: process.
 */
int pavo_window_cancel(struct pavo_fifo_window *window, u32 rcxt);

/** pavo_window_kick - carry out new commands, and send. Context: process. */
void pavo_window_kick(struct pavo_fifo_window *window);

/**
 * pavo_window_lmt - read the local mapping table of a window, as it is at this moment, for its
 * process: the next violation by a peer raises an event.
 * @window: the window
 * @lmt:    set; with the window key, which the caller shows to privileged readers only
 */
void pavo_window_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt);

#endif /* PAVO_WINDOW_H */
