// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A process that forks with its context open: the child posts, polls and makes objects by what it
 * has inherited, beside its parent. Each queue is used by one process at a time.
 *
 * Bytes of the child are inline, or in regions that it registers itself: those of its parent name
 * the parent's pages.
 */
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <random>

#include <unistd.h>

#include "../common/child.h"
#include "../common/pattern.h"
#include "direct.h"
#include "link.h"
#include "pavo_dv.h"
#include "tap.h"

using namespace pv;

namespace {

/* rdma_rxe refuses each post of a child by EACCES. */
void need_pavo(Env &env)
{
	if (!pavodv_is_supported(local(env.a).context()))
		throw Skip("not pavo's");
}

/* Bytes between a process and its child. */
class Bell {
public:
	Bell() { REQUIRE(!pipe(fds_), "pipe"); }
	~Bell()
	{
		close(fds_[0]);
		close(fds_[1]);
	}
	Bell(const Bell &) = delete;
	Bell &operator=(const Bell &) = delete;

	void tell() { REQUIRE_EQ(write(fds_[1], "!", 1), 1, "write"); }
	void listen()
	{
		char byte;

		REQUIRE_EQ(read(fds_[0], &byte, 1), 1, "read");
	}

private:
	int fds_[2];
};

/* Numbered inline writes from A to B, by libibverbs itself. */
class Stream {
public:
	explicit Stream(Env &env)
		: env_(env), link_(connect(env, {.cap = {depth, 1, 1, 1, block},
						 .cq_depth = depth})),
		  to_(must_reg(env.b, {block * blocks}, 1)), seed_(env.seed()),
		  qp_(local(env.a).raw_qp(link_.a.qp.id)),
		  cq_(local(env.a).raw_cq(link_.a.send_cq.id))
	{
	}

	ibv_cq *cq() { return cq_; }

	void many(uint64_t count)
	{
		const uint64_t end = posted_ + count;

		while (posted_ < end) {
			wait(depth - 1);
			post();
		}
		wait(0);
	}

	/* Another process has posted and polled so many. */
	void skip(uint64_t count)
	{
		posted_ += count;
		completed_ += count;
	}

	/* Of all that were posted, as far as none was written over. */
	void must_have_arrived()
	{
		for (uint64_t i = posted_ - std::min(posted_, blocks);
		     i < posted_; i++)
			must_match(env_.b, to_, int64_t(i % blocks * block),
				   block, seed_, i * block, "a write");
	}

	void destroy()
	{
		must_destroy(env_.a, Kind::qp, link_.a.qp.id);
		must_destroy(env_.b, Kind::qp, link_.b.qp.id);
	}

private:
	static constexpr uint32_t depth = 64, block = 40;
	static constexpr uint64_t blocks = 300;

	static void must_destroy(Host &host, Kind kind, Handle id)
	{
		REQUIRE_EQ(host.destroy(kind, id), 0, "destroy");
	}

	void post()
	{
		std::array<uint8_t, block> bytes;
		ibv_sge sge = {reinterpret_cast<uintptr_t>(bytes.data()), block,
			       0};
		ibv_send_wr wr = {
			.wr_id = posted_,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
			.wr = {.rdma = {.remote_addr = to_.address +
						       posted_ % blocks * block,
					.rkey = to_.rkey}}};
		ibv_send_wr *bad;

		pattern_fill(bytes.data(), block, seed_, posted_ * block);
		REQUIRE_EQ(ibv_post_send(qp_, &wr, &bad), 0, "post ", posted_);
		posted_++;
	}

	void collect()
	{
		ibv_wc wc[16];
		int got = ibv_poll_cq(cq_, 16, wc);

		REQUIRE(got >= 0, "ibv_poll_cq");
		for (int i = 0; i < got; i++) {
			REQUIRE_EQ(int(wc[i].status), IBV_WC_SUCCESS, "write ",
				   wc[i].wr_id);
			REQUIRE_EQ(wc[i].wr_id, completed_, "order");
			completed_++;
		}
	}

	/* Until no more than @left are under way. */
	void wait(uint64_t left)
	{
		REQUIRE(eventually(env_,
				   [&] {
					   collect();
					   return posted_ - completed_ <= left;
				   }),
			"lost: ", completed_, " of ", posted_, " completed");
	}

