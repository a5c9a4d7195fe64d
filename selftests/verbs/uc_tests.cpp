// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The UC service: sends and writes of every length, and what IBA 9.8.2 says of
 * an end that acknowledges nothing: a message that cannot be taken is dropped,
 * the next one is not harmed.
 */
#include <cerrno>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr Op uc_ops[] = {Op::send, Op::send_imm, Op::write, Op::write_imm};

Link connect_uc(Env &env, LinkSpec spec = {})
{
	spec.type = IBV_QPT_UC;
	return connect(env, spec);
}

void uc_alive(Env &env, Link &link)
{
	Place at_a = {must_reg(env.a, {4096, 8}), 1};
	Place at_b = {must_reg(env.b, {4096, 16}), 3};

	exchange(env, link.a, link.b, Op::send_imm, at_a, at_b, 2051);
	exchange(env, link.b, link.a, Op::write_imm, at_b, at_a, 2051);
	env.a.destroy(Kind::mr, at_a.mr.id);
	env.b.destroy(Kind::mr, at_b.mr.id);
}

void sweep_uc(Env &env, Op op)
{
	int64_t shift = 0;

	for (int mtu : {256, 1024, 4096}) {
		LinkSpec spec = {.mtu = std::min(mtu, common_mtu(env))};
		Link link = connect_uc(env, spec);
		uint64_t m = uint64_t(spec.mtu);
		Place from = {must_reg(env.a, {17 * m + 64, 4091}), 0},
		      to = {must_reg(env.b, {17 * m + 64, 4091}), 0};

		for (uint64_t length :
		     {uint64_t(0), uint64_t(1), uint64_t(3), m - 1, m, m + 1,
		      2 * m - 1, 2 * m, 2 * m + 1, 5 * m + 3, 16 * m}) {
			from.offset = shift % 7;
			to.offset = 11 + shift++ % 5;
			exchange(env, link.a, link.b, op, from, to, length);
		}
		exchange(env, link.b, link.a, op, to, from, 3 * m + 1);
	}
}

struct RegisterUcSweeps {
	RegisterUcSweeps()
	{
		for (Op op : uc_ops)
			Register(str("uc.", word_of(op)),
				 str(name_of(op), " of every kind of length"),
				 Needs::any,
				 [op](Env &env) { sweep_uc(env, op); });
	}
} register_uc_sweeps;

/* A message that B cannot take in any way; then the pair works as before. */
void dropped(Env &env, Link &link, const SendWr &wr, const char *what)
{
	Link behind = connect(env);

	must_send(env, link.a, wr, what);
	/* It is dropped by the time that a message behind it is answered. */
	must_post(behind.b, RecvWr{});
	must_send(env, behind.a, make_wr(Op::send, {}, 0), what);
	wait_recv(env, behind.b, what);
	uc_alive(env, link);
	REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_RTS, what);
	REQUIRE_EQ(int(state_of(link.b)), IBV_QPS_RTS, what);
}

/* Refused by the other end's memory: B's region stays as it is. */
void write_dropped(Env &env, Link &link, SendWr wr, const Mr &target,
		   const char *what)
{
	env.b.fill(target.id, 0, target.length, 9, 0);
	dropped(env, link, wr, what);
	must_match(env.b, target, 0, target.length, 9, 0, what);
}

/* A posted receive that is at fault: it says so and B goes to Error. */
void bad_receive(Env &env, Link &link, const RecvWr &recv, ibv_wc_status status,
		 const SendWr &wr)
{
	env.expect_async();
	must_post(link.b, std::vector<RecvWr>{recv, {77, {}}});
	must_send(env, link.a, wr, "the sender knows nothing of it");
	expect_recv(env, link.b, recv.id, "receive", status);
	expect_recv(env, link.b, 77, "the receive behind it",
		    IBV_WC_WR_FLUSH_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
	REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_RTS, "the sender");
}

} // namespace

PV_TEST("uc.large", "a large send and a large write")
{
	/* Nothing slows a UC sender down: all of it must fit the queue of a
	 * receiver that is busy, which holds 1024 packets. */
	uint64_t length = std::min<uint64_t>(env.options.large, 2 << 20);
	Link link = connect_uc(env);
	Place from = {must_reg(env.a, {length + 1, 1}), 1},
	      to = {must_reg(env.b, {length + 3, 2}), 3};

	if (env.options.two_machines)
		throw Skip("a wire may lose a packet of it");
	exchange(env, link.a, link.b, Op::send, from, to, length);
	exchange(env, link.a, link.b, Op::write_imm, from, to, length);
}

PV_TEST("uc.inline", "inline data by send and by write")
{
	Link link = connect_uc(env, {.cap = inline_cap(64)});
	Place from = {must_reg(env.a, {128}), 3},
	      to = {must_reg(env.b, {128}), 5};

	for (Op op : uc_ops)
		for (uint64_t length : {0, 1, 7, 63, 64})
			exchange(env, link.a, link.b, op, from, to, length,
				 IBV_SEND_INLINE);
}

