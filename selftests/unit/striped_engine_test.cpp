// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped_engine_test.cpp - operations over several paths (striped_engine.hpp), between two
 * ends in miniature (striped_world.h): every operation once, whatever is lost and whichever
 * path dies when.
 */
#include <gtest/gtest.h>

#include <stdexcept>

#include "striped_world.h"

using namespace striped;

namespace {

/* ------------------------------------------------------------ good paths */

TEST(StripedEngine, EveryPathCarriesItsPart)
{
	World world(1, 3);

	fill(world.a.memory, 1);
	world.a.put(0, 5, 6000, true, 7);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.ended[7], 1);
	EXPECT_FALSE(world.a.errors[7]);
	EXPECT_EQ(world.b.arrived[7], 1);
	EXPECT_TRUE(equal(world.a, 0, world.b, 5, 6000));
	uint64_t chunks = 0, bytes = 0;
	for (size_t i = 0; i < 3; i++) {
		StripedPath path = world.a.engine.path(i);

		EXPECT_TRUE(path.alive);
		EXPECT_GT(path.chunks, 15u) << i;
		EXPECT_EQ(world.a.paths[i].most, 3u) << "room of a path";
		chunks += path.chunks;
		bytes += path.bytes;
	}
	EXPECT_EQ(chunks, (6000 + 63) / 64u);
	EXPECT_EQ(bytes, 6000u);
}

/* A path that is slow gets less. */
TEST(StripedEngine, PathsTakeWhatTheyCan)
{
	World world(2, 2);

	fill(world.a.memory, 1);
	world.wires[1] = Wire::HELD;
	world.a.put(0, 0, 1920, false, 1);
	for (int i = 0; i < 100; i++)
		world.step();
	EXPECT_EQ(world.a.engine.path(0).chunks, 27u) << "all but three";
	world.wires[1] = Wire::GOOD;
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.engine.path(1).chunks, 3u);
	EXPECT_TRUE(world.a.engine.path(1).alive);
}

TEST(StripedEngine, AFewChunksTakeAPathEach)
{
	World world(14, 3);

	world.a.put(0, 0, 180, false, 1);
	for (size_t i = 0; i < 3; i++)
		EXPECT_EQ(world.a.paths[i].begun, 1u) << i;
	ASSERT_TRUE(world.run());
}

TEST(StripedEngine, NothingAtAllIsAChunk)
{
	World world(3, 2);

	world.a.put(0, 0, 0, true, 1);
	world.b.get(0, 0, 0, false, 2);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.ended[1], 1);
	EXPECT_EQ(world.b.arrived[1], 1);
	EXPECT_EQ(world.b.ended[2], 1);
	EXPECT_EQ(world.a.paths[0].begun + world.a.paths[1].begun, 1u);
	EXPECT_EQ(world.a.arrived[2], 0);
}

TEST(StripedEngine, WhoHearsOfAnEndMayBegin)
{
	World world(4, 2);
	int ends = 0;
	Transfer::Done again = [&](const Result<void> &how) {
		EXPECT_TRUE(how.has_value());
		if (++ends < 20)
			world.a.engine.begin(
				Direction::write,
				{.local = {0}, .remote = {0}, .length = 100},
				again, world.now);
	};

	again({});
	ASSERT_TRUE(world.run());
	EXPECT_EQ(ends, 20);
}

/* ------------------------------------------------------- calls that throw */

struct Thrown : std::runtime_error {
	Thrown() : runtime_error("a program's own") {}
};

/* Up to so many steps. Return: one was left by what a call threw, the last. */
bool throws(World &world, int steps)
{
	while (steps--)
		try {
			world.step();
		} catch (const Thrown &) {
			return true;
		}
	return false;
}

/* No end repeats a control message: a lost one is lost. */
StripedOptions without_repeats()
{
	StripedOptions options = World::usual();

	options.timeout = options.max_timeout = std::chrono::hours(1);
	return options;
}

