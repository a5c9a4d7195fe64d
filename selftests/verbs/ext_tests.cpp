// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Extended operations between two adapters: what they do, and what they refuse (sources.md#ext).
 */
#include <cerrno>
#include <vector>

#include <sys/mman.h>

#include "ext.h"
#include "manager.h"
#include "never.h"
#include "paged.h"
#include "pavo_dv.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t ones = UINT64_MAX;
constexpr uint64_t value = 0x0123456789abcdef;
constexpr uint64_t before = 0xfedcba9876543210;

/* A word at B between two others, and where the answer goes at A. */
struct Words {
	explicit Words(Env &env)
		: out{must_reg(env.a, {24}), 8}, word{must_reg(env.b, {24}), 8}
	{
		for (int64_t at : {0, 8, 16}) {
			env.a.store(out.mr.id, at, before);
			env.b.store(word.mr.id, at, before);
		}
	}

	void must_be(Env &env, uint64_t answer, uint64_t now, const char *what)
	{
		REQUIRE_EQ(env.a.load(out.mr.id, 8), answer, what, ": answer");
		REQUIRE_EQ(env.b.load(word.mr.id, 8), now, what, ": word");
		for (int64_t at : {0, 16}) {
			REQUIRE_EQ(env.a.load(out.mr.id, at), before, what,
				   ": beside the answer");
			REQUIRE_EQ(env.b.load(word.mr.id, at), before, what,
				   ": beside the word");
		}
	}

	Place out;
	Place word;
};

void must_end(Env &env, ExtLink &link, ibv_wc_opcode opcode, const char *what)
{
	REQUIRE_EQ(end_ext(link), 0, what, ": ibv_wr_complete");
	Wc wc = expect_send(env, link.a, 1, what);
	REQUIRE_EQ(int(wc.opcode), opcode, what, ": opcode");
}

/* B refuses the operation that A began: both are in Error, memory is as it was. */
void must_be_refused(Env &env, ExtLink &link, ibv_wc_status status,
		     const char *what)
{
	env.expect_async();
	REQUIRE_EQ(end_ext(link), 0, what, ": ibv_wr_complete");
	expect_send(env, link.a, 1, what, status);
	wait_state(env, link.a, IBV_QPS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
}

} // namespace

PV_TEST_LOCAL(
	"ext.fetch_add",
	"adds to one field of 64 bits, and to many without a carry between "
	"them")
{
	ExtLink link = connect_ext(env);
	const struct {
		uint64_t old, add, tops, now;
	} cases[] = {
		{1, 2, 0, 3},
		{ones, 1, 0, 0},
		/* Fields of 8 and 16 bits, of which the first overflow. */
		{0x00ff00ff00ff00ff, 0x0001000100010001, 0x8080808080808080, 0},
		{0x7fff7fff7fff7fff, 0x0001000100010001, 0x8000800080008000,
		 0x8000800080008000},
		{0x7fffffffffffffff, 1, 1ull << 63, 1ull << 63},
		{ones, ones, ones, 0},
		{0x00000000ffffffff, 1, 1ull << 31, 0},
	};

	for (const auto &c : cases) {
		Words words(env);

		env.b.store(words.word.mr.id, 8, c.old);
		start_ext(link, 1);
		fetch_add(link, words.out, words.word, c.add, c.tops);
		must_end(env, link, IBV_WC_FETCH_ADD, "fetch and add");
		words.must_be(env, c.old, c.now, "fetch and add");
	}
}

PV_TEST_LOCAL("ext.swap", "puts a value into a word")
{
	ExtLink link = connect_ext(env);
	Words words(env);

	start_ext(link, 1);
	swap(link, words.out, words.word, value);
	must_end(env, link, IBV_WC_COMP_SWAP, "swap");
	words.must_be(env, before, value, "swap");
}

