/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * net.h - interface of net/: packets to and from the network stack.
 *
 * Owns: the UDP sockets (one IPv4 and one IPv6 per network namespace that has
 * an adapter), IP and UDP headers, routes, the ICRC over a whole packet.
 */
#ifndef PAVO_NET_H
#define PAVO_NET_H

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/dst_cache.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <rdma/ib_verbs.h>
#include "budget.h"
#include "net/port.h"
#include "wire/wire.h"

struct pavo_conn;
struct pavo_stats;
struct seq_file;

/* Bits of a flow label; UCX sets those above them as well. */
#define PAVO_FLOW_LABEL 0xfffff

/**
 * struct pavo_flow - the path of a connected QP, a datagram, or a window's route.
 * @port:  the port that packets leave by
 * @sgid:  source GID, with a reference. Packets leave by its netdevice.
 * @ipv6:  family, from the source GID
 * @traffic_class: for the IP header
 * @priority: skb->priority of packets, from service level and traffic class
 * @hop_limit: for the IP header; 0: that of the route
 * @flow_label: for the IPv6 header and @sport
 * @headroom: bytes to reserve in front of the BTH for link, IP and UDP headers
 * @sport: UDP source port, from flow label or QPNs: entropy for ECMP
 * @saddr: source address (IPv4: ::ffff:a.b.c.d)
 * @daddr: destination address, likewise
 * @cache: routes, per CPU
 * @cached: @cache is in use
 * @local: the destination is an adapter of the same namespace. Packets are looped back to it,
 *         unless a routing rule sends them out
 * @share: hash of the user that sends, below PAVO_USER_SHARES
 * @ecn:   ECN field of the IP header: of packets that may be marked, or 0
 *
 * Constant between pavo_flow_init(), pavo_flow_connect() and pavo_flow_destroy(), but for @ecn.
 */
struct pavo_flow {
	const struct pavo_port *port;
	const struct ib_gid_attr *sgid;
	bool ipv6;
	u8 traffic_class;
	u8 hop_limit;
	u8 priority;
	u32 flow_label;
	unsigned int headroom;
	__be16 sport;
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct dst_cache cache;
	bool cached;
	bool local;
	u8 share;
	u8 ecn;
};

/**
 * pavo_flow_set_ecn - let routers mark packets of a flow, or not. The ECN field of a traffic class
 * that the consumer has set stays as it is.
 * @flow: the flow
 * @on:   whether the peer echoes marks
 */
static inline void pavo_flow_set_ecn(struct pavo_flow *flow, bool on)
{
	on = on && !(flow->traffic_class & INET_ECN_MASK);
	WRITE_ONCE(flow->ecn, on ? INET_ECN_ECT_0 : INET_ECN_NOT_ECT);
}

/** pavo_flow_get_tos - traffic class and ECN field for the IP header. */
static inline u8 pavo_flow_get_tos(const struct pavo_flow *flow)
{
	return flow->traffic_class | READ_ONCE(flow->ecn);
}

/* Bits of struct pavo_meta.flags. */
#define PAVO_META_IPV6 1u
#define PAVO_META_ATTACHED 2u /* memory of the sender's process is attached */
#define PAVO_META_MERGED \
	4u /* GRO merged packets whose ICRC was right; the sender is unknown */

/**
 * struct pavo_meta - metadata of a packet with deferred ICRC, from one adapter of this machine to
 * another. It is behind the space for the ICRC, and is removed before a packet leaves the machine.
 * @mac:     authenticates packet and metadata (auth.c)
 * @lkey:    PAVO_META_ATTACHED: key of the memory; encrypted in the packet
 * @token:   PAVO_META_ATTACHED: token of the key's registration; encrypted in the packet
 * @port:    number of the sender's port; 0: none
 * @qpn:     QPN of the sender
 * @flags:   PAVO_META_*
 * @packets: coalesced packet: number of packets in it, whose lengths are in front of the metadata;
 *           else 0
 *
 * A process may write to attached memory after its request ends. These bytes must not reach the
 * peer: see &struct pavo_net_calls.may_read.
 */
struct pavo_meta {
	u64 mac;
	u32 lkey;
	u32 token;
	u32 port;
	u32 qpn;
	u32 flags;
	u32 packets;
};

/**
 * pavo_flow_init - resolve an address vector into a flow.
 * @flow:   the flow
 * @port:   its port; outlives the flow
 * @attr:   the address vector
 * @lqpn:   local QPN, for the source port's entropy if the flow label is 0
 * @rqpn:   remote QPN, likewise
 * @cached: cache routes; the call may sleep then
 *
 * Takes its own reference to the sgid attribute of @attr->grh.sgid_index.
 *
 * Return: 0; -EINVAL: the GID does not exist or has no netdevice; -ENOMEM.
 */
