/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * net_private.h - what the files of net/ share among themselves.
 */
#ifndef PAVO_NET_PRIVATE_H
#define PAVO_NET_PRIVATE_H

#include <linux/types.h>
#include "net.h"

struct dst_entry;
struct page;
struct sk_buff;

/**
 * pavo_flow_route - the way to the other end, with a reference.
 *
 * Context: BH disabled.
 * Return: NULL if there is none, or the source address is gone.
 */
struct dst_entry *pavo_flow_route(struct pavo_flow *flow);

/**
 * pavo_net_group6 - let @ndev join or leave an IPv6 group, by the socket of
 * its namespace (socket.c); RTNL is held.
 */
int pavo_net_group6(struct net *net, const struct net_device *ndev,
		    const struct in6_addr *group, bool join);

/**
 * pavo_dev_on - the adapter that @ndev carries packets of: on it, or on the interface whose
 * VLAN it is in the same namespace; NULL: none. RCU read side.
 */
struct pavo_dev *pavo_dev_on(const struct net_device *ndev);

/**
 * pavo_dev_owns - is @ndev in the namespace of @dev? What is not does not carry its
 * packets, whatever interface it was made on. RCU read side.
 */
bool pavo_dev_owns(const struct pavo_dev *dev, const struct net_device *ndev);

/** pavo_net_guarded - is there an adapter in any namespace? */
bool pavo_net_guarded(void);

/* guard.c: of each namespace, with its life; sleeps */
int pavo_guard_begin(struct net *net);
void pavo_guard_end(struct net *net);

int pavo_pages_init(void);
void pavo_pages_exit(void);

/**
 * pavo_page_take - a page without another user, with a reference, to copy into. What is
 * in it is an earlier packet's.
 *
 * Context: BH disabled.
 * Return: NULL without memory.
 */
struct page *pavo_page_take(void);

/**
 * pavo_packet_crc - the CRC-32 that the ICRC is made of (annex A17.3.3).
 * @crc: result, not complemented. Over a packet to the end of its pad the
 *       complement is its ICRC, to be stored least significant byte first;
 *       over a packet with a good ICRC the result is PAVO_CRC_GOOD.
 * @ip, @udp, @bth: the headers, each in contiguous memory
 * @from: offset from skb->data of the byte behind the BTH
 * @len:  bytes from there on
 *
 * Return: false if not all of the bytes can be read.
 */
bool pavo_packet_crc(u32 *crc, const struct sk_buff *skb, const void *ip,
		     bool ipv6, const void *udp, const void *bth,
		     unsigned int from, unsigned int len);

/* What a CRC-32 register holds after any data and its own CRC. */
#define PAVO_CRC_GOOD 0xdebb20e3u

int pavo_icrc_init(void);
void pavo_icrc_exit(void);

#endif /* PAVO_NET_PRIVATE_H */
