// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * copy.c - copies bytes into and out of pages and regions, and attaches pages of regions to
 * packets.
 *
 * Called by both sides inside the RCU section in which they translated the
 * range; no function here checks bounds again. Touches the memory of the region
 * and nothing else.
 */
#include <linux/atomic.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pfn.h>
#include <linux/skbuff.h>
#include "device.h"
#include "net/net.h"
#include "translate.h"
#include "translate/atomic.h"

/*
 * The index of the page with byte @at, counted from the start of the region's first page. @at
 * comes from packets: it was checked, but a CPU may speculate past that check.
 */
static unsigned long page_of(const struct pavo_region *region, u64 at)
{
	unsigned long count = PFN_UP(region->offset + region->length);

	return array_index_nospec((unsigned long)(at >> PAGE_SHIFT), count);
}

struct page *pavo_region_page(const struct pavo_region *region, u64 va,
			      unsigned int *offset)
{
	u64 at;

	if (region->pages) {
		at = va - region->iova + region->offset;
		*offset = offset_in_page(at);
		if (unlikely(region->paged))
			return pavo_odp_page(region->odp, page_of(region, at));
		return region->pages[page_of(region, at)];
	}

	/* The region of all kernel memory: its addresses are kernel addresses. */
	*offset = offset_in_page(va);
	if (is_vmalloc_addr((void *)(uintptr_t)va))
		return vmalloc_to_page((void *)(uintptr_t)va);
	return virt_to_page((void *)(uintptr_t)va);
}

/*
 * The whole page that starts at @from in the fragments of @skb, or NULL if the bytes are not
 * one page. Every full packet has one if the buffers of both ends are page-aligned, the path
 * MTU is a page and the wire keeps fragments.
 */
static struct page *whole_page(const struct sk_buff *skb, unsigned int from)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	unsigned int off, size;
	const skb_frag_t *frag;
	int i;

	if (from < skb_headlen(skb))
		return NULL;
	from -= skb_headlen(skb);
	for (i = 0; i < info->nr_frags; i++) {
		frag = &info->frags[i];
		size = skb_frag_size(frag);
		if (from < size) {
			off = skb_frag_off(frag) + from;
			if (size - from < PAGE_SIZE || offset_in_page(off) ||
			    !skb_frag_page(frag))
				return NULL;
			return pavo_nth_page(skb_frag_page(frag),
					     off >> PAGE_SHIFT);
		}
		from -= size;
	}
	return NULL;
}

int pavo_page_from_skb(struct page *page, unsigned int offset,
		       struct sk_buff *skb, unsigned int from, unsigned int n)
{
	struct page *source;
	void *to;
	int err;

	if (n == PAGE_SIZE) {
		source = whole_page(skb, from);
		if (source) {
			copy_highpage(page, source);
			flush_dcache_page(page);
			return 0;
		}
	}
	to = kmap_local_page(page);
	err = skb_copy_bits(skb, from, to + offset, n);
	kunmap_local(to);
	flush_dcache_page(page);
	return err;
}

int pavo_region_from_skb(const struct pavo_region *region, u64 va,
			 struct sk_buff *skb, unsigned int from,
			 unsigned int len)
{
	unsigned int offset, n;
	struct page *page;
	int err;

	for (; len; va += n, from += n, len -= n) {
		page = pavo_region_page(region, va, &offset);
		n = min_t(unsigned int, len, PAGE_SIZE - offset);
		err = pavo_page_from_skb(page, offset, skb, from, n);
		if (unlikely(err))
			return err;
	}
	return 0;
}

void pavo_region_write(const struct pavo_region *region, u64 va,
		       const void *from, unsigned int len)
{
	unsigned int offset, n;
	struct page *page;

	for (; len; va += n, from += n, len -= n) {
		page = pavo_region_page(region, va, &offset);
		n = min_t(unsigned int, len, PAGE_SIZE - offset);
		memcpy_to_page(page, offset, from, n);
	}
}

void pavo_region_read(const struct pavo_region *region, u64 va, void *to,
		      unsigned int len)
{
	unsigned int offset, n;
	struct page *page;

	for (; len; va += n, to += n, len -= n) {
		page = pavo_region_page(region, va, &offset);
		n = min_t(unsigned int, len, PAGE_SIZE - offset);
		memcpy_from_page(to, page, offset, n);
	}
}

bool pavo_region_attach(const struct pavo_region *region, u64 va,
			struct sk_buff *skb, unsigned int len)
{
	unsigned int offset, n;
	struct page *page;

	if (region->copied)
		return false;
	for (; len; va += n, len -= n) {
		page = pavo_region_page(region, va, &offset);
		n = min_t(unsigned int, len, PAGE_SIZE - offset);
		if (!pavo_tx_add_page(skb, page, offset, n))
			return false;
	}
	return true;
}

/*
 * Map the 8 bytes at @va; an aligned word is within one page. NULL if the memory behind @va
 * is not aligned.
 */
static atomic64_t *map_word(const struct pavo_region *region, u64 va,
			    struct page **page)
{
	unsigned int offset;

	*page = pavo_region_page(region, va, &offset);
	if (offset & 7)
		return NULL;
	return kmap_local_page(*page) + offset;
}

static void unmap_word(atomic64_t *word, struct page *page)
{
	kunmap_local(word);
	flush_dcache_page(page);
}

int pavo_region_store(const struct pavo_region *region, u64 va, u64 value)
{
	struct page *page;
	atomic64_t *word = map_word(region, va, &page);

	if (!word)
		return -EINVAL;
	atomic64_set_release(word, value);
	unmap_word(word, page);
	return 0;
}

/* A bound only: other CPUs hardly change the word between all of so many looks at it. */
#define ATTEMPTS 1024

/* Carry out @op by compare and exchange. -EAGAIN: the word changed at every attempt. */
static int exchange(atomic64_t *word, const struct pavo_atomic *op, u64 *orig)
{
	s64 old = atomic64_read(word);
	u32 i;

	for (i = 0; i < ATTEMPTS; i++) {
		*orig = old;
		if (atomic64_try_cmpxchg(word, &old,
					 pavo_atomic_result(op, old)))
			return 0;
	}
	return -EAGAIN;
}

int pavo_region_atomic(const struct pavo_region *region, u64 va,
		       const struct pavo_atomic *op, u64 *orig)
{
	struct page *page;
	atomic64_t *word = map_word(region, va, &page);
	int err = 0;

	if (!word)
		return -EINVAL;
	if (op->aop == PAVO_AOP_FETCH_ADD && !op->swap_add_mask)
		*orig = atomic64_fetch_add(op->swap_add, word);
	else if (op->aop == PAVO_AOP_CMP_SWAP &&
		 !~(op->compare_mask & op->swap_add_mask))
		*orig = atomic64_cmpxchg(word, op->compare, op->swap_add);
	else if (op->aop == PAVO_AOP_SWAP)
		*orig = atomic64_xchg(word, op->swap_add);
	else
		err = exchange(word, op, orig);
	unmap_word(word, page);
	return err;
}
