// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * dv.cpp - see pavo_dv.h. Called by tests and tools only.
 */
#include "pavo_dv.h"

#include <cerrno>

#include "provider.h"

using namespace pavo;

#define PAVO_PUBLIC [[gnu::visibility("default")]]

PAVO_PUBLIC bool pavodv_is_supported(ibv_context *context)
{
	return is_pavo(context);
}

PAVO_PUBLIC int pavodv_query_context(ibv_context *context, pavodv_context *out)
{
	if (!is_pavo(context))
		return EOPNOTSUPP;
	*out = {
		.doorbell = static_cast<pavo_doorbell_page *>(
			to_context(context)->state->page.data()),
		.doorbell_size = to_context(context)->state->page.size(),
		.abi_version = PAVO_ABI_VERSION,
	};
	return 0;
}

PAVO_PUBLIC int pavodv_query_cq(ibv_cq *ibcq, pavodv_cq *out)
{
	Cq *cq = to_cq(ibcq);

	if (!is_pavo(ibcq->context))
		return EOPNOTSUPP;
	*out = {
		.header = cq->header,
		.size = cq->ring.size(),
		.entries = cq->entries,
		.count = cq->count,
	};
	return 0;
}

PAVO_PUBLIC int pavodv_query_qp(ibv_qp *ibqp, pavodv_qp *out)
{
	Qp *qp = to_qp(ibqp);

	if (!is_pavo(ibqp->context))
		return EOPNOTSUPP;
	*out = {
		.sq = qp->sq_map.data(),
		.sq_size = qp->sq_map.size(),
		.sq_wqe_size = qp->sq.limits.slot_size,
		.sq_wqe_cnt = qp->sq.count(),
		.sq_head = qp->sq.head(),
		.rq = qp->rq_header,
		.rq_size = qp->rq_map.size(),
		.rq_slots = qp->rq_header ? qp->rq.slot(0) : nullptr,
		.rq_wqe_size = qp->rq.limits.slot_size,
		.rq_wqe_cnt = qp->rq.count(),
		.rq_head = qp->rq.head(),
		.qpn = ibqp->qp_num,
		.handle = ibqp->handle,
	};
	return 0;
}

PAVO_PUBLIC int pavodv_query_srq(ibv_srq *ibsrq, pavodv_srq *out)
{
	Srq *srq = to_srq(ibsrq);

	if (!is_pavo(ibsrq->context))
		return EOPNOTSUPP;
	*out = {
		.rq = srq->header,
		.size = srq->map.size(),
		.slots = srq->rq.slot(0),
		.wqe_size = srq->rq.limits.slot_size,
		.wqe_cnt = srq->rq.count(),
		.head = srq->rq.head(),
	};
	return 0;
}

PAVO_PUBLIC int pavodv_ring(ibv_context *context, uint64_t doorbell)
{
	if (!is_pavo(context))
		return EOPNOTSUPP;

	DoorbellRing &ring = *to_context(context)->state->doorbells;

	if (ring.ring(doorbell))
		return 0;
	return ring.is_ours() ? EAGAIN : ring_by_call(context, doorbell);
}

PAVO_PUBLIC int pavodv_kick_send(ibv_qp *qp)
{
	return is_pavo(qp->context) ? kick_send(qp) : EOPNOTSUPP;
}

PAVO_PUBLIC int pavodv_poll(ibv_context *context, uint32_t idle)
{
	if (!is_pavo(context))
		return EOPNOTSUPP;
	return to_context(context)->state->worker.set(context->cmd_fd, idle);
}

PAVO_PUBLIC int pavodv_kick_recv(ibv_qp *qp)
{
	return is_pavo(qp->context) ? kick_recv(qp) : EOPNOTSUPP;
}

PAVO_PUBLIC int pavodv_skip_send(ibv_qp *ibqp, uint32_t count, uint64_t wr_id)
{
	if (!is_pavo(ibqp->context))
		return EOPNOTSUPP;

	WorkQueue &sq = to_qp(ibqp)->sq;
	std::lock_guard guard(sq.lock);
	uint32_t head = sq.head();

	if (count > sq.count() || (count && !sq.has_space(head + count - 1)))
		return ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sq.remember(head + i, wr_id + i);
	sq.set_head(head + count);
	return 0;
}