int pavo_flow_init(struct pavo_flow *flow, const struct pavo_port *port,
		   const struct rdma_ah_attr *attr, u32 lqpn, u32 rqpn,
		   bool cached);
void pavo_flow_destroy(struct pavo_flow *flow);

/**
 * pavo_tx_alloc - allocate an skb for one packet.
 * @stats: the sender's counters
 * @flow:  path of the packet
 * @pkt:   headers from the BTH on; NULL: none
 * @copy:  bytes of payload that pavo_tx_put() will put into the head
 *
 * Reserves space for link, IP and UDP headers in front, and for pad and ICRC behind. The caller
 * puts or adds the payload in order, and does not touch skb->cb.
 *
 * Context: BH disabled.
 * Return: the skb; NULL: no memory (counted).
 */
struct sk_buff *pavo_tx_alloc(const struct pavo_stats *stats,
			      struct pavo_flow *flow,
			      const struct pavo_pkt *pkt, unsigned int copy);

/**
 * pavo_tx_put - append space for payload, which the caller writes at once.
 * @skb: from pavo_tx_alloc()
 * @len: bytes
 *
 * The space is in the head if it was part of @copy of pavo_tx_alloc() and no page was added before.
 * Otherwise it is a fragment of its own, which suits payload of a page's size best.
 *
 * Context: BH disabled.
 * Return: the space; NULL: no memory, or no free fragment.
 */
void *pavo_tx_put(struct sk_buff *skb, unsigned int len);

/**
 * pavo_tx_add_page - append a part of a page as payload; takes a reference to the page.
 * @skb:    from pavo_tx_alloc()
 * @page:   the page
 * @offset: first byte in it
 * @len:    bytes
 *
 * Return: 0; -ENOSPC: the skb has no free fragment; -EOPNOTSUPP: the page cannot be attached
 * (kernel memory without page references). The caller copies then.
 */
int pavo_tx_add_page(struct sk_buff *skb, struct page *page,
		     unsigned int offset, unsigned int len);

/**
 * pavo_tx_send - add pad, ICRC, UDP and IP headers, and send; consumes @skb.
 * @stats: the sender's counters
 * @flow:  the path
 * @skb:   the packet
 * @pad:   pad bytes to add before the ICRC, 0..3, equal to PadCnt of the BTH
 *
 * Context: BH disabled.
 * Return: 0; -EHOSTUNREACH: no route, filtered, or too long for the route; -ENOBUFS: no memory, or
 * the interface refused. Errors are counted, and the packet is lost.
 */
int pavo_tx_send(const struct pavo_stats *stats, struct pavo_flow *flow,
		 struct sk_buff *skb, unsigned int pad);

/** Number of bounds for packets of users on this machine, who are spread over them by hash. */
#define PAVO_USER_SHARES 64

/**
 * pavo_flow_connect - make a flow that of a connected queue pair: its packets may be looped back to
 * an adapter of the same namespace. The sender has to call pavo_net_deliver().
 * @flow: a flow that is not in use yet
 * @user: a pointer that differs between users
 */
void pavo_flow_connect(struct pavo_flow *flow, const void *user);

/**
 * pavo_net_deliver - deliver the packets that this CPU has looped back, within a slice. The
 * owner of a side calls it after it has dropped the lock, before it enables BH again.
 * @left: what is left of the caller's slice. If a looped back packet started the caller, what it
 *        has used counts in the slice of this CPU's queue
 *
 * Context: BH disabled; no side is locked.
 * Return: 0; -EINPROGRESS: packets are left, and the queue's work delivers them.
 */
int pavo_net_deliver(const struct pavo_budget *left);

/** pavo_net_delivers - true if a looped back packet has started the caller. BH disabled. */
bool pavo_net_delivers(void);

/**
 * pavo_net_continue - deliver packets that are left on this CPU, for some slices. A process
 * that has sent calls it, so that the delivery uses the time of that process, and its completions
 * are there when it returns to user space.
 *
 * Context: process, BH enabled, outside of RCU.
 */
void pavo_net_continue(void);

/**
 * pavo_tx_finish_icrc - first part of pavo_tx_send(): all but sending. If bytes of attached pages
 * change after that, the ICRC is wrong.
 * @stats: the sender's counters
 * @flow:  the path
 * @skb:   the packet; consumed by an error
 * @pad:   pad bytes, 0..3
 *
 * Return: as pavo_tx_send().
 */
int pavo_tx_finish_icrc(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct sk_buff *skb, unsigned int pad);
/** pavo_tx_send_finished - second part of pavo_tx_send(): send; consumes @skb. */
int pavo_tx_send_finished(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct sk_buff *skb);

