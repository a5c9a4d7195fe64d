/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* window_private.h - the objects that the files of window/ share. */
#ifndef PAVO_WINDOW_PRIVATE_H
#define PAVO_WINDOW_PRIVATE_H

#include <linux/bitops.h>
#include <linux/eventfd.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "accounting.h"
#include "adapter.h"
#include "compat.h"
#include "deferred_free.h"
#include "net/net.h"
#include "rings/mmap.h"
#include "rings/worker.h"
#include "window/condition.h"
#include "window/kernel_window.h"
#include "window/window_group.h"
#include "window/rcxt.h"
#include "window/window.h"

struct pavo_handler_group;
struct pavo_window_tasks;
struct seq_file;

/**
 * struct pavo_windows - windows of an adapter.
 * @dev:     the adapter
 * @shares:  number of windows that each user has
 * @table:   id -> struct pavo_fifo_window, read under RCU
 * @next:    id to try first for a new window
 * @active:  bit map of windows with something to send, by id
 * @most:    number of bits in @active
 * @cursor:  id of the window at which the round robin goes on
 * @workers: transmit workers at work, each for one quantum of one window
 * @manager: work manager: sends what found no free worker, or a full queue of the interface
 * @rcxts:   pool of rCxts
 * @groups:  groups that windows have joined
 * @tasks:   the live view: the windows that each CPU is working for
 * @closing: pages of windows that are closed and not freed yet
 * @retired: routes that were replaced and are not freed yet
 * @handlers_mutex: protects @handler_groups
 * @handler_groups: windows and handlers of each context (handler.c)
 */
struct pavo_windows {
	struct pavo_dev *dev;
	struct pavo_shares shares;
	struct xarray table;
	u32 next;
	unsigned long *active;
	u32 most;
	u32 cursor;
	atomic_t workers;
	struct delayed_work manager;
	struct pavo_rcxt_pool rcxts;
	struct pavo_window_groups groups;
	struct pavo_window_tasks __percpu *tasks;
	atomic_long_t closing;
	atomic_t retired;
	struct mutex handlers_mutex; /* handler_groups */
	struct list_head handler_groups;
};

/**
 * struct pavo_fifo - a ring of frames, shared with the process.
 * @area:      its memory; NULL: kernel code receives by calls
 * @mask:      number of frames less 1; that number is a power of two
 * @count:     frames that the adapter has taken; under the window's lock
 * @avail:     frames that it may take: free FIFO slots, or frames ready to be sent; likewise
 * @threshold: frames until the event; 0: no event
 * @event:     eventfd of the process; NULL: none
 */
struct pavo_fifo {
	struct pavo_mmap *area;
	u32 mask;
	u32 count;
	u32 avail;
	atomic_t threshold;
	struct eventfd_ctx *event;
};

/**
 * struct pavo_events - handlers of events of a window, or of all windows of a context; event.c.
 * @lock:       protects all fields; BH, a leaf, nests in any other lock of a window
 * @handler:    eventfds, by handler number; @most of them
 * @most:       number of handlers that there may be
 * @registered: bits: handlers that exist
 * @ready:      bits: handlers that may be given the next event
 * @given:      bits: handlers that got an event and have not become ready since
 * @kept:       an event found no handler ready
 * @over:       the window has ended: a handler that becomes ready is raised at once; not of a
 *              context
 * @next:       handler at which the round robin goes on
 */
struct pavo_events {
	spinlock_t lock; /* all of it */
	struct eventfd_ctx **handler;
	u32 most;
	DECLARE_BITMAP(registered, PAVO_ADAPTER_HANDLERS);
	DECLARE_BITMAP(ready, PAVO_ADAPTER_HANDLERS);
	DECLARE_BITMAP(given, PAVO_ADAPTER_HANDLERS);
	bool kept;
	bool over;
	u32 next;
};

/**
 * struct pavo_violations - packets of peers that named memory of this end which is not the job's.
 * @count:  their number
 * @rcxt:   rCxt of this end, of the last one
 * @node:   node that sent it
 * @window: window that sent it
 * @unread: the process was notified, and has not read the local mapping table since
 */
struct pavo_violations {
	u32 count;
	u32 rcxt;
	u32 node;
	u32 window;
	bool unread;
};

