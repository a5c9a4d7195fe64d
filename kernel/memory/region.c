// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * region.c - memory regions: from registration to deregistration.
 *
 * Called by verbs/ through ib_device_ops, in process context. The memory of a region is
 * pinned (pin.c), another driver's (dmabuf.c) or on demand (odp.c).
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "memory/memory.h"
#include "memory/memory_private.h"
#include "memory/persistent.h"
#include "compat.h"

#define PAVO_ACCESS_REMOTE                                \
	(IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
	 IB_ACCESS_REMOTE_ATOMIC)

/*
 * Flags without an effect on this adapter, which are always granted. The optional ones
 * include relaxed ordering.
 */
#define PAVO_ACCESS_HINTS (IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

#define PAVO_ACCESS_SUPPORTED                                             \
	(IB_ACCESS_LOCAL_WRITE | PAVO_ACCESS_REMOTE | IB_ACCESS_MW_BIND | \
	 IB_ZERO_BASED | IB_ACCESS_ON_DEMAND | PAVO_MR_ACCESS_FLUSH |     \
	 PAVO_ACCESS_HINTS)

int pavo_check_access(int access)
{
	if (access & ~PAVO_ACCESS_SUPPORTED)
		return -EINVAL;
	/* IBA 10.6.3.2: remote write and atomic rights need local write. */
	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IB_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

static void release_memory(struct pavo_memory *memory)
{
	if (memory->pin)
		pavo_unpin(memory->pin, memory->pin->key.owner);
	pavo_dmabuf_release(memory->dmabuf);
	pavo_odp_release(memory->odp);
}

/*
 * Have what is written to @region be written back, if peers may flush it for persistence.
 *
 * Return: 0; -EINVAL: not all of its memory is persistent.
 */
static int set_persistent(struct pavo_region *region,
			  const struct pavo_pin *pin)
{
	if (!(region->access & PAVO_ACCESS_FLUSH_PERSISTENT))
		return 0;
	if (!pavo_pages_are_persistent(pin->pages, pin->key.npages))
		return -EINVAL;
	region->access |= PAVO_ACCESS_PERSISTENT;
	return 0;
}

/* Pin [start, start + length) of the calling process. */
static int pin_memory(struct pavo_memory *memory, u64 start, u64 length,
		      int access)
{
	struct pavo_pin *pin;

	pin = pavo_pin(current->mm, start, length, ib_access_writable(access));
	if (IS_ERR(pin))
		return PTR_ERR(pin);
	*memory = (struct pavo_memory){ .pin = pin, .start = start };
	return 0;
}

static int check_range(u64 start, u64 length, u64 iova)
{
	u64 end;

	/* A region of no bytes is valid: messages of no bytes may name it (IBA 10.6.3.1). */
	if (!length)
		return 0;
	if (length > PAVO_MAX_MR_SIZE ||
	    check_add_overflow(iova, length - 1, &end) ||
	    check_add_overflow(start, length - 1, &end) || end > ULONG_MAX)
		return -EINVAL;
	return 0;
}

/* Allocate a valid region of @mr, without pages yet. Return: NULL without memory. */
static struct pavo_region *alloc_region(struct pavo_mr *mr, struct ib_pd *ibpd,
					int access)
{
	struct pavo_region *region;

	region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return NULL;
	region->mr = mr;
	region->pd = to_pavo_pd(ibpd);
	region->access = access;
	region->valid = true;
	return region;
}

static void set_memory(struct pavo_region *region,
		       const struct pavo_memory *memory)
{
	region->pages = memory->pin->pages;
	region->offset = offset_in_page(memory->start);
}

struct pavo_mr *pavo_mr_alloc(struct ib_pd *ibpd, int access)
{
	struct pavo_dev *dev = to_pavo_dev(ibpd->device);
	kuid_t account = pavo_caller_get_account_if(ibpd->uobject);
	struct pavo_mr *mr;

	if (pavo_object_take(dev, PAVO_OBJ_MR, account))
		return NULL;
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		goto err_give;
	mr->account = account;
	mr->dev = dev;
	mr->region = alloc_region(mr, ibpd, access);
	if (mr->region)
		return mr;

	kfree(mr);
err_give:
	pavo_object_give(dev, PAVO_OBJ_MR, account);
	return NULL;
}

/* pavo_mr_free - free a region that no packet can find: not yet published, or removed. */
void pavo_mr_free(struct pavo_mr *mr)
{
	release_memory(&mr->memory);
	if (!mr->fast || mr->region != &mr->fast->none)
		kfree(mr->region);
	kvfree(mr->fast);
	pavo_object_give(mr->dev, PAVO_OBJ_MR, mr->account);
	kfree(mr);
}

/* pavo_mr_publish - assign a key to @mr and put it into the table; free @mr if that fails. */
struct ib_mr *pavo_mr_publish(struct pavo_mr *mr)
{
	int err;

	err = pavo_key_insert(&mr->dev->keys, mr->region);
	if (err) {
		pavo_mr_free(mr);
		return ERR_PTR(err);
	}
	mr->ib.lkey = mr->region->key;
	mr->ib.rkey = mr->region->key;
	return &mr->ib;
}

struct ib_mr *pavo_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct pavo_mr *mr;

	mr = pavo_mr_alloc(ibpd, access & ~PAVO_ACCESS_FLUSH_PERSISTENT);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->region->length = U64_MAX;
	return pavo_mr_publish(mr);
}

