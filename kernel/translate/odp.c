// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * odp.c - on-demand paging: regions whose memory is not pinned.
 *
 * A page is known from the time that somebody touched it through the region
 * until the kernel takes it back. Packets are dealt with where nobody may
 * sleep, so they only look: a page is there, under RCU, or it is not, and then
 * the half of the QP waits (pavo_fault_ask()) until a work of the QP has had it
 * brought in. Who takes pages back (mmu notifier) hides them and waits for a
 * grace period; nothing keeps a page beyond its RCU section, and none is
 * attached to a packet.
 *
 * HMM is used directly and not through rdma core's ib_umem_odp, whose map of
 * DMA addresses is of no use here and cannot be read without its mutex.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/hmm.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/refcount.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "device.h"
#include "translate.h"
#include "translate/internal.h"

/* Low bits of an entry of pages[], above them is the struct page. */
#define PRESENT 1ul
#define WRITABLE 2ul
#define FLAGS (PRESENT | WRITABLE)
/* Pages brought in at a time. */
#define BATCH 64
/* Who asks for one gets those behind it, too, as with faults of processes. */
#define AHEAD 16
/* The kernel may take pages back faster than they come: try that long. */
#define FAULT_TIMEOUT HZ

static atomic64_t last_id;

/**
 * struct pavo_odp - memory that comes and goes.
 * @id:       no other has or had it; not 0
 * @notifier: tells of what is taken back
 * @dev:      for its counters
 * @mm:       whose memory it is (mmgrab)
 * @mutex:    writers of @pages
 * @users:    the region, and faults under way
 * @idle:     there are none any more
 * @start:    address of the first page
 * @npages:   how many there are
 * @pages:    one entry each, read under RCU. One that loses PRESENT keeps its
 *            page until a grace period is over: who saw the bit may go on.
 */
