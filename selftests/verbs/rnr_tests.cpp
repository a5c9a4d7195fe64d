// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Receiver not ready, and peers that do not answer: the retry counts.
 */
#include <chrono>

#include "link.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

using clock = std::chrono::steady_clock;

/* Long enough for several RNR NAKs with the delays used here. */
constexpr uint32_t several_delays_ms = 60;

int64_t ms_since(clock::time_point start)
{
	return std::chrono::duration_cast<std::chrono::milliseconds>(
		       clock::now() - start)
		.count();
}

/* A message of each kind that needs a receive, posted before the receive. */
void late_receive(Env &env, Op op, uint64_t length)
{
	Link link = connect(env);
	Mr out = must_reg(env.a, {length + 1, 3}),
	   in = must_reg(env.b, {length + 1, 7}, 1);
	SendWr wr = make_wr(op, {out, 0}, length, {in, 0});
	uint64_t seed = env.seed();

	env.a.fill(out.id, 0, length, seed, 0);
	must_post(link.a, wr);
	none_sent(link.a, several_delays_ms, "completed without a receive");
	RecvWr recv = {.id = 7};
	if (op != Op::write_imm)
		recv.sges = {{in.id, 0, uint32_t(length), 0}};
	must_post(link.b, recv);
	expect_send(env, link.a, wr.id, "send");
	Wc wc = expect_recv(env, link.b, 7, "receive");
	REQUIRE_EQ(wc.byte_len, length, "byte_len");
	must_match(env.b, in, 0, length, seed, 0, "late data");
	must_match(env.b, in, length, 1, 1, length, "byte after");
	no_more(link.b, "one message");
	prove_alive(env, link);
}

/* rnr_retry = `retries`: how long until it fails, and how. */
int64_t exhausted(Env &env, uint8_t retries, uint8_t timer)
{
	env.expect_async();
	Link link =
		connect(env, {.rnr_retry = retries, .min_rnr_timer = timer});
	SendWr first = make_wr(Op::send, {}, 0),
	       second = make_wr(Op::send, {}, 0);
	auto start = clock::now();

	must_post(link.a, std::vector<SendWr>{first, second});
	expect_send(env, link.a, first.id, "failing send",
		    IBV_WC_RNR_RETRY_EXC_ERR);
	int64_t took = ms_since(start);

	expect_send(env, link.a, second.id, "the request after it",
		    IBV_WC_WR_FLUSH_ERR);
	wait_state(env, link.a, IBV_QPS_ERR);
	REQUIRE_EQ(int(state_of(link.b)), IBV_QPS_RTS, "the receiver's state");
	return took;
}

} // namespace

PV_TEST("rnr.late_send", "a send waits for its receive, one packet")
{
	late_receive(env, Op::send, 100);
}

PV_TEST("rnr.late_send_long", "a send waits for its receive, many packets")
{
	late_receive(env, Op::send_imm, 50001);
}

PV_TEST("rnr.late_write_imm",
	"a write with immediate waits for its receive, one packet and many")
{
	late_receive(env, Op::write_imm, 100);
	late_receive(env, Op::write_imm, 50001);
}

PV_TEST("rnr.queue_waits_too",
	"requests behind one that waits stay behind it, each arrives once")
{
	Link link = connect(env);
	constexpr uint32_t count = 20, size = 3001;
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {count * size}, seed),
	   in = must_reg(env.b, {count * size});
	Mr plain = must_reg(env.b, {size}, 1);
	std::vector<SendWr> wrs;

	for (uint32_t i = 0; i < count; i++)
		wrs.push_back(
			make_wr(Op::send_imm, {out, int64_t(i) * size}, size));
	wrs.push_back(make_wr(Op::write, {out, 0}, size, {plain, 0}));
	must_post(link.a, wrs);
	for (uint32_t i = 0; i < count; i++) {
		if (i % 8 == 0)
			none_sent(link.a, 20, "completed without a receive");
		if (i == 0)
			must_match(env.b, plain, 0, size, 1, 0,
				   "the write behind the waiting sends");
		must_post(link.b,
			  RecvWr{i, {{in.id, int64_t(i) * size, size, 0}}});
		expect_send(env, link.a, wrs[i].id, "send");
		expect_recv(env, link.b, i, "receive");
	}
	expect_send(env, link.a, wrs[count].id, "write at the end");
	no_more(link.b, "each once");
	must_match(env.b, in, 0, count * size, seed, 0, "all sends");
	must_match(env.b, plain, 0, size, seed, 0, "the write");
}

PV_TEST("rnr.no_retry", "rnr_retry 0: the first RNR NAK is the end")
{
	/* 655 ms of delay, so that a retry would show. */
	int64_t took = exhausted(env, 0, 0);

	REQUIRE(took < 655, "it took ", took, " ms, so it waited");
}

PV_TEST("rnr.one_retry", "rnr_retry 1: one delay passes, then the end")
{
	/* 82 ms asked by the receiver. */
	int64_t took = exhausted(env, 1, 26);

	REQUIRE(took >= 80, "it took ", took, " ms, the receiver asked for 82");
}

PV_TEST("rnr.six_retries", "rnr_retry 6: six delays pass, then the end")
{
	/* 20.48 ms each. */
	int64_t took = exhausted(env, 6, 22);

	REQUIRE(took >= 6 * 20, "it took ", took, " ms, asked for 123");
}

