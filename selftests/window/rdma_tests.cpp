// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_tests.cpp - RDMA between windows: data, notifications, tids, what is refused. */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "adapter.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;

namespace {

constexpr auto both = pavo::rdma_flag::notify_source |
		      pavo::rdma_flag::notify_target;

struct RdmaOver : testing::TestWithParam<bool> {};

TEST_P(RdmaOver, WritesOfEveryLength)
{
	Ends ends(1 << 20, GetParam());
	uint64_t tid = 0;

	for (uint32_t length :
	     {0u, 1u, 2u, 3u, 4u, 255u, 256u, 257u, 1379u, 1380u, 1381u, 4095u,
	      4096u, 4097u, 65536u, (1u << 20) - 5}) {
		ends.there.fill(2);
		auto request = ends.request(++tid, length);
		request.local_pvo += 3;
		request.remote_pvo += 5;
		ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
		auto done = ended(ends.a);
		ASSERT_EQ(done.tid, tid);
		EXPECT_EQ(done.rcxt, ends.rcxt_a);
		EXPECT_EQ(done.peer_rcxt, ends.rcxt_b);
		EXPECT_EQ(done.length, length);
		EXPECT_EQ(done.tag, request.tag);
		EXPECT_EQ(done.cookie, request.cookie);
		EXPECT_EQ(done.status, pavo::PvoResult::ok);
		EXPECT_EQ(done.target, 0);
		auto from = ends.here.memory.part(3, length);
		auto to = ends.there.memory.part(5, length);
		ASSERT_TRUE(std::ranges::equal(from, to)) << length;
		/* And not a byte beside it. */
		ASSERT_TRUE(ends.there.holds(2, 0, 5));
		ASSERT_TRUE(ends.there.holds(2, 5 + length,
					     (1 << 20) - 5 - length));
	}
	EXPECT_TRUE(quiet(ends.b));
}

TEST_P(RdmaOver, ReadsOfEveryLength)
{
	Ends ends(1 << 20, GetParam());
	uint64_t tid = 0;

	for (uint32_t length :
	     {0u, 1u, 5u, 1380u, 1381u, 4097u, 65536u, (1u << 20) - 9}) {
		ends.here.fill(1);
		auto request = ends.request(++tid, length,
					    pavo::rdma_flag::notify_target);
		request.local_pvo += 9;
		request.remote_pvo += 2;
		ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
		auto done = ended(ends.a);
		ASSERT_EQ(done.tid, tid);
		EXPECT_EQ(done.cookie, request.cookie);
		EXPECT_EQ(done.target, 1);
		auto to = ends.here.memory.part(9, length);
		auto from = ends.there.memory.part(2, length);
		ASSERT_TRUE(std::ranges::equal(from, to)) << length;
		ASSERT_TRUE(ends.here.holds(1, 0, 9));
		ASSERT_TRUE(
			ends.here.holds(1, 9 + length, (1 << 20) - 9 - length));
	}
	EXPECT_TRUE(quiet(ends.b));
}

INSTANTIATE_TEST_SUITE_P(Ip, RdmaOver, testing::Values(false, true),
			 [](const auto &info) {
				 return info.param ? "v6" : "v4";
			 });

/* Source, target, both, none; of writes and of reads. */
TEST(Rdma, WhoIsTold)
{
	Ends ends;
	uint64_t tid = 0;

	for (bool write : {true, false})
		for (unsigned flags = 0; flags <= both; flags++) {
			auto request = ends.request(++tid, 10000, flags);
			auto &source = write ? ends.a : ends.b;
			auto &target = write ? ends.b : ends.a;
			Moved complete(write ? ends.device_b : ends.device_a,
				       "rdma_done");

			ASSERT_EQ(ends.ask(write, request),
				  pavo::FrameState::sent);
			if (flags & pavo::rdma_flag::notify_target) {
				auto done = ended(target);
				ASSERT_EQ(done.tid, tid);
				EXPECT_EQ(done.target, 1);
				EXPECT_EQ(done.tag, request.tag);
			}
			if (flags & pavo::rdma_flag::notify_source) {
				auto done = ended(source);
				ASSERT_EQ(done.tid, tid);
				EXPECT_EQ(done.target, 0);
				EXPECT_EQ(done.tag, request.tag);
			}
			ASSERT_TRUE(
				eventually([&] { return complete.by() == 1; }));
			EXPECT_TRUE(quiet(ends.a)) << write << flags;
			EXPECT_TRUE(quiet(ends.b)) << write << flags;
		}
}

/* An attempt is begun by a higher tid only. */
TEST(Tid, LowerAndEqualOnesAreStale)
{
	Ends ends;

	ASSERT_EQ(ends.ask(true, ends.request(7, 100)), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 7u);
	EXPECT_EQ(ends.ask(true, ends.request(7, 100)),
		  pavo::FrameState::stale);
	EXPECT_EQ(ends.ask(true, ends.request(6, 100)),
		  pavo::FrameState::stale);
	EXPECT_EQ(ends.ask(false, ends.request(7, 100)),
		  pavo::FrameState::stale);
	/* The other end has one of its own, which packets must exceed. */
	uint32_t fresh;
	must(ends.a.take_rcxts({&fresh, 1}));
	auto request = ends.request(5, 100);
	request.local_rcxt = fresh;
	ends.there.fill(3);
	Moved stale(ends.device_b, "rx_drop_tid");
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	ASSERT_TRUE(eventually([&] { return stale.by() == 1; }));
	EXPECT_TRUE(ends.there.holds(3, 0, 100));
	request.tid = 6;
	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	ASSERT_TRUE(eventually([&] { return stale.by() == 2; }));
	request.tid = 8;
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).tid, 8u);
	EXPECT_TRUE(quiet(ends.a));
}

