// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * payload.c - moves payload between packets and regions; see payload.h.
 *
 * Called by both sides of a queue pair in the RCU section in which they have checked key and
 * bounds; no function here checks them again.
 */
#include <linux/module.h>
#include "memory/memory.h"
#include "net/net.h"
#include "payload.h"

bool pavo_copy_reads = true;
module_param_named(copy_reads, pavo_copy_reads, bool, 0644);
MODULE_PARM_DESC(copy_reads,
		 "copy data of READ responses instead of attaching pages (Y)");

int pavo_payload_take(const struct pavo_region *region, u64 va,
		      struct sk_buff *skb, unsigned int from, unsigned int len)
{
	struct pavo_rx_bytes bytes = pavo_rx_bytes_at(skb, from);
	struct pavo_span to;
	int err;

	for (; len; va += to.len, len -= to.len) {
		to = pavo_region_span(region, va, len);
		err = pavo_rx_copy(&bytes, to.page, to.offset, to.len);
		if (unlikely(err))
			return err;
	}
	return 0;
}

bool pavo_payload_attach(const struct pavo_region *region, u64 va,
			 struct sk_buff *skb, unsigned int len)
{
	struct pavo_span from;

	if (region->copied)
		return false;
	for (; len; va += from.len, len -= from.len) {
		from = pavo_region_span(region, va, len);
		if (!pavo_tx_add_page(skb, from.page, from.offset, from.len))
			return false;
	}
	return true;
}
