// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * room_tests.cpp - an interface that takes less than there is to be sent: guest.sh gives
 * the first adapter's a queue of a few packets, and nothing is lost but by that.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "adapter.h"
#include "raw.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;

namespace {

constexpr uint32_t room_length = 256 << 10;

/* Of a write by a or a read by b: everything, by one attempt, and each byte once. */
void comes_in_whole(Ends &ends, pavo::Window &who, Moved &refused,
		    Moved &placed)
{
	auto done = ended(who);

	EXPECT_EQ(done.tid, 1u);
	EXPECT_EQ(done.status, pavo::PvoResult::ok);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.all(),
				       ends.there.memory.all()));
	EXPECT_GT(refused.by(), 0u) << "there was room for everything";
	EXPECT_EQ(placed.by(), (room_length + 1379) / 1380);
}

TEST(Congested, AWriteWaitsAndLosesNothing)
{
	Ends ends(room_length);
	Moved refused(ends.device_a, "tx_drop_congested");
	Moved placed(ends.device_b, "rx_rdma_packets");

	ASSERT_EQ(ends.ask(true, ends.request(1, room_length)),
		  pavo::FrameState::sent);
	comes_in_whole(ends, ends.a, refused, placed);
}

TEST(Congested, SoDoesWhoAnswersARead)
{
	Ends ends(room_length);
	Moved refused(ends.device_a, "tx_drop_congested");
	Moved placed(ends.device_b, "rx_rdma_packets");
	auto request =
		ends.request(1, room_length, pavo::rdma_flag::notify_target);

	std::swap(request.local_rcxt, request.remote_rcxt);
	std::swap(request.local_pvo, request.remote_pvo);
	ASSERT_TRUE(ends.b.prepare_rdma(pavo::Direction::read,
					{node_a, ends.a.number()}, request)
			    .has_value());
	ASSERT_TRUE(ends.b.start().has_value());
	comes_in_whole(ends, ends.b, refused, placed);
}

TEST(Congested, FramesAreMarkedWithWhatBecameOfThem)
{
	constexpr uint32_t count = 64;
	Pair pair;
	std::vector<pavo::FrameState> states(count);
	std::vector<uint32_t> seen(count);
	Moved refused(pair.device_a, "tx_drop_congested");
	size_t known = 0, come = 0;

	for (uint32_t n = 0; n < count; n++)
		ASSERT_TRUE(pair.a.prepare({node_b, pair.b.number()},
					   pattern(n, 1000 + n))
				    .has_value());
	ASSERT_TRUE(pair.a.start().has_value());
	ASSERT_TRUE(eventually([&] {
		known += pair.a.sent(std::span(states).subspan(known));
		return known == count;
	}));
	auto sent = std::ranges::count(states, pavo::FrameState::sent);
	auto not_sent = std::ranges::count(states, pavo::FrameState::not_sent);
	EXPECT_EQ(sent + not_sent, count);
	EXPECT_GT(sent, 0);
	EXPECT_EQ(uint64_t(not_sent), refused.by());
	EXPECT_GT(not_sent, 0) << "there was room for everything";
	EXPECT_TRUE(eventually([&] {
		come += pair.b.receive([&](const Message &message) {
			uint32_t n = uint32_t(message.payload.size()) - 1000;

			ASSERT_LT(n, count);
			ASSERT_TRUE(std::ranges::equal(message.payload,
						       pattern(n, 1000 + n)));
			seen[n]++;
		});
		return come == size_t(sent);
	}));
	for (uint32_t n = 0; n < count; n++)
		EXPECT_EQ(seen[n], states[n] == pavo::FrameState::sent) << n;
}

/* ------------------------------------------------ contexts that are sending */

constexpr uint32_t long_length = 4 << 20, packets = (room_length + 1379) / 1380;

/* How frame @number of a is marked; it may be none yet. */
pavo::FrameState mark(Ends &ends, uint32_t number)
{
	return pavo::FrameState(
		std::atomic_ref(shared_of(ends.a).send_frame(number)->state)
			.load(std::memory_order_acquire));
}

void start(pavo::Window &window, bool write, uint16_t node, uint32_t to,
	   const pavo::RequestFrame &request)
{
	ASSERT_TRUE(window.prepare_rdma(common::direction_of(write), {node, to},
					request)
			    .has_value());
	ASSERT_TRUE(window.start().has_value());
}

