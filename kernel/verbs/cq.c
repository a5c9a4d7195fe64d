// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cq.c - completion queues, of user space and of the kernel.
 *
 * Owns the rings of completions (resize.c replaces them). The sides of QPs push entries while
 * they are locked; their owners raise the events owed after they let go. User space polls its
 * ring in mapped memory; kernel consumers poll here.
 *
 * Lock: cq->lock, inside of everything.
 */
#include <linux/ktime.h>
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>
#include "device.h"
#include "ops.h"
#include "verbs/ring.h"
#include "verbs/verbs.h"

/* QPN of an entry whose QP is gone: no QP has more than 24 bits. */
#define PAVO_CQE_FORGOTTEN U32_MAX

/*
 * Bits of a CQ's @event. OWED: an event is to be raised. TELLING: a CPU is calling the completion
 * handler. An event that is owed meanwhile is left to that CPU, since the side that owes it may
 * run inside the handler itself.
 */
#define PAVO_CQ_OWED 0
#define PAVO_CQ_TELLING 1
#define PAVO_CQ_OVERRUN 2

/*
 * Calls of the handler in a row before a work goes on: a handler that posts to a queue pair in
 * Error brings about another event each time.
 */
#define PAVO_CQ_CALLS 16

/* Tell the CQ's consumer, its queue pairs and shared receive queues that it has overrun. */
static void pavo_cq_overrun(struct pavo_cq *cq)
{
	struct pavo_dev *dev = to_pavo_dev(cq->ib.device);
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};
	unsigned long qpn, srqn;
	struct pavo_srq *srq;
	struct pavo_qp *qp;

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);

	rcu_read_lock();
	xa_for_each(&dev->qps, qpn, qp) {
		if (qp->send_cq == cq || qp->recv_cq == cq)
			pavo_qp_error(qp, IB_EVENT_QP_FATAL);
	}
	xa_for_each(&dev->srqs, srqn, srq) {
		if (srq->rq.cq != cq)
			continue;
		spin_lock_bh(&srq->rq.lock);
		pavo_srq_fail(srq);
		spin_unlock_bh(&srq->rq.lock);
	}
	rcu_read_unlock();
}

static void pavo_cq_run(struct work_struct *work)
{
	struct pavo_cq *cq = container_of(work, struct pavo_cq, work);

	if (test_and_clear_bit(PAVO_CQ_OVERRUN, &cq->event))
		pavo_cq_overrun(cq);
	pavo_cq_raise(cq);
}

/*
 * Is there room for another entry? The consumer index of user space may have any value: one
 * that claims entries which were never written counts as an overrun.
 */
static bool pavo_cq_room(struct pavo_cq *cq)
{
	struct pavo_dev *dev = to_pavo_dev(cq->ib.device);
	u32 cons = cq->ib.uobject ? READ_ONCE(cq->ring->cons) : cq->cons;
	u32 used = cq->prod - cons;

	if (likely(used < cq->count))
		return true;
	if (used > cq->count)
		pavo_count(dev, cq_index_errors);
	pavo_count(dev, cq_overruns);
	return false;
}

u32 pavo_cq_consumed(struct pavo_cq *cq)
{
	unsigned long flags;
	u32 cons;

	spin_lock_irqsave(&cq->lock, flags);
	cons = cq->ib.uobject ? READ_ONCE(cq->ring->cons) : cq->cons;
	spin_unlock_irqrestore(&cq->lock, flags);
	return cons;
}

static void pavo_cqe_write(struct pavo_cq *cq, const struct pavo_cqe *from)
{
	struct pavo_cqe cqe = *from;

	cqe.timestamp = ktime_get_ns();
	pavo_cqe_put(cq->cqes, cq->count, cq->prod, &cqe);
	cq->prod++;
	WRITE_ONCE(cq->ring->prod, cq->prod);
}

static void pavo_cq_owe(struct pavo_cq *cq)
{
	cq->armed = 0;
	cq->held = 0;
	set_bit(PAVO_CQ_OWED, &cq->event);
}

/*
 * Wake the waiter for the entry just written: at once, or, if events are moderated, with
 * the last of moderate_count entries or moderate_us after the first.
 */