PV_TEST_LOCAL("ext.cmp_swap", "compares some bits and replaces others")
{
	ExtLink link = connect_ext(env);
	const struct {
		uint64_t compare, compare_mask, mask, now;
	} cases[] = {
		{before, ones, ones, value},
		{before ^ 1, ones, ones, before},
		{before ^ 1, ones ^ 1, ones, value},
		{0, 0, 0xffffffff, (before & ~0xffffffffull) | 0x89abcdef},
		{0x10, 0xff, 0xff00, (before & ~0xff00ull) | 0xcd00},
		{0x11, 0xff, 0xff00, before},
		{before, ones, 0, before},
	};

	for (const auto &c : cases) {
		Words words(env);

		start_ext(link, 1);
		cmp_swap(link, words.out, words.word, c.compare, c.compare_mask,
			 value, c.mask);
		must_end(env, link, IBV_WC_COMP_SWAP, "compare and swap");
		words.must_be(env, before, c.now, "compare and swap");
	}
}

PV_TEST_LOCAL("ext.chain", "a chain of all kinds with standard operations")
{
	ExtLink link = connect_ext(env);
	Words words(env);
	Mr results = must_reg(env.a, {64});

	must_post(link.b, std::vector<RecvWr>{{7, {}}, {8, {}}});
	start_ext(link, 1);
	fetch_add(link, {results, 0}, words.word, 1);
	next_ext(link, 2);
	imm64(link, value);
	next_ext(link, 3);
	ibv_wr_atomic_fetch_add(link.ex, words.word.mr.rkey,
				words.word.mr.address + 8, 2);
	ibv_wr_set_sge(link.ex, results.lkey, results.address + 8, 8);
	next_ext(link, 4);
	swap(link, {results, 16}, words.word, 40);
	next_ext(link, 5);
	ibv_wr_send(link.ex);
	next_ext(link, 6);
	cmp_swap(link, {results, 24}, words.word, 40, ones, 41, ones);
	REQUIRE_EQ(end_ext(link), 0, "ibv_wr_complete");
	expect_all(env, link.a, link.a.send_cq, numbers(1, 6), "chain");
	REQUIRE_EQ(env.a.load(results.id, 0), before);
	REQUIRE_EQ(env.a.load(results.id, 8), before + 1);
	REQUIRE_EQ(env.a.load(results.id, 16), before + 3);
	REQUIRE_EQ(env.a.load(results.id, 24), 40u);
	REQUIRE_EQ(env.b.load(words.word.mr.id, 8), 41u);
	Arrival first = wait_arrival(env, link),
		second = wait_arrival(env, link);
	REQUIRE_EQ(first.id, 7u);
	REQUIRE(first.imm64 == value, "immediate data");
	REQUIRE_EQ(second.id, 8u);
	REQUIRE(!second.imm64, "a send has no such");
}

PV_TEST_LOCAL("ext.imm64",
	      "eight bytes come with the completion; the receive's memory stays "
	      "as it is")
{
	ExtLink link = connect_ext(env);
	const uint64_t seed = env.seed();
	Mr memory = must_reg(env.b, {64}, seed);

	must_post(link.b,
		  std::vector<RecvWr>{{1, {{memory.id, 0, 64, 0}}}, {2, {}}});
	for (uint64_t imm : {value, ones}) {
		start_ext(link, 1);
		imm64(link, imm);
		must_end(env, link, IBV_WC_SEND, "immediate data");
		Arrival arrival = wait_arrival(env, link);
		REQUIRE_EQ(arrival.id, imm == value ? 1u : 2u);
		REQUIRE_EQ(int(arrival.opcode), IBV_WC_RECV);
		REQUIRE_EQ(arrival.byte_len, 8u);
		REQUIRE_EQ(arrival.flags, 0u);
		REQUIRE(arrival.imm64 == imm, "immediate data");
	}
	must_match(env.b, memory, 0, 64, seed, 0, "the receive's memory");
}

PV_TEST_LOCAL(
	"ext.imm64_plain",
	"a plain poll shows a receive of eight bytes without immediate data")
{
	ExtLink link = connect_ext(env);

	must_post(link.b, RecvWr{1, {}});
	start_ext(link, 1);
	imm64(link, value);
	must_end(env, link, IBV_WC_SEND, "immediate data");
	Wc wc = expect_recv(env, link.b, 1, "receive");
	REQUIRE_EQ(int(wc.opcode), IBV_WC_RECV);
	REQUIRE_EQ(wc.byte_len, 8u);
	REQUIRE_EQ(wc.flags, 0u);
}

