// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Resizing completion queues: what was not polled stays, in order; sizes that
 * cannot be are refused; under load nothing is lost and nothing comes twice.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

int resize(Host &host, Cq &cq, int size)
{
	ibv_cq *raw = local(host).raw_cq(cq.id);
	int error = ibv_resize_cq(raw, size);

	if (!error)
		REQUIRE(raw->cqe >= size, "cqe is ", raw->cqe, " of ", size);
	cq.depth = raw->cqe;
	return error;
}

/* Completions that wait in B's CQ, with ids from `id` on. */
void leave(Env &env, Link &link, uint32_t count, uint64_t id)
{
	for (uint32_t i = 0; i < count; i++) {
		must_post(link.b, RecvWr{id + i, {}});
		must_send(env, link.a, make_wr(Op::send, {}, 0), "send");
	}
}

void expect(Env &env, Link &link, uint32_t count, uint64_t id)
{
	expect_all(env, link.b, link.b.recv_cq, numbers(id, count), "receives");
	no_more(link.b, "after those");
}

} // namespace

PV_TEST_LOCAL("resize.keeps",
	      "from any size to any other, at any place of the ring")
{
	static const int sizes[] = {1, 16, 3, 64, 64, 1000, 8, 2, 32};
	uint64_t id = 0;
	LinkSpec spec = {.cq_b = env.b.create_cq(8, false)};

	REQUIRE_EQ(spec.cq_b.error, 0);
	Link link = connect(env, spec);
	for (int round = 0; round < 4; round++) {
		for (int size : sizes) {
			uint32_t room =
				uint32_t(std::min(link.b.recv_cq.depth, size));
			uint32_t count = std::min(room, 13u);

			/* move on in the ring, then leave some in it */
			leave(env, link, 1, id);
			expect(env, link, 1, id++);
			leave(env, link, count, id);
			REQUIRE_EQ(resize(env.b, link.b.recv_cq, size), 0,
				   "to ", size, " with ", count);
			expect(env, link, count, id);
			id += count;
			leave(env, link, std::min(uint32_t(size), 20u), id);
			expect(env, link, std::min(uint32_t(size), 20u), id);
			id += std::min(uint32_t(size), 20u);
		}
	}
}

PV_TEST_LOCAL("resize.refused",
	      "too small for what is in it, or no size at all: EINVAL, no harm")
{
	LinkSpec spec = {.cq_b = env.b.create_cq(8, false)};

	REQUIRE_EQ(spec.cq_b.error, 0);
	Link link = connect(env, spec);
	int depth = link.b.recv_cq.depth;

	leave(env, link, 5, 100);
	for (int size : {0, -1, INT32_MIN, 1, 4,
			 int(env.info_b.device.max_cqe) + 1, INT32_MAX}) {
		REQUIRE_EQ(resize(env.b, link.b.recv_cq, size), EINVAL, "to ",
			   size);
		REQUIRE_EQ(link.b.recv_cq.depth, depth, "after ", size);
	}
	leave(env, link, 3, 105);
	REQUIRE_EQ(resize(env.b, link.b.recv_cq, 8), 0, "as it is");
	REQUIRE_EQ(resize(env.b, link.b.recv_cq,
			  int(env.info_b.device.max_cqe)),
		   0, "to the largest");
	expect(env, link, 8, 100);
	REQUIRE_EQ(resize(env.b, link.b.recv_cq, 1), 0, "to the smallest");
	leave(env, link, 1, 200);
	expect(env, link, 1, 200);
}

PV_TEST_LOCAL("resize.armed", "who waited for an event still gets it")
{
	Link link = connect(env, {.events = true});

	REQUIRE_EQ(env.b.arm(link.b.recv_cq.id, false), 0);
	REQUIRE_EQ(resize(env.b, link.b.recv_cq, 1000), 0);
	leave(env, link, 1, 1);
	must_wake(env, env.b, link.b.recv_cq, "no event after the resize");
	expect(env, link, 1, 1);
}

PV_TEST_LOCAL("resize.forgets",
	      "a QP destroyed after the resize takes its completions along")
{
	Link link = connect(env, {.cq_b = env.b.create_cq(8, false)});

	leave(env, link, 3, 1);
	REQUIRE_EQ(resize(env.b, link.b.recv_cq, 100), 0);
	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0);
	REQUIRE(env.b.poll(link.b.recv_cq.id, 3, 0).empty(),
		"completions of a QP that is gone");
}

namespace {

/* One thread sends, one polls B's CQ, one changes its size all the time. */
class Load {
public:
	Load(Env &env, Link &link, uint32_t total)
		: env_(env), link_(link), total_(total),
		  cq_(local(env.b).raw_cq(link.b.recv_cq.id))
	{
	}

	void run()
	{
		std::thread poller([this] { guard([this] { poll(); }); });
		std::thread sizer([this] { guard([this] { size(); }); });

		guard([this] { send(); });
		poller.join();
		sizer.join();
		if (!what_.empty())
			throw Failure(what_);
		REQUIRE(resized_ > 0, "was never resized");
	}

private:
	template <typename Body> void guard(Body body)
	{
		try {
			body();
		} catch (const std::exception &error) {
			if (!stop_.exchange(true))
				what_ = error.what();
		}
	}

	void send()
	{
		for (uint32_t i = 0; i < total_ && !stop_; i++) {
			while (i - seen_ >= in_flight && !stop_)
				std::this_thread::yield();
			must_post(link_.b, RecvWr{i, {}});
			must_send(env_, link_.a, make_wr(Op::send, {}, 0),
				  "send");
		}
	}

	void poll()
	{
		auto end =
			std::chrono::steady_clock::now() +
			std::chrono::milliseconds(4 * env_.options.patience_ms);

		while (seen_ < total_ && !stop_) {
			ibv_wc wc[4];
			int count = ibv_poll_cq(cq_, 4, wc);

			REQUIRE(count >= 0, "ibv_poll_cq");
			for (int i = 0; i < count; i++) {
				REQUIRE_EQ(int(wc[i].status), IBV_WC_SUCCESS);
				REQUIRE_EQ(wc[i].wr_id, seen_.load());
				seen_++;
			}
			REQUIRE(std::chrono::steady_clock::now() < end,
				seen_.load(), " of ", total_, " came");
			if (!count)
				std::this_thread::yield();
		}
		stop_ = true;
	}

	void size()
	{
		std::minstd_rand random(1);

		while (!stop_) {
			int size = int(in_flight + random() % 100);
			int error = ibv_resize_cq(cq_, size);

			REQUIRE_EQ(error, 0, "to ", size);
			resized_++;
			std::this_thread::yield();
		}
	}

	static constexpr uint32_t in_flight = 16;
	Env &env_;
	Link &link_;
	const uint32_t total_;
	ibv_cq *cq_;
	std::atomic<uint32_t> seen_ = 0;
	std::atomic<uint32_t> resized_ = 0;
	std::atomic<bool> stop_ = false;
	std::string what_;
};

} // namespace

PV_TEST_LOCAL("resize.under_load",
	      "while one thread posts and one polls: all of it, in order")
{
	LinkSpec spec = {.cq_b = env.b.create_cq(32, false)};

	REQUIRE_EQ(spec.cq_b.error, 0);
	Link link = connect(env, spec);

	Load(env, link, 3000).run();
}
