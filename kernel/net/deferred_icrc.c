// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * deferred_icrc.c - packets whose ICRC is deferred: single packets, GSO super-packets and coalesced
 * packets that have no ICRC. For devices that cannot take them they are segmented into packets with
 * an ICRC.
 *
 * To the network stack such a packet is a UDP tunnel with a protocol of its own inside, which the
 * device is to segment. Devices in software (veth) pass it on unchanged, so two adapters of one
 * machine never compute an ICRC, as TCP does with its checksum. For any other device the stack
 * calls segment_gso(). conn.c makes sure that only peers which support it get such a packet.
 *
 * Tunnels, tc and BPF can set the same fields in any packet. So the fields are a hint only: the
 * ICRC counts as deferred if the packet's metadata is authentic (auth.c).
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include "compat.h"
#include "net_private.h"

bool pavo_deferred_icrc = true;
module_param_named(deferred_icrc, pavo_deferred_icrc, bool, 0644);
MODULE_PARM_DESC(deferred_icrc,
		 "defer the ICRC of packets to adapters of this machine (Y)");

static const struct pavo_net_calls *calls;

/* For debugfs: skbs of several packets that were made, skbs segmented, packets that GRO merged. */
static atomic_long_t super_packets = ATOMIC_LONG_INIT(0);
static atomic_long_t deferred_segmented = ATOMIC_LONG_INIT(0);
static atomic_long_t packets_merged = ATOMIC_LONG_INIT(0);

void pavo_net_show(struct seq_file *file)
{
	seq_printf(file, "super_packets %ld\nsegmented %ld\nmerged %ld\n",
		   atomic_long_read(&super_packets),
		   atomic_long_read(&deferred_segmented),
		   atomic_long_read(&packets_merged));
}

static void count_merged(u32 packets)
{
	atomic_long_add(packets, &packets_merged);
}

/*
 * True if an interface needs super-packets to be segmented. If its features change at this moment,
 * at most one packet is lost.
 */
static bool needs_segmentation(const struct net_device *ndev)
{
	const netdev_features_t takes = NETIF_F_GSO_UDP_TUNNEL |
					NETIF_F_GSO_SCTP;

	return (READ_ONCE(ndev->features) & takes) != takes;
}

enum pavo_icrc_defer pavo_icrc_may_defer(const struct pavo_flow *flow,
					 const struct dst_entry *dst,
					 struct pavo_gso_backoff *backoff)
{
	if (!dst)
		return PAVO_ICRC_DEFER_NONE;
	if (flow->local && pavo_flow_loops(dst))
		return PAVO_ICRC_DEFER_ALL;
	if (needs_segmentation(dst->dev) && pavo_gso_backoff_pass(backoff))
		return PAVO_ICRC_DEFER_GSO;
	return PAVO_ICRC_DEFER_NONE;
}

void pavo_deferred_mark(struct sk_buff *skb, unsigned int hdr_len)
{
	skb_reset_inner_mac_header(skb);
	skb_reset_inner_network_header(skb);
	/*
	 * The stack takes the length of a packet for what is in front of this header plus gso_size.
	 */
	skb_set_inner_transport_header(skb, hdr_len + PAVO_ICRC_LEN);
	skb_set_inner_protocol(skb, htons(ETH_P_IBOE));
	skb->encapsulation = 1;
}

