// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * witness_tests.cpp - calls that take long let other tasks of the CPU run meanwhile.
 */
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <vector>

#include "../common/witness.h"
#include "adapter.h"

using namespace windows;

namespace {

int64_t in_ms(std::chrono::nanoseconds time)
{
	return std::chrono::duration_cast<std::chrono::milliseconds>(time)
		.count();
}

/* The witness is never without the CPU for longer than is allowed. */
template <class Drive> void expect_sharing(Drive &&drive)
{
	const auto without = common::drive_beside_witness(drive);

	std::cout << "# longest " << in_ms(without.longest) << " of "
		  << in_ms(without.all) << " ms\n";
	EXPECT_TRUE(without.allowed()) << "a witness was without the CPU";
}

/* A cancel looks at all held requests of the window. */
TEST(Witness, HasTheCpuWhileManyContextsAreCancelled)
{
	const uint32_t frames = common::judges_time() ? 32768 : 2048;
	Pair pair(false, 256, frames);
	uint32_t contexts[2];

	must(pair.a.take_rcxts(contexts));
	const pavo::HeldRequest one = {
		pavo::Direction::write,
		{node_b, pair.b.number()},
		{.local_rcxt = contexts[0], .tid = 1, .length = 0}};
	const std::vector<pavo::HeldRequest> held(frames - 1, one);
	const std::vector<uint32_t> others(1024, contexts[1]);

	must(pair.a.prepare_held(0, 1, held));
	must(pair.a.start());
	ASSERT_TRUE(
		eventually([&] { return pair.a.lmt()->send_count == frames; }));
	expect_sharing([&] { must(pair.a.cancel(others)); });
}

/* A worker goes on for 64 rounds, while there is something to send. */
constexpr uint32_t rounds_of_worker = 64;

/* Messages that fill a send FIFO; the peer takes none, and drops most. */
TEST(Witness, HasTheCpuWhileAWindowSends)
{
	const uint32_t frames = common::judges_time() ? 32768 : 2048;
	Parameter quantum("window_quantum", frames / rounds_of_worker);
	Pair pair(false, 256, frames);
	const std::vector<std::byte> payload(pair.a.max_payload());
	const uint64_t before = used_up("windows");
	std::vector<pavo::FrameState> states(frames);

	expect_sharing([&] {
		for (uint32_t n = 0; n < frames; n++)
			must(pair.a.prepare({node_b, pair.b.number()},
					    payload));
		must(pair.a.start());
		size_t sent = 0;
		ASSERT_TRUE(eventually([&] {
			sent += pair.a.sent(states);
			return sent == frames;
		}));
	});
	EXPECT_GT(used_up("windows"), before);
}

/* Writes and reads of as many packets in a round as an administrator can allow. */
TEST(Witness, HasTheCpuWhileAWindowMovesMemory)
{
	constexpr uint32_t length = 1 << 20, most_quantum = 1024;
	const uint64_t times = common::judges_time() ? 16 : 1;
	Parameter quantum("window_quantum", most_quantum);
	Ends ends(length);
	/* Fewer packets than the interface's backlog takes (guest.sh): none may be lost. */
	uint32_t ours[32], theirs[32];
	uint64_t tid = 0;

	must(ends.a.take_rcxts(ours));
	must(ends.b.take_rcxts(theirs));
	const auto move_all = [&](pavo::Direction direction) {
		/* The requester's end, of a read that where data come to. */
		auto request =
			ends.request(++tid, length,
				     direction == pavo::Direction::write ?
					     pavo::rdma_flag::notify_source :
					     pavo::rdma_flag::notify_target);

		for (size_t n = 0; n < std::size(ours); n++) {
			request.local_rcxt = ours[n];
			request.remote_rcxt = theirs[n];
			must(ends.a.prepare_rdma(
				direction, {node_b, ends.b.number()}, request));
		}
		must(ends.a.start());
		for (size_t n = 0; n < std::size(ours); n++)
			ASSERT_EQ(ended(ends.a).tid, tid);
	};
	for (const auto direction :
	     {pavo::Direction::write, pavo::Direction::read})
		expect_sharing([&] {
			for (uint64_t n = 0; n < times; n++)
				move_all(direction);
		});
}

} // namespace
