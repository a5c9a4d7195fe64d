// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Many requests at once: order, fence, signalling, PSN wrap, windows deeper
 * than the queues, outstanding reads and atomics, several queue pairs.
 */
#include <algorithm>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

SendWr atomic_wr(ibv_wr_opcode opcode, const Mr &result, int64_t offset,
		 const Mr &target, int64_t target_offset, uint64_t compare_add,
		 uint64_t swap = 0)
{
	SendWr wr =
		make_wr(Op::read, {result, offset}, 8, {target, target_offset});

	wr.opcode = opcode;
	wr.compare_add = compare_add;
	wr.swap = swap;
	return wr;
}

uint64_t run_atomic(Env &env, Link &link, const SendWr &wr, const Mr &result)
{
	must_post(link.a, wr);
	Wc wc = expect_send(env, link.a, wr.id, "atomic");
	REQUIRE_EQ(int(wc.opcode),
		   wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP :
							    IBV_WC_FETCH_ADD,
		   "atomic opcode");
	return env.a.load(result.id, wr.sges[0].offset);
}

} // namespace

PV_TEST("atomic.fetch_and_add",
	"returns the old value, adds with wrap, touches eight bytes only")
{
	Link link = connect(env);
	Mr result = must_reg(env.a, {4096}, 4),
	   target = must_reg(env.b, {4096}, 3);
	uint64_t value = 0x1122334455667788, addends[] = {0,
							  1,
							  0xff,
							  0xffffffffffffffff,
							  0x8000000000000000,
							  1ull << 32};

	env.b.store(target.id, 64, value);
	for (uint64_t addend : addends) {
		SendWr wr = atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, result, 24,
				      target, 64, addend);

		REQUIRE_EQ(run_atomic(env, link, wr, result), value,
			   "old value");
		value += addend;
		REQUIRE_EQ(env.b.load(target.id, 64), value, "new value");
	}
	must_match(env.b, target, 0, 64, 3, 0, "before the target");
	must_match(env.b, target, 72, 4024, 3, 72, "after the target");
	must_match(env.a, result, 0, 24, 4, 0, "before the result");
	must_match(env.a, result, 32, 4064, 4, 32, "after the result");
}

PV_TEST("atomic.compare_and_swap",
	"swaps only when equal, always returns the old value")
{
	Link link = connect(env);
	Mr result = must_reg(env.a, {4096}),
	   target = must_reg(env.b, {4096}, 3);
	uint64_t value = 0xfedcba9876543210;

	env.b.store(target.id, 4088, value);
	auto swap = [&](uint64_t compare, uint64_t next) {
		return run_atomic(env, link,
				  atomic_wr(IBV_WR_ATOMIC_CMP_AND_SWP, result,
					    0, target, 4088, compare, next),
				  result);
	};

	REQUIRE_EQ(swap(value + 1, 7), value, "old value, unequal");
	REQUIRE_EQ(env.b.load(target.id, 4088), value, "unequal: unchanged");
	REQUIRE_EQ(swap(value ^ (1ull << 63), 7), value, "top bit differs");
	REQUIRE_EQ(env.b.load(target.id, 4088), value, "unequal: unchanged");
	REQUIRE_EQ(swap(value, 42), value, "old value, equal");
	REQUIRE_EQ(env.b.load(target.id, 4088), 42u, "equal: swapped");
	REQUIRE_EQ(swap(42, 0), 42u, "swap back");
	must_match(env.b, target, 0, 4088, 3, 0, "before the target");
}

PV_TEST("atomic.scattered_result",
	"an atomic's eight bytes may be scattered over odd entries")
{
	Link link = connect(env);
	Mr result = must_reg(env.a, {4096}), target = must_reg(env.b, {4096});
	SendWr wr =
		atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, result, 0, target, 8, 5);
	uint64_t value = 0x0102030405060708, got;

	env.b.store(target.id, 8, value);
	wr.sges = {{result.id, 1, 3, 0}, {result.id, 100, 5, 0}};
	must_send(env, link.a, wr, "atomic");
	got = (env.a.load(result.id, 1) & 0xffffff) |
	      (env.a.load(result.id, 100) & 0xffffffffff) << 24;
	REQUIRE_EQ(got, value, "result put together");
}

PV_TEST("atomic.many_outstanding",
	"a deep queue of adds: each result is the running sum, once")
{
	Link link = connect(env);
	constexpr int count = 60;
	Mr result = must_reg(env.a, {count * 8}),
	   target = must_reg(env.b, {64});
	std::vector<SendWr> wrs;
	uint64_t sum = 100;

	env.b.store(target.id, 0, sum);
	for (int i = 0; i < count; i++)
		wrs.push_back(atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, result,
					i * 8, target, 0, uint64_t(i) * i + 1));
	must_post(link.a, wrs);
	expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "atomics");
	for (int i = 0; i < count; i++) {
		REQUIRE_EQ(env.a.load(result.id, i * 8), sum, "result ", i);
		sum += uint64_t(i) * i + 1;
	}
	REQUIRE_EQ(env.b.load(target.id, 0), sum, "final sum");
}

