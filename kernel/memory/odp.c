// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * odp.c - on-demand paging: regions whose memory is not pinned.
 *
 * A region has a page from the time that a packet touched it or a process prefetched it,
 * until the kernel takes it back. Packet processing cannot sleep, so it only checks under RCU
 * whether a page is there. If not, the side of the QP waits (pavo_fault_request()) until a pager
 * has brought the page in. When the kernel takes pages back, the MMU notifier hides them and
 * waits for a grace period. No side keeps a page beyond its RCU section, and none is attached
 * to a packet.
 *
 * Pages come from get_user_pages_remote() only. It refuses memory that the kernel may not touch:
 * memory without a direct map (memfd_secret()), I/O memory, pages of a device that the CPU cannot
 * reach, and what newer kernels add. HMM reports the page tables and makes none of these checks.
 * A page's reference is dropped as soon as the region has the page: from then on the MMU notifier
 * keeps the page valid, by the protocol of interval notifiers (mmu_interval_read_begin()). A page
 * that was taken back between the begin and store_pages() is not entered. FOLL_LONGTERM is not
 * set: the notifier lets file systems have their pages at any time. rdma core's ib_umem_odp is not
 * used: its map of DMA addresses has no use here and cannot be read without its mutex.
 *
 * Memory that lies in a PCI device (p2pdma) is never pinned, so that its driver can be unbound at
 * any time. The driver removes the pages from page tables first, and so from regions.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "compat.h"
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "memory/pager.h"
#include "memory/key_state.h"
#include "memory/persistent.h"

/* Low bits of an entry of pages[]; the other bits are the struct page pointer. */
#define PRESENT 1ul
#define WRITABLE 2ul
#define FLAGS (PRESENT | WRITABLE)
/* Most pages that one call brings in. */
#define BATCH 64
/* Pages brought in for a fault of fewer, as the kernel's fault-around does. */
#define AHEAD 16
/* Jiffies after which a fault fails: the kernel may take pages back faster than they come. */
#define FAULT_TIMEOUT HZ
/* Times that FAULT_TIMEOUT is restarted, each after pages that took LONG_WAIT jiffies to come. */
#define FAULT_WAITS 16
#define LONG_WAIT (FAULT_TIMEOUT / FAULT_WAITS)

static atomic64_t last_id;

/**
 * struct pavo_odp - memory of an on-demand region.
 * @id:       never used twice; not 0
 * @notifier: the kernel calls it before it takes pages back
 * @dev:      for its counters; valid as long as the region exists
 * @mm:       the process's memory; @pager holds a reference
 * @pager:    brings pages in
 * @waiting:  faults that wait for a thread of @pager, which protects the list
 * @mutex:    protects writes to @pages, and @ended
 * @ended:    the region is gone; store no pages any more
 * @device:   all of it lies in PCI devices; other pages are refused
 * @persistent: likewise, persistent memory
 * @users:    references: one of the region, one for each fault or prefetch under way
 * @start:    address of the first page
 * @npages:   entries of @pages
 * @pages:    an entry for each page, read under RCU. An entry that loses PRESENT keeps its
 *            page for a grace period, for packets that saw the bit.
 */
struct pavo_odp {
	u64 id;
	struct mmu_interval_notifier notifier;
	struct pavo_dev *dev;
	struct mm_struct *mm;
	struct pavo_pager *pager;
	struct list_head waiting;
	struct mutex mutex; /* pages, and ended */
	bool ended;
	bool device;
	bool persistent;
	refcount_t users;
	unsigned long start;
	unsigned long npages;
	unsigned long *pages;
};

static struct page *get_entry_page(unsigned long entry)
{
	return (struct page *)(entry & ~FLAGS);
}

struct page *pavo_odp_find_page(const struct pavo_odp *odp, unsigned long index)
{
	return get_entry_page(READ_ONCE(odp->pages[index]));
}

bool pavo_odp_is_present(const struct pavo_region *region, u64 va, u64 len,
			 bool write)
{
	unsigned long need = write ? FLAGS : PRESENT;
	u64 at = va - region->iova + region->offset;
	unsigned long i;

	for (i = at >> PAGE_SHIFT; i <= (at + len - 1) >> PAGE_SHIFT; i++)
		if ((READ_ONCE(region->odp->pages[i]) & need) != need)
			return false;
	return true;
}

/* Let other tasks run after every 2^16 pages of a range, which may have 2^27. */
static void resched_at_page(unsigned long i)
{
	if (i % (1ul << 16) == 0)
		cond_resched();
}

