// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * region.c - memory regions: from registration to deregistration.
 *
 * Called by verbs/ through ib_device_ops, in process context. Owns the pinned
 * memory (ib_umem) and the list of its pages. Pinning is charged to the
 * process by ib_umem_get(), the page list to its memory cgroup here.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include "device.h"
#include "translate.h"

#define PAVO_ACCESS_REMOTE                                \
	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_ATOMIC)

/* Flags that change nothing here and so are always granted. */
#define PAVO_ACCESS_HINTS (IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

#define PAVO_ACCESS_SUPPORTED                                             \
	(IB_ACCESS_LOCAL_WRITE | PAVO_ACCESS_REMOTE | IB_ACCESS_MW_BIND | \
	 IB_ZERO_BASED | PAVO_ACCESS_HINTS)

static int check_access(int access)
{
	if (access & IB_ACCESS_ON_DEMAND)
		return -EOPNOTSUPP;
	if (access & ~PAVO_ACCESS_SUPPORTED)
		return -EINVAL;
	/* IBA 10.6.3.2: who may write from remote must be able to locally */
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

static struct pavo_region *region_alloc(struct ib_pd *ibpd, int access)
{
	struct pavo_region *region;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return NULL;
	region->dev = to_pavo_dev(ibpd->device);
	region->pd = to_pavo_pd(ibpd);
	region->access = access;
	return region;
}

static void region_free(struct pavo_region *region)
{
	kvfree(region->pages);
	ib_umem_release(region->umem);
	kfree(region);
}

/* Make the list of pages that the region's memory was pinned to. */
static int list_pages(struct pavo_region *region)
{
	struct sg_page_iter iter;
	unsigned long i = 0;

	region->npages = ib_umem_num_pages(region->umem);
	region->pages = kvmalloc_array(region->npages, sizeof(*region->pages),
				       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!region->pages)
		return -ENOMEM;

	for_each_sgtable_page(&region->umem->sgt_append.sgt, &iter, 0) {
		if (WARN_ON_ONCE(i == region->npages))
			return -EIO;
		region->pages[i++] = sg_page_iter_page(&iter);
	}
	return WARN_ON_ONCE(i != region->npages) ? -EIO : 0;
}

/* Pin [start, start + length) of the calling process. */
static int pin(struct pavo_region *region, u64 start, u64 length)
{
	struct ib_umem *umem;

	umem = ib_umem_get(&region->dev->ib, start, length, region->access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);

	region->umem = umem;
	region->offset = ib_umem_offset(umem);
	return list_pages(region);
}

struct ib_mr *pavo_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct pavo_region *region;
	int err;

	region = region_alloc(ibpd, access);
	if (!region)
		return ERR_PTR(-ENOMEM);

	region->length = U64_MAX;
	err = pavo_key_insert(&region->dev->keys, region);
	if (err) {
		region_free(region);
		return ERR_PTR(err);
	}
	return &region->ib;
}

struct ib_mr *pavo_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 virt_addr, int access,
			       struct ib_udata *udata)
{
	struct pavo_region *region;
	u64 end;
	int err;

	err = check_access(access);
	if (err)
		return ERR_PTR(err);
	if (!length || length > PAVO_MAX_MR_SIZE)
		return ERR_PTR(-EINVAL);
	if (access & IB_ZERO_BASED)
		virt_addr = 0;
	if (check_add_overflow(virt_addr, length - 1, &end) ||
	    check_add_overflow(start, length - 1, &end) || end > ULONG_MAX)
		return ERR_PTR(-EINVAL);

	region = region_alloc(ibpd, access);
	if (!region)
		return ERR_PTR(-ENOMEM);
	region->iova = virt_addr;
	region->length = length;

	err = pin(region, start, length);
	if (!err)
		err = pavo_key_insert(&region->dev->keys, region);
	if (err) {
		region_free(region);
		return ERR_PTR(err);
	}
	return &region->ib;
}

int pavo_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct pavo_region *region = to_pavo_region(ibmr);

	pavo_key_remove(&region->dev->keys, region);
	region_free(region);
	return 0;
}