void pavo_deferred_make(struct sk_buff *skb, unsigned int unit,
			unsigned int npkts)
{
	struct skb_shared_info *info = skb_shinfo(skb);

	if (npkts > 1)
		atomic_long_inc(&super_packets);
	info->gso_type = PAVO_GSO_DEFERRED;
	/* With a unit of 0, as of empty messages, the stack would segment nothing. */
	info->gso_size = max(unit, 1u);
	info->gso_segs = npkts;
	/* Without a checksum the stack would segment it at once. */
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

/* Give a super-packet that GRO has merged its GSO type. */
static void set_merged_type(struct sk_buff *skb, unsigned int at,
			    unsigned int npkts, bool ipv6)
{
	const struct pavo_op_info *op = pavo_opcode_get_info(skb->data[at]);

	skb_set_inner_mac_header(skb, at);
	skb_set_inner_network_header(skb, at);
	skb_set_inner_transport_header(skb, at + op->hdr_len + PAVO_ICRC_LEN);
	skb_set_inner_protocol(skb, htons(ETH_P_IBOE));
	skb->encapsulation = 1;
	skb_shinfo(skb)->gso_type = ipv6 ? PAVO_GSO_MERGED6 : PAVO_GSO_MERGED;
	skb_shinfo(skb)->gso_segs = npkts;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
}

void pavo_gso_finish(struct sk_buff *skb, unsigned int at, unsigned int npkts,
		     bool ipv6, const void *ip, void *to)
{
	struct pavo_meta meta = { .flags = PAVO_META_MERGED };

	set_merged_type(skb, at, npkts, ipv6);
	if (unlikely(!to))
		return;
	if (ipv6)
		meta.flags |= PAVO_META_IPV6;
	memset(to, 0, sizeof(meta));
	if (likely(!pavo_auth_sign(&meta, skb, at, ip)))
		memcpy(to, &meta, sizeof(meta));
}

int pavo_deferred_meta(struct pavo_meta *meta, struct sk_buff *skb,
		       unsigned int from)
{
	unsigned int at;

	if (skb_headlen(skb) < from || skb->len < from + sizeof(*meta))
		return -EINVAL;
	at = skb->len - sizeof(*meta);
	if (likely(!skb_is_nonlinear(skb))) {
		memcpy(meta, skb->data + at, sizeof(*meta));
		return 0;
	}
	if (skb_copy_bits(skb, at, meta, sizeof(*meta)))
		return -EINVAL;
	/*
	 * Lengths and headers of a coalesced packet are read in place, so copy them out of
	 * fragments that others may write to.
	 */
	return meta->packets ? skb_linearize(skb) : 0;
}

struct pavo_conn *pavo_conn_find(u32 port, u32 qpn)
{
	return calls->conn(port, qpn);
}

enum pavo_parse_status pavo_deferred_parse(struct pavo_pkt *pkt,
					   const struct pavo_meta *meta,
					   struct sk_buff *skb,
					   unsigned int from)
{
	const unsigned int unit = skb_shinfo(skb)->gso_size;
	unsigned int len = skb->len - from - sizeof(*meta);
	enum pavo_parse_status status;

	if (meta->packets)
		return pavo_coalesced_parse(pkt, skb, from,
					    pavo_coalesced_len(skb, meta, 0));
	if (meta->flags & PAVO_META_MERGED)
		len += PAVO_ICRC_LEN;
	status = pavo_parse_headers(pkt, skb, from, len);
	if (status != PAVO_PARSE_OK || pkt->payload <= unit)
		return status;
	if (!pavo_gso_is_allowed(pkt->opcode))
		return PAVO_PARSE_OPCODE;
	pkt->npkts = DIV_ROUND_UP(pkt->payload, unit);
	return PAVO_PARSE_OK;
}

/* ------------------------------------------------------------ segmentation */

/*
 * pavo_tx_authentic - add headers and authentic metadata to a packet with deferred ICRC, and send
 * it; consumes @skb and the route. @to: space for the metadata at its end.
 */
int pavo_tx_authentic(const struct pavo_stats *stats,
		      const struct pavo_flow *flow, struct dst_entry *dst,
		      struct sk_buff *skb, struct pavo_meta *meta, void *to,
		      unsigned int packets, unsigned int bytes)
{
	int err = pavo_tx_address(stats, flow, dst, skb);

	if (unlikely(err))
		return err;
	if (flow->ipv6)
		meta->flags |= PAVO_META_IPV6;
	/* No other code can change a packet that is looped back. */
	if (!pavo_flow_takes_local(flow, skb) &&
	    pavo_auth_sign(meta, skb,
			   skb_transport_offset(skb) + sizeof(struct udphdr),
			   skb->data)) {
		kfree_skb(skb);
		return -EHOSTUNREACH;
	}
	memcpy(to, meta, sizeof(*meta));
	return pavo_tx_pass(stats, flow, skb, packets, bytes);
}

int pavo_tx_send_deferred(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct dst_entry *dst,
			  struct sk_buff *skb, const struct pavo_pkt *pkt,
			  unsigned int unit, struct pavo_meta *meta)
{
	unsigned int hdr_len = pavo_opcode_get_info(pkt->opcode)->hdr_len;
	unsigned int payload = skb->len - hdr_len;
	u32 bytes = pavo_gso_count_bytes(pkt, payload);
	unsigned int offset = pkt->pad + PAVO_ICRC_LEN;
	u8 *trailer;

	trailer = pavo_tx_add_trailer(stats, dst, skb, offset + sizeof(*meta));
	if (unlikely(!trailer))
		return -ENOBUFS;
	/* Clear pad and ICRC, and bytes of the metadata that are written later: one store. */
	memset(trailer, 0, PAVO_TRAILER_MAX);
	pavo_deferred_mark(skb, hdr_len);
	/*
	 * The stack compares the length of a segment, headers and gso_size, with the route's MTU.
	 */
	if (pkt->npkts == 1)
		unit = payload + pkt->pad;
	pavo_deferred_make(skb, unit, pkt->npkts);
	return pavo_tx_authentic(stats, flow, dst, skb, meta, trailer + offset,
				 pkt->npkts, bytes);
}

/* ---------------------------------------------------------------- receiving */

/* The place of verified metadata, to which the sender of the packet cannot write. */
static struct pavo_meta *get_verified_meta(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct pavo_meta) > sizeof(skb->cb));
	return (struct pavo_meta *)skb->cb;
}

