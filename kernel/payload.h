/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * payload.h - payload between packets, which net/ fills and empties, and regions, of which memory/
 * gives the pages.
 */
#ifndef PAVO_PAYLOAD_H
#define PAVO_PAYLOAD_H

#include <linux/types.h>

struct pavo_region;
struct sk_buff;

/* Copy all data that peers read into packets; attach no page. */
extern bool pavo_copy_reads;

/**
 * pavo_payload_take - copy payload of a packet to a translated range.
 * @region: the region
 * @va:     first byte, inside the range
 * @skb:    the packet
 * @from:   offset from skb->data
 * @len:    bytes, inside the range
 *
 * Return: 0, or -EFAULT if the packet ends before @from + @len.
 */
int pavo_payload_take(const struct pavo_region *region, u64 va,
		      struct sk_buff *skb, unsigned int from, unsigned int len);

/**
 * pavo_payload_attach - make the pages of a translated range payload of a packet, each with a
 * reference (pavo_tx_add_page()).
 * @region: the region
 * @va:     first byte
 * @skb:    the packet
 * @len:    bytes
 *
 * Return: false if pages of @region must not be attached, or @skb has no room for them. @skb may
 * have some of the pages by then: the caller drops it and copies into another one.
 */
bool pavo_payload_attach(const struct pavo_region *region, u64 va,
			 struct sk_buff *skb, unsigned int len);

#endif /* PAVO_PAYLOAD_H */
