// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * post_recv.cpp - receive work requests: stores to memory without a system call, except for a QP
 * in error, whose requests the module flushes in a call.
 *
 * Called by libibverbs for ibv_post_recv().
 */
#include <cerrno>

#include "provider.h"

namespace pavo {
namespace {

/* Pairs with the module's barrier between setting the flag and looking at
 * the producer index.
 */
bool needs_kick(pavo_rq_header *header)
{
	std::atomic_thread_fence(std::memory_order_seq_cst);
	return std::atomic_ref(header->flags).load(std::memory_order_relaxed) &
	       PAVO_RQ_NEED_KICK;
}

/* Writes the requests after the head; false if none was written. */
bool write_wqes(WorkQueue &rq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr, int *err)
{
	uint32_t head = rq.head();

	*err = 0;
	for (; wr; wr = wr->next) {
		if (rq.has_space(head))
			*err = build_recv_wqe(rq.slot(head), *wr, rq.limits);
		else
			*err = ENOMEM;
		if (*err) {
			*bad_wr = wr;
			break;
		}
		rq.remember(head++, wr->wr_id);
	}
	if (head == rq.head())
		return false;
	/* The completion may be polled as soon as the module sees prod. */
	rq.set_head(head);
	return true;
}

void publish(pavo_rq_header *header, const WorkQueue &rq)
{
	std::atomic_ref(header->prod)
		.store(rq.head(), std::memory_order_release);
}

} // namespace

int post_recv(ibv_qp *ibqp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Qp *qp = to_qp(ibqp);
	int kick_err;
	int err;

	*bad_wr = wr;
	if (ibqp->state == IBV_QPS_RESET || !qp->rq_header)
		return EINVAL;

	std::lock_guard guard(qp->rq.lock);

	if (!write_wqes(qp->rq, wr, bad_wr, &err))
		return err;
	publish(qp->rq_header, qp->rq);
	if (!needs_kick(qp->rq_header))
		return err;
	kick_err = kick_recv(ibqp);
	return kick_err ? kick_err : err;
}

int post_srq_recv(ibv_srq *ibsrq, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Srq *srq = to_srq(ibsrq);
	std::lock_guard guard(srq->rq.lock);
	int err;

	srq->rq.retire(std::atomic_ref(srq->header->cons)
			       .load(std::memory_order_acquire));
	if (write_wqes(srq->rq, wr, bad_wr, &err))
		publish(srq->header, srq->rq);
	return err;
}

} // namespace pavo
