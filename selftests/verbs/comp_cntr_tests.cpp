// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion counters: what each operation of a queue pair adds to which of them, with and without a
 * completion, in success and in error, and when one can be attached.
 */
#include <array>
#include <memory>

#include "comp_cntr.h"
#include "xrc.h"

using namespace pv;

namespace {

/* Expected values of the six counters of a side, in the order of their operations. */
using Values = std::array<uint64_t, 6>;

/* A counter for each operation of a side. */
class Counters {
public:
	Counters(Side &side)
	{
		for (size_t i = 0; i < of_.size(); i++) {
			of_[i] = std::make_unique<Counter>(*side.host);
			of_[i]->attach(side, uint64_t(1) << i);
		}
	}

	void must_be(const Values &want, cntr::Entry entry, const char *what)
	{
		for (size_t i = 0; i < of_.size(); i++)
			REQUIRE_EQ(of_[i]->value(entry), want[i], what,
				   ", operation ", i, " of entry ", entry);
	}

private:
	std::array<std::unique_ptr<Counter>, 6> of_;
};

constexpr Values none = {};

SendWr quiet(SendWr wr)
{
	wr.flags = 0;
	return wr;
}

} // namespace

PV_TEST_LOCAL("comp_cntr.counts",
	      "each operation counts once, at both ends, with or without a "
	      "completion; atomics count nowhere")
{
	Link link = make_link(env);
	Counters a(link.a), b(link.b);
	Mr mr = must_reg(env.a, {65536}, 1), target = must_reg(env.b, {65536});
	SendWr add = make_wr(Op::write, {mr, 0}, 8, {target, 0});

	bring_up(link);
	must_post(link.b, numbered_receives(0, 4));
	must_post(
		link.a,
		std::vector<SendWr>{
			quiet(make_wr(Op::send, {}, 0)),
			quiet(make_wr(Op::send_imm, {}, 0)),
			quiet(make_wr(Op::write, {mr, 0}, 60000, {target, 0})),
			quiet(make_wr(Op::read, {mr, 0}, 60000, {target, 0})),
			quiet(make_wr(Op::write_imm, {mr, 0}, 1, {target, 0})),
			make_wr(Op::read, {mr, 0}, 1, {target, 0})});
	wait_send(env, link.a, "reads, writes and sends");
	for (uint64_t i = 0; i < 3; i++)
		expect_recv(env, link.b, i, "receives");
	add.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	must_send(env, link.a, add, "an atomic");
	a.must_be({2, 0, 2, 0, 2, 0}, cntr::completed, "requester");
	b.must_be({0, 3, 0, 2, 0, 2}, cntr::completed, "responder");
	a.must_be(none, cntr::failed, "requester");
	b.must_be(none, cntr::failed, "responder");
}

PV_TEST_LOCAL("comp_cntr.errors",
	      "a refused request counts as an error at both ends, and so does "
	      "each flushed one")
{
	env.expect_async();
	Link link = make_link(env);
	Counters a(link.a), b(link.b);
	Mr mr = must_reg(env.a, {4096}), target = must_reg(env.b, {4096});
	SendWr bad = make_wr(Op::write, {mr, 0}, 8, {target, 0});

	bring_up(link);
	must_post(link.b, numbered_receives(0, 5));
	must_send(env, link.a, make_wr(Op::send, {}, 0), "a send");
	bad.rkey ^= 0xff;
	must_post(link.a,
		  std::vector<SendWr>{
			  bad, quiet(make_wr(Op::send, {}, 0)),
			  quiet(make_wr(Op::read, {mr, 0}, 8, {target, 0}))});
	wait_completions(env, link.a, link.a.send_cq, 3, "failed requests");
	expect_recv(env, link.b, 0, "the send");
	wait_completions(env, link.b, link.b.recv_cq, 4, "flushed receives");
	a.must_be({1, 0, 0, 0, 0, 0}, cntr::completed, "requester");
	b.must_be({0, 1, 0, 0, 0, 0}, cntr::completed, "responder");
	a.must_be({1, 0, 1, 0, 1, 0}, cntr::failed, "requester");
	b.must_be({0, 4, 0, 0, 0, 1}, cntr::failed, "responder");
	to_state(link.a, IBV_QPS_RESET);
	to_state(link.b, IBV_QPS_RESET);
	bring_up(link);
	bad = make_wr(Op::read, {mr, 0}, 8, {target, 4090});
	must_send(env, link.a, bad, "a read beyond the region",
		  IBV_WC_REM_ACCESS_ERR);
	a.must_be({1, 0, 2, 0, 1, 0}, cntr::failed, "requester, once more");
	b.must_be({0, 4, 0, 1, 0, 1}, cntr::failed, "responder, once more");
}