static int set_on_demand(struct pavo_mr *mr, u64 start)
{
	struct pavo_region *region = mr->region;
	int err;

	if (region->access & PAVO_ACCESS_FLUSH_PERSISTENT)
		region->access |= PAVO_ACCESS_PERSISTENT;
	err = pavo_odp_get(&mr->memory, mr->dev, start, region->length,
			   region->access & PAVO_ACCESS_PERSISTENT);
	if (!err)
		pavo_odp_set(region, &mr->memory);
	return err;
}

/*
 * Set memory of a PCI device. It is not pinned, as its driver may be unbound at any time. The
 * region has all pages from the beginning, and loses them when the driver is unbound.
 */
static int set_device(struct pavo_mr *mr, u64 start)
{
	int err = set_on_demand(mr, start);

	if (err)
		return err;
	return pavo_odp_fill_device(mr->memory.odp,
				    ib_access_writable(mr->region->access));
}

/* Set memory of the calling process: pinned, on demand, or of a device. */
static int set_user_memory(struct pavo_mr *mr, u64 start)
{
	struct pavo_region *region = mr->region;
	int err;

	if (region->access & IB_ACCESS_ON_DEMAND && region->length)
		return set_on_demand(mr, start);
	err = pin_memory(&mr->memory, start, region->length, region->access);
	if (err == -EREMOTEIO && PAVO_COPIES_DEVICES)
		return set_device(mr, start);
	if (err)
		return err;
	set_memory(region, &mr->memory);
	return set_persistent(region, mr->memory.pin);
}

struct pavo_mr *pavo_mr_begin(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 virt_addr, int access)
{
	u64 iova = access & IB_ZERO_BASED ? 0 : virt_addr;
	struct pavo_mr *mr;
	int err;

	err = pavo_check_access(access);
	if (!err)
		err = check_range(start, length, iova);
	if (err)
		return ERR_PTR(err);
	mr = pavo_mr_alloc(ibpd, access);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->region->iova = iova;
	mr->region->length = length;
	return mr;
}

struct ib_mr *pavo_mr_finish(struct pavo_mr *mr, int err)
{
	if (!err)
		return pavo_mr_publish(mr);
	pavo_mr_free(mr);
	return ERR_PTR(err);
}

struct ib_mr *pavo_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			       u64 virt_addr, int access,
			       struct ib_udata *udata)
{
	struct pavo_mr *mr;

	mr = pavo_mr_begin(ibpd, start, length, virt_addr, access);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	return pavo_mr_finish(mr, set_user_memory(mr, start));
}

/*
 * True if memory must be pinned anew: for another address, and for write access to pages that
 * were pinned for reading.
 */
static bool needs_pin(const struct pavo_mr *mr, int flags, int access)
{
	return flags & IB_MR_REREG_TRANS ||
	       (ib_access_writable(access) && !mr->memory.pin->writable);
}

/* Pin the new memory of @mr, and enter it in @next. */
static int prepare_rereg(struct pavo_mr *mr, int flags, u64 start, u64 length,
			 struct pavo_region *next, struct pavo_memory *memory)
{
	int err;

	if (!(flags & IB_MR_REREG_TRANS)) {
		if (mr->memory.pin->key.owner != current->mm)
			return -EINVAL;
		start = mr->memory.start;
		length = next->length;
	} else {
		next->length = length;
	}
	err = check_range(start, length, next->iova);
	if (!err)
		err = pin_memory(memory, start, length, next->access);
	if (!err)
		set_memory(next, memory);
	return err;
}

/*
 * Replace the region behind the key by *@region, and set *@region to the old one, which no
 * packet uses any more. Operations that peers have begun continue with the new region: their
 * remote-key slots stay valid.
 *
 * Return: 0; -EBUSY: the region has memory windows (IBA 10.6.6.2.4).
 */