/* All are over at once; each call is made, once, and goes through. */
TEST(StripedEngine, WhatAnEndThrowsHoldsNothingUp)
{
	World world(15, 2);
	End &a = world.a;
	int ended = 0, thrown = 0;
	auto end = [&](const Result<void> &how) {
		EXPECT_TRUE(how.has_value());
		ended++;
		throw Thrown();
	};

	/* Each is a chunk, and paths have room for six. */
	for (int n = 0; n < 10; n++)
		a.engine.begin(common::direction_of(n % 2), {.length = 64}, end,
			       world.now);
	while (a.engine.pending() && thrown <= 10) {
		/* Not looked at until all that can be is over. */
		a.asleep = true;
		ASSERT_FALSE(throws(world, 100));
		a.asleep = false;
		ASSERT_LE(a.engine.due(), world.now);
		while (a.engine.due() <= world.now)
			try {
				a.engine.look(world.now);
			} catch (const Thrown &) {
				thrown++;
				EXPECT_EQ(ended, thrown);
				EXPECT_EQ(a.engine.pending(),
					  size_t(10 - ended));
			}
	}
	EXPECT_EQ(ended, 10);
	EXPECT_EQ(thrown, 10);
}

/* Those that begin then are on their way at once, as any. */
TEST(StripedEngine, AfterACallThatThrewAllGoesOn)
{
	World world(16, 1);

	world.a.engine.begin(
		Direction::write, {.length = 64},
		[](const Result<void> &) { throw Thrown(); }, world.now);
	ASSERT_TRUE(throws(world, 1000));
	EXPECT_FALSE(world.a.engine.pending());
	world.a.put(0, 0, 64, false, 1);
	EXPECT_EQ(world.a.paths[0].begun, 2u);
	world.b.engine.on_arrival(
		[](const StripedArrival &) { throw Thrown(); });
	world.a.put(0, 0, 64, true, 2);
	ASSERT_TRUE(throws(world, 1000));
	EXPECT_LE(world.b.engine.due(), world.now);
	world.b.put(0, 0, 64, false, 3);
	EXPECT_EQ(world.b.paths[0].begun, 1u);
	ASSERT_TRUE(world.run());
}

/* Control messages arrive at once; each is handled and answered, though none is repeated. */
TEST(StripedEngine, AnExceptionOfAnArrivalLosesNoMessage)
{
	World world(17, 2, without_repeats());
	End &a = world.a, &b = world.b;
	int thrown = 0;

	b.engine.on_arrival([&](const StripedArrival &arrival) {
		b.arrived[arrival.tag]++;
		throw Thrown();
	});
	for (uint32_t tag = 1; tag <= 6; tag++)
		a.put(0, 0, 64, true, tag);
	/* It receives all of them before look(). */
	for (int i = 0; i < 300; i++) {
		world.now += std::chrono::microseconds(10);
		a.attempt();
		world.deliver_one();
		a.engine.look(world.now);
	}
	ASSERT_TRUE(world.network.empty());
	while (b.engine.due() <= world.now)
		try {
			b.engine.look(world.now);
		} catch (const Thrown &) {
			thrown++;
			ASSERT_LE(thrown, 6);
		}
	EXPECT_EQ(thrown, 6);
	ASSERT_TRUE(world.run(1000));
	for (uint32_t tag = 1; tag <= 6; tag++) {
		EXPECT_EQ(b.arrived[tag], 1) << tag;
		EXPECT_EQ(a.ended[tag], 1) << tag;
		EXPECT_FALSE(a.errors[tag]) << tag;
	}
}

/* --------------------------------------------------------------- bad ones */

/* Operations of both ends, each in a place of its own. */
void begin_many(World &world, uint32_t operations)
{
	for (uint32_t n = 0; n < operations; n++) {
		End &by = world.end(n % 2);
		uint64_t from = n * 400, to = from + 3, length = n * 37 % 390;

		if (n % 4 < 2)
			by.put(from, to + 8192, length, n % 3 == 0, n);
		else
			by.get(from, to + 8192, length, n % 3 == 0, n);
	}
}

void check_many(World &world, uint32_t operations)
{
	for (uint32_t n = 0; n < operations; n++) {
		End &by = world.end(n % 2), &other = world.end(n % 2 == 0);
		bool write = n % 4 < 2;
		uint64_t from = n * 400, to = from + 3, length = n * 37 % 390;

		ASSERT_EQ(by.ended[n], 1) << n;
		ASSERT_FALSE(by.errors[n])
			<< n << ": " << by.errors[n].message();
		ASSERT_EQ(other.arrived[n], n % 3 == 0) << n;
		ASSERT_TRUE(equal(write ? by : other, from, write ? other : by,
				  to + 8192, length))
			<< n;
	}
}

/* Memory is its owner's: whatever is still under way changes nothing. */
void check_quiet(World &world)
{
	fill(world.a.memory, 77);
	fill(world.b.memory, 78);
	auto of_a = world.a.memory, of_b = world.b.memory;
	auto arrived_a = world.a.arrived, arrived_b = world.b.arrived;

	world.release();
	for (int i = 0; i < 300; i++)
		world.step();
	world.release();
	ASSERT_EQ(world.a.memory, of_a);
	ASSERT_EQ(world.b.memory, of_b);
	ASSERT_EQ(world.a.arrived, arrived_a);
	ASSERT_EQ(world.b.arrived, arrived_b);
}

