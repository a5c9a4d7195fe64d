// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt_tests.cpp - contexts: one that is at something takes nothing else, and a pool that
 * is empty. Tests that need a slow interface are in room_tests.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "adapter.h"

using namespace windows;

namespace {

/* All frames that were started at a, as they are marked. */
std::vector<pavo::FrameState> marks(Ends &ends, size_t n)
{
	std::vector<pavo::FrameState> states(n);
	size_t known = 0;

	EXPECT_TRUE(ends.a.start().has_value());
	EXPECT_TRUE(eventually([&] {
		known += ends.a.sent(std::span(states).subspan(known));
		return known == n;
	}));
	return states;
}

/* Frames of one round: the first begins, and packets are sent behind the last. */
TEST(Busy, AContextThatHasSomethingToSend)
{
	Parameter quantum("window_quantum", 16);
	Ends ends;
	auto write = ends.request(1, 100'000), read = ends.request(3, 100);
	auto put = [&](bool is_write, const pavo::RequestFrame &request) {
		ASSERT_TRUE(ends.a.prepare_rdma(common::direction_of(is_write),
						{node_b, ends.b.number()},
						request)
				    .has_value());
	};
	Moved asked(ends.device_b, "rx_drop_rcxt_busy");

	put(true, write);
	put(true, ends.request(2, 100));
	put(false, read);
	pavo::PieceFrame piece = {.local_rcxt = ends.rcxt_a,
				  .remote_rcxt = ends.rcxt_b,
				  .tid = 4,
				  .total = 1};
	ASSERT_TRUE(ends.a.prepare_piece({node_b, ends.b.number()}, piece, 1,
					 [](std::span<std::byte> to) {
						 to[0] = std::byte(0xee);
					 })
			    .has_value());
	/* Older ones are that first. */
	put(true, ends.request(1, 100));
	EXPECT_EQ(marks(ends, 5),
		  (std::vector{pavo::FrameState::sent, pavo::FrameState::busy,
			       pavo::FrameState::busy, pavo::FrameState::busy,
			       pavo::FrameState::stale}));
	/* The operation that it was at is done, as if nothing had been. */
	auto done = ended(ends.a);
	EXPECT_EQ(done.tid, 1u);
	EXPECT_EQ(done.cookie, write.cookie);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.part(0, 100'000),
				       ends.there.memory.part(0, 100'000)));
	EXPECT_TRUE(ends.there.holds(2, 100'000, (1 << 20) - 100'000));
	EXPECT_EQ(asked.by(), 0u) << "no peer was asked for anything";
	EXPECT_TRUE(quiet(ends.a));
	/* The tids that were refused are as good as new. */
	EXPECT_EQ(ends.ask(true, ends.request(2, 100)), pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).tid, 2u);
}

/* b waits for data on its context, so no peer is given any by it. */
TEST(Busy, AReadOfOneThatTakesData)
{
	Ends ends;
	auto wait = ends.request(5, 100, pavo::rdma_flag::notify_target);
	pavo::FrameState state = pavo::FrameState::empty;

	wait.local_rcxt = ends.rcxt_b;
	/* It has no owner. */
	wait.remote_rcxt = ends.rcxt_a + 1;
	std::swap(wait.local_pvo, wait.remote_pvo);
	Moved unowned(ends.device_a, "rx_drop_rcxt");
	ASSERT_TRUE(ends.b.prepare_rdma(pavo::Direction::read,
					{node_a, ends.a.number()}, wait)
			    .has_value());
	ASSERT_TRUE(ends.b.start().has_value());
	ASSERT_TRUE(eventually([&] { return ends.b.sent({&state, 1}) == 1; }));
	ASSERT_EQ(state, pavo::FrameState::sent);
	ASSERT_TRUE(eventually([&] { return unowned.by() == 1; }));
	Moved busy(ends.device_b, "rx_drop_rcxt_busy"),
		stale(ends.device_b, "rx_drop_tid"),
		given(ends.device_b, "tx_rdma_packets");
	auto read = ends.request(4, 100, pavo::rdma_flag::notify_target);
	EXPECT_EQ(ends.ask(false, read), pavo::FrameState::sent);
	EXPECT_TRUE(eventually([&] { return stale.by() == 1; }))
		<< "an older one is that first";
	for (uint64_t n = 1; n <= 3; n++) {
		read.tid = 5 + n;
		EXPECT_EQ(ends.ask(false, read), pavo::FrameState::sent);
		ASSERT_TRUE(eventually([&] { return busy.by() == n; }));
	}
	EXPECT_EQ(given.by(), 0u);
	EXPECT_TRUE(ends.here.holds(1));
	EXPECT_TRUE(quiet(ends.a));
	EXPECT_TRUE(quiet(ends.b));
	/* As soon as it is at nothing it is given. */
	ASSERT_TRUE(ends.b.cancel({&ends.rcxt_b, 1}).has_value());
	read.tid = 9;
	EXPECT_EQ(ends.ask(false, read), pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).tid, 9u);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.part(0, 100),
				       ends.there.memory.part(0, 100)));
}