static void pavo_cq_wake(struct pavo_cq *cq)
{
	if (++cq->held >= cq->moderate_count || !cq->moderate_us)
		pavo_cq_owe(cq);
	else if (cq->held == 1)
		hrtimer_start(&cq->timer,
			      ns_to_ktime(cq->moderate_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_SOFT);
}

/* Raise the event moderate_us after the first completion that was held back. */
static enum hrtimer_restart pavo_cq_timer(struct hrtimer *timer)
{
	struct pavo_cq *cq = container_of(timer, struct pavo_cq, timer);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->held)
		pavo_cq_owe(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	pavo_cq_raise(cq);
	return HRTIMER_NORESTART;
}

void pavo_cq_push(struct pavo_cq *cq, const struct pavo_cqe *cqe,
		  bool solicited)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->dead)
		goto out;
	if (unlikely(!pavo_cq_room(cq))) {
		cq->dead = true;
		set_bit(PAVO_CQ_OVERRUN, &cq->event);
		queue_work(to_pavo_dev(cq->ib.device)->wq, &cq->work);
		goto out;
	}
	pavo_cqe_write(cq, cqe);
	if (cq->armed == IB_CQ_NEXT_COMP ||
	    (cq->armed && (solicited || cqe->status != IB_WC_SUCCESS)))
		pavo_cq_wake(cq);
out:
	spin_unlock_irqrestore(&cq->lock, flags);
}

/*
 * Call the handler as long as an event is owed. BH disabled: a preempted caller would hold up
 * events of other CPUs.
 */
static void pavo_cq_tell(struct pavo_cq *cq)
{
	unsigned int calls;

	for (calls = 0; test_bit(PAVO_CQ_OWED, &cq->event); calls++) {
		if (calls == PAVO_CQ_CALLS) {
			queue_work(to_pavo_dev(cq->ib.device)->end_wq,
				   &cq->work);
			return;
		}
		if (test_and_set_bit(PAVO_CQ_TELLING, &cq->event))
			return;
		if (test_and_clear_bit(PAVO_CQ_OWED, &cq->event))
			cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
		clear_bit_unlock(PAVO_CQ_TELLING, &cq->event);
		/* A CPU that found TELLING set had set OWED before: look again. */
		smp_mb__after_atomic();
	}
}

void pavo_cq_raise(struct pavo_cq *cq)
{
	if (!cq || !test_bit(PAVO_CQ_OWED, &cq->event))
		return;
	local_bh_disable();
	pavo_cq_tell(cq);
	local_bh_enable();
}

int pavo_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	/* arming for any completion stays when solicited ones are asked for later */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	if ((flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->prod != cq->cons)
		missed = 1;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static void pavo_wc_flags(struct ib_wc *wc, const struct pavo_cqe *cqe)
{
	if (cqe->flags & PAVO_CQE_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->imm;
	}
	if (cqe->flags & PAVO_CQE_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->imm;
	}
	if (cqe->flags & PAVO_CQE_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->network_hdr_type;
	}
	/* VLAN 0 is a mere priority tag */
	if (cqe->vlan) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = cqe->vlan;
	}
}

static u64 pavo_recv_wr_id(const struct pavo_qp *qp, const struct pavo_cqe *cqe)
{
	const struct pavo_rq *rq = &qp->resp.own;

	if (cqe->flags & PAVO_CQE_SRQ)
		return cqe->wr_id;
	return rq->wr_id[cqe->wqe & (rq->count - 1)];
}

/* Turn an entry into a work completion of a kernel consumer; its QP exists. */
static void pavo_wc_fill(struct ib_wc *wc, const struct pavo_cqe *cqe,
			 struct pavo_qp *qp)
{
	memset(wc, 0, sizeof(*wc));
	if (cqe->flags & PAVO_CQE_RECV) {
		wc->wr_id = pavo_recv_wr_id(qp, cqe);
		wc->opcode = cqe->opcode == PAVO_WQE_WRITE_IMM ?
				     IB_WC_RECV_RDMA_WITH_IMM :
				     IB_WC_RECV;
	} else {
		wc->wr_id = qp->req.wr_id[cqe->wqe & (qp->req.count - 1)];
		wc->opcode = pavo_op_wc(cqe->opcode);
	}
	wc->status = cqe->status;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = &qp->ib;
	wc->src_qp = cqe->src_qp;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->port_num = PAVO_PORT;
	pavo_wc_flags(wc, cqe);
}

