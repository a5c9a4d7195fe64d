// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended operations of XRC: each request names a shared receive queue of the peer, which takes
 * immediate data and says by its protection domain which memory an atomic may touch.
 */

#include "ext.h"
#include "manager.h"
#include "tap.h"
#include "xrc.h"

using namespace pv;

namespace {

constexpr uint64_t all_bits = UINT64_MAX;
constexpr uint64_t fresh = 0x0123456789abcdef;
constexpr uint64_t stale = 0xfedcba9876543210;

void must_succeed(Env &env, ExtLink &link, const char *what)
{
	REQUIRE_EQ(end_ext(link), 0, what, ": ibv_wr_complete");
	expect_send(env, link.a, 1, what);
}

} // namespace

PV_TEST_LOCAL(
	"ext_xrc.atomics",
	"fetch and add, swap, compare and swap, behind each other in one chain")
{
	ExtLink link = connect_ext_xrc(env);
	Mr results = must_reg(env.a, {32}), words = must_reg(env.b, {24});
	uint64_t id = 1;

	for (int64_t at : {0, 8, 16})
		env.b.store(words.id, at, stale);
	start_ext(link, 1);
	fetch_add(link, {results, 0}, {words, 8}, 1ull << 60, 1ull << 63);
	next_ext(link, 2);
	swap(link, {results, 8}, {words, 8}, fresh);
	next_ext(link, 3);
	cmp_swap(link, {results, 16}, {words, 8}, 0xef, 0xff, 0x1100, 0xffff);
	next_ext(link, 4);
	cmp_swap(link, {results, 24}, {words, 8}, 1, all_bits, 0, all_bits);
	REQUIRE_EQ(end_ext(link), 0, "ibv_wr_complete");
	for (const Wc &wc :
	     wait_completions(env, link.a, link.a.send_cq, 4, "chain"))
		check_wc(wc, id++, IBV_WC_SUCCESS, "chain");
	REQUIRE_EQ(env.a.load(results.id, 0), stale, "fetch and add");
	REQUIRE_EQ(env.a.load(results.id, 8), stale + (1ull << 60), "swap");
	REQUIRE_EQ(env.a.load(results.id, 16), fresh, "compare and swap");
	REQUIRE_EQ(env.a.load(results.id, 24), (fresh & ~0xffffull) | 0x1100,
		   "compare and swap of something else");
	REQUIRE_EQ(env.b.load(words.id, 8), (fresh & ~0xffffull) | 0x1100);
	for (int64_t at : {0, 16})
		REQUIRE_EQ(env.b.load(words.id, at), stale, "beside the word");
}

PV_TEST_LOCAL(
	"ext_xrc.imm64",
	"eight bytes take a receive of the queue that they name; its memory "
	"stays as it is")
{
	ExtLink link = connect_ext_xrc(env);
	const uint64_t seed = env.seed();
	Mr memory = must_reg(env.b, {64}, seed);
	uint64_t id = 10;

	must_post_srq(env.b, link.srq,
		      {{10, {{memory.id, 0, 64, 0}}}, {11, {}}});
	for (uint64_t imm : {fresh, all_bits}) {
		start_ext(link, 1);
		imm64(link, imm);
		must_succeed(env, link, "immediate data");
		Arrival arrival = wait_arrival(env, link);
		REQUIRE_EQ(arrival.id, id++);
		REQUIRE_EQ(int(arrival.opcode), IBV_WC_RECV);
		REQUIRE_EQ(arrival.byte_len, 8u);
		REQUIRE(arrival.imm64 == imm, "immediate data");
	}
	must_match(env.b, memory, 0, 64, seed, 0, "the receive's memory");
}

PV_TEST_LOCAL("ext_xrc.not_ready",
	      "eight bytes leave receives of another queue alone, and are sent "
	      "again until theirs has one")
{
	ExtLink link = connect_ext_xrc(env);
	Srq other = must_srq(env, link.xrcd, link.b.recv_cq);
	Moved naks(env.a, "rnr_nak_retry_err");

	must_post_srq(env.b, other, {{20, {}}});
	start_ext(link, 1);
	imm64(link, fresh);
	REQUIRE_EQ(end_ext(link), 0, "ibv_wr_complete");
	REQUIRE(eventually(env, [&] { return naks.by() > 2; }), "no NAK");
	must_post_srq(env.b, link.srq, {{10, {}}});
	Arrival arrival = wait_arrival(env, link);
	REQUIRE_EQ(arrival.id, 10u);
	REQUIRE(arrival.imm64 == fresh, "immediate data");
	expect_send(env, link.a, 1, "send");
	link.srq = other;
	start_ext(link, 1);
	imm64(link, all_bits);
	must_succeed(env, link, "to the other queue");
	arrival = wait_arrival(env, link);
	REQUIRE_EQ(arrival.id, 20u);
	REQUIRE(arrival.imm64 == all_bits, "immediate data");
}

PV_TEST_LOCAL("ext_xrc.refused",
	      "memory that is not aligned stays as it is, and both ends are in "
	      "Error")
{
	ExtLink link = connect_ext_xrc(env);
	Mr result = must_reg(env.a, {8}), words = must_reg(env.b, {24});

	env.expect_async();
	for (int64_t at : {0, 8, 16})
		env.b.store(words.id, at, stale);
	start_ext(link, 1);
	swap(link, {result, 0}, {words, 4}, fresh);
	REQUIRE_EQ(end_ext(link), 0, "ibv_wr_complete");
	expect_send(env, link.a, 1, "swap", IBV_WC_REM_INV_REQ_ERR);
	wait_state(env, link.a, IBV_QPS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
	for (int64_t at : {0, 8, 16})
		REQUIRE_EQ(env.b.load(words.id, at), stale, "memory");
}