PV_TEST("uc.order", "200 messages of all kinds arrive once and in order")
{
	constexpr uint32_t count = 200, size = 3001;

	Link link =
		connect(env, {.type = IBV_QPT_UC, .cap = {256, 256, 4, 4, 0}});
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {count * size}, seed),
	   in = must_reg(env.b, {count * size});
	std::vector<RecvWr> recvs = numbered_receives(0, count);

	for (uint32_t i = 0; i < count; i += 2)
		recvs[i].sges = {{in.id, int64_t(i) * size, size, 0}};
	must_post(link.b, recvs);
	for (uint32_t i = 0; i < count; i++) {
		Place at = {out, int64_t(i) * size};
		SendWr wr = make_wr(i % 2 ? Op::write_imm : Op::send_imm, at,
				    size, {in, int64_t(i) * size});

		wr.imm = i;
		must_post(link.a, wr);
	}
	wait_completions(env, link.a, link.a.send_cq, count, "sends");
	auto wcs = wait_completions(env, link.b, link.b.recv_cq, count,
				    "receives");
	for (uint32_t i = 0; i < count; i++) {
		check_wc(wcs[i], i, IBV_WC_SUCCESS, "receives");
		REQUIRE_EQ(wcs[i].imm, i, "immediate data");
	}
	must_match(env.b, in, 0, count * size, seed, 0, "all of it");
}

PV_TEST("uc.no_receive", "sends without a receive are lost, later ones arrive")
{
	Link link = connect_uc(env);
	Mr out = must_reg(env.a, {50000}), in = must_reg(env.b, {50000});

	dropped(env, link, make_wr(Op::send, {}, 0), "empty send");
	dropped(env, link, make_wr(Op::send_imm, {out, 0}, 50000), "long send");
	dropped(env, link, make_wr(Op::write_imm, {out, 0}, 100, {in, 0}),
		"write with immediate");
}

PV_TEST("uc.write_refused",
	"a write that may not be changes nothing and harms nothing")
{
	Link link = connect_uc(env, {.access = IBV_ACCESS_REMOTE_WRITE});
	Mr out = must_reg(env.a, {50000});
	Mr in = must_reg(env.b, {50000}),
	   closed = must_reg(env.b, {50000, 0, IBV_ACCESS_LOCAL_WRITE});
	SendWr wr = make_wr(Op::write, {out, 0}, 50000, {in, 0});

	wr.rkey ^= 0x100;
	write_dropped(env, link, wr, in, "wrong rkey");
	wr = make_wr(Op::write, {out, 0}, 50000, {in, 1});
	write_dropped(env, link, wr, in, "beyond the end");
	wr = make_wr(Op::write, {out, 0}, 50000, {closed, 0});
	write_dropped(env, link, wr, closed, "no right to write");
}

PV_TEST("uc.write_right", "a QP that does not allow writes drops them")
{
	Link link = connect_uc(env, {.access = 0});
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64}, 9);
	SendWr wr = make_wr(Op::write, {out, 0}, 64, {in, 0});
	SendWr marker = make_wr(Op::send, {}, 0);

	must_post(link.b, RecvWr{5, {}});
	must_post(link.a, std::vector<SendWr>{wr, marker});
	wait_completions(env, link.a, link.a.send_cq, 2, "write and send");
	expect_recv(env, link.b, 5, "send behind it");
	must_match(env.b, in, 0, 64, 9, 0, "memory");
}

PV_TEST("uc.receive_too_small",
	"a message that is longer than its receive is lost, and the receive "
	"is there for the next one")
{
	Link link = connect_uc(env);
	const uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {9000}, seed), in = must_reg(env.b, {9000});

	must_post(link.b, RecvWr{4, {{in.id, 0, 8999, 0}}});
	for (uint64_t length : {9000, 9000, 8999}) {
		must_send(env, link.a, make_wr(Op::send, {out, 0}, length),
			  "the sender knows nothing of it");
	}
	Wc wc = expect_recv(env, link.b, 4, "receive");
	REQUIRE_EQ(wc.byte_len, 8999u, "of the one that fits");
	must_match(env.b, in, 0, 8999, seed, 0, "data");
	uc_alive(env, link);
}

PV_TEST("uc.receive_bad_key", "a receive with a bad key ends the receiver")
{
	Link link = connect_uc(env);
	Mr out = must_reg(env.a, {9000}), in = must_reg(env.b, {9000});

	bad_receive(env, link, {4, {{in.id, 0, 9000, 0x100}}},
		    IBV_WC_LOC_PROT_ERR, make_wr(Op::send, {out, 0}, 9000));
}

PV_TEST("uc.not_allowed", "reads and atomics are refused when posted")
{
	Link link = connect_uc(env);
	Mr mr = must_reg(env.a, {64}), target = must_reg(env.b, {64});
	SendWr wr = make_wr(Op::read, {mr, 0}, 8, {target, 0});

	for (ibv_wr_opcode op :
	     {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	      IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV}) {
		wr.opcode = op;
		must_not_post(link.a, std::vector{wr}, EINVAL, 0,
			      str("opcode ", int(op)));
	}
	uc_alive(env, link);
}

