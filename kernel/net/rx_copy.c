// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rx_copy.c - the one copy of the receive path: from the fragments of a packet to pages.
 *
 * Called by the sides of queue pairs, by windows and by jobs, page by page. A cursor remembers the
 * fragment of the next byte, so the fragments of a super-packet are walked once.
 */
#include <linux/highmem.h>
#include <linux/skbuff.h>
#include "compat.h"
#include "net_private.h"

/* Copy @n bytes of one fragment, from its byte @off on. False: it is memory of a device. */
static bool copy_frag(u8 *to, const skb_frag_t *frag, unsigned int off,
		      unsigned int n)
{
	struct page *page = skb_frag_page(frag);
	unsigned int len;
	const u8 *from;

	if (unlikely(!page))
		return false;
	for (off += skb_frag_off(frag); n; to += len, off += len, n -= len) {
		len = min_t(unsigned int, n, PAGE_SIZE - offset_in_page(off));
		from = kmap_local_page(pavo_nth_page(page, off >> PAGE_SHIFT));
		memcpy(to, from + offset_in_page(off), len);
		kunmap_local(from);
	}
	return true;
}

/* Copy bytes of the linear part, if the cursor is there. Return: how many. */
static unsigned int copy_head(u8 *to, const struct pavo_rx_bytes *bytes,
			      unsigned int n)
{
	unsigned int head = skb_headlen(bytes->skb);

	if (bytes->at >= head)
		return 0;
	n = min(n, head - bytes->at);
	memcpy(to, bytes->skb->data + bytes->at, n);
	return n;
}

static int copy_bytes(struct pavo_rx_bytes *bytes, u8 *to, unsigned int n)
{
	const struct skb_shared_info *info = skb_shinfo(bytes->skb);
	unsigned int len, off;

	len = copy_head(to, bytes, n);
	for (;;) {
		bytes->at += len;
		to += len;
		n -= len;
		if (!n)
			return 0;
		if (bytes->frag == info->nr_frags)
			return -EFAULT;
		off = bytes->at - bytes->start;
		len = min(n, skb_frag_size(&info->frags[bytes->frag]) - off);
		if (!copy_frag(to, &info->frags[bytes->frag], off, len))
			return -EFAULT;
		if (off + len == skb_frag_size(&info->frags[bytes->frag]))
			bytes->start +=
				skb_frag_size(&info->frags[bytes->frag++]);
	}
}

struct pavo_rx_bytes pavo_rx_bytes_at(const struct sk_buff *skb,
				      unsigned int from)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	struct pavo_rx_bytes bytes = {
		.skb = skb,
		.at = from,
		.start = skb_headlen(skb),
	};

	while (bytes.frag < info->nr_frags &&
	       from >= bytes.start + skb_frag_size(&info->frags[bytes.frag]))
		bytes.start += skb_frag_size(&info->frags[bytes.frag++]);
	return bytes;
}

int pavo_rx_copy(struct pavo_rx_bytes *bytes, struct page *page,
		 unsigned int offset, unsigned int n)
{
	u8 *to = kmap_local_page(page);
	int err;

	if (unlikely(skb_has_frag_list(bytes->skb))) {
		err = skb_copy_bits(bytes->skb, bytes->at, to + offset, n);
		bytes->at += n;
	} else {
		err = copy_bytes(bytes, to + offset, n);
	}
	kunmap_local(to);
	flush_dcache_page(page);
	return err;
}