PV_TEST_LOCAL("comp_cntr.rules",
	      "a counter is attached before packets come, to operations that "
	      "have none yet; it adds up those of all its queue pairs, and "
	      "stays as long as they do")
{
	Link link = make_link(env), other = make_link(env);
	Counter counter(env.a), second(env.a);
	ibv_qp &qp = *local(env.a).raw_qp(link.a.qp.id);
	const CounterCaps caps(*qp.context);

	REQUIRE_EQ(caps.ops, cntr::all_ops, "operations");
	REQUIRE_EQ(caps.max_value, UINT64_MAX, "most");
	REQUIRE(caps.counters, "number of counters");
	REQUIRE_EQ(counter.try_attach(qp, 0), EINVAL, "no operation");
	REQUIRE_EQ(counter.try_attach(qp, 64), EINVAL, "an unknown one");
	counter.attach(link.a, cntr::send | cntr::rdma_write);
	REQUIRE_EQ(second.try_attach(qp, cntr::rdma_write | cntr::recv), EBUSY,
		   "one that has a counter");
	to_init(link, link.a);
	second.attach(link.a, cntr::recv);
	to_rtr(link, link.a);
	REQUIRE_EQ(second.try_attach(qp, cntr::rdma_read), EINVAL, "in RTR");
	to_rts(link, link.a);
	REQUIRE_EQ(second.try_attach(qp, cntr::rdma_read), EINVAL, "in RTS");
	to_init(link, link.b);
	to_rtr(link, link.b);
	to_rts(link, link.b);
	counter.attach(other.a, cntr::send);
	bring_up(other);

	REQUIRE_EQ(counter.try_change(cntr::completed, cntr::set,
				      UINT64_MAX - 1),
		   0, "set");
	REQUIRE_EQ(counter.try_change(cntr::failed, cntr::increment, 7), 0,
		   "increment");
	REQUIRE_EQ(counter.try_change(2, cntr::set, 0), EINVAL, "entry 2");
	REQUIRE_EQ(counter.try_change(0, 2, 0), EINVAL, "change 2");
	Mr mr = must_reg(env.a, {64}), target = must_reg(env.b, {64});
	for (Link *each : {&link, &other}) {
		must_post(each->b, numbered_receives(0, 1));
		must_send(env, each->a, make_wr(Op::send, {}, 0), "a send");
		must_send(env, each->a,
			  make_wr(Op::write, {mr, 0}, 8, {target, 0}),
			  "a write");
	}
	/* Two sends, and the write of one of the queue pairs. */
	REQUIRE_EQ(counter.value(), 1u, "behind the largest value");
	REQUIRE_EQ(counter.value(cntr::failed), 7u, "errors");
	REQUIRE_EQ(second.value(), 0u, "receives");
	REQUIRE_EQ(counter.try_destroy(), EBUSY, "attached");
	REQUIRE_EQ(second.try_destroy(), EBUSY, "attached");
}

PV_TEST_LOCAL("comp_cntr.rates",
	      "two counters in the way of small messages lose none of them")
{
	constexpr uint32_t rounds = 200, batch = 50;
	Link link = make_link(env);
	Counter sent(env.a), received(env.b);

	sent.attach(link.a, cntr::send);
	received.attach(link.b, cntr::recv);
	bring_up(link);
	for (uint32_t round = 0; round < rounds; round++) {
		std::vector<SendWr> wrs(batch, quiet(make_wr(Op::send, {}, 0)));

		wrs.back().flags = IBV_SEND_SIGNALED;
		must_post(link.b, numbered_receives(0, batch));
		must_post(link.a, wrs);
		wait_send(env, link.a, "sends");
		wait_completions(env, link.b, link.b.recv_cq, batch,
				 "receives");
	}
	REQUIRE_EQ(sent.value(), uint64_t(rounds) * batch, "sent");
	REQUIRE_EQ(received.value(), uint64_t(rounds) * batch, "received");
}