/* Of whatever end: the sender is not asked, given data or given back. */
TEST(Congested, AContextThatSendsIsBusy)
{
	Ends ends(long_length);
	Moved busy(ends.device_a, "rx_drop_rcxt_busy");
	uint32_t other_a, other_b;

	must(ends.a.take_rcxts({&other_a, 1}));
	must(ends.b.take_rcxts({&other_b, 1}));
	start(ends.a, true, node_b, ends.b.number(),
	      ends.request(1, long_length));
	auto request = ends.request(1, long_length);
	request.local_rcxt = other_a;
	request.remote_rcxt = other_b;
	start(ends.a, true, node_b, ends.b.number(), request);
	EXPECT_TRUE(
		eventually([&] { return ends.a.lmt().value().rcxts == 2; }));
	pavo::Lmt lmt = ends.a.lmt().value();
	EXPECT_EQ(std::min(lmt.rcxt_head, lmt.rcxt_tail),
		  std::min(ends.rcxt_a, other_a));
	EXPECT_EQ(std::max(lmt.rcxt_head, lmt.rcxt_tail),
		  std::max(ends.rcxt_a, other_a));
	start(ends.a, true, node_b, ends.b.number(), ends.request(2, 100));
	start(ends.a, false, node_b, ends.b.number(), ends.request(3, 100));
	for (uint32_t number : {2u, 3u})
		EXPECT_TRUE(eventually([&] {
			return mark(ends, number) == pavo::FrameState::busy;
		}));
	EXPECT_EQ(ends.a.return_rcxts({&ends.rcxt_a, 1}),
		  pavo::Unexpected(std::errc::device_or_resource_busy));
	/* By b: a read of it, and data for it. */
	request = ends.request(9, 100);
	request.local_rcxt = other_b;
	request.remote_rcxt = ends.rcxt_a;
	std::swap(request.local_pvo, request.remote_pvo);
	start(ends.b, false, node_a, ends.a.number(), request);
	EXPECT_TRUE(eventually([&] { return busy.by() == 1; }));
	request.tid = 10;
	start(ends.b, true, node_a, ends.a.number(), request);
	EXPECT_TRUE(eventually([&] { return busy.by() == 2; }));
	EXPECT_TRUE(ends.here.holds(1));
	EXPECT_EQ(mark(ends, 0), pavo::FrameState::empty) << "it still sends";
	EXPECT_EQ(mark(ends, 1), pavo::FrameState::empty)
		<< "so does the other";
	/* It is free as soon as it is at nothing. */
	uint32_t both[] = {ends.rcxt_a, other_a};
	ASSERT_TRUE(ends.a.cancel(both).has_value());
	for (uint32_t number : {0u, 1u})
		EXPECT_EQ(mark(ends, number), pavo::FrameState::cancelled);
	EXPECT_EQ(ends.a.lmt().value().rcxts, 0u);
	EXPECT_EQ(ends.a.lmt().value().rcxt_head, 0u);
	EXPECT_TRUE(ends.a.return_rcxts(both).has_value());
}

/* The window that has just sent comes last: the queue goes round in the order of requests. */
TEST(Congested, ContextsSendRoundRobin)
{
	constexpr size_t many = 3;
	Ends ends(long_length);
	std::array<uint32_t, many> here, there;
	std::array<bool, many> was_head{};

	must(ends.a.take_rcxts(here));
	must(ends.b.take_rcxts(there));
	for (size_t n = 0; n < many; n++) {
		auto request = ends.request(1, long_length);

		request.local_rcxt = here[n];
		request.remote_rcxt = there[n];
		ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::write,
						{node_b, ends.b.number()},
						request)
				    .has_value());
	}
	/* In one round, before the first of them has its own. */
	ASSERT_TRUE(ends.a.start().has_value());
	EXPECT_TRUE(eventually([&] {
		pavo::Lmt lmt = ends.a.lmt().value();
		size_t head =
			std::ranges::find(here, lmt.rcxt_head) - here.begin();

		EXPECT_EQ(lmt.rcxts, many);
		if (lmt.rcxts != many || head == many)
			return true;
		EXPECT_EQ(lmt.rcxt_tail, here[(head + many - 1) % many]);
		was_head[head] = true;
		return std::ranges::count(was_head, true) == many;
	}));
	EXPECT_EQ(std::ranges::count(was_head, true), many);
	/* The others are still in order when the middle one goes. */
	ASSERT_TRUE(ends.a.cancel({&here[1], 1}).has_value());
	pavo::Lmt lmt = ends.a.lmt().value();
	EXPECT_EQ(lmt.rcxts, many - 1);
	EXPECT_EQ(std::min(lmt.rcxt_head, lmt.rcxt_tail),
		  std::min(here[0], here[2]));
	EXPECT_EQ(std::max(lmt.rcxt_head, lmt.rcxt_tail),
		  std::max(here[0], here[2]));
	ASSERT_TRUE(ends.a.cancel(here).has_value());
	EXPECT_EQ(ends.a.lmt().value().rcxt_head, 0u);
	EXPECT_EQ(ends.a.lmt().value().rcxt_tail, 0u);
}

