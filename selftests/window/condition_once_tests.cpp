// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * condition_once_tests.cpp - pavo::Rdma with operations that wait for counters (RdmaMove::after).
 * Tests named Network are also run with one that loses, repeats and reorders.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <pavo/rdma.hpp>

#include "../common/slow_kernel.h"
#include "both.h"

using namespace windows;
using pavo::Completion;
using pavo::RdmaCondition;
using pavo::RdmaMove;

namespace {

constexpr size_t flag = memory_size - 64;
constexpr uint32_t most = 5000;

/* Puts of a to b, and a flag behind them. */
struct Flags : Both {
	Flags() : Both(6) { counter = must(rdma_a.take_counter()); }

	RdmaMove move(size_t at, uint32_t length) const
	{
		return {.local = mapping_a.pvo() + at,
			.remote = mapping_b.pvo() + at,
			.length = length};
	}

	void put(RdmaMove what, bool counts, Completion *over = nullptr)
	{
		if (counts)
			what.counter = counter;
		must(over ? rdma_a.put(b_of_a, what, *over) :
			    rdma_a.put(b_of_a, what, nullptr));
	}

	void put_flag(uint32_t number, Completion *over = nullptr)
	{
		RdmaMove what = move(flag, sizeof(number));

		memcpy(memory_a.part(flag, 4).data(), &number, 4);
		what.after = RdmaCondition{counter};
		put(what, false, over);
	}

	uint32_t seen() const
	{
		uint32_t number;

		memcpy(&number, memory_b.part(flag, 4).data(), 4);
		return number;
	}