/**
 * struct pavo_fifo_window - a window; its local mapping table is read from these fields.
 * @dev:       its adapter
 * @job:       its job
 * @id:        its id, in packets to it
 * @key:       in all packets from and to it; the same for all windows of the job
 * @node:      id of this machine in the job
 * @sgid_index: see struct pavo_window_args
 * @flags:     enum pavo_window_flag
 * @max_payload: see struct pavo_window_resp
 * @rdma_payload: bytes of data in a packet of RDMA
 * @lock:      commands and counts; BH; only the lock of @events nests in it
 * @consumer:  commands taken; under @lock
 * @closed:    the window is disabled, and carries out no command but HANDLER_READY; under @lock
 * @dead:      a request of the process named memory that is not its job's: the window sends and
 *             receives nothing any more
 * @fatal_rcxt: rCxt of that request
 * @violations: by peers; under @lock
 * @rcxts:     rCxts with something to send, served round-robin; under @lock
 * @nrcxts:    their number
 * @groups:    memberships in groups (window_group.c); under RTNL
 * @ngroups:   their number
 * @owned:     all rCxts that it has taken; under the pool's mutex
 * @nowned:    their number
 * @recv:      receive FIFO
 * @send:      send FIFO
 * @early:     frames of @recv until the early event; 0: no event; under @lock
 * @written:   frames of @recv that are visible to the process; less than its count while CPUs
 *             are writing some
 * @events:    handlers, whose eventfds are in @handlers
 * @handlers:  see there
 * @handler_group: handlers of its context; NULL: it has none
 * @pending:   in that group's list of windows with events
 * @calls:     of the kernel code that has the window; NULL: a process has it
 * @owner:     for @calls
 * @conditions: counters, and requests held for them (held.c); under @lock
 * @commands:  command page; NULL: kernel code has the window
 * @page:      that page, for the doorbell worker of the process
 * @sending:   bit 0: a worker has the window
 * @quantum_left: frames or packets left of that worker's quantum, with the current one; 0: no
 *             worker
 * @drr:       all that it sends, as a DRR queue of the adapter
 * @waits_round: it waits in DRR, so no worker takes it; written by its worker and under drr_lock
 * @mutex:     changes of @routes, disabling
 * @nodes:     number of nodes to which it may have routes
 * @routes:    routes to each node, NULL: none; read under RCU
 * @mm:        memory of the process; mmgrab()
 * @locked:    pages that count as locked memory of @mm
 * @disabled:  set once the window is disabled and @snapshot is valid; under @mutex
 * @snapshot:  state of RCU at that time
 * @deferred:  frees the window
 */
struct pavo_fifo_window {
	struct pavo_dev *dev;
	struct pavo_job *job;
	u32 id;
	u64 key;
	u16 node;
	u16 sgid_index;
	u32 flags;
	u32 max_payload;
	u32 rdma_payload;
	spinlock_t lock; /* commands and counts */
	u32 consumer;
	bool closed;
	bool dead;
	u32 fatal_rcxt;
	struct pavo_violations violations;
	struct list_head rcxts;
	u32 nrcxts;
	struct list_head groups;
	u32 ngroups;
	struct list_head owned;
	u32 nowned;
	struct pavo_fifo recv;
	struct pavo_fifo send;
	u32 early;
	atomic_t written;
	struct pavo_events events;
	struct eventfd_ctx *handlers[PAVO_HANDLERS];
	struct pavo_handler_group *handler_group;
	struct list_head pending;
	const struct pavo_window_calls *calls;
	void *owner;
	struct pavo_conditions *conditions;
	struct pavo_mmap *commands;
	struct pavo_worker_page page;
	unsigned long sending;
	u32 quantum_left;
	struct pavo_drr_queue drr;
	bool waits_round;
	struct mutex mutex; /* changes of routes, disabling */
	u32 nodes;
	struct pavo_routes __rcu **routes;
	struct mm_struct *mm;
	unsigned long locked;
	bool disabled;
	unsigned long snapshot;
	struct pavo_deferred_free deferred;
};