PV_TEST("uc.sqe", "a bad send stops sending only; RTS brings it back")
{
	Link link = connect_uc(env);
	Place at_a = {must_reg(env.a, {20000}), 0},
	      at_b = {must_reg(env.b, {20000}), 0};
	SendWr bad = make_wr(Op::send, at_a, 20000);
	SendWr behind = make_wr(Op::send, at_a, 20);

	bad.sges[0].key_xor = 0x100;
	must_post(link.a, std::vector<SendWr>{bad, behind});
	expect_send(env, link.a, bad.id, "bad", IBV_WC_LOC_PROT_ERR);
	expect_send(env, link.a, behind.id, "behind it", IBV_WC_WR_FLUSH_ERR);
	REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_SQE, "state");
	/* Receiving goes on. */
	exchange(env, link.b, link.a, Op::send, at_b, at_a, 20000);
	must_send(env, link.a, behind, "posted in SQE", IBV_WC_WR_FLUSH_ERR);
	to_state(link.a, IBV_QPS_RTS);
	exchange(env, link.a, link.b, Op::send, at_a, at_b, 20000);
	uc_alive(env, link);
}

PV_TEST("uc.psn_jump",
	"the sender starts anew at another PSN: its next message is taken")
{
	Link link = connect_uc(env);
	Place at_a = {must_reg(env.a, {20000}), 0},
	      at_b = {must_reg(env.b, {20000}), 0};

	for (uint32_t jump : {1u, 0x800000u, 0xffffffu}) {
		to_state(link.a, IBV_QPS_RESET);
		to_init(link, link.a);
		to_rtr(link, link.a);
		link.a.psn = (link.a.psn + jump) & 0xffffff;
		to_rts(link, link.a);
		exchange(env, link.a, link.b, Op::send, at_a, at_b, 20000);
	}
}

PV_TEST("uc.states", "attributes that each step needs, and those of RC alone")
{
	LinkSpec spec = {.type = IBV_QPT_UC};
	Link link = make_link(env, spec);
	int rtr = mask_for(IBV_QPT_UC, rtr_mask),
	    rts = mask_for(IBV_QPT_UC, rts_mask);
	ibv_qp_attr to_rtr = rtr_attr(link, link.a, link.b),
		    to_rts = rts_attr(link, link.a);

	must_modify(link.a, init_attr(spec), init_mask, "INIT");
	for (int bit :
	     {IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_DEST_QPN, IBV_QP_RQ_PSN})
		REQUIRE(env.a.modify(link.a.qp.id, to_rtr, rtr & ~bit),
			"RTR without attribute ", bit);
	for (int bit : {IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QP_MIN_RNR_TIMER})
		REQUIRE(env.a.modify(link.a.qp.id, to_rtr, rtr | bit),
			"RTR with attribute ", bit);
	must_modify(link.a, to_rtr, rtr, "RTR");
	REQUIRE(env.a.modify(link.a.qp.id, to_rts, rts & ~IBV_QP_SQ_PSN),
		"RTS without a PSN");
	for (int bit : {IBV_QP_TIMEOUT, IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY,
			IBV_QP_MAX_QP_RD_ATOMIC})
		REQUIRE(env.a.modify(link.a.qp.id, to_rts, rts | bit),
			"RTS with attribute ", bit);
	must_modify(link.a, to_rts, rts, "RTS");
	REQUIRE_EQ(int(state_of(link.a)), IBV_QPS_RTS, "state");
}

PV_TEST("uc.flush", "in Error all that is posted is flushed, on both queues")
{
	Link link = connect_uc(env);
	SendWr wr = make_wr(Op::send, {}, 0);

	must_post(link.a, std::vector<RecvWr>{{1, {}}, {2, {}}});
	to_state(link.a, IBV_QPS_ERR);
	must_post(link.a, wr);
	must_post(link.a, RecvWr{3, {}});
	expect_send(env, link.a, wr.id, "send", IBV_WC_WR_FLUSH_ERR);
	for (uint64_t id : {1, 2, 3})
		expect_recv(env, link.a, id, "receive", IBV_WC_WR_FLUSH_ERR);
}

PV_TEST("uc.drain", "SQD lets begun messages end and holds the others back")
{
	Link link = connect_uc(env);
	Place at_a = {must_reg(env.a, {20000}), 0},
	      at_b = {must_reg(env.b, {20000}), 0};
	SendWr held = make_wr(Op::send_imm, at_a, 20000);

	exchange(env, link.a, link.b, Op::send, at_a, at_b, 20000);
	to_sqd(link.a);
	must_event(env, env.a, IBV_EVENT_SQ_DRAINED, link.a.qp.id);
	must_post(link.b, RecvWr{6, {{at_b.mr.id, 0, 20000, 0}}});
	must_post(link.a, held);
	none_sent(link.a, 20, "sent in SQD");
	to_state(link.a, IBV_QPS_RTS);
	expect_send(env, link.a, held.id, "after SQD");
	expect_recv(env, link.b, 6, "receive");
}