PV_TEST_LOCAL("ext.imm64_srq", "eight bytes take a receive of a shared queue")
{
	Srq srq = must_srq(env.b);
	ExtLink link = connect_ext(env, {.srq_b = srq.id});
	must_post_srq(env.b, srq, {{5, {}}});
	start_ext(link, 1);
	imm64(link, value);
	must_end(env, link, IBV_WC_SEND, "immediate data");
	Arrival arrival = wait_arrival(env, link);
	REQUIRE_EQ(arrival.id, 5u);
	REQUIRE(arrival.imm64 == value, "immediate data");
}

PV_TEST_LOCAL(
	"ext.imm64_solicited",
	"a solicited event is raised where it was asked for, and only there")
{
	ExtLink link = connect_ext(env, {}, true);

	for (unsigned flag : {0u, unsigned(IBV_SEND_SOLICITED)}) {
		must_post(link.b, RecvWr{1, {}});
		REQUIRE_EQ(env.b.arm(link.b.recv_cq.id, true), 0, "arm");
		start_ext(link, 1, IBV_SEND_SIGNALED | flag);
		imm64(link, value);
		must_end(env, link, IBV_WC_SEND, "immediate data");
		wait_arrival(env, link);
		REQUIRE_EQ(env.b.wait_event(link.b.recv_cq.id,
					    flag ? env.options.patience_ms :
						   50),
			   bool(flag), "event");
	}
}

PV_TEST_LOCAL("ext.imm64_not_ready", "without a receive the sender tries again")
{
	ExtLink link = connect_ext(env, {.min_rnr_timer = 1});
	Moved naks(env.a, "rnr_nak_retry_err");

	start_ext(link, 1);
	imm64(link, value);
	REQUIRE_EQ(end_ext(link), 0);
	REQUIRE(eventually(env, [&] { return naks.by() > 2; }), "no NAK");
	must_post(link.b, RecvWr{1, {}});
	REQUIRE(wait_arrival(env, link).imm64 == value, "immediate data");
	expect_send(env, link.a, 1, "send");
	no_more(link.a, "send");
}

PV_TEST_LOCAL("ext.where_not", "refused at post: services, lists, inline data")
{
	Words words(env);
	LinkSpec uc = {.type = IBV_QPT_UC, .send_ops = IBV_QP_EX_WITH_SEND};

	if (!env.a.knows_ext())
		throw Skip("the device has no extended operations");
	Link other = connect(env, uc);
	ExtLink link;
	static_cast<Link &>(link) = other;
	link.ex = ibv_qp_to_qp_ex(local(env.a).raw_qp(other.a.qp.id));
	start_ext(link, 1);
	imm64(link, value);
	REQUIRE_EQ(end_ext(link), EINVAL, "immediate data of UC");
	start_ext(link, 1);
	fetch_add(link, words.out, words.word, 1);
	REQUIRE_EQ(end_ext(link), EINVAL, "atomic of UC");

	ExtLink good = connect_ext(env);
	start_ext(good, 1);
	imm64(good, value);
	ibv_wr_set_sge(good.ex, words.out.mr.lkey, words.out.mr.address, 8);
	REQUIRE_EQ(end_ext(good), EINVAL, "immediate data with a list");
	start_ext(good, 1);
	pavodv_wr_ext_swap(good.ex, words.word.mr.rkey,
			   words.word.mr.address + 8, 1);
	ibv_wr_set_inline_data(good.ex, const_cast<uint64_t *>(&value), 8);
	REQUIRE(end_ext(good) == EINVAL, "an atomic with inline data");
	for (int opcode = 12; opcode < 32; opcode++) {
		ibv_send_wr wr = {}, *bad;

		if (opcode == IBV_WR_ATOMIC_WRITE)
			continue;
		wr.opcode = ibv_wr_opcode(opcode);
		REQUIRE_EQ(ibv_post_send(local(env.a).raw_qp(good.a.qp.id), &wr,
					 &bad),
			   EINVAL, "ibv_post_send of opcode ", opcode);
	}
	/* And the queue pair goes on. */
	start_ext(good, 1);
	swap(good, words.out, words.word, value);
	must_end(env, good, IBV_WC_COMP_SWAP, "swap");
	words.must_be(env, before, value, "swap");
}

