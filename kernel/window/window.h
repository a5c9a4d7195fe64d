/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * window.h - the door of window/: the transport of FIFOs (sources.md#windows).
 *
 * A window belongs to a process and a job and uses one adapter. The engine of verbs
 * knows nothing of it; the two share the network (net/), the headers (wire/) and what
 * memory may be touched (translate/).
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
struct seq_file;

int pavo_windows_init(struct pavo_windows *windows);
/**
 * pavo_windows_stop - there are none any more; nor will the manager run, and those that
 * were closed are freed. Sleeps.
 */
void pavo_windows_stop(struct pavo_windows *windows);
/** pavo_windows_destroy - there are none any more, nor work of the adapter. */
void pavo_windows_destroy(struct pavo_windows *windows);

/**
 * pavo_window_open - a window of @job on @dev.
 * @args: of user space, not checked yet; errors as told there
 * @resp: what user space is told
 *
 * Context: process.
 */
struct pavo_fifo_window *pavo_window_open(struct pavo_dev *dev,
					  struct ib_ucontext *uctx,
					  struct pavo_job *job,
					  const struct pavo_window_args *args,
					  struct pavo_window_resp *resp);

/**
 * pavo_window_disable - callers and packets that begin now send and receive nothing by it.
 *
 * Its rCxts are given back: no RDMA of it touches memory when this returns. CPUs that are at
 * work with its FIFOs at this moment may still be afterwards, and are not waited for:
 * pavo_window_snapshot() tells (sources.md#windows-snapshot). Context: process.
 */
void pavo_window_disable(struct pavo_fifo_window *window);

/**
 * pavo_window_snapshot - Return: how many may still be at work with what the window was
 * when it was disabled; -EINVAL: it is not. Once it is 0 it stays so. Context: process.
 */
int pavo_window_snapshot(struct pavo_fifo_window *window);

/**
 * pavo_window_close - disable it, and free it when no CPU is at work with it any more,
 * which is later. Context: process.
 */
void pavo_window_close(struct pavo_fifo_window *window);

/**
 * pavo_window_add_handler - an eventfd that may be given events; see PAVO_HANDLERS.
 * Return: its number; -EBADF, -EINVAL: no eventfd; -ENOSPC: too many. Context: process.
 */
int pavo_window_add_handler(struct pavo_fifo_window *window, int fd);
/** pavo_window_remove_handler - Return: 0; -EINVAL: none of that number. */
int pavo_window_remove_handler(struct pavo_fifo_window *window, u32 number);

/**
 * pavo_window_node - routes to a node. Return: 0, or what struct pavo_window_node_args
 * says. Context: process.
 */
int pavo_window_node(struct pavo_fifo_window *window,
		     const struct pavo_window_node_args *args);

/**
 * pavo_window_cancel - end what an rCxt is at: nothing more of it is sent or placed
 * when this returns. A higher tid begins anew, also one of the other end's that is on its
 * way. Return: 0; -EINVAL: not the window's. Context: process.
 */
int pavo_window_cancel(struct pavo_fifo_window *window, u32 rcxt);

/** pavo_window_kick - look for commands, and carry them out. Context: process. */
void pavo_window_kick(struct pavo_fifo_window *window);

/**
 * pavo_window_lmt - its local mapping table, as it is at this moment, with its key: that
 * is for the privileged.
 */
void pavo_window_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt);

/**
 * pavo_windows_recover - recovery of the adapter: what windows have under way ends, their
 * rCxts are none any more. Sleeps. pavo_windows_recoveries - how often that was.
 */
void pavo_windows_recover(struct pavo_dev *dev);
u32 pavo_windows_recoveries(const struct pavo_dev *dev);

/** pavo_window_show - tables of all windows, for the privileged. Sleeps. */
void pavo_window_show(struct seq_file *file, struct pavo_dev *dev);
/** pavo_window_live_show - who is at work, and what is closed and not freed yet. */
void pavo_window_live_show(struct seq_file *file, struct pavo_dev *dev);

/**
 * pavo_window_receive - a packet for a window; consumes its skb.
 * Context: softirq, RCU read side.
 */
void pavo_window_receive(struct pavo_rx *rx);

#endif /* PAVO_WINDOW_H */