	Env &env_;
	Link link_;
	Mr to_;
	uint64_t seed_;
	ibv_qp *qp_;
	ibv_cq *cq_;
	uint64_t posted_ = 0, completed_ = 0;
};

/* A child makes queue pairs of its own on the context of its parent, and takes them away. */
void use_own(Env &env)
{
	Link link = connect(env, {.events = true});
	Place at_a = {must_reg(env.a, {20000, 9}), 5};
	Place at_b = {must_reg(env.b, {20000, 7}), 3};

	for (Op op : {Op::send, Op::write_imm, Op::read}) {
		exchange(env, link.a, link.b, op, at_a, at_b, 10001);
		exchange(env, link.b, link.a, op, at_b, at_a, 10001);
	}
	REQUIRE_EQ(env.a.arm(link.a.send_cq.id, false), 0, "arm");
	must_post(link.a, make_wr(Op::write, at_a, 10001, at_b));
	must_wake(env, env.a, link.a.send_cq);
	wait_send(env, link.a, "write");
	for (auto [side, mr] :
	     {std::pair(&link.a, &at_a.mr), std::pair(&link.b, &at_b.mr)}) {
		Host &host = *side->host;

		REQUIRE_EQ(host.destroy(Kind::qp, side->qp.id), 0, "qp");
		REQUIRE_EQ(host.destroy(Kind::cq, side->send_cq.id), 0, "cq");
		REQUIRE_EQ(host.destroy(Kind::cq, side->recv_cq.id), 0, "cq");
		REQUIRE_EQ(host.destroy(Kind::mr, mr->id), 0, "mr");
	}
}

constexpr uint64_t request = 3000;

/* Answers each message of A's by the same bytes, from memory of this process. */
void answer(Env &env, Link &link, uint64_t count)
{
	Mr mine = must_reg(env.b, {request});

	for (uint64_t i = 0; i < count; i++) {
		must_post(link.b, RecvWr{i, {{mine.id, 0, request, 0}}});
		expect_recv(env, link.b, i, "request");
		must_send(env, link.b, make_wr(Op::send, {mine, 0}, request),
			  "answer");
	}
	REQUIRE_EQ(env.b.destroy(Kind::mr, mine.id), 0, "mr");
}

void ask(Env &env, Link &link, const Mr &out, const Mr &in, uint64_t number)
{
	const uint64_t seed = env.seed();

	env.a.fill(out.id, 0, request, seed, 0);
	env.a.fill(in.id, 0, request, 1, 0);
	must_post(link.a, RecvWr{number, {{in.id, 0, request, 0}}});
	must_send(env, link.a, make_wr(Op::send, {out, 0}, request), "ask");
	expect_recv(env, link.a, number, "answer");
	must_match(env.a, in, 0, request, seed, 0, "answer");
}

} // namespace

PV_TEST_LOCAL("fork.two_queues",
	      "a child posts on one inherited queue pair and its parent on "
	      "another of the same context: no write is lost")
{
	constexpr uint64_t count = 4000;

	need_pavo(env);
	Stream theirs(env), ours(env);
	theirs.many(10);
	common::Child child([&] { theirs.many(count); });

	ours.many(count);
	child.must_end_well();
	theirs.skip(count);
	theirs.must_have_arrived();
	ours.must_have_arrived();
	theirs.many(500);
	ours.many(500);
	theirs.must_have_arrived();
	ours.must_have_arrived();
}

PV_TEST_LOCAL("fork.in_turn",
	      "a child and its parent use one queue pair in turn: each gets the "
	      "completions of its own requests")
{
	need_pavo(env);
	Stream stream(env);

	for (int round = 0; round < 10; round++) {
		common::Child child([&] { stream.many(101); });

		child.must_end_well();
		stream.skip(101);
		stream.many(45);
		stream.must_have_arrived();
	}
}

PV_TEST_LOCAL(
	"fork.killed",
	"children are killed while they post: their parent posts as before")
{
	need_pavo(env);
	Stream ours(env);
	std::minstd_rand random(1);

	for (int round = 0; round < 60; round++) {
		Stream theirs(env);
		Bell pipe;
		common::Child child([&] {
			theirs.many(1);
			pipe.tell();
			for (;;)
				theirs.many(1 + random() % 20);
		});

		pipe.listen();
		ours.many(random() % 50);
		child.kill_now();
		ours.many(100);
		ours.must_have_arrived();
		theirs.destroy();
	}
}

PV_TEST_LOCAL("fork.own_objects",
	      "four children make queue pairs, completion queues and regions on "
	      "the context of their parent, which posts meanwhile")
{
	need_pavo(env);
	Stream ours(env);
	std::deque<common::Child> children;

	for (int i = 0; i < 4; i++)
		children.emplace_back([&] {
			for (int round = 0; round < 5; round++)
				use_own(env);
		});
	ours.many(2000);
	for (common::Child &child : children)
		child.must_end_well();
	ours.must_have_arrived();
	use_own(env);
}

