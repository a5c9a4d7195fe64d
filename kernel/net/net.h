/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * net.h - interface of net/: packets to and from the network stack.
 *
 * Owns: the UDP sockets (one IPv4 and one IPv6 per network namespace that has
 * an adapter), IP and UDP headers, routes, the ICRC over a whole packet.
 */
#ifndef PAVO_NET_H
#define PAVO_NET_H

#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/dst_cache.h>
#include <rdma/ib_verbs.h>
#include "budget.h"
#include "net/gso_backoff.h"
#include "net/port.h"
#include "wire/wire.h"

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
 * @loopback: the destination is an adapter of the same namespace. Packets are looped back to it
 *          without an ICRC, unless a routing rule sends them out
 * @share: hash of the user that sends, below PAVO_LOOPBACK_SHARES
 *
 * Constant between pavo_flow_init(), pavo_flow_allow_loopback() and pavo_flow_destroy().
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
	bool loopback;
	u8 share;
};

/*
 * Most bytes of payload in a GSO super-packet. Headers and payload must fit an IP packet, and the
 * pages of the payload must fit an skb.
 */
#define PAVO_GSO_BYTES (15 * 4096)

/** Most packets in a coalesced packet, and most bytes of all of them. */
#define PAVO_COALESCED_PACKETS 32
#define PAVO_COALESCED_BYTES 3072

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
 * peer: see &struct pavo_net_calls.leaves.
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
 * Return: true; false: the skb has no free fragment, or the page cannot be attached (kernel memory
 * without page references), so the caller copies.
 */