	uint32_t counter = 0;
};

/* More where there is time for that. */
uint32_t flag_rounds()
{
	if (!getenv("PAVO_LOSSY"))
		return 400;
	return getenv("PAVO_WIDE") && !common::slow_kernel() ? 10'000 : 60;
}

TEST(Network, WhoSeesTheFlagSeesAllThatItWaitsFor)
{
	const uint32_t rounds = flag_rounds();
	Flags w;

	for (uint32_t round = 1; round <= rounds; round++) {
		const uint32_t writes = 1 + round % 4,
			       length = most - round % 1000;
		bool there = false;

		fill(w.memory_a, 0, writes * most, round);
		for (uint32_t n = 0; n < writes; n++)
			w.put(w.move(n * most, length), true);
		w.put_flag(round);
		auto look = [&] {
			if (there || w.seen() != round)
				return;
			there = true;
			for (uint32_t n = 0; n < writes; n++)
				EXPECT_TRUE(equal(w.memory_a, n * most,
						  w.memory_b, n * most,
						  length));
		};

		ASSERT_TRUE(eventually([&] {
			look();
			(void)w.rdma_a.progress();
			return !w.rdma_a.pending();
		}));
		/* It may have come since the last look. */
		look();
		ASSERT_TRUE(there) << round;
		ASSERT_FALSE(HasFailure()) << round;
	}
}

/* No end of an operation is looked at between the writes and the flag. */
TEST(ConditionOnce, TheFlagComesWithoutTheProcess)
{
	Flags w;

	for (uint32_t n = 0; n < 3; n++)
		w.put(w.move(n * most, most), true);
	w.put_flag(7);
	EXPECT_TRUE(eventually([&] { return w.seen() == 7; }));
	EXPECT_TRUE(w.run());
}

TEST(ConditionOnce, AWriteToABadPvoKeepsTheFlagBack)
{
	Flags w;
	RdmaMove wrong = w.move(0, 100);
	Completion failed, waited, later;

	wrong.remote = {wrong.remote.value + (1ull << 50)};
	w.put(w.move(most, most), true);
	w.put(wrong, true, &failed);
	w.put_flag(1, &waited);
	ASSERT_TRUE(w.run());
	EXPECT_EQ(failed.result().error().code(), std::errc::bad_address);
	EXPECT_EQ(waited.result().error().code(),
		  std::errc::operation_canceled);
	EXPECT_NE(w.seen(), 1u);
	must(w.rdma_a.reset_counter(w.counter));
	w.put(w.move(most, most), true);
	w.put_flag(2, &later);
	ASSERT_TRUE(w.run());
	EXPECT_TRUE(later.result().has_value());
	EXPECT_EQ(w.seen(), 2u);
}

TEST(ConditionOnce, ItGoesOnAfterRecoveries)
{
	Flags w;

	for (uint32_t round = 1; round <= 10; round++) {
		Completion over;

		fill(w.memory_a, 0, 4 * most, round);
		for (uint32_t n = 0; n < 4; n++)
			w.put(w.move(n * most, most), true);
		w.put_flag(round, &over);
		recover(round % 2 ? w.device_a : w.device_b);
		ASSERT_TRUE(w.run());
		EXPECT_TRUE(over.result().has_value())
			<< over.result().error().message();
		EXPECT_EQ(w.seen(), round);
		EXPECT_TRUE(equal(w.memory_a, 0, w.memory_b, 0, 4 * most));
	}
}

/* A word goes there and back, each time after the arrival of the time before. */
TEST(Network, ArrivalsDriveAChain)
{
	const uint32_t rounds = getenv("PAVO_LOSSY") ? 20 : 100;
	Both w(1);
	std::vector<uint32_t> rcxt_a(1), rcxt_b(1);
	/* Contexts of their own for the chain. */
	must(w.rdma_a.take_rcxts(rcxt_a));
	must(w.rdma_b.take_rcxts(rcxt_b));
	auto b = must(w.rdma_a.add({w.b.address(), rcxt_b}));
	auto a = must(w.rdma_b.add({w.a.address(), rcxt_a}));
	uint32_t at_a = must(w.rdma_a.take_counter()),
		 at_b = must(w.rdma_b.take_counter());

	must(w.rdma_a.count_arrivals(at_a, rcxt_a));
	must(w.rdma_b.count_arrivals(at_b, rcxt_b));
	for (uint32_t round = 1; round <= rounds; round++) {
		RdmaMove there{.local = w.mapping_a.pvo(),
			       .remote = w.mapping_b.pvo() + 100,
			       .length = 8},
			back{.local = w.mapping_b.pvo() + 100,
			     .remote = w.mapping_a.pvo() + 200,
			     .length = 8};

		fill(w.memory_a, 0, 8, round);
		if (round > 1)
			there.after = RdmaCondition{at_a, round - 1};
		back.after = RdmaCondition{at_b, round};
		must(w.rdma_b.put(a, back, nullptr));
		must(w.rdma_a.put(b, there, nullptr));
		ASSERT_TRUE(w.run());
		ASSERT_TRUE(equal(w.memory_a, 0, w.memory_a, 200, 8)) << round;
	}
}

TEST(ConditionOnce, WhatIsNotPossible)
{
	Flags w;
	RdmaMove move = w.move(0, 8);

	move.after = RdmaCondition{w.counter + 1, 1};
	EXPECT_EQ(w.rdma_a.put(w.b_of_a, move, nullptr).error().code(),
		  std::errc::invalid_argument);
	move.after = {};
	move.counter = w.counter + 1;
	EXPECT_EQ(w.rdma_a.put(w.b_of_a, move, nullptr).error().code(),
		  std::errc::invalid_argument);
	EXPECT_FALSE(w.rdma_a.reset_counter(w.counter + 1).has_value());
	while (w.rdma_a.take_counter())
		;
	EXPECT_EQ(w.rdma_a.take_counter().error().code(),
		  std::errc::no_space_on_device);
	move.counter = {};
	move.after = RdmaCondition{w.counter, 1};
	must(w.rdma_a.put(w.b_of_a, move, nullptr));
	EXPECT_EQ(w.rdma_a.reset_counter(w.counter).error().code(),
		  std::errc::device_or_resource_busy);
}

} // namespace