PV_TEST("rnr.count_starts_anew",
	"the retry count is per message, not for the life of the queue pair")
{
	LinkSpec spec = {.rnr_retry = 6};

	spec.min_rnr_timer = 24; /* 41 ms */
	Link link = connect(env, spec);

	for (int i = 0; i < 5; i++) {
		must_post(link.a, make_wr(Op::send, {}, 0));
		none_sent(link.a, 90, "completed without a receive");
		must_post(link.b, RecvWr{});
		REQUIRE_EQ(wait_send(env, link.a, "send").status,
			   IBV_WC_SUCCESS, "message ", i);
		wait_recv(env, link.b, "receive");
	}
}

PV_TEST("rnr.reads_do_not_wait",
	"reads before the waiting send complete, reads behind it wait")
{
	Link link = connect(env);
	Mr in = must_reg(env.a, {8192}), origin = must_reg(env.b, {8192}, 5);
	SendWr before = make_wr(Op::read, {in, 0}, 4096, {origin, 0});
	SendWr waiting = make_wr(Op::send, {}, 0);
	SendWr behind = make_wr(Op::read, {in, 4096}, 4096, {origin, 4096});

	must_post(link.a, std::vector<SendWr>{before, waiting, behind});
	expect_send(env, link.a, before.id, "read before");
	none_sent(link.a, several_delays_ms, "completed without a receive");
	must_post(link.b, RecvWr{});
	expect_send(env, link.a, waiting.id, "send");
	expect_send(env, link.a, behind.id, "read behind");
	must_match(env.a, in, 0, 8192, 5, 0, "both reads");
}

static void peer_gone(Env &env, const SendWr &wr, Link &link)
{
	auto start = clock::now();

	must_post(link.a, std::vector<SendWr>{wr, wr});
	expect_send(env, link.a, wr.id, "to no queue pair",
		    IBV_WC_RETRY_EXC_ERR);
	/* Three silences of 16.8 ms at least: the first and two retries. */
	REQUIRE(ms_since(start) >= 33, "gave up after ", ms_since(start),
		" ms");
	expect_send(env, link.a, wr.id, "the request after it",
		    IBV_WC_WR_FLUSH_ERR);
	wait_state(env, link.a, IBV_QPS_ERR);
}

PV_TEST("retry.peer_destroyed",
	"requests to a destroyed QP end in RETRY_EXC_ERR, the rest is flushed")
{
	for (Op op : {Op::send, Op::write, Op::read}) {
		env.expect_async();
		Link link = connect(env, {.timeout = 12, .retry_count = 2});
		Mr mr = must_reg(env.a, {8192}),
		   target = must_reg(env.b, {8192});

		REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "destroy");
		peer_gone(env, make_wr(op, {mr, 0}, 8192, {target, 0}), link);
	}
}

/* A peer in that state does not answer. */
static void peer_silent(Env &env, ibv_qp_state state)
{
	env.expect_async();
	Link link = connect(env, {.timeout = 12, .retry_count = 2});
	Mr mr = must_reg(env.a, {64}), target = must_reg(env.b, {64}, 3);

	to_state(link.b, state);
	peer_gone(env, make_wr(Op::write, {mr, 0}, 64, {target, 0}), link);
	must_match(env.b, target, 0, 64, 3, 0, "memory of the silent peer");
}

PV_TEST("retry.peer_in_reset", "a QP in RESET does not answer: RETRY_EXC_ERR")
{
	peer_silent(env, IBV_QPS_RESET);
}

PV_TEST("retry.peer_in_error", "a QP in ERR does not answer: RETRY_EXC_ERR")
{
	peer_silent(env, IBV_QPS_ERR);
}

PV_TEST("retry.wrong_psn",
	"a peer that expects other PSNs never accepts: RETRY_EXC_ERR")
{
	env.expect_async();
	Link link = make_link(env, {.timeout = 12, .retry_count = 2});
	Mr mr = must_reg(env.a, {64}), target = must_reg(env.b, {64}, 3);

	bring_up(link);
	/* A starts again, 100 ahead of what B expects. */
	to_state(link.a, IBV_QPS_RESET);
	to_init(link, link.a);
	to_rtr(link, link.a);
	link.a.psn += 100;
	to_rts(link, link.a);
	must_send(env, link.a, make_wr(Op::write, {mr, 0}, 64, {target, 0}),
		  "ahead of the peer", IBV_WC_RETRY_EXC_ERR);
	must_match(env.b, target, 0, 64, 3, 0, "memory of the peer");
}

PV_TEST_LOCAL(
	"rnr.sleeper",
	"a receiver that sleeps and a sender that tries for ever, as often "
	"as it is allowed: a NAK in a millisecond at most")
{
	constexpr uint64_t first = 20; /* before the sender has slowed down */
	LinkSpec spec = {.rnr_retry = 7};
	spec.min_rnr_timer = 1; /* 10 us */
	Link link = connect(env, spec);
	SendWr wr = make_wr(Op::send, {}, 0);
	Moved naks(env.a, "rnr_nak_retry_err");

	must_post(link.a, wr);
	REQUIRE(eventually(env, [&] { return naks.by() > first; }),
		"there are no NAKs");
	const auto start = clock::now();
	const uint64_t before = naks.by();

	none_sent(link.a, 1000, "completed without a receive");
	const uint64_t count = naks.by() - before;
	const auto ms = uint64_t(ms_since(start)) + 1;

	REQUIRE(count > 0 && count <= ms + first, "NAKs: ", count, " in ", ms,
		" ms");
	must_post(link.b, RecvWr{7, {}});
	expect_send(env, link.a, wr.id, "send");
	expect_recv(env, link.b, 7, "receive");
}
