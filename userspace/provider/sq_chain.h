/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sq_chain.h - send WQEs on their way into the queue: one chain, one doorbell,
 * at most one call into the kernel.
 *
 * Used by post_send.cpp and qp_ex.cpp, the two ways to hand requests over;
 * implemented in post_send.cpp. The lock of the send queue is held by them from
 * construction to announce().
 */
#ifndef PAVO_PROVIDER_SQ_CHAIN_H
#define PAVO_PROVIDER_SQ_CHAIN_H

#include "provider.h"

namespace pavo {

/** WQEs written, linked to each other and not yet announced. */
class SqChain {
public:
	explicit SqChain(Qp *qp) : qp_(qp), sq_(qp->sq), head_(sq_.head()) {}

	bool empty() const { return head_ == sq_.head(); }

	/** 0, or a positive errno and the chain is as before. */
	int add(const ibv_send_wr &wr, const Extension *extension = nullptr);

	/** 0, or a positive errno and nothing was posted. */
	int announce();

	/**
	 * Posts the chain by @call, which passes the doorbell to the module. 0, or the positive
	 * errno of @call and nothing was posted.
	 */
	template <typename Call> int announce_by(Call call)
	{
		const uint32_t before = sq_.head();
		const uint64_t doorbell = make_doorbell(
			qp_->verbs.qp.qp_num, first_, sq_.offset(before));

		/* First, as the completion may be polled at any moment after. */
		sq_.set_head(head_);
		const int err = call(doorbell);

		if (err)
			sq_.set_head(before);
		return err;
	}

private:
	int ring(uint64_t doorbell);

	Qp *qp_;
	WorkQueue &sq_;
	WqeName first_ = {};
	uint32_t head_;
};

/** May requests be posted to a send queue in this state? */
bool may_send(ibv_qp_state state);

/** After announce(), without the lock: calls the module if no worker polls. */
inline int kick_if_needed(const ibv_qp *qp)
{
	if (!to_context(qp->context)->state->doorbells->needs_kick()) [[likely]]
		return 0;
	return kick_send(qp);
}

} // namespace pavo

#endif /* PAVO_PROVIDER_SQ_CHAIN_H */
