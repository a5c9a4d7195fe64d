// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * receive.c - from packets to frames of receive FIFOs.
 *
 * Called by context/ for every packet with a window's header. Several CPUs may fill
 * one FIFO at a time, in no order: each takes a slot under the lock and writes it
 * without. Whatever does not fit anywhere is dropped and counted, and nobody is told.
 */
#include <linux/skbuff.h>
#include "window/rdma.h"

/* A slot for one frame; false: the process has consumed too little. */
static bool take_slot(struct pavo_fifo_window *window, u32 *slot)
{
	struct pavo_fifo *fifo = &window->recv;
	bool taken;

	spin_lock(&window->lock);
	/* Slots come back by command, and nobody calls for that. */
	if (!fifo->avail)
		pavo_window_commands(window);
	taken = fifo->avail;
	if (taken) {
		fifo->avail--;
		*slot = fifo->count++;
	}
	spin_unlock(&window->lock);
	return taken;
}

/* The last of a frame, by which it is seen. */
static void write_header(struct pavo_frame_hdr *hdr, u32 node, u32 window,
			 enum pavo_frame_type type, u32 length)
{
	WRITE_ONCE(hdr->node, node);
	WRITE_ONCE(hdr->length, length);
	WRITE_ONCE(hdr->window, window);
	WRITE_ONCE(hdr->type, type);
	/* Pairs with the consumer's acquire. */
	smp_store_release(&hdr->state, PAVO_FRAME_ARRIVED);
}

/*
 * All but the first line, then that, then the word that says so: a consumer who sees
 * it sees the whole frame. Short messages are in the first line only.
 */
static bool write_frame(void *frame, const struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_frame_hdr *hdr = frame;
	u32 first =
		min_t(u32, pkt->payload, PAVO_FRAME_LINE - PAVO_FRAME_HDR_SIZE);

	if (skb_copy_bits(rx->skb, rx->payload + first, frame + PAVO_FRAME_LINE,
			  pkt->payload - first))
		return false;
	if (skb_copy_bits(rx->skb, rx->payload, hdr + 1, first))
		return false;
	write_header(hdr, pkt->src_node, pkt->src_window, PAVO_FRAME_MESSAGE,
		     pkt->payload);
	return true;
}

bool pavo_window_put(struct pavo_fifo_window *window, u32 node, u32 from,
		     enum pavo_frame_type type, const void *payload, u32 len)
{
	struct pavo_frame_hdr *hdr;
	u32 slot;

	if (WARN_ON_ONCE(len > PAVO_FRAME_LINE - PAVO_FRAME_HDR_SIZE))
		return false;
	if (!take_slot(window, &slot)) {
		pavo_count(window->dev, rx_drop_fifo_full);
		return false;
	}
	hdr = pavo_frame(&window->recv, slot);
	memcpy(hdr + 1, payload, len);
	write_header(hdr, node, from, type, len);
	pavo_fifo_tell(&window->recv);
	return true;
}

/* One that may have it. */
static struct pavo_fifo_window *window_for(const struct pavo_rx *rx)
{
	struct pavo_dev *dev = rx->dev;
	struct pavo_fifo_window *window =
		xa_load(&dev->windows.table, rx->pkt.dqpn);

	if (!window || READ_ONCE(window->dead))
		pavo_count(dev, rx_drop_window);
	else if (!pavo_pkey_ok(rx->pkt.pkey, PAVO_PKEY_DEFAULT))
		pavo_count(dev, rx_drop_pkey);
	else if (rx->pkt.window_key != window->key)
		pavo_count(dev, rx_drop_window_key);
	else
		return window;
	return NULL;
}

static bool receive(struct pavo_rx *rx)
{
	struct pavo_dev *dev = rx->dev;
	struct pavo_fifo_window *window = window_for(rx);
	u32 slot;

	if (!window)
		return false;
	if (rx->pkt.opcode != PAVO_OP_WINDOW_MESSAGE)
		return pavo_rdma_receive(window, rx);
	if (rx->pkt.payload > PAVO_FRAME_PAYLOAD) {
		pavo_count(dev, rx_drop_too_long);
	} else if (!take_slot(window, &slot)) {
		pavo_count(dev, rx_drop_fifo_full);
	} else if (write_frame(pavo_frame(&window->recv, slot), rx)) {
		pavo_count(dev, rx_frames);
		pavo_fifo_tell(&window->recv);
		return true;
	}
	return false;
}

void pavo_window_receive(struct pavo_rx *rx)
{
	if (receive(rx))
		pavo_rx_free(rx->skb);
	else
		kfree_skb(rx->skb);
}
