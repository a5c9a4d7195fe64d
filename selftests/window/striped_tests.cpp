// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped_tests.cpp - pavo::Striped over two wires: adapters wa0 and wb0 on va and vb, wc0
 * and wd0 on vc and vd (guest.sh). Wires are cut and adapters taken away in the middle of
 * messages: every byte is there once, and nothing comes later.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include <pavo/striped.hpp>

#include "../common/slow_kernel.h"
#include "second_wire.h"
#include "striped_engine.hpp"

using namespace windows;
using pavo::Striped;
using pavo::StripedMove;
using pavo::StripedOptions;

namespace {

constexpr size_t striped_memory = 8 << 20;
constexpr uint32_t chunk = 1 << 16;

StripedOptions patient()
{
	StripedOptions options;

	options.chunk = chunk;
	return options;
}

StripedOptions impatient(unsigned attempts)
{
	StripedOptions options = patient();

	options.path.attempts = attempts;
	return options;
}

/*
 * A path that does not answer for half a second has failed. A kernel with checkers may let a
 * good one wait for longer: four seconds there.
 */
StripedOptions hasty()
{
	return impatient(common::slow_kernel() ? 11 : 5);
}

/* Memory of a node, mapped through both of its adapters. */
struct NodeMemory : world::Memory {
	NodeMemory(const pavo::Job &one, const pavo::Job &two)
		: Memory(striped_memory),
		  first(pavo::Mapping::open(one, all()).value()),
		  second(pavo::Mapping::open(two, all()).value())
	{
		EXPECT_EQ(first.pvo(), second.pvo());
	}

	void fill(uint32_t number) { common::fill(all(), number); }

	bool holds(uint32_t number) const
	{
		return common::holds(all(), number);
	}

	pavo::Mapping first;
	pavo::Mapping second;
};

/* Two nodes, two paths. */
struct Two {
	explicit Two(const StripedOptions &options = hasty())
		: ends_a{PathEnd("wa0", node_a), PathEnd("wc0", node_a)},
		  ends_b{PathEnd("wb0", node_b), PathEnd("wd0", node_b)},
		  memory_a(ends_a[0].job, ends_a[1].job),
		  memory_b(ends_b[0].job, ends_b[1].job), a(options), b(options)
	{
		for (size_t i = 0; i < 2; i++) {
			PathEnd &end_a = ends_a[i], &end_b = ends_b[i];
			std::vector<uint32_t> taken_a(4), taken_b(4);

			must(a.add(*end_a.window, taken_a));
			must(b.add(*end_b.window, taken_b));
			must(end_a.window->set_node(node_b, end_b.address.gid));
			must(end_b.window->set_node(node_a, end_a.address.gid));
			tokens_b[i] = taken_b[0];
			must(a.connect(i, {end_b.window->address(), taken_b}));
			must(b.connect(i, {end_a.window->address(), taken_a}));
		}
		a.on_arrival([this](const pavo::StripedArrival &arrival) {
			arrived_a[arrival.tag]++;
		});
		b.on_arrival([this](const pavo::StripedArrival &arrival) {
			arrived_b[arrival.tag]++;
		});
	}

	/* All of the memory, between a and b. */
	void begin(bool put, uint32_t tag, bool by_a = true)
	{
		StripedMove all{
			.local = (by_a ? memory_a : memory_b).first.pvo(),
			.remote = (by_a ? memory_b : memory_a).first.pvo(),
			.length = striped_memory,
			.notify = true,
			.tag = tag};
		auto done = [this, tag](const pavo::Result<void> &how) {
			ended[tag]++;
			errors[tag] = how;
		};
		Striped &end = by_a ? a : b;

		if (put)
			(void)end.put(all, done);
		else
			(void)end.get(all, done);
	}

	bool until(const std::function<bool()> &condition)
	{
		return eventually([&] {
			a.progress();
			b.progress();
			return condition();
		});
	}

