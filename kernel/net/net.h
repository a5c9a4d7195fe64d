/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * net.h - the door of net/: packets to and from the network stack.
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
 * struct pavo_flow - the path of a connected QP, of one datagram, or of a window's route.
 * @port:  the port that packets leave by
 * @sgid:  source GID; a reference is held. Packets leave by its netdevice.
 * @ipv6:  family, from the source GID
 * @traffic_class: for the IP header
 * @priority: of packets in the queues of the interface, from service level and traffic class
 * @hop_limit: for the IP header; 0: as the route says
 * @flow_label: for the IPv6 header and @sport
 * @headroom: bytes to keep in front of the BTH for link, IP and UDP headers
 * @sport: UDP source port, from flow label or QPNs: entropy for ECMP
 * @saddr: source address (IPv4: ::ffff:a.b.c.d)
 * @daddr: destination address, likewise
 * @cache: routes, per CPU
 * @cached: @cache is in use
 * @loopback: the destination is an adapter of the same namespace. Packets go to it late, and from
 *          memory to memory, unless a rule of routing sends them out
 * @share: whose packets they are, below PAVO_LOOPBACK_SHARES
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

/* Most bytes of payload in a train: headers and all must fit an IP packet, and pages an skb. */
#define PAVO_GSO_BYTES (15 * 4096)

/** Most packets of a bundle, and most bytes of all of them. */
#define PAVO_COALESCED_PACKETS 32
#define PAVO_COALESCED_BYTES 3072

/* Bits of struct pavo_meta.flags. */
#define PAVO_META_IPV6 1u
#define PAVO_META_ATTACHED 2u /* memory of the sender's process is attached */
#define PAVO_META_MERGED \
	4u /* GRO made it of packets with a right ICRC; no sender */

/**
 * struct pavo_meta - metadata of a packet without an ICRC: what adapters of one machine tell each
 * other. It stands behind the room of the ICRC, and leaves the machine with no packet.
 * @mac:     authenticates packet and metadata (auth.c)
 * @lkey:    PAVO_META_ATTACHED: key of the memory; encrypted in the packet
 * @token:   that of the key's meaning; likewise
 * @port:    number of the sender's port; 0: none
 * @qpn:     the sender's QP
 * @flags:   PAVO_META_*
 * @packets: a bundle: its packets, whose lengths stand in front of the metadata; else 0
 *
 * Bytes of attached memory that are written after the end of the request must not reach the peer:
 * &struct pavo_net_calls.leaves.
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
 * @lqpn:   own QPN, for the source port's entropy if the flow label is 0
 * @rqpn:   the peer's QPN, likewise
 * @cached: keep routes; may sleep then
 *
 * Takes its own reference to the sgid attribute of @attr->grh.sgid_index.
 *
 * Return: 0; -EINVAL if there is no such GID or it has no netdevice; -ENOMEM.
 */
int pavo_flow_init(struct pavo_flow *flow, const struct pavo_port *port,
		   const struct rdma_ah_attr *attr, u32 lqpn, u32 rqpn,
		   bool cached);
void pavo_flow_destroy(struct pavo_flow *flow);

/**
 * pavo_tx_alloc - make an skb for one packet.
 * @stats: the sender's counters
 * @flow:  its path
 * @pkt:   its headers (BTH ..); NULL: none
 * @copy:  bytes of payload that pavo_tx_put() will put into the head
 *
 * The skb has room for link, IP and UDP headers in front and pad + ICRC behind. The caller
 * puts or adds the payload piece by piece, in its order, and leaves skb->cb alone.
 *
 * Context: BH disabled.
 * Return: NULL without memory (counted).
 */
struct sk_buff *pavo_tx_alloc(const struct pavo_stats *stats,
			      struct pavo_flow *flow,
			      const struct pavo_pkt *pkt, unsigned int copy);

/**
 * pavo_tx_put - make room for payload at the end, for the caller to write now.
 * @skb: from pavo_tx_alloc()
 * @len: bytes
 *
 * The room is in the head if pavo_tx_alloc() was told of it and no page was added before.
 * Otherwise it is a fragment of its own, which is best for payload of a page's size.
 *
 * Context: BH disabled.
 * Return: NULL without memory, or without a free fragment.
 */
void *pavo_tx_put(struct sk_buff *skb, unsigned int len);

/**
 * pavo_tx_add_page - attach a part of a page as payload, with a reference.
 * @skb:    from pavo_tx_alloc()
 * @page:   the page
 * @offset: first byte in it
 * @len:    bytes
 *
 * Return: false if the skb has no free fragment, or if the page may not be
 * attached (kernel memory without page references): the caller then copies.
 */