/* A complete operation is not placed again, but its source hears of it again. */
TEST(Tid, AnotherAttemptOfWhatIsCompleteIsAnsweredOnly)
{
	Ends ends;
	auto request = ends.request(10, 5000, both);

	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 10u);
	ASSERT_EQ(ended(ends.b).tid, 10u);
	ends.there.fill(9);
	Moved repeats(ends.device_b, "rdma_repeats");
	for (uint16_t attempt : {1, 2, 3}) {
		request.tid = 10u + attempt;
		request.attempts = attempt;
		ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
		ASSERT_EQ(ended(ends.a).tid, request.tid);
	}
	EXPECT_EQ(repeats.by(), 3u);
	EXPECT_TRUE(ends.there.holds(9, 0, 5000));
	EXPECT_TRUE(quiet(ends.b));
	/* A new operation is placed. */
	request.tid = 14;
	request.attempts = 0;
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 14u);
	EXPECT_FALSE(ends.there.holds(9, 0, 5000));
}

/* rCxts of others, and numbers that are none. */
TEST(Rcxt, OnlyTheWindowsOwn)
{
	Ends ends;
	auto request = ends.request(1, 100);
	Moved foreign(ends.device_b, "rx_drop_rcxt");

	for (uint32_t wrong : {ends.rcxt_a ^ 0x80000000u, ends.rcxt_a + 1,
			       0xffffffffu, ends.rcxt_a ^ 0x000fffffu}) {
		request.local_rcxt = wrong;
		EXPECT_EQ(ends.ask(true, request), pavo::FrameState::bad_rcxt);
	}
	request = ends.request(1, 100);
	ends.there.fill(4);
	uint64_t sent = 0;
	for (uint32_t wrong :
	     {ends.rcxt_b ^ 0x80000000u, ends.rcxt_b + 1, 0xffffffffu}) {
		request.remote_rcxt = wrong;
		request.tid = ++sent;
		EXPECT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	}
	ASSERT_TRUE(eventually([&] { return foreign.by() == sent; }));
	EXPECT_TRUE(ends.there.holds(4, 0, 100));
	EXPECT_TRUE(quiet(ends.a));
}

