/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * payload.h - moves payload between packets (net/) and pages of regions (memory/).
 */
#ifndef PAVO_PAYLOAD_H
#define PAVO_PAYLOAD_H

#include <linux/types.h>

struct pavo_region;
struct sk_buff;

/* Parameter: copy the data of READ responses instead of attaching pages. */
extern bool pavo_copy_reads;

/**
 * pavo_payload_take - copy payload of a packet to a range of a region.
 * @region: the region
 * @va:     first byte, inside the range
 * @skb:    the packet
 * @from:   offset from skb->data
 * @len:    bytes, inside the range
 *
 * Return: 0; -EFAULT: the packet ends before @from + @len.
 */
int pavo_payload_take(const struct pavo_region *region, u64 va,
		      struct sk_buff *skb, unsigned int from, unsigned int len);

/**
 * pavo_payload_attach - attach the pages of a range of a region to a packet, each with a reference
 * (pavo_tx_add_page()).
 * @region: the region
 * @va:     first byte
 * @skb:    the packet
 * @len:    bytes
 *
 * Return: true; false: pages of @region must not be attached, or @skb has no free fragment. @skb
 * may have some of the pages then, so the caller drops it, and copies into another one.
 */
bool pavo_payload_attach(const struct pavo_region *region, u64 va,
			 struct sk_buff *skb, unsigned int len);

#endif /* PAVO_PAYLOAD_H */
