// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * post_recv.cpp - receive work requests: stores to memory and nothing else,
 * except for a QP in error, whose requests the module must be told to flush.
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

} // namespace

int post_recv(ibv_qp *ibqp, ibv_recv_wr *wr, ibv_recv_wr **bad_wr)
{
	Qp *qp = to_qp(ibqp);
	WorkQueue &rq = qp->rq;
	uint32_t head;
	int err = 0;

	*bad_wr = wr;
	if (ibqp->state == IBV_QPS_RESET || !qp->rq_header)
		return EINVAL;

	std::lock_guard guard(rq.lock);

	head = rq.head();
	for (; wr; wr = wr->next) {
		if (rq.has_room(head))
			err = build_recv_wqe(rq.slot(head), *wr, rq.limits);
		else
			err = ENOMEM;
		if (err) {
			*bad_wr = wr;
			break;
		}
		rq.remember(head++, wr->wr_id);
	}
	if (head == rq.head())
		return err;

	/* The completion may be polled as soon as the module sees prod. */
	rq.set_head(head);
	std::atomic_ref(qp->rq_header->prod)
		.store(head, std::memory_order_release);
	if (needs_kick(qp->rq_header)) {
		int kick_err = kick_recv(ibqp);

		return kick_err ? kick_err : err;
	}
	return err;
}

} // namespace pavo
