// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * tx.c - transmit path: makes an skb of headers and payload, adds UDP and IP headers and the ICRC,
 * and sends it.
 *
 * Called by both sides and by window/ with BH disabled. Each attached page has a reference of its
 * own, so a process may deregister and free memory while packets with it are in a queue of the
 * network stack.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include <net/sch_generic.h>
#include "net/net.h"
#include "stats.h"
#include "net_private.h"

/* Longest piece of payload from napi_alloc_frag(); more gets a page of its own. */
#define PAVO_PIECE_MAX 256

/* Longest head from napi_alloc_frag(); a longer one comes from the slab. */
#define PAVO_HEAD_MAX 4096

/*
 * Allocate an skb with space for @len bytes. Its head is a part of a page, as in drivers that
 * receive. That is cheaper than the slab, and a fragment can refer to the page. In front of the
 * head, outside of the skb, is space for the trailer; see put_trailer().
 */
static struct sk_buff *alloc_head(unsigned int len)
{
	unsigned int size = SKB_DATA_ALIGN(PAVO_TRAILER_SPACE + len) +
			    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	struct sk_buff *skb;
	void *piece;

	if (size > PAVO_HEAD_MAX)
		return alloc_skb(len, GFP_ATOMIC | __GFP_NOWARN);

	piece = napi_alloc_frag(size);
	if (unlikely(!piece))
		return NULL;
	skb = napi_build_skb(piece + PAVO_TRAILER_SPACE,
			     size - PAVO_TRAILER_SPACE);
	if (unlikely(!skb))
		skb_free_frag(piece);
	return skb;
}

struct sk_buff *pavo_tx_alloc(const struct pavo_stats *stats,
			      struct pavo_flow *flow,
			      const struct pavo_pkt *pkt, unsigned int copy)
{
	unsigned int hdr_len =
		pkt ? pavo_opcode_get_info(pkt->opcode)->hdr_len : 0;
	struct sk_buff *skb;

	skb = alloc_head(flow->headroom + hdr_len + copy + PAVO_TRAILER_SPACE);
	if (unlikely(!skb)) {
		pavo_stats_add(stats, tx_drop_no_memory, 1);
		return NULL;
	}
	skb_reserve(skb, flow->headroom);
	if (pkt)
		pavo_build(__skb_put(skb, hdr_len), pkt);
	return skb;
}

void pavo_add_frag(struct sk_buff *skb, struct page *page, unsigned int offset,
		   unsigned int len)
{
	int i = skb_shinfo(skb)->nr_frags;

	if (skb_can_coalesce(skb, i, page, offset)) {
		skb_frag_size_add(&skb_shinfo(skb)->frags[i - 1], len);
		put_page(page);
	} else {
		skb_fill_page_desc(skb, i, page, offset, len);
	}
	skb->len += len;
	skb->data_len += len;
	skb->truesize += len;
}

/* Append [@mem, @mem + @len) as a fragment; consumes a page reference. */
static void add_mem(struct sk_buff *skb, void *mem, unsigned int len)
{
	struct page *page = virt_to_head_page(mem);

	pavo_add_frag(skb, page, mem - page_address(page), len);
}

/* Append a fragment of @len bytes; a long one gets a page of its own. */
static void *put_frag(struct sk_buff *skb, unsigned int len)
{
	struct page *page;
	void *mem;

	if (len <= PAVO_PIECE_MAX || len > PAGE_SIZE) {
		mem = napi_alloc_frag(len);
		if (likely(mem))
			add_mem(skb, mem, len);
		return mem;
	}
	page = pavo_page_take();
	if (unlikely(!page))
		return NULL;
	pavo_add_frag(skb, page, 0, len);
	return page_address(page);
}

void *pavo_tx_put(struct sk_buff *skb, unsigned int len)
{
	if (!skb_is_nonlinear(skb) && skb_tailroom(skb) >= len)
		return skb_put(skb, len);

	/* one fragment is for the trailer */
	if (skb_shinfo(skb)->nr_frags + 1 >= MAX_SKB_FRAGS)
		return NULL;
	return put_frag(skb, len);
}