PV_TEST("order.fence_after_read",
	"a fenced send carries what the read before it brought")
{
	Link link = connect(env);
	constexpr uint32_t size = 60001;
	Mr pulled = must_reg(env.a, {size}), origin = must_reg(env.b, {size});
	Mr inbox = must_reg(env.b, {size});

	for (int round = 0; round < 5; round++) {
		uint64_t seed = env.seed();
		SendWr read = make_wr(Op::read, {pulled, 0}, size, {origin, 0});
		SendWr send = make_wr(Op::send, {pulled, 0}, size);

		env.a.fill(pulled.id, 0, size, 1, 0);
		env.b.fill(inbox.id, 0, size, 2, 0);
		env.b.fill(origin.id, 0, size, seed, 0);
		RecvWr recv = {.sges = {{inbox.id, 0, size, 0}}};
		send.flags |= IBV_SEND_FENCE;
		must_post(link.b, recv);
		must_post(link.a, std::vector<SendWr>{read, send});
		expect_send(env, link.a, read.id, "read first");
		expect_send(env, link.a, send.id, "send");
		wait_recv(env, link.b, "receive");
		must_match(env.b, inbox, 0, size, seed, 0, "fenced send");
	}
}

PV_TEST("order.fence_after_atomic",
	"a fenced write carries the result of the atomic before it")
{
	Link link = connect(env);
	Mr result = must_reg(env.a, {64}), target = must_reg(env.b, {64});
	SendWr add =
		atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, result, 0, target, 0, 1);
	SendWr write = make_wr(Op::write, {result, 0}, 8, {target, 32});

	env.a.store(result.id, 0, 0);
	env.b.store(target.id, 0, 0xabcdef0123456789);
	write.flags |= IBV_SEND_FENCE;
	must_post(link.a, std::vector<SendWr>{add, write});
	wait_completions(env, link.a, link.a.send_cq, 2, "atomic, write");
	REQUIRE_EQ(env.b.load(target.id, 32), 0xabcdef0123456789,
		   "copied value");
}

PV_TEST("order.write_then_send",
	"when a send has arrived, the write before it is in memory")
{
	Link link = connect(env);
	constexpr uint32_t size = 30011;
	Mr out = must_reg(env.a, {size}), in = must_reg(env.b, {size});

	for (int round = 0; round < 5; round++) {
		uint64_t seed = env.seed();
		SendWr write = make_wr(Op::write, {out, 0}, size, {in, 0});
		SendWr send = make_wr(Op::send, {}, 0);

		env.a.fill(out.id, 0, size, seed, 0);
		must_post(link.b, RecvWr{});
		must_post(link.a, std::vector<SendWr>{write, send});
		wait_recv(env, link.b, "receive");
		must_match(env.b, in, 0, size, seed, 0, "written before");
		wait_completions(env, link.a, link.a.send_cq, 2, "both");
	}
}

PV_TEST("order.read_after_write",
	"a read returns what the write posted before it wrote")
{
	Link link = connect(env);
	constexpr uint32_t size = 20003;
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {size}, seed), back = must_reg(env.a, {size});
	Mr there = must_reg(env.b, {size});

	must_post(link.a,
		  std::vector<SendWr>{
			  make_wr(Op::write, {out, 0}, size, {there, 0}),
			  make_wr(Op::read, {back, 0}, size, {there, 0})});
	wait_completions(env, link.a, link.a.send_cq, 2, "write, read");
	must_match(env.a, back, 0, size, seed, 0, "read back");
}

PV_TEST("order.pipeline",
	"2000 small sends through queues of 32: none lost, doubled or reordered")
{
	constexpr uint32_t total = 2000, depth = 32, size = 50;

	Link link = connect(env, {.cap = {depth, depth, 1, 1, 0}});
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {total * size}, seed),
	   in = must_reg(env.b, {total * size});
	uint32_t posted = 0, sent = 0, offered = 0, received = 0;

	while (received < total || sent < total) {
		std::vector<RecvWr> recvs;
		std::vector<SendWr> sends;

		for (; offered < total && offered - received < depth; offered++)
			recvs.push_back(
				{offered,
				 {{in.id, int64_t(offered) * size, size, 0}}});
		if (!recvs.empty())
			must_post(link.b, recvs);
		for (; posted < offered && posted - sent < depth; posted++) {
			SendWr wr = make_wr(Op::send_imm,
					    {out, int64_t(posted) * size},
					    size);

			wr.id = wr.imm = posted;
			sends.push_back(wr);
		}
		if (!sends.empty())
			must_post(link.a, sends);
		for (const Wc &wc :
		     wait_completions(env, link.b, link.b.recv_cq,
				      offered - received, "in")) {
			check_wc(wc, received, IBV_WC_SUCCESS, "receive order");
			REQUIRE_EQ(wc.imm, received, "message order");
			received++;
		}
		for (const Wc &wc : wait_completions(
			     env, link.a, link.a.send_cq, posted - sent, "out"))
			check_wc(wc, sent++, IBV_WC_SUCCESS, "send order");
	}
	must_match(env.b, in, 0, total * size, seed, 0, "all messages");
}

