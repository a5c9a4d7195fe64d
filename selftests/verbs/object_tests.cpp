// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Life of the objects: destroying what is in use, in any order, under traffic,
 * many times over.
 */
#include <algorithm>
#include <cerrno>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

LinkSpec impatient()
{
	LinkSpec spec = {.timeout = 12, .retry_count = 2};

	return spec;
}

/* Takes what is in a CQ and whatever still comes within a moment. */
void drain(Side &side)
{
	while (!side.host->poll(side.send_cq.id, 32, 1).empty())
		;
	while (!side.host->poll(side.recv_cq.id, 32, 1).empty())
		;
}

} // namespace

PV_TEST("object.in_use",
	"a CQ with a queue pair and a PD with objects cannot be destroyed")
{
	Link link = make_link(env);
	Pd pd = env.a.alloc_pd();

	Mr mr = must_reg(env.a, {.length = 64, .pd = pd.id});
	REQUIRE_EQ(env.a.destroy(Kind::cq, link.a.send_cq.id), EBUSY, "CQ");
	REQUIRE_EQ(env.a.destroy(Kind::cq, link.a.recv_cq.id), EBUSY, "CQ");
	REQUIRE_EQ(env.a.destroy(Kind::pd, pd.id), EBUSY, "PD");
	REQUIRE_EQ(env.a.destroy(Kind::mr, mr.id), 0, "MR");
	REQUIRE_EQ(env.a.destroy(Kind::pd, pd.id), 0, "PD");
	REQUIRE_EQ(env.a.destroy(Kind::qp, link.a.qp.id), 0, "QP");
	REQUIRE_EQ(env.a.destroy(Kind::cq, link.a.send_cq.id), 0, "CQ");
	REQUIRE_EQ(env.a.destroy(Kind::cq, link.a.recv_cq.id), 0, "CQ");
}

PV_TEST("object.destroy_with_work",
	"queue pairs destroyed with sends, reads and receives outstanding")
{
	env.expect_async();
	constexpr uint64_t size = 1 << 20;
	Mr at_a = must_reg(env.a, {size}), at_b = must_reg(env.b, {size});
	Link other = connect(env);

	for (int round = 0; round < 12; round++) {
		Link link = connect(env, impatient());

		must_post(link.b, RecvWr{1, {{at_b.id, 0, uint32_t(size), 0}}});
		must_post(
			link.a,
			std::vector<SendWr>{
				make_wr(Op::send, {at_a, 0}, size),
				make_wr(Op::read, {at_a, 0}, size, {at_b, 0}),
				make_wr(Op::write, {at_a, 0}, size, {at_b, 0}),
				make_wr(Op::send, {at_a, 0}, size)});
		/* Sometimes the one, sometimes the other end goes first. */
		Side &first = round & 1 ? link.a : link.b;
		Side &second = round & 1 ? link.b : link.a;
		REQUIRE_EQ(first.host->destroy(Kind::qp, first.qp.id), 0, "QP");
		REQUIRE_EQ(second.host->destroy(Kind::qp, second.qp.id), 0,
			   "QP");
		drain(link.a);
		drain(link.b);
	}
	prove_alive(env, other);
}

PV_TEST("object.destroy_leaves_others",
	"destroying one pair under traffic does not disturb another's data")
{
	env.expect_async();
	constexpr uint64_t size = 500000;
	Link keep = connect(env);
	Place at_a = {must_reg(env.a, {size}), 0};
	Place at_b = {must_reg(env.b, {size}), 0};
	Mr noise_a = must_reg(env.a, {size}), noise_b = must_reg(env.b, {size});

	for (int round = 0; round < 6; round++) {
		Link link = connect(env, impatient());

		must_post(link.a,
			  std::vector<SendWr>{make_wr(Op::write, {noise_a, 0},
						      size, {noise_b, 0}),
					      make_wr(Op::read, {noise_a, 0},
						      size, {noise_b, 0})});
		env.b.destroy(Kind::qp, link.b.qp.id);
		exchange(env, keep.a, keep.b, round & 1 ? Op::read : Op::send,
			 at_a, at_b, size);
		env.a.destroy(Kind::qp, link.a.qp.id);
	}
}

