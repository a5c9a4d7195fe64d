// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_control_test.cpp - control messages of Rdma about contexts that ended by a recovery
 * (rdma_control.hpp), and how an engine handles those that cannot be true.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "rdma_control.hpp"
#include "rdma_world.h"

using namespace rdma_world;

namespace {

std::array<uint8_t, RdmaControl::size> bytes_of(const RdmaControl &control)
{
	std::array<uint8_t, RdmaControl::size> bytes;

	std::ranges::transform(control.encode(), bytes.begin(),
			       [](std::byte byte) { return uint8_t(byte); });
	return bytes;
}

/* As docs/protocol.md has it, on any machine. */
TEST(RdmaControls, AreTheSameEverywhere)
{
	EXPECT_EQ(bytes_of({.type = RdmaControl::query, .rcxt = 0x01020304}),
		  (std::array<uint8_t, 20>{1, 0, 0, 0, 1, 2, 3, 4}));
	EXPECT_EQ(bytes_of({.type = RdmaControl::renewed,
			    .rcxt = 0x01020304,
			    .now = 0x05060708,
			    .ended = 0x090a0b0c0d0e0f10}),
		  (std::array<uint8_t, 20>{2,  0,  0,  0,  1,  2, 3,
					   4,  5,  6,  7,  8,  9, 10,
					   11, 12, 13, 14, 15, 16}));
}

TEST(RdmaControls, AreReadAsTheyWereWritten)
{
	const RdmaControl messages[] = {
		{.type = RdmaControl::query, .rcxt = 0xfedcba98},
		{.type = RdmaControl::query},
		{.type = RdmaControl::renewed,
		 .rcxt = 1,
		 .now = ~0u,
		 .ended = ~0ull},
		{.type = RdmaControl::renewed, .rcxt = ~0u, .now = 0},
	};

	for (const RdmaControl &control : messages) {
		auto back = RdmaControl::decode(control.encode());

		ASSERT_TRUE(back);
		EXPECT_EQ(back->type, control.type);
		EXPECT_EQ(back->rcxt, control.rcxt);
		EXPECT_EQ(back->now, control.now);
		EXPECT_EQ(back->ended, control.ended);
	}
}

TEST(RdmaControls, OfAnotherLengthAreNone)
{
	std::array<std::byte, 40> bytes{};

	std::ranges::copy(RdmaControl{.rcxt = 5}.encode(), bytes.begin());
	for (size_t n = 0; n <= bytes.size(); n++)
		EXPECT_EQ(RdmaControl::decode(std::span(bytes).first(n))
				  .has_value(),
			  n == RdmaControl::size)
			<< n;
}

TEST(RdmaControls, WithWhatIsNoneAreNone)
{
	auto bytes = RdmaControl{.rcxt = 5}.encode();

	for (unsigned what = 0; what < 256; what++) {
		bytes[0] = std::byte(what);
		/* A renewed context has another name. */
		bytes[11] = std::byte(what == RdmaControl::renewed ? 6 : 0);
		EXPECT_EQ(RdmaControl::decode(bytes).has_value(),
			  what == RdmaControl::query ||
				  what == RdmaControl::renewed)
			<< what;
	}
	/* Reserved bytes are 0, and so are in a question the fields that only answers have. */
	for (size_t at : {1, 2, 3, 8, 11, 12, 19}) {
		bytes = RdmaControl{.rcxt = 5}.encode();
		bytes[at] = std::byte(1);
		EXPECT_FALSE(RdmaControl::decode(bytes)) << at;
	}
	EXPECT_FALSE(RdmaControl::decode(
		RdmaControl{.type = RdmaControl::renewed, .rcxt = 5, .now = 5}
			.encode()));
}

/* A put whose packets all stay where they are. */
struct Pending {
	Pending()
	{
		fill(bench.world.a.memory, 0, 500, 3);
		bench.world.still = true;
		bench.engine.begin(
			Direction::write, bench.peer,
			{.local = {0}, .remote = {}, .length = 500},
			[this](const Result<void> &how) { result = how; },
			bench.world.now);
		for (const auto &[id, rcxt] : bench.world.a.rcxts())
			if (bench.world.a.sending(id))
				remote = rcxt.op.peer.rcxt;
		tid = 1;
	}

	void renewed(uint32_t old, uint32_t now, uint64_t ended,
		     WindowAddress from = {1, 2})
	{
		bench.engine.renew_remote(from, old, now, ended,
					  bench.world.now);
	}

	/* It was nothing to it, and it ends as if nothing had been said. */
	void expect_unheard()
	{
		EXPECT_FALSE(result);
		EXPECT_EQ(bench.engine.repeated(), 0u);
		EXPECT_EQ(bench.engine.pending(), 1u);
		bench.world.still = false;
		ASSERT_TRUE(bench.run());
		ASSERT_TRUE(result);
		EXPECT_TRUE(result->has_value());
		EXPECT_TRUE(std::equal(bench.world.a.memory.begin(),
				       bench.world.a.memory.begin() + 500,
				       bench.world.b.memory.begin()));
	}

	Bench bench{7};
	std::optional<Result<void>> result;
	uint32_t remote = 0;
	uint64_t tid;
};

TEST(RdmaControls, ThatCannotBeTrueEndNothing)
{
	for (uint64_t ended : {uint64_t(2), uint64_t(1) << 32, ~uint64_t(0)}) {
		Pending put;

		ASSERT_TRUE(put.remote);
		put.renewed(put.remote, 4711, ended);
		put.expect_unheard();
	}
}

TEST(RdmaControls, OfStrangersAndOfContextsOfNobodyEndNothing)
{
	Pending put;

	put.renewed(put.remote, 4711, put.tid, {0, 2});
	put.renewed(put.remote, 4711, put.tid, {2, 2});
	put.renewed(put.remote, 4711, put.tid, {1, 3});
	put.renewed(put.remote + 100, 4711, put.tid);
	/* Nor do two channels get one context, or one what it has. */
	put.renewed(put.remote, put.remote, put.tid);
	for (uint32_t other = 20; other < 23; other++)
		put.renewed(put.remote, other, put.tid);
	put.expect_unheard();
}

/* An end acts on a message that can be true: that is how operations go on. */
TEST(RdmaControls, ThatCanBeTrueAreHeard)
{
	Pending put, other;

	put.renewed(put.remote, 4711, put.tid);
	ASSERT_TRUE(put.result) << "it is over there";
	EXPECT_TRUE(put.result->has_value());
	other.renewed(other.remote, 4711, 0);
	EXPECT_FALSE(other.result) << "it is not";
	EXPECT_EQ(other.bench.engine.repeated(), 1u) << "a retry";
}

} // namespace