int pavo_poll_cq(struct ib_cq *ibcq, int count, struct ib_wc *wc)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	struct pavo_dev *dev = to_pavo_dev(ibcq->device);
	unsigned long flags;
	int polled = 0;

	if (ibcq->uobject)
		return -EOPNOTSUPP;

	rcu_read_lock();
	spin_lock_irqsave(&cq->lock, flags);
	while (polled < count && cq->cons != cq->prod) {
		struct pavo_cqe *cqe = &cq->cqes[cq->cons & (cq->count - 1)];
		struct pavo_qp *qp = pavo_qp_find(dev, cqe->qpn);

		cq->cons++;
		if (qp)
			pavo_wc_fill(&wc[polled++], cqe, qp);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	rcu_read_unlock();
	return polled;
}

void pavo_cq_forget(struct pavo_cq *cq, u32 qpn)
{
	unsigned long flags;
	u32 n;

	if (!cq || cq->ib.uobject)
		return;
	spin_lock_irqsave(&cq->lock, flags);
	for (n = cq->cons; n != cq->prod; n++) {
		struct pavo_cqe *cqe = &cq->cqes[n & (cq->count - 1)];

		if (cqe->qpn == qpn)
			cqe->qpn = PAVO_CQE_FORGOTTEN;
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}

static int pavo_cq_check(const struct ib_cq_init_attr *attr,
			 const struct ib_udata *udata)
{
	/* every entry has a time stamp, asked for or not */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > PAVO_MAX_CQE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct pavo_create_cq_resp))
		return -EINVAL;
	return 0;
}

static int pavo_cq_build(struct pavo_cq *cq, struct ib_udata *udata)
{
	struct pavo_create_cq_resp resp = { .cqe_cnt = cq->count };
	struct pavo_ucontext *uctx;
	int err;

	uctx = udata ? rdma_udata_to_drv_context(udata, struct pavo_ucontext,
						 ib) :
		       NULL;
	cq->mmap = pavo_mmap_create(uctx ? &uctx->ib : NULL,
				    pavo_ring_size(cq->count), &resp.ring);
	if (!cq->mmap)
		return -ENOMEM;
	cq->ring = cq->mmap->addr;
	cq->cqes = cq->mmap->addr + PAVO_CQ_HEADER_SIZE;
	if (!udata)
		return 0;

	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (err)
		pavo_mmap_destroy(cq->mmap);
	return err;
}

int pavo_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		   pavo_cq_args *args)
{
	struct pavo_dev *dev = to_pavo_dev(ibcq->device);
	struct ib_udata *udata = pavo_cq_udata(args);
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	int err;

	err = pavo_cq_check(attr, udata);
	if (err)
		return err;
	if (!pavo_object_take(dev, PAVO_OBJ_CQ))
		return -ENOMEM;
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_mutex);
	INIT_WORK(&cq->work, pavo_cq_run);
	pavo_hrtimer_setup(&cq->timer, pavo_cq_timer, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_SOFT);
	cq->count = roundup_pow_of_two(attr->cqe);
	err = pavo_cq_build(cq, udata);
	if (err) {
		pavo_object_give(dev, PAVO_OBJ_CQ);
		return err;
	}
	ibcq->cqe = cq->count;
	return 0;
}

int pavo_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);

	/* its QPs are gone, so no side queues or starts these any more */
	cancel_work_sync(&cq->work);
	hrtimer_cancel(&cq->timer);
	pavo_mmap_destroy(cq->mmap);
	pavo_object_give(to_pavo_dev(ibcq->device), PAVO_OBJ_CQ);
	return 0;
}

/* Set moderation: events after @count completions, or @us after the first of them. */
int pavo_modify_cq(struct ib_cq *ibcq, u16 count, u16 us)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->moderate_count = count;
	cq->moderate_us = us;
	/* raise what was held back by the old setting */
	if (cq->held)
		pavo_cq_owe(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	pavo_cq_raise(cq);
	return 0;
}