int pavo_rx_read_meta(struct pavo_rx *rx)
{
	return pavo_deferred_meta(&rx->meta, rx->skb, rx->at);
}

enum pavo_parse_status pavo_rx_parse_meta(struct pavo_rx *rx)
{
	return pavo_deferred_parse(&rx->pkt, &rx->meta, rx->skb, rx->at);
}

bool pavo_rx_verify_meta(struct pavo_rx *rx, bool local)
{
	if (!local && (rx->ipv6 != !!(rx->meta.flags & PAVO_META_IPV6) ||
		       !pavo_auth_verify(&rx->meta, rx->skb, rx->at,
					 skb_network_header(rx->skb))))
		return false;
	*get_verified_meta(rx->skb) = rx->meta;
	if (unlikely(rx->meta.flags & PAVO_META_MERGED))
		count_merged(rx->pkt.npkts);
	return true;
}

void pavo_rx_restore_meta(struct pavo_rx *rx)
{
	rx->meta = *get_verified_meta(rx->skb);
}

/* ------------------------------------------------------------- segmentation */

/**
 * struct segmentation - a packet with deferred ICRC that is being segmented.
 * @skb:    the packet; skb->data is at its BTH
 * @pkt:    its headers
 * @meta:   its metadata
 * @attach: the device takes fragments
 * @at:     coalesced packet: offset of the next packet from skb->data
 */
struct segmentation {
	struct sk_buff *skb;
	struct pavo_pkt pkt;
	struct pavo_meta meta;
	bool attach;
	unsigned int at;
};

/* Append payload to the linear part, by copying. */
static int copy_payload(struct sk_buff *to, const struct sk_buff *skb,
			unsigned int from, unsigned int len)
{
	return skb_copy_bits(skb, from, skb_put(to, len), len);
}

/*
 * Append payload in the fragments of @skb to @to, by reference. Return: 0; -ENOSPC: @to has no free
 * fragment; -EFAULT: @skb is shorter.
 */
static int attach_payload(struct sk_buff *to, const struct sk_buff *skb,
			  unsigned int from, unsigned int len)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int size, n;
	int i;

	from -= skb_headlen(skb);
	for (i = 0; len && i < info->nr_frags; i++) {
		const skb_frag_t *frag = &info->frags[i];

		size = skb_frag_size(frag);
		if (from < size) {
			n = min(len, size - from);
			if (skb_shinfo(to)->nr_frags + 1 >= MAX_SKB_FRAGS)
				return -ENOSPC;
			get_page(skb_frag_page(frag));
			pavo_add_frag(to, skb_frag_page(frag),
				      skb_frag_off(frag) + from, n);
			from += n;
			len -= n;
		}
		from -= size;
	}
	skb_shinfo(to)->flags |= info->flags & SKBFL_SHARED_FRAG;
	return len ? -EFAULT : 0;
}