PV_TEST("object.dereg_target",
	"a region deregistered while written to: refused afterwards, memory "
	"at peace")
{
	env.expect_async();
	constexpr uint64_t size = 2 << 20;
	Mr out = must_reg(env.a, {size});

	for (int round = 0; round < 4; round++) {
		Link link = connect(env);
		Mr in = must_reg(env.b, {size});
		std::vector<SendWr> wrs(6, make_wr(Op::write, {out, 0}, size,
						   {in, 0}));

		must_post(link.a, wrs);
		REQUIRE_EQ(env.b.destroy(Kind::mr, in.id), 0, "dereg_mr");
		auto wcs = wait_completions(env, link.a, link.a.send_cq, 6,
					    "writes");
		bool refused = false;

		for (const Wc &wc : wcs) {
			ibv_wc_status want = refused ? IBV_WC_WR_FLUSH_ERR :
					     wc.status == IBV_WC_SUCCESS ?
						       IBV_WC_SUCCESS :
						       IBV_WC_REM_ACCESS_ERR;

			check_wc(wc, wrs[0].id, want,
				 "write to a region that went");
			refused |= wc.status != IBV_WC_SUCCESS;
		}
	}
}

PV_TEST("object.dereg_source",
	"a local region deregistered while in use: success or LOC_PROT_ERR")
{
	env.expect_async();
	constexpr uint64_t size = 2 << 20;
	Mr there = must_reg(env.b, {size});

	for (Op op : {Op::write, Op::read, Op::write, Op::read}) {
		Link link = connect(env);
		Mr mr = must_reg(env.a, {size});
		std::vector<SendWr> wrs(4,
					make_wr(op, {mr, 0}, size, {there, 0}));

		must_post(link.a, wrs);
		REQUIRE_EQ(env.a.destroy(Kind::mr, mr.id), 0, "dereg_mr");
		for (const Wc &wc : wait_completions(
			     env, link.a, link.a.send_cq, 4, "requests"))
			REQUIRE(wc.status == IBV_WC_SUCCESS ||
					wc.status == IBV_WC_LOC_PROT_ERR ||
					wc.status == IBV_WC_LOC_ACCESS_ERR ||
					wc.status == IBV_WC_WR_FLUSH_ERR,
				name_of(op), ": ",
				ibv_wc_status_str(wc.status));
	}
}

PV_TEST("object.dereg_receive_buffer",
	"a posted receive whose region is gone: LOC_PROT_ERR when it is used")
{
	env.expect_async();
	Link link = connect(env);
	Mr in = must_reg(env.b, {4096});
	SendWr wr = make_wr(Op::send, {must_reg(env.a, {64}), 0}, 64);

	must_post(link.b, RecvWr{1, {{in.id, 0, 64, 0}}});
	REQUIRE_EQ(env.b.destroy(Kind::mr, in.id), 0, "dereg_mr");
	must_post(link.a, wr);
	expect_recv(env, link.b, 1, "receive into a region that went",
		    IBV_WC_LOC_PROT_ERR);
	expect_send(env, link.a, wr.id, "its send", IBV_WC_REM_OP_ERR);
}

PV_TEST("object.many",
	"300 queue pairs, CQs and regions at once, with numbers of their own")
{
	constexpr int count = 300;
	std::vector<Qp> qps;
	std::vector<uint32_t> numbers, keys;

	for (int i = 0; i < count; i++) {
		Cq cq = env.a.create_cq(4, false);
		QpSpec spec;

		REQUIRE_EQ(cq.error, 0, "CQ ", i);
		spec.send_cq = spec.recv_cq = cq.id;
		spec.cap = {2, 2, 1, 1, 0};
		qps.push_back(env.a.create_qp(spec));
		REQUIRE_EQ(qps.back().error, 0, "QP ", i);
		numbers.push_back(qps.back().number);
		keys.push_back(must_reg(env.a, {100}).rkey);
	}
	for (auto *list : {&numbers, &keys}) {
		std::sort(list->begin(), list->end());
		REQUIRE(std::unique(list->begin(), list->end()) == list->end(),
			"the same number twice");
	}
	REQUIRE(numbers.front() > 1 && numbers.back() < 0xffffff, "QP numbers ",
		numbers.front(), "..", numbers.back());
}