namespace {

/* A region at B that is addressed from 0 and begins four bytes behind an aligned address. */
Mr based_at_four(Env &env)
{
	Mr region =
		must_reg(env.b, {.length = 24,
				 .misalign = 4,
				 .access = all_access | IBV_ACCESS_ZERO_BASED});
	region.address = 0;
	return region;
}

} // namespace

PV_TEST_LOCAL(
	"ext.unaligned",
	"memory that is not aligned stays as it is, also where its address "
	"says that it is")
{
	enum { BY_ADDRESS, BY_OFFSET, STANDARD, KINDS };

	for (int kind = 0; kind < KINDS; kind++) {
		ExtLink link = connect_ext(env);
		Words words(env);
		Mr based = based_at_four(env);
		const uint64_t seed = env.seed();

		env.b.fill(based.id, 0, based.length, seed, 0);
		start_ext(link, 1);
		if (kind == BY_ADDRESS) {
			swap(link, words.out, {words.word.mr, 4}, value);
		} else if (kind == BY_OFFSET) {
			swap(link, words.out, {based, 8}, value);
		} else {
			ibv_wr_atomic_fetch_add(link.ex, based.rkey, 8, 1);
			ibv_wr_set_sge(link.ex, words.out.mr.lkey,
				       words.out.mr.address + 8, 8);
		}
		must_be_refused(env, link, IBV_WC_REM_INV_REQ_ERR, "unaligned");
		words.must_be(env, before, before, "unaligned");
		must_match(env.b, based, 0, based.length, seed, 0, "memory");
	}
}

PV_TEST_LOCAL("ext.offset",
	      "an offset that is not aligned, of memory that is, is carried out")
{
	ExtLink link = connect_ext(env);
	Words words(env);
	Mr based = based_at_four(env);
	const uint64_t seed = env.seed();

	env.b.fill(based.id, 0, based.length, seed, 0);
	env.b.store(based.id, 4, before);
	start_ext(link, 1);
	swap(link, words.out, {based, 4}, value);
	must_end(env, link, IBV_WC_COMP_SWAP, "swap");
	REQUIRE_EQ(env.a.load(words.out.mr.id, 8), before, "answer");
	REQUIRE_EQ(env.b.load(based.id, 4), value, "word");
	must_match(env.b, based, 0, 4, seed, 0, "before it");
	must_match(env.b, based, 12, 12, seed, 12, "behind it");
}

PV_TEST_LOCAL("ext.rights", "without the right, or beyond the region: refused")
{
	for (int kind = 0; kind < 3; kind++) {
		LinkSpec spec;

		if (kind == 0)
			spec.access = IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ;
		ExtLink link = connect_ext(env, spec);
		Words words(env);
		Mr weak = must_reg(env.b, {.length = 8,
					   .access = IBV_ACCESS_REMOTE_READ});
		start_ext(link, 1);
		if (kind == 1)
			swap(link, words.out, {weak, 0}, value);
		else
			swap(link, words.out, {words.word.mr, kind ? 24 : 8},
			     value);
		must_be_refused(env, link,
				kind ? IBV_WC_REM_ACCESS_ERR :
				       IBV_WC_REM_INV_REQ_ERR,
				"rights");
		words.must_be(env, before, before, "rights");
	}
}