struct pavo_odp {
	u64 id;
	struct mmu_interval_notifier notifier;
	struct pavo_dev *dev;
	struct mm_struct *mm;
	struct mutex mutex; /* pages */
	refcount_t users;
	struct completion idle;
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

/* The pages from @first to @last are not there any more. Mutex held; sleeps. */
static void hide(struct pavo_odp *odp, unsigned long first, unsigned long last)
{
	unsigned long i, entry;
	bool any = false;

	for (i = first; i <= last; i++) {
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

/* What HMM found, unless it was taken back meanwhile. False: try again. */
static bool store(struct pavo_odp *odp, const struct hmm_range *range,
		  unsigned long first, unsigned long count)
{
	unsigned long i, entry, pfn;
	bool valid;

	mutex_lock(&odp->mutex);
	valid = !mmu_interval_read_retry(&odp->notifier, range->notifier_seq);
	for (i = 0; valid && i < count; i++) {
		pfn = range->hmm_pfns[i];
		if (!(pfn & HMM_PFN_VALID))
			continue;
		entry = (unsigned long)hmm_pfn_to_page(pfn) | PRESENT;
		if (pfn & HMM_PFN_WRITE)
			entry |= WRITABLE;
		WRITE_ONCE(odp->pages[first + i], entry);
	}
	mutex_unlock(&odp->mutex);
	return valid;
}

/* Bring in at most BATCH pages; @flags: HMM_PFN_REQ_*, 0: those that are there. */
static int bring_in_some(struct pavo_odp *odp, unsigned long first,
			 unsigned long count, unsigned long flags)
{
	unsigned long until = jiffies + FAULT_TIMEOUT;
	unsigned long pfns[BATCH];
	struct hmm_range range = {
		.notifier = &odp->notifier,
		.start = odp->start + first * PAGE_SIZE,
		.end = odp->start + (first + count) * PAGE_SIZE,
		.hmm_pfns = pfns,
		.default_flags = flags,
	};
	int err;

	do {
		if (time_after(jiffies, until))
			return -EBUSY;
		range.notifier_seq = mmu_interval_read_begin(&odp->notifier);
		mmap_read_lock(odp->mm);
		err = hmm_range_fault(&range);
		mmap_read_unlock(odp->mm);
		if (err && err != -EBUSY)
			return err;
	} while (err || !store(odp, &range, first, count));
	return 0;
}

static int bring_in(struct pavo_odp *odp, unsigned long first,
		    unsigned long count, unsigned long flags)
{
	unsigned long n;
	int err = 0;

	if (!mmget_not_zero(odp->mm))
		return -EFAULT;
	for (; count && !err; first += n, count -= n) {
		n = min_t(unsigned long, count, BATCH);
		err = bring_in_some(odp, first, n, flags);
	}
	mmput(odp->mm);
	return err;
}

static void odp_put(struct pavo_odp *odp)
{
	if (refcount_dec_and_test(&odp->users))
		complete(&odp->idle);
}

bool pavo_fault_ask(struct pavo_qp *qp, struct pavo_half *half,
		    const struct pavo_region *region, u64 va, u64 len,
		    bool write)
{
	u64 at = va - region->iova + region->offset;
	struct pavo_fault *fault = &half->fault;
	unsigned long first = at >> PAGE_SHIFT;

	/* One at a time; behind it, it will be asked for again. */
	if (fault->state == PAVO_FAULT_WAITING)
		return true;
	if (fault->state == PAVO_FAULT_FAILED) {
		fault->state = PAVO_FAULT_NONE;
		if (fault->id == region->odp->id && fault->first == first)
			return false;
	}
	if (!refcount_inc_not_zero(&region->odp->users))
		return false;
	pavo_count(qp, odp_faults);
	fault->id = region->odp->id;
	fault->odp = region->odp;
	fault->first = first;
	fault->count = ((at + len - 1) >> PAGE_SHIFT) - first + 1;
	fault->write = write;
	/* Pairs with the acquire in pavo_fault_serve(). */
	smp_store_release(&fault->state, PAVO_FAULT_WAITING);
	queue_work(qp->dev->fault_wq, &qp->fault_work);
	return true;
}

/* With what is behind them, if that can be had, too. */
static int serve(const struct pavo_fault *fault)
{
	unsigned long flags = HMM_PFN_REQ_FAULT;
	struct pavo_odp *odp = fault->odp;
	unsigned long more;

	if (fault->write)
		flags |= HMM_PFN_REQ_WRITE;
	more = min_t(unsigned long, odp->npages - fault->first, AHEAD);
	if (more > fault->count && !bring_in(odp, fault->first, more, flags))
		return 0;
	return bring_in(odp, fault->first, fault->count, flags);
}

void pavo_fault_serve(struct pavo_half *half)
{
	struct pavo_fault *fault = &half->fault;
	struct pavo_dev *dev;
	int err;

	/* Pairs with the release in pavo_fault_ask(). */
	if (smp_load_acquire(&fault->state) != PAVO_FAULT_WAITING)
		return;
	dev = fault->odp->dev;
	err = serve(fault);
	if (err)
		pavo_count(dev, odp_fault_errors);
	odp_put(fault->odp);
	/* The half may go on from here, and the work whose part this is says so. */
	smp_store_release(&fault->state,
			  err ? PAVO_FAULT_FAILED : PAVO_FAULT_NONE);
}

void pavo_fault_reset(struct pavo_half *half)
{
	half->fault.id = 0;
}

void pavo_fault_forget(struct pavo_half *half)
{
	if (half->fault.state == PAVO_FAULT_WAITING)
		odp_put(half->fault.odp);
	half->fault.state = PAVO_FAULT_NONE;
}

static struct pavo_odp *odp_alloc(struct pavo_dev *dev, u64 start, u64 length)
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
	init_completion(&odp->idle);
	return odp;
}

static void odp_free(struct pavo_odp *odp)
{
	mutex_destroy(&odp->mutex);
	kvfree(odp->pages);
	kfree(odp);
}

int pavo_odp_get(struct pavo_memory *memory, struct pavo_dev *dev, u64 start,
		 u64 length)
{
	struct pavo_odp *odp;
	int err;

	odp = odp_alloc(dev, start, length);
	if (!odp)
		return -ENOMEM;
	odp->mm = current->mm;
	err = mmu_interval_notifier_insert(&odp->notifier, odp->mm, odp->start,
					   odp->npages * PAGE_SIZE,
					   &notifier_ops);
	if (err) {
		odp_free(odp);
		return err;
	}
	mmgrab(odp->mm);
	memory->odp = odp;
	memory->start = start;
	return 0;
}

void pavo_odp_release(struct pavo_odp *odp)
{
	if (!odp)
		return;
	odp_put(odp);
	wait_for_completion(&odp->idle);
	mutex_lock(&odp->mutex);
	hide(odp, 0, odp->npages - 1);
	mutex_unlock(&odp->mutex);
	mmu_interval_notifier_remove(&odp->notifier);
	mmdrop(odp->mm);
	odp_free(odp);
}

void pavo_odp_set(struct pavo_region *region, const struct pavo_memory *memory)
{
	region->odp = memory->odp;
	region->pages = (struct page **)memory->odp->pages;
	region->offset = offset_in_page(memory->start);
	region->copied = true;
}

/* The memory of an entry, held; an error if it may not be prefetched so. */
static struct pavo_odp *prefetch_get(struct pavo_dev *dev, struct pavo_pd *pd,
				     const struct ib_sge *sge, int access,
				     u64 *at)
{
	struct pavo_odp *odp = ERR_PTR(-EINVAL);
	struct pavo_region *region;

	rcu_read_lock();
	switch (pavo_check(dev, pd, sge->lkey, sge->addr, sge->length, access,
			   &region)) {
	case PAVO_XLATE_OK:
		if (region && region->odp &&
		    refcount_inc_not_zero(&region->odp->users)) {
			odp = region->odp;
			*at = sge->addr - region->iova + region->offset;
		}
		break;
	case PAVO_XLATE_LENGTH:
		odp = ERR_PTR(-EFAULT);
		break;
	case PAVO_XLATE_FLAGS:
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
			  unsigned long flags)
{
	struct pavo_odp *odp;
	u64 at = 0;
	int err;

	odp = prefetch_get(dev, pd, sge, access, &at);
	if (IS_ERR(odp))
		return PTR_ERR(odp);
	err = bring_in(odp, at >> PAGE_SHIFT,
		       PFN_UP(offset_in_page(at) + sge->length), flags);
	odp_put(odp);
	return err;
}

/* Whether it shall be done in the background is up to us: it is not. */
int pavo_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);
	unsigned long request = 0;
	int access = 0, err = 0;
	u32 i;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		access = IB_ACCESS_LOCAL_WRITE;
		request = HMM_PFN_REQ_FAULT | HMM_PFN_REQ_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		request = HMM_PFN_REQ_FAULT;
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
				     request);
	return err;
}
