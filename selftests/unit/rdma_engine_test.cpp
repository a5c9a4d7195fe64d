// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_engine_test.cpp - exactly-once RDMA, from memory to memory. */
#include <cstring>
#include <optional>
#include <stdexcept>

#include "rdma_world.h"

using namespace rdma_world;

namespace {

/* One operation after the other, over networks from good to terrible. */
TEST(RdmaEngine, EveryOperationOnceWhateverIsLost)
{
	for (unsigned seed = 0; seed < times(12); seed++) {
		Bench bench(seed);
		World &world = bench.world;
		Random random(seed);

		world.loss = seed % 5 * 8;
		world.repeats = seed % 3 * 20;
		world.reorder = seed % 4 * 30;
		for (uint32_t n = 0; n < 40; n++) {
			bool write = random.coin(), notify = random.coin();
			uint32_t length = random.below(4) ?
						  random.below(3500) :
						  random.below(2) * 1000;
			End &from = write ? world.a : world.b;
			End &to = write ? world.b : world.a;
			int ends = 0, notified = 0;

			fill(from.memory, 500, length, n);
			fill(to.memory, 0, memory_size, n + 1);
			bench.arrived = [&](const RdmaArrival &arrival) {
				/* The notification comes when all data is there. */
				EXPECT_EQ(arrival.tag, n);
				EXPECT_EQ(arrival.length, length);
				EXPECT_FALSE(memcmp(&to.memory[7000],
						    &from.memory[500], length));
				notified++;
			};
			RdmaMove move{.local = {write ? 500u : 7000u},
				      .remote = {write ? 7000u : 500u},
				      .length = length,
				      .notify = notify,
				      .tag = n};
			bench.engine.begin(
				common::direction_of(write), bench.peer, move,
				[&](const Result<void> &how) {
					EXPECT_TRUE(how.has_value())
						<< how.error().message();
					ends++;
				},
				world.now);
			ASSERT_TRUE(bench.run())
				<< "seed " << seed << ", " << n;
			ASSERT_EQ(ends, 1);
			ASSERT_EQ(notified, notify)
				<< "seed " << seed << ", " << n;
			ASSERT_FALSE(memcmp(&to.memory[7000], &from.memory[500],
					    length));
			/* Packets may still be under way: memory is its owner's. */
			fill(to.memory, 0, memory_size, n + 2);
			auto mine = to.memory;
			fill(from.memory, 500, length, n + 3);
			for (int i = 0; i < 200; i++)
				world.step();
			for (auto &done : std::exchange(world.a.frames, {}))
				bench.engine.done(done, world.now);
			ASSERT_EQ(to.memory, mine)
				<< "seed " << seed << ", " << n;
			ASSERT_TRUE(world.b.frames.empty());
		}
	}
}

/* Many at a time, on three channels. */
TEST(RdmaEngine, ManyAtATime)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		Bench bench(100 + seed, 700);
		std::map<uint32_t, int> ends, notified;

