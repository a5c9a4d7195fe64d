/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * tx.h - the transmit path below xmit.c: routes, and skbs that xmit.c has decided on. Only files of
 * net/ include it.
 */
#ifndef PAVO_TX_H
#define PAVO_TX_H

#include <net/dst.h>
#include "net/net.h"
#include "net/xmit.h"

/* deferred_icrc.c */

/* Parameter: adapters of this machine exchange packets with deferred ICRC. */
extern bool pavo_deferred_icrc;

/* flow.c */

/* pavo_flow_find_route - pavo_flow_get_route() without the cache, in which it keeps the route. */
struct dst_entry *pavo_flow_find_route(struct pavo_flow *flow);

/**
 * pavo_flow_get_route - find the route of a flow, and take a reference to it.
 * @flow: the flow
 *
 * Context: BH disabled.
 * Return: the route; NULL: no route, or the source address was removed.
 */
static inline struct dst_entry *pavo_flow_get_route(struct pavo_flow *flow)
{
	struct dst_entry *dst = NULL;

	if (likely(flow->cached))
		dst = dst_cache_get(&flow->cache);
	return likely(dst) ? dst : pavo_flow_find_route(flow);
}

/**
 * pavo_icrc_may_defer - decide which packets may have their ICRC deferred on the path to a peer
 * that is not on this machine, or not known to be.
 * @flow:    the path
 * @dst:     its route; NULL: none
 * @backoff: losses of the sender
 *
 * Context: BH disabled.
 */
enum pavo_icrc_defer pavo_icrc_may_defer(const struct pavo_flow *flow,
					 const struct dst_entry *dst,
					 struct pavo_gso_backoff *backoff);

/**
 * pavo_flow_attaches - true if pages of a process may be attached to packets.
 * @flow: the path
 * @dst:  its route; NULL: none
 *
 * Another namespace that sees an attached page also sees what the process writes to it later. So
 * the packet has to be looped back, or go to another adapter of this namespace, or leave by
 * hardware.
 *
 * Context: BH disabled.
 */
bool pavo_flow_attaches(const struct pavo_flow *flow,
			const struct dst_entry *dst);

/** pavo_flow_loops - true if packets with a route are looped back. NULL: false. */
bool pavo_flow_loops(const struct dst_entry *dst);

/* coalesced.c */

/** pavo_coalesced_is_allowed - true if packets with @opcode may be coalesced: whole RC messages. */
static inline bool pavo_coalesced_is_allowed(u8 opcode)
{
	const u32 whole = PAVO_OPF_FIRST | PAVO_OPF_LAST;
	const u8 service = opcode & PAVO_SVC_MASK;
	const struct pavo_op_info *info = pavo_opcode_get_info(opcode);

	return (service == PAVO_SVC_RC || service == PAVO_SVC_XRC) && info &&
	       (info->flags & whole) == whole &&
	       (info->kind == PAVO_KIND_SEND || info->kind == PAVO_KIND_WRITE);
}

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
static inline bool pavo_coalesced_fits(const struct pavo_coalesced *coalesced,
				       unsigned int len)
{
	return coalesced->count < PAVO_COALESCED_PACKETS &&
	       skb_tailroom(coalesced->skb) >=
		       len + sizeof(coalesced->len) + sizeof(struct pavo_meta);
}

/**
 * pavo_coalesced_send - send the packets with their ICRCs deferred; empties @coalesced.
 * @stats:  the sender's counters
 * @flow:   the path
 * @dst:    its route, which is consumed; NULL: none
 * @coalesced: has one packet or more
 * @meta:   the sender; the other members are set here
 *
 * Return: as pavo_tx_send(), for all packets together.
 */
int pavo_coalesced_send(const struct pavo_stats *stats,
			const struct pavo_flow *flow, struct dst_entry *dst,
			struct pavo_coalesced *coalesced,
			struct pavo_meta *meta);

/* tx.c: all consume the reference to the route @dst; NULL: there is none */

/**
 * pavo_tx_is_paced - true if the first queue of the route's interface is sch_fq.
 * @dst: the route
 *
 * Context: RCU read side.
 */
bool pavo_tx_is_paced(const struct dst_entry *dst);

/** pavo_tx_set_departure - let sch_fq hold a packet until @at, ns (CLOCK_MONOTONIC). */
void pavo_tx_set_departure(struct sk_buff *skb, u64 at);

/* pavo_tx_finish - pavo_tx_finish_icrc() with a route. */
int pavo_tx_finish(const struct pavo_stats *stats, const struct pavo_flow *flow,
		   struct dst_entry *dst, struct sk_buff *skb,
		   unsigned int pad);
int pavo_tx_authentic(const struct pavo_stats *stats,
		      const struct pavo_flow *flow, struct dst_entry *dst,
		      struct sk_buff *skb, struct pavo_meta *meta, void *to,
		      unsigned int packets, unsigned int bytes);

/**
 * pavo_tx_send_deferred - send a packet, or a GSO super-packet, with its ICRC deferred; consumes
 * @skb.
 * @stats: the sender's counters
 * @flow:  the path
 * @dst:   its route
 * @skb:   the packet, with the payload of pkt->npkts packets
 * @pkt:   its headers
 * @unit:  bytes of payload of each packet but the last: the path MTU
 * @meta:  sender and attached memory; the other members are set here
 *
 * Return: as pavo_tx_send().
 */
int pavo_tx_send_deferred(const struct pavo_stats *stats,
			  const struct pavo_flow *flow, struct dst_entry *dst,
			  struct sk_buff *skb, const struct pavo_pkt *pkt,
			  unsigned int unit, struct pavo_meta *meta);

#endif /* PAVO_TX_H */
