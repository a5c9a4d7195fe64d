/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* window_private.h - what a window is inside window/. */
#ifndef PAVO_WINDOW_PRIVATE_H
#define PAVO_WINDOW_PRIVATE_H

#include <linux/bitops.h>
#include <linux/eventfd.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include "adapter.h"
#include "compat.h"
#include "later.h"
#include "net/net.h"
#include "rings/mmap.h"
#include "window/rcxt.h"
#include "window/window.h"

/**
 * struct pavo_fifo - a ring of frames, shared with the process.
 * @area:      its memory
 * @mask:      number of frames - 1; a power of two
 * @count:     frames the adapter has dealt with; the lock's
 * @avail:     frames it may deal with: free slots, or frames ready to be sent; likewise
 * @threshold: frames until the event; 0: none
 * @event:     NULL: none is wanted
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
 * struct pavo_events - handlers that are told of a window's events; event.c.
 * @lock:       all of it; BH, a leaf, taken inside any other of a window
 * @handler:    eventfds, by their numbers
 * @registered: a bit for each of these
 * @ready:      may be given the next one
 * @given:      were given one and are not ready again
 * @kept:       an event found no handler ready
 * @over:       the window is at its end: whoever is ready is told so
 * @next:       whose turn it is
 */
struct pavo_events {
	spinlock_t lock; /* all of it */
	struct eventfd_ctx *handler[PAVO_HANDLERS];
	unsigned long registered;
	unsigned long ready;
	unsigned long given;
	bool kept;
	bool over;
	u32 next;
};

/**
 * struct pavo_fifo_window - a window; its local mapping table is all of this.
 * @dev, @job: whose
 * @id:        number, in the packets of others
 * @key:       stamped on what it sends; that of all windows of the job
 * @node:      what this machine is to the job
 * @flags:     enum pavo_window_flag
 * @sgid_index, @max_payload: see struct pavo_window_args, _resp
 * @rdma_payload: bytes of data in a packet of RDMA
 * @lock:      commands and counts; BH; only that of @events is taken inside
 * @consumer:  commands taken; lock held
 * @closed:    none are carried out any more, it is disabled; likewise
 * @dead:      a request named memory that is not there: nothing is sent or received
 *             any more; @fatal_rcxt was that request's
 * @rcxts:     @nrcxts with something to send, in the order of their turns; lock held
 * @owned:     all @nowned that it has taken; the pool's mutex
 * @recv, @send: FIFOs
 * @early:     frames of @recv until the early event; 0: none; lock held
 * @written:   frames of @recv that can be seen; less than its count while some are
 *             being written
 * @events:    handlers
 * @commands:  command page
 * @sending:   bit 0: a worker is at it
 * @quantum_left: of that worker's turn, itself included; 0: none has one
 * @mutex:     changes of @routes, disabling
 * @nodes:     how many there may be
 * @routes:    to them, NULL: not known; read under RCU
 * @locked:    pages that count as locked memory of @mm (mmgrab)
 * @disabled:  since that state of RCU, @snapshot; mutex
 * @later:     its end
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
	struct list_head rcxts;
	u32 nrcxts;
	struct list_head owned;
	u32 nowned;
	struct pavo_fifo recv;
	struct pavo_fifo send;
	u32 early;
	atomic_t written;
	struct pavo_events events;
	struct pavo_mmap *commands;
	unsigned long sending;
	u32 quantum_left;
	struct mutex mutex; /* changes of routes, disabling */
	u32 nodes;
	struct pavo_routes __rcu **routes;
	struct mm_struct *mm;
	unsigned long locked;
	bool disabled;
	unsigned long snapshot;
	struct pavo_later later;
};

/* A frame of a FIFO, in memory that the process writes to as it likes. */
static inline void *pavo_frame(const struct pavo_fifo *fifo, u32 number)
{
	return fifo->area->addr + (number & fifo->mask) * PAVO_FRAME_SIZE;
}

/** pavo_fifo_tell - one more frame was sent; tell who waits for this one. */
static inline void pavo_fifo_tell(struct pavo_fifo *fifo)
{
	if (!fifo->event)
		return;
	/* Pairs with set_threshold(): who asks, then looks, misses none. */
	smp_mb();
	/* 0: this was it; less: none is wanted */
	if (!atomic_dec_if_positive(&fifo->threshold))
		pavo_eventfd_signal(fifo->event);
}

/** pavo_window_event - one of the handlers is to look. Any context but hard IRQs. */
void pavo_window_event(struct pavo_fifo_window *window);

/**
 * pavo_window_over - nothing comes or goes any more: all are to look, now and whenever
 * they say that they are ready. Any context but hard IRQs.
 */
void pavo_window_over(struct pavo_fifo_window *window);