PV_TEST("order.signalling_mix",
	"only signalled requests complete, in order, and all slots come free")
{
	constexpr uint32_t depth = 16;

	Link link = connect(env, {.cap = {depth, depth, 1, 1, 0}});
	Mr out = must_reg(env.a, {4096}), in = must_reg(env.b, {4096});
	uint32_t slots = link.a.qp.cap.max_send_wr;
	uint64_t id = 0;

	/* Whole queues full, signalled at different places but the last. */
	for (uint32_t every : {1u, 2u, 3u, 7u, slots}) {
		std::vector<SendWr> wrs;
		std::vector<uint64_t> expected;

		for (uint32_t i = 1; i <= slots; i++) {
			SendWr wr = make_wr(Op::write, {out, 0}, 10, {in, 0});
			bool signal = i % every == 0 || i == slots;

			wr.id = ++id;
			wr.flags = signal ? IBV_SEND_SIGNALED : 0;
			if (signal)
				expected.push_back(id);
			wrs.push_back(wr);
		}
		must_post(link.a, wrs);
		expect_all(env, link.a, link.a.send_cq, expected, "mix");
		no_more(link.a, "unsignalled requests");
	}
}

PV_TEST("order.signal_all",
	"a queue pair with sq_sig_all completes unsignalled requests too")
{
	Link link = connect(env, {.signal_all = true});
	Mr out = must_reg(env.a, {4096}), in = must_reg(env.b, {4096});
	std::vector<SendWr> wrs;

	for (int i = 0; i < 10; i++) {
		wrs.push_back(make_wr(Op::write, {out, 0}, 10, {in, 0}));
		wrs.back().flags = i % 2 ? IBV_SEND_SIGNALED : 0;
	}
	must_post(link.a, wrs);
	expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "signal_all");
}

static void wrap(Env &env, uint32_t psn)
{
	LinkSpec spec;

	spec.psn_a = spec.psn_b = psn;
	Link link = connect(env, spec);
	uint64_t size = uint64_t(link.mtu) * 6 + 5;
	Place local = {must_reg(env.a, {size + 64, 2}), 7};
	Place remote = {must_reg(env.b, {size + 64, 3}), 11};

	for (int round = 0; round < 3; round++)
		for (Op op : {Op::read, Op::send, Op::write_imm, Op::write})
			exchange(env, link.a, link.b, op, local, remote, size);
	exchange(env, link.b, link.a, Op::read, remote, local, size);
	exchange(env, link.b, link.a, Op::send, remote, local, size);
	Mr result = must_reg(env.a, {64}), target = must_reg(env.b, {64});
	env.b.store(target.id, 0, 9);
	REQUIRE_EQ(run_atomic(env, link,
			      atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, result, 0,
					target, 0, 1),
			      result),
		   9u, "atomic after the wrap");
}

PV_TEST("order.psn_wrap",
	"all operations across the end of the 24-bit PSN space, at each distance")
{
	for (uint32_t before = 0; before <= 8; before++)
		wrap(env, 0xffffff - before);
}

PV_TEST("order.psn_wrap_atomic", "atomics with the last PSNs and the first")
{
	Link link = connect(env, {.psn_a = 0xfffffe});
	Mr result = must_reg(env.a, {64}), target = must_reg(env.b, {64});

	env.b.store(target.id, 8, 0);
	for (uint64_t i = 0; i < 5; i++)
		REQUIRE_EQ(run_atomic(env, link,
				      atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD,
						result, 0, target, 8, 1),
				      result),
			   i, "running count");
}

static void many_reads(Env &env, uint8_t rd_atomic)
{
	constexpr uint32_t count = 48, size = 9001;

	Link link = connect(env, {.rd_atomic = rd_atomic});
	Mr in = must_reg(env.a, {count * size, 1});
	uint64_t seed = env.seed();
	Mr origin = must_reg(env.b, {count * size, 4095}, seed);
	std::vector<SendWr> wrs;

	for (uint32_t i = 0; i < count; i++) {
		int64_t at = int64_t(i) * size;

		wrs.push_back(make_wr(Op::read, {in, at}, size, {origin, at}));
	}
	must_post(link.a, wrs);
	expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "reads in order");
	must_match(env.a, in, 0, count * size, seed, 0, "data of all reads");
}