/* Append pad and space for the ICRC, which is not shared: clones share fragments of payload. */
static u8 *add_segment_trailer(struct sk_buff *to, unsigned int pad)
{
	const unsigned int len = pad + PAVO_ICRC_LEN;
	struct page *page;
	u8 *trailer;

	if (!skb_is_nonlinear(to)) {
		trailer = skb_put(to, len);
	} else {
		trailer = netdev_alloc_frag(len);
		if (!trailer)
			return NULL;
		page = virt_to_head_page(trailer);
		pavo_add_frag(to, page, trailer - (u8 *)page_address(page),
			      len);
	}
	memset(trailer, 0, pad);
	return trailer + pad;
}

/*
 * Write the ICRC of packet @i. The stack sets lengths and the IPv4 identification only after all
 * packets are made, so compute the ICRC over copies of the headers with these values.
 */
static int finish_segment_icrc(struct sk_buff *to, bool ipv6, u32 i, u8 *icrc)
{
	struct udphdr udp = *(struct udphdr *)(to->data - sizeof(udp));
	const u8 *end = to->data - sizeof(udp);
	struct ipv6hdr ip6;
	struct iphdr ip4;
	const void *ip = &ip4;
	__le32 value;
	int err;
	u32 crc;

	udp.len = htons(sizeof(udp) + to->len);
	if (ipv6) {
		memcpy(&ip6, end - sizeof(ip6), sizeof(ip6));
		ip6.payload_len = udp.len;
		ip = &ip6;
	} else {
		memcpy(&ip4, end - sizeof(ip4), sizeof(ip4));
		ip4.tot_len = htons(sizeof(ip4) + sizeof(udp) + to->len);
		ip4.id = htons(ntohs(ip4.id) + i);
	}
	err = pavo_packet_crc(&crc, to, ip, ipv6, &udp, to->data, PAVO_BTH_LEN,
			      to->len - PAVO_BTH_LEN - PAVO_ICRC_LEN);
	if (err)
		return err;
	value = cpu_to_le32(~crc);
	memcpy(icrc, &value, sizeof(value));
	return 0;
}

/* Write packet @i of a super-packet to @to, without its trailer. */
static int fill_gso_packet(struct sk_buff *to, const struct segmentation *seg,
			   u32 i)
{
	const struct sk_buff *skb = seg->skb;
	const unsigned int unit = skb_shinfo(skb)->gso_size;
	unsigned int len = min(unit, seg->pkt.payload - i * unit);
	unsigned int from = seg->pkt.info->hdr_len + i * unit;
	u8 hdr[PAVO_MAX_HDR_LEN];

	skb_put_data(to, hdr, pavo_gso_segment_head(hdr, &seg->pkt, i));
	if (seg->attach && from >= skb_headlen(skb))
		return attach_payload(to, skb, from, len);
	return copy_payload(to, skb, from, len);
}

/* Write packet @i of a coalesced packet to @to. The pad is part of it. */
static int fill_coalesced_packet(struct sk_buff *to, struct segmentation *seg,
				 u32 i)
{
	unsigned int from = seg->at;
	unsigned int len = pavo_coalesced_len(seg->skb, &seg->meta, i);

	seg->at += len;
	if (len < PAVO_BTH_LEN || len + PAVO_ICRC_LEN > skb_tailroom(to))
		return -EINVAL;
	return copy_payload(to, seg->skb, from, len);
}

/* Write packet @i to @to, which has space for headers in front. */
static int fill_packet(struct sk_buff *to, struct segmentation *seg, u32 i)
{
	const bool coalesced = seg->meta.packets;
	unsigned int pad = 0;
	u8 *icrc;
	int err;

	err = coalesced ? fill_coalesced_packet(to, seg, i) :
			  fill_gso_packet(to, seg, i);
	if (err)
		return err;
	if (!coalesced && i + 1 == seg->pkt.npkts)
		pad = seg->pkt.pad;
	icrc = add_segment_trailer(to, pad);
	if (!icrc)
		return -ENOMEM;
	return finish_segment_icrc(to, seg->meta.flags & PAVO_META_IPV6, i,
				   icrc);
}

static struct sk_buff *segment_packet(struct segmentation *seg, u32 i)
{
	struct sk_buff *skb = seg->skb, *to;
	const unsigned int front = skb_headroom(skb);
	const bool linear = !seg->attach || seg->meta.packets ||
			    skb_headlen(skb) > seg->pkt.info->hdr_len;

