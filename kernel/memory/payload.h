/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * payload.h - moves payload between packets (net/) and pages of regions (memory/).
 */
#ifndef PAVO_PAYLOAD_H
#define PAVO_PAYLOAD_H

#include <linux/types.h>
#include "status.h"

struct pavo_region;
struct pavo_xmit;
struct sk_buff;

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
 * pavo_payload_attach - attach the pages of a range of a region to a packet, each with a reference.
 * @x:      the packet
 * @region: the region
 * @lkey:   its key
 * @va:     first byte
 * @len:    bytes
 *
 * Return: PAVO_ST_OK; or the status of a pavo_xmit_gather that cannot attach these pages.
 */
enum pavo_status pavo_payload_attach(struct pavo_xmit *x,
				     const struct pavo_region *region, u32 lkey,
				     u64 va, unsigned int len);

/**
 * pavo_payload_copy - copy a range of a region to a packet, in pieces of a page at most.
 * @x:      the packet
 * @region: the region
 * @va:     first byte
 * @len:    bytes
 *
 * Return: as pavo_payload_attach().
 */
enum pavo_status pavo_payload_copy(struct pavo_xmit *x,
				   const struct pavo_region *region, u64 va,
				   unsigned int len);

#endif /* PAVO_PAYLOAD_H */
