// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rq.c - rings of receive WQEs: the receive queue of a QP, or one that QPs
 * share (SRQ). Takes the next WQE, and posts for kernel consumers.
 *
 * Called by responder/recv_queue.c with a side owned and by verbs/srq.c. An attacker may write
 * the ring: the index is read once and checked, the WQE is copied and the copy
 * is checked.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include "rings/mmap.h"
#include "rings/rq.h"
#include "rings/ucontext.h"

void pavo_srq_raise(struct pavo_srq *srq, enum ib_event_type type)
{
	set_bit(type, &srq->events);
	queue_work(to_pavo_dev(srq->ib.device)->wq, &srq->work);
}

void pavo_srq_fail(struct pavo_srq *srq)
{
	if (srq->failed)
		return;
	srq->failed = true;
	pavo_srq_raise(srq, IB_EVENT_SRQ_ERR);
}

int pavo_rq_init(struct pavo_rq *rq, struct pavo_ucontext *uctx, u32 max_wr,
		 u32 max_sge, struct pavo_mmap_info *info)
{
	/* NextSeg, entries, terminator */
	u32 stride = sizeof(struct pavo_next_seg) +
		     (max_sge + 1) * sizeof(struct pavo_data_seg);
	u32 count = roundup_pow_of_two(max(max_wr, 1u));
	size_t size = PAVO_RQ_HEADER_SIZE + (size_t)count * stride;

	spin_lock_init(&rq->lock);
	spin_lock_init(&rq->post_lock);
	/* Consumers in user space keep wr_ids themselves, behind the slots. */
	if (uctx) {
		size += PAVO_QUEUE_OWN_SIZE((size_t)count);
	} else {
		rq->wr_id = kvcalloc(count, sizeof(u64), GFP_KERNEL_ACCOUNT);
		if (!rq->wr_id)
			return -ENOMEM;
	}
	rq->mmap = pavo_mmap_create(uctx ? &uctx->ib : NULL, size, info);
	if (!rq->mmap) {
		pavo_rq_destroy(rq);
		return -ENOMEM;
	}
	rq->ring = rq->mmap->addr;
	rq->wqe_size = stride;
	rq->count = count;
	rq->max_sge = max_sge;
	return 0;
}

void pavo_rq_destroy(struct pavo_rq *rq)
{
	kvfree(rq->wr_id);
	pavo_mmap_destroy(rq->mmap);
	rq->wr_id = NULL;
	rq->mmap = NULL;
	rq->ring = NULL;
}

/* pavo_rq_reset - set the ring to its initial state; no side takes WQEs from it. */
void pavo_rq_reset(struct pavo_rq *rq)
{
	rq->head = 0;
	WRITE_ONCE(rq->ring->prod, 0);
	WRITE_ONCE(rq->ring->cons, 0);
	WRITE_ONCE(rq->ring->flags, 0);
}

static void *get_rq_slot(const struct pavo_rq *rq, u32 n)
{
	return (void *)rq->ring + PAVO_RQ_HEADER_SIZE +
	       (size_t)(n & (rq->count - 1)) * rq->wqe_size;
}

/*
 * Copy the entries up to the terminator of 16 zero bytes.
 *
 * Return: 0; -EINVAL: the slot has no terminator, an entry of 2 GiB or more, or a bad first
 * segment.
 */
static int copy_recv_wqe(const struct pavo_rq *rq, struct pavo_recv_wqe *wqe)
{
	const struct pavo_srq_seg *at = get_rq_slot(rq, rq->head);
	const struct pavo_data_seg *from = (const void *)(at + 1);
	struct pavo_srq_seg first;
	struct pavo_data_seg seg;
	u64 length = 0;
	u32 i;

	memcpy(&first, at, sizeof(first));
	barrier();
	if (first.reserved || (first.wr_id && !rq->srq))
		return -EINVAL;
	wqe->wr_id = first.wr_id;
	for (i = 0; i <= rq->max_sge; i++) {
		memcpy(&seg, &from[i], sizeof(seg));
		barrier();
		if (!seg.byte_count && !seg.lkey && !seg.va)
			break;
		if (seg.byte_count & PAVO_INLINE_SEG || i == rq->max_sge)
			return -EINVAL;
		length += seg.byte_count;
		wqe->sge[i] = seg;
	}
	wqe->num_sge = i;
	wqe->length = min_t(u64, length, PAVO_MAX_MSG_SIZE);
	wqe->number = rq->head;
	wqe->done = 0;
	wqe->i = 0;
	wqe->off = 0;
	return 0;
}