TEST(StripedEngine, EveryOperationOnceWhateverIsLost)
{
	for (unsigned seed = 0; seed < 24; seed++) {
		World world(10 + seed, 1 + seed % 4);

		world.loss = seed % 4 * 6;
		world.repeats = seed % 3 * 15;
		world.reorder = seed % 5 * 25;
		fill(world.a.memory, seed);
		fill(world.b.memory, seed + 1);
		begin_many(world, 20);
		ASSERT_TRUE(world.run()) << seed;
		check_many(world, 20);
		check_quiet(world);
		if (HasFatalFailure())
			FAIL() << "seed " << seed;
	}
}

/* A wire dies at each of many moments; what was on it comes when all is over. */
TEST(StripedEngine, APathDiesAtAnyMoment)
{
	for (int moment = 0; moment < 120; moment++) {
		World world(100 + unsigned(moment), 2 + moment % 2);
		Wire how = moment % 3 ? Wire::HELD : Wire::CUT;

		world.loss = moment % 2 * 5;
		world.repeats = moment % 5 * 4;
		world.reorder = 50;
		fill(world.a.memory, unsigned(moment));
		fill(world.b.memory, unsigned(moment) + 1);
		begin_many(world, 20);
		for (int i = 0; i < moment; i++)
			world.step();
		world.wires[1] = how;
		ASSERT_TRUE(world.run()) << moment;
		check_many(world, 20);
		check_quiet(world);
		if (HasFatalFailure())
			FAIL() << "moment " << moment;
	}
}

/* Delayed packets of a path are a danger exactly until the other end has closed it. */
TEST(StripedEngine, APutIsNotOverBeforeTheOtherEndClosedThePath)
{
	World world(5, 2);

	fill(world.a.memory, 1);
	world.wires[1] = Wire::HELD;
	world.a.put(0, 0, 640, false, 1);
	world.a.get(0, 2000, 640, false, 2);
	world.b.asleep = true;
	for (int i = 0; i < 3000; i++)
		world.step();
	EXPECT_FALSE(world.a.engine.path(1).alive);
	EXPECT_EQ(world.a.engine.path(1).error, std::errc::timed_out);
	EXPECT_TRUE(equal(world.a, 0, world.b, 0, 640)) << "all is there";
	EXPECT_EQ(world.a.ended[1], 0) << "but more may come";
	EXPECT_EQ(world.a.ended[2], 1) << "here nothing more is taken";
	EXPECT_TRUE(world.b.paths[1].open);
	world.b.asleep = false;
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.ended[1], 1);
	EXPECT_FALSE(world.a.errors[1]);
	EXPECT_FALSE(world.b.paths[1].open);
	EXPECT_EQ(world.b.engine.path(1).error, std::errc::connection_aborted);
	check_quiet(world);
}

/* A path that has failed as well, but no end knows it: messages take the others, too. */
TEST(StripedEngine, MessagesTakePathsRoundRobin)
{
	World world(13, 3);

	world.wires[0] = Wire::HELD;
	world.a.put(0, 0, 640, true, 1);
	world.b.asleep = true;
	for (int i = 0; i < 3000; i++)
		world.step();
	EXPECT_EQ(world.a.ended[1], 0);
	EXPECT_FALSE(world.a.engine.path(0).alive);
	world.wires[1] = Wire::CUT;
	world.b.asleep = false;
	ASSERT_TRUE(world.run());
	EXPECT_FALSE(world.a.errors[1]);
	EXPECT_EQ(world.b.arrived[1], 1);
	EXPECT_TRUE(world.a.engine.path(1).alive);
}

TEST(StripedEngine, APathThatCarriedNothingKeepsNobodyWaiting)
{
	World world(6, 2);

	fill(world.a.memory, 1);
	world.a.engine.failed(1,
			      std::make_error_code(std::errc::no_such_device));
	world.b.asleep = true;
	world.a.engine.look(world.now);
	world.a.put(0, 0, 640, false, 1);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.ended[1], 1);
	EXPECT_EQ(world.a.engine.path(0).chunks, 10u);
	EXPECT_EQ(world.a.paths[1].begun, 0u);
}

