// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * qp.cpp - queue pairs: life, attributes, mapped queues.
 *
 * Owns: the context's QP table as its only writer. The kernel may reuse a QPN as soon as the QP
 * is destroyed. So the provider holds qp_mutex from before the call until the table and the
 * completion queues are updated.
 */
#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>

#include "ops.h"
#include "provider.h"
#include "qp_ex.h"

namespace pavo {

Qp::Qp(bool shared)
	: verbs(), sq(shared), rq(shared), rq_header(), always_flags()
{
}

Qp::~Qp() = default;

bool map_queue(Mapping *map, WorkQueue *queue, int fd,
	       const pavo_mmap_info &info, uint32_t header, uint32_t count,
	       const WqeLimits &limits)
{
	if (!info.size)
		return true;
	if (!std::has_single_bit(count) || !limits.slot_size ||
	    limits.slot_size % PAVO_WQE_UNIT) {
		errno = EPROTO;
		return false;
	}
	const uint64_t end = header + uint64_t{count} * limits.slot_size;

	if (!map->map(fd, info, end))
		return false;

	auto *at = static_cast<std::byte *>(map->data());
	const bool has_space = map->size() >=
			       end + PAVO_QUEUE_OWN_SIZE(uint64_t{count});

	return queue->init(at + header, has_space ? at + end : nullptr, count,
			   limits);
}

namespace {

/* The locks of a QP's completion queues: none, one, or two that may be one. */
class BothCqs {
public:
	explicit BothCqs(const Qp *qp)
		: first_(to_cq(qp->verbs.qp.send_cq)),
		  second_(to_cq(qp->verbs.qp.recv_cq))
	{
		if (first_ == second_)
			second_ = nullptr;
		else if (second_ < first_)
			std::swap(first_, second_);
		if (first_)
			first_->lock.lock();
		if (second_)
			second_->lock.lock();
	}

	~BothCqs()
	{
		if (second_)
			second_->lock.unlock();
		if (first_)
			first_->lock.unlock();
	}