/**
 * pavo_rx_free - free a packet that was handled.
 * @skb: the packet
 *
 * Puts the skb into the CPU's cache, from which pavo_tx_alloc() takes the next one, so an ACK goes
 * out in the skb of its request. Drops use kfree_skb(), which the kernel's drop monitor reports.
 *
 * Context: BH disabled.
 */
static inline void pavo_rx_free(struct sk_buff *skb)
{
	napi_consume_skb(skb, 1);
}

/** pavo_net_show - print how many super-packets were made, segmented and merged. */
void pavo_net_show(struct seq_file *file);

/**
 * struct pavo_rx - a received packet.
 * @port:    the port that received it
 * @skb:     data points to the UDP header; network header is set
 * @payload: offset of the payload from skb->data
 * @pkt:     parsed headers; the ICRC has been verified
 * @ipv6:    family of the packet
 * @marked:  a router has marked it: congestion experienced (RFC 3168)
 * @unit:    deferred ICRC: bytes of payload of each packet but the last; else 0
 * @at:      offset of the BTH from skb->data
 * @index:   coalesced packet: index of the packet that @pkt, @at and @payload describe; else 0
 * @meta:    deferred ICRC: verified metadata; otherwise port, flags and packets are 0
 */
struct pavo_rx {
	struct pavo_port *port;
	struct sk_buff *skb;
	unsigned int payload;
	bool ipv6;
	bool marked;
	unsigned int unit;
	unsigned int at;
	u32 index;
	struct pavo_meta meta;
	struct pavo_pkt pkt;
};

/**
 * pavo_rx_next - advance to the next packet of a coalesced packet.
 * @rx: the current packet has been handled
 *
 * Return: 0; -ENODATA: that was the last one; -EBADMSG: the next one is malformed (counted).
 */
int pavo_rx_next(struct pavo_rx *rx);

/** pavo_rx_has_next - true if the skb of @rx has more packets behind it. */
static inline bool pavo_rx_has_next(const struct pavo_rx *rx)
{
	return unlikely(rx->meta.packets);
}

/** pavo_rx_is_attached - true if the payload is memory of the sender's process. */
static inline bool pavo_rx_is_attached(const struct pavo_rx *rx)
{
	return rx->meta.flags & PAVO_META_ATTACHED;
}

/** pavo_rx_get_packets - number of packets of @rx: of a super-packet or coalesced packet, or 1. */
static inline u32 pavo_rx_get_packets(const struct pavo_rx *rx)
{
	return rx->meta.packets ?: rx->pkt.npkts;
}

/** pavo_rx_coalesced_bytes - pavo_rx_get_wire_bytes() of a coalesced packet. */
u32 pavo_rx_coalesced_bytes(const struct pavo_rx *rx);

/** pavo_rx_get_wire_bytes - bytes that these packets have on a wire behind their UDP headers. */
static inline u32 pavo_rx_get_wire_bytes(const struct pavo_rx *rx)
{
	if (!rx->unit)
		return rx->skb->len - rx->at;
	if (pavo_rx_has_next(rx))
		return pavo_rx_coalesced_bytes(rx);
	return pavo_gso_count_bytes(&rx->pkt, rx->pkt.payload);
}

/**
 * pavo_rx_skip - remove the packets before a PSN from a super-packet: they are duplicates.
 * @rx:  the super-packet; not changed unless @psn is inside it
 * @psn: the first PSN to keep
 */
void pavo_rx_skip(struct pavo_rx *rx, u32 psn);

/**
 * pavo_rx_take - find the port of a datagram, parse it, and verify its ICRC or metadata.
 * @rx:     set if the datagram is accepted
 * @skb:    the datagram; consumed if it is dropped
 * @local: it came from an adapter of this namespace, so no metadata has to be verified
 *
 * Context: softirq, RCU read side.
 * Return: 0; -EBADMSG: the datagram was dropped, and a counter has the reason.
 */
int pavo_rx_take(struct pavo_rx *rx, struct sk_buff *skb, bool local);

/**
 * pavo_rx_parse - parse a packet from a QP's backlog.
 * @rx:   set
 * @port: the port that received it
 * @skb:  the packet
 *
 * pavo_rx_take() has verified it, and has stored its metadata in skb->cb.
 */
void pavo_rx_parse(struct pavo_rx *rx, struct pavo_port *port,
		   struct sk_buff *skb);

/**
 * struct pavo_rx_bytes - cursor to the next byte to copy out of a packet.
 * @skb:   the packet
 * @at:    offset of the byte from skb->data
 * @frag:  number of fragments in front of it
 * @start: offset from skb->data of the first byte behind these
 */
struct pavo_rx_bytes {
	const struct sk_buff *skb;
	unsigned int at;
	unsigned int frag;
	unsigned int start;
};

