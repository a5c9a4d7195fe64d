// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Lists of short messages, which go as coalesced packets to an adapter of the same machine: each message
 * arrives once, in order, at its place, and an error ends the list where it belongs.
 */
#include "link.h"
#include "manager.h"
#include "paged.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint32_t longest = 256;
constexpr uint32_t most = 60; /* of a list; more than a coalesced packet has */

/* Lengths around borders of words, from nothing to the longest. */
uint32_t length_of(uint32_t i)
{
	const uint32_t lengths[] = {1,	64,	     2,	  longest, 3,
				    63, longest - 1, 100, 65,	   128,
				    5,	200,	     255, 7};

	return lengths[i % std::size(lengths)];
}

/* A list of one message for each slot of two regions, of those lengths. */
std::vector<SendWr> list_of(Op op, const Mr &out, const Mr &in, uint32_t count)
{
	std::vector<SendWr> wrs;

	for (uint32_t i = 0; i < count; i++) {
		int64_t at = int64_t(i) * longest;

		wrs.push_back(make_wr(op, {out, at}, length_of(i), {in, at}));
		wrs.back().imm = i;
	}
	return wrs;
}

/* The slots have the messages of a list, and nothing beside them. */
void must_hold(Env &env, const Mr &in, uint32_t count, uint64_t seed,
	       uint64_t before)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t at = int64_t(i) * longest;
		uint32_t length = length_of(i);

		must_match(env.b, in, at, length, seed, at, "message");
		must_match(env.b, in, at + length, longest - length, before,
			   at + length, "behind the message");
	}
}

void give_receives(Link &link, const Mr &in, uint32_t first, uint32_t count)
{
	std::vector<RecvWr> recvs;

	for (uint32_t i = first; i < first + count; i++)
		recvs.push_back(
			{i, {{in.id, int64_t(i) * longest, longest, 0}}});
	must_post(link.b, recvs);
}

void expect_messages(Env &env, Link &link, uint32_t first, uint32_t count)
{
	uint32_t i = first;

	for (const Wc &wc :
	     wait_completions(env, link.b, link.b.recv_cq, count, "receives")) {
		check_wc(wc, i, IBV_WC_SUCCESS, "receive order");
		REQUIRE_EQ(wc.imm, i, "order of messages");
		REQUIRE_EQ(wc.byte_len, length_of(i), "byte_len");
		i++;
	}
}

/* Two regions of slots, the first one with a pattern. */
struct Slots {
	explicit Slots(Env &env)
		: seed(env.seed()),
		  out(must_reg(env.a, {most * longest}, seed)),
		  in(must_reg(env.b, {most * longest}, 1))
	{
	}

	/* Another pattern, and none of it there yet. */
	void renew(Env &env)
	{
		seed = env.seed();
		env.a.fill(out.id, 0, most * longest, seed, 0);
		env.b.fill(in.id, 0, most * longest, 1, 0);
	}

	uint64_t seed;
	Mr out;
	Mr in;
};

/* Post @count writes, of which @spoil makes the one behind @good bad, and look at all. */
void fail_in_the_middle(Env &env, uint32_t count, uint32_t good,
			void (*spoil)(SendWr &), ibv_wc_status status)
{
	env.expect_async();
	Link link = connect(env);
	Slots slots(env);
	auto wrs = list_of(Op::write, slots.out, slots.in, count);
	std::vector<uint64_t> ids = ids_of(wrs);

	spoil(wrs[good]);
	must_post(link.a, wrs);
	expect_all(env, link.a, link.a.send_cq,
		   {ids.begin(), ids.begin() + good}, "before the wrong key");
	expect_send(env, link.a, ids[good], "wrong key", status);
	expect_all(env, link.a, link.a.send_cq,
		   {ids.begin() + good + 1, ids.end()}, "behind it",
		   IBV_WC_WR_FLUSH_ERR);
	must_hold(env, slots.in, good, slots.seed, 1);
	must_match(env.b, slots.in, good * longest, (count - good) * longest, 1,
		   good * longest, "not written");
}

