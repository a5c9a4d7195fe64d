// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * gro.c - generic receive offload: merges consecutive packets of one message into a super-packet.
 *
 * Called by the network stack for each packet to the port that an interface with GRO has received,
 * before IP. A packet is merged into the one in front of it if both ICRCs are right. The receiver
 * does not check them again, because the super-packet gets authentic metadata. All other packets
 * are passed on unchanged, as is a packet that no other one follows.
 *
 * A merged super-packet has a GSO type that no device claims. If a rule forwards it instead of
 * delivering it to the socket, the stack segments it (deferred_icrc.c) before any device gets it.
 */
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/gro.h>
#include <net/sock.h>
#include "compat.h"
#include "net_private.h"

/**
 * struct arrival - a received packet that GRO looks at.
 * @skb:  the packet, or the super-packet so far
 * @pkt:  its headers
 * @at:   offset of the BTH from skb->data
 * @ipv6: family
 */
struct arrival {
	struct sk_buff *skb;
	struct pavo_pkt pkt;
	unsigned int at;
	bool ipv6;
};

static const u8 *get_arrival_bth(const struct arrival *arrival)
{
	return arrival->skb->data + arrival->at;
}

static const struct udphdr *get_arrival_udp(const struct arrival *arrival)
{
	return (const void *)(get_arrival_bth(arrival) - sizeof(struct udphdr));
}

/* GRO takes no IPv4 header with options to a socket, but IPv6 with extension headers. */
static const void *get_arrival_ip(const struct arrival *arrival)
{
	return (const u8 *)get_arrival_udp(arrival) -
	       (arrival->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
}

static bool is_arrival_icrc_ok(const struct arrival *arrival)
{
	const unsigned int from = arrival->at + PAVO_BTH_LEN;
	u32 crc;

	return !pavo_packet_crc(&crc, arrival->skb, get_arrival_ip(arrival),
				arrival->ipv6, get_arrival_udp(arrival),
				get_arrival_bth(arrival), from,
				arrival->skb->len - from) &&
	       crc == PAVO_CRC_GOOD;
}

/* True if it is for this namespace: pavo must not merge packets that are forwarded. */
static bool is_local(const struct arrival *arrival, struct net *net)
{
	const struct ipv6hdr *ip6 = get_arrival_ip(arrival);
	const struct iphdr *ip4 = get_arrival_ip(arrival);

	if (arrival->ipv6)
		return pavo_ip6_dev_find(net, &ip6->daddr);
	return __ip_dev_find(net, ip4->daddr, false);
}

/*
 * True if the ICRC can be trimmed by shortening the last fragment. A fragment that becomes empty is
 * freed, which put_page() cannot do with pages of a driver's pool.
 */
static bool ends_in_one_piece(const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int last;

	if (!info->nr_frags)
		return true;
	last = skb_frag_size(&info->frags[info->nr_frags - 1]);
	return last > PAVO_ICRC_LEN ||
	       (last == PAVO_ICRC_LEN && !skb->pp_recycle);
}

/* ----------------------------------------------------------------- parsing */

/* Parse a packet that has just been received. Return: 0; -EINVAL: it cannot be merged. */
static int parse_arrival(struct arrival *arrival)
{
	struct sk_buff *skb = arrival->skb;
	const struct pavo_op_info *op =
		pavo_opcode_get_info(*get_arrival_bth(arrival));
	const unsigned int len = skb_gro_len(skb);

	/* Senders of this machine make super-packets themselves, and mark their packets. */
	if (NAPI_GRO_CB(skb)->flush || skb_is_gso(skb) || skb->encapsulation ||
	    skb_cloned(skb) || skb_zcopy(skb) || skb_has_frag_list(skb) || !op)
		return -EINVAL;
	/* Pull headers only, so that payload in fragments stays there. */
	if (!skb_gro_header_slow(skb, arrival->at + op->hdr_len, arrival->at))
		return -EINVAL;
	if (get_arrival_udp(arrival)->check ||
	    ntohs(get_arrival_udp(arrival)->len) !=
		    len + sizeof(struct udphdr) ||
	    (arrival->ipv6 &&
	     ((struct ipv6hdr *)get_arrival_ip(arrival))->nexthdr !=
		     IPPROTO_UDP))
		return -EINVAL;
	if (pavo_parse(&arrival->pkt, get_arrival_bth(arrival), op->hdr_len,
		       len) != PAVO_PARSE_OK ||
	    !ends_in_one_piece(skb))
		return -EINVAL;
	return 0;
}

/*
 * Parse the packet or super-packet that GRO holds. A super-packet has no ICRC. Return: 0; -EINVAL:
 * it cannot be merged.
 */
static int parse_waiting(struct arrival *gso)
{
	struct sk_buff *skb = gso->skb;
	const unsigned int count = NAPI_GRO_CB(skb)->count;
	const unsigned int icrc = count > 1 ? PAVO_ICRC_LEN : 0;

	if (NAPI_GRO_CB(skb)->flush || NAPI_GRO_CB(skb)->is_flist ||
	    pavo_parse(&gso->pkt, get_arrival_bth(gso),
		       skb_headlen(skb) - gso->at,
		       skb->len - gso->at + icrc) != PAVO_PARSE_OK)
		return -EINVAL;
	gso->pkt.npkts = count;
	return 0;
}

/* ----------------------------------------------------------------- merging */

/* Number of fragments that a packet has after its ICRC is trimmed. */
static unsigned int count_payload_frags(const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int n = info->nr_frags;

	return n && skb_frag_size(&info->frags[n - 1]) == PAVO_ICRC_LEN ?
		       n - 1 :
		       n;
}

static void trim_icrc(struct sk_buff *skb)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	skb_frag_t *last;

	if (!info->nr_frags) {
		__skb_trim(skb, skb->len - PAVO_ICRC_LEN);
		return;
	}
	last = &info->frags[info->nr_frags - 1];
	skb_frag_size_sub(last, PAVO_ICRC_LEN);
	skb->len -= PAVO_ICRC_LEN;
	skb->data_len -= PAVO_ICRC_LEN;
	if (!skb_frag_size(last)) {
		put_page(skb_frag_page(last));
		info->nr_frags--;
	}
}

