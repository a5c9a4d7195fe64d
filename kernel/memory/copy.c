// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * copy.c - the pages of regions, and copies of bytes into and out of them, also between them and
 * packets (payload.h).
 *
 * Called by both sides in the RCU section in which they translated the range; no function here
 * repeats the check of bounds.
 */
#include <linux/atomic.h>
#include <linux/highmem.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/pfn.h>
#include "memory/atomic.h"
#include "memory/memory.h"
#include "memory/payload.h"
#include "memory/persistent.h"
#include "net/xmit.h"

/*
 * Find the index of the page with byte @at, counted from the start of the region's first page.
 * @at comes from packets: it was checked, but a CPU may speculate past that check.
 */
static unsigned long find_page_index(const struct pavo_region *region, u64 at)
{
	unsigned long count = PFN_UP(region->offset + region->length);

	return array_index_nospec((unsigned long)(at >> PAGE_SHIFT), count);
}

/* Inlined, so that a span is made in registers. */
static __always_inline struct page *find_page(const struct pavo_region *region,
					      u64 va, unsigned int *offset)
{
	u64 at;

	if (region->pages) {
		at = va - region->iova + region->offset;
		*offset = offset_in_page(at);
		if (unlikely(region->paged))
			return pavo_odp_find_page(region->odp,
						  find_page_index(region, at));
		return region->pages[find_page_index(region, at)];
	}

	/* The region of all kernel memory: its addresses are kernel addresses. */
	*offset = offset_in_page(va);
	if (is_vmalloc_addr((void *)(uintptr_t)va))
		return vmalloc_to_page((void *)(uintptr_t)va);
	return virt_to_page((void *)(uintptr_t)va);
}

struct pavo_span pavo_region_span(const struct pavo_region *region, u64 va,
				  unsigned int len)
{
	struct pavo_span span;

	span.page = find_page(region, va, &span.offset);
	span.len = min_t(unsigned int, len, PAGE_SIZE - span.offset);
	return span;
}

/* Bytes in persistent memory leave the caches as soon as they are written (persistent.h). */
static __always_inline void finish_write(const struct pavo_region *region,
					 const struct pavo_span *to)
{
	if (unlikely(region->access & PAVO_ACCESS_PERSISTENT))
		pavo_write_back(to->page, to->offset, to->len);
}

void pavo_region_write(const struct pavo_region *region, u64 va,
		       const void *from, unsigned int len)
{
	struct pavo_span to;

	for (; len; va += to.len, from += to.len, len -= to.len) {
		to = pavo_region_span(region, va, len);
		memcpy_to_page(to.page, to.offset, from, to.len);
		finish_write(region, &to);
	}
}

void pavo_region_read(const struct pavo_region *region, u64 va, void *to,
		      unsigned int len)
{
	struct pavo_span from;

	for (; len; va += from.len, to += from.len, len -= from.len) {
		from = pavo_region_span(region, va, len);
		memcpy_from_page(to, from.page, from.offset, from.len);
	}
}

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
		finish_write(region, &to);
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
		return pavo_xmit_get_full_status();
	status = pavo_xmit_set_key(x, lkey, region->token,
				   region->access & PAVO_ACCESS_CLAIMED);
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
			return pavo_xmit_get_full_status();
		pavo_region_read(region, va, to, n);
	}
	return PAVO_ST_OK;
}

/*
 * Map the 8 bytes at @va; an aligned word is within one page.
 *
 * Return: NULL if the memory behind @va is not aligned.
 */
static atomic64_t *map_word(const struct pavo_region *region, u64 va,
			    struct page **page)
{
	unsigned int offset;

	*page = find_page(region, va, &offset);
	if (offset & 7)
		return NULL;
	return kmap_local_page(*page) + offset;
}

static void unmap_word(const struct pavo_region *region, atomic64_t *word,
		       struct page *page)
{
	const struct pavo_span to = {
		.page = page,
		.offset = offset_in_page(word),
		.len = sizeof(*word),
	};

	kunmap_local(word);
	flush_dcache_page(page);
	finish_write(region, &to);
}

int pavo_region_store(const struct pavo_region *region, u64 va, u64 value)
{
	struct page *page;
	atomic64_t *word = map_word(region, va, &page);

	if (!word)
		return -EINVAL;
	atomic64_set_release(word, value);
	unmap_word(region, word, page);
	return 0;
}

/*
 * Bound for exchange_word(): other CPUs seldom change a word at each of so many attempts. The
 * caller may try again within its budget.
 */
#define ATTEMPTS 64

/* Carry out @op by compare and exchange. Return: 0; -EAGAIN: the word changed at every attempt. */
static int exchange_word(atomic64_t *word, const struct pavo_atomic *op,
			 u64 *orig)
{
	s64 old = atomic64_read(word);
	u32 i;

	for (i = 0; i < ATTEMPTS; i++) {
		*orig = old;
		if (atomic64_try_cmpxchg(word, &old,
					 pavo_atomic_compute(op, old)))
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
	/* A locked access to uncached memory stops all CPUs, and is not atomic for the device. */
	if (unlikely(is_pci_p2pdma_page(page)))
		err = -EOPNOTSUPP;
	else if (op->aop == PAVO_AOP_FETCH_ADD && !op->swap_add_mask)
		*orig = atomic64_fetch_add(op->swap_add, word);
	else if (op->aop == PAVO_AOP_CMP_SWAP &&
		 !~(op->compare_mask & op->swap_add_mask))
		*orig = atomic64_cmpxchg(word, op->compare, op->swap_add);
	else if (op->aop == PAVO_AOP_SWAP)
		*orig = atomic64_xchg(word, op->swap_add);
	else
		err = exchange_word(word, op, orig);
	unmap_word(region, word, page);
	return err;
}
