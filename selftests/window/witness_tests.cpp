// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * witness_tests.cpp - calls that take long let other tasks of the CPU run meanwhile.
 */
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "../common/slow_kernel.h"
#include "../common/witness.h"
#include "adapter.h"

using namespace windows;

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto longest_allowed = std::chrono::milliseconds(50);
constexpr int rounds = 5;

/*
 * The witness has the CPU within that time, in one round at least: a busy host takes it away now
 * and then. Where all takes longer, a twentieth of the whole is allowed.
 */
template <class Drive> void expect_sharing(Drive &&drive)
{
	std::chrono::nanoseconds gap, all;
	int left = rounds;

	do {
		common::Witness witness;
		const auto begin = Clock::now();

		drive();
		all = Clock::now() - begin;
		gap = witness.end();
	} while (gap >= longest_allowed && gap >= all / 20 && --left);
	EXPECT_TRUE(left) << "without the CPU for " << gap.count() / 1000000
			  << " of " << all.count() / 1000000 << " ms";
}

/* A cancel looks at all held requests of the window. */
TEST(Witness, HasTheCpuWhileManyContextsAreCancelled)
{
	const uint32_t frames = common::slow_kernel() ? 2048 : 32768;
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

} // namespace