/* An ordinary user's window of the first adapter, of a job that its number tells. */
struct UsersWindow {
	explicit UsersWindow(uint32_t job_number)
		: device(world::adapter()),
		  job(pavo::Job::reserve(device, world::job_id + job_number,
					 world::job_key)
			      .value()),
		  window(pavo::Window::open(job).value())
	{
	}

	bool takes(size_t n)
	{
		std::vector<uint32_t> rcxts(n);

		return window.take_rcxts(rcxts).has_value();
	}
	bool has_enough(size_t n)
	{
		std::vector<uint32_t> rcxts(n);
		uint32_t before = window.lmt().value().rcxts_owned;

		return window.take_rcxts(rcxts).error_or({}).number() ==
			       EDQUOT &&
		       window.lmt().value().rcxts_owned == before;
	}

	pavo::Device device;
	pavo::Job job;
	pavo::Window window;
};

/* All windows of a user together; not other users', and not root's. */
TEST(Quota, AUserHasNotAllContexts)
{
	constexpr unsigned most = 10, one = 5001, another = 5002;
	Parameter quota("rcxts_per_user", most), jobs("jobs_per_user", 2);
	pavo::Device device = world::adapter();
	world::Process first([](world::Process &parent) {
		world::become_user(1 << 22, one);
		UsersWindow a(1), b(2);
		bool good = a.takes(6) && b.has_enough(5) && b.takes(4) &&
			    a.has_enough(1) && b.has_enough(1);

		parent.meet();
		/* Another user, and root, have theirs; a recovery has been. */
		parent.meet();
		return good && b.takes(most) && a.has_enough(1);
	});
	world::Process second([](world::Process &parent) {
		parent.meet();
		world::become_user(1 << 22, another);
		UsersWindow a(3);
		uint32_t rcxt;

		bool good = a.takes(most - 1) && a.has_enough(2) &&
			    a.window.take_rcxts({&rcxt, 1}).has_value() &&
			    a.has_enough(1);
		/* One comes back, one can be had. */
		return good && a.window.return_rcxts({&rcxt, 1}).has_value() &&
		       a.has_enough(2) && a.takes(1) && a.has_enough(1);
	});

	first.meet();
	second.meet();
	EXPECT_TRUE(second.good());
	{
		UsersWindow root(4);

		EXPECT_TRUE(root.takes(10 * most));
	}
	recover(device);
	first.meet();
	EXPECT_TRUE(first.good());
	/* Its contexts came back with its end. */
	world::Process third([](world::Process &) {
		world::become_user(1 << 22, one);
		UsersWindow a(1);

		return a.takes(most) && a.has_enough(1);
	});
	EXPECT_TRUE(third.good());
}

/* With the module's parameters max_windows=3 and max_rcxts=8. */
struct RcxtPool : testing::Test {
	static constexpr size_t most = 8;
	using Numbers = std::vector<uint32_t>;

	static Numbers take(pavo::Window &window, size_t n)
	{
		Numbers rcxts(n);

		must(window.take_rcxts(rcxts));
		return rcxts;
	}

	int refused(pavo::Window &window, size_t n)
	{
		Numbers rcxts(n);

		return window.take_rcxts(rcxts).error_or({}).number();
	}

	Pair pair;
};

TEST_F(RcxtPool, OfTheAdapterIsEmptyAfterEight)
{
	ASSERT_EQ(world::parameter("max_rcxts"), most);
	Numbers five = take(pair.a, 5);

	/* All or none. */
	EXPECT_EQ(refused(pair.a, 4), ENOSPC);
	EXPECT_EQ(pair.a.lmt().value().rcxts_owned, 5u);
	Numbers three = take(pair.a, 3);
	EXPECT_EQ(refused(pair.a, 1), ENOSPC);
	EXPECT_EQ(pair.a.lmt().value().rcxts_owned, most);
	Numbers all = five;
	all.insert(all.end(), three.begin(), three.end());
	std::ranges::sort(all);
	EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "one twice";
	/* The other adapter has its own, and refusals took none of them away. */
	for (int n = 0; n < 100; n++)
		ASSERT_EQ(refused(pair.b, most + 1), ENOSPC);
	EXPECT_EQ(pair.b.lmt().value().rcxts_owned, 0u);
	EXPECT_EQ(take(pair.b, most).size(), most);
	/* One comes back, one can be had. */
	ASSERT_TRUE(pair.a.return_rcxts({&three[1], 1}).has_value());
	EXPECT_EQ(refused(pair.a, 2), ENOSPC);
	EXPECT_EQ(take(pair.a, 1), Numbers{three[1]});
}