/* The counter of an end's page faults. rdma_rxe of newer kernels pages, but does not count. */
Moved watch_faults(Host &host)
{
	try {
		return Moved(host, "odp_faults");
	} catch (const common::Missing &missing) {
		throw Skip(missing.what());
	}
}

} // namespace

PV_TEST("coalesced.writes", "lists of short writes of all lengths, many times")
{
	Link link = connect(env);
	Slots slots(env);

	for (int round = 0; round < 8; round++) {
		slots.renew(env);
		auto wrs = list_of(Op::write, slots.out, slots.in, most);

		must_post(link.a, wrs);
		expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "writes");
		must_hold(env, slots.in, most, slots.seed, 1);
	}
	no_more(link.b, "writes");
}

PV_TEST("coalesced.sends",
	"lists of short sends: in order, each to its receive")
{
	Link link = connect(env);
	Slots slots(env);

	for (int round = 0; round < 8; round++) {
		slots.renew(env);
		give_receives(link, slots.in, 0, most);
		auto wrs = list_of(Op::send_imm, slots.out, slots.in, most);

		must_post(link.a, wrs);
		expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "sends");
		expect_messages(env, link, 0, most);
		must_hold(env, slots.in, most, slots.seed, 1);
	}
	no_more(link.b, "sends");
}

PV_TEST_LOCAL("coalesced.empty", "lists of sends without a byte: none is lost")
{
	Link link = connect(env);
	Moved lost(env.a, "local_ack_timeout_err");

	for (int round = 0; round < 8; round++) {
		std::vector<SendWr> wrs;

		for (uint32_t i = 0; i < most; i++)
			wrs.push_back(make_wr(Op::send, {}, 0));
		must_post(link.b, numbered_receives(0, most));
		must_post(link.a, wrs);
		expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "sends");
		expect_all(env, link.b, link.b.recv_cq, numbers(0, most),
			   "receives");
	}
	REQUIRE_EQ(lost.by(), 0, "expiries of the loss timer");
}

PV_TEST("coalesced.mixed",
	"short messages with reads, atomics and long writes between them")
{
	constexpr uint32_t rounds = 12, size = 20001;
	Link link = connect(env);
	Slots slots(env);
	uint64_t seed = env.seed();
	Mr long_out = must_reg(env.a, {size}, seed),
	   long_in = must_reg(env.b, {rounds * size}, 1);
	Mr back = must_reg(env.a, {rounds * longest}, 1),
	   sums = must_reg(env.a, {rounds * 8}), sum = must_reg(env.b, {64});
	std::vector<SendWr> wrs;

	env.b.store(sum.id, 0, 0);
	for (uint32_t i = 0; i < rounds; i++) {
		int64_t at = int64_t(i) * longest;
		SendWr add = make_wr(Op::read, {sums, i * 8}, 8, {sum, 0});

		add.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		add.compare_add = i + 1;
		wrs.push_back(make_wr(Op::write, {slots.out, at}, length_of(i),
				      {slots.in, at}));
		wrs.push_back(make_wr(Op::read, {back, at}, length_of(i),
				      {slots.in, at}));
		wrs.push_back(make_wr(Op::write, {long_out, 0}, size,
				      {long_in, int64_t(i) * size}));
		wrs.push_back(make_wr(Op::write, {}, 0, {slots.in, at}));
		wrs.push_back(add);
	}
	must_post(link.a, wrs);
	expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "all");
	must_hold(env, slots.in, rounds, slots.seed, 1);
	for (uint32_t i = 0; i < rounds; i++) {
		int64_t at = int64_t(i) * longest;

		must_match(env.a, back, at, length_of(i), slots.seed, at,
			   "what the read behind the write brought");
		must_match(env.b, long_in, int64_t(i) * size, size, seed, 0,
			   "the long write");
		REQUIRE_EQ(env.a.load(sums.id, i * 8), i * (i + 1) / 2,
			   "sum so far, ", i);
	}
}