/** pavo_rx_bytes_at - return a cursor to the byte at offset @from from skb->data. */
struct pavo_rx_bytes pavo_rx_bytes_at(const struct sk_buff *skb,
				      unsigned int from);

/**
 * pavo_rx_copy - copy the next bytes of a packet to a page: the one copy of the receive path.
 * @bytes:  the cursor; advanced
 * @page:   the page
 * @offset: first byte in it
 * @n:      bytes; @offset + @n is inside the page
 *
 * Return: 0; -EFAULT: the packet has fewer bytes.
 */
int pavo_rx_copy(struct pavo_rx_bytes *bytes, struct page *page,
		 unsigned int offset, unsigned int n);

/**
 * pavo_net_get - open the sockets of a namespace, or take another reference to them.
 * @net: the namespace
 *
 * Context: process.
 * Return: 0; -EADDRINUSE: the port is bound already, for example by rdma_rxe; or another negative
 * errno of udp_sock_create().
 */
int pavo_net_get(struct net *net);

/**
 * pavo_net_put - drop a reference of pavo_net_get(). The last one closes the sockets, and then
 * waits until no CPU handles a packet that came by them.
 * @net: the namespace; compared, but not dereferenced
 *
 * The namespace may have been freed, since an adapter can outlive it for a moment. The end of a
 * namespace closes its sockets in any case.
 */
void pavo_net_put(struct net *net);

/**
 * pavo_net_join - make the interface of an adapter join a multicast group, or count another user
 * of a group that it has joined.
 * @port: the adapter's port
 * @gid:  multicast GID, an IPv4 group as ::ffff:a.b.c.d
 *
 * Context: RTNL is held.
 * Return: 0; -ENODEV: no interface; -EADDRNOTAVAIL, -EAFNOSUPPORT: the interface or namespace does
 * not have the address family; -ENOMEM; or an errno of IPv6.
 */
int pavo_net_join(struct pavo_port *port, const struct in6_addr *gid);
/** pavo_net_leave - leave with the last user; nothing after pavo_net_leave_all(). RTNL is held. */
void pavo_net_leave(struct pavo_port *port, const struct in6_addr *gid);
/** pavo_net_leave_all - leave all groups: the interface is unregistered. RTNL is held. */
void pavo_net_leave_all(struct pavo_port *port);

/** pavo_gid_is_group - true for a multicast GID, an IPv4 group as ::ffff:a.b.c.d. */
static inline bool pavo_gid_is_group(const struct in6_addr *gid)
{
	return ipv6_addr_v4mapped(gid) ? ipv4_is_multicast(gid->s6_addr32[3]) :
					 ipv6_addr_is_multicast(gid);
}

/**
 * pavo_net_is_broadcast - true if @gid is the limited broadcast address of IPv4, that of a subnet
 * of an interface in the adapter's namespace, or an address of no host (0.0.0.0/8).
 * @port: the adapter's port
 * @gid:  an IPv4 address as ::ffff:a.b.c.d, or an IPv6 address, which is none
 *
 * Context: process.
 */
bool pavo_net_is_broadcast(const struct pavo_port *port,
			   const struct in6_addr *gid);

/**
 * struct pavo_net_calls - functions that net/ calls.
 * @receive:     called by the sockets for each datagram to the port, as
 *               &struct udp_tunnel_sock_cfg.encap_rcv
 * @local:       called for each packet that is looped back
 * @conn:        finds a queue pair by its port's number and its QPN; NULL: none. RCU read side
 * @may_read:    true if memory of such a queue pair that is attached to its request at @psn may
 *               still be read. RCU read side
 */
struct pavo_net_calls {
	int (*receive)(struct sock *sk, struct sk_buff *skb);
	void (*local)(struct sk_buff *skb);
	struct pavo_conn *(*conn)(u32 port, u32 qpn);
	bool (*may_read)(u32 port, u32 qpn, u32 psn, u32 lkey, u32 token);
};

/**
 * pavo_net_init - initialize net/ when the module is loaded.
 * @calls: must stay valid until pavo_net_exit()
 *
 * Return: 0; -ENOMEM.
 */
int pavo_net_init(const struct pavo_net_calls *calls);
void pavo_net_exit(void);

/** pavo_rx_dgid - store the destination address of a packet as a GID in @gid. */
void pavo_rx_dgid(const struct pavo_rx *rx, struct in6_addr *gid);

/** pavo_rx_multicast - true if the destination is a multicast address. */
bool pavo_rx_multicast(const struct pavo_rx *rx);
/**
 * pavo_rx_to_many - true if the destination is a multicast or broadcast address.
 * @rx: the packet; the skb still has its input route, so it is not from a backlog
 */
bool pavo_rx_to_many(const struct pavo_rx *rx);

#endif /* PAVO_NET_H */
