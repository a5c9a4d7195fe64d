// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The loss timers of many queue pairs at once, on a wire that is cut: none expires early. How
 * late they are is printed, since it is the machine's affair.
 */
#include <algorithm>
#include <ctime>

#include "link.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

uint64_t monotonic_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

/* A CQ whose entries tell when the kernel wrote them. */
Cq stamped_cq(Env &env, uint32_t depth)
{
	return local(env.a).make_cq(
		[&](ibv_comp_channel *channel, void *id) {
			ibv_cq_init_attr_ex attr = {};

			attr.cqe = depth;
			attr.cq_context = id;
			attr.channel = channel;
			attr.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
			ibv_cq_ex *cq =
				ibv_create_cq_ex(local(env.a).context(), &attr);

			return cq ? ibv_cq_ex_to_cq(cq) : nullptr;
		},
		false);
}

/* How late the completion of each request is, in ns; it has the number of its link. */
std::vector<uint64_t> lateness(Env &env, Cq cq,
			       const std::vector<uint64_t> &due)
{
	ibv_cq_ex *ex =
		reinterpret_cast<ibv_cq_ex *>(local(env.a).raw_cq(cq.id));
	std::vector<uint64_t> late;
	ibv_poll_cq_attr attr = {};
	uint64_t early = 0, refused = 0;

	while (late.size() < due.size()) {
		REQUIRE(eventually(env,
				   [&] { return !ibv_start_poll(ex, &attr); }),
			late.size(), " of ", due.size(), " expired");
		do {
			const uint64_t at = ibv_wc_read_completion_ts(ex),
				       least = due[ex->wr_id];

			refused += ex->status != IBV_WC_RETRY_EXC_ERR;
			early = std::max(early, at < least ? least - at : 0);
			late.push_back(at - least);
		} while (!ibv_next_poll(ex));
		ibv_end_poll(ex);
	}
	REQUIRE_EQ(refused, 0u, "completions of another status");
	REQUIRE_EQ(early, 0u, "ns by which one expired early");
	std::sort(late.begin(), late.end());
	return late;
}

/*
 * A queue pair whose peer need not be there; one attempt. It shares its receives, because a native
 * guest has not many more mappings than a crowd has send queues.
 */
Qp lonely_qp(Env &env, Cq cq, const Srq &srq, uint8_t timeout)
{
	const Qp qp = env.a.create_qp({.send_cq = cq.id,
				       .recv_cq = cq.id,
				       .cap = {1, 0, 1, 0, 0},
				       .srq = srq.id});
	const common::Connection to = {
		.gid = env.info_b.gid,
		.gid_index = uint8_t(env.info_a.gid_index),
		.qpn = 0x1234,
		.timeout = timeout,
		.retry_count = 0,
	};

	REQUIRE_EQ(qp.error, 0, "create_qp");
	REQUIRE_EQ(env.a.modify(qp.id, common::init_attr(to), init_mask), 0,
		   "INIT");
	REQUIRE_EQ(env.a.modify(qp.id, common::rtr_attr(to), rtr_mask), 0,
		   "RTR");
	REQUIRE_EQ(env.a.modify(qp.id, common::rts_attr(to), rts_mask), 0,
		   "RTS");
	return qp;
}

} // namespace

PV_TEST_LOCAL("armed.crowd",
	      "--many queue pairs wait for answers on a cut wire: no loss "
	      "timer expires early; prints how late")
{
	constexpr uint8_t code = 19; /* 2.1 s: longer than it takes to post */
	constexpr uint64_t timeout = 4096ull << code;
	const uint32_t many = env.options.many;
	const Cq cq = stamped_cq(env, many + 1);
	Place from = {must_reg(env.a, {64}), 0},
	      to = {must_reg(env.b, {64}), 0};
	const Srq srq = must_srq(env.a);
	std::vector<uint64_t> due;
	std::vector<Qp> qps;

	env.expect_async();
	Moved expired(env.a, "local_ack_timeout_err");
	while (qps.size() < many)
		qps.push_back(lonely_qp(env, cq, srq, code));
	{
		Qdisc cut(env.a, "netem loss 100%");

		for (uint32_t i = 0; i < many; i++) {
			SendWr wr = make_wr(Op::write, from, 64, to);

			wr.id = i;
			/* Before it is armed: a timer that is on time is never early by this. */
			due.push_back(monotonic_ns() + timeout);
			REQUIRE_EQ(env.a.post_send(qps[i].id, {wr}).error, 0,
				   "post");
		}
		const size_t at_once = std::upper_bound(due.begin(), due.end(),
							due[0] + timeout) -
				       due.begin();
		const auto late = lateness(env, cq, due);
		auto us = [&](size_t percent) {
			return late[(late.size() - 1) * percent / 100] / 1000;
		};

		show(str(at_once, " of ", many,
			 " queue pairs armed at once, timeout ", timeout / 1000,
			 " us: expired late by ", us(0), " us at least, p50 ",
			 us(50), " us, p99 ", us(99), " us, at most ", us(100),
			 " us"));
	}
	REQUIRE_EQ(expired.by(), many, "expiries");
}