/* From the head, and back at the tail: they come again in the order they went. */
TEST_F(RcxtPool, OfTheAdapterIsAQueue)
{
	Numbers all = take(pair.a, most);
	Numbers back = {all[3], all[0], all[7], all[1],
			all[6], all[2], all[5], all[4]};

	for (uint32_t rcxt : back)
		ASSERT_TRUE(pair.a.return_rcxts({&rcxt, 1}).has_value());
	EXPECT_EQ(take(pair.a, 3), Numbers(back.begin(), back.begin() + 3));
	/* Behind those that are still there. */
	ASSERT_TRUE(pair.a.return_rcxts({&back[1], 1}).has_value());
	Numbers rest(back.begin() + 3, back.end());
	rest.push_back(back[1]);
	EXPECT_EQ(take(pair.a, 6), rest);
	/* Those of a window that ends come back, too. */
	ASSERT_TRUE(pair.a.disable().has_value());
	pavo::WindowOptions options = {.node = node_a,
				       .gid_index = pair.address_a.index};
	pavo::Window next = pavo::Window::open(pair.job_a, options).value();
	Numbers again = take(next, most);
	std::ranges::sort(again);
	std::ranges::sort(all);
	EXPECT_EQ(again, all);
}

/*
 * Windows that are opened, used, disabled and closed while the adapter recovers again and
 * again: at the end each context is there, once.
 */
TEST_F(RcxtPool, OfTheAdapterIsWholeAfterRecoveriesAndEnds)
{
	Buffer here(pair.job_b, 1 << 16, 1), there(pair.job_a, 1 << 16, 2);
	std::atomic<bool> over = false;
	std::atomic<uint32_t> recoveries = 0;
	std::thread administrator([&] {
		while (!over) {
			recover(pair.device_b);
			recoveries++;
			std::this_thread::yield();
		}
	});

	for (uint32_t round = 0; round < 300; round++) {
		auto window = another(pair);
		Numbers some = take(*window, 1 + round % 4);

		for (uint32_t rcxt : some) {
			pavo::RequestFrame request = {.local_rcxt = rcxt,
						      .tid = 1,
						      .local_pvo = here.pvo(),
						      .remote_pvo = there.pvo(),
						      .length = 1 << 16};

			EXPECT_TRUE(
				window->prepare_rdma(pavo::Direction::write,
						     {node_a, pair.a.number()},
						     request)
					.has_value());
		}
		EXPECT_TRUE(window->start().has_value());
		if (round % 3 == 1) {
			EXPECT_TRUE(window->disable().has_value());
			EXPECT_EQ(window->lmt().value().rcxts, 0u);
			EXPECT_EQ(window->lmt().value().rcxts_owned, 0u);
		} else if (round % 3 == 2) {
			/* They may be gone already. */
			for (uint32_t rcxt : some) {
				int error = window->return_rcxts({&rcxt, 1})
						    .error_or({})
						    .number();
				EXPECT_TRUE(!error || error == EINVAL ||
					    error == EBUSY)
					<< error;
			}
		}
	}
	EXPECT_TRUE(eventually([&] { return recoveries > 10; }));
	over = true;
	administrator.join();
	EXPECT_EQ(pair.b.lmt().value().rcxts_owned, 0u);
	Numbers all = take(pair.b, most);
	EXPECT_EQ(refused(pair.b, 1), ENOSPC);
	std::ranges::sort(all);
	EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "one twice";
}

/* Their operations are whole while the pool is as busy as it can be. */
TEST_F(RcxtPool, OfTheAdapterServesAsAlways)
{
	Buffer here(pair.job_a, 1 << 20, 1), there(pair.job_b, 1 << 20, 2);
	Numbers mine = take(pair.a, most), theirs = take(pair.b, most);
	constexpr uint32_t part = (1 << 20) / most;

	for (uint64_t tid = 1; tid <= 4; tid++) {
		there.fill(uint32_t(tid + 1));
		for (uint32_t n = 0; n < most; n++) {
			pavo::RequestFrame request = {
				.local_rcxt = mine[n],
				.remote_rcxt = theirs[n],
				.tid = tid,
				.local_pvo = here.pvo(n * part),
				.remote_pvo = there.pvo(n * part),
				.length = part,
				.flags = pavo::rdma_flag::notify_source};

			ASSERT_TRUE(
				pair.a.prepare_rdma(pavo::Direction::write,
						    {node_b, pair.b.number()},
						    request)
					.has_value());
		}
		ASSERT_TRUE(pair.a.start().has_value());
		for (uint32_t n = 0; n < most; n++)
			ASSERT_EQ(ended(pair.a).tid, tid);
		ASSERT_TRUE(there.holds(1));
	}
}

} // namespace
