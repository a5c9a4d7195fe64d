// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * odp.c - on-demand paging: regions whose memory is not pinned.
 *
 * A region knows a page from the time that a packet touched it or a process prefetched it,
 * until the kernel takes it back. Packet processing cannot sleep, so it only looks under RCU
 * whether a page is there. If not, the side of the QP waits (pavo_fault_ask()) until a pager
 * has brought the page in. When the kernel takes pages back, the MMU notifier hides them and
 * waits for a grace period. No side keeps a page beyond its RCU section, and none is attached
 * to a packet.
 *
 * Memory that lies in a PCI device (p2pdma) is never pinned, so that its driver can leave at any
 * time. The driver takes the pages out of page tables first, and so out of regions.
 *
 * HMM is used directly and not through rdma core's ib_umem_odp, whose map of
 * DMA addresses is of no use here and cannot be read without its mutex.
 */
#include <linux/atomic.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "memory/pager.h"
#include "memory/holder.h"

/* Low bits of an entry of pages[]; the other bits are the struct page pointer. */
#define PRESENT 1ul
#define WRITABLE 2ul
#define FLAGS (PRESENT | WRITABLE)
/* Pages brought in at a time. */
#define BATCH 64
/* Pages brought in for a fault of fewer, as the kernel's fault-around does. */
#define AHEAD 16
/* Give up after so long: the kernel may take pages back faster than they come. */
#define FAULT_TIMEOUT HZ
/* Begin that time anew so often, when a page came that had to be waited for. */
#define FAULT_WAITS 16

static atomic64_t last_id;

/**
 * struct pavo_odp - memory of an on-demand region.
 * @id:       unique for ever; not 0
 * @notifier: tells when the kernel takes pages back
 * @dev:      for its counters; valid as long as the region lives
 * @mm:       the process's memory; @pager holds a reference
 * @pager:    brings pages in
 * @mutex:    protects writes to @pages, and @ended
 * @ended:    the region is gone; store no pages any more
 * @device:   all of it lies in PCI devices; other pages are refused
 * @users:    references: one of the region, one for each fault or prefetch under way
 * @start:    address of the first page
 * @npages:   number of pages
 * @pages:    an entry for each, read under RCU. An entry that loses PRESENT keeps its
 *            page for a grace period, for packets that saw the bit.
 */
struct pavo_odp {
	u64 id;
	struct mmu_interval_notifier notifier;
	struct pavo_dev *dev;
	struct mm_struct *mm;
	struct pavo_pager *pager;
	struct mutex mutex; /* pages, and ended */
	bool ended;
	bool device;
	refcount_t users;
	unsigned long start;
	unsigned long npages;
	unsigned long *pages;
};

static struct page *entry_page(unsigned long entry)
{
	return (struct page *)(entry & ~FLAGS);
}

struct page *pavo_odp_page(const struct pavo_odp *odp, unsigned long index)
{
	return entry_page(READ_ONCE(odp->pages[index]));
}