	to = alloc_skb(front + PAVO_MAX_HDR_LEN + PAVO_TRAILER_MAX +
			       (linear ? skb_shinfo(skb)->gso_size : 0),
		       GFP_ATOMIC | __GFP_NOWARN);
	if (!to)
		return NULL;
	skb_copy_header(to, skb);
	skb_shinfo(to)->gso_size = 0;
	skb_shinfo(to)->gso_segs = 0;
	skb_shinfo(to)->gso_type = 0;
	to->ip_summed = CHECKSUM_NONE;
	skb_set_inner_protocol(to, 0);
	skb_reserve(to, front);
	/* Copy the headers in front of the BTH, and the headroom in front of these. */
	memcpy(to->head, skb->head, front);
	if (!fill_packet(to, seg, i))
		return to;
	kfree_skb(to);
	return NULL;
}

/* Parse the packet, and verify its metadata; skb->data is at the BTH. */
static int parse_deferred(struct segmentation *seg)
{
	struct sk_buff *skb = seg->skb;
	unsigned int ip_len;
	const u8 *ip;
	bool ok;

	if (!pavo_deferred_has_mark(skb) || !pavo_deferred_has_type(skb) ||
	    pavo_deferred_meta(&seg->meta, skb, 0))
		return -EINVAL;
	ip_len = seg->meta.flags & PAVO_META_IPV6 ? sizeof(struct ipv6hdr) :
						    sizeof(struct iphdr);
	if (skb_headroom(skb) < sizeof(struct udphdr) + ip_len)
		return -EINVAL;
	if (pavo_deferred_parse(&seg->pkt, &seg->meta, skb, 0) != PAVO_PARSE_OK)
		return -EINVAL;
	ip = skb->data - sizeof(struct udphdr) - ip_len;
	/* A process that reinjects a packet from a netfilter queue gets here in process context. */
	local_bh_disable();
	ok = pavo_auth_verify(&seg->meta, skb, 0, ip);
	local_bh_enable();
	return ok ? 0 : -EINVAL;
}

/*
 * Note that a packet, whose first PSN is @psn, loses its metadata. Return: 0; -ESTALE: its attached
 * memory must not be read any more.
 */
static int note_plain_packet(const struct pavo_meta *meta, u32 psn)
{
	struct pavo_conn *conn;

	if (!meta->port)
		return 0;
	conn = pavo_conn_find(meta->port, meta->qpn);
	if (conn)
		pavo_conn_note_plain(conn);
	if (!(meta->flags & PAVO_META_ATTACHED) ||
	    calls->may_read(meta->port, meta->qpn, psn, meta->lkey,
			    meta->token))
		return 0;
	return -ESTALE;
}

/*
 * Segment a packet with deferred ICRC into packets that have one. The stack calls this for devices
 * that do not segment it themselves. skb->data and all header offsets are at the BTH.
 */
static struct sk_buff *segment_gso(struct sk_buff *skb,
				   netdev_features_t features)
{
	struct segmentation seg = {
		.skb = skb,
		.attach = features & NETIF_F_SG && !skb_has_frag_list(skb),
	};
	struct sk_buff *first = NULL, *last = NULL, *to;
	u32 n, i;
	int err;

	err = parse_deferred(&seg);
	if (!err)
		err = note_plain_packet(&seg.meta, seg.pkt.psn);
	if (err)
		return ERR_PTR(err);
	atomic_long_inc(&deferred_segmented);
	n = seg.meta.packets ?: seg.pkt.npkts;
	for (i = 0; i < n; i++) {
		to = segment_packet(&seg, i);
		if (!to) {
			kfree_skb_list(first);
			return ERR_PTR(-ENOMEM);
		}
		if (last)
			last->next = to;
		else
			first = to;
		last = to;
	}
	/* The stack looks for the end of the list there, as after skb_segment(). */
	first->prev = last;
	return first;
}

static struct packet_offload deferred_offload = {
	.type = cpu_to_be16(ETH_P_IBOE),
	.callbacks.gso_segment = segment_gso,
};

int pavo_offload_init(const struct pavo_net_calls *net_calls)
{
	pavo_auth_init();
	calls = net_calls;
	return pavo_loopback_init(calls->local);
}

void pavo_offload_start(void)
{
	dev_add_offload(&deferred_offload);
}

void pavo_offload_stop(void)
{
	pavo_loopback_exit();
}

/* Deferred packets in queues of the stack are dropped there. */
void pavo_offload_exit(void)
{
	dev_remove_offload(&deferred_offload);
}
