/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * net_private.h - declarations that only the files of net/ include.
 */
#ifndef PAVO_NET_PRIVATE_H
#define PAVO_NET_PRIVATE_H

#include <linux/hashtable.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <net/dst.h>
#include "net.h"
#include "net/tx.h"
#include "net/xmit.h"

struct page;

/* The table of ports by interface (port.c). */
#define PAVO_PORTS_BITS 6
extern struct hlist_head pavo_ports[1 << PAVO_PORTS_BITS];

/** pavo_port_lookup - pavo_port_find() for each packet. */
static inline struct pavo_port *pavo_port_lookup(const struct net_device *ndev)
{
	struct pavo_port *port;

	hash_for_each_possible_rcu(pavo_ports, port, node,
				   (unsigned long)ndev) {
		if (rcu_access_pointer(port->ndev) == ndev)
			return port;
	}
	return NULL;
}

/* pavo_port_below - find the port of the interface below a VLAN, in the same namespace. */
struct pavo_port *pavo_port_below(const struct net_device *vlan);

/**
 * pavo_port_find_on - find the port that receives the packets of an interface.
 * @ndev: the port's interface, or a VLAN of it in the same namespace
 *
 * Context: RCU read side.
 * Return: the port; NULL: none.
 */
static inline struct pavo_port *pavo_port_find_on(const struct net_device *ndev)
{
	struct pavo_port *port = pavo_port_lookup(ndev);

	return likely(port) || !is_vlan_dev(ndev) ? port :
						    pavo_port_below(ndev);
}

/**
 * pavo_port_owns - true if an interface is in the namespace of a port. Only then may it carry the
 * port's packets, as a VLAN of its interface.
 * @port: the port
 * @ndev: the interface
 *
 * Context: RCU read side.
 */
bool pavo_port_owns(const struct pavo_port *port,
		    const struct net_device *ndev);

/** pavo_net_guarded - true if any namespace has an adapter. */
bool pavo_net_guarded(void);

/* loopback.c */

/**
 * pavo_local_send - queue a packet for an adapter of the same namespace; consumes it.
 * pavo_net_deliver() delivers it.
 * @skb:   the packet, whose route leads to the loopback interface
 * @share: hash of the sending user, below PAVO_USER_SHARES
 *
 * Context: BH disabled.
 * Return: 0; -ENOBUFS: the queue, or the user's share of it, is full.
 */
int pavo_local_send(struct sk_buff *skb, u8 share);

/*
 * pavo_flow_takes_local - true if a packet goes to an adapter of the same namespace without the
 * network stack. All packets take the same path, so they stay in order.
 */
static inline bool pavo_flow_takes_local(const struct pavo_flow *flow,
					 const struct sk_buff *skb)
{
	return flow->local && skb_dst(skb)->dev->flags & IFF_LOOPBACK &&
	       READ_ONCE(pavo_deferred_icrc);
}

/* tx.c: these consume the reference to the route; NULL: there is none */

/** pavo_tx_address - push UDP and IP headers. An error consumes the packet. */
int pavo_tx_address(const struct pavo_stats *stats,
		    const struct pavo_flow *flow, struct dst_entry *dst,
		    struct sk_buff *skb);
/** pavo_tx_add_trailer - append space behind the payload. NULL: no memory, all is consumed. */
u8 *pavo_tx_add_trailer(const struct pavo_stats *stats, struct dst_entry *dst,
			struct sk_buff *skb, unsigned int len);
/** pavo_tx_pass - pass @packets packets in one skb to the stack, and count them. */
int pavo_tx_pass(const struct pavo_stats *stats, const struct pavo_flow *flow,
		 struct sk_buff *skb, unsigned int packets, unsigned int bytes);

int pavo_loopback_init(void (*loopback)(struct sk_buff *skb));
void pavo_loopback_exit(void);

/* guard.c: called when a namespace begins and ends; sleeps */
int pavo_guard_begin(struct net *net);
void pavo_guard_end(struct net *net);

/**
 * pavo_parse_headers - parse the transport headers of a packet.
 * @pkt:  result
 * @skb:  the packet
 * @from: offset of its BTH from skb->data, in the linear part
 * @len:  bytes from the BTH to the ICRC
 *
 * Pulls the headers out of page fragments first, because their sender may still write to these, and
 * a header must read the same when a backlog is drained. Does not pull payload, so that a page of
 * payload stays a page.
 */
enum pavo_parse_status pavo_parse_headers(struct pavo_pkt *pkt,
					  struct sk_buff *skb,
					  unsigned int from, unsigned int len);

/**
 * pavo_add_frag - append a part of a page to a packet; consumes a reference to the page.
 * @skb:    the packet, with a free fragment
 * @page:   the page
 * @offset: first byte in it
 * @len:    bytes
 */
void pavo_add_frag(struct sk_buff *skb, struct page *page, unsigned int offset,
		   unsigned int len);

