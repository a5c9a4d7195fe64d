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

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/pavo-abi.h>
#include "window/adapter_windows.h"

struct ib_ucontext;
struct pavo_dev;
struct pavo_job;
struct pavo_rx;
struct pavo_fifo_window;
struct pavo_window_tasks;
struct pavo_worker;
struct seq_file;

int pavo_windows_init(struct pavo_windows *windows);
/**
 * pavo_windows_stop - end the manager and wait until closed windows are freed. Called when no
 * window is open any more. Sleeps.
 * @windows: of the adapter
 */
void pavo_windows_stop(struct pavo_windows *windows);
/** pavo_windows_destroy - free everything; no window and no work of the adapter is left. */
void pavo_windows_destroy(struct pavo_windows *windows);

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
 * pavo_window_add_handler - register an eventfd as a handler of events; see PAVO_HANDLERS.
 * @window: the window
 * @fd:     the eventfd
 *
 * Return: the handler's number; -EBADF, -EINVAL: not an eventfd; -ENOSPC: too many. Context:
 * process.
 */
int pavo_window_add_handler(struct pavo_fifo_window *window, int fd);
/** pavo_window_remove_handler - Return: 0; -EINVAL: no handler has that number. */
int pavo_window_remove_handler(struct pavo_fifo_window *window, u32 number);

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
 * pavo_windows_poll - carry out new commands of all windows that a doorbell worker polls, and
 * send.
 * @dev:    the adapter
 * @worker: the worker
 *
 * Return: true: there were commands. Context: process.
 */
bool pavo_windows_poll(struct pavo_dev *dev, struct pavo_worker *worker);

/**
 * pavo_window_lmt - read the local mapping table of a window, as it is at this moment.
 * @window: the window
 * @lmt:    set; with the window key, which the caller shows to privileged readers only
 */
void pavo_window_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt);

/**
 * pavo_windows_recover - recovery of an adapter: end all operations of its windows, and return
 * all rCxts to the pool. Sleeps.
 * @dev: the adapter
 */
void pavo_windows_recover(struct pavo_dev *dev);
/** pavo_windows_recoveries - number of recoveries of @dev. */
u32 pavo_windows_recoveries(const struct pavo_dev *dev);

/** pavo_window_show - print the LMTs of all windows, for root. Sleeps. */
void pavo_window_show(struct seq_file *file, struct pavo_dev *dev);
/** pavo_window_live_show - print which CPU works for which window, and pages not freed yet. */
void pavo_window_live_show(struct seq_file *file, struct pavo_dev *dev);

/**
 * pavo_window_receive - receive a packet for a window; consumes its skb.
 * @rx: the packet
 *
 * Context: softirq, RCU read side.
 */
void pavo_window_receive(struct pavo_rx *rx);

#endif /* PAVO_WINDOW_H */