/*
 * The next attempt is answered by its first packet, as all is there: the rest of it is
 * not sent any more, and the context is free.
 */
TEST(Congested, AnEndThatComesBeforeAllIsSentAgain)
{
	Ends ends(room_length);
	auto request = ends.request(1, room_length);

	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 1u);
	ends.there.fill(9);
	Moved repeats(ends.device_b, "rdma_repeats"),
		sent(ends.device_a, "tx_rdma_packets");
	request.tid = 2;
	request.attempts = 1;
	start(ends.a, true, node_b, ends.b.number(), request);
	auto done = ended(ends.a);
	/* The frame was marked by that, and before. */
	EXPECT_EQ(mark(ends, 1), pavo::FrameState::sent);
	EXPECT_TRUE(ends.a.return_rcxts({&ends.rcxt_a, 1}).has_value());
	EXPECT_EQ(done.tid, 2u);
	EXPECT_EQ(done.status, pavo::PvoResult::ok);
	EXPECT_EQ(done.cookie, request.cookie);
	EXPECT_LT(sent.by(), packets / 2);
	EXPECT_EQ(repeats.by(), 1u);
	EXPECT_TRUE(ends.there.holds(9));
	EXPECT_EQ(ends.a.lmt().value().rcxts, 0u);
	EXPECT_TRUE(quiet(ends.a));
}

/* That of the attempt before is not the end of what is being sent now. */
TEST(Congested, AnEndOfBeforeEndsNothing)
{
	Ends ends(2 * room_length);
	Wire at_a("va"), from_b("vb");

	ASSERT_EQ(ends.ask(true, ends.request(1, 100)), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 1u);
	auto before = at_a.recorded(0xc3);
	ASSERT_EQ(before.size(), 1u);
	auto request = ends.request(2, 2 * room_length);
	ends.there.fill(9);
	Moved late(ends.device_a, "rx_drop_tid"),
		placed(ends.device_b, "rx_rdma_packets");
	start(ends.a, true, node_b, ends.b.number(), request);
	for (uint64_t n = 1; n <= 3; n++) {
		from_b.send(before[0]);
		ASSERT_TRUE(eventually([&] { return late.by() == n; }));
	}
	EXPECT_EQ(mark(ends, 1), pavo::FrameState::empty) << "it is being sent";
	EXPECT_TRUE(quiet(ends.a));
	/* All of it comes, and its own end. */
	EXPECT_EQ(ended(ends.a).tid, 2u);
	EXPECT_EQ(mark(ends, 1), pavo::FrameState::sent);
	EXPECT_EQ(placed.by(), (2 * room_length + 1379) / 1380);
	EXPECT_TRUE(ends.there.holds(1));
}

/* Memory that is none there: after the first packets nothing more is sent. */
TEST(Congested, ARefusalStopsWhatIsSent)
{
	Ends ends(room_length);
	auto request = ends.request(1, room_length);
	Moved sent(ends.device_a, "tx_rdma_packets");

	request.remote_pvo ^= uint64_t(1) << 60;
	start(ends.a, true, node_b, ends.b.number(), request);
	auto done = ended(ends.a);
	EXPECT_EQ(mark(ends, 0), pavo::FrameState::cancelled);
	EXPECT_EQ(done.tid, 1u);
	EXPECT_EQ(done.status, pavo::PvoResult::key);
	EXPECT_LT(sent.by(), packets / 2);
	EXPECT_TRUE(ends.a.return_rcxts({&ends.rcxt_a, 1}).has_value());
	EXPECT_TRUE(ends.there.holds(2));
}

} // namespace