/* deferred_icrc.c */

/*
 * GSO type of a packet with deferred ICRC: a tunnel, because sockets of tunnels get it without
 * segmentation. Hardware segments tunnels itself, but no hardware claims both bits.
 */
#define PAVO_GSO_DEFERRED (SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP)

/*
 * GSO type of a super-packet that GRO has merged of packets from a wire. No device in software
 * claims the third bit, so the stack segments it before any device: the peer behind that may not
 * support super-packets. The fourth bit marks IPv6, for the segmentation.
 */
#define PAVO_GSO_MERGED (PAVO_GSO_DEFERRED | SKB_GSO_ESP)
#define PAVO_GSO_MERGED6 (PAVO_GSO_MERGED | SKB_GSO_TCP_FIXEDID)

/** pavo_deferred_has_mark - true if the inner protocol makes the stack call pavo's segmentation. */
static inline bool pavo_deferred_has_mark(const struct sk_buff *skb)
{
	return skb->inner_protocol_type == ENCAP_TYPE_ETHER &&
	       skb->inner_protocol == htons(ETH_P_IBOE);
}

/** pavo_deferred_has_merged_type - true for the GSO type of a super-packet that GRO has merged. */
static inline bool pavo_deferred_has_merged_type(const struct sk_buff *skb)
{
	const unsigned int type = skb_shinfo(skb)->gso_type;

	return type == PAVO_GSO_MERGED || type == PAVO_GSO_MERGED6;
}

/** pavo_deferred_has_type - true for the GSO types of packets with deferred ICRC. */
static inline bool pavo_deferred_has_type(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type == PAVO_GSO_DEFERRED ||
	       pavo_deferred_has_merged_type(skb);
}

/** pavo_is_deferred - true if it claims a deferred ICRC. Its metadata is to be verified then. */
static inline bool pavo_is_deferred(const struct sk_buff *skb)
{
	return skb_is_gso(skb) && pavo_deferred_has_type(skb);
}

/* Bytes of metadata at the end of a packet. */
#define PAVO_TAIL_LEN sizeof(struct pavo_meta)

/**
 * pavo_gso_finish - give a super-packet that GRO has merged its GSO type and its metadata.
 * @skb:   the super-packet; gso_size is the payload of each packet, and it has no ICRC
 * @at:    offset of its BTH from skb->data
 * @npkts: packets
 * @ipv6:  family
 * @ip:    its IP header
 * @to:    space for the metadata at its end; NULL: none
 */
void pavo_gso_finish(struct sk_buff *skb, unsigned int at, unsigned int npkts,
		     bool ipv6, const void *ip, void *to);

/**
 * pavo_deferred_mark - set the inner protocol that makes the stack call pavo's segmentation.
 * @skb:     the packet; skb->data is at its BTH
 * @hdr_len: length of its transport headers
 */
void pavo_deferred_mark(struct sk_buff *skb, unsigned int hdr_len);

/**
 * pavo_deferred_make - give a marked packet the GSO type of a deferred ICRC.
 * @skb:   the packet, with space for a &struct pavo_meta behind the space for its ICRC
 * @unit:  bytes of payload for each packet
 * @npkts: packets
 */
void pavo_deferred_make(struct sk_buff *skb, unsigned int unit,
			unsigned int npkts);

/**
 * pavo_deferred_meta - copy the metadata at the end of a packet with deferred ICRC. It is not
 * verified yet.
 * @meta: result; lkey and token are encrypted
 * @skb:  the packet
 * @from: offset of its BTH from skb->data
 *
 * Return: 0; -EINVAL: the packet is too short; -ENOMEM.
 */
int pavo_deferred_meta(struct pavo_meta *meta, struct sk_buff *skb,
		       unsigned int from);

/** pavo_conn_find - find the queue pair of a port that sent a packet; NULL: gone. RCU read side. */
struct pavo_conn *pavo_conn_find(u32 port, u32 qpn);

/**
 * pavo_deferred_parse - parse a packet with deferred ICRC, as pavo_parse() parses others.
 * @pkt:  result, with the number of packets; of a coalesced packet: its first packet
 * @meta: its metadata
 * @skb:  the packet; it has at least the metadata behind @from
 * @from: offset of its BTH from skb->data
 */
enum pavo_parse_status pavo_deferred_parse(struct pavo_pkt *pkt,
					   const struct pavo_meta *meta,
					   struct sk_buff *skb,
					   unsigned int from);

/* auth.c; all: BH disabled */

/**
 * pavo_auth_sign - compute the MAC of a packet and its metadata.
 * @meta: plain metadata; the MAC is set, and lkey and token are encrypted
 * @skb:  the packet, complete but for the metadata at its end
 * @from: offset of its BTH from skb->data; behind the UDP header
 * @ip:   its IP header
 *
 * Return: 0; -EINVAL: the headers are not in the linear part.
 */
