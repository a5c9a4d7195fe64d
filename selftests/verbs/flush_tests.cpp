// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Posted work when a queue pair goes to ERR or RESET: it is flushed
 * completely, in order, once, and nothing touches memory afterwards.
 */

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

void must_flush(Env &env, Side &side, Cq cq, const std::vector<uint64_t> &ids,
		const char *what)
{
	expect_all(env, side, cq, ids, what, IBV_WC_WR_FLUSH_ERR);
}

} // namespace

PV_TEST("flush.receives",
	"ERR flushes every posted receive, in posting order, in each state")
{
	Link link = make_link(env);

	for (auto state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
		to_init(link, link.b);
		if (state != IBV_QPS_INIT)
			to_rtr(link, link.b);
		if (state == IBV_QPS_RTS)
			to_rts(link, link.b);
		must_post(link.b, numbered_receives(100, 40));
		to_state(link.b, IBV_QPS_ERR);
		must_flush(env, link.b, link.b.recv_cq, numbers(100, 40),
			   "receives");
		no_more(link.b, "flushed receives");
		to_state(link.b, IBV_QPS_RESET);
	}
}

PV_TEST("flush.sends",
	"ERR flushes waiting sends, signalled or not, in posting order")
{
	Link link = connect(env);
	Mr mr = must_reg(env.a, {4096}), target = must_reg(env.b, {4096});
	std::vector<SendWr> wrs;

	/* The first send waits for a receive, everything waits behind it. */
	for (uint64_t i = 0; i < 30; i++) {
		Op op = i % 3 == 0 ? Op::send :
			i % 3 == 1 ? Op::write :
				     Op::read;

		wrs.push_back(make_wr(op, {mr, 0}, 64, {target, 0}));
		wrs.back().id = 200 + i;
		wrs.back().flags = i % 2 ? IBV_SEND_SIGNALED : 0;
	}
	must_post(link.a, wrs);
	none_sent(link.a, 30, "completed");
	to_state(link.a, IBV_QPS_ERR);
	must_flush(env, link.a, link.a.send_cq, numbers(200, 30), "sends");
	no_more(link.a, "flushed sends");
}

PV_TEST("flush.done_stays_done",
	"completions of before the error keep their status, the rest is flushed")
{
	Link link = connect(env);
	std::vector<SendWr> wrs;

	for (uint64_t i = 0; i < 20; i++) {
		wrs.push_back(make_wr(Op::send, {}, 0));
		wrs.back().id = i;
	}
	must_post(link.b, numbered_receives(0, 7));
	must_post(link.a, wrs);
	for (uint64_t i = 0; i < 7; i++) {
		expect_send(env, link.a, i, "good sends");
		expect_recv(env, link.b, i, "good receives");
	}
	to_state(link.a, IBV_QPS_ERR);
	must_flush(env, link.a, link.a.send_cq, numbers(7, 13), "the rest");
}

PV_TEST("flush.post_in_error",
	"requests posted in ERR are accepted and flushed")
{
	Link link = connect(env);
	Mr mr = must_reg(env.a, {4096}), target = must_reg(env.b, {4096}, 8);

	to_state(link.a, IBV_QPS_ERR);
	for (uint64_t round = 0; round < 3; round++) {
		SendWr write = make_wr(Op::write, {mr, 0}, 64, {target, 0});
		SendWr quiet = make_wr(Op::send, {}, 0);

		write.id = round;
		quiet.id = round + 50;
		quiet.flags = 0;
		must_post(link.a, std::vector<SendWr>{write, quiet});
		must_flush(env, link.a, link.a.send_cq, {round, round + 50},
			   "sends in ERR");
		must_post(link.a, numbered_receives(round, 1));
		must_flush(env, link.a, link.a.recv_cq, {round},
			   "receive in ERR");
	}
	no_more(link.a, "posts in ERR");
	must_match(env.b, target, 0, 4096, 8, 0, "target memory");
}

PV_TEST("flush.queue_refills_in_error",
	"flushed requests free their slots: ten times the queue's depth")
{
	Link link = connect(env, {.cap = {8, 8, 1, 1, 0}});
	uint32_t sends = link.a.qp.cap.max_send_wr;
	uint32_t recvs = link.a.qp.cap.max_recv_wr;

	to_state(link.a, IBV_QPS_ERR);
	for (uint64_t round = 0; round < 10; round++) {
		std::vector<SendWr> wrs;

		for (uint32_t i = 0; i < sends; i++) {
			wrs.push_back(make_wr(Op::send, {}, 0));
			wrs.back().id = i;
		}
		must_post(link.a, wrs);
		must_flush(env, link.a, link.a.send_cq, numbers(0, sends),
			   "sends");
		must_post(link.a, numbered_receives(0, recvs));
		must_flush(env, link.a, link.a.recv_cq, numbers(0, recvs),
			   "receives");
	}
}