/* A frame of a FIFO. The process may write to it at any time. */
static inline void *pavo_fifo_get_frame(const struct pavo_fifo *fifo,
					u32 number)
{
	return fifo->area->addr + (number & fifo->mask) * PAVO_FRAME_SIZE;
}

/* The pages that so many frames take: a FIFO has pages of its own. */
static inline unsigned long pavo_fifo_count_pages(unsigned long frames)
{
	return PAGE_ALIGN(frames * PAVO_FRAME_SIZE) >> PAGE_SHIFT;
}

/** pavo_fifo_notify - one more frame of send FIFO @fifo was sent; raise the event if it is due. */
static inline void pavo_fifo_notify(struct pavo_fifo *fifo)
{
	const struct pavo_fifo_window *window =
		container_of(fifo, struct pavo_fifo_window, send);

	if (!fifo->event && !window->calls)
		return;
	/* Pairs with pavo_fifo_set_threshold(): who sets, then polls, misses no frame. */
	smp_mb();
	/* 0: the event is due now; less: no event is wanted */
	if (atomic_dec_if_positive(&fifo->threshold))
		return;
	if (window->calls)
		window->calls->sent(window->owner);
	else
		pavo_eventfd_signal(fifo->event);
}

/** pavo_fifo_set_threshold - set the event for the @n-th frame from now; 0: none. Window locked. */
static inline void pavo_fifo_set_threshold(struct pavo_fifo *fifo, u32 n)
{
	atomic_set(&fifo->threshold, n);
	/* Pairs with the barriers of pavo_fifo_notify() and pavo_window_arrived(). */
	smp_mb();
}

/** pavo_window_event - raise recv_event and one handler. Any context but hard IRQs. */
void pavo_window_event(struct pavo_fifo_window *window);

/**
 * pavo_window_notify_end - the window has ended: raise all of its eventfds now, and a handler
 * also whenever it becomes ready. Any context but hard IRQs.
 * @window: the window
 */
void pavo_window_notify_end(struct pavo_fifo_window *window);

/**
 * pavo_window_violation - note that a peer named memory of this end which is not the job's. Raises
 * an event, unless the process has not read its local mapping table since the last one. Any
 * context but hard IRQs.
 * @window: the window
 * @rcxt:   its rCxt
 * @peer:   the peer
 */
void pavo_window_violation(struct pavo_fifo_window *window, u32 rcxt,
			   const struct pavo_rdma_peer *peer);

/** pavo_window_show_recoveries - write the adapter's number of recoveries to the command page. */
void pavo_window_show_recoveries(struct pavo_fifo_window *window);

/**
 * pavo_windows_notify_recovery - the adapter has recovered: raise an event of each window, whose
 * process finds the number of recoveries in the command page. Sleeps.
 * @all: windows of the adapter
 */
void pavo_windows_notify_recovery(struct pavo_windows *all);

/** pavo_window_arrived - one more frame is visible; raise the event if it is due. */
static inline void pavo_window_arrived(struct pavo_fifo_window *window)
{
	/* Pairs with pavo_event_early(): a frame that is counted is visible. */
	smp_mb__before_atomic();
	atomic_inc(&window->written);
	/* Pairs with pavo_fifo_set_threshold(): a process that sets it, then polls, sees all. */
	smp_mb__after_atomic();
	if (!atomic_dec_if_positive(&window->recv.threshold))
		pavo_window_event(window);
}

/* event.c */
void pavo_events_init(struct pavo_events *events, struct eventfd_ctx **handler,
		      u32 most);
/** pavo_events_free - release the eventfds; no CPU raises one any more. */
void pavo_events_free(struct pavo_events *events);
/** pavo_event_early - raise the early event with the @n-th frame from now. Window locked. */
void pavo_event_early(struct pavo_fifo_window *window, u32 n);
/** pavo_event_slot - note a taken slot. Return: true: the early event is due. Window locked. */
bool pavo_event_slot(struct pavo_fifo_window *window);
/**
 * pavo_events_deliver - give an event to the next handler that is ready; keep it if none is.
 * @events: the handlers; lock held
 */
void pavo_events_deliver(struct pavo_events *events);
/** pavo_events_ready - note that a handler is ready. Return: 0; -EINVAL: no such handler. */
int pavo_events_ready(struct pavo_events *events, u32 number);
/**
 * pavo_events_add - register a handler, which is not ready.
 * @events: the handlers
 * @fd:     its eventfd
 *
 * Return: its number; -EBADF, -EINVAL: not an eventfd; -ENOSPC: too many. Context: process.
 */