/* Each end sees another path fail. */
TEST(StripedEngine, BothEndsGiveUpAnother)
{
	for (int moment = 0; moment < 40; moment++) {
		World world(300 + unsigned(moment), 3);

		world.loss = 10;
		world.reorder = 50;
		fill(world.a.memory, 1);
		fill(world.b.memory, 2);
		begin_many(world, 20);
		for (int i = 0; i < moment; i++)
			world.step();
		world.wires[0] = world.wires[1] = Wire::HELD;
		world.a.engine.failed(
			0, std::make_error_code(std::errc::io_error));
		world.b.engine.failed(
			1, std::make_error_code(std::errc::io_error));
		ASSERT_TRUE(world.run()) << moment;
		check_many(world, 20);
		for (size_t i = 0; i < 3; i++) {
			EXPECT_EQ(world.a.paths[i].open, i == 2) << i;
			EXPECT_EQ(world.b.paths[i].open, i == 2) << i;
		}
		check_quiet(world);
		if (HasFatalFailure())
			FAIL() << "moment " << moment;
	}
}

/* A path that was given up still carries control messages, if it can. */
TEST(StripedEngine, NoPathIsLeft)
{
	World world(7, 2);

	fill(world.a.memory, 1);
	world.a.put(0, 0, 5000, true, 1);
	world.a.get(0, 6000, 5000, false, 2);
	world.a.put(0, 12000, 100, false, 3);
	for (int i = 0; i < 20; i++)
		world.step();
	world.wires[0] = world.wires[1] = Wire::CUT;
	ASSERT_TRUE(world.run(1500)) << "no end waits for messages";
	for (uint32_t tag : {1u, 2u, 3u}) {
		EXPECT_EQ(world.a.ended[tag], 1) << tag;
		EXPECT_EQ(world.a.errors[tag], std::errc::network_unreachable)
			<< tag;
	}
	EXPECT_EQ(world.b.arrived[1], 0);
	/* Nor does it come back. */
	world.wires[0] = world.wires[1] = Wire::GOOD;
	world.a.put(0, 0, 10, false, 4);
	EXPECT_LE(world.a.engine.due(), world.now);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.errors[4], std::errc::network_unreachable);
	/* The other end receives that, too. */
	for (int i = 0; i < 2000; i++)
		world.step();
	EXPECT_FALSE(world.b.paths[0].open);
	EXPECT_FALSE(world.b.paths[1].open);
}

TEST(StripedEngine, WithoutPathsThereIsNoWay)
{
	World world(8, 0);

	world.a.put(0, 0, 10, false, 1);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.errors[1], std::errc::network_unreachable);
}

/* The other process does not answer, though its adapters do. */
TEST(StripedEngine, NobodyAnswers)
{
	StripedOptions options = World::usual();
	options.attempts = 6;
	World world(9, 2, options);

	world.b.asleep = true;
	world.wires[1] = Wire::HELD;
	world.a.put(0, 0, 640, false, 1);
	world.a.put(0, 0, 10, true, 2);
	world.a.get(0, 0, 640, false, 3);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.errors[1], std::errc::timed_out);
	EXPECT_EQ(world.a.errors[2], std::errc::timed_out);
	EXPECT_FALSE(world.a.errors[3]);
	/* When it does, all goes on; it is not notified of what failed. */
	world.b.asleep = false;
	std::erase_if(world.network, [](const Packet &packet) {
		return packet.kind == Packet::WORD;
	});
	world.a.put(0, 0, 10, true, 4);
	ASSERT_TRUE(world.run());
	EXPECT_FALSE(world.a.errors[4]);
	EXPECT_EQ(world.b.arrived[4], 1);
	EXPECT_EQ(world.b.oldest, 2u) << "the first is notified no more";
	EXPECT_EQ(world.b.arrived[2], 0);
}

TEST(StripedEngine, WrongMemoryThereIsTheOperationsFault)
{
	World world(10, 2);

	fill(world.a.memory, 1);
	world.b.wrong = 3000 + 5 * 64;
	world.a.put(0, 3000, 640, true, 1);
	world.a.put(0, 0, 640, true, 2);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.ended[1], 1);
	EXPECT_EQ(world.a.errors[1], std::errc::bad_address);
	EXPECT_EQ(world.b.arrived[1], 0);
	EXPECT_FALSE(world.a.errors[2]);
	EXPECT_EQ(world.b.arrived[2], 1);
	EXPECT_TRUE(world.a.engine.path(0).alive);
	EXPECT_TRUE(world.a.engine.path(1).alive);
	check_quiet(world);
}

/* ------------------------------------------------------- control messages */