/** pavo_window_arrived - one more frame can be seen; tell who waits for this one. */
static inline void pavo_window_arrived(struct pavo_fifo_window *window)
{
	/* Pairs with pavo_event_early(): what counts as written can be seen. */
	smp_mb__before_atomic();
	atomic_inc(&window->written);
	/* Pairs with set_threshold(): who asks, then looks, misses none. */
	smp_mb__after_atomic();
	if (!atomic_dec_if_positive(&window->recv.threshold))
		pavo_window_event(window);
}

/* event.c */
void pavo_events_init(struct pavo_events *events);
/** pavo_events_free - free them; no CPU raises one any more. */
void pavo_events_free(struct pavo_events *events);
/** pavo_event_early - tell of the @n-th frame from now early. The window's lock held. */
void pavo_event_early(struct pavo_fifo_window *window, u32 n);
/** pavo_event_slot - a slot was taken. Return: it is to be told of. Lock held. */
bool pavo_event_slot(struct pavo_fifo_window *window);
/** pavo_event_ready - a handler is. Return: false: there is none of that number. */
bool pavo_event_ready(struct pavo_fifo_window *window, u32 number);
void pavo_events_lmt(struct pavo_fifo_window *window, struct pavo_lmt *lmt);

/**
 * pavo_window_leave - give up what the process knows of a window: its mappings, and what
 * counts as its locked memory. The FIFOs stay.
 */
void pavo_window_leave(struct pavo_fifo_window *window);
/** pavo_window_free - free a window that cannot be found. Sleeps. */
void pavo_window_free(struct pavo_fifo_window *window);

/** enum pavo_window_task - what a CPU may be at, for the live view. */
enum pavo_window_task {
	PAVO_TASK_SENDS,
	PAVO_TASK_RECEIVES,
	PAVO_TASKS,
};

/**
 * struct pavo_window_tasks - of a CPU: numbers of the windows that it is at work for,
 * 0: none.
 */
struct pavo_window_tasks {
	u32 window[PAVO_TASKS];
};

/** pavo_window_at_work - BH disabled. @id: 0: not any more */
static inline void pavo_window_at_work(struct pavo_windows *all,
				       enum pavo_window_task task, u32 id)
{
	this_cpu_write(all->tasks->window[task], id);
}

/** pavo_window_commands - take what is in the command page. Lock held. */
void pavo_window_commands(struct pavo_fifo_window *window);

/** pavo_window_transmit - send what is ready, of any window. BH enabled. */
void pavo_window_transmit(struct pavo_dev *dev);
void pavo_window_manager(struct work_struct *work);

/**
 * pavo_window_flow - the next of the routes to @node in their turn, or NULL;
 * pavo_window_flow_of - that of packet number @turn of something; pavo_window_knows - is
 * there any? RCU read side.
 */
struct pavo_flow *pavo_window_flow(struct pavo_fifo_window *window, u32 node);
struct pavo_flow *pavo_window_flow_of(struct pavo_fifo_window *window, u32 node,
				      u32 turn);
bool pavo_window_knows(const struct pavo_fifo_window *window, u32 node);

/**
 * pavo_window_nodes_init - @window may know that many, and knows none. Return: 0;
 * -ENOMEM. pavo_window_nodes_destroy - forget all, when no packet looks for one. Sleeps.
 */
int pavo_window_nodes_init(struct pavo_fifo_window *window, u32 nodes);
void pavo_window_nodes_destroy(struct pavo_fifo_window *window);

/** pavo_window_wake - send what is ready, later. Any context. */
void pavo_window_wake(struct pavo_windows *all);

/**
 * struct pavo_put - a frame for the process.
 * @type, @kind, @node, @window: as in its header
 * @head, @head_len: how its payload begins; no longer than the first line
 * @rx: what follows is the payload of this packet; NULL: nothing
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
 * pavo_window_put - Return: false: its FIFO is full, which was counted.
 * Context: BH disabled.
 */
bool pavo_window_put(struct pavo_fifo_window *window,
		     const struct pavo_put *put);

/* The line of a frame, as it was once. */
struct pavo_frame_line {
	struct pavo_frame_hdr hdr;
	u8 payload[PAVO_FRAME_LINE - PAVO_FRAME_HDR_SIZE];
};

/**
 * pavo_window_packet - a packet with @length bytes of payload to be written at @room.
 * Return: NULL: no memory, which was counted. Context: BH disabled.
 */
struct sk_buff *pavo_window_packet(struct pavo_fifo_window *window,
				   struct pavo_flow *flow,
				   const struct pavo_pkt *pkt, u32 length,
				   void **room);

/** pavo_window_quantum - frames that are sent of a window in a turn. */
u32 pavo_window_quantum(void);

#endif /* PAVO_WINDOW_PRIVATE_H */