int pavo_events_add(struct pavo_events *events, int fd);
/** pavo_events_wake - raise the eventfd of a handler, which the process ends or loses. */
void pavo_events_wake(struct pavo_events *events, u32 number);
/** pavo_events_remove - Return: 0; -EINVAL: no handler has that number. */
int pavo_events_remove(struct pavo_events *events, u32 number);
void pavo_events_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt);

/**
 * pavo_window_detach - detach a window from its process: end its mappings, and the charge for
 * locked memory. The FIFOs stay.
 * @window: the window
 */
void pavo_window_detach(struct pavo_fifo_window *window);
/** pavo_window_free - free a window that no CPU can find any more. Sleeps. */
void pavo_window_free(struct pavo_fifo_window *window);

/* The task of a CPU for a window, for the live view. */
enum pavo_window_task {
	PAVO_TASK_SENDS,
	PAVO_TASK_RECEIVES,
	PAVO_TASKS,
};

/**
 * struct pavo_window_tasks - the windows that a CPU works for.
 * @window: by enum pavo_window_task, the id of the window; 0: none
 */
struct pavo_window_tasks {
	u32 window[PAVO_TASKS];
};

/** pavo_window_set_at_work - record that this CPU works for window @id; 0: none. BH disabled. */
static inline void pavo_window_set_at_work(struct pavo_windows *all,
					   enum pavo_window_task task, u32 id)
{
	this_cpu_write(all->tasks->window[task], id);
}

/* held.c */
/** pavo_held_init - allocate @window's counters. Return: 0; -ENOMEM. Sleeps. */
int pavo_held_init(struct pavo_fifo_window *window);
void pavo_held_destroy(struct pavo_fifo_window *window);
/** pavo_held_activate - let a worker find the window if it has work. Return: it has. Locked. */
bool pavo_held_activate(struct pavo_fifo_window *window);
/** pavo_held_recover - a recovery: cancel what is held, and fail all counters. */
void pavo_held_recover(struct pavo_fifo_window *window);
/** pavo_held_cancel - cancel what is held with a request for @rcxt. */
void pavo_held_cancel(struct pavo_fifo_window *window, u32 rcxt);
/** pavo_held_dead - the window has ended: let a worker mark what is held. Locked. */
void pavo_held_dead(struct pavo_fifo_window *window);
/** pavo_held_end - mark what a closed window holds. Process context. */
void pavo_held_end(struct pavo_fifo_window *window);

/** pavo_window_commands - carry out the commands in the command page. Window locked. */
void pavo_window_commands(struct pavo_fifo_window *window);

/** pavo_window_transmit - send for any window with something to send. BH enabled. */
void pavo_window_transmit(struct pavo_dev *dev);
/** pavo_window_transmit_few - a few quanta; the work manager sends the rest. BH disabled. */
void pavo_window_transmit_few(struct pavo_dev *dev);
void pavo_window_manager(struct work_struct *work);

/**
 * pavo_window_flow - the next route to window @to of @node, in round-robin order. RCU read side.
 * @window: the window that sends
 * @node:   id of the node
 * @to:     id of the window there, or number of a group
 *
 * Return: NULL: the window has no route to the node, or the node is a group's address and @to is
 * no group: no answer to a peer goes to many.
 */
struct pavo_flow *pavo_window_flow(struct pavo_fifo_window *window, u32 node,
				   u32 to);
/** pavo_window_flow_of - route @route, modulo their number; else as pavo_window_flow(). */
struct pavo_flow *pavo_window_flow_of(struct pavo_fifo_window *window,
				      const struct pavo_rdma_control *control,
				      u32 route);
/** pavo_window_has_route - would pavo_window_flow() find one? RCU read side. */
bool pavo_window_has_route(const struct pavo_fifo_window *window, u32 node,
			   u32 to);
/** pavo_window_no_route - the mark of a frame without a route, enum pavo_frame_state; likewise. */
u32 pavo_window_no_route(const struct pavo_fifo_window *window, u32 node);

