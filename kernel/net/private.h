/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * private.h - what the files of net/ share among themselves.
 */
#ifndef PAVO_NET_PRIVATE_H
#define PAVO_NET_PRIVATE_H

#include <linux/types.h>
#include "net.h"

struct dst_entry;
struct sk_buff;
struct sock;

/**
 * pavo_flow_route - the way to the other end, with a reference.
 *
 * Context: BH disabled.
 * Return: NULL if there is none, or the source GID is gone.
 */
struct dst_entry *pavo_flow_route(struct pavo_flow *flow);

/** pavo_encap_rcv - the sockets' receive function (rx.c); consumes @skb. */
int pavo_encap_rcv(struct sock *sk, struct sk_buff *skb);

/**
 * pavo_icrc - the ICRC of a packet (annex A17.3.3).
 * @icrc: result, as on the wire
 * @ip, @udp, @bth: its headers, each in contiguous memory
 * @from: offset from skb->data of the byte behind the BTH
 * @len:  bytes from there to the end of the pad
 *
 * Return: false if not all of the bytes can be read.
 */
bool pavo_icrc(__le32 *icrc, const struct sk_buff *skb, const void *ip,
	       bool ipv6, const void *udp, const void *bth, unsigned int from,
	       unsigned int len);

int pavo_icrc_init(void);
void pavo_icrc_exit(void);

#endif /* PAVO_NET_PRIVATE_H */
