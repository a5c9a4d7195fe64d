// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * coalesced.c - coalesced packets: short packets for one peer in one skb with deferred ICRC.
 *
 * A GSO super-packet has the payload of one long message behind one header. A coalesced packet has
 * whole messages of one packet each, in a row, each from its BTH to its pad. Behind them are the
 * lengths of all packets (u16, host byte order) and the metadata, which has their number. The
 * requester makes coalesced packets, the receiver splits them, and deferred_icrc.c segments them
 * for devices.
 */
#include <linux/skbuff.h>
#include "compat.h"
#include "net_private.h"
#include "stats.h"

/* ----------------------------------------------------------------- sending */

int pavo_coalesced_begin(const struct pavo_stats *stats, struct pavo_flow *flow,
			 struct pavo_coalesced *coalesced, unsigned int bytes)
{
	coalesced->count = 0;
	coalesced->skb = pavo_tx_alloc(stats, flow, NULL,
				       bytes + sizeof(coalesced->len));
	return coalesced->skb ? 0 : -ENOMEM;
}

/* Append the lengths of all packets. Return: the longest of them. */
static unsigned int put_lengths(const struct pavo_coalesced *coalesced)
{
	unsigned int longest = 0, i;

	for (i = 0; i < coalesced->count; i++)
		longest = max_t(unsigned int, longest, coalesced->len[i]);
	skb_put_data(coalesced->skb, coalesced->len,
		     pavo_coalesced_get_trailer(coalesced->count));
	return longest;
}

int pavo_coalesced_send(const struct pavo_stats *stats,
			const struct pavo_flow *flow, struct dst_entry *dst,
			struct pavo_coalesced *coalesced,
			struct pavo_meta *meta)
{
	struct sk_buff *skb = coalesced->skb;
	unsigned int bytes = skb->len + coalesced->count * PAVO_ICRC_LEN;
	unsigned int longest = put_lengths(coalesced);
	void *to = skb_put(skb, sizeof(*meta));

	coalesced->skb = NULL;
	meta->packets = coalesced->count;
	/* The stack takes the length of a packet for that of the BTH and a unit of payload. */
	pavo_deferred_mark(skb, PAVO_BTH_LEN);
	pavo_deferred_make(skb, longest - PAVO_BTH_LEN, coalesced->count);
	return pavo_tx_authentic(stats, flow, dst, skb, meta, to,
				 coalesced->count, bytes);
}

/* --------------------------------------------------------------- receiving */

unsigned int pavo_coalesced_len(const struct sk_buff *skb,
				const struct pavo_meta *meta, u32 i)
{
	unsigned int back =
		sizeof(*meta) + pavo_coalesced_get_trailer(meta->packets);
	u16 len;

	if (i >= meta->packets || meta->packets > PAVO_COALESCED_PACKETS ||
	    skb->len < back ||
	    skb_copy_bits(skb, skb->len - back + pavo_coalesced_get_trailer(i),
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
	/* The packet has no space for its ICRC. */
	status = pavo_parse_headers(pkt, skb, from, len + PAVO_ICRC_LEN);
	if (status == PAVO_PARSE_OK && !pavo_coalesced_is_allowed(pkt->opcode))
		return PAVO_PARSE_OPCODE;
	return status;
}

/* Is it for the same queue pair as the first packet, which demux.c has accepted? */
static bool is_for_same_qp(const struct pavo_pkt *pkt,
			   const struct pavo_pkt *first)
{
	return pkt->dqpn == first->dqpn && pkt->pkey == first->pkey &&
	       !((pkt->opcode ^ first->opcode) & PAVO_SVC_MASK);
}

int pavo_rx_next(struct pavo_rx *rx)
{
	struct pavo_pkt pkt pavo_uncleared;

	if (likely(rx->index + 1 >= rx->meta.packets))
		return -ENODATA;
	rx->at += pavo_coalesced_len(rx->skb, &rx->meta, rx->index++);
	if (pavo_coalesced_parse(&pkt, rx->skb, rx->at,
				 pavo_coalesced_len(rx->skb, &rx->meta,
						    rx->index)) ||
	    !is_for_same_qp(&pkt, &rx->pkt)) {
		pavo_stats_add(rx->port->stats, rx_drop_opcode, 1);
		return -EBADMSG;
	}
	rx->pkt = pkt;
	rx->payload = rx->at + pkt.info->hdr_len;
	return 0;
}

u32 pavo_rx_coalesced_bytes(const struct pavo_rx *rx)
{
	return rx->skb->len - rx->at - sizeof(rx->meta) -
	       pavo_coalesced_get_trailer(rx->meta.packets) +
	       rx->meta.packets * PAVO_ICRC_LEN;
}
