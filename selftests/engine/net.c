// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * net.c - stands for the module's net/ and the network stack below it: UDP and IP headers, the
 * ICRC, and the checks of the stack on arriving packets. Packets are linear; the wire has no
 * queue, so a sent packet is gone at once.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "adapter.h"
#include "demux.h"
#include "net/net.h"
#include "qp/qp.h"
#include "runtime.h"

#define UDP_PORT 4791
#define HEADROOM (sizeof(struct ipv6hdr) + sizeof(struct udphdr))
/* Pad and ICRC. */
#define TRAILER 8
#define HOP_LIMIT 64
/* First source port, and how many there are. */
#define PORTS_FROM 0xc000
#define PORTS 0x4000

static bool is_ip4(const struct in6_addr *address)
{
	static const u8 prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address->s6_addr, prefix, sizeof(prefix));
}

/* CRC of Ethernet, bit by bit: least significant first, not complemented. */
static u32 crc32(u32 crc, const void *bytes, size_t size)
{
	const u8 *p = bytes;
	int bit;

	while (size--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

/* ICRC of a packet whose data begins with the UDP header, up to @len bytes. */
static u32 icrc_of(const struct sk_buff *skb, bool ipv6, unsigned int len)
{
	const unsigned int from = sizeof(struct udphdr) + PAVO_BTH_LEN;
	const u8 *bth = skb->data + sizeof(struct udphdr);
	u8 head[PAVO_ICRC_HEAD_MAX];
	u32 crc = ~0u;

	crc = crc32(crc, head,
		    pavo_icrc_head(head, skb->network_header, ipv6, skb->data,
				   bth));
	return ~crc32(crc, skb->data + from, len - from);
}

/* Add bytes to an Internet checksum, before it is folded. */
static u32 sum_of(u32 sum, const void *bytes, size_t size)
{
	const u8 *p = bytes;
	size_t i;

	for (i = 0; i < size; i++)
		sum += i & 1 ? p[i] : p[i] << 8;
	return sum;
}

static u16 checksum(u32 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* --------------------------------------------------------------- flows */

int pavo_flow_init(struct pavo_flow *flow, const struct pavo_port *port,
		   const struct rdma_ah_attr *attr, u32 lqpn, u32 rqpn,
		   bool cached)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	u32 entropy = grh->flow_label ? grh->flow_label : lqpn ^ rqpn;

	memset(flow, 0, sizeof(*flow));
	flow->sgid = rdma_get_gid_attr(port->ib, PAVO_PORT, grh->sgid_index);
	if (IS_ERR(flow->sgid))
		return -EINVAL;
	flow->traffic_class = grh->traffic_class;
	flow->hop_limit = grh->hop_limit ? grh->hop_limit : HOP_LIMIT;
	flow->flow_label = grh->flow_label & PAVO_FLOW_LABEL;
	flow->headroom = HEADROOM;
	flow->sport = htons(PORTS_FROM + entropy % PORTS);
	memcpy(&flow->saddr, flow->sgid->gid.raw, sizeof(flow->saddr));
	memcpy(&flow->daddr, grh->dgid.raw, sizeof(flow->daddr));
	flow->ipv6 = !is_ip4(&flow->saddr);
	if (flow->ipv6 != !is_ip4(&flow->daddr))
		return -EINVAL;
	flow->cached = cached;
	return 0;
}

void pavo_flow_destroy(struct pavo_flow *flow)
{
	flow->sgid = NULL;
}

bool pavo_flow_match(const struct pavo_flow *flow, const struct pavo_rx *rx)
{
	if (flow->ipv6 != rx->ipv6)
		return false;
	if (flow->ipv6)
		return !memcmp(&ipv6_hdr(rx->skb)->saddr, &flow->daddr, 16) &&
		       !memcmp(&ipv6_hdr(rx->skb)->daddr, &flow->saddr, 16);
	return ip_hdr(rx->skb)->saddr == flow->daddr.s6_addr32[3] &&
	       ip_hdr(rx->skb)->daddr == flow->saddr.s6_addr32[3];
}

bool engine_gso;
bool engine_in_a_row;

void pavo_flow_allow_loopback(struct pavo_flow *flow, const void *user)
{
}

bool pavo_flow_is_loopback(struct pavo_flow *flow)
{
	return false;
}

bool pavo_loopback_deliver(const struct pavo_budget *left)
{
	return true;
}

void pavo_loopback_continue(void)
{
}

struct pavo_loopback_mark pavo_loopback_mark(void)
{
	return (struct pavo_loopback_mark){};
}

bool pavo_loopback_is_behind(const struct pavo_loopback_mark *mark)
{
	return false;
}

/* ------------------------------------------------------------- budgets */

void pavo_budget_used_up(enum pavo_loop loop, u32 packets, u32 bytes)
{
}

bool pavo_budget_in_tick(enum pavo_loop loop, u32 most)
{
	return true;
}

void pavo_budget_add(enum pavo_loop loop, u32 rounds)
{
}

enum pavo_icrc_defer pavo_flow_icrc_defer(struct pavo_flow *flow,
					  struct pavo_gso_backoff *backoff,
					  bool same_host)
{
	return engine_gso ? PAVO_ICRC_DEFER_ALL : PAVO_ICRC_DEFER_NONE;
}

bool pavo_flow_attaches(struct pavo_flow *flow)
{
	return true;
}

/* The peer is a script, not a queue pair of this host. */
void pavo_pair_enter(struct pavo_qp *qp)
{
}

void pavo_pair_leave(struct pavo_qp *qp)
{
}

void pavo_pair_sent_plain(struct pavo_qp *qp)
{
}

bool pavo_pair_accepts(const struct pavo_qp *qp, const struct pavo_rx *rx)
{
	return true;
}

bool pavo_may_read_attached(const struct pavo_meta *meta, u32 psn)
{
	return true;
}

struct pavo_port *pavo_port_numbered(u32 number)
{
	return NULL;
}

/* ------------------------------------------------------------- sending */

static struct sk_buff *alloc_with(const struct pavo_stats *stats,
				  struct pavo_flow *flow, const u8 *hdr,
				  unsigned int hdr_len)
{
	struct sk_buff *skb =
		engine_skb(flow->headroom, hdr_len + PAVO_GSO_BYTES + TRAILER);

	ENGINE_MUST(rcu_read_lock_any_held());
	if (!skb) {
		pavo_stats_add(stats, tx_drop_no_memory, 1);
		return NULL;
	}
	memcpy(skb_put(skb, hdr_len), hdr, hdr_len);
	return skb;
}

struct sk_buff *pavo_tx_alloc(const struct pavo_stats *stats,
			      struct pavo_flow *flow,
			      const struct pavo_pkt *pkt, unsigned int copy)
{
	u8 hdr[PAVO_MAX_HDR_LEN];

	return alloc_with(stats, flow, hdr, pkt ? pavo_build(hdr, pkt) : 0);
}

void *pavo_tx_put(struct sk_buff *skb, unsigned int len)
{
	return skb_put(skb, len);
}

bool pavo_tx_add_page(struct sk_buff *skb, struct page *page,
		      unsigned int offset, unsigned int len)
{
	memcpy(skb_put(skb, len), page->bytes + offset, len);
	return true;
}

static void *push(struct sk_buff *skb, unsigned int len)
{
	skb->data -= len;
	skb->len += len;
	ENGINE_MUST(skb->data >= skb->buffer->bytes);
	return skb->data;
}

static void push_udp(struct sk_buff *skb, const struct pavo_flow *flow)
{
	struct udphdr *udp = push(skb, sizeof(*udp));

	*udp = (struct udphdr){
		.source = flow->sport,
		.dest = htons(UDP_PORT),
		.len = htons(skb->len),
	};
}

static void push_ip4(struct sk_buff *skb, const struct pavo_flow *flow)
{
	struct iphdr *ip = push(skb, sizeof(*ip));

	*ip = (struct iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.tos = flow->traffic_class,
		.tot_len = htons(skb->len),
		.frag_off = htons(0x4000),
		.ttl = flow->hop_limit,
		.protocol = IPPROTO_UDP,
		.saddr = flow->saddr.s6_addr32[3],
		.daddr = flow->daddr.s6_addr32[3],
	};
	ip->check = htons(checksum(sum_of(0, ip, sizeof(*ip))));
}

static void push_ip6(struct sk_buff *skb, const struct pavo_flow *flow)
{
	u16 payload = skb->len;
	struct ipv6hdr *ip = push(skb, sizeof(*ip));
	u32 word = htonl(6u << 28 | (u32)flow->traffic_class << 20 |
			 flow->flow_label);

	memcpy(ip, &word, sizeof(word));
	ip->payload_len = htons(payload);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = flow->hop_limit;
	ip->saddr = flow->saddr;
	ip->daddr = flow->daddr;
}

int pavo_tx_finish_icrc(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct sk_buff *skb, unsigned int pad)
{
	unsigned int ip_len = flow->ipv6 ? sizeof(struct ipv6hdr) :
					   sizeof(struct iphdr);
	u8 *icrc;
	u32 value;
	int i;

	memset(skb_put(skb, pad), 0, pad);
	icrc = skb_put(skb, PAVO_ICRC_LEN);
	push_udp(skb, flow);
	if (flow->ipv6)
		push_ip6(skb, flow);
	else
		push_ip4(skb, flow);
	skb->network_header = skb->data;
	skb->data += ip_len;
	skb->len -= ip_len;
	value = icrc_of(skb, flow->ipv6, skb->len - PAVO_ICRC_LEN);
	for (i = 0; i < PAVO_ICRC_LEN; i++)
		icrc[i] = value >> 8 * i;
	return 0;
}

int pavo_tx_send_finished(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct sk_buff *skb)
{
	const u8 *end = skb->data + skb->len;

	pavo_stats_add(stats, tx_packets, 1);
	pavo_stats_add(stats, tx_bytes, skb->len - sizeof(struct udphdr));
	engine_host->sent(skb->network_header, end - skb->network_header);
	kfree_skb(skb);
	return 0;
}

int pavo_tx_send(const struct pavo_stats *stats, struct pavo_flow *flow,
		 struct sk_buff *skb, unsigned int pad)
{
	int err = pavo_tx_finish_icrc(stats, flow, skb, pad);

	return err ? err : pavo_tx_send_finished(stats, flow, skb);
}

/* Send packet @i of a GSO super-packet, segmented as for a device. */
static int send_segment(const struct pavo_stats *stats, struct pavo_flow *flow,
			const struct sk_buff *super, const struct pavo_pkt *pkt,
			unsigned int unit, u32 i)
{
	const unsigned int from = pavo_op_info(pkt->opcode)->hdr_len + i * unit;
	const bool last = i + 1 == pkt->npkts;
	const unsigned int len = last ? super->len - from : unit;
	u8 hdr[PAVO_MAX_HDR_LEN];
	struct sk_buff *skb;

	skb = alloc_with(stats, flow, hdr, pavo_gso_segment_head(hdr, pkt, i));
	if (!skb)
		return -ENOBUFS;
	memcpy(skb_put(skb, len), super->data + from, len);
	return pavo_tx_send(stats, flow, skb, last ? pkt->pad : 0);
}

int pavo_tx_send_deferred(const struct pavo_stats *stats,
			  struct pavo_flow *flow, struct sk_buff *skb,
			  const struct pavo_pkt *pkt, unsigned int unit,
			  struct pavo_meta *meta)
{
	int err = 0;
	u32 i;

	ENGINE_MUST(engine_gso);
	for (i = 0; i < pkt->npkts && !err; i++)
		err = send_segment(stats, flow, skb, pkt, unit, i);
	kfree_skb(skb);
	return err;
}

/* The engine's interface sends coalesced packets one by one. */
bool pavo_coalesced_allowed(u8 opcode)
{
	const struct pavo_op_info *info = pavo_op_info(opcode);
	const u32 whole = PAVO_OPF_FIRST | PAVO_OPF_LAST;

	return (info->flags & whole) == whole &&
	       (info->kind == PAVO_KIND_SEND || info->kind == PAVO_KIND_WRITE);
}

int pavo_coalesced_begin(const struct pavo_stats *stats, struct pavo_flow *flow,
			 struct pavo_coalesced *coalesced, unsigned int bytes)
{
	ENGINE_MUST(engine_gso);
	ENGINE_MUST(bytes <= PAVO_COALESCED_BYTES);
	coalesced->count = 0;
	coalesced->skb = pavo_tx_alloc(stats, flow, NULL, bytes);
	return coalesced->skb ? 0 : -ENOMEM;
}

bool pavo_coalesced_fits(const struct pavo_coalesced *coalesced,
			 unsigned int len)
{
	return coalesced->count < PAVO_COALESCED_PACKETS &&
	       coalesced->skb->len + len <= PAVO_COALESCED_BYTES;
}

int pavo_coalesced_send(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct pavo_coalesced *coalesced,
			struct pavo_meta *meta)
{
	const u8 *from = coalesced->skb->data;
	struct sk_buff *skb;
	u32 i;

	for (i = 0; i < coalesced->count; i++, from += coalesced->len[i - 1]) {
		skb = alloc_with(stats, flow, from, coalesced->len[i]);
		if (skb)
			pavo_tx_send(stats, flow, skb, 0);
	}
	kfree_skb(coalesced->skb);
	coalesced->skb = NULL;
	return 0;
}

/* ----------------------------------------------------------- receiving */

bool pavo_rx_next(struct pavo_rx *rx)
{
	return false;
}

/* No super-packet arrives at the engine. */
void pavo_rx_skip(struct pavo_rx *rx, u32 psn)
{
}

u32 pavo_rx_packets(const struct pavo_rx *rx)
{
	return 1;
}

u32 pavo_rx_wire_bytes(const struct pavo_rx *rx)
{
	return rx->skb->len - sizeof(struct udphdr);
}

static enum pavo_parse_status parse(struct pavo_rx *rx)
{
	const struct sk_buff *skb = rx->skb;
	unsigned int len = skb->len - sizeof(struct udphdr);
	enum pavo_parse_status status;

	if (ntohs(((struct udphdr *)skb->data)->len) != skb->len)
		return PAVO_PARSE_SHORT;
	status = pavo_parse(&rx->pkt, skb->data + sizeof(struct udphdr), len,
			    len);
	if (status == PAVO_PARSE_OK)
		rx->payload = sizeof(struct udphdr) + rx->pkt.info->hdr_len;
	return status;
}

static void count_bad(const struct pavo_stats *stats,
		      enum pavo_parse_status status)
{
	switch (status) {
	case PAVO_PARSE_SHORT:
		pavo_stats_add(stats, rx_drop_short, 1);
		break;
	case PAVO_PARSE_VERSION:
		pavo_stats_add(stats, rx_drop_version, 1);
		break;
	case PAVO_PARSE_OPCODE:
		pavo_stats_add(stats, rx_drop_opcode, 1);
		break;
	case PAVO_PARSE_SURPLUS:
		pavo_stats_add(stats, rx_drop_surplus, 1);
		break;
	default:
		break;
	}
}

static bool icrc_ok(const struct pavo_rx *rx)
{
	const u8 *end = rx->skb->data + rx->skb->len - PAVO_ICRC_LEN;
	u32 value = icrc_of(rx->skb, rx->ipv6, rx->skb->len - PAVO_ICRC_LEN);
	int i;

	for (i = 0; i < PAVO_ICRC_LEN; i++)
		if (end[i] != (u8)(value >> 8 * i))
			return false;
	return true;
}

bool pavo_rx_take(struct pavo_rx *rx, struct sk_buff *skb, bool loopback)
{
	enum pavo_parse_status status;

	pavo_rx_parse(rx, &engine_dev->port, skb);
	status = parse(rx);
	if (status == PAVO_PARSE_OK && icrc_ok(rx))
		return true;
	count_bad(rx->port->stats, status);
	if (status == PAVO_PARSE_OK)
		pavo_stats_add(rx->port->stats, rx_drop_icrc, 1);
	kfree_skb(skb);
	return false;
}

void pavo_rx_parse(struct pavo_rx *rx, struct pavo_port *port,
		   struct sk_buff *skb)
{
	rx->port = port;
	rx->skb = skb;
	rx->ipv6 = ip_hdr(skb)->version == 6;
	rx->meta = (struct pavo_meta){};
	rx->unit = 0;
	parse(rx);
}

void pavo_rx_dgid(const struct pavo_rx *rx, struct in6_addr *gid)
{
	if (rx->ipv6) {
		*gid = ipv6_hdr(rx->skb)->daddr;
		return;
	}
	memset(gid, 0, sizeof(*gid));
	gid->s6_addr[10] = 0xff;
	gid->s6_addr[11] = 0xff;
	gid->s6_addr32[3] = ip_hdr(rx->skb)->daddr;
}

bool pavo_rx_multicast(const struct pavo_rx *rx)
{
	struct in6_addr gid;

	pavo_rx_dgid(rx, &gid);
	return rx->ipv6 ? gid.s6_addr[0] == 0xff : gid.s6_addr[12] >> 4 == 0xe;
}

/* A datagram as the stack has found it. */
struct datagram {
	const u8 *ip;
	const u8 *udp;
	size_t left; /* bytes from @udp on */
	u32 sum; /* of the pseudo header, without the length */
};

/* Make the checks of IP. Return: false if the stack drops the packet. */
static bool find_udp(struct datagram *d, const u8 *packet, size_t size)
{
	struct ipv6hdr ip6;
	struct iphdr ip;
	size_t head;

	d->ip = packet;
	if (size < sizeof(ip))
		return false;
	if (packet[0] >> 4 == 6) {
		if (size < sizeof(ip6))
			return false;
		memcpy(&ip6, packet, sizeof(ip6));
		head = sizeof(ip6);
		d->left = ntohs(ip6.payload_len);
		d->sum = sum_of(IPPROTO_UDP, &ip6.saddr, 32);
		if (ip6.nexthdr != IPPROTO_UDP)
			return false;
	} else {
		memcpy(&ip, packet, sizeof(ip));
		head = sizeof(ip);
		if (ip.ihl != head / 4 || ntohs(ip.tot_len) < head ||
		    ip.protocol != IPPROTO_UDP ||
		    checksum(sum_of(0, &ip, head)))
			return false;
		d->left = ntohs(ip.tot_len) - head;
		d->sum = sum_of(IPPROTO_UDP, &ip.saddr, 8);
	}
	d->udp = packet + head;
	return d->left <= size - head;
}

/* Make the checks of UDP: length, port, and the checksum if there is one. Return: likewise. */
static bool udp_ok(struct datagram *d)
{
	struct udphdr udp;
	u16 length;

	if (d->left < sizeof(udp))
		return false;
	memcpy(&udp, d->udp, sizeof(udp));
	length = ntohs(udp.len);
	if (length < sizeof(udp) || length > d->left ||
	    ntohs(udp.dest) != UDP_PORT)
		return false;
	d->left = length;
	return !udp.check || !checksum(sum_of(d->sum + length, d->udp, length));
}

void engine_receive(const void *packet, size_t size)
{
	static struct net_device interface = {.mtu = 9000};
	struct datagram d;
	struct sk_buff *skb;
	size_t head;

	if (!find_udp(&d, packet, size) || !udp_ok(&d))
		return;
	head = d.udp - d.ip;
	skb = engine_skb(0, head + d.left);
	if (!skb)
		return;
	skb->dev = &interface;
	skb->network_header = skb->data;
	memcpy(skb_put(skb, head + d.left), d.ip, head + d.left);
	skb->data += head;
	skb->len -= head;
	local_bh_disable();
	rcu_read_lock();
	pavo_demux_receive(NULL, skb);
	rcu_read_unlock();
	local_bh_enable();
	if (!engine_in_a_row)
		engine_settle();
}

struct pavo_rx_bytes pavo_rx_bytes_at(const struct sk_buff *skb,
				      unsigned int from)
{
	return (struct pavo_rx_bytes){.skb = skb, .at = from};
}

int pavo_rx_copy(struct pavo_rx_bytes *bytes, struct page *page,
		 unsigned int offset, unsigned int n)
{
	unsigned int from = bytes->at;

	bytes->at += n;
	return skb_copy_bits(bytes->skb, from, kmap_local_page(page) + offset,
			     n);
}