static unsigned int get_headers_len(const struct arrival *arrival)
{
	return arrival->at + arrival->pkt.info->hdr_len;
}

/* True if all payload of @next is in fragments, and the super-packet has space for these. */
static bool frags_fit(const struct arrival *gso, const struct arrival *next)
{
	const struct sk_buff *to = gso->skb, *skb = next->skb;
	unsigned int n = count_payload_frags(skb);

	n += NAPI_GRO_CB(to)->count > 1 ? skb_shinfo(to)->nr_frags :
					  count_payload_frags(to);
	/* One fragment is for the metadata. */
	return skb_headlen(skb) == get_headers_len(next) &&
	       !skb_has_frag_list(to) && to->pp_recycle == skb->pp_recycle &&
	       n < MAX_SKB_FRAGS;
}

/*
 * True if the skb may be appended to the list of the super-packet. A super-packet whose payload is
 * in fragments gets no list, which would be slow to copy: it is complete when it is full.
 */
static bool may_append(const struct arrival *gso, const struct arrival *next)
{
	return (skb_has_frag_list(gso->skb) ||
		skb_headlen(next->skb) > get_headers_len(next)) &&
	       skb_shinfo(next->skb)->nr_frags < MAX_SKB_FRAGS;
}

/* Move the fragments, which hold all payload; the stack frees the skb. */
static void move_frags(struct sk_buff *gso, struct sk_buff *skb)
{
	struct skb_shared_info *to = skb_shinfo(gso);
	struct skb_shared_info *from = skb_shinfo(skb);
	const unsigned int len = skb->data_len;

	memcpy(&to->frags[to->nr_frags], from->frags,
	       from->nr_frags * sizeof(from->frags[0]));
	to->nr_frags += from->nr_frags;
	from->nr_frags = 0;
	skb->len -= len;
	skb->data_len = 0;
	skb->truesize -= len;
	gso->truesize += len;
	NAPI_GRO_CB(skb)->free = NAPI_GRO_FREE;
}

/* Append the skb without its headers to the list. */
static void append_skb(struct sk_buff *gso, struct sk_buff *skb,
		       unsigned int headers)
{
	struct sk_buff *last = NAPI_GRO_CB(gso)->last;

	skb_orphan(skb);
	__skb_pull(skb, headers);
	if (last == gso)
		skb_shinfo(gso)->frag_list = skb;
	else
		last->next = skb;
	NAPI_GRO_CB(gso)->last = skb;
	__skb_header_release(skb);
	gso->truesize += skb->truesize;
}

static void merge_payload(struct arrival *gso, struct arrival *next)
{
	struct sk_buff *to = gso->skb, *skb = next->skb;
	const bool fit = frags_fit(gso, next);

	if (NAPI_GRO_CB(to)->count == 1)
		trim_icrc(to);
	trim_icrc(skb);
	if (fit)
		move_frags(to, skb);
	else
		append_skb(to, skb, get_headers_len(next));
	to->len += next->pkt.payload + next->pkt.pad;
	to->data_len += next->pkt.payload + next->pkt.pad;
	skb_shinfo(to)->flags |= skb_shinfo(skb)->flags & SKBFL_SHARED_FRAG;
	NAPI_GRO_CB(to)->count++;
	NAPI_GRO_CB(skb)->same_flow = 1;
}

/* Merge @next into the packet or super-packet in front of it. -EINVAL: they do not fit together. */
static int merge_packet(struct arrival *gso, struct arrival *next,
			struct net *net)
{
	struct sk_buff *skb = gso->skb;
	const bool is_packet = NAPI_GRO_CB(skb)->count == 1;
	u32 unit;