/* Hide the pages from @first to @last, and wait until no packet uses them. Mutex held; sleeps. */
static void hide_pages(struct pavo_odp *odp, unsigned long first,
		       unsigned long last)
{
	unsigned long i, entry;
	bool any = false;

	for (i = first; i <= last; i++) {
		resched_at_page(i);
		entry = odp->pages[i];
		if (entry & PRESENT) {
			WRITE_ONCE(odp->pages[i], entry & ~PRESENT);
			any = true;
		}
	}
	if (!any)
		return;
	synchronize_rcu_expedited();
	for (i = first; i <= last; i++) {
		resched_at_page(i);
		entry = odp->pages[i];
		if (entry & WRITABLE)
			set_page_dirty(get_entry_page(entry));
		WRITE_ONCE(odp->pages[i], 0);
	}
}

static bool invalidate_odp(struct mmu_interval_notifier *notifier,
			   const struct mmu_notifier_range *range,
			   unsigned long seq)
{
	struct pavo_odp *odp =
		container_of(notifier, struct pavo_odp, notifier);
	unsigned long end = odp->start + odp->npages * PAGE_SIZE;
	unsigned long from = max(range->start, odp->start);
	unsigned long to = min(range->end, end);

	if (!mmu_notifier_range_blockable(range))
		return false;
	mutex_lock(&odp->mutex);
	mmu_interval_set_seq(notifier, seq);
	if (from < to)
		hide_pages(odp, (from - odp->start) >> PAGE_SHIFT,
			   (to - 1 - odp->start) >> PAGE_SHIFT);
	mutex_unlock(&odp->mutex);
	pavo_count(odp->dev, odp_invalidations);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate_odp,
};

/* True if the region takes the page. @device: the page is memory of a PCI device. */
static bool takes_page(const struct pavo_odp *odp, struct page *page,
		       bool device)
{
	if (odp->persistent && !pavo_page_is_persistent(page))
		return false;
	return device ? PAVO_COPIES_DEVICES : !odp->device;
}

/*
 * Enter @count pages from index @first on. A page that is there already was not taken back since,
 * and stays writable if it was.
 *
 * Return: 0; -EBUSY: the kernel took some back since @seq, repeat; -EFAULT: a page that the
 * region does not take.
 */
static int store_pages(struct pavo_odp *odp, unsigned long seq,
		       struct page **pages, unsigned long first,
		       unsigned long count, bool writable)
{
	unsigned long i, entry, old;
	int err = 0;
	bool device;

	mutex_lock(&odp->mutex);
	if (odp->ended || mmu_interval_read_retry(&odp->notifier, seq))
		err = -EBUSY;
	for (i = 0; !err && i < count; i++) {
		device = is_pci_p2pdma_page(pages[i]);
		if (!takes_page(odp, pages[i], device)) {
			err = -EFAULT;
			break;
		}
		old = odp->pages[first + i];
		entry = (unsigned long)pages[i] | PRESENT;
		if (writable)
			entry |= WRITABLE;
		if (get_entry_page(old) == pages[i])
			entry |= old & WRITABLE;
		WRITE_ONCE(odp->pages[first + i], entry);
		if (device && !old)
			pavo_count(odp->dev, device_pages);
	}
	mutex_unlock(&odp->mutex);
	return err;
}

/*
 * Get at most @count pages from index @first on, with a reference to each. The kernel releases
 * mmap_lock where it waits for a page, and a fatal signal ends the wait.
 *
 * Return: how many, at least one; -ENOMEM; -EINTR; -EFAULT: the process has no page at @first, or
 * one that the kernel may not access with @flags.
 */
static long get_pages(struct pavo_odp *odp, unsigned long first,
		      unsigned long count, unsigned int flags,
		      struct page **pages)
{
	int locked = 1;
	long n;

	if (PAVO_COPIES_DEVICES)
		flags |= PAVO_FOLL_DEVICE;
	n = mmap_read_lock_killable(odp->mm);
	if (n)
		return n;
	n = pavo_get_user_pages_remote(odp->mm, odp->start + first * PAGE_SIZE,
				       count, flags, pages, &locked);
	if (locked)
		mmap_read_unlock(odp->mm);
	if (n > 0 || n == -ENOMEM || n == -EINTR)
		return n;
	return -EFAULT;
}

static void put_pages(struct page **pages, unsigned long count)
{
	while (count--)
		put_page(*pages++);
}

/*
 * Bring in the first of @count pages, and those behind it that need no further wait, BATCH in all
 * at most.
 *
 * Return: how many, at least one; -EINTR; -ECANCELED: the region has ended; -EBUSY: the kernel
 * took pages back all the time; an errno of get_pages() or store_pages().
 */
