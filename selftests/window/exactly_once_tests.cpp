// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * exactly_once_tests.cpp - pavo::Rdma over two adapters: every operation once, whatever
 * the network does. Tests named Network are also run with one that loses, repeats and
 * reorders.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include <pavo/rdma.hpp>

#include "both.h"

using namespace windows;
using pavo::RdmaMove;

namespace {

TEST(Network, PutsAndGetsOfBothSidesOnce)
{
	constexpr uint32_t operations = 48, size = 30'000;
	Both both;
	std::map<uint32_t, int> ended;

	for (uint32_t n = 0; n < operations; n++) {
		bool at_a = n % 2, write = n % 4 < 2;
		size_t from = n * (2 * size + 100), to = from + size + 1;
		/* Its data begins at the end that is read, or writes. */
		bool begins_at_a = at_a == write;
		auto &source = begins_at_a ? both.memory_a : both.memory_b;
		pavo::Pvo here = (at_a ? both.mapping_a : both.mapping_b).pvo();
		pavo::Pvo there =
			(at_a ? both.mapping_b : both.mapping_a).pvo();
		RdmaMove move{.local = here + (write ? from : to),
			      .remote = there + (write ? to : from),
			      .length = size,
			      .notify = n % 3 == 0,
			      .tag = n};
		auto count = [&ended, n](const pavo::Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ended[n]++;
		};
		auto &rdma = at_a ? both.rdma_a : both.rdma_b;
		auto peer = at_a ? both.b_of_a : both.a_of_b;

		fill(source, from, size, n);
		if (write)
			(void)rdma.put(peer, move, count);
		else
			(void)rdma.get(peer, move, count);
	}
	ASSERT_TRUE(both.run());
	for (uint32_t n = 0; n < operations; n++) {
		bool at_a = n % 2, write = n % 4 < 2;
		size_t from = n * (2 * size + 100), to = from + size + 1;
		bool begins_at_a = at_a == write;

		EXPECT_EQ(ended[n], 1) << n;
		EXPECT_EQ((at_a ? both.arrived_b : both.arrived_a)[n],
			  n % 3 == 0)
			<< n;
		if (n % 3 == 0) {
			EXPECT_EQ(both.lengths[n], size) << n;
		}
		EXPECT_TRUE(begins_at_a ? equal(both.memory_a, from,
						both.memory_b, to, size) :
					  equal(both.memory_b, from,
						both.memory_a, to, size))
			<< n;
	}
	if (getenv("PAVO_LOSSY")) {
		EXPECT_GT(both.rdma_a.retries() + both.rdma_b.retries(), 0u);
	}
}

/* Pieces of 190 packets, of which some are lost every time. */
TEST(Network, LongOnesComeInTheEnd)
{
	for (bool write : {true, false}) {
		Both both(2);
		int ended = 0;
		RdmaMove move{.local = both.mapping_a.pvo(),
			      .remote = both.mapping_b.pvo(),
			      .length = 1 << 20,
			      .notify = true,
			      .tag = 5};
		auto count = [&](const pavo::Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ended++;
		};

		fill(both.memory_a, 0, 1 << 20, 1);
		fill(both.memory_b, 0, 1 << 20, 2);
		if (write)
			(void)both.rdma_a.put(both.b_of_a, move, count);
		else
			(void)both.rdma_a.get(both.b_of_a, move, count);
		ASSERT_TRUE(both.run());
		EXPECT_EQ(ended, 1);
		EXPECT_EQ(both.arrived_b[5], 1);
		EXPECT_EQ(both.lengths[5], 1u << 20);
		EXPECT_TRUE(equal(both.memory_a, 0, both.memory_b, 0, 1 << 20));
		if (getenv("PAVO_LOSSY")) {
			EXPECT_GT(both.rdma_a.retries(), 0u);
		}
	}
}

/* One call begins an operation, drives it, and returns its result. */
TEST(ExactlyOnce, WaitReturnsTheResultOfAnOperation)
{
	Both both;
	RdmaMove move{.local = both.mapping_a.pvo(),
		      .remote = both.mapping_b.pvo(),
		      .length = 100'000};
	pavo::Rdma &rdma = both.rdma_a;

	fill(both.memory_a, 0, move.length, 6);
	must(rdma.wait(rdma.put(both.b_of_a, move)));
	EXPECT_TRUE(equal(both.memory_a, 0, both.memory_b, 0, move.length));
	fill(both.memory_b, 0, move.length, 7);
	must(rdma.wait(rdma.get(both.b_of_a, move)));
	EXPECT_TRUE(equal(both.memory_a, 0, both.memory_b, 0, move.length));
	EXPECT_EQ(rdma.pending(), 0u);

	EXPECT_EQ(rdma.wait(rdma.put(both.b_of_a + 1, move)),
		  pavo::Unexpected(EINVAL))
		<< "no such peer";
	move.remote = {~0ull};
	EXPECT_EQ(rdma.wait(rdma.get(both.b_of_a, move)),
		  pavo::Unexpected(EFAULT));
	EXPECT_EQ(rdma.wait(pavo::Completion()), pavo::Unexpected(EINVAL))
		<< "nothing is pending";
}

TEST(ExactlyOnce, LongOnesGoInPieces)
{
	Both both(3, {.piece = 100'000});
	int ended = 0;

	fill(both.memory_a, 0, memory_size, 3);
	(void)both.rdma_a.put(both.b_of_a,
			      {.local = both.mapping_a.pvo() + 1,
			       .remote = both.mapping_b.pvo() + 2,
			       .length = memory_size - 2,
			       .notify = true,
			       .tag = 77},
			      [&](const pavo::Result<void> &how) {
				      EXPECT_TRUE(how.has_value());
				      ended++;
			      });
	ASSERT_TRUE(both.run());
	EXPECT_EQ(ended, 1);
	EXPECT_EQ(both.arrived_b[77], 1);
	EXPECT_EQ(both.lengths[77], memory_size - 2);
	EXPECT_TRUE(equal(both.memory_a, 1, both.memory_b, 2, memory_size - 2));
}

TEST(ExactlyOnce, WrongMemoryThereIsToldAndOthersGoOn)
{
	Both both;
	std::vector<pavo::Result<void>> errors;
	auto note = [&](const pavo::Result<void> &how) {
		errors.push_back(how);
	};
	RdmaMove move{.local = both.mapping_a.pvo(),
		      .remote = {both.mapping_b.pvo().value ^ 1ull << 60},
		      .length = 5000};

	(void)both.rdma_a.put(both.b_of_a, move, note);
	ASSERT_TRUE(both.run());
	(void)both.rdma_a.get(both.b_of_a, move, note);
	ASSERT_TRUE(both.run());
	move.remote = both.mapping_b.pvo();
	(void)both.rdma_a.put(both.b_of_a, move, note);
	ASSERT_TRUE(both.run());
	ASSERT_EQ(errors.size(), 3u);
	EXPECT_EQ(errors[0], pavo::Unexpected(std::errc::bad_address));
	EXPECT_EQ(errors[1], pavo::Unexpected(std::errc::bad_address));
	EXPECT_TRUE(errors[2].has_value());
}

TEST(ExactlyOnce, WrongMemoryHereEndsTheWindow)
{
	for (bool write : {true, false}) {
		Both both;
		pavo::Result<void> result;
		RdmaMove move{.local = {both.mapping_a.pvo().value ^
					1ull << 60},
			      .remote = both.mapping_b.pvo(),
			      .length = 10};
		auto over = [&](const pavo::Result<void> &how) {
			result = how;
		};

		if (write)
			(void)both.rdma_a.put(both.b_of_a, move, over);
		else
			(void)both.rdma_a.get(both.b_of_a, move, over);
		ASSERT_TRUE(both.run());
		EXPECT_EQ(result, pavo::Unexpected(std::errc::owner_dead));
		EXPECT_EQ(both.a.lmt().value().state, pavo::WindowState::dead);
		EXPECT_EQ(both.b.lmt().value().state, pavo::WindowState::valid);
	}
}

TEST(ExactlyOnce, NobodyThereTimesOut)
{
	Both both(2,
		  {.timeout = std::chrono::microseconds(500), .attempts = 5});
	pavo::Result<void> result;

	/* A window that there is not. */
	auto absent =
		must(both.rdma_a.add({{node_b, both.b.number() + 77}, {1, 2}}));
	(void)both.rdma_a.put(absent,
			      {.local = both.mapping_a.pvo(),
			       .remote = both.mapping_b.pvo(),
			       .length = 10},
			      [&](const pavo::Result<void> &how) {
				      result = how;
			      });
	ASSERT_TRUE(both.run());
	EXPECT_EQ(result, pavo::Unexpected(std::errc::timed_out));
	EXPECT_EQ(both.rdma_a.retries(), 4u);
}

Task there_and_back(Both &both, std::optional<pavo::Result<void>> &result)
{
	RdmaMove move{.local = both.mapping_a.pvo(),
		      .remote = both.mapping_b.pvo(),
		      .length = 9000};

	result = co_await both.rdma_a.put(both.b_of_a, move);
	if (!result->has_value())
		co_return;
	move.local = both.mapping_a.pvo() + 20'000;
	result.reset();
	result = co_await both.rdma_a.get(both.b_of_a, move);
}

TEST(ExactlyOnce, CanBeAwaited)
{
	Both both;
	std::optional<pavo::Result<void>> result;

	fill(both.memory_a, 0, 9000, 5);
	there_and_back(both, result);
	ASSERT_TRUE(both.run());
	ASSERT_TRUE(result);
	EXPECT_TRUE(result->has_value());
	EXPECT_TRUE(equal(both.memory_a, 0, both.memory_a, 20'000, 9000));
}

TEST(ExactlyOnce, CanBeLookedFor)
{
	Both both;
	pavo::Completion there, nowhere, refused, not_begun;
	pavo::RdmaMove move{.local = both.mapping_a.pvo(),
			    .remote = both.mapping_b.pvo() + 500,
			    .length = 9000};

	fill(both.memory_a, 0, 9000, 5);
	ASSERT_TRUE(both.rdma_a.put(both.b_of_a, move, there).has_value());
	move.remote.value ^= uint64_t(1) << 60;
	ASSERT_TRUE(both.rdma_a.get(both.b_of_a, move, nowhere).has_value());
	EXPECT_EQ(both.rdma_a.put(both.b_of_a + 1, move, refused),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_FALSE(there.over() || nowhere.over());
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(there.over());
	EXPECT_TRUE(there.result().has_value())
		<< there.result().error_or({}).message();
	EXPECT_TRUE(equal(both.memory_a, 0, both.memory_b, 500, 9000));
	EXPECT_TRUE(nowhere.over());
	EXPECT_EQ(nowhere.result(), pavo::Unexpected(std::errc::bad_address));
	EXPECT_FALSE(refused.over() || not_begun.over());
}

/* It does not have to live as long as what it was given to. */
TEST(ExactlyOnce, NobodyHasToLookForIt)
{
	Both both;
	auto gone = std::make_unique<pavo::Completion>();
	pavo::Completion again;
	pavo::RdmaMove move{.local = both.mapping_a.pvo(),
			    .remote = both.mapping_b.pvo(),
			    .length = 9000};

	ASSERT_TRUE(both.rdma_a.put(both.b_of_a, move, *gone).has_value());
	gone.reset();
	move.remote.value ^= uint64_t(1) << 60;
	ASSERT_TRUE(both.rdma_a.put(both.b_of_a, move, again).has_value());
	move.remote = both.mapping_b.pvo();
	ASSERT_TRUE(both.rdma_a.put(both.b_of_a, move, again).has_value());
	ASSERT_TRUE(both.run());
	EXPECT_TRUE(again.over());
	EXPECT_TRUE(again.result().has_value())
		<< again.result().error_or({}).message();
}

Task never_begun(Both &both, std::vector<pavo::Result<void>> &results)
{
	const RdmaMove nothing{.local = both.mapping_a.pvo(),
			       .remote = both.mapping_b.pvo(),
			       .length = 10};

	results.push_back(co_await both.rdma_a.put(both.b_of_a + 1, nothing));
	results.push_back(co_await both.rdma_a.get(both.b_of_a + 1, nothing));
}

/* A caller that awaits what is refused goes on at once: there is no end to wait for. */
TEST(ExactlyOnce, WhatIsRefusedIsNotWaitedFor)
{
	Both both;
	std::vector<pavo::Result<void>> results;

	never_begun(both, results);
	ASSERT_EQ(results.size(), 2u);
	for (const auto &result : results)
		EXPECT_EQ(result,
			  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(both.rdma_a.pending(), 0u);
}

/* Kinds that the library's parts use among themselves are not for a program. */
TEST(ExactlyOnce, MessagesHaveKindsThatAreFree)
{
	Both both;
	std::vector<uint8_t> heard;
	auto say = [&](uint8_t kind) {
		return both.rdma_a.send_control(kind, {node_b, both.b.number()},
						pattern(kind, 30));
	};

	for (unsigned kind = pavo::message_kind::plain; kind < 256; kind++)
		both.rdma_b.on_control(
			uint8_t(kind), [&](const pavo::Message &message) {
				heard.push_back(message.kind);
				EXPECT_TRUE(std::ranges::equal(
					message.payload,
					pattern(message.kind, 30)));
			});
	Moved come(both.device_b, "rx_frames");
	for (uint8_t kind :
	     {pavo::message_kind::plain, pavo::message_kind::rdma,
	      pavo::message_kind::striped})
		EXPECT_EQ(say(kind),
			  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(say(63), pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_TRUE(say(64).has_value());
	EXPECT_TRUE(say(255).has_value());
	ASSERT_TRUE(eventually([&] {
		(void)both.rdma_b.progress();
		return heard.size() == 2;
	}));
	std::ranges::sort(heard);
	EXPECT_EQ(heard, (std::vector<uint8_t>{64, 255}));
	EXPECT_EQ(come.by(), 2u);
}

TEST(ExactlyOnce, MessagesGoBesideIt)
{
	Both both;
	std::vector<uint32_t> seen;
	int ended = 0;

	both.rdma_b.on_message([&](const pavo::Message &message) {
		seen.push_back(uint32_t(message.payload.size()));
	});
	for (uint32_t n = 1; n <= 20; n++) {
		ASSERT_TRUE(
			both.rdma_a
				.send({node_b, both.b.number()}, pattern(n, n))
				.has_value());
		(void)both.rdma_a.put(both.b_of_a,
				      {.local = both.mapping_a.pvo(),
				       .remote = both.mapping_b.pvo() + n * 100,
				       .length = 100},
				      [&](const pavo::Result<void> &how) {
					      EXPECT_TRUE(how.has_value());
					      ended++;
				      });
	}
	ASSERT_TRUE(both.run());
	ASSERT_TRUE(eventually([&] {
		(void)both.rdma_b.progress();
		return seen.size() == 20;
	}));
	EXPECT_EQ(ended, 20);
}

} // namespace