static enum pavo_rq_status pop_wqe(struct pavo_rq *rq,
				   struct pavo_recv_wqe *wqe, u32 *left)
{
	/* Pairs with the release store behind a posted WQE. */
	u32 posted = smp_load_acquire(&rq->ring->prod) - rq->head;

	if (!posted)
		return PAVO_RQ_EMPTY;
	if (posted > rq->count || copy_recv_wqe(rq, wqe))
		return PAVO_RQ_BAD;
	*left = posted - 1;
	/* After the copy: a kernel consumer may reuse the WQE slot. */
	smp_store_release(&rq->head, rq->head + 1);
	/* After the copy: so may a process that posts to an SRQ. */
	smp_store_release(&rq->ring->cons, rq->head);
	return PAVO_RQ_OK;
}

/*
 * Take a WQE of an SRQ. Raise the limit event once, when fewer WQEs than the limit are left.
 * Take nothing from a ring in which a bad WQE or index was found (IBA 10.2.9.5, 11.6.3.5).
 */
static enum pavo_rq_status pop_shared(struct pavo_rq *rq,
				      struct pavo_recv_wqe *wqe)
{
	struct pavo_srq *srq = rq->srq;
	enum pavo_rq_status status = PAVO_RQ_BAD;
	u32 left = 0;

	spin_lock_bh(&rq->lock);
	if (!srq->failed)
		status = pop_wqe(rq, wqe, &left);
	if (status == PAVO_RQ_OK && left < srq->limit) {
		srq->limit = 0;
		pavo_srq_raise(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	} else if (status == PAVO_RQ_BAD) {
		pavo_srq_fail(srq);
	}
	spin_unlock_bh(&rq->lock);
	return status;
}

/* pavo_rq_pop - take the next WQE: copy it to @wqe and check the copy. */
enum pavo_rq_status pavo_rq_pop(struct pavo_rq *rq, struct pavo_recv_wqe *wqe)
{
	u32 left;

	return rq->srq ? pop_shared(rq, wqe) : pop_wqe(rq, wqe, &left);
}

static int post_recv_wr(struct pavo_rq *rq, const struct ib_recv_wr *wr)
{
	u32 n = rq->ring->prod;
	struct pavo_srq_seg *first = get_rq_slot(rq, n);
	struct pavo_data_seg *seg = (void *)(first + 1);
	const struct ib_sge *sge = wr->sg_list;
	int i;

	if (wr->num_sge > rq->max_sge)
		return -EINVAL;
	/* Pairs with the release in pop_wqe(). */
	if (n - smp_load_acquire(&rq->head) >= rq->count)
		return -ENOMEM;
	memset(first, 0, sizeof(*first));
	if (rq->srq)
		first->wr_id = wr->wr_id;
	for (i = 0; i < wr->num_sge; i++, sge++) {
		/* Skip empty entries: an entry of zeros would end the list. */
		if (!sge->length)
			continue;
		seg->byte_count = sge->length;
		seg->lkey = sge->lkey;
		seg->va = sge->addr;
		seg++;
	}
	memset(seg, 0, sizeof(*seg));
	rq->wr_id[n & (rq->count - 1)] = wr->wr_id;
	/* Pairs with the acquire in pop_wqe(). */
	smp_store_release(&rq->ring->prod, n + 1);
	return 0;
}

int pavo_rq_post(struct pavo_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr)
{
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&rq->post_lock, flags);
	for (; wr; wr = wr->next) {
		err = post_recv_wr(rq, wr);
		if (err) {
			*bad_wr = wr;
			break;
		}
	}
	spin_unlock_irqrestore(&rq->post_lock, flags);
	return err;
}