PV_TEST("coalesced.not_ready",
	"receives are missing in the middle: the rest comes later, once")
{
	Link link = connect(env);
	Slots slots(env);
	auto wrs = list_of(Op::send_imm, slots.out, slots.in, most);

	give_receives(link, slots.in, 0, 37);
	must_post(link.a, wrs);
	expect_messages(env, link, 0, 37);
	no_more(link.b, "no receive was left");
	give_receives(link, slots.in, 37, most - 37);
	expect_messages(env, link, 37, most - 37);
	expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "sends");
	must_hold(env, slots.in, most, slots.seed, 1);
}

PV_TEST("coalesced.refused",
	"a wrong key in the middle: what is before it arrived, nothing else")
{
	fail_in_the_middle(
		env, most, 21, [](SendWr &wr) { wr.rkey ^= 0x5500; },
		IBV_WC_REM_ACCESS_ERR);
}

PV_TEST("coalesced.own_key",
	"a wrong L_Key in the middle: it fails alone, those before it arrive")
{
	fail_in_the_middle(
		env, 30, 11, [](SendWr &wr) { wr.sges[0].key_xor = 0x33; },
		IBV_WC_LOC_PROT_ERR);
}

PV_TEST_LOCAL(
	"coalesced.paged",
	"pages are missing in the middle: the list waits and goes on there")
{
	constexpr uint32_t count = 40;
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	const Moved faults = watch_faults(env.b);

	for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND}) {
		uint64_t seed = env.seed();
		std::vector<ibv_send_wr> wrs(count);
		std::vector<ibv_sge> parts(count);
		ibv_send_wr *bad;

		b.fill(1);
		for (uint32_t i = 0; i < count; i++) {
			size_t at = i * page + 100;

			a.fill(seed + i, at, longest);
			if (opcode == IBV_WR_SEND)
				post_recv(link.b, b, at, longest);
			parts[i] = part_of(a, at, length_of(i));
			wrs[i] = {.wr_id = i,
				  .next = i + 1 < count ? &wrs[i + 1] : nullptr,
				  .sg_list = &parts[i],
				  .num_sge = 1,
				  .opcode = opcode,
				  .send_flags = IBV_SEND_SIGNALED};
			wrs[i].wr.rdma = {uintptr_t(b.data) + at, b.mr->rkey};
		}
		/* The sender's pages are there, so that coalesced packets are full. */
		for (size_t at = 0; at < paged_size; at += page)
			static_cast<void>(
				*static_cast<volatile uint8_t *>(a.data + at));
		REQUIRE_EQ(ibv_post_send(local(env.a).raw_qp(link.a.qp.id),
					 wrs.data(), &bad),
			   0, "post");
		expect_all(env, link.a, link.a.send_cq, numbers(0, count),
			   "messages");
		if (opcode == IBV_WR_SEND)
			wait_completions(env, link.b, link.b.recv_cq, count,
					 "receives");
		for (uint32_t i = 0; i < count; i++)
			b.must_hold(seed + i, i * page + 100, length_of(i),
				    "message");
	}
	/* A fault brings pages around, but not those of the whole list. */
	REQUIRE(faults.by() >= 4, "no page was missing in the middle");
}

PV_TEST("coalesced.again",
	"no receive for a long time, and the rest of the list behind it")
{
	Link link = connect(env, {.min_rnr_timer = 1});
	Slots slots(env);

	for (int round = 0; round < 20; round++) {
		auto wrs = list_of(Op::send_imm, slots.out, slots.in, 40);
		auto writes = list_of(Op::write, slots.out, slots.in, 20);

		wrs.insert(wrs.end(), writes.begin(), writes.end());
		env.b.fill(slots.in.id, 0, most * longest, 1, 0);
		must_post(link.a, wrs);
		for (uint32_t i = 0; i < 40; i += 8) {
			give_receives(link, slots.in, i, 8);
			expect_messages(env, link, i, 8);
		}
		expect_all(env, link.a, link.a.send_cq, ids_of(wrs), "all");
		must_hold(env, slots.in, 40, slots.seed, 1);
	}
	no_more(link.b, "each once");
}
