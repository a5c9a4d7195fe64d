// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * calls.c - system calls of the engine's process: the part of uverbs and rdma core around the
 * methods of the module's verbs/, with the checks that the tests need.
 */
#include <linux/slab.h>

#include "control/control.h"
#include "memory/memory.h"
#include "qp/qp.h"
#include "requester/requester.h"
#include "rings/cq_ring.h"
#include "rings/mmap.h"
#include "rings/rq.h"
#include "rings/ucontext.h"
#include "runtime.h"
#include "verbs/verbs.h"

#define HANDLES 4096

static struct pavo_ucontext *process;
static struct ib_uobject of_process;
static void *objects[HANDLES];
static u32 next_handle = 1;

/* An object, with the process's name for it. */
struct named_cq {
	struct pavo_cq cq;
	u64 user;
	int channel;
};

struct named_srq {
	struct pavo_srq srq;
	u64 user;
};

struct named_qp {
	struct pavo_qp qp;
	u64 user;
};

static u32 give_handle(void *object)
{
	ENGINE_MUST(next_handle < HANDLES);
	objects[next_handle] = object;
	return next_handle++;
}

static void *object_of(u32 handle)
{
	ENGINE_MUST(handle < HANDLES && (!handle || objects[handle]));
	return objects[handle];
}

static void forget(u32 handle)
{
	objects[handle] = NULL;
}

static struct ib_udata answer_in(void *out, size_t size)
{
	return (struct ib_udata){
		.context = &process->ib,
		.out = out,
		.outlen = size,
	};
}

int engine_open(struct pavo_alloc_ucontext_resp *resp)
{
	struct pavo_ucontext *uctx = kzalloc(sizeof(*uctx), GFP_KERNEL);

	ENGINE_MUST(!process);
	if (!uctx)
		return -ENOMEM;
	*resp = (struct pavo_alloc_ucontext_resp){
		.abi_version = PAVO_ABI_VERSION,
	};
	spin_lock_init(&uctx->db_lock);
	uctx->ib.device = &engine_dev->ib;
	uctx->page_mmap = pavo_mmap_create(&uctx->ib, sizeof(*uctx->page),
					   &resp->doorbell);
	if (!uctx->page_mmap) {
		kfree(uctx);
		return -ENOMEM;
	}
	uctx->page = uctx->page_mmap->addr;
	pavo_worker_init(&uctx->worker, &uctx->page->flags, PAVO_DB_NEED_KICK);
	process = uctx;
	return 0;
}

int engine_close(void)
{
	u32 i;

	for (i = 0; i < next_handle; i++)
		ENGINE_MUST(!objects[i]);
	pavo_mmap_destroy(process->page_mmap);
	kfree(process);
	process = NULL;
	next_handle = 1;
	return 0;
}

int engine_alloc_pd(__u32 *handle)
{
	struct pavo_pd *pd = kzalloc(sizeof(*pd), GFP_KERNEL);

	if (!pd)
		return -ENOMEM;
	pd->ib.device = &engine_dev->ib;
	pd->ib.uobject = &of_process;
	pavo_rkm_list_init(&pd->rkm);
	*handle = give_handle(pd);
	return 0;
}

int engine_dealloc_pd(__u32 handle)
{
	struct pavo_pd *pd = object_of(handle);

	pavo_rkm_settle(engine_dev);
	pavo_rkm_part(engine_dev, pd);
	engine_settle();
	kfree(pd);
	forget(handle);
	return 0;
}

int engine_reg_mr(__u32 pd, const struct ib_uverbs_reg_mr *cmd, __u32 *handle,
		  __u32 *key)
{
	struct pavo_pd *of = object_of(pd);
	struct ib_mr *mr = pavo_reg_user_mr(&of->ib, cmd->start, cmd->length,
					    cmd->hca_va, cmd->access_flags,
					    NULL);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	*key = mr->lkey;
	*handle = give_handle(mr);
	return 0;
}

int engine_dereg_mr(__u32 handle)
{
	int err = pavo_dereg_mr(object_of(handle), NULL);

	if (!err)
		forget(handle);
	engine_settle();
	return err;
}

/* ------------------------------------------------------------ completions */

static void tell_completion(struct ib_cq *ib, void *context)
{
	struct named_cq *cq = container_of(to_pavo_cq(ib), struct named_cq, cq);

	if (cq->channel >= 0)
		engine_host->completion(cq->channel, cq->user);
}

static void tell_event(struct ib_event *event, void *context)
{
	engine_host->event(event->event, *(u64 *)context);
}

int engine_create_cq(__u32 cqe, __u64 user, int channel, __u32 *handle,
		     struct pavo_create_cq_resp *resp)
{
	struct uverbs_attr_bundle args = {
		.driver_udata = answer_in(resp, sizeof(*resp)),
	};
	const struct ib_cq_init_attr attr = {.cqe = cqe};
	struct named_cq *cq = kzalloc(sizeof(*cq), GFP_KERNEL);
	int err;