TEST(StripedControl, IsTheSameAfterTheWire)
{
	StripedControl control{.type = StripedControl::notify,
			       .path = 0x1234,
			       .token = 0x89abcdef,
			       .number = 0x1122334455667788,
			       .oldest = 0x99aabbccddeeff00,
			       .length = 0x0123456789abcdef,
			       .tag = 0xfedcba98};
	auto bytes = control.encode();
	auto back = StripedControl::decode(bytes);

	ASSERT_TRUE(back);
	EXPECT_EQ(bytes[0], std::byte(3));
	EXPECT_EQ(bytes[2], std::byte(0x12)) << "the first byte first";
	EXPECT_EQ(back->type, control.type);
	EXPECT_EQ(back->path, control.path);
	EXPECT_EQ(back->token, control.token);
	EXPECT_EQ(back->number, control.number);
	EXPECT_EQ(back->oldest, control.oldest);
	EXPECT_EQ(back->length, control.length);
	EXPECT_EQ(back->tag, control.tag);
}

TEST(StripedControl, OthersAreNone)
{
	auto bytes = StripedControl{}.encode();

	EXPECT_TRUE(StripedControl::decode(bytes));
	EXPECT_FALSE(StripedControl::decode(std::span(bytes).first(35)));
	EXPECT_FALSE(StripedControl::decode({}));
	for (int what : {0, 5, 255}) {
		bytes[0] = std::byte(what);
		EXPECT_FALSE(StripedControl::decode(bytes)) << what;
	}
	bytes[0] = std::byte(1);
	bytes[1] = std::byte(1);
	EXPECT_FALSE(StripedControl::decode(bytes));
}

/* Messages for windows' former users, and forged ones. */
TEST(StripedEngine, MessagesThatAreNotForItChangeNothing)
{
	World world(11, 2);
	StripedControl control{.type = StripedControl::close,
			       .path = 1,
			       .token = World::token(true, 0),
			       .number = 1};

	world.b.engine.receive(0, control);
	control.path = 2;
	control.token = World::token(true, 2);
	world.b.engine.receive(0, control);
	control.type = StripedControl::notify;
	world.b.engine.receive(0, control);
	/* Answers without a question. */
	control.path = 0;
	control.token = World::token(true, 0);
	control.type = StripedControl::closed;
	world.b.engine.receive(0, control);
	control.type = StripedControl::notified;
	world.b.engine.receive(0, control);
	world.b.engine.look(world.now);
	EXPECT_TRUE(world.network.empty()) << "no answer";
	EXPECT_TRUE(world.b.engine.path(0).alive);
	EXPECT_TRUE(world.b.engine.path(1).alive);
	EXPECT_TRUE(world.b.arrived.empty());
	world.b.put(0, 0, 640, true, 1);
	ASSERT_TRUE(world.run());
	EXPECT_EQ(world.a.arrived[1], 1);
	EXPECT_GT(world.b.engine.path(0).chunks, 2u) << "not closed";
	EXPECT_GT(world.b.engine.path(1).chunks, 2u);
}

size_t answers(World &world)
{
	size_t n = world.network.size();

	world.network.clear();
	return n;
}

TEST(StripedEngine, IsToldOnceOfEach)
{
	World world(12, 1);
	StripedControl control{.type = StripedControl::notify,
			       .token = World::token(true, 0),
			       .oldest = 1};
	auto notify = [&](uint64_t number) {
		control.number = number;
		control.tag = uint32_t(number);
		world.b.engine.receive(0, control);
		world.b.engine.look(world.now);
		return answers(world);
	};

	EXPECT_EQ(notify(2), 1u);
	EXPECT_EQ(notify(2), 1u) << "the answer was lost";
	EXPECT_EQ(notify(1), 1u);
	EXPECT_EQ(notify(1), 1u);
	EXPECT_EQ(notify(4000), 1u);
	EXPECT_EQ(notify(3 + 4096), 0u) << "too far ahead to be remembered";
	control.oldest = 4;
	EXPECT_EQ(notify(3 + 4096), 1u);
	EXPECT_EQ(notify(3), 1u) << "no end waits for that any more";
	EXPECT_EQ(notify(4000), 1u);
	control.oldest = 9000;
	EXPECT_EQ(notify(5), 1u) << "older than the oldest: nonsense";
	for (uint32_t tag : {1u, 2u, 4000u, 3u + 4096u, 5u})
		EXPECT_EQ(world.b.arrived[tag], 1) << tag;
	EXPECT_EQ(world.b.arrived[3], 0);
}

} // namespace
