// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * netif_rx.c - packets of peers, to the network stack.
 *
 * Called by the window for each message, and by NAPI for packets that came by RDMA. A peer has the
 * window key, but may send anything: all is checked before an skb is made of it. The peer is known
 * by node and window; its packets have its hardware address as source.
 */
#include <linux/nospec.h>
#include "net/net.h"
#include "netif/netif_private.h"

/* Hash of a group's address, for a set of 64 bits. */
u32 pavo_netif_hash(const u8 *address)
{
	return ether_crc(ETH_ALEN, address) >> 26;
}

u32 pavo_netif_peer(const struct pavo_netif *netif, u32 node)
{
	if (node >= netif->nodes || node == netif->node)
		return 0;
	return READ_ONCE(netif->peers[array_index_nospec(node, netif->nodes)]);
}

static bool is_for_us(const struct pavo_netif *netif, const u8 *to)
{
	const struct net_device *dev = netif->dev;

	if (READ_ONCE(dev->flags) & IFF_PROMISC || is_broadcast_ether_addr(to))
		return true;
	if (!is_multicast_ether_addr(to))
		return ether_addr_equal_unaligned(to, dev->dev_addr);
	return READ_ONCE(dev->flags) & IFF_ALLMULTI ||
	       READ_ONCE(netif->groups) & BIT_ULL(pavo_netif_hash(to));
}

bool pavo_netif_accepts(struct pavo_netif *netif, const u8 *head, u32 length,
			u32 node, u32 window)
{
	u8 peer[PAVO_ETHER_ADDRESS];
	bool valid = false;

	pavo_ether_name(peer, node, window);
	switch (pavo_ether_check(head, length, peer)) {
	case PAVO_ETHER_SHORT:
		pavo_netif_count(netif, rx_drop_length);
		break;
	case PAVO_ETHER_SPOOFED:
		pavo_netif_count(netif, rx_drop_source);
		break;
	case PAVO_ETHER_TRUNCATED:
		pavo_netif_count(netif, rx_drop_truncated);
		break;
	case PAVO_ETHER_OK:
		valid = true;
		break;
	}
	if (!valid) {
		DEV_STATS_INC(netif->dev, rx_errors);
		return false;
	}
	/* Groups of others are no error: they go to all nodes. */
	if (is_for_us(netif, head))
		return true;
	if (!is_multicast_ether_addr(head))
		pavo_netif_count(netif, rx_drop_destination);
	return false;
}

/* Pass a packet with @length bytes on, all of which the packet of @rx has. */
static void pass_packet(struct pavo_netif *netif, const struct pavo_rx *rx,
			u32 length)
{
	struct sk_buff *skb = netdev_alloc_skb_ip_align(netif->dev, length);

	if (!skb) {
		pavo_netif_count(netif, rx_drop_no_memory);
		DEV_STATS_INC(netif->dev, rx_dropped);
		return;
	}
	skb_copy_bits(rx->skb, rx->payload, skb_put(skb, length), length);
	skb->protocol = eth_type_trans(skb, netif->dev);
	if (skb->pkt_type == PACKET_MULTICAST)
		DEV_STATS_INC(netif->dev, multicast);
	dev_sw_netstats_rx_add(netif->dev, length);
	if (netif_rx(skb) != NET_RX_SUCCESS)
		pavo_netif_count(netif, rx_drop_backlog);
}

static void receive_packet_of_peer(struct pavo_netif *netif,
				   const struct pavo_put *put)
{
	const struct pavo_rx *rx = put->rx;
	u32 length = rx->pkt.payload;
	u8 head[PAVO_ETHER_LOOK];

	skb_copy_bits(rx->skb, rx->payload, head, min(length, PAVO_ETHER_LOOK));
	if (pavo_netif_accepts(netif, head, length, put->node, put->window))
		pass_packet(netif, rx, length);
}

int pavo_netif_receive(void *owner, const struct pavo_put *put)
{
	struct pavo_netif *netif = owner;
	bool message = put->type == PAVO_FRAME_MESSAGE;

	if (!netif_running(netif->dev)) {
		pavo_netif_count(netif, rx_drop_down);
	} else if (!put->window ||
		   pavo_netif_peer(netif, put->node) != put->window) {
		pavo_netif_count(netif, rx_drop_node);
	} else if (message && put->kind == PAVO_MESSAGE_NETIF) {
		receive_packet_of_peer(netif, put);
	} else if (message && put->kind == PAVO_MESSAGE_NETIF_OFFER) {
		pavo_bulk_offered(netif, put);
	} else if (put->type == PAVO_FRAME_RDMA_DONE) {
		pavo_bulk_done(netif, put);
	} else {
		/* Of another program of the job; or half RDMA, which has no place here. */
		pavo_netif_count(netif, rx_drop_kind);
	}
	return 0;
}

int pavo_netif_poll(struct napi_struct *napi, int budget)
{
	struct pavo_netif *netif = container_of(napi, struct pavo_netif, napi);
	int done = pavo_bulk_poll(netif, budget);

	pavo_netif_send(netif);
	if (done < budget)
		napi_complete_done(napi, done);
	return done;
}
