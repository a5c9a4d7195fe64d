// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * qp_verbs.c - creation and destruction of queue pairs, and posting.
 *
 * Called by rdma core. Makes the two sides of a queue pair and its entry in the QP table;
 * control/ has its states and attributes.
 */
#include <rdma/uverbs_ioctl.h>
#include "control/control.h"
#include "memory/memory.h"
#include "accounting.h"
#include "qp/mcast.h"
#include "qp/qp.h"
#include "requester/requester.h"
#include "responder/responder.h"
#include "rings/ucontext.h"
#include "verbs/verbs.h"

/*
 * The standard ignores the size of a receive queue that the QP does not have, since it takes
 * from an SRQ (IBA 11.2.4.1) or only initiates (annex A14). Consumers leave anything there.
 */
static int check_cap(const struct ib_qp_init_attr *init)
{
	bool has_rq = !init->srq && init->qp_type != IB_QPT_XRC_INI;
	const struct ib_qp_cap *cap = &init->cap;

	if (cap->max_send_wr > PAVO_MAX_QP_WR ||
	    cap->max_send_sge > PAVO_MAX_SGE ||
	    cap->max_inline_data > PAVO_MAX_INLINE)
		return -EINVAL;
	if (has_rq && (cap->max_recv_wr > PAVO_MAX_QP_WR ||
		       cap->max_recv_sge > PAVO_MAX_SGE))
		return -EINVAL;
	return 0;
}

/*
 * Does a process create the queue pair? A target of XRC may outlive its process, so rdma core
 * creates it as one of the kernel's, without udata. Kernel consumers create none.
 */
static bool is_created_by_process(const struct ib_qp_init_attr *init,
				  const struct ib_udata *udata)
{
	return udata || init->qp_type == IB_QPT_XRC_TGT;
}

static int check_qp_init(const struct ib_qp_init_attr *init,
			 const struct ib_udata *udata)
{
	switch (init->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
		break;
	case IB_QPT_XRC_TGT: /* processes share it: see is_created_by_process() */
		return init->create_flags || !init->xrcd ? -EINVAL : 0;
	case IB_QPT_GSI:
		if (udata)
			return -EPERM;
		break;
	case IB_QPT_XRC_INI: /* work requests of kernel consumers cannot name an SRQ */
		if (!udata)
			return -EOPNOTSUPP;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (init->create_flags || init->rwq_ind_tbl)
		return -EOPNOTSUPP;
	if (!init->send_cq ||
	    (!init->recv_cq && init->qp_type != IB_QPT_XRC_INI))
		return -EINVAL;
	if (check_cap(init))
		return -EINVAL;
	if (udata && udata->outlen < sizeof(struct pavo_create_qp_resp))
		return -EINVAL;
	return 0;
}

static void set_up_qp(struct pavo_qp *qp, const struct ib_qp_init_attr *init,
		      struct ib_udata *udata)
{
	qp->dev = to_pavo_dev(qp->ib.device);
	qp->stats = qp->dev->stats;
	qp->stats.of_qp = true;
	qp->key_state.dev = qp->dev;
	qp->key_state.stats = &qp->stats;
	qp->key_state.pd = qp->ib.pd ? to_pavo_pd(qp->ib.pd) : NULL;
	qp->key_state.peer_pd = qp->key_state.pd;
	qp->send_cq = init->send_cq ? to_pavo_cq(init->send_cq) : NULL;
	qp->recv_cq = init->recv_cq ? to_pavo_cq(init->recv_cq) : NULL;
	/* A target has none: rdma core accepts the one that a process names without a reference. */
	if (init->srq && !pavo_is_xrc_target(qp))
		qp->srq = to_pavo_srq(init->srq);
	qp->uctx = udata ? rdma_udata_to_drv_context(udata,
						     struct pavo_ucontext, ib) :
			   NULL;
	if (!pavo_is_xrc_target(qp))
		qp->cap = init->cap;
	qp->sq_sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	INIT_LIST_HEAD(&qp->key_state.windows);
	pavo_qp_context_init(qp);
}

/* Make both sides, then reserve the QPN, by which packets can find the QP. */
static int build_qp(struct pavo_qp *qp, struct pavo_create_qp_resp *resp)
{
	int err;

	err = pavo_requester_init(qp, &resp->sq);
	if (err)
		return err;
	err = pavo_responder_init(qp, &resp->rq);
	if (err)
		goto err_requester;
	err = pavo_qp_reserve_qpn(qp);
	if (err)
		goto err_responder;

	resp->sq_wqe_size = qp->req.wqe_size;
	resp->sq_wqe_cnt = qp->req.count;
	resp->rq_wqe_size = qp->resp.own.wqe_size;
	resp->rq_wqe_cnt = qp->resp.own.count;
	return 0;

err_responder:
	pavo_responder_destroy(qp);
err_requester:
	pavo_requester_destroy(qp);
	return err;
}

static void tear_down_qp(struct pavo_qp *qp)
{
	pavo_cqs_leave(qp);
	pavo_qp_remove(qp);
	pavo_mw_forget_qp(&qp->key_state);
	pavo_requester_destroy(qp);
	pavo_responder_destroy(qp);
	pavo_cq_forget(qp->send_cq, qp->ib.qp_num);
	pavo_cq_forget(qp->recv_cq, qp->ib.qp_num);
}

int pavo_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
		   struct ib_udata *udata)
{
	struct pavo_dev *dev = to_pavo_dev(ibqp->device);
	struct pavo_qp *qp = to_pavo_qp(ibqp);
	struct pavo_create_qp_resp resp = {};
	int err;

