// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_word_test.cpp - what Rdma says of contexts that a recovery took away (rdma_word.hpp),
 * and what an engine makes of such words that cannot be true.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "rdma_word.hpp"
#include "rdma_world.h"

using namespace rdma_world;

namespace {

std::array<uint8_t, RdmaWord::size> bytes_of(const RdmaWord &word)
{
	std::array<uint8_t, RdmaWord::size> bytes;

	std::ranges::transform(word.encode(), bytes.begin(),
			       [](std::byte byte) { return uint8_t(byte); });
	return bytes;
}

/* As docs/protocol.md has it, on any machine. */
TEST(RdmaWords, AreTheSameEverywhere)
{
	EXPECT_EQ(bytes_of({.what = RdmaWord::ask, .rcxt = 0x01020304}),
		  (std::array<uint8_t, 20>{1, 0, 0, 0, 1, 2, 3, 4}));
	EXPECT_EQ(bytes_of({.what = RdmaWord::renewed,
			    .rcxt = 0x01020304,
			    .now = 0x05060708,
			    .ended = 0x090a0b0c0d0e0f10}),
		  (std::array<uint8_t, 20>{2,  0,  0,  0,  1,  2, 3,
					   4,  5,  6,  7,  8,  9, 10,
					   11, 12, 13, 14, 15, 16}));
}

TEST(RdmaWords, AreReadAsTheyWereWritten)
{
	const RdmaWord words[] = {
		{.what = RdmaWord::ask, .rcxt = 0xfedcba98},
		{.what = RdmaWord::ask},
		{.what = RdmaWord::renewed,
		 .rcxt = 1,
		 .now = ~0u,
		 .ended = ~0ull},
		{.what = RdmaWord::renewed, .rcxt = ~0u, .now = 0},
	};

	for (const RdmaWord &word : words) {
		auto back = RdmaWord::decode(word.encode());

		ASSERT_TRUE(back);
		EXPECT_EQ(back->what, word.what);
		EXPECT_EQ(back->rcxt, word.rcxt);
		EXPECT_EQ(back->now, word.now);
		EXPECT_EQ(back->ended, word.ended);
	}
}

TEST(RdmaWords, OfAnotherLengthAreNone)
{
	std::array<std::byte, 40> bytes{};

	std::ranges::copy(RdmaWord{.rcxt = 5}.encode(), bytes.begin());
	for (size_t n = 0; n <= bytes.size(); n++)
		EXPECT_EQ(
			RdmaWord::decode(std::span(bytes).first(n)).has_value(),
			n == RdmaWord::size)
			<< n;
}

TEST(RdmaWords, WithWhatIsNoneAreNone)
{
	auto bytes = RdmaWord{.rcxt = 5}.encode();

	for (unsigned what = 0; what < 256; what++) {
		bytes[0] = std::byte(what);
		/* A renewed context has another name. */
		bytes[11] = std::byte(what == RdmaWord::renewed ? 6 : 0);
		EXPECT_EQ(RdmaWord::decode(bytes).has_value(),
			  what == RdmaWord::ask || what == RdmaWord::renewed)
			<< what;
	}
	/* Reserved bytes are 0, and so are in a question the fields that only answers have. */
	for (size_t at : {1, 2, 3, 8, 11, 12, 19}) {
		bytes = RdmaWord{.rcxt = 5}.encode();
		bytes[at] = std::byte(1);
		EXPECT_FALSE(RdmaWord::decode(bytes)) << at;
	}
	EXPECT_FALSE(RdmaWord::decode(
		RdmaWord{.what = RdmaWord::renewed, .rcxt = 5, .now = 5}
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

TEST(RdmaWords, ThatCannotBeTrueEndNothing)
{
	for (uint64_t ended : {uint64_t(2), uint64_t(1) << 32, ~uint64_t(0)}) {
		Pending put;

		ASSERT_TRUE(put.remote);
		put.renewed(put.remote, 4711, ended);
		put.expect_unheard();
	}
}

TEST(RdmaWords, OfStrangersAndOfContextsOfNobodyEndNothing)
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

/* An end believes a word that can be true: that is how operations go on. */
TEST(RdmaWords, ThatCanBeTrueAreHeard)
{
	Pending put, other;

	put.renewed(put.remote, 4711, put.tid);
	ASSERT_TRUE(put.result) << "it is over there";
	EXPECT_TRUE(put.result->has_value());
	other.renewed(other.remote, 4711, 0);
	EXPECT_FALSE(other.result) << "it is not";
	EXPECT_EQ(other.bench.engine.repeated(), 1u) << "it is asked for again";
}

} // namespace
