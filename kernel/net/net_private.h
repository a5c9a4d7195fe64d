/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * net_private.h - what the files of net/ share.
 */
#ifndef PAVO_NET_PRIVATE_H
#define PAVO_NET_PRIVATE_H

#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include "net.h"

struct dst_entry;
struct page;

/**
 * pavo_flow_route - find the route of a flow; with a reference.
 * @flow: the flow
 *
 * Context: BH disabled.
 * Return: NULL if there is no route, or the source address is gone.
 */
struct dst_entry *pavo_flow_route(struct pavo_flow *flow);

/**
 * pavo_net_group6 - let an interface join or leave an IPv6 group, by the socket of
 * its namespace (socket.c).
 * @net:   the namespace
 * @ndev:  the interface
 * @group: the group
 * @join:  false: leave
 *
 * Context: RTNL is held.
 */
int pavo_net_group6(struct net *net, const struct net_device *ndev,
		    const struct in6_addr *group, bool join);

/**
 * pavo_port_on - find the port whose packets come by an interface.
 * @ndev: the port's interface, or a VLAN of it in the same namespace
 *
 * Context: RCU read side.
 * Return: NULL: no port's.
 */
struct pavo_port *pavo_port_on(const struct net_device *ndev);

/**
 * pavo_port_owns - is an interface in the namespace of a port? Only then may it carry the port's
 * packets, as a VLAN of its interface.
 * @port: the port
 * @ndev: the interface
 *
 * Context: RCU read side.
 */
bool pavo_port_owns(const struct pavo_port *port,
		    const struct net_device *ndev);

/** pavo_net_guarded - does any namespace have an adapter? */
bool pavo_net_guarded(void);

/* loopback.c */

/**
 * pavo_loopback_send - have the adapter that a packet is for execute it, when the sender calls
 * pavo_loopback_deliver(), or later; consumes it.
 * @skb:   the packet. skb->data is at its UDP header, and its route leads to the loopback interface
 * @share: whose packet it is, below PAVO_LOOPBACK_SHARES
 *
 * Context: BH disabled.
 * Return: 0, or -ENOBUFS: too many wait.
 */
int pavo_loopback_send(struct sk_buff *skb, u8 share);
int pavo_loopback_init(void (*loopback)(struct sk_buff *skb));
void pavo_loopback_exit(void);

/* guard.c: called for each namespace when it begins and ends; sleeps */
int pavo_guard_begin(struct net *net);
void pavo_guard_end(struct net *net);

/**
 * pavo_parse_headers - parse the transport headers of a packet.
 * @pkt:  result
 * @skb:  the packet
 * @from: offset of its BTH from skb->data, in the linear part
 * @len:  bytes from the BTH to the ICRC
 *
 * Pulls the headers out of page fragments first: their sender may still write to these, and a
 * header must read the same when a backlog is drained. Pulls headers only: a page of payload is
 * to stay a page (see whole_page()).
 */
enum pavo_parse_status pavo_parse_headers(struct pavo_pkt *pkt,
					  struct sk_buff *skb,
					  unsigned int from, unsigned int len);

/**
 * pavo_add_frag - make a part of a page the last fragment of a packet; takes over a reference.
 * @skb:    the packet, with a free fragment
 * @page:   the page
 * @offset: first byte in it
 * @len:    bytes
 */
void pavo_add_frag(struct sk_buff *skb, struct page *page, unsigned int offset,
		   unsigned int len);

/* deferred_icrc.c */

/* Adapters of this machine exchange late packets. */
extern bool pavo_deferred_icrc;

/*
 * A tunnel, since sockets of tunnels get such packets whole. The second bit, because devices in
 * hardware cut tunnels by themselves, but do not claim both.
 */
#define PAVO_GSO_DEFERRED (SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP)

/*
 * A train that GRO made of packets from a wire. No device in software claims the third bit, so none
 * gets it whole: the peer behind it may know no trains. The fourth says that it is IPv6, for the
 * cut.
 */
#define PAVO_GSO_MERGED (PAVO_GSO_DEFERRED | SKB_GSO_ESP)
#define PAVO_GSO_MERGED6 (PAVO_GSO_MERGED | SKB_GSO_TCP_FIXEDID)

/** pavo_deferred_has_mark - has the skb the inner protocol by which the stack calls for a cut? */
static inline bool pavo_deferred_has_mark(const struct sk_buff *skb)
{
	return skb->inner_protocol_type == ENCAP_TYPE_ETHER &&
	       skb->inner_protocol == htons(ETH_P_IBOE);
}

/** pavo_deferred_has_merged_type - would it be a train that GRO made of packets with an ICRC? */
static inline bool pavo_deferred_has_merged_type(const struct sk_buff *skb)
{
	const unsigned int type = skb_shinfo(skb)->gso_type;

	return type == PAVO_GSO_MERGED || type == PAVO_GSO_MERGED6;
}

/** pavo_deferred_has_type - would it be a late packet or a merged train, if it is authentic? */
static inline bool pavo_deferred_has_type(const struct sk_buff *skb)
{
	return skb_shinfo(skb)->gso_type == PAVO_GSO_DEFERRED ||
	       pavo_deferred_has_merged_type(skb);
}

