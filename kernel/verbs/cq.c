// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cq.c - the life of completion queues, and the polling of kernel consumers.
 *
 * Called by rdma core. The ring and its events are rings/cq_ring.c's.
 */
#include <linux/log2.h>
#include <rdma/uverbs_ioctl.h>
#include "ops.h"
#include "pavo_kernel.h"
#include "qp/qp.h"
#include "rings/cqe.h"
#include "rings/mmap.h"
#include "rings/ucontext.h"
#include "verbs/verbs.h"

static void add_cq_user(struct pavo_cq *cq, struct list_head *list,
			struct list_head *node)
{
	mutex_lock(&cq->users_mutex);
	list_add_tail(node, list);
	mutex_unlock(&cq->users_mutex);
}

static void remove_cq_user(struct pavo_cq *cq, struct list_head *node)
{
	mutex_lock(&cq->users_mutex);
	list_del(node);
	mutex_unlock(&cq->users_mutex);
}

void pavo_cqs_join(struct pavo_qp *qp)
{
	if (qp->send_cq)
		add_cq_user(qp->send_cq, &qp->send_cq->senders,
			    &qp->of_send_cq);
	if (qp->recv_cq)
		add_cq_user(qp->recv_cq, &qp->recv_cq->receivers,
			    &qp->of_recv_cq);
}

void pavo_cqs_leave(struct pavo_qp *qp)
{
	if (qp->send_cq)
		remove_cq_user(qp->send_cq, &qp->of_send_cq);
	if (qp->recv_cq)
		remove_cq_user(qp->recv_cq, &qp->of_recv_cq);
}

void pavo_cq_join_srq(struct pavo_srq *srq)
{
	add_cq_user(srq->rq.cq, &srq->rq.cq->srqs, &srq->of_cq);
}

void pavo_cq_leave_srq(struct pavo_srq *srq)
{
	remove_cq_user(srq->rq.cq, &srq->of_cq);
}

/* Move the users of a CQ that has overrun to Error. There may be as many as queue pairs. */
static void fail_cq_users(struct pavo_cq *cq)
{
	struct pavo_srq *srq;
	struct pavo_qp *qp;

	mutex_lock(&cq->users_mutex);
	list_for_each_entry(qp, &cq->senders, of_send_cq) {
		pavo_qp_error(qp, IB_EVENT_QP_FATAL);
		cond_resched();
	}
	list_for_each_entry(qp, &cq->receivers, of_recv_cq) {
		pavo_qp_error(qp, IB_EVENT_QP_FATAL);
		cond_resched();
	}
	list_for_each_entry(srq, &cq->srqs, of_cq) {
		spin_lock_bh(&srq->rq.lock);
		pavo_srq_fail(srq);
		spin_unlock_bh(&srq->rq.lock);
		cond_resched();
	}
	mutex_unlock(&cq->users_mutex);
}

/* Notify the CQ's consumer of an overrun, and fail its queue pairs and shared receive queues. */
static void notify_overrun(struct pavo_cq *cq)
{
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
	fail_cq_users(cq);
}

static void run_cq_work(struct work_struct *work)
{
	struct pavo_cq *cq = container_of(work, struct pavo_cq, work);

	if (test_and_clear_bit(PAVO_CQ_OVERRUN, &cq->event))
		notify_overrun(cq);
	pavo_cq_raise(cq);
}

int pavo_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	unsigned long irq;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq);
	/* a CQ that is armed for any completion stays so when solicited ones are requested */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	if ((flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->prod != cq->cons)
		missed = 1;
	spin_unlock_irqrestore(&cq->lock, irq);
	return missed;
}

static void fill_wc_flags(struct ib_wc *wc, const struct pavo_cqe *cqe)
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
	if (cqe->flags & PAVO_CQE_IMM64) {
		pavo_wc_set_imm64(wc, cqe->imm64);
		return;
	}
	/* VLAN 0 is a mere priority tag */
	if (cqe->vlan) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = cqe->vlan;
	}
}

static u64 find_recv_wr_id(const struct pavo_qp *qp, const struct pavo_cqe *cqe)
{
	const struct pavo_rq *rq = &qp->resp.own;

	if (cqe->flags & PAVO_CQE_SRQ)
		return cqe->wr_id;
	return rq->wr_id[cqe->wqe & (rq->count - 1)];
}

static enum ib_wc_opcode get_recv_opcode(const struct pavo_cqe *cqe)
{
	if (cqe->opcode == PAVO_WQE_IMM64)
		return PAVO_WC_RECV_IMM64;
	return cqe->opcode == PAVO_WQE_WRITE_IMM ? IB_WC_RECV_RDMA_WITH_IMM :
						   IB_WC_RECV;
}

/* Convert an entry to a work completion of a kernel consumer; its QP exists. */
static void fill_wc(struct ib_wc *wc, const struct pavo_cqe *cqe,
		    struct pavo_qp *qp)
{
	memset(wc, 0, sizeof(*wc));
	if (cqe->flags & PAVO_CQE_RECV) {
		wc->wr_id = find_recv_wr_id(qp, cqe);
		wc->opcode = get_recv_opcode(cqe);
	} else {
		wc->wr_id = qp->req.wr_id[cqe->wqe & (qp->req.count - 1)];
		wc->opcode = pavo_op_find(cqe->opcode)->wc;
	}
	wc->status = cqe->status;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->qp = &qp->ib;
	wc->src_qp = cqe->src_qp;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->port_num = PAVO_PORT;
	fill_wc_flags(wc, cqe);
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
			fill_wc(&wc[polled++], cqe, qp);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	rcu_read_unlock();
	return polled;
}

static int check_cq_init(const struct ib_cq_init_attr *attr,
			 const struct ib_udata *udata)
{
	/* every entry has a time stamp, requested or not */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > PAVO_MAX_CQE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct pavo_create_cq_resp))
		return -EINVAL;
	return 0;
}

static int build_cq_ring(struct pavo_cq *cq, struct ib_udata *udata)
{
	struct pavo_create_cq_resp resp = { .cqe_cnt = cq->count };
	struct pavo_ucontext *uctx;
	int err;

	uctx = udata ? rdma_udata_to_drv_context(udata, struct pavo_ucontext,
						 ib) :
		       NULL;
	cq->mmap = pavo_mmap_create(uctx ? &uctx->ib : NULL,
				    pavo_ring_get_size(cq->count), &resp.ring);
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
	struct ib_udata *udata = pavo_cq_get_udata(args);
	struct pavo_cq *cq = to_pavo_cq(ibcq);
	int err;

	err = check_cq_init(attr, udata);
	if (err)
		return err;
	cq->account = pavo_caller_get_account_if(udata);
	err = pavo_object_take(dev, PAVO_OBJ_CQ, cq->account);
	if (err)
		return err;
	spin_lock_init(&cq->lock);
	mutex_init(&cq->resize_mutex);
	mutex_init(&cq->users_mutex);
	INIT_LIST_HEAD(&cq->senders);
	INIT_LIST_HEAD(&cq->receivers);
	INIT_LIST_HEAD(&cq->srqs);
	INIT_WORK(&cq->work, run_cq_work);
	pavo_cq_timer_init(cq);
	cq->count = roundup_pow_of_two(attr->cqe);
	err = build_cq_ring(cq, udata);
	if (err) {
		pavo_object_give(dev, PAVO_OBJ_CQ, cq->account);
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
	pavo_object_give(to_pavo_dev(ibcq->device), PAVO_OBJ_CQ, cq->account);
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
