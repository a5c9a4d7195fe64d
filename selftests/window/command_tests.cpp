// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * command_tests.cpp - what a process may write into the memory that it shares with the
 * adapter: anything. It costs the process a counted refusal, and other processes nothing.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "adapter.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;

namespace {

void put(pavo::Window &window, uint64_t command)
{
	pavo_command_page *page = shared_of(window).commands();

	page->ring[page->producer % PAVO_WCMD_RING] = command;
	std::atomic_ref(page->producer).fetch_add(1);
}

uint64_t word(uint64_t op, uint32_t argument)
{
	return op << PAVO_WCMD_OP_SHIFT | argument;
}

struct Command : testing::Test {
	Pair pair;
	Moved bad{pair.device_a, "window_bad_commands"};

	void refuses(uint64_t command)
	{
		Moved one(pair.device_a, "window_bad_commands");

		put(pair.a, command);
		ASSERT_TRUE(shared_of(pair.a).kick().has_value());
		EXPECT_EQ(one.by(), 1u) << std::hex << command;
	}

	/* It still does what it is for. */
	void works()
	{
		std::vector<std::byte> bytes = pattern(9, 333);
		bool same = false;

		ASSERT_TRUE(pair.a.send({node_b, pair.b.number()}, bytes)
				    .has_value());
		ASSERT_TRUE(eventually([&] {
			return pair.b.receive([&](const Message &message) {
				same = std::equal(message.payload.begin(),
						  message.payload.end(),
						  bytes.begin(), bytes.end());
			});
		}));
		EXPECT_TRUE(same);
	}
};

TEST_F(Command, UnknownOnesAndStrayBits)
{
	refuses(0);
	refuses(word(7, 1));
	refuses(word(255, 0));
	refuses(word(PAVO_WCMD_START_TRANSMIT, 1) | 1ull << 40);
	works();
}

TEST_F(Command, MoreFramesThanThereAre)
{
	refuses(word(PAVO_WCMD_START_TRANSMIT, 65));
	refuses(word(PAVO_WCMD_START_TRANSMIT, ~0u));
	refuses(word(PAVO_WCMD_START_TRANSMIT, 0));
	refuses(word(PAVO_WCMD_RETURN_SLOTS, 1));
	refuses(word(PAVO_WCMD_RETURN_SLOTS, ~0u));
	EXPECT_EQ(pair.a.lmt().value().send_ready, 0u);
	EXPECT_EQ(pair.a.lmt().value().recv_free, 256u);
	works();
}

TEST_F(Command, AProducerThatJumps)
{
	pavo_command_page *page = shared_of(pair.a).commands();

	for (uint32_t by : {257u, 1u << 31, ~0u}) {
		Moved one(pair.device_a, "window_bad_commands");

		page->producer += by;
		ASSERT_TRUE(shared_of(pair.a).kick().has_value());
		EXPECT_EQ(one.by(), 1u) << by;
		EXPECT_EQ(page->consumer, page->producer);
	}
	works();
}

TEST_F(Command, AWholeRingOfThem)
{
	for (uint32_t n = 0; n < PAVO_WCMD_RING; n++)
		put(pair.a, word(PAVO_WCMD_RECV_THRESHOLD, n));
	ASSERT_TRUE(shared_of(pair.a).kick().has_value());
	EXPECT_EQ(bad.by(), 0u);
	EXPECT_EQ(pair.a.lmt().value().recv_threshold, PAVO_WCMD_RING - 1);
	works();
}

/* Frames that change while they are looked at, and random commands. */
TEST_F(Command, Garbage)
{
	std::mt19937_64 random(1);
	std::atomic<bool> over = false;
	std::vector<std::byte *> frames;
	for (uint32_t n = 0; n < 64; n++)
		frames.push_back(reinterpret_cast<std::byte *>(
			shared_of(pair.a).send_frame(n)));
	std::thread scribbler([&] {
		std::mt19937_64 own(2);

		while (!over)
			for (std::byte *frame : frames)
				for (size_t i = 0; i < 16; i += 8)
					std::atomic_ref(
						*reinterpret_cast<uint64_t *>(
							frame + i))
						.store(own() & own(),
						       std::memory_order_relaxed);
	});
	for (int n = 0; n < 3000; n++) {
		pavo_command_page *page = shared_of(pair.a).commands();

		for (uint64_t i = random() % 8; i--;)
			put(pair.a, random() % 2 ? random() :
						   word(1 + random() % 6,
							random() % 70));
		if (random() % 64 == 0)
			page->producer = uint32_t(random());
		if (random() % 64 == 0)
			page->consumer = uint32_t(random());
		ASSERT_TRUE(shared_of(pair.a).kick().has_value());
	}
	over = true;
	scribbler.join();
	pavo::Lmt lmt = pair.a.lmt().value();
	EXPECT_LE(lmt.send_ready, 64u);
	EXPECT_LE(lmt.recv_free, 256u);
	EXPECT_GT(bad.by(), 0u);
}

} // namespace