bool pavo_tx_add_page(struct sk_buff *skb, struct page *page,
		      unsigned int offset, unsigned int len);

/**
 * pavo_tx_send - finish (pad, UDP, IP, ICRC) and send; consumes @skb.
 * @stats: the sender's counters
 * @flow:  the path
 * @skb:   the packet
 * @pad:   pad bytes to add before the ICRC, 0..3, as announced in the BTH
 *
 * Context: BH disabled.
 * Return: 0; -EHOSTUNREACH (no route, filtered, or too long for the route), -ENOBUFS
 * (no memory, or the interface refused). Errors are counted, and the packet is lost.
 */
int pavo_tx_send(const struct pavo_stats *stats, struct pavo_flow *flow,
		 struct sk_buff *skb, unsigned int pad);

/**
 * pavo_tx_send_deferred - finish a packet without an ICRC and send it; consumes @skb. For peers on this
 * machine, and flows that stay inside.
 * @stats: as of pavo_tx_send()
 * @flow:  likewise
 * @skb:   likewise. Its payload may be that of pkt->npkts packets
 * @pkt:   its headers
 * @unit:  bytes of payload for each packet, but for the last: the path MTU
 * @meta:  the sender, and the memory that is attached; the rest is set here
 *
 * Return: as pavo_tx_send().
 */
int pavo_tx_send_deferred(const struct pavo_stats *stats,
			  struct pavo_flow *flow, struct sk_buff *skb,
			  const struct pavo_pkt *pkt, unsigned int unit,
			  struct pavo_meta *meta);

/**
 * struct pavo_coalesced - short packets for one peer, to be sent in one skb.
 * @skb:   it has their bytes from the BTH to the pad, one behind the other; NULL: no packet
 * @first: PSN of the first one
 * @count: packets
 * @len:   bytes of each
 */
struct pavo_coalesced {
	struct sk_buff *skb;
	u32 first;
	u16 count;
	u16 len[PAVO_COALESCED_PACKETS];
};

/** pavo_coalesced_allowed - may packets of that opcode be in a bundle? Those of whole messages. */
bool pavo_coalesced_allowed(u8 opcode);

/**
 * pavo_coalesced_begin - make an empty bundle.
 * @stats:  as of pavo_tx_alloc()
 * @flow:   likewise
 * @coalesced: set
 * @room:   bytes that packets will need; PAVO_COALESCED_BYTES at most
 *
 * Return: false without memory.
 */
bool pavo_coalesced_begin(const struct pavo_stats *stats,
			  struct pavo_flow *flow,
			  struct pavo_coalesced *coalesced, unsigned int room);

/** pavo_coalesced_fits - is there room for a packet of @len bytes? */
bool pavo_coalesced_fits(const struct pavo_coalesced *coalesced,
			 unsigned int len);

/**
 * pavo_coalesced_send - send the packets without ICRC; empties @coalesced.
 * @stats:  as of pavo_tx_send()
 * @flow:   likewise
 * @coalesced: it has a packet
 * @meta:   the sender; the rest is set here
 *
 * Return: as pavo_tx_send(); an error is that of all packets.
 */
int pavo_coalesced_send(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct pavo_coalesced *coalesced,
			struct pavo_meta *meta);

/** Users whose packets inside are bounded one by one; more of them share a bound by hash. */
#define PAVO_LOOPBACK_SHARES 64

/**
 * pavo_flow_allow_loopback - let packets to an adapter of the same namespace stay inside. Their
 * sender calls pavo_loopback_deliver().
 * @flow: a flow that is not used yet
 * @user: a pointer that tells users from each other
 */
void pavo_flow_allow_loopback(struct pavo_flow *flow, const void *user);

/**
 * pavo_flow_is_loopback - do packets stay inside, by the present routes?
 * @flow: the flow
 *
 * Context: BH disabled.
 */
bool pavo_flow_is_loopback(struct pavo_flow *flow);

/**
 * pavo_loopback_deliver - deliver what was sent inside on this CPU, as far as a slice goes. A side's
 * owner calls it when it has let go, before BH are enabled again.
 * @left: what is left of the slice of the caller, whose work counts where a packet from inside
 *        brought it about
 *
 * Return: false: some of it is left, for a work.
 */
bool pavo_loopback_deliver(const struct pavo_budget *left);

/**
 * pavo_loopback_continue - go on with what was left on this CPU, for some slices. A process that sent
 * calls it: so its own time is used, and it finds its completions when it comes back.
 *
 * Context: process, BH enabled, outside of RCU.
 */
void pavo_loopback_continue(void);