static long bring_in_some(struct pavo_odp *odp, unsigned long first,
			  unsigned long count, unsigned int flags)
{
	unsigned long until = jiffies + FAULT_TIMEOUT;
	unsigned int waits = FAULT_WAITS;
	struct page *pages[BATCH];
	unsigned long seq, began;
	int err;
	long n;

	count = min_t(unsigned long, count, BATCH);
	for (;;) {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(odp->ended))
			return -ECANCELED;
		if (time_after(jiffies, until))
			return -EBUSY;
		began = jiffies;
		seq = mmu_interval_read_begin(&odp->notifier);
		n = get_pages(odp, first, count, flags, pages);
		if (n < 0)
			return n;
		err = store_pages(odp, seq, pages, first, n,
				  flags & FOLL_WRITE);
		put_pages(pages, n);
		if (err != -EBUSY)
			return err ?: n;
		/* Pages that were waited for are progress. */
		if (time_after(jiffies, began + LONG_WAIT) && waits && waits--)
			until = jiffies + FAULT_TIMEOUT;
	}
}

/*
 * Bring in @count pages. @flags: FOLL_WRITE: for writing, too; PAVO_FOLL_THERE: only those that
 * the process has now, and no error for the others.
 *
 * Return: 0; -EFAULT: the process has ended; an errno of bring_in_some().
 */
static int bring_in(struct pavo_odp *odp, unsigned long first,
		    unsigned long count, unsigned int flags)
{
	long n = 0;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	for (; count; first += n, count -= n) {
		n = bring_in_some(odp, first, count, flags);
		if (n == -EFAULT && flags & FOLL_NOFAULT)
			n = 1;
		if (n < 0)
			break;
		cond_resched();
	}
	mmput(odp->mm);
	return min(n, 0L);
}

static void free_odp(struct pavo_odp *odp)
{
	mutex_destroy(&odp->mutex);
	kvfree(odp->pages);
	kfree(odp);
}

void pavo_odp_put(struct pavo_odp *odp)
{
	if (!refcount_dec_and_test(&odp->users))
		return;
	pavo_pager_put(odp->pager);
	free_odp(odp);
}

enum pavo_status pavo_fault_request(struct pavo_key_state *key_state,
				    struct pavo_missing *missing,
				    const struct pavo_region *region, u64 va,
				    u64 len, bool write)
{
	u64 at = va - region->iova + region->offset;
	unsigned long first = at >> PAGE_SHIFT;
	struct pavo_fault *fault;

	/* A side has one fault at a time; it requests the next one when that is over. */
	if (missing->state == PAVO_MISSING_WAITING)
		return PAVO_ST_WAIT;
	if (missing->state == PAVO_MISSING_FAILED) {
		missing->state = PAVO_MISSING_NONE;
		if (missing->id == region->odp->id && missing->first == first)
			return PAVO_ST_RANGE;
	}
	fault = kmalloc(sizeof(*fault), GFP_ATOMIC | __GFP_NOWARN);
	if (!fault) {
		pavo_key_state_continue(key_state, smp_processor_id());
		return PAVO_ST_WAIT;
	}
	if (!refcount_inc_not_zero(&region->odp->users)) {
		kfree(fault);
		return PAVO_ST_RANGE;
	}
	pavo_stats_add(key_state->stats, odp_faults, 1);
	*fault = (struct pavo_fault){
		.odp = region->odp,
		.first = first,
		.count = ((at + len - 1) >> PAGE_SHIFT) - first + 1,
		.write = write,
		.key_state = key_state,
		.missing = missing,
	};
	missing->id = region->odp->id;
	missing->first = first;
	missing->fault = fault;
	WRITE_ONCE(missing->state, PAVO_MISSING_WAITING);
	pavo_pager_serve(region->odp->pager, fault, &region->odp->waiting);
	return PAVO_ST_WAIT;
}

/* pavo_odp_fault - bring in the pages of @fault, and up to AHEAD in all if that succeeds. */
int pavo_odp_fault(const struct pavo_fault *fault)
{
	struct pavo_odp *odp = fault->odp;
	unsigned int flags = fault->write ? FOLL_WRITE : 0;
	unsigned long more;

	more = min_t(unsigned long, odp->npages - fault->first, AHEAD);
	if (more > fault->count && !bring_in(odp, fault->first, more, flags))
		return 0;
	return bring_in(odp, fault->first, fault->count, flags);
}

static struct pavo_odp *alloc_odp(struct pavo_dev *dev, u64 start, u64 length)
{
	struct pavo_odp *odp;