bool pavo_tx_add_page(struct sk_buff *skb, struct page *page,
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

/**
 * pavo_tx_send_deferred - send a packet, or a GSO super-packet, with its ICRC deferred; consumes
 * @skb. pavo_flow_icrc_defer() says which flows allow it.
 * @stats: the sender's counters
 * @flow:  the path
 * @skb:   the packet, with the payload of pkt->npkts packets
 * @pkt:   its headers
 * @unit:  bytes of payload of each packet but the last: the path MTU
 * @meta:  sender and attached memory; the other members are set here
 *
 * Return: as pavo_tx_send().
 */
int pavo_tx_send_deferred(const struct pavo_stats *stats,
			  struct pavo_flow *flow, struct sk_buff *skb,
			  const struct pavo_pkt *pkt, unsigned int unit,
			  struct pavo_meta *meta);

/**
 * struct pavo_coalesced - a coalesced packet: short packets for one peer, sent in one skb.
 * @skb:   the packets in a row, each from its BTH to its pad; NULL: no packet
 * @first: PSN of the first packet
 * @count: number of packets
 * @len:   length of each, bytes
 */
struct pavo_coalesced {
	struct sk_buff *skb;
	u32 first;
	u16 count;
	u16 len[PAVO_COALESCED_PACKETS];
};

/** pavo_coalesced_allowed - true if packets with @opcode may be coalesced: whole RC messages. */
bool pavo_coalesced_allowed(u8 opcode);

/**
 * pavo_coalesced_begin - start a coalesced packet.
 * @stats:  the sender's counters
 * @flow:   the path
 * @coalesced: set; empty
 * @bytes:  space to reserve for packets; PAVO_COALESCED_BYTES at most
 *
 * Context: BH disabled.
 * Return: 0; -ENOMEM (counted).
 */
int pavo_coalesced_begin(const struct pavo_stats *stats, struct pavo_flow *flow,
			 struct pavo_coalesced *coalesced, unsigned int bytes);

/** pavo_coalesced_fits - true if a packet of @len bytes can be added. */
bool pavo_coalesced_fits(const struct pavo_coalesced *coalesced,
			 unsigned int len);

/**
 * pavo_coalesced_send - send the packets with their ICRCs deferred; empties @coalesced.
 * @stats:  the sender's counters
 * @flow:   the path
 * @coalesced: has one packet or more
 * @meta:   the sender; the other members are set here
 *
 * Return: as pavo_tx_send(), for all packets together.
 */
int pavo_coalesced_send(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct pavo_coalesced *coalesced,
			struct pavo_meta *meta);

/** Number of bounds for the loopback packets of users, who are spread over them by hash. */
#define PAVO_LOOPBACK_SHARES 64

/**
 * pavo_flow_allow_loopback - allow loopback to an adapter of the same namespace. The sender has to
 * call pavo_loopback_deliver() then.
 * @flow: a flow that is not in use yet
 * @user: a pointer that differs between users
 */
void pavo_flow_allow_loopback(struct pavo_flow *flow, const void *user);

/**
 * pavo_flow_is_loopback - true if packets are looped back, by the present routes.
 * @flow: the flow
 *
 * Context: BH disabled.
 */
bool pavo_flow_is_loopback(struct pavo_flow *flow);

/**
 * pavo_loopback_deliver - deliver the packets that this CPU has looped back, within a slice. The
 * owner of a side calls it after it has dropped the lock, before it enables BH again.
 * @left: what is left of the caller's slice. If a looped back packet started the caller, what it
 *        has used counts in the slice of this CPU's queue
 *
 * Context: BH disabled; no side is locked.
 * Return: true; false: packets are left, and the queue's work delivers them.
 */
bool pavo_loopback_deliver(const struct pavo_budget *left);

/**
 * pavo_loopback_continue - deliver packets that are left on this CPU, for some slices. A process
 * that has sent calls it, so that the delivery uses the time of that process, and its completions
 * are there when it returns to user space.
 *
 * Context: process, BH enabled, outside of RCU.
 */
void pavo_loopback_continue(void);

/**
 * struct pavo_loopback_mark - the position behind a sender's last packet in the queue of a CPU.
 * @cpu:  the CPU on which it sent last
 * @sent: packets that were queued there by then (free running)
 */
struct pavo_loopback_mark {
	int cpu;
	u32 sent;
};

/**
 * pavo_loopback_mark - return the position at the end of this CPU's queue. Context: BH disabled.
 */
struct pavo_loopback_mark pavo_loopback_mark(void);

/**
 * pavo_loopback_is_behind - true if packets before @mark wait on another CPU. Packets that are sent
 * on this CPU would overtake them.
 * @mark: position behind the sender's last packet
 *
 * Context: BH disabled.
 */
bool pavo_loopback_is_behind(const struct pavo_loopback_mark *mark);

/** enum pavo_icrc_defer - the packets of a flow whose ICRC may be deferred. */
enum pavo_icrc_defer {
	PAVO_ICRC_DEFER_NONE,
	/* GSO super-packets and coalesced packets, which are segmented for the first device */
	PAVO_ICRC_DEFER_GSO,
	PAVO_ICRC_DEFER_ALL, /* all: a same-host peer, or loopback */
};

/**
 * pavo_flow_icrc_defer - decide which packets of @flow may have their ICRC deferred.
 * @flow: the flow
 * @backoff: losses of the sending side on it
 * @same_host: the peer is a queue pair of this machine
 *
 * Context: BH disabled.
 */
enum pavo_icrc_defer pavo_flow_icrc_defer(struct pavo_flow *flow,
					  struct pavo_gso_backoff *backoff,
					  bool same_host);

/**
 * pavo_flow_attaches - true if pages of a process may be attached to packets of @flow.
 * @flow: the flow
 *
 * Another namespace that sees an attached page also sees what the process writes to it later. So
 * the packet has to be looped back, or go to another adapter of this namespace, or leave by
 * hardware.
 *
 * Context: BH disabled.
 */
bool pavo_flow_attaches(struct pavo_flow *flow);

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

/** pavo_deferred_show - print how many super-packets were made, segmented and merged. */
void pavo_deferred_show(struct seq_file *file);
/** pavo_gso_count_merged - count @packets packets that GRO has merged into a super-packet. */
void pavo_gso_count_merged(u32 packets);

/**
 * struct pavo_rx - a received packet.
 * @port:    the port that received it
 * @skb:     data points to the UDP header; network header is set
 * @payload: offset of the payload from skb->data
 * @pkt:     parsed headers; the ICRC has been verified
 * @ipv6:    family of the packet
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
 * Return: true; false: that was the last one, or the next one is malformed (counted).
 */
bool pavo_rx_next(struct pavo_rx *rx);

/** pavo_rx_packets - number of packets of @rx: of a super-packet or coalesced packet, or 1. */
u32 pavo_rx_packets(const struct pavo_rx *rx);

/** pavo_rx_wire_bytes - bytes that these packets have on a wire behind their UDP headers. */
u32 pavo_rx_wire_bytes(const struct pavo_rx *rx);

/**
 * pavo_rx_skip - remove the packets before a PSN from a super-packet: they are duplicates.
 * @rx:  the super-packet; not changed unless @psn is inside it
 * @psn: the first PSN to keep
 */
void pavo_rx_skip(struct pavo_rx *rx, u32 psn);

/** pavo_flow_match - true if @rx comes from the flow's destination and is for its source. */
bool pavo_flow_match(const struct pavo_flow *flow, const struct pavo_rx *rx);

/**
 * pavo_rx_take - find the port of a datagram, parse it, and verify its ICRC or metadata.
 * @rx:     set if the datagram is accepted
 * @skb:    the datagram; consumed if it is dropped
 * @loopback: it came from pavo_loopback_send(), so no metadata has to be verified
 *
 * Context: softirq, RCU read side.
 * Return: true; false: the datagram was dropped, and a counter has the reason.
 */
bool pavo_rx_take(struct pavo_rx *rx, struct sk_buff *skb, bool loopback);

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
 * pavo_net_join - make the interface of an adapter join a multicast group.
 * @port: the adapter's port
 * @gid:  multicast GID, an IPv4 group as ::ffff:a.b.c.d
 *
 * Context: RTNL is held.
 * Return: 0; -ENODEV: no interface; -EADDRNOTAVAIL, -EAFNOSUPPORT: the interface or namespace does
 * not have the address family; -ENOMEM; or an errno of IPv6.
 */
int pavo_net_join(const struct pavo_port *port, const struct in6_addr *gid);
void pavo_net_leave(const struct pavo_port *port, const struct in6_addr *gid);

/**
 * struct pavo_net_calls - functions that net/ calls.
 * @receive:     called by the sockets for each datagram to the port, as
 *               &struct udp_tunnel_sock_cfg.encap_rcv
 * @loopback:    called for each packet that is looped back
 * @leaves:      called when a packet with deferred ICRC, whose first PSN is @psn, is segmented for
 *               a device and loses its metadata. Returns false if its attached memory must not be
 *               read any more. RCU read side
 */
struct pavo_net_calls {
	int (*receive)(struct sock *sk, struct sk_buff *skb);
	void (*loopback)(struct sk_buff *skb);
	bool (*leaves)(const struct pavo_meta *meta, u32 psn);
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