TEST(Rcxt, ComeBackAfterAllOthersOnly)
{
	Ends ends;
	uint32_t first, again;

	must(ends.a.take_rcxts({&first, 1}));
	EXPECT_EQ(ends.a.lmt().value().rcxts_owned, 2u);
	ASSERT_TRUE(ends.a.return_rcxts({&first, 1}).has_value());
	EXPECT_EQ(ends.a.return_rcxts({&first, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
	for (int i = 0; i < 100; i++) {
		must(ends.a.take_rcxts({&again, 1}));
		ASSERT_NE(again, first);
		ASSERT_TRUE(ends.a.return_rcxts({&again, 1}).has_value());
	}
	/* A stranger's are not given back either. */
	EXPECT_EQ(ends.a.return_rcxts({&ends.rcxt_b, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
}

/* Nothing more of it is placed: at the target alone, once some has come; or at both ends. */
TEST(Cancel, EndsIt)
{
	Ends ends;
	uint64_t tid = 0;
	auto begun = [&](uint32_t number) {
		return std::atomic_ref(*ends.there.memory.at()).load() !=
		       pattern(number, 1)[0];
	};
	/* All that was under way has come by when this message has. */
	auto all_came = [&] {
		pavo::FrameState state;

		return ends.a.send({node_b, ends.b.number()}, {}).has_value() &&
		       eventually([&] {
			       return ends.b.receive([](const Message &) {}, 1);
		       }) &&
		       eventually([&] { return one_sent(ends.a, state); });
	};

	for (int round = 0; round < 50; round++) {
		pavo::FrameState state = pavo::FrameState::empty;
		auto request = ends.request(++tid, 1 << 20, 0);

		ends.there.fill(100 + round);
		ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::write,
						{node_b, ends.b.number()},
						request)
				    .has_value());
		/* It sends while this thread goes on. */
		std::thread sender(
			[&] { EXPECT_TRUE(ends.a.start().has_value()); });
		EXPECT_TRUE(eventually([&] { return begun(100 + round); }));
		if (round % 2) {
			EXPECT_TRUE(
				ends.a.cancel({&ends.rcxt_a, 1}).has_value());
		}
		EXPECT_TRUE(ends.b.cancel({&ends.rcxt_b, 1}).has_value());
		ends.there.fill(round);
		sender.join();
		ASSERT_TRUE(
			eventually([&] { return one_sent(ends.a, state); }));
		EXPECT_TRUE(state == pavo::FrameState::sent ||
			    (round % 2 && state == pavo::FrameState::cancelled))
			<< uint32_t(state);
		ASSERT_TRUE(all_came());
		ASSERT_TRUE(ends.there.holds(round)) << round;
	}
	EXPECT_EQ(ends.a.cancel({&ends.rcxt_b, 1}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(ends.a.lmt().value().rcxts, 0u);
	/* And both go on. */
	ASSERT_EQ(ends.ask(true, ends.request(++tid, 1 << 20)),
		  pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).tid, tid);
}

/* Memory, and what it has to hold. */
struct Mirrored {
	explicit Mirrored(Buffer &buffer)
		: memory(buffer.memory),
		  expected(memory.all().begin(), memory.all().end())
	{
	}

	/* By its owner. */
	void write(size_t at, const std::vector<std::byte> &bytes)
	{
		memcpy(memory.at() + at, bytes.data(), bytes.size());
		expect(at, bytes);
	}
	/* By an operation. */
	void expect(size_t at, const std::vector<std::byte> &bytes)
	{
		std::ranges::copy(bytes, expected.begin() + ptrdiff_t(at));
	}
	bool right() const
	{
		return std::ranges::equal(memory.all(), expected);
	}

	const world::Memory &memory;
	std::vector<std::byte> expected;
};

/*
 * The process answers losses with another attempt of a higher tid. Each operation comes in
 * once, whole, and both ends hear of it; packets overtake each other all the time. A late
 * packet changes nothing: each has its part of the memory, whose owner writes to it when
 * the operation is over, and which is looked at until it is another's, twenty later.
 */
TEST(Network, RdmaDoesNotCareForOrder)
{
	constexpr uint32_t operations = 60, length = 40000, parts = 20,
			   stride = 50000;
	Ends ends;
	Mirrored of_a(ends.here), of_b(ends.there);
	Moved late_a(ends.device_a, "rx_drop_tid");
	Moved late_b(ends.device_b, "rx_drop_tid");
	uint64_t tid = 0;
	uint32_t attempts = 0;

	for (uint32_t n = 0; n < operations; n++) {
		bool write = n % 3, there = false, here = false;
		auto &source = write ? of_a : of_b, &sink = write ? of_b : of_a;
		auto request = ends.request(0, length, both);
		size_t at = n % parts * stride;

		request.tag = n;
		request.local_pvo += at;
		request.remote_pvo += at;
		source.write(at, pattern(3 * n, stride));
		sink.write(at, pattern(3 * n + 1, stride));
		for (uint16_t attempt = 0; !here; attempt++, attempts++) {
			ASSERT_LT(attempt, 1000);
			request.tid = ++tid;
			request.attempts = attempt;
			auto state = ends.ask(write, request);
			ASSERT_TRUE(state == pavo::FrameState::sent ||
				    state == pavo::FrameState::not_sent)
				<< uint32_t(state);
			auto timeout = std::chrono::steady_clock::now() +
				       std::chrono::milliseconds(100);
			while (!here &&
			       std::chrono::steady_clock::now() < timeout) {
				ends.a.receive([&](const Message &message) {
					auto done = message.done();
					here |= done.tid == tid;
					EXPECT_EQ(done.status,
						  pavo::PvoResult::ok);
				});
				ends.b.receive([&](const Message &message) {
					auto done = message.done();
					EXPECT_FALSE(write && there) << n;
					there = done.tag == n;
				});
			}
		}
		sink.expect(at, pattern(3 * n, length));
		ASSERT_TRUE(of_a.right() && of_b.right()) << n;
		/* Delayed packets do not change what is there. */
		sink.write(at, pattern(3 * n + 2, stride));
		EXPECT_TRUE(there || !write) << n;
	}
	if (getenv("PAVO_LOSSY")) {
		EXPECT_GT(attempts, operations);
		EXPECT_GT(late_a.by() + late_b.by(), 0u);
	}
	EXPECT_TRUE(of_a.right() && of_b.right());
}

/* Its memory is someone else's as soon as a window and its mapping are gone. */
TEST(Closing, UnderRdma)
{
	Pair pair;
	Buffer source(pair.job_a, 1 << 18, 1);
	world::Memory memory(1 << 18);
	uint32_t mine, rcxt;
	uint64_t tid = 0;
	Moved placed(pair.device_b, "rx_rdma_packets");

	must(pair.a.take_rcxts({&mine, 1}));
	for (int round = 0; round < 60; round++) {
		pavo::WindowOptions options = {.recv_frames = 64};
		auto window = another(pair, options);
		auto mapping = std::make_unique<pavo::Mapping>(
			pavo::Mapping::open(pair.job_b, memory.all()).value());
		pavo::RequestFrame request = {.local_rcxt = mine,
					      .remote_rcxt = 0,
					      .tid = ++tid,
					      .local_pvo = source.pvo(),
					      .remote_pvo =
						      mapping->pvo().value,
					      .length = 1 << 18,
					      .tag = 0,
					      .flags = 0,
					      .attempts = 0,
					      .cookie = 0};
		uint64_t before = placed.by();

		must(window->take_rcxts({&rcxt, 1}));
		request.remote_rcxt = rcxt;
		ASSERT_TRUE(pair.a.prepare_rdma(pavo::Direction::write,
						{node_b, window->number()},
						request)
				    .has_value());
		std::thread sender([&] { (void)pair.a.start(); });
		if (round % 3)
			eventually([&] { return placed.by() > before; });
		/* Either of them is enough. */
		if (round % 2)
			window.reset();
		else
			mapping.reset();
		memset(memory.at(), 0x77, memory.all().size());
		pavo::FrameState state;
		sender.join();
		ASSERT_TRUE(
			eventually([&] { return one_sent(pair.a, state); }));
		ASSERT_TRUE(std::ranges::all_of(memory.all(), [](std::byte b) {
			return b == std::byte(0x77);
		})) << round;
	}
}

/* Memory that is not mapped, at the end that asks: the window is dead. */
TEST(Violation, AtHomeItEndsTheWindow)
{
	Ends ends;
	auto request = ends.request(1, 100);

	request.local_pvo ^= uint64_t(1) << 60;
	EXPECT_EQ(ends.ask(true, request), pavo::FrameState::bad_pvo);
	EXPECT_EQ(ends.a.lmt().value().state, pavo::WindowState::dead);
	EXPECT_EQ(ends.a.lmt().value().fatal_rcxt, ends.rcxt_a);
	EXPECT_EQ(ends.ask(true, ends.request(2, 100)), pavo::FrameState::dead);
	Moved dropped(ends.device_a, "rx_drop_window");
	ASSERT_TRUE(ends.b.send({node_a, ends.a.number()}, {}).has_value());
	EXPECT_TRUE(eventually([&] { return dropped.by() == 1; }));
}

/* At the other end nothing is touched and the requester is notified. */
TEST(Violation, AbroadItIsTold)
{
	Ends ends;
	uint64_t tid = 0;

	for (bool write : {true, false}) {
		auto request =
			ends.request(++tid, 100,
				     write ? pavo::rdma_flag::notify_source :
					     pavo::rdma_flag::notify_target);
		Moved refused(ends.device_b, "rx_drop_rdma_pvo");

		request.remote_pvo ^= uint64_t(1) << 60;
		ASSERT_EQ(ends.ask(write, request), pavo::FrameState::sent);
		auto done = ended(ends.a);
		EXPECT_EQ(done.tid, tid);
		EXPECT_EQ(done.status, pavo::PvoResult::key);
		EXPECT_EQ(refused.by(), 1u);
	}
	/* Beyond the end of the region: no packet that crosses it is placed. */
	ends.there.fill(5);
	auto request = ends.request(++tid, 100);
	request.remote_pvo += (1 << 20) - 50;
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	EXPECT_NE(ended(ends.a).status, pavo::PvoResult::ok);
	EXPECT_TRUE(ends.there.holds(5, 0, 1 << 20));
	/* Both go on. */
	ASSERT_EQ(ends.ask(true, ends.request(++tid, 100)),
		  pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).status, pavo::PvoResult::ok);
}

/* For record-capture; as dissector_test.py expects them: fifteen packets. */
TEST(Rdma, DISABLED_FifteenForARecord)
{
	Ends ends(8192);
	uint64_t tid = 1ull << 40;
	auto record = [&](bool write, pavo::RequestFrame request) {
		request.tid = ++tid;
		ASSERT_EQ(ends.ask(write, request), pavo::FrameState::sent);
		ASSERT_EQ(ended(ends.a).tid, tid);
	};
	auto request = ends.request(0, 3001, both);

	record(true, request);
	request.attempts = 1;
	record(true, request);
	request = ends.request(0, 1381, pavo::rdma_flag::notify_target);
	ends.there.fill(2);
	record(false, request);
	request = ends.request(0, 0);
	record(true, request);
	request = ends.request(0, 5);
	request.remote_pvo ^= uint64_t(1) << 60;
	record(true, request);
}

/* Requests that are none. */
TEST(Request, WrongOnesAreRefused)
{
	Ends ends;
	auto request = ends.request(1, 100);

	request.flags = 0x10;
	EXPECT_EQ(ends.ask(true, request), pavo::FrameState::bad_request);
	request = ends.request(1, 100);
	pavo::FrameState state;
	/* The library writes 0 to what is reserved; it is changed in the frame. */
	auto *frame = shared_of(ends.a).send_frame(1);
	ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::read,
					{node_b, ends.b.number()}, request)
			    .has_value());
	reinterpret_cast<pavo_rdma_request *>(frame + 1)->counter = 65;
	ASSERT_TRUE(ends.a.start().has_value());
	ASSERT_TRUE(eventually([&] { return one_sent(ends.a, state); }));
	EXPECT_EQ(state, pavo::FrameState::bad_request);
	ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::write,
					{63, ends.b.number()}, request)
			    .has_value());
	ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::write,
					{node_b, 1 << 24}, request)
			    .has_value());
	ASSERT_TRUE(ends.a.start().has_value());
	for (auto expected :
	     {pavo::FrameState::bad_node, pavo::FrameState::bad_window}) {
		ASSERT_TRUE(
			eventually([&] { return one_sent(ends.a, state); }));
		EXPECT_EQ(state, expected);
	}
}

} // namespace
