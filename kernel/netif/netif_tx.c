// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * netif_tx.c - packets of an interface over a window, to its peers.
 *
 * Called by the network stack with a packet, and by netif_rx.c's poll when frames were sent. A
 * packet that fits a frame is a frame for each node that it is for. A longer one for one node is
 * offered for RDMA (bulk.c). A longer one for several is split into IP fragments. The interface
 * has one packet in work; while the send FIFO is full, or no buffer is free, its queue is stopped.
 */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/random.h>
#include <net/ip.h>
#include "netif/netif_private.h"

/* ----------------------------------------------------------------- frames */

/*
 * Take back the frames that were sent. Once for a call, not for each frame that is written: while
 * another CPU sends them there would always be space, and a packet for many nodes may be thousands
 * of frames.
 */
static void reclaim_frames(struct pavo_netif *netif)
{
	struct pavo_frame_hdr *frame;
	u32 state;

	for (; netif->tail != netif->head; netif->tail++) {
		frame = pavo_kernel_window_frame(netif->window, netif->tail);
		/* Pairs with the worker's release: it does not use the frame any more. */
		state = smp_load_acquire(&frame->state);
		if (state == PAVO_FRAME_EMPTY)
			return;
		if (state != PAVO_FRAME_SENT)
			pavo_netif_count(netif, tx_drop_not_sent);
	}
}

struct pavo_frame_hdr *pavo_netif_slot(struct pavo_netif *netif)
{
	if (netif->head - netif->tail == PAVO_NETIF_FRAMES)
		return NULL;
	return pavo_kernel_window_frame(netif->window, netif->head);
}

void pavo_netif_start(struct pavo_netif *netif, struct pavo_frame_hdr *frame,
		      u32 node, u8 type, u8 kind, u32 length)
{
	frame->node = node;
	frame->length = length;
	frame->window = pavo_netif_peer(netif, node);
	frame->type = type;
	frame->kind = kind;
	frame->reserved[0] = 0;
	frame->reserved[1] = 0;
	frame->state = PAVO_FRAME_EMPTY;
	netif->head++;
	/* Takes the window's lock, as the worker that reads the frame. */
	pavo_kernel_window_start(netif->window, 1);
}

/* ---------------------------------------------------------------- packets */

/* Write the present fragment, or the whole packet, to @frame. Return: its bytes. */
static u32 write_frame_payload(const struct pavo_netif_packet *packet,
			       struct pavo_frame_hdr *frame)
{
	const struct pavo_ipfrag_piece *piece = &packet->piece;
	u8 *to = (u8 *)(frame + 1);
	u32 head = ETH_HLEN + piece->head_len;

	if (!packet->split) {
		skb_copy_bits(packet->skb, 0, to, packet->skb->len);
		return packet->skb->len;
	}
	skb_copy_bits(packet->skb, 0, to, ETH_HLEN);
	memcpy(to + ETH_HLEN, piece->head, piece->head_len);
	skb_copy_bits(packet->skb, ETH_HLEN + piece->from, to + head,
		      piece->len);
	return head + piece->len;
}

/*
 * Find the next node that gets the present fragment, from @packet->node on. Return: 0; -ENOENT:
 * there is none.
 */
static int find_target(const struct pavo_netif *netif,
		       struct pavo_netif_packet *packet)
{
	if (!packet->many)
		return packet->rest ? 0 : -ENOENT;
	while (packet->node < netif->nodes &&
	       !pavo_netif_peer(netif, packet->node))
		packet->node++;
	return packet->node < netif->nodes ? 0 : -ENOENT;
}

/* Write the present fragment to a frame for each node. Return: 0; -ENOSPC: the FIFO is full. */
static int write_to_nodes(struct pavo_netif *netif,
			  struct pavo_netif_packet *packet)
{
	struct pavo_frame_hdr *frame;
	u32 length;