/* Append space for pad, ICRC and metadata. */
static void *put_trailer(struct sk_buff *skb, unsigned int len)
{
	void *trailer;

	if (!skb_is_nonlinear(skb))
		return skb_put(skb, len);

	if (likely(skb->head_frag)) {
		trailer = skb->head - PAVO_TRAILER_SPACE;
		get_page(virt_to_head_page(trailer));
	} else {
		trailer = napi_alloc_frag(len);
		if (unlikely(!trailer))
			return NULL;
	}
	add_mem(skb, trailer, len);
	return trailer;
}

int pavo_tx_add_page(struct sk_buff *skb, struct page *page,
		     unsigned int offset, unsigned int len)
{
	int i = skb_shinfo(skb)->nr_frags;

	if (i + 1 >= MAX_SKB_FRAGS && !skb_can_coalesce(skb, i, page, offset))
		return -ENOSPC;
	if (unlikely(!sendpage_ok(page)))
		return -EOPNOTSUPP;

	get_page(page);
	pavo_add_frag(skb, page, offset, len);
	/* a process may write to the page, so the stack must not rely on its content */
	skb_shinfo(skb)->flags |= SKBFL_SHARED_FRAG;
	return 0;
}

static void push_udp(struct sk_buff *skb, const struct pavo_flow *flow)
{
	struct udphdr *udp = __skb_push(skb, sizeof(*udp));

	udp->source = flow->sport;
	udp->dest = htons(PAVO_UDP_PORT);
	udp->len = htons(skb->len);
	udp->check = 0; /* the ICRC protects the packet; annex A17.3.1 */
	skb_reset_transport_header(skb);
}

static void push_ip4(struct sk_buff *skb, const struct pavo_flow *flow,
		     const struct dst_entry *dst)
{
	struct iphdr *ip = __skb_push(skb, sizeof(*ip));

	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = pavo_flow_get_tos(flow);
	ip->tot_len = htons(skb->len);
	ip->id = 0; /* never fragmented */
	ip->frag_off = htons(IP_DF);
	ip->ttl = flow->hop_limit ?: ip4_dst_hoplimit(dst);
	ip->protocol = IPPROTO_UDP;
	ip->saddr = flow->saddr.s6_addr32[3];
	ip->daddr = flow->daddr.s6_addr32[3];
	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IP);
}

static void push_ip6(struct sk_buff *skb, const struct pavo_flow *flow,
		     struct dst_entry *dst)
{
	struct ipv6hdr *ip = __skb_push(skb, sizeof(*ip));

	ip6_flow_hdr(ip, pavo_flow_get_tos(flow), htonl(flow->flow_label));
	ip->payload_len = htons(skb->len - sizeof(*ip));
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = flow->hop_limit ?: ip6_dst_hoplimit(dst);
	ip->saddr = flow->saddr;
	ip->daddr = flow->daddr;
	skb_reset_network_header(skb);
	skb->protocol = htons(ETH_P_IPV6);
}

/* Compute the ICRC of a packet that is otherwise complete, and write it to @icrc. */
static void finish_icrc(struct sk_buff *skb, bool ipv6, void *icrc)
{
	const u8 *udp = skb_transport_header(skb);
	unsigned int behind_bth;
	__le32 value;
	u32 crc;

	behind_bth = skb_transport_offset(skb) + sizeof(struct udphdr) +
		     PAVO_BTH_LEN;
	pavo_packet_crc(&crc, skb, skb->data, ipv6, udp,
			udp + sizeof(struct udphdr), behind_bth,
			skb->len - behind_bth - PAVO_ICRC_LEN);
	value = cpu_to_le32(~crc);
	memcpy(icrc, &value, sizeof(value));
}

/*
 * Count a packet that the stack refused. Return: -EHOSTUNREACH: it would refuse the packet again,
 * so the packet counts as lost, and the sender's timer and retry count apply; -ENOBUFS: the sender
 * pauses.
 */
static int count_refused(const struct pavo_stats *stats, int err)
{
	switch (err) {
	case -EPERM: /* dropped by a rule of a filter */
		pavo_stats_add(stats, tx_drop_filtered, 1);
		return -EHOSTUNREACH;
	case -EMSGSIZE:
		pavo_stats_add(stats, tx_drop_too_long, 1);
		return -EHOSTUNREACH;
	default:
		pavo_stats_add(stats, tx_drop_congested, 1);
		return -ENOBUFS;
	}
}