	err = check_qp_init(init, udata);
	if (err)
		return err;
	if (is_created_by_process(init, udata)) {
		qp->user = pavo_user_get();
		if (!qp->user)
			return -ENOMEM;
	}
	err = pavo_object_take(dev, PAVO_OBJ_QP, pavo_user_get_uid(qp->user));
	if (err)
		goto err_user;

	set_up_qp(qp, init, udata);
	err = build_qp(qp, &resp);
	if (err)
		goto err_give;
	pavo_cqs_join(qp);
	init->cap = qp->cap;
	if (!udata)
		return 0;

	err = ib_copy_to_udata(udata, &resp, sizeof(resp));
	if (!err)
		return 0;
	tear_down_qp(qp);
err_give:
	pavo_object_give(dev, PAVO_OBJ_QP, pavo_user_get_uid(qp->user));
err_user:
	pavo_user_put(qp->user);
	return err;
}

int pavo_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct pavo_qp *qp = to_pavo_qp(ibqp);

	tear_down_qp(qp);
	pavo_object_give(qp->dev, PAVO_OBJ_QP, pavo_user_get_uid(qp->user));
	pavo_user_put(qp->user);
	return 0;
}

int pavo_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		   struct ib_udata *udata)
{
	return pavo_qp_modify(to_pavo_qp(ibqp), attr, mask);
}

int pavo_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	pavo_qp_query(to_pavo_qp(ibqp), attr, mask, init);
	return 0;
}

/* rdma core has checked that @gid is a multicast GID and @ibqp is for datagrams. */
int pavo_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct in6_addr group;

	memcpy(&group, gid->raw, sizeof(group));
	return pavo_mcast_attach(to_pavo_qp(ibqp), &group);
}

int pavo_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct in6_addr group;

	memcpy(&group, gid->raw, sizeof(group));
	return pavo_mcast_detach(to_pavo_qp(ibqp), &group);
}

/*
 * Post send work requests of a kernel consumer. From user space this is the kick: a call
 * without work requests, on any QP of the ucontext, that takes all doorbells of its page.
 */
int pavo_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		   const struct ib_send_wr **bad_wr)
{
	struct pavo_qp *qp = to_pavo_qp(ibqp);

	if (!ibqp->uobject && !pavo_is_xrc_target(qp))
		return pavo_requester_post(qp, wr, bad_wr);
	if (wr || pavo_is_xrc_target(qp)) {
		*bad_wr = wr;
		return -EINVAL;
	}
	pavo_worker_wake(&qp->uctx->worker);
	pavo_requester_drain(qp->dev, qp->uctx);
	return 0;
}

/*
 * Post receive work requests of a kernel consumer. From user space this flushes the posted
 * receives of a QP that is in Error.
 */
int pavo_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		   const struct ib_recv_wr **bad_wr)
{
	struct pavo_qp *qp = to_pavo_qp(ibqp);

	if (!ibqp->uobject && !pavo_is_xrc_target(qp))
		return pavo_responder_post(qp, wr, bad_wr);
	if (wr || pavo_is_xrc_target(qp)) {
		*bad_wr = wr;
		return -EINVAL;
	}
	pavo_responder_kick(qp);
	return 0;
}
