// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Timers of many queue pairs at once: loss timers on a wire that is cut, and RNR timers whose peers
 * have no receive. None expires early. How late they are is printed, and judged where the guest runs
 * at the speed of the host.
 */
#include <algorithm>
#include <ctime>

#include <sched.h>

#include "link.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"
#include "witness.h"

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

/* Timers of a crowd: each request has the number of its queue pair. */
struct Crowd {
	std::vector<Qp> qps;
	Cq cq;
	SendWr wr;
	uint64_t timeout; /* ns */
	ibv_wc_status status; /* of a request whose timer expired */
};

/* When the timers expired, ns; in order. */
struct Expired {
	std::vector<uint64_t> at, late;
};

Expired wait_for_expiries(Env &env, const Crowd &crowd,
			  const std::vector<uint64_t> &due)
{
	ibv_cq_ex *ex =
		reinterpret_cast<ibv_cq_ex *>(local(env.a).raw_cq(crowd.cq.id));
	uint64_t early = 0, refused = 0;
	ibv_poll_cq_attr attr = {};
	Expired found;

	while (found.at.size() < due.size()) {
		REQUIRE(eventually(env,
				   [&] { return !ibv_start_poll(ex, &attr); }),
			found.at.size(), " of ", due.size(), " expired");
		do {
			const uint64_t at = ibv_wc_read_completion_ts(ex),
				       least = due[ex->wr_id];

			refused += ex->status != crowd.status;
			early = std::max(early, at < least ? least - at : 0);
			found.at.push_back(at);
			found.late.push_back(at - least);
		} while (!ibv_next_poll(ex));
		ibv_end_poll(ex);
	}
	REQUIRE_EQ(refused, 0u, "completions of another status");
	REQUIRE_EQ(early, 0u, "ns by which one expired early");
	std::sort(found.at.begin(), found.at.end());
	std::sort(found.late.begin(), found.late.end());
	return found;
}

/* ns from one expiry to the next where they are densest: what one takes at most. */
uint64_t cost_of_expiry(const std::vector<uint64_t> &at)
{
	const size_t row = std::min<size_t>(at.size(), 256);
	uint64_t least = UINT64_MAX;

	for (size_t i = row; i <= at.size(); i++)
		least = std::min(least, at[i - 1] - at[i - row]);
	return least / std::max<size_t>(row - 1, 1);
}

/* Measurements of a round of a crowd. */
struct Round {
	size_t at_once; /* most timers that ran at a time */
	Expired found;
	std::chrono::nanoseconds stall; /* longest time of a task without a CPU */

	/* us, of so many per cent of the timers at most */
	uint64_t late(size_t percent) const
	{
		return found.late[(found.late.size() - 1) * percent / 100] /
		       1000;
	}
};

/* Posts a request on each queue pair of the crowd, and waits until their timers have expired. */
Round expire_once(Env &env, const Crowd &crowd)
{
	common::Witness witness;
	std::vector<uint64_t> due;
	Round round;

	for (size_t i = 0; i < crowd.qps.size(); i++) {
		SendWr wr = crowd.wr;

		wr.id = i;
		/* Before it is armed: a timer that is on time is never early by this. */
		due.push_back(monotonic_ns() + crowd.timeout);
		REQUIRE_EQ(env.a.post_send(crowd.qps[i].id, {wr}).error, 0,
			   "post");
		/* Works that expire timers wait for a CPU as any task does: for a tick. */
		sched_yield();
	}
	round.found = wait_for_expiries(env, crowd, due);
	round.stall = witness.end();
	round.at_once = std::upper_bound(due.begin(), due.end(),
					 due[0] + crowd.timeout) -
			due.begin();
	return round;
}

/* The best of some rounds counts: a busy host takes the CPU from the guest now and then. */
template <class Connect>
void expire_all(Env &env, const char *what, const Crowd &crowd,
		Connect &&connect_all)
{
	/* The slack of the timers, and a tick. */
	const uint64_t allowed = crowd.timeout / 16000 + 1000;

	for (int left = common::witness_rounds;;) {
		connect_all();
		const Round round = expire_once(env, crowd);
		/* A timer is as late as the host lets the guest stand. */
		const auto stood = uint64_t(round.stall.count() / 1000);
		const bool good = round.late(99) <= allowed + stood &&
				  round.stall <= common::longest_without_cpu;

		show(str(what, ", ", crowd.timeout / 1000,
			 " us: ", round.at_once, " of ", crowd.qps.size(),
			 " armed at once; late by ", round.late(0),
			 " us at least, p50 ", round.late(50), ", p99 ",
			 round.late(99), ", at most ", round.late(100),
			 "; an expiry each ", cost_of_expiry(round.found.at),
			 " ns; a task without a CPU for ", ms(round.stall),
			 " ms"));
		if (good || !judges_time())
			return;
		REQUIRE(--left, what, ": p99 is to be ", allowed,
			" us at most beyond the time of a task without a CPU, "
			"which is to be less than ",
			ms(common::longest_without_cpu), " ms");
	}
}

