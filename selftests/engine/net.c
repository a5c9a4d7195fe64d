// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * net.c - stands for the network stack and the files of the module's net/ that send: UDP and IP
 * headers, and the checks of the stack on arriving packets. Packets are linear; the wire has no
 * queue, so a sent packet is gone at once.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "adapter.h"
#include "demux.h"
#include "net/net_private.h"
#include "net/tx.h"
#include "qp/qp.h"
#include "runtime.h"
#include "visit_budget.h"

#define UDP_PORT 4791
#define HEADROOM (sizeof(struct ipv6hdr) + sizeof(struct udphdr))
/* Pad, ICRC and metadata. */
#define TRAILER (PAVO_TRAILER_MAX + sizeof(struct pavo_meta))
#define HOP_LIMIT 64
/* First source port, and how many there are. */
#define PORTS_FROM 0xc000
#define PORTS 0x4000

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
	flow->ipv6 = !ipv6_addr_v4mapped(&flow->saddr);
	if (flow->ipv6 != !ipv6_addr_v4mapped(&flow->daddr))
		return -EINVAL;
	flow->cached = cached;
	return 0;
}

void pavo_flow_destroy(struct pavo_flow *flow)
{
	flow->sgid = NULL;
}

static bool matches(const struct pavo_flow *flow, const struct pavo_rx *rx)
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
bool engine_single[ENGINE_ADDRESSES];
bool engine_in_a_row;
unsigned int engine_refused;

void pavo_flow_connect(struct pavo_flow *flow, const void *user)
{
}

bool pavo_flow_loops(const struct dst_entry *dst)
{
	return false;
}

static struct dst_entry route;

/* A packet arrives while the adapter sends. */
static bool nested;

/*
 * A packet looks up its route once, and passes its reference on. One that has its route may have to
 * wait until coalesced packets are sent, by their own.
 */
struct dst_entry *pavo_flow_find_route(struct pavo_flow *flow)
{
	ENGINE_MUST(nested || route.references <= engine_gso);
	route.references++;
	return &route;
}

int pavo_net_deliver(const struct pavo_budget *left)
{
	return 0;
}

bool pavo_net_delivers(void)
{
	return false;
}

void pavo_net_continue(void)
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

int pavo_budget_check_tick(enum pavo_loop loop, u32 most)
{
	return 0;
}

bool pavo_visits_over;

void pavo_budget_add_visit(u32 packets)
{
}

bool pavo_budget_may_visit(void)
{
	return true;
}

void pavo_budget_add(enum pavo_loop loop, u32 rounds)
{
}

bool pavo_deferred_icrc = true;

static bool sends_singly(const struct pavo_flow *flow)
{
	unsigned int i;

	for (i = 0; i < ENGINE_ADDRESSES; i++)
		if (!memcmp(flow->sgid->gid.raw, engine_address[i], 16))
			return engine_single[i];
	return false;
}

enum pavo_icrc_defer pavo_icrc_may_defer(const struct pavo_flow *flow,
					 const struct dst_entry *dst,
					 struct pavo_gso_backoff *backoff)
{
	return engine_gso && !sends_singly(flow) ? PAVO_ICRC_DEFER_ALL :
						   PAVO_ICRC_DEFER_NONE;
}

bool pavo_flow_attaches(const struct pavo_flow *flow,
			const struct dst_entry *dst)
{
	return true;
}

/* The peer is a script, not a queue pair of this host. */
void pavo_conn_enter(struct pavo_conn *conn, bool sent)
{
}

void pavo_conn_leave(struct pavo_conn *conn)
{
}

unsigned long pavo_conn_changes;

bool pavo_conn_find_stranger(struct pavo_conn *conn, bool retransmit)
{
	return false;
}

bool pavo_conn_accepts(struct pavo_conn *conn, const struct pavo_rx *rx)
{
	return matches(conn->flow, rx);
}

struct pavo_port *pavo_port_numbered(u32 number)
{
	return NULL;
}

/* ------------------------------------------------------------- sending */

static struct sk_buff *alloc_with(const struct pavo_stats *stats,
				  const struct pavo_flow *flow, const u8 *hdr,
				  unsigned int hdr_len, unsigned int payload)
{
	struct sk_buff *skb =
		engine_skb(flow->headroom, hdr_len + payload + TRAILER);

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
	u8 hdr[PAVO_MAX_HDR_LEN] = {};

	if (!pkt)
		return alloc_with(stats, flow, hdr, 0, copy);
	/* Pages that the kernel attaches are copied, too. */
	return alloc_with(stats, flow, hdr, pavo_build(hdr, pkt),
			  PAVO_GSO_BYTES);
}

void *pavo_tx_put(struct sk_buff *skb, unsigned int len)
{
	return skb_put(skb, len);
}

int pavo_tx_add_page(struct sk_buff *skb, struct page *page,
		     unsigned int offset, unsigned int len)
{
	memcpy(skb_put(skb, len), page->bytes + offset, len);
	return 0;
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
		.tos = pavo_flow_get_tos(flow),
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
	u32 word = htonl(6u << 28 | (u32)pavo_flow_get_tos(flow) << 20 |
			 flow->flow_label);

	memcpy(ip, &word, sizeof(word));
	ip->payload_len = htons(payload);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = flow->hop_limit;
	ip->saddr = flow->saddr;
	ip->daddr = flow->daddr;
}

/* Its interface has no queue. */
bool pavo_tx_is_paced(const struct dst_entry *dst)
{
	return false;
}

void pavo_tx_set_departure(struct sk_buff *skb, u64 at)
{
}

