/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * rq.h - rings of receive WQEs: the receive queue of a QP, or one that QPs share (SRQ).
 */
#ifndef PAVO_RINGS_RQ_H
#define PAVO_RINGS_RQ_H

#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "adapter.h"

struct pavo_cq;
struct pavo_mmap;
struct pavo_mmap_info;
struct pavo_pd;
struct pavo_ucontext;

/**
 * struct pavo_rq - a ring of receive WQEs: of one QP, or shared by QPs (SRQ).
 * @ring:      header and WQE slots, shared with the process or private to the kernel
 * @mmap:      memory of @ring
 * @wqe_size:  stride of WQE slots
 * @count:     WQE slots, a power of two
 * @max_sge:   most entries of a WQE
 * @head:      WQEs taken (free running)
 * @pd:        the WQEs name memory of this PD
 * @srq:       the SRQ; NULL: a QP's own ring, under the lock of its side
 * @cq:        XRC: WQEs complete here; NULL: in the QP's receive CQ
 * @lock:      SRQ: protects @head, limit and failure
 * @post_lock: protects posts of kernel consumers
 * @wr_id:     of kernel consumers, by WQE slot
 */
struct pavo_rq {
	struct pavo_rq_header *ring;
	struct pavo_mmap *mmap;
	u32 wqe_size;
	u32 count;
	u32 max_sge;
	u32 head;
	struct pavo_pd *pd;
	struct pavo_srq *srq;
	struct pavo_cq *cq;
	spinlock_t lock; /* SRQ: head, limit, failed; taken in a side, leaf */
	spinlock_t post_lock; /* posts of kernel consumers */
	u64 *wr_id;
};

/**
 * struct pavo_recv_wqe - private copy of the receive WQE in use.
 * @active:  taken and not completed
 * @number:  free-running number
 * @wr_id:   of an SRQ's WQE
 * @length:  bytes that fit in its entries
 * @done:    bytes written so far
 * @num_sge: entries
 * @i:       entry of the next byte
 * @off:     its offset in that entry
 * @sge:     the entries
 */
struct pavo_recv_wqe {
	bool active;
	u32 number;
	u64 wr_id;
	u32 length;
	u32 done;
	u32 num_sge;
	u32 i;
	u32 off;
	struct pavo_data_seg sge[PAVO_MAX_SGE];
};

/**
 * struct pavo_srq - shared receive queue.
 * @ib:     the object of rdma core, first
 * @account: user that it counts for
 * @rq:     its ring
 * @limit:  fewer WQEs than this: an event, once; 0: the consumer requested none
 * @failed: the ring is damaged; no WQE is taken from it any more
 * @events: bits by enum ib_event_type, which @work raises
 * @work:   see @events
 * @of_cq:  XRC: in the list of its CQ
 */
struct pavo_srq {
	struct ib_srq ib;
	kuid_t account;
	struct pavo_rq rq;
	u32 limit;
	bool failed;
	unsigned long events;
	struct work_struct work;
	struct list_head of_cq;
};

static inline struct pavo_srq *to_pavo_srq(struct ib_srq *ib)
{
	return container_of(ib, struct pavo_srq, ib);
}

/**
 * pavo_rq_init - make a ring.
 * @rq:      zeroed
 * @uctx:    ucontext that may map it; NULL: that of a kernel consumer
 * @max_wr:  least number of WQE slots
 * @max_sge: most entries of a WQE
 * @info:    as of pavo_mmap_create()
 *
 * Context: process, sleeps.
 * Return: 0; -ENOMEM.
 */
int pavo_rq_init(struct pavo_rq *rq, struct pavo_ucontext *uctx, u32 max_wr,
		 u32 max_sge, struct pavo_mmap_info *info);
void pavo_rq_destroy(struct pavo_rq *rq);
void pavo_rq_reset(struct pavo_rq *rq);

/**
 * pavo_rq_post - write work requests of kernel consumers to the ring.
 * @rq:     the ring
 * @wr:     list of work requests
 * @bad_wr: on an error, set to the one that was not posted
 *
 * Return: 0; -EINVAL: too many entries; -ENOMEM: the ring is full.
 */
int pavo_rq_post(struct pavo_rq *rq, const struct ib_recv_wr *wr,
		 const struct ib_recv_wr **bad_wr);

enum pavo_rq_status {
	PAVO_RQ_OK,
	PAVO_RQ_EMPTY, /* "Invalid WQE" (sources.md#engine-7-1-6): RNR */
	PAVO_RQ_BAD, /* index or WQE is not valid */
};

enum pavo_rq_status pavo_rq_pop(struct pavo_rq *rq, struct pavo_recv_wqe *wqe);

/** pavo_srq_raise - queue an event of an SRQ, which its work raises. Context: any. */
void pavo_srq_raise(struct pavo_srq *srq, enum ib_event_type type);

/** pavo_srq_fail - take no WQE from the SRQ any more, and raise SRQ_ERR. Its lock is held. */
void pavo_srq_fail(struct pavo_srq *srq);

#endif /* PAVO_RINGS_RQ_H */