int pavo_auth_sign(struct pavo_meta *meta, const struct sk_buff *skb,
		   unsigned int from, const void *ip);
/**
 * pavo_auth_verify - true if this module has made packet and metadata.
 * @meta: from pavo_deferred_meta(); lkey and token are decrypted
 * @skb:  the packet, which was parsed
 * @from: offset of its BTH from skb->data
 * @ip:   its IP header, of the family in @meta
 */
bool pavo_auth_verify(struct pavo_meta *meta, const struct sk_buff *skb,
		      unsigned int from, const void *ip);
void pavo_auth_init(void);

/* gro.c: functions of &struct udp_tunnel_sock_cfg */
struct sk_buff *pavo_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb);
int pavo_gro_complete(struct sock *sk, struct sk_buff *skb, int at);

/* coalesced.c */

/** pavo_coalesced_get_trailer - bytes that the lengths of @packets packets take. */
static inline unsigned int pavo_coalesced_get_trailer(u32 packets)
{
	return packets * sizeof(u16);
}

/** pavo_coalesced_len - length of packet @i of a coalesced packet, bytes; 0: no such packet. */
unsigned int pavo_coalesced_len(const struct sk_buff *skb,
				const struct pavo_meta *meta, u32 i);

/**
 * pavo_coalesced_parse - parse one packet of a coalesced packet.
 * @pkt:  result
 * @skb:  the coalesced packet
 * @from: offset of the packet's BTH from skb->data
 * @len:  its length
 */
enum pavo_parse_status pavo_coalesced_parse(struct pavo_pkt *pkt,
					    struct sk_buff *skb,
					    unsigned int from,
					    unsigned int len);

/* deferred_icrc.c: packets with metadata, at load, after it, and in reverse order */
int pavo_offload_init(const struct pavo_net_calls *calls);
void pavo_offload_start(void);
void pavo_offload_stop(void);
void pavo_offload_exit(void);

/* Received packets with metadata: their ICRC is deferred. */

/** pavo_rx_begin_meta - prepare @rx; sets rx->unit if the skb claims to have metadata. */
static inline void pavo_rx_begin_meta(struct pavo_rx *rx)
{
	rx->unit = pavo_is_deferred(rx->skb) ? skb_shinfo(rx->skb)->gso_size :
					       0;
	rx->meta.port = 0;
	rx->meta.flags = 0;
	rx->meta.packets = 0;
}

/** pavo_rx_read_meta - read the metadata. Return: as pavo_deferred_meta(). */
int pavo_rx_read_meta(struct pavo_rx *rx);
/** pavo_rx_parse_meta - parse the headers of a packet with metadata. */
enum pavo_parse_status pavo_rx_parse_meta(struct pavo_rx *rx);
/** pavo_rx_verify_meta - true if the metadata are authentic; @local: no verification is needed. */
bool pavo_rx_verify_meta(struct pavo_rx *rx, bool local);
/** pavo_rx_restore_meta - get the verified metadata of a packet from a backlog. */
void pavo_rx_restore_meta(struct pavo_rx *rx);

/* Most bytes of pad and ICRC, rounded up. */
#define PAVO_TRAILER_MAX 8
/* Most bytes behind the payload: pad, ICRC and metadata. A multiple of 8. */
#define PAVO_TRAILER_SPACE ALIGN(PAVO_TRAILER_MAX + sizeof(struct pavo_meta), 8)

int pavo_pages_init(void);
void pavo_pages_exit(void);

/**
 * pavo_page_take - get a page to copy payload into, with a reference. No other packet uses it. It
 * holds bytes of an earlier packet, which the caller overwrites.
 *
 * Context: BH disabled.
 * Return: the page; NULL: no memory.
 */
struct page *pavo_page_take(void);

/**
 * pavo_packet_crc - compute the CRC-32 of a packet, without the final complement (annex A17.3.3).
 * @crc:  result, not complemented. Over a packet to the end of its pad the
 *        complement is its ICRC, to be stored least significant byte first;
 *        over a packet with a good ICRC the result is PAVO_CRC_GOOD.
 * @skb:  the packet
 * @ip:   its IP header, in contiguous memory
 * @ipv6: family of @ip
 * @udp:  its UDP header, likewise
 * @bth:  its BTH, likewise
 * @from: offset from skb->data of the byte behind the BTH
 * @len:  bytes from there on
 *
 * Return: 0; -EFAULT: some of the bytes cannot be read.
 */
int pavo_packet_crc(u32 *crc, const struct sk_buff *skb, const void *ip,
		    bool ipv6, const void *udp, const void *bth,
		    unsigned int from, unsigned int len);

/* Value of a CRC-32 register after any data and the CRC of that data. */
#define PAVO_CRC_GOOD 0xdebb20e3u

int pavo_icrc_init(void);
void pavo_icrc_exit(void);

#endif /* PAVO_NET_PRIVATE_H */
