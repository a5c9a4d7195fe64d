// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * srq.c - shared receive queues: their life, their limit and their events; XRC domains.
 *
 * Called by rdma core; the ring is rings/rq.c's, as that of a QP is. User
 * space posts to its ring in its own memory, kernel consumers post here.
 */
#include <rdma/uverbs_ioctl.h>
#include "adapter.h"
#include "memory/pd.h"
#include "id_alloc.h"
#include "accounting.h"
#include "rings/cq_ring.h"
#include "rings/rq.h"
#include "rings/ucontext.h"
#include "verbs/verbs.h"
#include "wire/wire.h"

static void run_srq_work(struct work_struct *work)
{
	struct pavo_srq *srq = container_of(work, struct pavo_srq, work);
	unsigned long events = xchg(&srq->events, 0);
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
	};
	unsigned int type;

	if (!srq->ib.event_handler)
		return;
	for_each_set_bit(type, &events, BITS_PER_LONG) {
		event.event = type;
		srq->ib.event_handler(&event, srq->ib.srq_context);
	}
}

static int check_srq_init(const struct ib_srq_init_attr *init,
			  const struct ib_udata *udata)
{
	if (init->srq_type != IB_SRQT_BASIC && init->srq_type != IB_SRQT_XRC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > PAVO_MAX_SRQ_WR ||
	    init->attr.max_sge > PAVO_MAX_SGE)
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct pavo_create_srq_resp))
		return -EINVAL;
	return 0;
}

/* Set the CQ of an SRQ of XRC, and the SRQN by which requests name it. */
static int assign_srqn(struct pavo_srq *srq)
{
	struct pavo_dev *dev = to_pavo_dev(srq->ib.device);
	u32 number;
	int err;

	if (srq->ib.srq_type != IB_SRQT_XRC)
		return 0;
	srq->rq.cq = to_pavo_cq(srq->ib.ext.cq);
	err = pavo_id_reserve(&dev->srqs, 1, PAVO_QPN_MASK, &number);
	if (err)
		return err;
	srq->ib.ext.xrc.srq_num = number;
	err = xa_err(xa_store_bh(&dev->srqs, number, srq, GFP_KERNEL));
	if (!err)
		pavo_cq_join_srq(srq);
	return err;
}

/* Remove the SRQ from the table, and wait until no packet uses it; may sleep. */
static void remove_srq(struct pavo_srq *srq)
{
	if (srq->ib.srq_type != IB_SRQT_XRC)
		return;
	pavo_cq_leave_srq(srq);
	xa_erase_bh(&to_pavo_dev(srq->ib.device)->srqs,
		    srq->ib.ext.xrc.srq_num);
	synchronize_rcu_expedited();
}

/* Make the ring, and copy its parameters to user space. */
static int build_srq(struct pavo_srq *srq, struct ib_srq_init_attr *init,
		     struct ib_udata *udata)
{
	struct pavo_create_srq_resp resp = {};
	struct pavo_ucontext *uctx = NULL;
	struct pavo_rq *rq = &srq->rq;
	int err;

	if (udata)
		uctx = rdma_udata_to_drv_context(udata, struct pavo_ucontext,
						 ib);
	err = pavo_rq_init(rq, uctx, init->attr.max_wr, init->attr.max_sge,
			   &resp.rq);
	if (err)
		return err;
	rq->pd = to_pavo_pd(srq->ib.pd);
	rq->srq = srq;
	init->attr.max_wr = rq->count;
	err = assign_srqn(srq);
	if (err)
		goto err_rq;
	if (!udata)
		return 0;

	resp.wqe_size = rq->wqe_size;
	resp.wqe_cnt = rq->count;
	resp.srqn = srq->ib.ext.xrc.srq_num;
	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!err)
		return 0;
	remove_srq(srq);
err_rq:
	pavo_rq_destroy(rq);
	return err;
}

int pavo_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
		    struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibsrq->device);
	struct pavo_srq *srq = to_pavo_srq(ibsrq);
	int err;

	err = check_srq_init(init, udata);
	if (err)
		return err;
	srq->account = pavo_caller_get_account_if(udata);
	err = pavo_object_take(dev, PAVO_OBJ_SRQ, srq->account);
	if (err)
		return err;
	INIT_WORK(&srq->work, run_srq_work);
	err = build_srq(srq, init, udata);
	if (err)
		pavo_object_give(dev, PAVO_OBJ_SRQ, srq->account);
	return err;
}

/*
 * Set the limit. The size cannot change: a process would have to map a new ring, and the
 * command has no field for its offset.
 */
int pavo_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
		    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct pavo_srq *srq = to_pavo_srq(ibsrq);
	struct pavo_rq *rq = &srq->rq;

	if (mask & ~(IB_SRQ_LIMIT | IB_SRQ_MAX_WR))
		return -EINVAL;
	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	if (attr->srq_limit > rq->count)
		return -EINVAL;

	/* raise the event at once if the queue is below the limit already */
	spin_lock_bh(&rq->lock);
	srq->limit = attr->srq_limit;
	if (srq->limit && READ_ONCE(rq->ring->prod) - rq->head < srq->limit) {
		srq->limit = 0;
		pavo_srq_raise(srq, IB_EVENT_SRQ_LIMIT_REACHED);
	}
	spin_unlock_bh(&rq->lock);
	return 0;
}

int pavo_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct pavo_srq *srq = to_pavo_srq(ibsrq);

	attr->max_wr = srq->rq.count;
	attr->max_sge = srq->rq.max_sge;
	attr->srq_limit = READ_ONCE(srq->limit);
	return 0;
}

int pavo_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct pavo_srq *srq = to_pavo_srq(ibsrq);

	remove_srq(srq);
	/* its QPs are gone, so no side queues the work any more */
	cancel_work_sync(&srq->work);
	pavo_rq_destroy(&srq->rq);
	pavo_object_give(to_pavo_dev(ibsrq->device), PAVO_OBJ_SRQ,
			 srq->account);
	return 0;
}

int pavo_alloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibxrcd->device);
	struct pavo_xrcd *xrcd = to_pavo_xrcd(ibxrcd);
	int err;

	if (pavo_charge(&xrcd->charge, sizeof(*xrcd), udata))
		return -ENOMEM;
	xrcd->account = pavo_caller_get_account_if(udata);
	err = pavo_object_take(dev, PAVO_OBJ_XRCD, xrcd->account);
	if (err)
		pavo_charge_end(xrcd->charge);
	return err;
}

int pavo_dealloc_xrcd(struct ib_xrcd *ibxrcd, struct ib_udata *udata)
{
	struct pavo_xrcd *xrcd = to_pavo_xrcd(ibxrcd);

	pavo_object_give(to_pavo_dev(ibxrcd->device), PAVO_OBJ_XRCD,
			 xrcd->account);
	pavo_charge_end(xrcd->charge);
	return 0;
}

int pavo_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		       const struct ib_recv_wr **bad_wr)
{
	/* user space posts without a call */
	if (ibsrq->uobject) {
		*bad_wr = wr;
		return -EOPNOTSUPP;
	}
	return pavo_rq_post(&to_pavo_srq(ibsrq)->rq, wr, bad_wr);
}