bool pavo_odp_present(const struct pavo_region *region, u64 va, u64 len,
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

/* Behind each so many pages of a range other tasks may run: it may have 2^27. */
static void rest_at(unsigned long i)
{
	if (i % (1ul << 16) == 0)
		cond_resched();
}

/* Hide the pages from @first to @last, and wait until no packet uses them. Mutex held; sleeps. */
static void hide(struct pavo_odp *odp, unsigned long first, unsigned long last)
{
	unsigned long i, entry;
	bool any = false;

	for (i = first; i <= last; i++) {
		rest_at(i);
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
		rest_at(i);
		entry = odp->pages[i];
		if (entry & WRITABLE)
			set_page_dirty(entry_page(entry));
		WRITE_ONCE(odp->pages[i], 0);
	}
}

static bool invalidate(struct mmu_interval_notifier *notifier,
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
		hide(odp, (from - odp->start) >> PAGE_SHIFT,
		     (to - 1 - odp->start) >> PAGE_SHIFT);
	mutex_unlock(&odp->mutex);
	pavo_count(odp->dev, odp_invalidations);
	return true;
}

static const struct mmu_interval_notifier_ops notifier_ops = {
	.invalidate = invalidate,
};

/* Does the region take the page? Its memory may be @device memory, or else not. */
static bool takes_page(const struct pavo_odp *odp, bool device)
{
	return device ? PAVO_COPIES_DEVICES : !odp->device;
}

/*
 * Enter the pages that HMM found. Only with the mutex held, and if no page was taken back, is it
 * certain that there still are page structures of a device.
 *
 * Return: 0; -EBUSY: the kernel took some back meanwhile, try again; -EFAULT: a page that the
 * region does not take.
 */
static int store(struct pavo_odp *odp, const struct hmm_range *range,
		 unsigned long first, unsigned long count)
{
	unsigned long i, entry, pfn;
	struct page *page;
	int err = 0;
	bool device;

	mutex_lock(&odp->mutex);
	if (odp->ended ||
	    mmu_interval_read_retry(&odp->notifier, range->notifier_seq))
		err = -EBUSY;
	for (i = 0; !err && i < count; i++) {
		pfn = range->hmm_pfns[i];
		if (!(pfn & HMM_PFN_VALID))
			continue;
		page = hmm_pfn_to_page(pfn);
		device = is_pci_p2pdma_page(page);
		if (!takes_page(odp, device)) {
			err = -EFAULT;
			break;
		}
		entry = (unsigned long)page | PRESENT;
		if (pfn & HMM_PFN_WRITE)
			entry |= WRITABLE;
		WRITE_ONCE(odp->pages[first + i], entry);
		if (device)
			pavo_count(odp->dev, device_pages);
	}
	mutex_unlock(&odp->mutex);
	return err;
}

/*
 * Fault in the pages of @range that lack bits of @need. Called with mmap_lock, which is
 * released while a page is waited for; a signal ends the wait.
 *
 * Return: the number of such pages, or a negative errno.
 */
static int fault_in(struct pavo_odp *odp, const struct hmm_range *range,
		    unsigned long count, unsigned long need)
{
	unsigned int flags = FAULT_FLAG_REMOTE;
	bool unlocked = false;
	int n = 0, err;
	unsigned long i;

	if (need & HMM_PFN_WRITE)
		flags |= FAULT_FLAG_WRITE;
	for (i = 0; i < count; i++) {
		if ((range->hmm_pfns[i] & need) == need)
			continue;
		if (range->hmm_pfns[i] & HMM_PFN_ERROR)
			return -EFAULT;
		err = fixup_user_fault(odp->mm, range->start + i * PAGE_SIZE,
				       flags, &unlocked);
		if (err)
			return err;
		n++;
	}
	return n;
}

/* Make one attempt. Return: 0; 1 or -EBUSY: try again; another negative errno. */
static int look_and_fault(struct pavo_odp *odp, struct hmm_range *range,
			  unsigned long count, unsigned long need)
{
	int err;

	range->notifier_seq = mmu_interval_read_begin(&odp->notifier);
	err = mmap_read_lock_killable(odp->mm);
	if (err)
		return err;
	err = hmm_range_fault(range);
	if (!err && need)
		err = fault_in(odp, range, count, need);
	mmap_read_unlock(odp->mm);
	return min(err, 1);
}

/* Bring in at most BATCH pages. @need: HMM_PFN_*; 0: only pages that the process has now. */
static int bring_in_some(struct pavo_odp *odp, unsigned long first,
			 unsigned long count, unsigned long need)
{
	unsigned long until = jiffies + FAULT_TIMEOUT;
	unsigned int waits = FAULT_WAITS;
	unsigned long pfns[BATCH];
	struct hmm_range range = {
		.notifier = &odp->notifier,
		.start = odp->start + first * PAGE_SIZE,
		.end = odp->start + (first + count) * PAGE_SIZE,
		.hmm_pfns = pfns,
	};
	int err;

	do {
		if (fatal_signal_pending(current))
			return -EINTR;
		if (READ_ONCE(odp->ended))
			return -ECANCELED;
		if (time_after(jiffies, until))
			return -EBUSY;
		err = look_and_fault(odp, &range, count, need);
		/* A page that was waited for is progress. */
		if (err == 1 && waits && waits--)
			until = jiffies + FAULT_TIMEOUT;
		if (!err)
			err = store(odp, &range, first, count);
		if (err < 0 && err != -EBUSY)
			return err;
	} while (err);
	return 0;
}

static int bring_in(struct pavo_odp *odp, unsigned long first,
		    unsigned long count, unsigned long need)
{
	unsigned long n;
	int err = 0;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	for (; count && !err; first += n, count -= n) {
		n = min_t(unsigned long, count, BATCH);
		err = bring_in_some(odp, first, n, need);
		cond_resched();
	}
	mmput(odp->mm);
	return err;
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

enum pavo_status pavo_fault_ask(struct pavo_holder *holder,
				struct pavo_missing *missing,
				const struct pavo_region *region, u64 va,
				u64 len, bool write)
{
	u64 at = va - region->iova + region->offset;
	unsigned long first = at >> PAGE_SHIFT;
	struct pavo_fault *fault;

	/* A side has one fault at a time; it asks again when that is over. */
	if (missing->state == PAVO_MISSING_WAITING)
		return PAVO_ST_WAIT;
	if (missing->state == PAVO_MISSING_FAILED) {
		missing->state = PAVO_MISSING_NONE;
		if (missing->id == region->odp->id && missing->first == first)
			return PAVO_ST_RANGE;
	}
	fault = kmalloc(sizeof(*fault), GFP_ATOMIC | __GFP_NOWARN);
	if (!fault) {
		pavo_holder_continue(holder, smp_processor_id());
		return PAVO_ST_WAIT;
	}
	if (!refcount_inc_not_zero(&region->odp->users)) {
		kfree(fault);
		return PAVO_ST_RANGE;
	}
	pavo_tally_add(holder->tally, odp_faults, 1);
	*fault = (struct pavo_fault){
		.odp = region->odp,
		.first = first,
		.count = ((at + len - 1) >> PAGE_SHIFT) - first + 1,
		.write = write,
		.holder = holder,
		.missing = missing,
	};
	missing->id = region->odp->id;
	missing->first = first;
	missing->fault = fault;
	WRITE_ONCE(missing->state, PAVO_MISSING_WAITING);
	pavo_pager_serve(region->odp->pager, fault);
	return PAVO_ST_WAIT;
}

/* Bring in the pages of @fault, and up to AHEAD in all if those can be had, too. */
int pavo_odp_fault(const struct pavo_fault *fault)
{
	struct pavo_odp *odp = fault->odp;
	unsigned long need = HMM_PFN_VALID;
	unsigned long more;

	if (fault->write)
		need |= HMM_PFN_WRITE;
	more = min_t(unsigned long, odp->npages - fault->first, AHEAD);
	if (more > fault->count && !bring_in(odp, fault->first, more, need))
		return 0;
	return bring_in(odp, fault->first, fault->count, need);
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
	refcount_set(&odp->users, 1);
	return odp;
}

int pavo_odp_get(struct pavo_memory *memory, struct pavo_dev *dev, u64 start,
		 u64 length)
{
	struct pavo_odp *odp;
	int err;

	odp = alloc_odp(dev, start, length);
	if (!odp)
		return -ENOMEM;
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
	unsigned long need = HMM_PFN_VALID;

	if (writable)
		need |= HMM_PFN_WRITE;
	odp->device = true;
	return bring_in(odp, 0, odp->npages, need);
}

/* Does not wait for pagers: they see @ended, and are killed if they wait for a page. */
void pavo_odp_release(struct pavo_odp *odp)
{
	if (!odp)
		return;
	mutex_lock(&odp->mutex);
	WRITE_ONCE(odp->ended, true);
	hide(odp, 0, odp->npages - 1);
	mutex_unlock(&odp->mutex);
	pavo_pager_end(odp->pager, odp);
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

/* The memory of @sge, with a reference; an error if the process may not prefetch it so. */
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
			  unsigned long need)
{
	struct pavo_odp *odp;
	u64 at = 0;
	int err;

	odp = get_prefetched(dev, pd, sge, access, &at);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	err = bring_in(odp, at >> PAGE_SHIFT,
		       PFN_UP(offset_in_page(at) + sge->length), need);
	pavo_odp_put(odp);
	return err;
}

/* IBV_ADVISE_MR_FLAG_FLUSH is only a hint: the call always waits for the pages. */
int pavo_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);
	unsigned long need = 0;
	int access = 0, err = 0;
	u32 i;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		access = IB_ACCESS_LOCAL_WRITE;
		need = HMM_PFN_VALID | HMM_PFN_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		need = HMM_PFN_VALID;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (flags & ~IB_UVERBS_ADVISE_MR_FLAG_FLUSH)
		return -EOPNOTSUPP;
	for (i = 0; i < num_sge && !err; i++)
		err = prefetch_entry(dev, to_pavo_pd(ibpd), &sg_list[i], access,
				     need);
	return err;
}