	if (!cq)
		return -ENOMEM;
	cq->user = user;
	cq->channel = channel;
	cq->cq.ib.device = &engine_dev->ib;
	cq->cq.ib.uobject = &of_process;
	cq->cq.ib.comp_handler = tell_completion;
	cq->cq.ib.event_handler = tell_event;
	cq->cq.ib.cq_context = &cq->user;
	err = pavo_create_cq(&cq->cq.ib, &attr, &args);
	if (err)
		kfree(cq);
	else
		*handle = give_handle(cq);
	return err;
}

int engine_destroy_cq(__u32 handle)
{
	struct named_cq *cq = object_of(handle);

	pavo_destroy_cq(&cq->cq.ib, NULL);
	engine_settle();
	kfree(cq);
	forget(handle);
	return 0;
}

int engine_arm_cq(__u32 handle, bool solicited)
{
	struct named_cq *cq = object_of(handle);

	pavo_req_notify_cq(&cq->cq.ib,
			   solicited ? IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
	return 0;
}

/* -------------------------------------------------- shared receive queues */

int engine_open_xrcd(__u32 *handle)
{
	struct pavo_xrcd *xrcd = kzalloc(sizeof(*xrcd), GFP_KERNEL);
	int err;

	if (!xrcd)
		return -ENOMEM;
	xrcd->ib.device = &engine_dev->ib;
	err = pavo_alloc_xrcd(&xrcd->ib, NULL);
	if (err)
		kfree(xrcd);
	else
		*handle = give_handle(xrcd);
	return err;
}

int engine_close_xrcd(__u32 handle)
{
	struct pavo_xrcd *xrcd = object_of(handle);

	pavo_dealloc_xrcd(&xrcd->ib, NULL);
	kfree(xrcd);
	forget(handle);
	return 0;
}

int engine_create_srq(const struct engine_srq_init *init, __u32 *handle,
		      struct pavo_create_srq_resp *resp)
{
	struct ib_udata udata = answer_in(resp, sizeof(*resp));
	struct ib_srq_init_attr attr = {
		.attr = {.max_wr = init->max_wr, .max_sge = init->max_sge},
		.srq_type = init->xrcd ? IB_SRQT_XRC : IB_SRQT_BASIC,
	};
	struct pavo_pd *pd = object_of(init->pd);
	struct pavo_xrcd *xrcd = object_of(init->xrcd);
	struct named_cq *cq = object_of(init->cq);
	struct named_srq *srq = kzalloc(sizeof(*srq), GFP_KERNEL);
	int err;

	if (!srq)
		return -ENOMEM;
	srq->user = init->user;
	srq->srq.ib.device = &engine_dev->ib;
	srq->srq.ib.uobject = &of_process;
	srq->srq.ib.pd = &pd->ib;
	srq->srq.ib.srq_type = attr.srq_type;
	srq->srq.ib.event_handler = tell_event;
	srq->srq.ib.srq_context = &srq->user;
	if (init->xrcd) {
		srq->srq.ib.ext.xrc.xrcd = &xrcd->ib;
		srq->srq.ib.ext.cq = &cq->cq.ib;
	}
	err = pavo_create_srq(&srq->srq.ib, &attr, &udata);
	if (err)
		kfree(srq);
	else
		*handle = give_handle(srq);
	return err;
}

int engine_destroy_srq(__u32 handle)
{
	struct named_srq *srq = object_of(handle);

	pavo_destroy_srq(&srq->srq.ib, NULL);
	engine_settle();
	kfree(srq);
	forget(handle);
	return 0;
}

/* ------------------------------------------------------------ queue pairs */

static void set_up_qp(struct ib_qp *qp, const struct ib_qp_init_attr *attr,
		      struct pavo_pd *pd)
{
	qp->device = &engine_dev->ib;
	qp->pd = pd ? &pd->ib : NULL;
	qp->uobject = &of_process;
	qp->qp_type = attr->qp_type;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->srq = attr->srq;
	qp->xrcd = attr->xrcd;
	qp->event_handler = attr->event_handler;
	qp->qp_context = attr->qp_context;
}

static struct ib_cq *cq_of(u32 handle)
{
	struct named_cq *cq = object_of(handle);

	return cq ? &cq->cq.ib : NULL;
}

int engine_create_qp(struct engine_qp_init *init, __u32 *handle, __u32 *qpn,
		     struct pavo_create_qp_resp *resp)
{
	struct ib_udata udata = answer_in(resp, sizeof(*resp));
	struct named_qp *qp = kzalloc(sizeof(*qp), GFP_KERNEL);
	struct pavo_xrcd *xrcd = object_of(init->xrcd);
	struct named_srq *srq = object_of(init->srq);
	struct ib_qp_init_attr attr = {
		.event_handler = tell_event,
		.send_cq = cq_of(init->send_cq),
		.recv_cq = cq_of(init->recv_cq),
		.srq = srq ? &srq->srq.ib : NULL,
		.xrcd = xrcd ? &xrcd->ib : NULL,
		.cap = {.max_send_wr = init->max_send_wr,
			.max_recv_wr = init->max_recv_wr,
			.max_send_sge = init->max_send_sge,
			.max_recv_sge = init->max_recv_sge,
			.max_inline_data = init->max_inline_data},
		.sq_sig_type = init->signal_all ? IB_SIGNAL_ALL_WR :
						  IB_SIGNAL_REQ_WR,
		.qp_type = init->type,
	};
	int err;

	if (!qp)
		return -ENOMEM;
	qp->user = init->user;
	attr.qp_context = &qp->user;
	set_up_qp(&qp->qp.ib, &attr, object_of(init->pd));
	err = pavo_create_qp(&qp->qp.ib, &attr,
			     attr.qp_type == IB_QPT_XRC_TGT ? NULL : &udata);
	if (err) {
		kfree(qp);
		return err;
	}
	init->max_send_wr = attr.cap.max_send_wr;
	init->max_recv_wr = attr.cap.max_recv_wr;
	init->max_send_sge = attr.cap.max_send_sge;
	init->max_recv_sge = attr.cap.max_recv_sge;
	init->max_inline_data = attr.cap.max_inline_data;
	*qpn = qp->qp.ib.qp_num;
	*handle = give_handle(qp);
	return 0;
}

static void set_path(struct rdma_ah_attr *ah, const struct ib_uverbs_qp_dest *d)
{
	*ah = (struct rdma_ah_attr){
		.grh = {.flow_label = d->flow_label,
			.sgid_index = d->sgid_index,
			.hop_limit = d->hop_limit,
			.traffic_class = d->traffic_class},
		.ah_flags = d->is_global ? IB_AH_GRH : 0,
		.port_num = d->port_num,
		.type = RDMA_AH_ATTR_TYPE_ROCE,
	};
	memcpy(ah->grh.dgid.raw, d->dgid, sizeof(d->dgid));
}

int engine_modify_qp(const struct ib_uverbs_modify_qp *cmd)
{
	struct named_qp *qp = object_of(cmd->qp_handle);
	struct ib_qp_attr attr = {
		.qp_state = cmd->qp_state,
		.cur_qp_state = cmd->cur_qp_state,
		.path_mtu = cmd->path_mtu,
		.path_mig_state = cmd->path_mig_state,
		.qkey = cmd->qkey,
		.rq_psn = cmd->rq_psn,
		.sq_psn = cmd->sq_psn,
		.dest_qp_num = cmd->dest_qp_num,
		.qp_access_flags = cmd->qp_access_flags,
		.pkey_index = cmd->pkey_index,
		.en_sqd_async_notify = cmd->en_sqd_async_notify,
		.max_rd_atomic = cmd->max_rd_atomic,
		.max_dest_rd_atomic = cmd->max_dest_rd_atomic,
		.min_rnr_timer = cmd->min_rnr_timer,
		.port_num = cmd->port_num,
		.timeout = cmd->timeout,
		.retry_cnt = cmd->retry_cnt,
		.rnr_retry = cmd->rnr_retry,
	};
	int err;

	if (cmd->attr_mask & IB_QP_AV)
		set_path(&attr.ah_attr, &cmd->dest);
	err = pavo_modify_qp(&qp->qp.ib, &attr, cmd->attr_mask, NULL);
	engine_settle();
	return err;
}

int engine_query_qp(__u32 handle, struct ib_uverbs_query_qp_resp *resp)
{
	struct named_qp *qp = object_of(handle);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	pavo_query_qp(&qp->qp.ib, &attr, IB_QP_STATE, &init);
	*resp = (struct ib_uverbs_query_qp_resp){
		.qp_state = attr.qp_state,
		.cur_qp_state = attr.cur_qp_state,
		.sq_draining = attr.sq_draining,
	};
	return 0;
}

int engine_destroy_qp(__u32 handle)
{
	struct named_qp *qp = object_of(handle);

	pavo_destroy_qp(&qp->qp.ib, NULL);
	engine_settle();
	kfree(qp);
	forget(handle);
	return 0;
}

int engine_kick_doorbells(void)
{
	pavo_requester_drain(engine_dev, process);
	engine_settle();
	return 0;
}

int engine_kick_send(__u32 handle)
{
	struct named_qp *qp = object_of(handle);
	const struct ib_send_wr *bad;
	int err = pavo_post_send(&qp->qp.ib, NULL, &bad);

	engine_settle();
	return err;
}

int engine_kick_recv(__u32 handle)
{
	struct named_qp *qp = object_of(handle);
	const struct ib_recv_wr *bad;
	int err = pavo_post_recv(&qp->qp.ib, NULL, &bad);

	engine_settle();
	return err;
}
