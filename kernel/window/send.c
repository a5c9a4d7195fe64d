// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * send.c - from frames of send FIFOs to packets.
 *
 * A window with something to send has its bit in the bit map of active windows. Workers serve
 * windows round-robin, a quantum of frames of each; the number of workers at a time is bounded.
 * A caller with something to send is a worker for one quantum after the other. Bottom halves
 * are off during a quantum, so no preempted caller holds one. The work manager sends what found
 * no free worker. No order is promised (sources.md#windows-send).
 *
 * The process may write to its frames at any time. So a worker copies a header first, then
 * checks the copy.
 */
#include <linux/module.h>
#include <linux/nospec.h>
#include "budget.h"
#include "kcov.h"
#include "parameter.h"
#include "window/rdma.h"

/* More workers than CPUs that a machine has have nothing to do. */
#define MOST_WORKERS 8192
/* A quantum is sent with bottom halves off. */
#define MOST_QUANTUM 1024

static unsigned int window_workers = 4;
pavo_range_param(window_workers, window_workers, 1, MOST_WORKERS, 0644);
MODULE_PARM_DESC(window_workers,
		 "transmit workers of an adapter's windows at a time (4)");

static unsigned int window_quantum = 16;
pavo_range_param(window_quantum, window_quantum, 1, MOST_QUANTUM, 0644);
MODULE_PARM_DESC(window_quantum,
		 "frames that are sent of one window before the next (16)");

/* Quanta that a worker sends before the work manager takes over, with bottom halves on or off. */
#define MOST_QUANTA 64
#define FEW_QUANTA 4

u32 pavo_window_quantum(void)
{
	return READ_ONCE(window_quantum);
}

struct sk_buff *pavo_window_packet(struct pavo_fifo_window *window,
				   struct pavo_flow *flow,
				   const struct pavo_pkt *pkt, u32 length,
				   void **payload)
{
	struct sk_buff *skb;

	skb = pavo_tx_alloc(&window->dev->stats, flow, pkt, length);
	if (!skb)
		return NULL;
	*payload = pavo_tx_put(skb, length);
	if (*payload)
		return skb;
	pavo_count(window->dev, tx_drop_no_memory);
	kfree_skb(skb);
	return NULL;
}

/* Make the packet of a message, and send it. Return: enum pavo_frame_state. */
static u32 send_packet(struct pavo_fifo_window *window, struct pavo_flow *flow,
		       const struct pavo_frame_line *line, const void *frame)
{
	u32 length = line->hdr.length, first, pad = -length & 3;
	struct pavo_pkt pkt = {
		.opcode = PAVO_OP_WINDOW_MESSAGE,
		.pad = pad,
		.pkey = PAVO_PKEY_DEFAULT,
		.dqpn = line->hdr.window,
		.window_key = window->key,
		.src_node = window->node,
		.kind = line->hdr.kind,
		.src_window = window->id,
	};
	struct sk_buff *skb;
	void *payload;

	skb = pavo_window_packet(window, flow, &pkt, length, &payload);
	if (!skb)
		return PAVO_FRAME_NOT_SENT;
	first = min_t(u32, length, sizeof(line->payload));
	memcpy(payload, line->payload, first);
	memcpy(payload + first, frame + PAVO_FRAME_LINE, length - first);
	if (pavo_tx_send(&window->dev->stats, flow, skb, pad))
		return PAVO_FRAME_NOT_SENT;
	pavo_count(window->dev, tx_frames);
	return PAVO_FRAME_SENT;
}

static u32 send_message(struct pavo_fifo_window *window,
			const struct pavo_frame_line *line, u32 number)
{
	struct pavo_flow *flow;

	if (line->hdr.length > window->max_payload)
		return PAVO_FRAME_BAD_LENGTH;
	if (line->hdr.window & ~PAVO_QPN_MASK)
		return PAVO_FRAME_BAD_WINDOW;
	flow = pavo_window_flow(window, line->hdr.node, line->hdr.window);
	if (!flow)
		return pavo_window_no_route(window, line->hdr.node);
	return send_packet(window, flow, line,
			   pavo_fifo_get_frame(&window->send, number));
}

/*
 * Sends a frame of one type; NULL: frames of that type cannot be sent. @line: copy of its first
 * line, @number: its index. Return: enum pavo_frame_state. RCU read side, BH disabled.
 */
typedef u32 send_fn(struct pavo_fifo_window *window,
		    const struct pavo_frame_line *line, u32 number);

static send_fn *const senders[] = {
	[PAVO_FRAME_MESSAGE] = send_message,
	[PAVO_FRAME_RDMA_WRITE] = pavo_rdma_request,
	[PAVO_FRAME_RDMA_READ] = pavo_rdma_request,
	[PAVO_FRAME_RDMA_PIECE] = pavo_rdma_piece,
	[PAVO_FRAME_RDMA_THIRD] = pavo_rdma_third,
	[PAVO_FRAME_CONDITIONAL] = pavo_held_begin,
	[PAVO_FRAME_COUNTER_SET] = pavo_counter_set,
	[PAVO_FRAME_COUNTER_CLEAR] = pavo_counter_clear,
	[PAVO_FRAME_COUNTER_QUERY] = pavo_counter_query,
};

static send_fn *find_frame_sender(u8 type)
{
	if (type >= ARRAY_SIZE(senders))
		return NULL;
	return senders[array_index_nospec(type, ARRAY_SIZE(senders))];
}

static u32 send_frame(struct pavo_fifo_window *window, u32 number)
{
	struct pavo_frame_line line;
	send_fn *send;

	memcpy(&line, pavo_fifo_get_frame(&window->send, number), sizeof(line));
	/* The checks below use the copy, not the frame. */
	barrier();
	if (line.hdr.type == PAVO_FRAME_PASSED)
		return PAVO_FRAME_EMPTY;
	if (READ_ONCE(window->dead) || READ_ONCE(window->closed))
		return PAVO_FRAME_DEAD;
	if (pavo_conditions_follows(window->conditions))
		return pavo_held_take(window, &line, number);
	send = find_frame_sender(line.hdr.type);
	return send ? send(window, &line, number) : PAVO_FRAME_BAD_TYPE;
}

/*
 * Send a frame and mark it. actions.c marks a frame that began a write, held.c a CONDITIONAL, and
 * neither a slot that the process passed over (state EMPTY).
 */
static void send_and_mark_frame(struct pavo_fifo_window *window, u32 number)
{
	u32 state = send_frame(window, number);

	if (state != PAVO_FRAME_EMPTY)
		pavo_frame_mark(window, number, state);
}

/*
 * Send a quantum of frames of the window that this worker has, then a quantum of packets of
 * RDMA. Return: 0; -ENOBUFS: the interface takes no more. RCU read side, BH disabled.
 */
static int send_quantum(struct pavo_fifo_window *window)
{
	struct pavo_windows *all = window->dev->windows;
	const u32 quantum = pavo_window_quantum();
	struct pavo_fifo *fifo = &window->send;
	u32 n, i, held, left = quantum;
	int err;

	spin_lock(&window->lock);
	n = min(fifo->avail, quantum);
	/* Before sending: the process may reuse a FIFO slot once its frame is marked. */
	fifo->avail -= n;
	spin_unlock(&window->lock);
	for (i = 0; i < n; i++) {
		WRITE_ONCE(window->quantum_left, quantum - i);
		send_and_mark_frame(window, fifo->count + i);
	}
	held = pavo_held_send(window, quantum);
	err = pavo_rdma_send(window, &left);
	window->drr.spent += n + held + quantum - left;
	WRITE_ONCE(window->quantum_left, 0);
	spin_lock(&window->lock);
	fifo->count += n;
	/* The id of a closed window may be another window's by now. */
	if (!window->closed && !fifo->avail && !window->nrcxts &&
	    !pavo_held_activate(window))
		clear_bit(window->id, all->active);
	spin_unlock(&window->lock);
	return err;
}

/* Another worker has the window, or it waits for its round. */
static bool is_taken(const struct pavo_fifo_window *window)
{
	return test_bit(0, &window->sending) || READ_ONCE(window->waits_round);
}

/* Take the next active window that is not taken, from the cursor on. RCU read side. */
static struct pavo_fifo_window *take_next_window(struct pavo_windows *all)
{
	u32 from = READ_ONCE(all->cursor), id;
	struct pavo_fifo_window *window;

	for_each_set_bit_wrap(id, all->active, all->most, from) {
		window = xa_load(&all->table, id);
		if (!window || is_taken(window) ||
		    test_and_set_bit_lock(0, &window->sending))
			continue;
		WRITE_ONCE(all->cursor, id + 1 < all->most ? id + 1 : 0);
		return window;
	}
	return NULL;
}

enum round_result {
	ROUND_NONE, /* no window has anything to send */
	ROUND_SENT,
	ROUND_NO_BUFFERS, /* the interface takes no more */
	ROUND_NO_WORKER /* as many workers as allowed (window_workers) are busy */
};

/* Send a quantum of a window, if it does not wait for its round. As send_quantum(). */
static int serve_window(struct pavo_fifo_window *window)
{
	int err;

	if (!pavo_window_round_begin(window)) {
		/* A round was not enough for what it sent before: the next one is another's. */
		pavo_window_round_end(window, false);
		return 0;
	}
	err = send_quantum(window);
	pavo_window_round_end(window,
			      !err && test_bit(window->id,
					       window->dev->windows->active));
	return err;
}

/* RCU read side, BH disabled. */
static enum round_result send_next_window(struct pavo_windows *all)
{
	struct pavo_fifo_window *window = take_next_window(all);
	int err;

	if (!window)
		return ROUND_NONE;
	pavo_window_set_at_work(all, PAVO_TASK_SENDS, window->id);
	err = serve_window(window);
	pavo_window_set_at_work(all, PAVO_TASK_SENDS, 0);
	clear_bit_unlock(0, &window->sending);
	return err ? ROUND_NO_BUFFERS : ROUND_SENT;
}

static enum round_result send_window_round(struct pavo_windows *all)
{
	enum round_result result = ROUND_NO_WORKER;

	local_bh_disable();
	rcu_read_lock();
	if (atomic_add_unless(&all->workers, 1, READ_ONCE(window_workers))) {
		result = send_next_window(all);
		atomic_dec(&all->workers);
	}
	rcu_read_unlock();
	local_bh_enable();
	return result;
}

/*
 * Has any window something to send, and is not taken? Each worker checks after its own quantum, so
 * a window that a worker has is left to that worker. One that waits is woken when DRR schedules it.
 */
static bool has_unserved_window(struct pavo_windows *all)
{
	struct pavo_fifo_window *window;
	bool left = false;
	u32 id;

	rcu_read_lock();
	for_each_set_bit(id, all->active, all->most) {
		window = xa_load(&all->table, id);
		left = window && !is_taken(window);
		if (left)
			break;
	}
	rcu_read_unlock();
	return left;
}

/*
 * Let the work manager send what is left after @result. @timeout: jiffies until it runs, if all
 * workers are busy.
 */
static void leave_rest(struct pavo_dev *dev, enum round_result result,
		       unsigned long timeout)
{
	struct pavo_windows *all = dev->windows;

	if (result == ROUND_NO_WORKER) {
		pavo_count(dev, window_no_worker);
		queue_delayed_work(dev->wq, &all->manager, timeout);
		return;
	}
	/* A caller that found only windows of this worker relies on this worker's next check. */
	smp_mb__after_atomic();
	if (has_unserved_window(all))
		queue_delayed_work(dev->wq, &all->manager,
				   result == ROUND_NO_BUFFERS);
}

/* @timeout: as of leave_rest() */
static void transmit_windows(struct pavo_dev *dev, unsigned long timeout)
{
	struct pavo_windows *all = dev->windows;
	unsigned int quanta = MOST_QUANTA;
	enum round_result result;

	/* Pairs with leave_rest(): a worker sees the active bit, or has left its window. */
	smp_mb();
	do {
		result = send_window_round(all);
		/* A quantum may be up to 2048 packets. */
		cond_resched();
	} while (result == ROUND_SENT && --quanta);
	if (!quanta)
		pavo_budget_used_up(PAVO_LOOP_WINDOWS, MOST_QUANTA, 0);
	leave_rest(dev, result, timeout);
}

void pavo_window_transmit_few(struct pavo_dev *dev)
{
	unsigned int quanta = FEW_QUANTA;
	enum round_result result;

	/* As in transmit_windows(). */
	smp_mb();
	do {
		result = send_window_round(dev->windows);
	} while (result == ROUND_SENT && --quanta);
	leave_rest(dev, result, 0);
}

void pavo_window_transmit(struct pavo_dev *dev)
{
	transmit_windows(dev, 0);
}

void pavo_window_wake(struct pavo_windows *all)
{
	queue_delayed_work(all->dev->wq, &all->manager, 0);
}

void pavo_window_manager(struct work_struct *work)
{
	struct pavo_windows *all =
		container_of(work, struct pavo_windows, manager.work);
	bool seen = pavo_kcov_begin();

	pavo_count(all->dev, window_manager);
	transmit_windows(all->dev, 1);
	pavo_kcov_end(seen);
}
