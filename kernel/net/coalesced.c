// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * coalesced.c - bundles: short packets for one peer that go through the stack as one late packet.
 *
 * A train has packets of one long message under one header; a bundle has whole messages of one
 * packet each, one behind the other from the BTH to the pad. Behind them stand the lengths of all
 * packets (u16, in the order of this machine), and the metadata, which has their number. The
 * requester makes bundles, the receiver takes them apart, and deferred_icrc.c cuts them for a device.
 */
#include <linux/skbuff.h>
#include "compat.h"
#include "net_private.h"
#include "stats.h"

bool pavo_coalesced_allowed(u8 opcode)
{
	const struct pavo_op_info *info = pavo_op_info(opcode);
	const u32 whole = PAVO_OPF_FIRST | PAVO_OPF_LAST;

	switch (opcode & PAVO_SVC_MASK) {
	case PAVO_SVC_RC:
	case PAVO_SVC_XRC:
		return info && (info->flags & whole) == whole &&
		       (info->kind == PAVO_KIND_SEND ||
			info->kind == PAVO_KIND_WRITE);
	default:
		return false;
	}
}

/* ------------------------------------------------------------------ making */

bool pavo_coalesced_begin(const struct pavo_stats *stats,
			  struct pavo_flow *flow,
			  struct pavo_coalesced *coalesced, unsigned int room)
{
	coalesced->count = 0;
	coalesced->skb =
		pavo_tx_alloc(stats, flow, NULL, room + sizeof(coalesced->len));
	return coalesced->skb;
}

bool pavo_coalesced_fits(const struct pavo_coalesced *coalesced,
			 unsigned int len)
{
	return coalesced->count < PAVO_COALESCED_PACKETS &&
	       skb_tailroom(coalesced->skb) >=
		       len + sizeof(coalesced->len) + sizeof(struct pavo_meta);
}

/* Add the lengths. Return: the longest. */
static unsigned int put_lengths(const struct pavo_coalesced *coalesced)
{
	unsigned int longest = 0, i;

	for (i = 0; i < coalesced->count; i++)
		longest = max_t(unsigned int, longest, coalesced->len[i]);
	skb_put_data(coalesced->skb, coalesced->len,
		     pavo_coalesced_trailer(coalesced->count));
	return longest;
}

int pavo_coalesced_send(const struct pavo_stats *stats, struct pavo_flow *flow,
			struct pavo_coalesced *coalesced,
			struct pavo_meta *meta)
{
	struct sk_buff *skb = coalesced->skb;
	unsigned int bytes = skb->len + coalesced->count * PAVO_ICRC_LEN;
	unsigned int longest = put_lengths(coalesced);
	void *room = skb_put(skb, sizeof(*meta));

	coalesced->skb = NULL;
	meta->packets = coalesced->count;
	/* To the stack a packet is what is in front of its payload, the BTH, and a unit. */
	pavo_deferred_mark(skb, PAVO_BTH_LEN);
	pavo_deferred_make(skb, longest - PAVO_BTH_LEN, coalesced->count);
	return pavo_tx_authentic(stats, flow, skb, meta, room, coalesced->count,
				 bytes);
}

/* ------------------------------------------------------------- taking apart */

unsigned int pavo_coalesced_len(const struct sk_buff *skb,
				const struct pavo_meta *meta, u32 i)
{
	unsigned int back =
		sizeof(*meta) + pavo_coalesced_trailer(meta->packets);
	u16 len;

	if (i >= meta->packets || meta->packets > PAVO_COALESCED_PACKETS ||
	    skb->len < back ||
	    skb_copy_bits(skb, skb->len - back + pavo_coalesced_trailer(i),
			  &len, sizeof(len)))
		return 0;
	return len;
}

enum pavo_parse_status pavo_coalesced_parse(struct pavo_pkt *pkt,
					    struct sk_buff *skb,
					    unsigned int from, unsigned int len)
{
	enum pavo_parse_status status;

	if (!len || from + len > skb->len || skb_headlen(skb) < from)
		return PAVO_PARSE_SHORT;
	/* It has no room for its ICRC. */
	status = pavo_parse_headers(pkt, skb, from, len + PAVO_ICRC_LEN);
	if (status == PAVO_PARSE_OK && !pavo_coalesced_allowed(pkt->opcode))
		return PAVO_PARSE_OPCODE;
	return status;
}

/* Is it for the same queue pair? The first one was looked at (demux.c). */
static bool is_coalesced_alike(const struct pavo_pkt *pkt,
			       const struct pavo_pkt *first)
{
	return pkt->dqpn == first->dqpn && pkt->pkey == first->pkey &&
	       !((pkt->opcode ^ first->opcode) & PAVO_SVC_MASK);
}

bool pavo_rx_next(struct pavo_rx *rx)
{
	struct pavo_pkt pkt pavo_uncleared;

	if (likely(rx->index + 1 >= rx->meta.packets))
		return false;
	rx->at += pavo_coalesced_len(rx->skb, &rx->meta, rx->index++);
	if (pavo_coalesced_parse(&pkt, rx->skb, rx->at,
				 pavo_coalesced_len(rx->skb, &rx->meta,
						    rx->index)) ||
	    !is_coalesced_alike(&pkt, &rx->pkt)) {
		pavo_stats_add(rx->port->stats, rx_drop_opcode, 1);
		return false;
	}
	rx->pkt = pkt;
	rx->payload = rx->at + pkt.info->hdr_len;
	return true;
}

u32 pavo_rx_packets(const struct pavo_rx *rx)
{
	return rx->meta.packets ?: rx->pkt.npkts;
}

u32 pavo_rx_wire_bytes(const struct pavo_rx *rx)
{
	u32 bytes = rx->skb->len - rx->at;

	if (!rx->unit)
		return bytes;
	if (!rx->meta.packets)
		return pavo_gso_bytes(&rx->pkt, rx->pkt.payload);
	return bytes - sizeof(rx->meta) -
	       pavo_coalesced_trailer(rx->meta.packets) +
	       rx->meta.packets * PAVO_ICRC_LEN;
}