	bool run()
	{
		return until([&] { return !a.pending() && !b.pending(); });
	}

	/* The middle: so many chunks went by path 1. */
	bool some_chunks(Striped &end, uint64_t chunks = 3)
	{
		return until([&] { return end.path(1).chunks >= chunks; });
	}

	/* One operation that is over, well, with all its bytes. */
	void expect_good(uint32_t tag, uint32_t number)
	{
		EXPECT_EQ(ended[tag], 1) << tag;
		EXPECT_TRUE(errors[tag].has_value())
			<< errors[tag].error().message();
		EXPECT_EQ(arrived_a[tag] + arrived_b[tag], 1) << tag;
		EXPECT_TRUE(memory_a.holds(number));
		EXPECT_TRUE(memory_b.holds(number));
	}

	std::array<PathEnd, 2> ends_a;
	std::array<PathEnd, 2> ends_b;
	/* Tokens by which b knows control messages of present users. */
	std::array<uint32_t, 2> tokens_b{};
	NodeMemory memory_a;
	NodeMemory memory_b;
	Striped a;
	Striped b;
	std::map<uint32_t, int> ended, arrived_a, arrived_b;
	std::map<uint32_t, pavo::Result<void>> errors;
};

/* A test's changes of the second wire are undone at its end. */
struct Striping : testing::Test {
	void TearDown() override
	{
		wire("mend");
		adapter_is_active("wc0");
		adapter_is_active("wd0");
	}

