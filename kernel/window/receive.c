// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * receive.c - from packets to frames of receive FIFOs (sources.md#windows-receive), and to
 * operations of rCxts. The table in arrival.c has the kinds of packets.
 *
 * Called by demux.c for every packet with a window's header. Several CPUs may fill one FIFO at
 * a time, in no order: each takes a FIFO slot under the lock and writes the frame without it. A
 * packet that finds no slot is dropped and counted; its sender is not notified.
 */
#include <linux/skbuff.h>
#include "window/rdma.h"

/* Take a FIFO slot for one frame. Return: 0; -ENOSPC: the process has returned none. */
static int take_fifo_slot(struct pavo_fifo_window *window, u32 *slot)
{
	struct pavo_fifo *fifo = &window->recv;
	bool event_due = false;
	int err = 0;

	spin_lock(&window->lock);
	/*
	 * The process returns slots by commands and makes no call for them: take these now. A
	 * window that is closed meanwhile has lost its command page to the process.
	 */
	if (!fifo->avail && !window->closed)
		pavo_window_commands(window);
	if (fifo->avail) {
		fifo->avail--;
		*slot = fifo->count++;
		event_due = pavo_event_slot(window);
	} else {
		err = -ENOSPC;
	}
	spin_unlock(&window->lock);
	if (event_due)
		pavo_window_event(window);
	return err;
}

/* Write the header, last of all: its state makes the frame visible. */
static void write_header(struct pavo_frame_hdr *hdr, const struct pavo_put *put,
			 u32 length)
{
	WRITE_ONCE(hdr->node, put->node);
	WRITE_ONCE(hdr->length, length);
	WRITE_ONCE(hdr->window, put->window);
	WRITE_ONCE(hdr->type, put->type);
	WRITE_ONCE(hdr->kind, put->kind);
	/* Pairs with the consumer's acquire. */
	smp_store_release(&hdr->state, PAVO_FRAME_ARRIVED);
}

/*
 * Write all but the first line, then the first line, then the state: a process that sees the
 * state sees the whole frame. A short message has the first line only.
 */
static void write_frame(void *frame, const struct pavo_put *put)
{
	const u32 space = PAVO_FRAME_LINE - PAVO_FRAME_HDR_SIZE - put->head_len;
	void *payload = frame + PAVO_FRAME_HDR_SIZE;
	const struct pavo_rx *rx = put->rx;
	u32 data = rx ? rx->pkt.payload : 0, first = min(data, space);

	/* The parser has checked that the packet has all bytes of its header's length. */
	if (data) {
		WARN_ON_ONCE(skb_copy_bits(rx->skb, rx->payload + first,
					   frame + PAVO_FRAME_LINE,
					   data - first));
		WARN_ON_ONCE(skb_copy_bits(rx->skb, rx->payload,
					   payload + put->head_len, first));
	}
	memcpy(payload, put->head, put->head_len);
	write_header(frame, put, put->head_len + data);
}

int pavo_window_put(struct pavo_fifo_window *window, const struct pavo_put *put)
{
	u32 slot = 0;
	int err;

	err = window->calls ? window->calls->receive(window->owner, put) :
			      take_fifo_slot(window, &slot);
	if (err) {
		pavo_count(window->dev, rx_drop_fifo_full);
		return err;
	}
	if (put->type == PAVO_FRAME_MESSAGE)
		pavo_count(window->dev, rx_frames);
	if (!window->calls) {
		write_frame(pavo_fifo_get_frame(&window->recv, slot), put);
		pavo_window_arrived(window);
	}
	return 0;
}

/* Find the window of a packet; NULL: the packet is to be dropped, which was counted. */
static struct pavo_fifo_window *find_window(const struct pavo_rx *rx)
{
	struct pavo_dev *dev = pavo_port_to_dev(rx->port);
	struct pavo_fifo_window *window =
		xa_load(&dev->windows->table, rx->pkt.dqpn);

	if (!window || READ_ONCE(window->dead) || READ_ONCE(window->closed)) {
		pavo_count(dev, rx_drop_window);
	} else if (!pavo_pkey_matches(rx->pkt.pkey, PAVO_PKEY_DEFAULT)) {
		pavo_count(dev, rx_drop_pkey);
		pavo_count_violation(&dev->bad_pkeys);
	} else if (rx->pkt.window_key != window->key) {
		pavo_count(dev, rx_drop_window_key);
	} else if (pavo_rx_to_many(rx)) {
		/* A group has a number of its own: see window_group.c. */
		pavo_count(dev, rx_drop_address);
	} else {
		return window;
	}
	return NULL;
}

int pavo_window_put_message(struct pavo_fifo_window *window,
			    const struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_put put = {
		.type = PAVO_FRAME_MESSAGE,
		.kind = pkt->kind,
		.node = pkt->src_node,
		.window = pkt->src_window,
		.rx = rx,
	};

	return pavo_window_put(window, &put);
}

/*
 * Use a packet of RDMA on the operation of its rCxt. Return: 0: the packet was used; -ENOENT: no
 * such rCxt; -EINVAL: the operation does not take it. The caller drops it then; it was counted.
 */
static int receive_rdma(struct pavo_fifo_window *window,
			const struct pavo_arrival *arrival,
			const struct pavo_rx *rx)
{
	struct pavo_transition tr = { .pkt = &rx->pkt };
	const u32 id = rx->pkt.rdma.rcxt;
	struct pavo_rcxt *rcxt = pavo_rcxt_find(window, id);
	bool owned;

	if (!rcxt) {
		pavo_count(window->dev, rx_drop_rcxt);
		return -ENOENT;
	}
	spin_lock(&rcxt->lock);
	owned = pavo_rcxt_owned(window, rcxt, id);
	if (owned) {
		arrival->take(&rcxt->op, &tr);
		pavo_rdma_carry_out(window, rcxt, &tr, rx);
	}
	spin_unlock(&rcxt->lock);
	if (!owned)
		pavo_count(window->dev, rx_drop_rcxt);
	if (tr.control_opcode)
		pavo_rdma_send_control(window, tr.control_opcode, &tr.control);
	if (tr.wake)
		pavo_window_wake(window->dev->windows);
	return tr.used ? 0 : -EINVAL;
}

/* Return: 0: the packet was used; else a negative errno: it is to be dropped, and was counted. */
static int receive_packet(struct pavo_fifo_window *window,
			  const struct pavo_rx *rx)
{
	const struct pavo_arrival *arrival = pavo_arrival_of(rx->pkt.opcode);
	u32 refused;

	if (WARN_ON_ONCE(!arrival))
		return -EINVAL;
	refused = pavo_arrival_check(arrival, &rx->pkt);
	if (refused) {
		pavo_stats_add_id(&window->dev->stats, refused, 1);
		return -EINVAL;
	}
	if (arrival->take)
		return receive_rdma(window, arrival, rx);
	return pavo_window_put_message(window, rx);
}

void pavo_window_receive(struct pavo_rx *rx)
{
	struct pavo_windows *all = pavo_port_to_dev(rx->port)->windows;
	struct pavo_fifo_window *window = find_window(rx);
	bool used = false;

	if (window) {
		pavo_window_set_at_work(all, PAVO_TASK_RECEIVES, window->id);
		used = !receive_packet(window, rx);
		pavo_window_set_at_work(all, PAVO_TASK_RECEIVES, 0);
	}
	if (used)
		pavo_rx_free(rx->skb);
	else
		kfree_skb(rx->skb);
}
