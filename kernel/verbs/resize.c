// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * resize.c - replaces the ring of a completion queue while it is in use.
 *
 * Called by rdma core. Entries that were not consumed move to the new ring and keep their
 * free-running indices. There may be a million of them, so most are copied without the CQ's
 * lock, and only the last few under it. If the process writes into the old ring during the
 * copy, it may find its own bytes in the new one.
 */
#include <linux/log2.h>
#include <linux/vmalloc.h>
#include <rdma/uverbs_ioctl.h>
#include "adapter.h"
#include "budget.h"
#include "rings/cq_ring.h"
#include "rings/cqe.h"
#include "rings/mmap.h"
#include "rings/ucontext.h"
#include "verbs/verbs.h"

/* Entries between two calls of cond_resched(), and at most copied under the lock. */
#define ENTRIES_IN_A_ROW 4096
/* Passes that copy entries which arrived meanwhile. Each has fewer: copying is faster. */
#define COPIES 16

/*
 * struct pavo_new_ring - a ring that is being filled.
 * @mmap, @header, @cqes, @count: as @mmap, @ring, @cqes, @count of struct pavo_cq
 * @cons:   first entry that was not consumed
 * @copied: entries before this one are copied
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
 * Find the entries to move: from the consumer's index to the producer's. User space may have
 * written any value to the former. Called with the CQ's lock.
 */
static int begin_resize(struct pavo_cq *cq, struct pavo_new_ring *to)
{
	u32 used;

	to->cons = READ_ONCE(cq->ring->cons);
	to->copied = to->cons;
	used = cq->prod - to->cons;
	if (cq->dead || used > cq->count || used > to->count)
		return -EINVAL;
	return 0;
}

static void copy_cqes(const struct pavo_cq *cq, struct pavo_new_ring *to,
		      u32 end)
{
	u32 slot;

	for (; to->copied != end; to->copied++) {
		slot = to->copied & (cq->count - 1);
		pavo_cqe_put(to->cqes, to->count, to->copied, &cq->cqes[slot]);
	}
}

/* A piece of the ring is done: let other tasks run. */
static void end_piece(u32 entries)
{
	pavo_budget_used_up(PAVO_LOOP_RINGS, entries,
			    entries * sizeof(struct pavo_cqe));
	cond_resched();
}

/* The same without the lock, in pieces. */
static void copy_most(const struct pavo_cq *cq, struct pavo_new_ring *to,
		      u32 end)
{
	u32 piece;

	while (to->copied != end) {
		piece = min_t(u32, end - to->copied, ENTRIES_IN_A_ROW);
		copy_cqes(cq, to, to->copied + piece);
		end_piece(piece);
	}
}

/* Make all entries look invalid until they are written. */
static void clear_ring(struct pavo_new_ring *to)
{
	u32 n, piece = 0;

	for (n = to->cons; n != to->cons + to->count; n++) {
		to->cqes[n & (to->count - 1)].flags =
			pavo_cqe_get_owner(to->count, n) ^ PAVO_CQE_OWNER;
		if (++piece == ENTRIES_IN_A_ROW) {
			end_piece(piece);
			piece = 0;
		}
	}
}

static void swap_rings(struct pavo_cq *cq, struct pavo_new_ring *to)
{
	to->header->cons = to->cons;
	to->header->prod = cq->prod;
	swap(cq->mmap, to->mmap);
	cq->ring = to->header;
	cq->cqes = to->cqes;
	cq->count = to->count;
	cq->ib.cqe = to->count;
}

/*
 * Copy the last entries and swap the rings. Return: 0; -EAGAIN: more than ENTRIES_IN_A_ROW
 * arrived meanwhile; -EINVAL: they do not fit into the new ring.
 */
static int try_swap(struct pavo_cq *cq, struct pavo_new_ring *to, u32 *prod)
{
	int err = 0;

	spin_lock_irq(&cq->lock);
	*prod = cq->prod;
	if (cq->dead || cq->prod - to->cons > to->count) {
		err = -EINVAL;
	} else if (cq->prod - to->copied > ENTRIES_IN_A_ROW) {
		err = -EAGAIN;
	} else {
		copy_cqes(cq, to, cq->prod);
		swap_rings(cq, to);
	}
	spin_unlock_irq(&cq->lock);
	return err;
}

/* Fill @to and swap it with the CQ's ring. */
static int move_ring(struct pavo_cq *cq, struct pavo_new_ring *to)
{
	int err, copies = COPIES;
	u32 prod;

	spin_lock_irq(&cq->lock);
	err = begin_resize(cq, to);
	prod = cq->prod;
	spin_unlock_irq(&cq->lock);
	if (err)
		return err;
	clear_ring(to);
	do {
		copy_most(cq, to, prod);
		err = try_swap(cq, to, &prod);
	} while (err == -EAGAIN && --copies);
	return err;
}

static int alloc_ring(struct pavo_new_ring *to, struct ib_udata *udata)
{
	struct pavo_create_cq_resp resp = { .cqe_cnt = to->count };
	struct pavo_ucontext *uctx;

	uctx = rdma_udata_to_drv_context(udata, struct pavo_ucontext, ib);
	to->mmap = pavo_mmap_create(&uctx->ib, pavo_ring_get_size(to->count),
				    &resp.ring);
	if (!to->mmap)
		return -ENOMEM;
	to->header = to->mmap->addr;
	to->cqes = to->mmap->addr + PAVO_CQ_HEADER_SIZE;
	return ib_copy_to_udata(udata, &resp, sizeof(resp));
}

int pavo_resize_cq(struct ib_cq *ibcq, pavo_cq_size cqe, struct ib_udata *udata)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	struct pavo_new_ring to = {};
	int err;

	/* no consumer in the kernel calls this */
	if (!ibcq->uobject)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe > PAVO_MAX_CQE)
		return -EINVAL;
	if (udata->outlen < sizeof(struct pavo_create_cq_resp))
		return -EINVAL;
	to.count = roundup_pow_of_two(cqe);

	mutex_lock(&cq->resize_mutex);
	err = alloc_ring(&to, udata);
	if (!err)
		err = move_ring(cq, &to);
	/* the old ring, or the new one after an error */
	pavo_mmap_destroy(to.mmap);
	mutex_unlock(&cq->resize_mutex);
	return err;
}