/** pavo_is_deferred - does it claim to be a late packet, or a merged train? */
static inline bool pavo_is_deferred(const struct sk_buff *skb)
{
	return skb_is_gso(skb) && pavo_deferred_has_type(skb);
}

/**
 * pavo_deferred_merged - make a packet with the payload of many a merged train.
 * @skb:   the packet; its gso_size is the payload of each, and it has no ICRC
 * @at:    offset of its BTH from skb->data
 * @npkts: packets
 * @ipv6:  family
 */
void pavo_deferred_merged(struct sk_buff *skb, unsigned int at,
			  unsigned int npkts, bool ipv6);
/**
 * pavo_deferred_mark - give a packet the inner protocol by which the stack calls for a cut.
 * @skb:     the packet; skb->data is at its BTH
 * @hdr_len: length of its transport headers
 */
void pavo_deferred_mark(struct sk_buff *skb, unsigned int hdr_len);

/**
 * pavo_deferred_make - make a marked packet late: a device is to cut it.
 * @skb:   the packet, with room for a &struct pavo_meta behind that of its ICRC
 * @unit:  bytes of payload for each packet
 * @npkts: packets
 */
void pavo_deferred_make(struct sk_buff *skb, unsigned int unit,
			unsigned int npkts);

/**
 * pavo_deferred_meta - copy the metadata at the end of a late packet, which is not verified yet.
 * @meta: result; what names memory is encrypted
 * @skb:  the packet
 * @from: offset of its BTH from skb->data
 *
 * Return: false if it is too short, or if there is no memory.
 */
bool pavo_deferred_meta(struct pavo_meta *meta, struct sk_buff *skb,
			unsigned int from);

/**
 * pavo_deferred_parse - parse a late packet, as pavo_parse() does with others.
 * @pkt:  result, with the number of packets; of a bundle its first packet
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
 * pavo_auth_sign - authenticate a packet by its metadata.
 * @meta: plain metadata; gets the MAC, and what names memory is encrypted
 * @skb:  the packet, complete but for the metadata at its end
 * @from: offset of its BTH from skb->data; behind the UDP header
 * @ip:   its IP header
 *
 * Return: false if the headers are not in the linear part.
 */
bool pavo_auth_sign(struct pavo_meta *meta, const struct sk_buff *skb,
		    unsigned int from, const void *ip);
/**
 * pavo_auth_verify - did this module make packet and metadata?
 * @meta: from pavo_deferred_meta(); what names memory is decrypted
 * @skb:  the packet, which was parsed
 * @from: offset of its BTH from skb->data
 * @ip:   its IP header, of the family that @meta says
 */
bool pavo_auth_verify(struct pavo_meta *meta, const struct sk_buff *skb,
		      unsigned int from, const void *ip);
void pavo_auth_init(void);

/* gro.c: as of &struct udp_tunnel_sock_cfg */
struct sk_buff *pavo_gro_receive(struct sock *sk, struct list_head *head,
				 struct sk_buff *skb);
int pavo_gro_complete(struct sock *sk, struct sk_buff *skb, int at);

/* coalesced.c */

/** pavo_coalesced_trailer - bytes of the lengths of @packets packets, in front of the metadata. */
static inline unsigned int pavo_coalesced_trailer(u32 packets)
{
	return packets * sizeof(u16);
}

/** pavo_coalesced_len - length of packet @i of a bundle; 0: it has none with that number. */
unsigned int pavo_coalesced_len(const struct sk_buff *skb,
				const struct pavo_meta *meta, u32 i);

/**
 * pavo_coalesced_parse - parse a packet of a bundle.
 * @pkt:  result
 * @skb:  the bundle
 * @from: offset of the packet's BTH from skb->data
 * @len:  its length
 */
enum pavo_parse_status pavo_coalesced_parse(struct pavo_pkt *pkt,
					    struct sk_buff *skb,
					    unsigned int from,
					    unsigned int len);

/* tx.c */
int pavo_tx_authentic(const struct pavo_stats *stats, struct pavo_flow *flow,
		      struct sk_buff *skb, struct pavo_meta *meta, void *room,
		      unsigned int packets, unsigned int bytes);

void pavo_deferred_init(bool (*when_leaving)(const struct pavo_meta *meta,
					     u32 psn));
void pavo_deferred_exit(void);

/* Most bytes of pad and ICRC, rounded up. */
#define PAVO_TRAILER_MAX 8

int pavo_pages_init(void);
void pavo_pages_exit(void);

/**
 * pavo_page_take - take a page to copy payload into; with a reference. No other packet uses
 * it, but it has the bytes of an earlier one.
 *
 * Context: BH disabled.
 * Return: NULL without memory.
 */
struct page *pavo_page_take(void);

/**
 * pavo_packet_crc - compute the CRC-32 that the ICRC is made of (annex A17.3.3).
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
 * Return: false if some of the bytes cannot be read.
 */
bool pavo_packet_crc(u32 *crc, const struct sk_buff *skb, const void *ip,
		     bool ipv6, const void *udp, const void *bth,
		     unsigned int from, unsigned int len);

/* Value of a CRC-32 register after any data and the CRC of that data. */
#define PAVO_CRC_GOOD 0xdebb20e3u

int pavo_icrc_init(void);
void pavo_icrc_exit(void);

#endif /* PAVO_NET_PRIVATE_H */
