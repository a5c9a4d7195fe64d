// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * post_send.cpp - send work requests: one chain of WQEs, one doorbell, at most
 * one call into the kernel.
 *
 * Called by libibverbs for ibv_post_send(), and by qp_ex.cpp for the chain.
 * Writes slots of the SQ and rings.
 */
#include <cerrno>
#include <sched.h>

#include "sq_chain.h"

namespace pavo {

/* Attempts to ring: a kick drains a full ring, but other threads may refill it meanwhile. */
static constexpr int ring_attempts = 64;

int SqChain::add(const ibv_send_wr &wr, const Extension *extension)
{
	const pavo_ud_seg *av = nullptr;
	WqeName name;
	int err;

	if (!sq_.has_space(head_))
		return ENOMEM;
	if (sq_.limits.service == IBV_QPT_UD && wr.wr.ud.ah)
		av = &to_ah(wr.wr.ud.ah)->av;
	err = build_send_wqe(sq_.slot(head_), wr, sq_.limits, av, extension,
			     qp_->always_flags, &name);
	if (err)
		return err;

	if (empty())
		first_ = name;
	else
		link_wqe(sq_.slot(head_ - 1), name, sq_.offset(head_));
	sq_.remember(head_++, wr.wr_id);
	/* If the chain is not posted, this key is as valid as the one before. */
	if (wr.opcode == IBV_WR_BIND_MW)
		wr.bind_mw.mw->rkey = bound_key(wr);
	return 0;
}

int SqChain::ring(uint64_t doorbell)
{
	DoorbellRing &ring =
		*to_context(qp_->verbs.qp.context)->state->doorbells;

	for (int i = 0; i < ring_attempts; i++) {
		if (ring.ring(doorbell))
			return 0;
		if (!ring.is_ours())
			return ring_by_call(qp_->verbs.qp.context, doorbell);
		int err = kick_send(&qp_->verbs.qp);

		if (err)
			return err;
		sched_yield();
	}
	return ENOMEM;
}

int SqChain::announce()
{
	return announce_by(
		[this](uint64_t doorbell) { return ring(doorbell); });
}

bool may_send(ibv_qp_state state)
{
	return state == IBV_QPS_RTS || state == IBV_QPS_SQD ||
	       state == IBV_QPS_SQE || state == IBV_QPS_ERR;
}

int post_send(ibv_qp *ibqp, ibv_send_wr *first, ibv_send_wr **bad_wr)
{
	Qp *qp = to_qp(ibqp);
	int kick_err;
	int err = 0;

	*bad_wr = first;
	if (!may_send(ibqp->state))
		return EINVAL;
	{
		std::lock_guard guard(qp->sq.lock);
		SqChain chain(qp);

		for (ibv_send_wr *wr = first; wr; wr = wr->next) {
			err = chain.add(*wr);
			*bad_wr = wr;
			if (err)
				break;
		}
		if (chain.empty())
			return err;

		int ring_err = chain.announce();

		if (ring_err) {
			*bad_wr = first;
			return ring_err;
		}
	}
	kick_err = kick_if_needed(ibqp);
	if (kick_err) {
		*bad_wr = first;
		return kick_err;
	}
	return err;
}

} // namespace pavo
