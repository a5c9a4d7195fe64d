// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pvo_copy.c - copies bytes to and from memory that PVOs name.
 *
 * Called by window/ for each packet of RDMA, in the packet's RCU section: a buffer that a
 * process unmaps meanwhile stays pinned until the section ends. Every page is translated when
 * it is touched.
 */
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include "jobs/job.h"
#include "jobs/tce.h"
#include "memory/memory.h"
#include "net/net.h"

/* Payload up to this length is always copied into the linear part of the packet. */
#define HEAD_MOST 256u

/* Find the page of the byte at @pvo, and the number of bytes from there to the page's end. */
static enum pavo_pvo_result pvo_page(u32 job, u64 pvo, struct page **page,
				     unsigned int *offset, unsigned int *left)
{
	struct pavo_pvo_place place;
	enum pavo_pvo_result result;

	result = pavo_pvo_translate(pavo_tce_tables, job, pvo, &place);
	if (result)
		return result;
	*page = pfn_to_page(place.real >> PAGE_SHIFT);
	*offset = offset_in_page(place.real);
	*left = min_t(u64, place.left, PAGE_SIZE - *offset);
	return PAVO_PVO_OK;
}

enum pavo_pvo_result pavo_job_from_skb(const struct pavo_job *job, u64 pvo,
				       struct sk_buff *skb, unsigned int from,
				       unsigned int len)
{
	struct pavo_rx_bytes bytes = pavo_rx_bytes_at(skb, from);
	unsigned int offset, left, n;
	enum pavo_pvo_result result;
	struct page *page;

	result = pavo_pvo_check(pavo_tce_tables, pavo_job_id(job), pvo, len);
	for (; !result && len; pvo += n, len -= n) {
		result = pvo_page(pavo_job_id(job), pvo, &page, &offset, &left);
		if (result)
			break;
		n = min(len, left);
		/* The parser has checked that the packet has all bytes of its header's length. */
		WARN_ON_ONCE(pavo_rx_copy(&bytes, page, offset, n));
	}
	return result;
}

int pavo_job_to_skb(const struct pavo_job *job, u64 pvo, struct sk_buff *skb,
		    unsigned int len)
{
	enum pavo_pvo_result result;
	unsigned int offset, left, n;
	struct page *page;
	void *to;

	for (; len; pvo += n, len -= n) {
		result = pvo_page(pavo_job_id(job), pvo, &page, &offset, &left);
		if (result)
			return result;
		n = min(len, left);
		to = pavo_tx_put(skb, n);
		if (!to)
			return -ENOMEM;
		memcpy_from_page(to, page, offset, n);
	}
	return 0;
}

unsigned int pavo_job_head(unsigned int len)
{
	return len <= HEAD_MOST ? len : 0;
}