/* Writes word @n, a number of its own, to region @n; all others keep theirs. */
static void write_words(Env &env, Link &link, const std::vector<Mr> &regions,
			const Mr &words, const std::vector<bool> &gone)
{
	for (size_t n = 0; n < regions.size(); n++) {
		if (gone[n])
			continue;
		SendWr wr = make_wr(Op::write, {words, int64_t(8 * n)}, 8,
				    {regions[n], 0});

		must_send(env, link.a, wr, "write");
	}
	for (size_t n = 0; n < regions.size(); n++) {
		if (!gone[n])
			REQUIRE_EQ(env.b.load(regions[n].id, 0),
				   env.a.load(words.id, int64_t(8 * n)),
				   "word of region ", n);
	}
}

PV_TEST_LOCAL(
	"object.many_keys",
	"1300 keys, then every other one: each names its region, none that went")
{
	constexpr size_t count = 1300;
	Link link = connect(env);
	Mr words = must_reg(env.a, {8 * count}, 3);
	std::vector<bool> gone(count);
	std::vector<Mr> regions;

	env.expect_async();
	for (size_t n = 0; n < count; n++)
		regions.push_back(must_reg(env.b, {8}, 100 + n));
	write_words(env, link, regions, words, gone);
	for (size_t n = 0; n < count; n += 2) {
		REQUIRE_EQ(env.b.destroy(Kind::mr, regions[n].id), 0, "region ",
			   n);
		gone[n] = true;
	}
	env.a.fill(words.id, 0, words.length, 4, 0);
	write_words(env, link, regions, words, gone);

	SendWr wr = make_wr(Op::write, {words, 0}, 8, {regions[0], 0});

	must_post(link.a, wr);
	expect_send(env, link.a, wr.id, "to a key that went",
		    IBV_WC_REM_ACCESS_ERR);
}

PV_TEST("object.churn", "made, connected, used and destroyed 40 times")
{
	for (int i = 0; i < 40; i++) {
		Link link = connect(env);

		must_post(link.b, RecvWr{uint64_t(i), {}});
		must_send(env, link.a, make_wr(Op::send, {}, 0), "send");
		expect_recv(env, link.b, uint64_t(i), "receive");
		for (Side *side : {&link.a, &link.b}) {
			side->host->destroy(Kind::qp, side->qp.id);
			side->host->destroy(Kind::cq, side->send_cq.id);
			side->host->destroy(Kind::cq, side->recv_cq.id);
		}
	}
}

PV_TEST("object.stale_cqe",
	"completions not polled before the queue pair died do no harm")
{
	LinkSpec spec = {.cq_a = env.a.create_cq(64, false)};
	Link gone = connect(env, spec);
	Link stays = connect(env, spec);

	must_post(gone.b, std::vector<RecvWr>(8));
	must_post(gone.a, std::vector<SendWr>(8, make_wr(Op::send, {}, 0)));
	wait_completions(env, gone.b, gone.b.recv_cq, 8, "receives");
	REQUIRE_EQ(env.a.destroy(Kind::qp, gone.a.qp.id), 0, "QP");
	/* Whether they are still there is the driver's choice. */
	for (const Wc &wc : env.a.poll(spec.cq_a.id, 8, 1))
		REQUIRE_EQ(wc.qp_number, gone.a.qp.number, "qp_num");
	prove_alive(env, stays);
}

PV_TEST_LOCAL("object.resize_cq",
	      "a CQ resized under load keeps every completion, in order")
{
	LocalHost &host = local(env.b);
	LinkSpec spec = {.cq_b = env.b.create_cq(40, false)};
	Link link = connect(env, spec);

	must_post(link.b, numbered_receives(0, 30));
	for (int i = 0; i < 20; i++)
		must_post(link.a, make_wr(Op::send, {}, 0));
	wait_completions(env, link.a, link.a.send_cq, 20, "sends");
	int error = ibv_resize_cq(host.raw_cq(spec.cq_b.id), 300);
	if (error == EOPNOTSUPP || error == ENOSYS)
		throw Skip("resize is not supported");
	REQUIRE_EQ(error, 0, "ibv_resize_cq");
	REQUIRE(host.raw_cq(spec.cq_b.id)->cqe >= 300, "new depth");
	REQUIRE(ibv_resize_cq(host.raw_cq(spec.cq_b.id), 1),
		"shrunk below what is in it");
	for (int i = 0; i < 10; i++)
		must_post(link.a, make_wr(Op::send, {}, 0));
	expect_all(env, link.b, spec.cq_b, numbers(0, 30), "receives");
}