		bench.world.loss = 15;
		bench.world.repeats = 15;
		bench.world.reorder = 50;
		fill(bench.world.a.memory, 0, memory_size, seed);
		bench.arrived = [&](const RdmaArrival &arrival) {
			notified[arrival.tag]++;
			EXPECT_EQ(arrival.length, 1000u);
		};
		for (uint32_t n = 0; n < 60; n++) {
			RdmaMove move{.local = {n * 1000},
				      .remote = {n * 1000},
				      .length = 1000,
				      .notify = n % 3 == 0,
				      .tag = n};
			bench.engine.begin(
				Direction::write, bench.peer, move,
				[&, n](const Result<void> &how) {
					EXPECT_TRUE(how.has_value());
					ends[n]++;
				},
				bench.world.now);
		}
		ASSERT_TRUE(bench.run());
		for (uint32_t n = 0; n < 60; n++) {
			EXPECT_EQ(ends[n], 1) << n;
			EXPECT_EQ(notified[n], n % 3 == 0) << n;
		}
		EXPECT_FALSE(memcmp(bench.world.a.memory.data(),
				    bench.world.b.memory.data(), 60'000));
	}
}

/* An attempt that takes longer than timeout lasts is waited for, not begun again. */
TEST(RdmaEngine, SlowIsNotLost)
{
	for (bool write : {true, false}) {
		Bench bench(5, 4000, 40);
		std::optional<Result<void>> result;

		/* 40 packets at 2 ms, where timeout is 8 ms at most. */
		bench.world.slowness = 200;
		fill(bench.world.a.memory, 0, 4000, 1);
		fill(bench.world.b.memory, 0, 4000, 2);
		auto wanted = write ? bench.world.a.memory :
				      bench.world.b.memory;
		bench.engine.begin(
			common::direction_of(write), bench.peer,
			{.local = {0}, .remote = {0}, .length = 4000},
			[&](const Result<void> &how) { result = how; },
			bench.world.now);
		ASSERT_TRUE(bench.run());
		ASSERT_TRUE(result);
		EXPECT_TRUE(result->has_value()) << (write ? "write " : "read ")
						 << result->error().message();
		EXPECT_EQ(bench.world.a.memory, wanted);
		EXPECT_EQ(bench.world.b.memory, wanted);
		if (write) {
			/* Not all of 80 ms, but until the process looks. */
			EXPECT_LE(bench.engine.repeated(), 3u);
		}
	}
}

/* No peer is there: the request is given up after so many attempts, and others go on. */
TEST(RdmaEngine, GivesUp)
{
	Bench bench(1, 1000, 6);
	std::vector<Result<void>> errors;

	bench.world.loss = 100;
	for (bool write : {true, false})
		bench.engine.begin(
			common::direction_of(write), bench.peer,
			{.local = {0},
			 .remote = {0},
			 .length = 2500,
			 .notify = true},
			[&](const Result<void> &how) { errors.push_back(how); },
			bench.world.now);
	ASSERT_TRUE(bench.run());
	ASSERT_EQ(errors.size(), 2u);
	for (auto &error : errors)
		EXPECT_EQ(error, pavo::Unexpected(std::errc::timed_out));
	bench.world.loss = 0;
	errors.clear();
	bench.engine.begin(
		Direction::write, bench.peer,
		{.local = {0}, .remote = {0}, .length = 2500},
		[&](const Result<void> &how) { errors.push_back(how); },
		bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_TRUE(errors.at(0).has_value());
}

/* Nothing more is requested after an error, and the other end is not notified. */
TEST(RdmaEngine, AnErrorEndsIt)
{
	Bench bench(9);
	int ends = 0, notified = 0;

	bench.port.refused = 1000;
	bench.arrived = [&](const RdmaArrival &) { notified++; };
	for (int round = 1; round < 4; round++) {
		bench.engine.begin(
			Direction::write, bench.peer,
			{.local = {0},
			 .remote = {0},
			 .length = 20'000,
			 .notify = true},
			[&](const Result<void> &how) {
				EXPECT_EQ(how,
					  pavo::Unexpected(
						  std::errc::message_size));
				ends++;
			},
			bench.world.now);
		ASSERT_TRUE(bench.run());
		EXPECT_EQ(ends, round);
		/* The second and third of its pieces, and no more. */
		EXPECT_EQ(bench.port.refusals, 2 * round);
	}
	for (int i = 0; i < 1000; i++)
		bench.world.step();
	EXPECT_EQ(notified, 0);
	EXPECT_TRUE(bench.world.b.frames.empty());
	EXPECT_TRUE(bench.world.b.pieces.empty());
}

/* An impossible operation is refused before anything is done. */
TEST(RdmaEngine, RefusesWhatCannotBe)
{
	Bench bench(13);
	int calls = 0;
	auto refused = [&](bool write, size_t peer, const RdmaMove &move) {
		return bench.engine.begin(
			       common::direction_of(write), peer, move,
			       [&](const Result<void> &) { calls++; },
			       bench.world.now) == std::errc::invalid_argument;
	};
	constexpr uint64_t most = 1ull << 63;

	EXPECT_TRUE(refused(true, bench.peer + 1, {.length = 1}));
	EXPECT_TRUE(refused(false, ~size_t(0), {.length = 1}));
	EXPECT_TRUE(refused(true, bench.peer,
			    {.length = 1, .source = RdmaEnd::fifo}))
		<< "no feeder makes the data";
	/* Numbers of bytes at the target, whichever end that is. */
	EXPECT_TRUE(refused(
		true, bench.peer,
		{.remote = {most - 9}, .length = 10, .target = RdmaEnd::fifo}));
	EXPECT_TRUE(refused(
		true, bench.peer,
		{.remote = {most + 5}, .length = 0, .target = RdmaEnd::fifo}));
	EXPECT_TRUE(refused(
		false, bench.peer,
		{.local = {most - 9}, .length = 10, .target = RdmaEnd::fifo}));
	EXPECT_EQ(bench.engine.pending(), 0u);
	EXPECT_FALSE(refused(true, bench.peer,
			     {.remote = {most - 10},
			      .length = 10,
			      .target = RdmaEnd::fifo}));
	EXPECT_FALSE(refused(true, bench.peer,
			     {.local = {most},
			      .remote = {0},
			      .length = 10,
			      .target = RdmaEnd::fifo}))
		<< "memory may be anywhere";
	bench.engine.stop();
	EXPECT_EQ(calls, 0);
}

/* An operation that was given up does not come later. */
TEST(RdmaEngine, NothingComesOfWhatWasGivenUp)
{
	Bench bench(5, 1000, 3);
	Result<void> result;

	fill(bench.world.a.memory, 0, memory_size, 1);
	fill(bench.world.b.memory, 0, memory_size, 2);
	bench.engine.begin(
		Direction::read, bench.peer,
		{.local = {0}, .remote = {0}, .length = 2500},
		[&](const Result<void> &how) { result = how; },
		bench.world.now);
	bench.world.still = true;
	ASSERT_TRUE(bench.run());
	EXPECT_EQ(result, pavo::Unexpected(std::errc::timed_out));
	bench.world.still = false;
	/* The last attempts are all that comes through. */
	std::erase_if(bench.world.network, [](const Packet &packet) {
		return packet.rdma().tid < 3;
	});
	EXPECT_EQ(bench.world.network.size(), 3u);
	fill(bench.world.a.memory, 0, memory_size, 3);
	auto mine = bench.world.a.memory;
	for (int i = 0; i < 2000; i++)
		bench.world.step();
	EXPECT_TRUE(bench.world.network.empty());
	EXPECT_EQ(bench.world.a.memory, mine);
}

/* Bytes that came need not come again: where most is lost, some attempts are enough. */
TEST(RdmaEngine, AttemptsGoOnWhereTheLastEnded)
{
	for (bool write : {true, false}) {
		Bench bench(11, 10'000);
		bool over = false;

		bench.world.loss = 50;
		fill(bench.world.a.memory, 0, 10'000, write);
		fill(bench.world.b.memory, 0, 10'000, !write);
		bench.engine.begin(
			common::direction_of(write), bench.peer,
			{.local = {0}, .remote = {0}, .length = 10'000},
			[&](const Result<void> &how) {
				EXPECT_TRUE(how.has_value());
				over = true;
			},
			bench.world.now);
		/* Its hundred packets never come all at once. */
		ASSERT_TRUE(bench.run());
		EXPECT_TRUE(over);
		EXPECT_LT(bench.engine.repeated(), 60u);
		EXPECT_FALSE(memcmp(bench.world.a.memory.data(),
				    bench.world.b.memory.data(), 10'000));
	}
}

/* It waits longer from attempt to attempt. */
TEST(RdmaEngine, BacksOff)
{
	Bench bench(1, 1000, 12);
	bool over = false;

	bench.world.loss = 100;
	bench.engine.begin(
		Direction::write, bench.peer,
		{.local = {0}, .remote = {0}, .length = 10},
		[&](const Result<void> &) { over = true; }, bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_TRUE(over);
	/* 0.5 + 1 + 2 + 4 ms, and eight times the most, which is 8 ms. */
	auto took = bench.world.now - Clock::time_point{};
	EXPECT_GE(took, std::chrono::microseconds(71'500));
	EXPECT_LE(took, std::chrono::microseconds(71'500 + 12 * 20));
	EXPECT_EQ(bench.engine.repeated(), 11u);
}

/* An operation may be begun where another has ended. */
TEST(RdmaEngine, BeginsFromDone)
{
	Bench bench(7);
	int left = 500;
	Transfer::Done next = [&](const Result<void> &how) {
		ASSERT_TRUE(how.has_value());
		if (--left)
			bench.engine.begin(
				Direction::write, bench.peer,
				{.local = {0}, .remote = {64}, .length = 64},
				next, bench.world.now);
	};

	bench.engine.begin(Direction::write, bench.peer,
			   {.local = {0}, .remote = {64}, .length = 64}, next,
			   bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_EQ(left, 0);
}

/* It goes through, once, and others have their turn though nothing else calls for them. */
TEST(RdmaEngine, WhatACallThrowsHoldsNothingUp)
{
	Bench bench(5);
	int ended = 0, thrown = 0;
	bool over = false;

	for (int n = 0; n < 10; n++)
		bench.engine.begin(
			common::direction_of(n % 2), bench.peer,
			{.local = {0}, .remote = {64}, .length = 64},
			[&](const Result<void> &how) {
				EXPECT_TRUE(how.has_value());
				ended++;
				throw std::runtime_error("a program's own");
			},
			bench.world.now);
	while (!over && thrown <= 10)
		try {
			over = bench.run(100'000);
			ASSERT_TRUE(over) << ended;
		} catch (const std::runtime_error &) {
			thrown++;
		}
	EXPECT_EQ(ended, 10);
	EXPECT_EQ(thrown, 10);
	EXPECT_EQ(bench.engine.pending(), 0u);
}

/* A packet too far ahead of one that was lost counts as lost, and comes later. */
TEST(RdmaEngine, APieceOfManyPacketsComesInTheEnd)
{
	constexpr uint32_t packets = 3 * PAVO_SEEN_BITS + 100;
	constexpr uint32_t length = packets * fragment_size;
	Bench bench(18, length);
	int ended = 0;

	bench.world.loss = 1;
	bench.port.refused = length;
	for (End *end : {&bench.world.a, &bench.world.b})
		end->memory.resize(length);
	fill(bench.world.a.memory, 0, length, 3);
	bench.engine.begin(
		Direction::write, bench.peer, {.length = length},
		[&](const Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ended++;
		},
		bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_EQ(ended, 1);
	EXPECT_EQ(bench.world.a.memory, bench.world.b.memory);
	/* An attempt gets no further than that beyond the first that it misses. */
	EXPECT_GE(bench.engine.repeated(), 3u);
}

TEST(RdmaEngine, StopsWithoutANotification)
{
	Bench bench(3);
	bool called = false;

	for (int n = 0; n < 10; n++)
		bench.engine.begin(
			common::direction_of(n % 2), bench.peer,
			{.local = {0}, .remote = {0}, .length = 5000},
			[&](const Result<void> &) { called = true; },
			bench.world.now);
	bench.engine.stop();
	EXPECT_EQ(bench.engine.pending(), 0u);
	EXPECT_EQ(bench.engine.due(), Clock::time_point::max());
	for (int i = 0; i < 1000; i++)
		bench.world.step();
	EXPECT_FALSE(called);
}

} // namespace