/* Back to RTS, from any state. */
void connect_again(Host &host, const Qp &qp, const common::Connection &to)
{
	ibv_qp_attr reset = {};

	reset.qp_state = IBV_QPS_RESET;
	REQUIRE_EQ(host.modify(qp.id, reset, IBV_QP_STATE), 0, "RESET");
	REQUIRE_EQ(host.modify(qp.id, common::init_attr(to), init_mask), 0,
		   "INIT");
	REQUIRE_EQ(host.modify(qp.id, common::rtr_attr(to), rtr_mask), 0,
		   "RTR");
	REQUIRE_EQ(host.modify(qp.id, common::rts_attr(to), rts_mask), 0,
		   "RTS");
}

/*
 * A queue pair of a crowd. It shares its receives, because a native guest has not many more
 * mappings than a crowd has send queues.
 */
Qp make_member(Host &host, const Cq &cq, const Srq &srq)
{
	const Qp qp = host.create_qp({.send_cq = cq.id,
				      .recv_cq = cq.id,
				      .cap = {1, 0, 1, 0, 0},
				      .srq = srq.id});

	REQUIRE_EQ(qp.error, 0, "create_qp");
	return qp;
}

} // namespace

PV_TEST_LOCAL("armed.crowd",
	      "--many queue pairs wait for answers on a cut wire, for 0.13, 1, "
	      "17 and 2147 ms: no loss timer expires early; prints how late")
{
	const uint32_t many = env.options.many;
	const Srq srq = must_srq(env.a);
	Place from = {must_reg(env.a, {64}), 0},
	      to = {must_reg(env.b, {64}), 0};
	Crowd crowd = {.cq = stamped_cq(env, many + 1),
		       .wr = make_wr(Op::write, from, 64, to),
		       .status = IBV_WC_RETRY_EXC_ERR};

	env.expect_async();
	Moved expired(env.a, "local_ack_timeout_err");
	while (crowd.qps.size() < many)
		crowd.qps.push_back(make_member(env.a, crowd.cq, srq));
	Qdisc cut(env.a, "netem loss 100%");
	for (uint8_t code : {5, 8, 12, 19}) {
		crowd.timeout = 4096ull << code;
		expire_all(env, "loss", crowd, [&] {
			for (const Qp &qp : crowd.qps)
				connect_again(env.a, qp,
					      {.gid = env.info_b.gid,
					       .gid_index = uint8_t(
						       env.info_a.gid_index),
					       .qpn = 0x1234,
					       .timeout = code,
					       .retry_count = 0});
		});
	}
	REQUIRE(expired.by() >= 4 * many && expired.by() % many == 0,
		expired.by(), " expiries");
}

PV_TEST_LOCAL("armed.rnr_crowd",
	      "--many queue pairs wait for receives of their peers, for 0.12, "
	      "1, 15 and 655 ms: no RNR timer expires early; prints how late")
{
	/* Codes and their delays, IBA table 45. */
	constexpr std::pair<uint8_t, uint64_t> delays[] = {{7, 120'000},
							   {13, 960'000},
							   {21, 15'360'000},
							   {0, 655'360'000}};
	const uint32_t many = env.options.many;
	const Srq srq_a = must_srq(env.a), srq_b = must_srq(env.b);
	const Cq cq_b = env.b.create_cq(16, false);
	std::vector<Qp> peers;
	Crowd crowd = {.cq = stamped_cq(env, many + 1),
		       .wr = make_wr(Op::send, {}, 0),
		       .status = IBV_WC_RNR_RETRY_EXC_ERR};

	env.expect_async();
	while (crowd.qps.size() < many) {
		crowd.qps.push_back(make_member(env.a, crowd.cq, srq_a));
		peers.push_back(make_member(env.b, cq_b, srq_b));
	}
	for (auto [code, ns] : delays) {
		common::Connection to_b = {.gid = env.info_b.gid,
					   .gid_index = uint8_t(
						   env.info_a.gid_index),
					   .timeout = 0,
					   .rnr_retry = 1},
				   to_a = {.gid = env.info_a.gid,
					   .gid_index = uint8_t(
						   env.info_b.gid_index),
					   .min_rnr_timer = code};

		crowd.timeout = ns;
		expire_all(env, "RNR", crowd, [&] {
			for (uint32_t i = 0; i < many; i++) {
				to_b.qpn = peers[i].number;
				to_a.qpn = crowd.qps[i].number;
				connect_again(env.a, crowd.qps[i], to_b);
				connect_again(env.b, peers[i], to_a);
			}
		});
	}
}