	while (!find_target(netif, packet)) {
		frame = pavo_netif_slot(netif);
		if (!frame)
			return -ENOSPC;
		length = write_frame_payload(packet, frame);
		pavo_netif_start(netif, frame, packet->node, PAVO_FRAME_MESSAGE,
				 PAVO_MESSAGE_NETIF, length);
		packet->rest = false;
		if (packet->many)
			packet->node++;
	}
	return 0;
}

/* Go on to the next fragment. Return: 0; -ENODATA: there is none. */
static int take_next_piece(struct pavo_netif *netif,
			   struct pavo_netif_packet *packet)
{
	if (!packet->split || pavo_ipfrag_next(&packet->frag, &packet->piece))
		return -ENODATA;
	pavo_netif_count(netif, tx_fragments);
	packet->rest = true;
	if (packet->many)
		packet->node = 0;
	return 0;
}

/*
 * Identification for a packet of which the IP layer did not make a unique one: IPv4 that may not be
 * fragmented by routers, or IPv6.
 */
static u32 make_identification(const struct pavo_netif *netif,
			       const struct sk_buff *skb, const u8 *head)
{
	struct iphdr header;

	if (eth_hdr(skb)->h_proto != htons(ETH_P_IP))
		return get_random_u32();
	memcpy(&header, head, sizeof(header));
	__ip_select_ident(dev_net(netif->dev), &header, 1);
	return ntohs(header.id);
}

/* Begin to split the packet. Return: 0; a negative errno: it cannot be split. */
static int split_packet(struct pavo_netif *netif,
			struct pavo_netif_packet *packet)
{
	const struct sk_buff *skb = packet->skb;
	u32 length = skb->len - ETH_HLEN, look = min(length, PAVO_IPFRAG_LOOK);
	u32 mtu = pavo_kernel_window_payload(netif->window) - ETH_HLEN;
	__be16 type = eth_hdr(skb)->h_proto;
	u8 head[PAVO_IPFRAG_LOOK] = {};
	int err;

	if (type != htons(ETH_P_IP) && type != htons(ETH_P_IPV6))
		return -EINVAL;
	if (skb_copy_bits(skb, ETH_HLEN, head, look))
		return -EINVAL;
	if (head[0] >> 4 != (type == htons(ETH_P_IP) ? 4 : 6))
		return -EINVAL;
	err = pavo_ipfrag_begin(&packet->frag, head, length, mtu,
				make_identification(netif, skb, head));
	if (err)
		return err;
	packet->split = true;
	pavo_netif_count(netif, tx_split);
	take_next_piece(netif, packet);
	return 0;
}

/*
 * Send the packet on. Return: 0: all of it is written; -ENOSPC: it waits for a frame; -EAGAIN: for
 * a buffer; -EMSGSIZE: it cannot be sent.
 */
static int send_on(struct pavo_netif *netif, struct pavo_netif_packet *packet)
{
	const struct sk_buff *skb = packet->skb;
	int err;

	if (!packet->split &&
	    skb->len > pavo_kernel_window_payload(netif->window)) {
		err = packet->many ? -ENODEV :
				     pavo_bulk_send(netif, skb, packet->node);
		if (err != -ENODEV)
			return err;
		if (split_packet(netif, packet))
			return -EMSGSIZE;
	}
	do {
		err = write_to_nodes(netif, packet);
	} while (!err && !take_next_piece(netif, packet));
	return err;
}

/* The packet was written, or cannot be sent. */
static void end_packet(struct pavo_netif *netif, int err)
{
	struct sk_buff *skb = netif->packet.skb;

	if (err) {
		pavo_netif_count(netif, tx_drop_too_long);
		DEV_STATS_INC(netif->dev, tx_dropped);
		dev_kfree_skb_any(skb);
	} else {
		dev_sw_netstats_tx_add(netif->dev, 1, skb->len);
		dev_consume_skb_any(skb);
	}
	netif->packet.skb = NULL;
}