PV_TEST_LOCAL("fork.server",
	      "a server that forks: its children answer on connections that it "
	      "has made")
{
	constexpr uint64_t count = 100;

	need_pavo(env);
	std::array<Link, 3> links = {connect(env), connect(env), connect(env)};
	std::deque<common::Child> children;
	Mr out = must_reg(env.a, {request}), in = must_reg(env.a, {request});

	for (Link &link : links)
		children.emplace_back([&] { answer(env, link, count); });
	for (uint64_t i = 0; i < count; i++)
		for (Link &link : links)
			ask(env, link, out, in, i);
	for (common::Child &child : children)
		child.must_end_well();
	for (Link &link : links)
		prove_alive(env, link);
}

PV_TEST_LOCAL("fork.receives",
	      "a child posts receives, to a queue pair and to a shared queue, "
	      "takes their completions, and leaves both to its parent")
{
	constexpr uint64_t count = 32;

	need_pavo(env);
	const Srq srq = must_srq(env.b);
	Link own = connect(env), shared = connect(env, {.srq_b = srq.id});
	Bell pipe;

	for (Link *link : {&own, &shared}) {
		common::Child child([&] {
			auto wrs = numbered_receives(100, count);

			if (link == &own)
				must_post(link->b, wrs);
			else
				must_post_srq(env.b, srq, wrs);
			pipe.tell();
			expect_all(env, link->b, link->b.recv_cq,
				   numbers(100, count), "of the child");
		});

		pipe.listen();
		for (uint64_t i = 0; i < count; i++)
			must_send(env, link->a, make_wr(Op::send, {}, 0),
				  "send");
		child.must_end_well();

		auto wrs = numbered_receives(500, count);

		if (link == &own)
			must_post(link->b, wrs);
		else
			must_post_srq(env.b, srq, wrs);
		for (uint64_t i = 0; i < count; i++)
			must_send(env, link->a, make_wr(Op::send, {}, 0),
				  "send");
		expect_all(env, link->b, link->b.recv_cq, numbers(500, count),
			   "of the parent");
	}
}

PV_TEST_LOCAL("fork.ends",
	      "children exit, execute another program, close the context, arm a "
	      "completion queue: their parent goes on")
{
	need_pavo(env);
	Stream ours(env);
	const std::function<void()> ends[] = {
		[] {},
		[] { execl("/bin/true", "true", nullptr); },
		[&] {
			REQUIRE_EQ(ibv_close_device(local(env.a).context()), 0,
				   "close");
		},
		[&] { REQUIRE_EQ(ibv_req_notify_cq(ours.cq(), 0), 0, "arm"); },
	};

	for (const auto &end : ends) {
		common::Child child(end);

		ours.many(100);
		child.must_end_well();
		ours.many(100);
	}
	ours.must_have_arrived();
}

PV_TEST_LOCAL("fork.destroyed",
	      "an object that a child destroys is gone for its parent, whose "
	      "other objects stay")
{
	need_pavo(env);
	Stream ours(env);
	ibv_qp_init_attr attr = {.send_cq = ours.cq(),
				 .recv_cq = ours.cq(),
				 .cap = {4, 4, 1, 1, 0},
				 .qp_type = IBV_QPT_RC};
	ibv_qp *qp = ibv_create_qp(local(env.a).raw_pd(0), &attr);
	ibv_qp_attr state;

	REQUIRE(qp, "ibv_create_qp");
	common::Child child(
		[&] { REQUIRE_EQ(ibv_destroy_qp(qp), 0, "destroy"); });

	child.must_end_well();
	ours.many(100);
	REQUIRE(ibv_query_qp(qp, &state, IBV_QP_STATE, &attr),
		"the queue pair is there");
	REQUIRE(ibv_destroy_qp(qp), "the queue pair was there");
	ours.many(100);
	ours.must_have_arrived();
}

PV_TEST_LOCAL("fork.direct",
	      "a child arms a direct window of its parent's, and posts from it; "
	      "then its parent does")
{
	need_pavo(env);
	DirectWriting w(env);
	const uint64_t seed = env.seed();
	common::Child child([&] {
		for (int i = 0; i < 50; i++) {
			w.window.arm(3, direct_size);
			w.post(3, direct_size);
			w.window.put(3, 0, direct_size, seed);
			w.expect(3, "of the child");
		}
	});

	child.must_end_well();
	w.must_hold(3, direct_size, seed, "of the child");
	w.write(5, direct_size);
	w.window.must_be_whole(env);
}