	if (parse_waiting(gso))
		return -EINVAL;
	unit = is_packet ? gso->pkt.payload : skb_shinfo(skb)->gso_size;
	if (gso->pkt.payload + next->pkt.payload > PAVO_GSO_BYTES ||
	    pavo_gso_append(&gso->pkt, unit, &next->pkt) ||
	    !(frags_fit(gso, next) || may_append(gso, next)))
		return -EINVAL;
	if (is_packet && (skb_cloned(skb) || !is_local(gso, net) ||
			  !is_arrival_icrc_ok(gso)))
		return -EINVAL;
	if (!is_arrival_icrc_ok(next))
		return -EINVAL;
	merge_payload(gso, next);
	skb_shinfo(skb)->gso_size = unit;
	if (!pavo_gso_may_grow(&gso->pkt))
		pavo_build(skb->data + gso->at, &gso->pkt);
	return 0;
}

/* Find the packet of the same QP that GRO holds, and mark those of other QPs as other flows. */
static struct sk_buff *find_held_packet(struct list_head *head, unsigned int at,
					const u8 *bth)
{
	struct sk_buff *p, *found = NULL;

	list_for_each_entry(p, head, list) {
		if (!NAPI_GRO_CB(p)->same_flow)
			continue;
		if (!found && skb_headlen(p) >= at + PAVO_BTH_LEN &&
		    pavo_peek_qpn(p->data + at) == pavo_peek_qpn(bth))
			found = p;
		else
			NAPI_GRO_CB(p)->same_flow = 0;
	}
	return found;
}

/* True if another packet of the same length would not fit. */
static bool is_full(const struct arrival *gso)
{
	const struct skb_shared_info *info = skb_shinfo(gso->skb);

	return gso->pkt.payload + info->gso_size > PAVO_GSO_BYTES ||
	       info->nr_frags + 1 >= MAX_SKB_FRAGS;
}

struct sk_buff *pavo_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb)
{
	struct arrival next = {
		.skb = skb,
		.at = skb_gro_offset(skb),
		.ipv6 = sk->sk_family == AF_INET6,
	};
	struct arrival gso = { .at = next.at, .ipv6 = next.ipv6 };
	const u8 *bth =
		skb_gro_header_slow(skb, next.at + PAVO_BTH_LEN, next.at);

	if (!bth) {
		NAPI_GRO_CB(skb)->flush = 1;
		return NULL;
	}
	gso.skb = find_held_packet(head, next.at, bth);
	if (parse_arrival(&next)) {
		NAPI_GRO_CB(skb)->flush = 1;
		return gso.skb;
	}
	skb_gro_pull(skb, next.pkt.info->hdr_len);
	if (gso.skb && !merge_packet(&gso, &next, sock_net(sk)))
		return pavo_gso_may_grow(&gso.pkt) && !is_full(&gso) ? NULL :
								       gso.skb;
	if (!pavo_gso_may_grow(&next.pkt))
		NAPI_GRO_CB(skb)->flush = 1;
	/* The super-packet is passed on before this packet. */
	return gso.skb;
}

/* -------------------------------------------------------------- completing */

/* Append space for the metadata to a super-packet; NULL: no memory. */
static void *append_meta(struct sk_buff *skb)
{
	const unsigned int len = PAVO_TAIL_LEN;
	struct sk_buff *last = skb_has_frag_list(skb) ? NAPI_GRO_CB(skb)->last :
							skb;
	struct page *page;
	void *to;

	to = napi_alloc_frag(len);
	if (unlikely(!to))
		return NULL;
	page = virt_to_head_page(to);
	skb_fill_page_desc(last, skb_shinfo(last)->nr_frags, page,
			   to - page_address(page), len);
	last->len += len;
	last->data_len += len;
	skb->truesize += len;
	if (last != skb) {
		skb->len += len;
		skb->data_len += len;
	}
	return to;
}

/* Add the length of the metadata to IP and UDP headers, whose lengths the stack has set. */
static void lengthen_headers(const struct arrival *gso, unsigned int len)
{
	struct udphdr *udp = (struct udphdr *)get_arrival_udp(gso);
	struct ipv6hdr *ip6 = (struct ipv6hdr *)get_arrival_ip(gso);
	struct iphdr *ip4 = (struct iphdr *)get_arrival_ip(gso);

	be16_add_cpu(&udp->len, len);
	if (gso->ipv6) {
		be16_add_cpu(&ip6->payload_len, len);
	} else {
		be16_add_cpu(&ip4->tot_len, len);
		ip_send_check(ip4);
	}
}

/*
 * Complete a super-packet: add authentic metadata, which prove to the receiver that the ICRCs were
 * checked. If there is no memory for them, the receiver drops the packet.
 */
int pavo_gro_complete(struct sock *sk, struct sk_buff *skb, int at)
{
	struct arrival gso = {
		.skb = skb,
		.at = at,
		.ipv6 = sk->sk_family == AF_INET6,
	};
	void *to = append_meta(skb);

	if (likely(to))
		lengthen_headers(&gso, PAVO_TAIL_LEN);
	pavo_gso_finish(skb, at, NAPI_GRO_CB(skb)->count, gso.ipv6,
			get_arrival_ip(&gso), to);
	return 0;
}