/* Count packets, and their bytes behind the UDP headers. */
static void count_sent(const struct pavo_stats *stats, unsigned int packets,
		       unsigned int bytes)
{
	pavo_stats_add_bh(stats, tx_packets, packets);
	pavo_stats_add_bh(stats, tx_bytes, bytes);
}

bool pavo_tx_is_paced(const struct dst_entry *dst)
{
	const struct netdev_queue *queue = netdev_get_tx_queue(dst->dev, 0);

	/* An interface without a queueing discipline has one that does nothing. */
	return !strcmp(rcu_dereference(queue->qdisc)->ops->id, "fq");
}

void pavo_tx_set_departure(struct sk_buff *skb, u64 at)
{
	/* The third argument is a bool, and from Linux 6.11 on SKB_CLOCK_MONOTONIC. */
	skb_set_delivery_time(skb, ns_to_ktime(at), true);
}

static int send_addressed(const struct pavo_flow *flow, struct sk_buff *skb)
{
	struct net *net = dev_net(skb_dst(skb)->dev);

	if (pavo_flow_takes_local(flow, skb))
		return pavo_local_send(skb, flow->share);
	return flow->ipv6 ? ip6_local_out(net, NULL, skb) :
			    ip_local_out(net, NULL, skb);
}

int pavo_tx_pass(const struct pavo_stats *stats, const struct pavo_flow *flow,
		 struct sk_buff *skb, unsigned int packets, unsigned int bytes)
{
	int err = send_addressed(flow, skb);

	if (unlikely(net_xmit_eval(err)))
		return count_refused(stats, err);
	count_sent(stats, packets, bytes);
	return 0;
}

int pavo_tx_send_finished(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct sk_buff *skb)
{
	unsigned int len = skb->len - skb_transport_offset(skb);

	return pavo_tx_pass(stats, flow, skb, 1, len - sizeof(struct udphdr));
}

int pavo_tx_address(const struct pavo_stats *stats,
		    const struct pavo_flow *flow, struct dst_entry *dst,
		    struct sk_buff *skb)
{
	if (unlikely(!dst)) {
		pavo_stats_add(stats, tx_drop_no_route, 1);
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	skb_dst_set(skb, dst);
	skb->priority = flow->priority;

	push_udp(skb, flow);
	if (flow->ipv6)
		push_ip6(skb, flow, dst);
	else
		push_ip4(skb, flow, dst);
	return 0;
}

u8 *pavo_tx_add_trailer(const struct pavo_stats *stats, struct dst_entry *dst,
			struct sk_buff *skb, unsigned int len)
{
	u8 *trailer = put_trailer(skb, len);

	if (unlikely(!trailer)) {
		pavo_stats_add(stats, tx_drop_no_memory, 1);
		dst_release(dst);
		kfree_skb(skb);
	}
	return trailer;
}

int pavo_tx_finish(const struct pavo_stats *stats, const struct pavo_flow *flow,
		   struct dst_entry *dst, struct sk_buff *skb, unsigned int pad)
{
	u8 *trailer = pavo_tx_add_trailer(stats, dst, skb, pad + PAVO_ICRC_LEN);
	int err;

	if (unlikely(!trailer))
		return -ENOBUFS;
	/* Clear the pad, and bytes of the ICRC that finish_icrc() writes: one store of 4 bytes. */
	memset(trailer, 0, PAVO_ICRC_LEN);
	err = pavo_tx_address(stats, flow, dst, skb);
	if (!err)
		finish_icrc(skb, flow->ipv6, trailer + pad);
	return err;
}

int pavo_tx_finish_icrc(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct sk_buff *skb, unsigned int pad)
{
	return pavo_tx_finish(stats, flow, pavo_flow_get_route(flow), skb, pad);
}

int pavo_tx_send(const struct pavo_stats *stats, struct pavo_flow *flow,
		 struct sk_buff *skb, unsigned int pad)
{
	int err = pavo_tx_finish_icrc(stats, flow, skb, pad);

	return err ?: pavo_tx_send_finished(stats, flow, skb);
}