static int switch_rereg(struct pavo_mr *mr, struct pavo_region **region)
{
	struct pavo_key_table *keys = &mr->dev->keys;
	int err = 0;

	spin_lock_bh(&keys->lock);
	if (mr->windows) {
		err = -EBUSY;
	} else {
		pavo_key_replace(keys, *region);
		swap(mr->region, *region);
	}
	spin_unlock_bh(&keys->lock);
	if (!err)
		synchronize_rcu_expedited();
	return err;
}

/* True if the change takes memory, protection domain or rights from peers. */
static bool is_reduced_for_peers(const struct pavo_mr *mr, int flags,
				 int access)
{
	int had = mr->region->access & PAVO_ACCESS_REMOTE;

	return had &&
	       (flags & (IB_MR_REREG_TRANS | IB_MR_REREG_PD) || had & ~access);
}

/*
 * Close the key to peers and end their operations with it, as for a memory window that
 * moves: no message may go in part to the old memory and in part to the new. Until the key
 * gets its new region peers are refused, and no queue pair can bind a memory window to the
 * region. Requests by L_Key are not affected.
 */
static int close_rereg(struct pavo_mr *mr)
{
	struct pavo_region *region;
	int err;

	region = kmemdup(mr->region, sizeof(*region), GFP_KERNEL_ACCOUNT);
	if (!region)
		return -ENOMEM;
	region->access &= ~(PAVO_ACCESS_REMOTE | IB_ACCESS_MW_BIND);
	err = switch_rereg(mr, &region);
	if (!err)
		pavo_rkm_finish(mr->dev, region->pd, region->key);
	kfree(region);
	return err;
}

/*
 * pavo_rereg_user_mr - register a region anew, with the same keys. If that fails, the region is
 * unchanged.
 *
 * Return: NULL, the object stays the same; or an error.
 */
struct ib_mr *pavo_rereg_user_mr(struct ib_mr *ibmr, int flags, u64 start,
				 u64 length, u64 virt_addr, int access,
				 struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct pavo_mr *mr = to_pavo_mr(ibmr);
	struct pavo_memory memory = {};
	struct pavo_region *next;
	int err = 0;

	if (!mr->memory.pin)
		return ERR_PTR(-EOPNOTSUPP);
	if (!(flags & IB_MR_REREG_ACCESS))
		access = mr->region->access & ~PAVO_ACCESS_PERSISTENT;
	if (access & IB_ACCESS_ON_DEMAND)
		return ERR_PTR(-EOPNOTSUPP);
	err = pavo_check_access(access);
	if (err)
		return ERR_PTR(err);

	next = kmemdup(mr->region, sizeof(*next), GFP_KERNEL_ACCOUNT);
	if (!next)
		return ERR_PTR(-ENOMEM);
	next->access = access;
	if (flags & IB_MR_REREG_PD)
		next->pd = to_pavo_pd(ibpd);
	if (access & IB_ZERO_BASED)
		next->iova = 0;
	else if (flags & IB_MR_REREG_TRANS)
		next->iova = virt_addr;
	else if (mr->region->access & IB_ZERO_BASED)
		next->iova = mr->memory.start;

	if (needs_pin(mr, flags, access))
		err = prepare_rereg(mr, flags, start, length, next, &memory);
	if (!err) {
		err = set_persistent(next, memory.pin ?: mr->memory.pin);
		if (!err && is_reduced_for_peers(mr, flags, access))
			err = close_rereg(mr);
		if (!err)
			err = switch_rereg(mr, &next);
		if (!err && memory.pin)
			swap(mr->memory, memory);
		/* The old memory, or the new memory if the switch failed. */
		release_memory(&memory);
	}
	kfree(next);
	return ERR_PTR(err);
}

/* End the operations of peers by the key, then wait for packets that use its L_Key. */
static void end_region_use(struct pavo_dev *dev,
			   const struct pavo_region *region)
{
	if (region->access & PAVO_ACCESS_REMOTE)
		pavo_rkm_finish(dev, region->pd, region->key);
	synchronize_rcu_expedited();
}

/* Remove the key. Return: -EBUSY while memory windows name the region (IBA 10.6.6.2.3). */
static int remove_mr(struct pavo_mr *mr)
{
	struct pavo_key_table *keys = &mr->dev->keys;
	int err = 0;

	spin_lock_bh(&keys->lock);
	if (mr->windows)
		err = -EBUSY;
	else
		pavo_key_remove(keys, mr->region);
	spin_unlock_bh(&keys->lock);
	if (!err)
		end_region_use(mr->dev, mr->region);
	return err;
}

int pavo_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct pavo_mr *mr = to_pavo_mr(ibmr);
	int err;

	err = remove_mr(mr);
	if (!err)
		pavo_mr_free(mr);
	return err;
}