PV_TEST("flush.early_post",
	"sends are refused before RTS, receives before INIT")
{
	Link link = make_link(env);
	auto send_error = [&] {
		return env.a.post_send(link.a.qp.id, {make_wr(Op::send, {}, 0)})
			.error;
	};
	auto recv_error = [&] {
		return env.a.post_recv(link.a.qp.id, {{}}).error;
	};

	REQUIRE(send_error(), "send in RESET was accepted");
	REQUIRE(recv_error(), "receive in RESET was accepted");
	to_init(link, link.a);
	REQUIRE(send_error(), "send in INIT was accepted");
	REQUIRE(!recv_error(), "receive in INIT was refused");
	to_rtr(link, link.a);
	REQUIRE(send_error(), "send in RTR was accepted");
	REQUIRE(!recv_error(), "receive in RTR was refused");
	no_more(link.a, "refused posts");
}

PV_TEST("flush.reset_drops", "RESET drops posted work without completions")
{
	Link link = connect(env);

	must_post(link.a, numbered_receives(0, 10));
	must_post(link.a, std::vector<SendWr>{make_wr(Op::send, {}, 0),
					      make_wr(Op::send, {}, 0)});
	to_state(link.a, IBV_QPS_RESET);
	to_state(link.b, IBV_QPS_RESET);
	REQUIRE(env.a.poll(link.a.recv_cq.id, 1, 20).empty(), "receive");
	REQUIRE(env.a.poll(link.a.send_cq.id, 1, 0).empty(), "send");
	bring_up(link);
	prove_alive(env, link);
}

PV_TEST("flush.no_late_read",
	"after its flush a request no longer reads its buffers")
{
	env.expect_async();
	Link link = connect(env, {.mtu = 256});
	constexpr uint64_t size = 4 << 20;
	Mr out = must_reg(env.a, {size}, 1), in = must_reg(env.b, {size}, 2);

	must_post(link.a, make_wr(Op::write, {out, 0}, size, {in, 0}));
	to_state(link.a, IBV_QPS_ERR);
	Wc wc = wait_send(env, link.a, "interrupted write");
	REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR || wc.status == IBV_WC_SUCCESS,
		ibv_wc_status_str(wc.status));
	env.a.fill(out.id, 0, size, 3, 0);
	/* B has a prefix of the first pattern, then its own, never the third. */
	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "destroy_qp");
	int64_t prefix = env.b.verify(in.id, 0, size, 1, 0);
	if (prefix < 0)
		return;
	prefix -= prefix % 256;
	must_match(env.b, in, prefix, size - uint64_t(prefix), 2,
		   uint64_t(prefix), "what was not sent");
}

PV_TEST("flush.no_late_write",
	"after its flush a receive's buffer is not written any more")
{
	env.expect_async();
	Link link = connect(env, {.mtu = 256, .timeout = 12, .retry_count = 1});
	constexpr uint64_t size = 4 << 20;
	Mr out = must_reg(env.a, {size}), in = must_reg(env.b, {size});

	must_post(link.b, RecvWr{1, {{in.id, 0, size, 0}}});
	must_post(link.a, make_wr(Op::send, {out, 0}, size));
	to_state(link.b, IBV_QPS_ERR);
	Wc wc = wait_recv(env, link.b, "interrupted receive");
	REQUIRE(wc.status == IBV_WC_WR_FLUSH_ERR || wc.status == IBV_WC_SUCCESS,
		ibv_wc_status_str(wc.status));
	env.b.fill(in.id, 0, size, 9, 0);
	wc = wait_send(env, link.a, "send to a QP in ERR");
	REQUIRE(wc.status == IBV_WC_RETRY_EXC_ERR ||
			wc.status == IBV_WC_SUCCESS,
		ibv_wc_status_str(wc.status));
	must_match(env.b, in, 0, size, 9, 0, "memory after the flush");
}

PV_TEST("flush.no_late_read_data",
	"after its flush a read's buffer is not written any more")
{
	env.expect_async();
	Link link = connect(env, {.mtu = 256});
	constexpr uint64_t size = 4 << 20;
	Mr in = must_reg(env.a, {size}), origin = must_reg(env.b, {size});

	must_post(link.a, make_wr(Op::read, {in, 0}, size, {origin, 0}));
	to_state(link.a, IBV_QPS_ERR);
	wait_send(env, link.a, "interrupted read");
	env.a.fill(in.id, 0, size, 9, 0);
	/* The responder still sends; its QP's end bounds how long. */
	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "destroy_qp");
	must_match(env.a, in, 0, size, 9, 0, "memory after the flush");
}

PV_TEST("flush.twice", "ERR on a queue pair in ERR changes nothing")
{
	Link link = connect(env);

	must_post(link.a, numbered_receives(1, 3));
	to_state(link.a, IBV_QPS_ERR);
	to_state(link.a, IBV_QPS_ERR);
	must_flush(env, link.a, link.a.recv_cq, numbers(1, 3), "flush");
	no_more(link.a, "ERR twice");
	REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_ERR, "state");
}