	void forget(uint32_t qpn)
	{
		if (first_)
			forget_qp(first_, qpn);
		if (second_)
			forget_qp(second_, qpn);
	}

private:
	Cq *first_;
	Cq *second_;
};

bool map_queues(Qp *qp, int fd, const ibv_qp_init_attr_ex &attr,
		const pavo_create_qp_resp &resp)
{
	WqeLimits send = {
		.service = attr.qp_type,
		.slot_size = resp.sq_wqe_size,
		.max_sge = attr.cap.max_send_sge,
		.max_inline = attr.cap.max_inline_data,
	};
	WqeLimits recv = {
		.service = attr.qp_type,
		.slot_size = resp.rq_wqe_size,
		.max_sge = attr.cap.max_recv_sge,
		.max_inline = 0,
	};

	if (!map_queue(&qp->sq_map, &qp->sq, fd, resp.sq, 0, resp.sq_wqe_cnt,
		       send) ||
	    !map_queue(&qp->rq_map, &qp->rq, fd, resp.rq, PAVO_RQ_HEADER_SIZE,
		       resp.rq_wqe_cnt, recv))
		return false;
	qp->rq_header = static_cast<pavo_rq_header *>(qp->rq_map.data());
	if (attr.sq_sig_all)
		qp->always_flags = PAVO_WQE_SIGNALED;
	return true;
}

bool has_send_ops(const ibv_qp_init_attr_ex &attr)
{
	return attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
}

/* Makes the builder of requests of ibv_wr_*(); @attr has the limits of the QP by now. */
bool make_builder(Qp *qp, const ibv_qp_init_attr_ex &attr)
{
	if (!has_send_ops(attr))
		return true;
	qp->builder = make_object<SendBuilder>();
	if (!qp->builder) {
		errno = ENOMEM;
		return false;
	}
	if (!qp->builder->init(&to_pd(attr.pd)->allocator, attr.cap))
		return false;
	set_send_ops(qp);
	return true;
}

/* Refuses unknown attributes, before anything is made. */
int check_attr(const ibv_qp_init_attr_ex &attr)
{
	constexpr uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
				   IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
				   IBV_QP_INIT_ATTR_CREATE_FLAGS;
	bool has_pd = attr.comp_mask & IBV_QP_INIT_ATTR_PD && attr.pd;
	bool has_xrcd = attr.comp_mask & IBV_QP_INIT_ATTR_XRCD && attr.xrcd;

	if (attr.comp_mask & ~known)
		return EOPNOTSUPP;
	if (attr.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr.create_flags)
		return EOPNOTSUPP;
	if (has_send_ops(attr) &&
	    !send_ops_supported(attr.qp_type, attr.send_ops_flags))
		return EOPNOTSUPP;
	switch (attr.qp_type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
		return has_pd && attr.send_cq && attr.recv_cq ? 0 : EINVAL;
	case IBV_QPT_XRC_SEND:
		return has_pd && attr.send_cq ? 0 : EINVAL;
	case IBV_QPT_XRC_RECV:
		return has_xrcd ? 0 : EINVAL;
	default:
		return EOPNOTSUPP;
	}
}

bool is_xrc(ibv_qp_type type)
{
	return type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
}

/*
 * An XRC target completes to the CQs of SRQs, and may be open several times: no completion is
 * looked up by its QPN.
 */
bool completes(const Qp *qp)
{
	return qp->verbs.qp.qp_type != IBV_QPT_XRC_RECV;
}

/*
 * The attributes for the kernel: for an XRC QP only those that its type has,
 * and no field that comp_mask does not announce.
 */
ibv_qp_init_attr_ex used_attr(const ibv_qp_init_attr_ex &attr)
{
	ibv_qp_init_attr_ex used = {};

	used.qp_context = attr.qp_context;
	used.cap = attr.cap;
	used.qp_type = attr.qp_type;
	used.sq_sig_all = attr.sq_sig_all;
	if (attr.qp_type == IBV_QPT_XRC_RECV) {
		used.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		used.xrcd = attr.xrcd;
		return used;
	}
	used.comp_mask = IBV_QP_INIT_ATTR_PD;
	used.pd = attr.pd;
	if (has_send_ops(attr)) {
		used.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		used.send_ops_flags = attr.send_ops_flags;
	}
	used.send_cq = attr.send_cq;
	if (!is_xrc(attr.qp_type)) {
		used.recv_cq = attr.recv_cq;
		used.srq = attr.srq;
	}
	return used;
}

/* Kernel, mappings, table; under qp_mutex. 0 or errno. */
int set_up(Context *context, Qp *qp, ibv_qp_init_attr_ex *attr)
{
	verbs_response<ib_uverbs_create_qp_resp, pavo_create_qp_resp> resp = {};
	ibv_context *ibcontext = &context->verbs.context;
	uint32_t comp_mask = attr->comp_mask;
	verbs_cmd_create_qp cmd = {};
	int err;

	/* libibverbs refuses the bit; there are no flags, see check_attr() */
	attr->comp_mask &=
		~static_cast<uint32_t>(IBV_QP_INIT_ATTR_CREATE_FLAGS);
#if PAVO_VERBS_ATOMIC_WRITE
	/* ibv_wr_atomic_write() hands its eight bytes over by value */
	if (has_send_ops(*attr) &&
	    attr->send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE)
		attr->cap.max_inline_data = std::max<uint32_t>(
			attr->cap.max_inline_data, sizeof(uint64_t));
#endif
	err = ibv_cmd_create_qp_ex(ibcontext, &qp->verbs, attr, &cmd,
				   sizeof(cmd), resp.core(), resp.size());
	attr->comp_mask = comp_mask;
	if (err)
		return err;
	if (!map_queues(qp, ibcontext->cmd_fd, *attr, resp.driver) ||
	    !make_builder(qp, *attr)) {
		err = errno;
	} else if (completes(qp) &&
		   !context->state->qps.insert(qp->verbs.qp.qp_num, qp)) {
		err = ENOMEM;
	}
	if (err)
		ibv_cmd_destroy_qp(&qp->verbs.qp);
	return err;
}

} // namespace

ibv_qp *create_qp_ex(ibv_context *ibcontext, ibv_qp_init_attr_ex *attr)
{
	Context *context = to_context(ibcontext);
	ibv_qp_init_attr_ex ours;
	std::unique_ptr<Qp> qp;
	bool shared;
	int err;

	err = check_attr(*attr);
	if (err) {
		errno = err;
		return nullptr;
	}
	ours = used_attr(*attr);
	shared = context->state->shared && !(ours.pd && to_pd(ours.pd)->domain);
	qp = make_object<Qp>(shared);
	if (!qp)
		return nullptr;

	if (ours.pd) {
		qp->sq.set_allocator(&to_pd(ours.pd)->allocator);
		qp->rq.set_allocator(&to_pd(ours.pd)->allocator);
	}

	std::lock_guard guard(context->state->qp_mutex);

	err = set_up(context, qp.get(), &ours);
	if (err) {
		errno = err;
		return nullptr;
	}
	attr->cap = ours.cap;
	return &qp.release()->verbs.qp;
}

ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *attr)
{
	ibv_qp_init_attr_ex attr_ex = {};
	ibv_qp *qp;

	attr_ex.qp_context = attr->qp_context;
	attr_ex.send_cq = attr->send_cq;
	attr_ex.recv_cq = attr->recv_cq;
	attr_ex.srq = attr->srq;
	attr_ex.cap = attr->cap;
	attr_ex.qp_type = attr->qp_type;
	attr_ex.sq_sig_all = attr->sq_sig_all;
	attr_ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr_ex.pd = pd;
	qp = create_qp_ex(pd->context, &attr_ex);
	if (qp)
		attr->cap = attr_ex.cap;
	return qp;
}

int query_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask,
	     ibv_qp_init_attr *init_attr)
{
	verbs_cmd_query_qp cmd = {};

	return ibv_cmd_query_qp(qp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

/* The kernel has started from zero; so do we, and old entries are void. */
static void restart(Qp *qp)
{
	BothCqs cqs(qp);

	cqs.forget(qp->verbs.qp.qp_num);
	qp->sq.reset();
	qp->rq.reset();
	qp->peer = PAVODV_PEER_UNKNOWN;
	if (qp->rq_header)
		std::atomic_ref(qp->rq_header->prod)
			.store(0, std::memory_order_release);
}

int modify_qp(ibv_qp *ibqp, ibv_qp_attr *attr, int attr_mask)
{
	verbs_cmd_modify_qp cmd = {};
	int err;

	err = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (!err && attr_mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		restart(to_qp(ibqp));
	return err;
}

int destroy_qp(ibv_qp *ibqp)
{
	Context *context = to_context(ibqp->context);
	std::unique_ptr<Qp> qp;
	int err;

	std::lock_guard guard(context->state->qp_mutex);

	err = ibv_cmd_destroy_qp(ibqp);
	if (err)
		return err;
	qp = adopt_object(to_qp(ibqp));

	BothCqs cqs(qp.get());

	if (completes(qp.get()))
		context->state->qps.remove(ibqp->qp_num);
	cqs.forget(ibqp->qp_num);
	return 0;
}

} // namespace pavo
