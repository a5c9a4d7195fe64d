// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * payload.c - moves payload between packets and regions; see payload.h.
 *
 * Called by both sides of a queue pair in the RCU section in which they have checked key and
 * bounds; no function here checks them again.
 */
#include <linux/module.h>
#include "memory/memory.h"
#include "net/xmit.h"
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

enum pavo_status pavo_payload_attach(struct pavo_xmit *x,
				     const struct pavo_region *region, u32 lkey,
				     u64 va, unsigned int len)
{
	enum pavo_status status;
	struct pavo_span from;

	if (region->copied)
		return pavo_xmit_full();
	status = pavo_xmit_name(x, lkey, region->token,
				region->access & PAVO_ACCESS_DIRECT);
	for (; len && !status; va += from.len, len -= from.len) {
		from = pavo_region_span(region, va, len);
		status = pavo_xmit_attach(x, from.page, from.offset, from.len);
	}
	return status;
}

enum pavo_status pavo_payload_copy(struct pavo_xmit *x,
				   const struct pavo_region *region, u64 va,
				   unsigned int len)
{
	unsigned int n;
	void *to;

	for (; len; va += n, len -= n) {
		n = min_t(unsigned int, len, PAGE_SIZE);
		to = pavo_xmit_put(x, n);
		if (unlikely(!to))
			return pavo_xmit_full();
		pavo_region_read(region, va, to, n);
	}
	return PAVO_ST_OK;
}