PV_TEST("order.reads_one_outstanding",
	"48 reads with max_rd_atomic 1 wait for each other and all complete")
{
	many_reads(env, 1);
}

PV_TEST("order.reads_max_outstanding",
	"48 reads with the largest max_rd_atomic both ends offer")
{
	int most = std::min(env.info_a.device.max_qp_init_rd_atom,
			    env.info_b.device.max_qp_rd_atom);

	many_reads(env, uint8_t(std::min(most, 255)));
}

PV_TEST("order.mixed_operations",
	"reads, atomics, writes and sends interleaved in one queue, all right")
{
	Link link = connect(env);
	constexpr uint32_t rounds = 12, size = 5003;
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {rounds * size}, seed),
	   back = must_reg(env.a, {rounds * size});
	Mr sums = must_reg(env.a, {rounds * 8});
	Mr written = must_reg(env.b, {rounds * size}),
	   inbox = must_reg(env.b, {rounds * size});
	Mr counter = must_reg(env.b, {8});
	std::vector<SendWr> wrs;

	env.b.store(counter.id, 0, 1000);
	for (uint32_t i = 0; i < rounds; i++) {
		int64_t at = int64_t(i) * size;

		must_post(link.b, RecvWr{i, {{inbox.id, at, size, 0}}});
		wrs.push_back(
			make_wr(Op::write, {out, at}, size, {written, at}));
		wrs.push_back(
			make_wr(Op::read, {back, at}, size, {written, at}));
		wrs.push_back(make_wr(Op::send, {out, at}, size));
		wrs.push_back(atomic_wr(IBV_WR_ATOMIC_FETCH_AND_ADD, sums,
					i * 8, counter, 0, 3));
	}
	must_post(link.a, wrs);
	expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "mixed order");
	wait_completions(env, link.b, link.b.recv_cq, rounds, "receives");
	must_match(env.b, written, 0, rounds * size, seed, 0, "written");
	must_match(env.b, inbox, 0, rounds * size, seed, 0, "received");
	must_match(env.a, back, 0, rounds * size, seed, 0, "read back");
	for (uint32_t i = 0; i < rounds; i++)
		REQUIRE_EQ(env.a.load(sums.id, i * 8), 1000 + 3 * i, "sum ", i);
}

PV_TEST("order.many_qps_one_cq",
	"12 queue pairs share one CQ: each message reaches its own peer")
{
	constexpr uint32_t pairs = 12, size = 6007;
	std::vector<Link> links;
	LinkSpec spec = {.cq_a = env.a.create_cq(256, false),
			 .cq_b = env.b.create_cq(256, false)};
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {pairs * size}, seed),
	   in = must_reg(env.b, {pairs * size});

	for (uint32_t i = 0; i < pairs; i++) {
		spec.psn_a = 0x1000 * i;
		links.push_back(connect(env, spec));
		must_post(links[i].b,
			  RecvWr{i, {{in.id, int64_t(i) * size, size, 0}}});
	}
	for (uint32_t i = 0; i < pairs; i++) {
		SendWr wr =
			make_wr(Op::send_imm, {out, int64_t(i) * size}, size);

		wr.id = wr.imm = i;
		must_post(links[i].a, wr);
	}
	std::vector<bool> seen(pairs);
	for (const Wc &wc :
	     wait_completions(env, links[0].b, spec.cq_b, pairs, "receives")) {
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "receive");
		REQUIRE(wc.id < pairs && !seen[wc.id], "wr_id ", wc.id);
		seen[wc.id] = true;
		REQUIRE_EQ(wc.imm, uint32_t(wc.id), "message of this pair");
		REQUIRE_EQ(wc.qp_number, links[wc.id].b.qp.number, "qp_num");
	}
	for (const Wc &wc :
	     wait_completions(env, links[0].a, spec.cq_a, pairs, "sends"))
		REQUIRE_EQ(wc.qp_number, links[wc.id].a.qp.number, "qp_num");
	must_match(env.b, in, 0, pairs * size, seed, 0, "all messages");
}

PV_TEST("data.padding",
	"lengths that are no multiple of four are padded on the wire only")
{
	Link link = connect(env);
	Place local = {must_reg(env.a, {512, 1}), 3};
	Place remote = {must_reg(env.b, {512, 2}), 5};

	for (uint64_t length = 1; length <= 17; length++)
		for (Op op : {Op::send, Op::write, Op::read})
			exchange(env, link.a, link.b, op, local, remote,
				 length);
}