	/* Packets that were sent before by a wire, the second, have come, or never will. */
	void all_has_come(const char *adapter_a = "wc0",
			  const char *adapter_b = "wd0")
	{
		PathEnd from(adapter_a, node_a), to(adapter_b, node_b);
		int seen = 0;

		must(from.window->set_node(node_b, to.address.gid));
		ASSERT_TRUE(eventually([&] {
			(void)from.window->send({node_b, to.window->number()},
						pattern(1, 100));
			to.window->receive([&](const auto &) { seen++; });
			return seen;
		}));
	}
};

TEST_F(Striping, AMessageByBothPaths)
{
	Two two(patient());

	for (uint32_t number = 1; number < 5; number++) {
		bool put = number % 2, by_a = number < 3;

		two.memory_a.fill(put == by_a ? number : 77);
		two.memory_b.fill(put == by_a ? 77 : number);
		two.begin(put, number, by_a);
		ASSERT_TRUE(two.run());
		two.expect_good(number, number);
	}
	for (Striped *end : {&two.a, &two.b})
		for (size_t i = 0; i < 2; i++) {
			pavo::StripedPath path = end->path(i);

			EXPECT_TRUE(path.alive);
			EXPECT_GT(path.chunks, 10u) << "of 256";
			EXPECT_EQ(path.bytes, path.chunks * chunk);
		}
	EXPECT_EQ(two.a.path(0).chunks + two.a.path(1).chunks,
		  2 * striped_memory / chunk);
}

Task there_and_back(Two &two, std::optional<pavo::Result<void>> &result)
{
	StripedMove half{.local = two.memory_a.first.pvo(),
			 .remote = two.memory_b.first.pvo(),
			 .length = striped_memory / 2};
	pavo::Result<void> moved = co_await two.a.put(half);

	half.local = half.local + striped_memory / 2;
	if (moved.has_value())
		moved = co_await two.a.get(half);
	result = moved;
}

TEST_F(Striping, CanBeAwaited)
{
	Two two;
	std::optional<pavo::Result<void>> result;

	two.memory_a.fill(1);
	there_and_back(two, result);
	ASSERT_TRUE(two.run());
	ASSERT_TRUE(result);
	EXPECT_TRUE(result->has_value());
	auto half = std::span(two.memory_a.all()).first(striped_memory / 2);
	EXPECT_TRUE(std::ranges::equal(half,
				       two.memory_a.part(striped_memory / 2,
							 striped_memory / 2)));
	EXPECT_TRUE(std::ranges::equal(half, pattern(1, half.size())));
}

TEST_F(Striping, CanBeLookedFor)
{
	Two two;
	pavo::Completion put, got;
	StripedMove move{.local = two.memory_a.first.pvo(),
			 .remote = two.memory_b.first.pvo(),
			 .length = striped_memory};

	two.memory_a.fill(1);
	ASSERT_TRUE(two.a.put(move, put).has_value());
	EXPECT_FALSE(put.over());
	ASSERT_TRUE(two.until([&] { return put.over(); }));
	EXPECT_TRUE(put.result().has_value());
	EXPECT_TRUE(two.memory_b.holds(1));
	two.memory_b.fill(2);
	ASSERT_TRUE(two.a.get(move, got).has_value());
	ASSERT_TRUE(two.until([&] { return got.over(); }));
	EXPECT_TRUE(got.result().has_value());
	EXPECT_TRUE(two.memory_a.holds(2));
}

TEST_F(Striping, OverWiresThatLose)
{
	wire("lossy");
	Two two({.chunk = chunk});

	two.memory_a.fill(1);
	two.begin(true, 1);
	ASSERT_TRUE(two.run());
	two.expect_good(1, 1);
	two.memory_b.fill(2);
	two.begin(false, 2);
	ASSERT_TRUE(two.run());
	two.expect_good(2, 2);
}

TEST_F(Striping, ALinkGoesDownInTheMiddle)
{
	for (bool put : {true, false}) {
		Two two;

		two.memory_a.fill(put ? 1 : 2);
		two.memory_b.fill(put ? 2 : 1);
		two.begin(put, 7);
		ASSERT_TRUE(two.some_chunks(two.a));
		wire("down");
		ASSERT_TRUE(two.run());
		two.expect_good(7, 1);
		EXPECT_FALSE(two.a.path(1).alive);
		EXPECT_EQ(two.a.path(1).error, std::errc::timed_out);
		EXPECT_EQ(two.b.path(1).error, std::errc::connection_aborted);
		EXPECT_TRUE(two.a.path(0).alive);
		/* Its owner writes to it; the link comes back. */
		two.memory_a.fill(3);
		two.memory_b.fill(4);
		wire("mend");
		adapter_is_active("wc0");
		adapter_is_active("wd0");
		all_has_come();
		EXPECT_TRUE(two.memory_a.holds(3));
		EXPECT_TRUE(two.memory_b.holds(4));
		/* The other path goes on, that one does not. */
		uint64_t before = two.a.path(1).chunks;
		two.begin(put, 8);
		ASSERT_TRUE(two.run());
		two.expect_good(8, put ? 3 : 4);
		EXPECT_EQ(two.a.path(1).chunks, before);
	}
}

/* Packets are not lost, but late: they come when the message is long over. */
TEST_F(Striping, LatePacketsAreNobodys)
{
	/* The packets are later than the last attempt. */
	Two two(impatient(5));
	Moved sent(two.ends_a[1].device, "tx_rdma_packets");
	Moved dropped(two.ends_b[1].device, "rx_drop_rcxt");
	Moved placed(two.ends_b[1].device, "rx_rdma_packets");

	wire("late");
	two.memory_a.fill(1);
	two.begin(true, 1);
	ASSERT_TRUE(two.run());
	two.expect_good(1, 1);
	EXPECT_FALSE(two.a.path(1).alive);
	two.memory_b.fill(5);
	ASSERT_GT(sent.by(), 100u);
	ASSERT_TRUE(eventually([&] { return dropped.by() >= sent.by(); }));
	EXPECT_EQ(placed.by(), 0u);
	EXPECT_TRUE(two.memory_b.holds(5));
}

TEST_F(Striping, AnAdapterIsTakenAwayInTheMiddle)
{
	for (const char *gone : {"wc0", "wd0"})
		for (bool put : {true, false}) {
			Two two;

			two.memory_a.fill(put ? 1 : 2);
			two.memory_b.fill(put ? 2 : 1);
			two.begin(put, 7);
			ASSERT_TRUE(two.some_chunks(two.a));
			wire(std::string("delete ") + gone);
			ASSERT_TRUE(two.run()) << gone;
			two.expect_good(7, 1);
			EXPECT_FALSE(two.a.path(1).alive);
			EXPECT_FALSE(two.b.path(1).alive);
			if (gone[1] == 'c') {
				EXPECT_EQ(two.a.path(1).error,
					  std::errc::io_error);
			}
			/* And what begins after that. */
			two.memory_a.fill(4);
			two.memory_b.fill(5);
			two.begin(true, 8);
			ASSERT_TRUE(two.run());
			two.expect_good(8, 4);
			wire("mend");
			adapter_is_active("wc0");
			adapter_is_active("wd0");
		}
}

/*
 * Adapters of both paths begin anew in the middle, those of one end and then the other's. Each
 * path has chunks under way at that moment, or gets the next by contexts that are gone.
 */
TEST_F(Striping, AdaptersRecoverInTheMiddle)
{
	constexpr uint64_t all = striped_memory / chunk;

	for (bool put : {true, false}) {
		Two two({.chunk = chunk});
		auto chunks = [&] {
			return two.a.path(0).chunks + two.a.path(1).chunks;
		};
		auto recover_at = [&](uint64_t n,
				      std::array<PathEnd, 2> &ends) {
			ASSERT_TRUE(two.until([&] { return chunks() >= n; }));
			ASSERT_LT(chunks(), all / 2);
			for (PathEnd &end : ends)
				recover(end.device);
		};

		two.memory_a.fill(put ? 1 : 2);
		two.memory_b.fill(put ? 2 : 1);
		two.begin(put, 7);
		ASSERT_NO_FATAL_FAILURE(recover_at(all / 16, two.ends_a));
		ASSERT_NO_FATAL_FAILURE(recover_at(all / 4, two.ends_b));
		ASSERT_TRUE(two.run());
		two.expect_good(7, 1);
		EXPECT_EQ(chunks(), all) << "each once";
		for (Striped *end : {&two.a, &two.b})
			for (size_t i = 0; i < 2; i++)
				EXPECT_TRUE(end->path(i).alive) << i;
		for (auto *ends : {&two.ends_a, &two.ends_b})
			for (PathEnd &end : *ends)
				EXPECT_EQ(end.window->lmt().value().rcxts_owned,
					  8u)
					<< end.device.name();
		/* Nothing is under way that would come later. */
		two.memory_a.fill(3);
		two.memory_b.fill(4);
		all_has_come();
		all_has_come("wa0", "wb0");
		EXPECT_TRUE(two.memory_a.holds(3));
		EXPECT_TRUE(two.memory_b.holds(4));
	}
}

/* Both directions at once, and each end loses a path of its own sight. */
TEST_F(Striping, BothEndsAtOnce)
{
	Two two;
	constexpr uint64_t half = striped_memory / 2;
	int over = 0;
	auto done = [&](const pavo::Result<void> &how) {
		EXPECT_TRUE(how.has_value()) << how.error().message();
		over++;
	};

	two.memory_a.fill(1);
	two.memory_b.fill(2);
	/* The first halves there, the second ones here. */
	(void)two.a.put({.local = two.memory_a.first.pvo(),
			 .remote = two.memory_b.first.pvo(),
			 .length = half},
			done);
	(void)two.b.put({.local = two.memory_b.first.pvo() + half,
			 .remote = two.memory_a.first.pvo() + half,
			 .length = half},
			done);
	ASSERT_TRUE(two.some_chunks(two.a));
	ASSERT_TRUE(two.some_chunks(two.b));
	wire("down");
	ASSERT_TRUE(two.run());
	EXPECT_EQ(over, 2);
	auto of_a = pattern(1, striped_memory),
	     of_b = pattern(2, striped_memory);
	std::copy(of_b.begin() + half, of_b.end(), of_a.begin() + half);
	EXPECT_TRUE(std::ranges::equal(two.memory_a.all(), of_a));
	EXPECT_TRUE(std::ranges::equal(two.memory_b.all(), of_a));
}

TEST_F(Striping, NoPathIsLeft)
{
	Two two;

	two.memory_a.fill(1);
	two.begin(true, 1);
	two.begin(false, 2);
	ASSERT_TRUE(two.some_chunks(two.a));
	wire("cut");
	ASSERT_TRUE(two.run());
	for (uint32_t tag : {1u, 2u}) {
		EXPECT_EQ(two.ended[tag], 1);
		EXPECT_EQ(two.errors[tag],
			  pavo::Unexpected(std::errc::network_unreachable));
		EXPECT_EQ(two.arrived_b[tag], 0);
	}
	two.begin(true, 3);
	ASSERT_TRUE(two.run());
	EXPECT_EQ(two.errors[3],
		  pavo::Unexpected(std::errc::network_unreachable));
}

TEST_F(Striping, RefusesWhatCannotBe)
{
	Two two;
	PathEnd end("wa0", node_a);
	Striped other;

	std::array<uint32_t, 2> taken;

	EXPECT_EQ(other.add(*end.window, {}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(other.connect(0, {{1, 1}, {1}}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(other.path(0).error, std::errc::invalid_argument);
	must(other.add(*end.window, taken));
	EXPECT_EQ(other.connect(0, {{1, 1}, {}}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_FALSE(other.path(0).alive);
	EXPECT_FALSE(other.path(0).error);
	/* There is no peer. */
	std::optional<pavo::Result<void>> result;
	(void)other.put({.local = {}, .remote = {}, .length = 10},
			[&](const pavo::Result<void> &how) { result = how; });
	other.progress();
	ASSERT_TRUE(result);
	EXPECT_EQ(*result, pavo::Unexpected(std::errc::network_unreachable));
	/* Wrong memory is the operation's fault, not the paths'. */
	result.reset();
	(void)two.a.put(
		{.local = two.memory_a.first.pvo(),
		 .remote = {two.memory_b.first.pvo().value ^ 1ull << 60},
		 .length = striped_memory},
		[&](const pavo::Result<void> &how) { result = how; });
	ASSERT_TRUE(two.run());
	EXPECT_EQ(*result, pavo::Unexpected(std::errc::bad_address));
	EXPECT_TRUE(two.a.path(0).alive);
	EXPECT_TRUE(two.a.path(1).alive);
	two.memory_a.fill(1);
	two.begin(true, 1);
	ASSERT_TRUE(two.run());
	two.expect_good(1, 1);
}

/*
 * Forged control messages of other windows of the job: a path stays what it was. They are as the other
 * end's would be, so it is their sender that counts.
 */
TEST_F(Striping, WordsOfStrangersAreNotHeard)
{
	Two two;
	PathEnd stranger("wc0", node_a);
	const auto control =
		pavo::StripedControl{.type = pavo::StripedControl::close,
				     .path = 1,
				     .token = two.tokens_b[1]}
			.encode();

	must(stranger.window->set_node(node_b, two.ends_b[1].address.gid));
	Moved frames(two.ends_b[1].device, "rx_frames");
	for (int i = 0; i < 40; i++)
		ASSERT_TRUE(
			stranger.window
				->send({node_b, two.ends_b[1].window->number()},
				       control, pavo::message_kind::striped)
				.has_value());
	ASSERT_TRUE(eventually([&] { return frames.by() >= 40; }));
	two.memory_a.fill(1);
	two.begin(true, 1);
	ASSERT_TRUE(two.run());
	two.expect_good(1, 1);
	EXPECT_TRUE(two.b.path(1).alive);
	EXPECT_GT(two.a.path(1).chunks, 0u);
}

} // namespace