/**
 * struct pavo_loopback_mark - up to where a sender's packets are in the queue of a CPU.
 * @cpu:  the CPU on which it sent last
 * @sent: packets that were sent inside there
 */
struct pavo_loopback_mark {
	int cpu;
	u32 sent;
};

/** pavo_loopback_mark - the mark of one that sends on this CPU. Context: BH disabled. */
struct pavo_loopback_mark pavo_loopback_mark(void);

/**
 * pavo_loopback_is_behind - are packets before @mark waiting on another CPU? A sender on this one would
 * overtake them.
 * @mark: of the sender
 *
 * Context: BH disabled.
 */
bool pavo_loopback_is_behind(const struct pavo_loopback_mark *mark);

/** enum pavo_icrc_defer - which packets of a flow may be late. */
enum pavo_icrc_defer {
	PAVO_ICRC_DEFER_NONE,
	PAVO_ICRC_DEFER_GSO, /* trains and bundles: the first device of the path cuts them */
	PAVO_ICRC_DEFER_ALL, /* all: the peer is on this machine, or the flow stays inside */
};

/**
 * pavo_flow_icrc_defer - which packets may be late on @flow?
 * @flow: the flow
 * @backoff: what the sending side knows of losses on it
 * @same_host: the peer is a queue pair of this machine
 *
 * Context: BH disabled.
 */
enum pavo_icrc_defer pavo_flow_icrc_defer(struct pavo_flow *flow,
					  struct pavo_gso_backoff *backoff,
					  bool same_host);

/**
 * pavo_flow_attaches - may pages of a process be attached to packets of @flow?
 * @flow: the flow
 *
 * A process that sees a page in a packet sees later writes to it. So it has to stay inside, or
 * between two adapters of this namespace, or to leave by hardware.
 *
 * Context: BH disabled.
 */
bool pavo_flow_attaches(struct pavo_flow *flow);

/**
 * pavo_tx_finish_icrc - first step of pavo_tx_send(): finish the packet. If bytes of attached pages
 * change after that, its ICRC is wrong.
 * @stats: as of pavo_tx_send()
 * @flow:  likewise
 * @skb:   likewise; consumed by an error
 * @pad:   likewise
 *
 * Return: as pavo_tx_send().
 */
int pavo_tx_finish_icrc(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct sk_buff *skb, unsigned int pad);
/** pavo_tx_send_finished - second step of pavo_tx_send(): send; consumes @skb. */
int pavo_tx_send_finished(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct sk_buff *skb);

/**
 * pavo_rx_free - free a packet that was used.
 * @skb: the packet
 *
 * Gives the skb to the CPU's cache, from which pavo_tx_alloc() takes the next
 * one: an ACK goes out in the skb of its request. Drops use kfree_skb(),
 * which tells the kernel's drop monitor.
 *
 * Context: BH disabled.
 */
static inline void pavo_rx_free(struct sk_buff *skb)
{
	napi_consume_skb(skb, 1);
}

/** pavo_deferred_show - print numbers of trains and bundles, late packets cut, packets merged. */
void pavo_deferred_show(struct seq_file *file);
/** pavo_gso_count_merged - count packets of a train that GRO made. */
void pavo_gso_count_merged(u32 packets);

/**
 * struct pavo_rx - a received packet on its way through the engine.
 * @port:    the port that it came by
 * @skb:     data points to the UDP header; network header is set
 * @payload: offset of the payload from skb->data
 * @pkt:     parsed headers; ICRC has been verified
 * @ipv6:    family of the packet
 * @unit:    late packets: bytes of payload for each packet of the path MTU; else 0
 * @at:      offset of the BTH from skb->data
 * @index:   in a bundle: number of the packet that the others are of, else 0
 * @meta:    late packets: their metadata, which was verified; of others, port, flags and packets
 *           are 0
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
 * pavo_rx_next - go on to the next packet of a bundle.
 * @rx: its packet so far has been handled
 *
 * Return: false if there is no other.
 */
bool pavo_rx_next(struct pavo_rx *rx);

/** pavo_rx_packets - how many packets @rx has: those of a train or bundle, or 1. */
u32 pavo_rx_packets(const struct pavo_rx *rx);

/** pavo_rx_wire_bytes - the bytes that they have on a wire behind their UDP headers. */
u32 pavo_rx_wire_bytes(const struct pavo_rx *rx);

/**
 * pavo_rx_skip - leave out the packets of a train in front of a PSN, which came before.
 * @rx:  the train; what comes before all of it, or behind it, is left as it is
 * @psn: the first PSN to be left
 */
void pavo_rx_skip(struct pavo_rx *rx, u32 psn);

