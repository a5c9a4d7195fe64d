// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * resize.c - another ring for a completion queue, while completions go on.
 *
 * Called by rdma core. Entries that were not consumed move to the new ring at
 * their old free-running numbers. There may be a million of them, so what is
 * there at the beginning is copied while the CQ goes on; only what came
 * meanwhile is copied under its lock. The process may write into the old ring
 * while that happens: it then finds in the new one what it wrote.
 */
#include <linux/log2.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include "device.h"
#include "verbs/ring.h"
#include "verbs/verbs.h"

/*
 * struct pavo_new_ring - a ring that is being filled.
 * @mmap, @header, @cqes, @count: as in struct pavo_cq
 * @cons:   first entry that was not consumed
 * @copied: entries before this one are in it
 */
struct pavo_new_ring {
	struct pavo_mmap *mmap;
	struct pavo_cq_header *header;
	struct pavo_cqe *cqes;
	u32 count;
	u32 cons;
	u32 copied;
};

/*
 * What has to be moved: from the consumer's number, which user space may have
 * made anything, to the producer's. Under the CQ's lock.
 */
static int pavo_resize_begin(struct pavo_cq *cq, struct pavo_new_ring *new)
{
	u32 used;

	new->cons = READ_ONCE(cq->ring->cons);
	new->copied = new->cons;
	used = cq->prod - new->cons;
	if (cq->dead || used > cq->count || used > new->count)
		return -EINVAL;
	return 0;
}

static void pavo_resize_copy(const struct pavo_cq *cq,
			     struct pavo_new_ring *new, u32 end)
{
	for (; new->copied != end; new->copied++)
		pavo_cqe_put(new->cqes, new->count, new->copied,
			     &cq->cqes[new->copied &(cq->count - 1)]);
}

/* The entries that will be written next must not look valid before. */
static void pavo_resize_clear(struct pavo_new_ring *new)
{
	u32 n;

	for (n = new->cons; n != new->cons + new->count; n++)
		new->cqes[n & (new->count - 1)].flags =
			pavo_cqe_owner(new->count, n) ^ PAVO_CQE_OWNER;
}

static void pavo_resize_swap(struct pavo_cq *cq, struct pavo_new_ring *new)
{
	new->header->cons = new->cons;
	new->header->prod = cq->prod;
	swap(cq->mmap, new->mmap);
	cq->ring = new->header;
	cq->cqes = new->cqes;
	cq->count = new->count;
	cq->ib.cqe = new->count;
}

/* Fill @new and put it in place of the CQ's ring, which is in @new then. */
static int pavo_resize_move(struct pavo_cq *cq, struct pavo_new_ring *new)
{
	u32 prod;
	int err;

	spin_lock_irq(&cq->lock);
	err = pavo_resize_begin(cq, new);
	prod = cq->prod;
	spin_unlock_irq(&cq->lock);
	if (err)
		return err;
	pavo_resize_clear(new);
	pavo_resize_copy(cq, new, prod);

	spin_lock_irq(&cq->lock);
	if (cq->dead || cq->prod - new->cons > new->count) {
		err = -EINVAL;
	} else {
		pavo_resize_copy(cq, new, cq->prod);
		pavo_resize_swap(cq, new);
	}
	spin_unlock_irq(&cq->lock);
	return err;
}

static int pavo_resize_alloc(struct pavo_new_ring *new, struct ib_udata *udata)
{
	struct pavo_create_cq_resp resp = { .cqe_cnt = new->count };
	struct pavo_ucontext *uctx;

	uctx = rdma_udata_to_drv_context(udata, struct pavo_ucontext, ib);
	new->mmap = pavo_mmap_create(&uctx->ib, pavo_ring_size(new->count),
				     &resp.ring);
	if (!new->mmap)
		return -ENOMEM;
	new->header = new->mmap->addr;
	new->cqes = new->mmap->addr + PAVO_CQ_HEADER_SIZE;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

int pavo_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	struct pavo_new_ring new = {};
	int err;

	/* nobody in the kernel asks for it */
	if (!ibcq->uobject)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > PAVO_MAX_CQE)
		return -EINVAL;
	if (udata->outlen < sizeof(struct pavo_create_cq_resp))
		return -EINVAL;
	new.count = roundup_pow_of_two(cqe);

	mutex_lock(&cq->resize_mutex);
	err = pavo_resize_alloc(&new, udata);
	if (!err)
		err = pavo_resize_move(cq, &new);
	/* the old ring, or the new one if it was not to be */
	pavo_mmap_destroy(new.mmap);
	mutex_unlock(&cq->resize_mutex);
	return err;
}