/**
 * pavo_window_nodes_init - allocate @window's table of nodes, without routes.
 * @window: the window
 * @nodes:  number of nodes
 *
 * Return: 0; -ENOMEM.
 */
int pavo_window_nodes_init(struct pavo_fifo_window *window, u32 nodes);
/** pavo_window_nodes_destroy - free all routes, when no packet can use one. Sleeps. */
void pavo_window_nodes_destroy(struct pavo_fifo_window *window);

/**
 * pavo_window_init - allocate a window, without FIFOs.
 * @dev:  the adapter
 * @job:  its job
 * @args: where it is; the sizes of FIFOs are not used
 *
 * Return: the window; -ENOMEM; -EMSGSIZE: the interface's MTU is too small.
 */
struct pavo_fifo_window *pavo_window_init(struct pavo_dev *dev,
					  struct pavo_job *job,
					  const struct pavo_window_args *args);
/**
 * pavo_window_publish - give a complete window an id, by which packets find it.
 * @window: the window; uses its job from now on
 * @id:     the id; 0: any
 *
 * Return: 0; -EBUSY: another window has @id; -EINVAL: no window can have it; -ENOSPC; -EDQUOT;
 * -ENOMEM.
 */
int pavo_window_publish(struct pavo_fifo_window *window, u32 id);

/** pavo_window_wake - let the work manager send. Any context. */
void pavo_window_wake(struct pavo_windows *all);

/**
 * pavo_window_put - put a frame into the receive FIFO.
 * @window: the window
 * @put:    the frame
 *
 * Return: 0; -ENOSPC: the FIFO is full, which was counted. Context: BH disabled.
 */
int pavo_window_put(struct pavo_fifo_window *window,
		    const struct pavo_put *put);

/** pavo_window_put_message - put a message into a frame. Return, context: likewise. */
int pavo_window_put_message(struct pavo_fifo_window *window,
			    const struct pavo_rx *rx);

/**
 * pavo_window_packet - make a packet with space for its payload.
 * @window:  the window that sends it
 * @flow:    its route
 * @pkt:     its headers
 * @length:  bytes of payload
 * @payload: set; where the caller writes the payload
 *
 * Return: NULL: no memory, which was counted. Context: BH disabled.
 */
struct sk_buff *pavo_window_packet(struct pavo_fifo_window *window,
				   struct pavo_flow *flow,
				   const struct pavo_pkt *pkt, u32 length,
				   void **payload);

/**
 * pavo_window_receive - receive a packet for a window; consumes its skb.
 * @rx: the packet
 *
 * Context: softirq, RCU read side.
 */
void pavo_window_receive(struct pavo_rx *rx);

/** pavo_windows_show - print the LMTs of all windows, for root. Sleeps. */
void pavo_windows_show(struct seq_file *file, struct pavo_dev *dev);
/** pavo_window_live_show - print which CPU works for which window, and pages not freed yet. */
void pavo_window_live_show(struct seq_file *file, struct pavo_dev *dev);

/** pavo_rcxts_count_blocks - return the blocks in which all rCxts of an adapter are shown. */
u64 pavo_rcxts_count_blocks(const struct pavo_dev *dev);
/** pavo_rcxts_show_block - print the rCxts of a block that windows have, for root. Sleeps. */
void pavo_rcxts_show_block(struct seq_file *file, struct pavo_dev *dev,
			   u64 block);

/* window_round.c */

/** pavo_window_round_init - make a new window a DRR queue of its adapter. */
void pavo_window_round_init(struct pavo_fifo_window *window);

/** pavo_window_round_begin - true if the window may send; else it waits. Called by its worker. */
bool pavo_window_round_begin(struct pavo_fifo_window *window);

/** pavo_window_round_end - a visit is over. @more: there is more to send. Called by its worker. */
void pavo_window_round_end(struct pavo_fifo_window *window, bool more);

/** pavo_window_round_leave - the window is shut: it waits for nothing any more. */
void pavo_window_round_leave(struct pavo_fifo_window *window);

/** pavo_window_quantum - frames of a window that a worker sends before the next window. */
u32 pavo_window_quantum(void);

#endif /* PAVO_WINDOW_PRIVATE_H */