/* The FIFO is full: poll when there is space again. */
static void poll_for_space(struct pavo_netif *netif)
{
	pavo_kernel_window_threshold(netif->window, PAVO_NETIF_WAKE);
	/* Frames that were sent before that raised no event. */
	reclaim_frames(netif);
	if (pavo_netif_slot(netif))
		napi_schedule(&netif->napi);
}

/* Write requests and the packet that wait, as far as they fit. @tx_lock held. */
static void write_waiting(struct pavo_netif *netif)
{
	int err;

	reclaim_frames(netif);
	err = pavo_bulk_request(netif);
	if (!err && netif->packet.skb) {
		err = send_on(netif, &netif->packet);
		if (!err || err == -EMSGSIZE) {
			end_packet(netif, err);
			err = pavo_bulk_request(netif);
		}
	}
	if (err == -ENOSPC)
		poll_for_space(netif);
}

void pavo_netif_send(struct pavo_netif *netif)
{
	spin_lock(&netif->tx_lock);
	write_waiting(netif);
	if (!netif->packet.skb && netif_queue_stopped(netif->dev) &&
	    netif_running(netif->dev))
		netif_wake_queue(netif->dev);
	spin_unlock(&netif->tx_lock);
	pavo_kernel_window_transmit(netif->window);
}

void pavo_netif_drop(struct pavo_netif *netif)
{
	spin_lock(&netif->tx_lock);
	dev_kfree_skb_any(netif->packet.skb);
	netif->packet.skb = NULL;
	spin_unlock(&netif->tx_lock);
}

/* Find the node that a packet for one station is for. Return: 0; -EHOSTUNREACH: none. */
static int find_node(const struct pavo_netif *netif, const u8 *address,
		     u32 *node)
{
	u32 window;

	if (pavo_ether_parse(address, node, &window) || !window ||
	    pavo_netif_peer(netif, *node) != window)
		return -EHOSTUNREACH;
	return 0;
}

/* Begin the packet. Return: 0; -EHOSTUNREACH: it is for no node; -EINVAL; -ENOMEM. */
static int begin_packet(struct pavo_netif *netif, struct sk_buff *skb)
{
	struct pavo_netif_packet *packet = &netif->packet;
	const u8 *to;

	if (!pskb_may_pull(skb, ETH_HLEN))
		return -EINVAL;
	/* The checksum of the whole is to be that of the packet that the receiver reassembles. */
	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(skb))
		return -ENOMEM;
	skb_reset_mac_header(skb);
	to = eth_hdr(skb)->h_dest;
	packet->many = is_multicast_ether_addr(to);
	packet->split = false;
	packet->rest = true;
	packet->node = 0;
	if (!packet->many && find_node(netif, to, &packet->node))
		return -EHOSTUNREACH;
	packet->skb = skb;
	return 0;
}

static void drop_packet(struct pavo_netif *netif, struct sk_buff *skb, int err)
{
	if (err == -EHOSTUNREACH)
		pavo_netif_count(netif, tx_drop_node);
	DEV_STATS_INC(netif->dev, tx_dropped);
	dev_kfree_skb_any(skb);
}

netdev_tx_t pavo_netif_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct pavo_netif *netif = netdev_priv(dev);
	bool transmit;
	int err;

	spin_lock(&netif->tx_lock);
	if (WARN_ON_ONCE(netif->packet.skb)) {
		spin_unlock(&netif->tx_lock);
		netif_stop_queue(dev);
		return NETDEV_TX_BUSY;
	}
	err = begin_packet(netif, skb);
	if (err)
		drop_packet(netif, skb, err);
	else
		write_waiting(netif);
	if (netif->packet.skb) {
		pavo_netif_count(netif, tx_stops);
		netif_stop_queue(dev);
	}
	transmit = netif->packet.skb || !netdev_xmit_more();
	spin_unlock(&netif->tx_lock);
	if (transmit)
		pavo_kernel_window_transmit(netif->window);
	return NETDEV_TX_OK;
}
