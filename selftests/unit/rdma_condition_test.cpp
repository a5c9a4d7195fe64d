// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_condition_test.cpp - exactly-once RDMA that waits for counters: RdmaMove::after. */
#include <cstring>
#include <vector>

#include "rdma_world.h"

using namespace rdma_world;

namespace {

constexpr uint32_t counter = 3, data = 1000, flag = 60'000, most = 400;

/* Rounds of some writes and a flag that waits for them, from end a to end b. */
struct Rounds {
	explicit Rounds(unsigned seed) : bench(seed, 300), random(seed)
	{
		/* Pieces are of 300 bytes, so some writes are two. */
		world().slowness = 1;
		bench.arrived = [](const RdmaArrival &) {};
	}

	World &world() { return bench.world; }

	void put(const RdmaMove &move)
	{
		EXPECT_FALSE(bench.engine.begin(
			Direction::write, bench.peer, move,
			[this](const Result<void> &how) {
				failed += !how.has_value();
				code = how.error_or({}).code();
			},
			world().now));
	}

	/* Begins the writes and the flag of a round. */
	void begin(uint32_t number)
	{
		lengths.resize(1 + random.below(4));
		fill(world().a.memory, data, lengths.size() * most, number);
		memcpy(&world().a.memory[flag], &number, sizeof(number));
		for (uint32_t n = 0; n < lengths.size(); n++) {
			lengths[n] = 1 + random.below(most);
			put({.local = {data + n * most},
			     .remote = {data + n * most},
			     .length = lengths[n],
			     .counter = counter});
		}
		put({.local = {flag},
		     .remote = {flag},
		     .length = sizeof(number),
		     .after = RdmaCondition{counter}});
	}

	bool has_flag(uint32_t number)
	{
		return !memcmp(&world().b.memory[flag], &number,
			       sizeof(number));
	}

	bool has_all()
	{
		for (uint32_t n = 0; n < lengths.size(); n++)
			if (memcmp(&world().a.memory[data + n * most],
				   &world().b.memory[data + n * most],
				   lengths[n]) != 0)
				return false;
		return true;
	}

	/* Runs a round. As soon as there is the flag there is all. */
	void run(uint32_t number)
	{
		bool seen = false;

		begin(number);
		for (int steps = 0; bench.engine.pending() && steps < 1'000'000;
		     steps++) {
			bench.run(1);
			if (steps % 16 == 0)
				bench.take_frames();
			if (seen || !has_flag(number))
				continue;
			seen = true;
			ASSERT_TRUE(has_all()) << "round " << number;
		}
		ASSERT_TRUE(seen) << "round " << number;
		ASSERT_EQ(failed, 0) << "round " << number;
	}

	Bench bench;
	Random random;
	std::vector<uint32_t> lengths;
	int failed = 0;
	std::error_code code;
};

TEST(RdmaCondition, WhoSeesTheFlagSeesAllThatItWaitsFor)
{
	uint64_t repeated = 0;

	for (uint32_t seed = 0; seed < 100 && !testing::Test::HasFailure();
	     seed++) {
		Rounds rounds(seed);

		rounds.world().loss = 5;
		rounds.world().reorder = 25;
		rounds.world().repeats = seed % 2 * 5;
		for (uint32_t n = 1; n <= 100; n++)
			rounds.run(100 * seed + n);
		repeated += rounds.bench.engine.repeated();
	}
	EXPECT_GT(repeated, 1000u);
}

TEST(RdmaCondition, AlsoWhenAdaptersRecover)
{
	for (uint32_t seed = 0; seed < 8 && !testing::Test::HasFailure();
	     seed++) {
		Rounds rounds(seed);

		rounds.world().loss = 10;
		rounds.world().reorder = 25;
		rounds.bench.recovers = true;
		for (uint32_t n = 1; n <= 100; n++)
			rounds.run(100 * seed + n);
	}
}

/* The engine is not called between the writes and the flag. */
TEST(RdmaCondition, TheFlagComesWithoutTheProcess)
{
	Rounds rounds(1);

	rounds.random = Random(5);
	rounds.lengths.resize(1);
	rounds.put({.local = {data},
		    .remote = {data},
		    .length = 200,
		    .counter = counter});
	rounds.world().a.memory[flag] = 77;
	rounds.put({.local = {flag},
		    .remote = {flag},
		    .length = 1,
		    .after = RdmaCondition{counter}});
	for (int n = 0; n < 1000; n++)
		rounds.world().step();
	EXPECT_EQ(rounds.world().b.memory[flag], 77);
	EXPECT_EQ(rounds.bench.engine.pending(), 2u);
	EXPECT_TRUE(rounds.bench.run());
}

TEST(RdmaCondition, AFailedWriteKeepsTheFlagBack)
{
	for (unsigned seed = 0; seed < 50; seed++) {
		Rounds rounds(seed);

		rounds.world().loss = seed % 20;
		rounds.world().reorder = 25;
		rounds.begin(1);
		rounds.put({.local = {data},
			    .remote = {memory_size + 5},
			    .length = 5,
			    .counter = counter});
		/* This one waits for the bad write, too, and the first flag may. */
		rounds.world().a.memory[flag + 10] = 9;
		rounds.put({.local = {flag + 10},
			    .remote = {flag + 10},
			    .length = 1,
			    .after = RdmaCondition{counter}});
		ASSERT_TRUE(rounds.bench.run());
		EXPECT_EQ(rounds.world().b.memory[flag + 10], 0);
		EXPECT_GE(rounds.failed, 2);
		EXPECT_LE(rounds.failed, 3);
		/* The counter is failed, until it is set anew. */
		rounds.failed = 0;
		rounds.put({.local = {flag},
			    .remote = {flag},
			    .length = 1,
			    .after = RdmaCondition{counter, 1}});
		ASSERT_TRUE(rounds.bench.run());
		EXPECT_EQ(rounds.code, std::errc::operation_canceled);
		rounds.world().loss = 0;
		EXPECT_FALSE(rounds.bench.engine.reset_counter(counter));
		rounds.world().loss = seed % 20;
		rounds.failed = 0;
		for (uint32_t n = 2; n < 5; n++)
			rounds.run(n);
	}
}

TEST(RdmaCondition, ThatIsNotPossible)
{
	Rounds rounds(1);
	auto begin = [&](const RdmaMove &move) {
		return rounds.bench.engine.begin(Direction::write,
						 rounds.bench.peer, move, {},
						 rounds.world().now);
	};

	rounds.bench.engine.count_arrivals(4);
	EXPECT_TRUE(begin({.counter = counter_count}));
	EXPECT_TRUE(begin({.after = RdmaCondition{counter_count, 1}}));
	EXPECT_TRUE(begin({.after = RdmaCondition{4}}));
	EXPECT_TRUE(begin({.length = 1,
			   .source = RdmaEnd::fifo,
			   .fill = [](uint64_t, std::span<std::byte>) {},
			   .after = RdmaCondition{counter, 1}}));
	EXPECT_EQ(rounds.bench.engine.pending(), 0u);
	EXPECT_FALSE(begin({.after = RdmaCondition{counter, 1}}));
	EXPECT_EQ(rounds.bench.engine.reset_counter(counter),
		  std::errc::device_or_resource_busy);
	rounds.bench.engine.stop();
	rounds.world().step();
	EXPECT_EQ(rounds.world().a.conditions().counters[counter].waiting, 0u);
}

} // namespace
