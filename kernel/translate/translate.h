/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * translate.h - the door of translate/ (VirtToPhys): keys to memory.
 *
 * Owns: the table of keys of an adapter and the regions behind them. This is
 * the only place that decides whether a piece of memory may be touched.
 *
 * Lifetime: a region is found and used inside one RCU read-side section
 * (packet processing always is one) and never kept beyond it; users look the
 * key up again for every packet. Deregistration removes the key, waits for a
 * grace period, then releases the memory: from then on no byte of it changes
 * or leaves through that key.
 */
#ifndef PAVO_TRANSLATE_H
#define PAVO_TRANSLATE_H

#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/siphash.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct ib_umem;
struct page;
struct sk_buff;
struct pavo_dev;
struct pavo_pd;

/* Engine document chapter 7: translation status. */
enum pavo_xlate {
	PAVO_XLATE_OK = 0,
	PAVO_XLATE_LENGTH = 1, /* outside of the region */
	PAVO_XLATE_KEY = 2, /* no such key */
	PAVO_XLATE_FLAGS = 3, /* access not granted */
	PAVO_XLATE_PD = 4, /* of another protection domain */
};

/** Keys of an adapter at most: all indexes but 0. */
#define PAVO_MAX_MR 0xffffff
/** Longest region: its page list has to fit one kvmalloc(). */
#define PAVO_MAX_MR_SIZE BIT_ULL(39)

/**
 * struct pavo_key_table - keys of one adapter.
 * @xa:     index (upper 24 bits of a key) -> struct pavo_region; read under
 *          RCU
 * @mutex:  of the giver of keys
 * @next:   where the search for a free index goes on: an index comes back
 *          only after all others had their turn
 * @lap:    how often that search went round
 * @secret: makes the low 8 bits of keys hard to guess
 */
struct pavo_key_table {
	struct xarray xa;
	struct mutex mutex; /* all below */
	u32 next;
	u8 lap;
	siphash_key_t secret;
};

/**
 * struct pavo_region - a registered piece of memory.
 * @ib:     verbs object, first; lkey == rkey == key
 * @key:    24 bits of index, 8 bits that change with every use of the index
 * @access: IB_ACCESS_*
 * @iova:   virtual address of the first byte, as users of the key name it
 * @length: bytes
 * @offset: of the first byte in pages[0]
 * @pages:  one per PAGE_SIZE; NULL for the region of all kernel memory (DMA)
 * @umem:   pinned user memory, NULL for kernel regions
 *
 * All fields are constant while the key is in the table.
 */
struct pavo_region {
	struct ib_mr ib;
	struct pavo_dev *dev;
	struct pavo_pd *pd;
	u32 key;
	int access;
	u64 iova;
	u64 length;
	unsigned int offset;
	unsigned long npages;
	struct page **pages;
	struct ib_umem *umem;
};

void pavo_key_table_init(struct pavo_key_table *table);
void pavo_key_table_destroy(struct pavo_key_table *table);

/** pavo_key_insert - give @region a key and let it be found; may sleep. */
int pavo_key_insert(struct pavo_key_table *table, struct pavo_region *region);

/** pavo_key_remove - when it returns nobody uses @region any more; sleeps. */
void pavo_key_remove(struct pavo_key_table *table, struct pavo_region *region);

/**
 * pavo_xlate - may the holder of @pd touch [@va, @va + @len) by @key?
 * @access: IB_ACCESS_* that must all be granted; 0 for local reading
 * @region: found region, valid until rcu_read_unlock(); NULL if @len is 0
 *
 * The order of checks is key, PD, flags, length. A zero-length access needs
 * no valid key (IBA 9.7.4.1.3). Keys of kernel PDs (local_dma_lkey) are
 * refused for PDs of user space.
 *
 * Context: RCU read side, any.
 */
enum pavo_xlate pavo_xlate(struct pavo_dev *dev, struct pavo_pd *pd, u32 key,
			   u64 va, u64 len, int access,
			   struct pavo_region **region);

/**
 * pavo_region_page - the page that holds @va, a translated address.
 * @offset: of @va in the page; bytes up to the end of the page are contiguous
 */
struct page *pavo_region_page(const struct pavo_region *region, u64 va,
			      unsigned int *offset);

/**
 * pavo_region_from_skb - the one copy of receiving: packet to memory.
 * @va, @len: inside the range that was translated
 * @skb, @from: source, offset from skb->data
 *
 * Return: 0, or -EFAULT if the packet is shorter than said.
 */
int pavo_region_from_skb(const struct pavo_region *region, u64 va,
			 struct sk_buff *skb, unsigned int from,
			 unsigned int len);

/** pavo_region_write - like pavo_region_from_skb() from a kernel buffer. */
void pavo_region_write(const struct pavo_region *region, u64 va,
		       const void *from, unsigned int len);

/** pavo_region_read - copy @len bytes at @va out to a kernel buffer. */
void pavo_region_read(const struct pavo_region *region, u64 va, void *to,
		      unsigned int len);

/**
 * pavo_region_atomic - compare and swap, or add, on 8 bytes at @va.
 * @compare:  swap if the memory holds this; NULL: fetch and add
 * @swap_add: new value, or what is added
 * @orig:     what the memory held before, in host order
 *
 * Atomic also towards the CPUs of the process that owns the memory.
 *
 * Return: 0, or -EINVAL if the memory behind @va is not aligned to 8 bytes.
 */
int pavo_region_atomic(const struct pavo_region *region, u64 va,
		       const u64 *compare, u64 swap_add, u64 *orig);

/* verbs objects; called by verbs/ only */
struct ib_mr *pavo_get_dma_mr(struct ib_pd *ibpd, int access);
struct ib_mr *pavo_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 virt_addr, int access,
			       struct ib_udata *udata);
int pavo_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

#endif /* PAVO_TRANSLATE_H */
