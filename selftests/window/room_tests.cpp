// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * room_tests.cpp - an interface that takes less than there is to be sent: guest.sh gives
 * the first adapter's a queue of a few packets, and nothing is lost but by that.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "adapter.h"

using namespace windows;
using pavo::Message;

namespace {

constexpr uint32_t length = 256 << 10;

/* Of a write by a or a read by b: everything, by one attempt, and each byte once. */
void comes_in_whole(Ends &ends, pavo::Window &who, Moved &refused,
		    Moved &placed)
{
	auto done = ended(who);

	EXPECT_EQ(done.tid, 1u);
	EXPECT_EQ(done.status, PAVO_PVO_OK);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.all(),
				       ends.there.memory.all()));
	EXPECT_GT(refused.by(), 0u) << "there was room for everything";
	EXPECT_EQ(placed.by(), (length + 1379) / 1380);
}

TEST(Congested, AWriteWaitsAndLosesNothing)
{
	Ends ends(length);
	Moved refused(ends.device_a, "tx_drop_congested");
	Moved placed(ends.device_b, "rx_rdma_packets");

	ASSERT_EQ(ends.ask(true, ends.request(1, length)), PAVO_FRAME_SENT);
	comes_in_whole(ends, ends.a, refused, placed);
}

TEST(Congested, SoDoesWhoAnswersARead)
{
	Ends ends(length);
	Moved refused(ends.device_a, "tx_drop_congested");
	Moved placed(ends.device_b, "rx_rdma_packets");
	auto request = ends.request(1, length, PAVO_RDMA_TELL_TARGET);

	std::swap(request.local_rcxt, request.remote_rcxt);
	std::swap(request.local_pvo, request.remote_pvo);
	ASSERT_FALSE(
		ends.b.prepare_rdma(false, node_a, ends.a.number(), request));
	ASSERT_FALSE(ends.b.start());
	comes_in_whole(ends, ends.b, refused, placed);
}

TEST(Congested, FramesAreMarkedWithWhatBecameOfThem)
{
	constexpr uint32_t count = 64;
	Pair pair;
	std::vector<pavo_frame_state> states(count);
	std::vector<uint32_t> seen(count);
	Moved refused(pair.device_a, "tx_drop_congested");
	size_t known = 0, come = 0;

	for (uint32_t n = 0; n < count; n++)
		ASSERT_FALSE(pair.a.prepare(node_b, pair.b.number(),
					    pattern(n, 1000 + n)));
	ASSERT_FALSE(pair.a.start());
	ASSERT_TRUE(eventually([&] {
		known += pair.a.sent(std::span(states).subspan(known));
		return known == count;
	}));
	auto sent = std::ranges::count(states, PAVO_FRAME_SENT);
	auto not_sent = std::ranges::count(states, PAVO_FRAME_NOT_SENT);
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
		EXPECT_EQ(seen[n], states[n] == PAVO_FRAME_SENT) << n;
}

} // namespace