PV_TEST_LOCAL(
	"ext.more_than_agreed",
	"an atomic beyond what the peer agreed to take at once is refused; "
	"those before it are carried out")
{
	constexpr uint8_t agreed = 3;

	ExtLink link = connect_ext(env, {.timeout = 0, .rd_atomic_b = agreed});
	if (link.rd_atomic <= agreed)
		throw Skip("the ends take no more than that");
	Never never(1);
	RawMr region = on_demand(env.b, never.memory, page);
	Words words(env);
	Mr answers = must_reg(env.a, {8 * (agreed + 1)});
	Moved refused(env.b, "rx_nak_sent_invalid_request");

	env.expect_async();
	/* Its answer waits for the page, and those behind it wait for it. */
	start_ext(link, 1);
	ibv_wr_rdma_read(link.ex, region->rkey, uintptr_t(never.memory));
	ibv_wr_set_sge(link.ex, answers.lkey, answers.address, 8);
	for (uint64_t i = 1; i <= agreed; i++) {
		next_ext(link, i + 1);
		fetch_add(link, {answers, int64_t(8 * i)}, words.word, 1);
	}
	REQUIRE_EQ(end_ext(link), 0, "ibv_wr_complete");
	REQUIRE(eventually(env, [&] { return refused.by() == 1; }), "refusal");
	never.come();
	uint64_t id = 1;
	for (const Wc &wc :
	     wait_completions(env, link.a, link.a.send_cq, agreed + 1, "all")) {
		check_wc(wc, id,
			 id <= agreed ? IBV_WC_SUCCESS : IBV_WC_REM_INV_REQ_ERR,
			 "in order");
		id++;
	}
	for (uint64_t i = 1; i < agreed; i++)
		REQUIRE_EQ(env.a.load(answers.id, int64_t(8 * i)),
			   before + i - 1, "answer ", i);
	REQUIRE_EQ(env.b.load(words.word.mr.id, 8), before + agreed - 1);
	wait_state(env, link.a, IBV_QPS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
}

PV_TEST_LOCAL("ext.on_demand", "atomics on memory that is not there yet")
{
	ExtLink link = connect_ext(env);
	Words words(env);
	void *at = mmap(nullptr, page, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ibv_mr *region = ibv_reg_mr(local(env.b).raw_pd(0), at, page,
				    int(all_access | IBV_ACCESS_ON_DEMAND));
	if (!region)
		throw Skip("no on-demand paging");
	Mr paged = {.address = uintptr_t(at), .rkey = region->rkey};
	start_ext(link, 1);
	fetch_add(link, words.out, {paged, 64}, value, 1ull << 31);
	must_end(env, link, IBV_WC_FETCH_ADD, "fetch and add");
	REQUIRE_EQ(env.a.load(words.out.mr.id, 8), 0u);
	REQUIRE_EQ(static_cast<uint64_t *>(at)[8], value);
	ibv_dereg_mr(region);
	munmap(at, page);
}

PV_TEST_LOCAL("ext.peer", "a queue pair's peer is unknown until it answers")
{
	ExtLink link = connect_ext(env);
	ibv_qp *qp = local(env.a).raw_qp(link.a.qp.id);
	Words words(env);
	pavodv_peer peer;

	REQUIRE_EQ(pavodv_query_peer(qp, &peer), 0);
	REQUIRE_EQ(int(peer), PAVODV_PEER_UNKNOWN);
	start_ext(link, 1);
	swap(link, words.out, words.word, value);
	must_end(env, link, IBV_WC_COMP_SWAP, "swap");
	REQUIRE_EQ(pavodv_query_peer(qp, &peer), 0);
	REQUIRE_EQ(int(peer), PAVODV_PEER_KNOWS);
	to_state(link.a, IBV_QPS_RESET);
	REQUIRE_EQ(pavodv_query_peer(qp, &peer), 0);
	REQUIRE_EQ(int(peer), PAVODV_PEER_UNKNOWN);
}

PV_TEST("ext_peer.silent",
	"a peer that does not know the operations: an error after the set "
	"time, the rest is flushed")
{
	ExtLink link = connect_ext(env, {.timeout = 12, .retry_count = 2});
	Words words(env);
	pavodv_peer peer;

	if (env.b.knows_ext())
		throw Skip("for a peer that does not know the operations");
	env.expect_async();
	start_ext(link, 1);
	swap(link, words.out, words.word, value);
	next_ext(link, 2);
	ibv_wr_send(link.ex);
	next_ext(link, 3);
	imm64(link, value);
	REQUIRE_EQ(end_ext(link), 0);
	std::vector<Wc> ends =
		wait_completions(env, link.a, link.a.send_cq, 3, "all");
	check_wc(ends[0], 1, IBV_WC_RETRY_EXC_ERR, "swap");
	check_wc(ends[1], 2, IBV_WC_WR_FLUSH_ERR, "send behind it");
	check_wc(ends[2], 3, IBV_WC_WR_FLUSH_ERR, "immediate data behind it");
	wait_state(env, link.a, IBV_QPS_ERR);
	words.must_be(env, before, before, "swap");
	REQUIRE_EQ(pavodv_query_peer(local(env.a).raw_qp(link.a.qp.id), &peer),
		   0);
	REQUIRE_EQ(int(peer), PAVODV_PEER_SILENT);
}