	odp = kzalloc(sizeof(*odp), GFP_KERNEL_ACCOUNT);
	if (!odp)
		return NULL;
	odp->id = atomic64_inc_return(&last_id);
	odp->dev = dev;
	odp->start = start & PAGE_MASK;
	odp->npages = PFN_UP(start + length - odp->start);
	odp->pages = kvcalloc(odp->npages, sizeof(*odp->pages),
			      GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!odp->pages) {
		kfree(odp);
		return NULL;
	}
	mutex_init(&odp->mutex);
	INIT_LIST_HEAD(&odp->waiting);
	refcount_set(&odp->users, 1);
	return odp;
}

int pavo_odp_get(struct pavo_memory *memory, struct pavo_dev *dev, u64 start,
		 u64 length, bool persistent)
{
	struct pavo_odp *odp;
	int err;

	/* The notifier sees no changes of the kernel's own addresses. */
	if (!access_ok(u64_to_user_ptr(start), length))
		return -EFAULT;
	odp = alloc_odp(dev, start, length);
	if (!odp)
		return -ENOMEM;
	odp->persistent = persistent;
	odp->mm = current->mm;
	odp->pager = pavo_pager_get(odp->mm);
	if (!odp->pager) {
		free_odp(odp);
		return -ENOMEM;
	}
	err = mmu_interval_notifier_insert(&odp->notifier, odp->mm, odp->start,
					   odp->npages * PAGE_SIZE,
					   &notifier_ops);
	if (err) {
		pavo_odp_put(odp);
		return err;
	}
	memory->odp = odp;
	memory->start = start;
	return 0;
}

int pavo_odp_fill_device(struct pavo_odp *odp, bool writable)
{
	odp->device = true;
	return bring_in(odp, 0, odp->npages, writable ? FOLL_WRITE : 0);
}

/* pavo_odp_release - end the memory of a region. Pager threads see @ended, or are killed. */
void pavo_odp_release(struct pavo_odp *odp)
{
	if (!odp)
		return;
	mutex_lock(&odp->mutex);
	WRITE_ONCE(odp->ended, true);
	hide_pages(odp, 0, odp->npages - 1);
	mutex_unlock(&odp->mutex);
	pavo_pager_end(odp->pager, odp, &odp->waiting);
	mmu_interval_notifier_remove(&odp->notifier);
	pavo_odp_put(odp);
}

void pavo_odp_set(struct pavo_region *region, const struct pavo_memory *memory)
{
	region->odp = memory->odp;
	region->pages = (struct page **)memory->odp->pages;
	region->offset = offset_in_page(memory->start);
	region->copied = true;
}

/* Get the memory of @sge, with a reference; an ERR_PTR() if @access does not allow a prefetch. */
static struct pavo_odp *get_prefetched(struct pavo_dev *dev, struct pavo_pd *pd,
				       const struct ib_sge *sge, int access,
				       u64 *at)
{
	struct pavo_odp *odp = ERR_PTR(-EINVAL);
	struct pavo_region *region;

	rcu_read_lock();
	switch (pavo_check(dev, pd, sge->lkey, sge->addr, sge->length, access,
			   &region)) {
	case PAVO_ST_OK:
		if (region && region->odp &&
		    refcount_inc_not_zero(&region->odp->users)) {
			odp = region->odp;
			*at = sge->addr - region->iova + region->offset;
		}
		break;
	case PAVO_ST_RANGE:
		odp = ERR_PTR(-EFAULT);
		break;
	case PAVO_ST_ACCESS:
		odp = ERR_PTR(-EPERM);
		break;
	default:
		break;
	}
	rcu_read_unlock();
	return odp;
}

static int prefetch_entry(struct pavo_dev *dev, struct pavo_pd *pd,
			  const struct ib_sge *sge, int access,
			  unsigned int flags)
{
	struct pavo_odp *odp;
	u64 at = 0;
	int err;

	odp = get_prefetched(dev, pd, sge, access, &at);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	err = bring_in(odp, at >> PAGE_SHIFT,
		       PFN_UP(offset_in_page(at) + sge->length), flags);
	pavo_odp_put(odp);
	return err;
}

/* pavo_advise_mr - prefetch. IBV_ADVISE_MR_FLAG_FLUSH is ignored: the call always waits. */
int pavo_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);
	unsigned int gup_flags = 0;
	int access = 0, err = 0;
	u32 i;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		access = IB_ACCESS_LOCAL_WRITE;
		gup_flags = FOLL_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		gup_flags = PAVO_FOLL_THERE;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	for (i = 0; i < num_sge && !err; i++)
		err = prefetch_entry(dev, to_pavo_pd(ibpd), &sg_list[i], access,
				     gup_flags);
	return err;
}