/** pavo_flow_match - does @rx come from the address of the flow's peer, to its own address? */
bool pavo_flow_match(const struct pavo_flow *flow, const struct pavo_rx *rx);

/**
 * pavo_rx_take - find the port of a datagram, take it apart, and verify its ICRC or metadata.
 * @rx:     set to what the engine goes by, if the datagram is taken
 * @skb:    the datagram; consumed if it is not taken
 * @loopback: it came from pavo_loopback_send(), and was in no other hands
 *
 * Context: softirq, RCU read side.
 * Return: false if the datagram was dropped; a counter says why.
 */
bool pavo_rx_take(struct pavo_rx *rx, struct sk_buff *skb, bool loopback);

/**
 * pavo_rx_parse - parse a packet again that waited on a QP's backlog.
 * @rx:   set
 * @port: the port that it came by
 * @skb:  the packet
 *
 * It was verified before it was put there, and its metadata kept in skb->cb.
 */
void pavo_rx_parse(struct pavo_rx *rx, struct pavo_port *port,
		   struct sk_buff *skb);

/**
 * struct pavo_rx_bytes - the place of the next byte to be copied out of a packet.
 * @skb:   the packet
 * @at:    offset of the byte from skb->data
 * @frag:  fragments in front of it
 * @start: offset from skb->data of the first byte behind these
 */
struct pavo_rx_bytes {
	const struct sk_buff *skb;
	unsigned int at;
	unsigned int frag;
	unsigned int start;
};

/** pavo_rx_bytes_at - the place of the byte at offset @from from skb->data. */
struct pavo_rx_bytes pavo_rx_bytes_at(const struct sk_buff *skb,
				      unsigned int from);

/**
 * pavo_rx_copy - the one copy of receiving: the next bytes of a packet to a page.
 * @bytes:  their place; moved behind them
 * @page:   the page
 * @offset: first byte in it
 * @n:      bytes; the page must have as many
 *
 * Return: 0, or -EFAULT if the packet does not have so many.
 */
int pavo_rx_copy(struct pavo_rx_bytes *bytes, struct page *page,
		 unsigned int offset, unsigned int n);

/**
 * pavo_net_get - make sure that a namespace has its sockets; process context.
 * @net: the namespace
 *
 * Return: 0; -EADDRINUSE if another driver (rdma_rxe) has the port.
 */
int pavo_net_get(struct net *net);

/**
 * pavo_net_put - balances pavo_net_get(). The last one closes the sockets:
 * when it returns, no packet is on its way into the engine.
 * @net: the namespace; used as a name only
 *
 * The namespace may be gone already, since an adapter can outlive it for a
 * moment. The end of a namespace closes its sockets in any case.
 */
void pavo_net_put(struct net *net);
/**
 * pavo_net_join - let the interface of an adapter join a group.
 * @port: the adapter's port
 * @gid:  multicast GID, an IPv4 group as ::ffff:a.b.c.d
 *
 * Context: RTNL is held.
 * Return: 0; a negative errno if the interface has no such address family, or
 * the group cannot be joined.
 */
int pavo_net_join(const struct pavo_port *port, const struct in6_addr *gid);
void pavo_net_leave(const struct pavo_port *port, const struct in6_addr *gid);

/**
 * struct pavo_net_calls - what net/ calls above it.
 * @receive:     the sockets, for each datagram to the port, as
 *               &struct udp_tunnel_sock_cfg.encap_rcv
 * @loopback:      the sender of a datagram that does not leave the namespace
 * @leaves:      a late packet of PSN @psn is cut for a device, and goes on without its metadata.
 *               False: its attached memory must not be read any more. RCU read side
 */
struct pavo_net_calls {
	int (*receive)(struct sock *sk, struct sk_buff *skb);
	void (*loopback)(struct sk_buff *skb);
	bool (*leaves)(const struct pavo_meta *meta, u32 psn);
};

/**
 * pavo_net_init - get ready for adapters.
 * @calls: constant; it stays
 *
 * Return: 0; -ENOMEM.
 */
int pavo_net_init(const struct pavo_net_calls *calls);
void pavo_net_exit(void);

/** pavo_rx_dgid - the destination address of a packet, as a GID. */
void pavo_rx_dgid(const struct pavo_rx *rx, struct in6_addr *gid);

/** pavo_rx_multicast - was the packet sent to a group? */
bool pavo_rx_multicast(const struct pavo_rx *rx);
/**
 * pavo_rx_to_many - was the packet sent to a group or a broadcast address? To be called while
 * the skb still has its input route, so not for packets from a backlog.
 * @rx: the packet
 */
bool pavo_rx_to_many(const struct pavo_rx *rx);

#endif /* PAVO_NET_H */