int pavo_tx_finish(const struct pavo_stats *stats, const struct pavo_flow *flow,
		   struct dst_entry *dst, struct sk_buff *skb, unsigned int pad)
{
	unsigned int ip_len = flow->ipv6 ? sizeof(struct ipv6hdr) :
					   sizeof(struct iphdr);
	const unsigned int from = sizeof(struct udphdr) + PAVO_BTH_LEN;
	u8 *icrc;
	u32 crc;
	int i;

	dst_release(dst);
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
	pavo_packet_crc(&crc, skb, skb->network_header, flow->ipv6, skb->data,
			skb->data + sizeof(struct udphdr), from,
			skb->len - from - PAVO_ICRC_LEN);
	for (i = 0; i < PAVO_ICRC_LEN; i++)
		icrc[i] = ~crc >> 8 * i;
	return 0;
}

int pavo_tx_send_finished(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct sk_buff *skb)
{
	const u8 *end = skb->data + skb->len;

	if (engine_refused) {
		engine_refused--;
		pavo_stats_add(stats, tx_drop_congested, 1);
		kfree_skb(skb);
		return -ENOBUFS;
	}
	pavo_stats_add(stats, tx_packets, 1);
	pavo_stats_add(stats, tx_bytes, skb->len - sizeof(struct udphdr));
	engine_host->sent(skb->network_header, end - skb->network_header);
	kfree_skb(skb);
	return 0;
}

/* Finish a packet and send it. */
static int send_packet(const struct pavo_stats *stats,
		       const struct pavo_flow *flow, struct sk_buff *skb,
		       unsigned int pad)
{
	int err = pavo_tx_finish(stats, flow, NULL, skb, pad);

	return err ? err : pavo_tx_send_finished(stats, flow, skb);
}

/* Send packet @i of a GSO super-packet, segmented as for a device. */
static int send_segment(const struct pavo_stats *stats,
			const struct pavo_flow *flow,
			const struct sk_buff *super, const struct pavo_pkt *pkt,
			unsigned int unit, u32 i)
{
	const unsigned int from =
		pavo_opcode_get_info(pkt->opcode)->hdr_len + i * unit;
	const bool last = i + 1 == pkt->npkts;
	const unsigned int len = last ? super->len - from : unit;
	u8 hdr[PAVO_MAX_HDR_LEN];
	struct sk_buff *skb;

	skb = alloc_with(stats, flow, hdr, pavo_gso_segment_head(hdr, pkt, i),
			 len);
	if (!skb)
		return -ENOBUFS;
	memcpy(skb_put(skb, len), super->data + from, len);
	return send_packet(stats, flow, skb, last ? pkt->pad : 0);
}

int pavo_tx_send_deferred(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct dst_entry *dst,
			  struct sk_buff *skb, const struct pavo_pkt *pkt,
			  unsigned int unit, struct pavo_meta *meta)
{
	int err = 0;
	u32 i;

	ENGINE_MUST(engine_gso);
	dst_release(dst);
	for (i = 0; i < pkt->npkts && !err; i++)
		err = send_segment(stats, flow, skb, pkt, unit, i);
	kfree_skb(skb);
	return err;
}

/* Send a coalesced packet, segmented likewise. */
int pavo_tx_authentic(const struct pavo_stats *stats,
		      const struct pavo_flow *flow, struct dst_entry *dst,
		      struct sk_buff *skb, struct pavo_meta *meta, void *to,
		      unsigned int packets, unsigned int bytes)
{
	unsigned int from = 0, len, i;
	struct sk_buff *segment;

	ENGINE_MUST(engine_gso);
	dst_release(dst);
	for (i = 0; i < packets; i++, from += len) {
		len = pavo_coalesced_len(skb, meta, i);
		segment = alloc_with(stats, flow, skb->data + from, len, 0);
		if (segment)
			send_packet(stats, flow, segment, 0);
	}
	kfree_skb(skb);
	return 0;
}

void pavo_deferred_mark(struct sk_buff *skb, unsigned int hdr_len)
{
}

void pavo_deferred_make(struct sk_buff *skb, unsigned int unit,
			unsigned int npkts)
{
}

/* ----------------------------------------------------------- receiving */

struct hlist_head pavo_ports[1 << PAVO_PORTS_BITS];

struct pavo_port *pavo_port_below(const struct net_device *vlan)
{
	return NULL;
}

/* No packet with a deferred ICRC arrives at the engine. */
int pavo_rx_read_meta(struct pavo_rx *rx)
{
	return -EINVAL;
}

enum pavo_parse_status pavo_rx_parse_meta(struct pavo_rx *rx)
{
	return PAVO_PARSE_SHORT;
}

void pavo_rx_restore_meta(struct pavo_rx *rx)
{
}

bool pavo_rx_verify_meta(struct pavo_rx *rx, bool local)
{
	return false;
}

void pavo_gso_count_merged(u32 packets)
{
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

unsigned int engine_backlog;

void engine_receive(const void *packet, size_t size)
{
	const bool was = nested;
	struct datagram d;
	struct sk_buff *skb;
	size_t head;

	if (!find_udp(&d, packet, size) || !udp_ok(&d))
		return;
	head = d.udp - d.ip;
	skb = engine_skb(0, head + d.left);
	if (!skb)
		return;
	skb->dev = engine_dev->port.ndev;
	skb->network_header = skb->data;
	memcpy(skb_put(skb, head + d.left), d.ip, head + d.left);
	skb->data += head;
	skb->len -= head;
	nested = engine_spinning;
	local_bh_disable();
	rcu_read_lock();
	pavo_demux_receive(NULL, skb);
	rcu_read_unlock();
	local_bh_enable();
	nested = was;
	if (engine_spinning)
		return;
	ENGINE_MUST(!route.references);
	if (!engine_in_a_row)
		engine_settle();
}
