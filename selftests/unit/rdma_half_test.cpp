// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_half_test.cpp - exactly-once RDMA of which an end is a FIFO, and such of any kind
 * while adapters are recovered.
 */
#include <algorithm>
#include <ostream>
#include <utility>

#include "../common/pattern.h"
#include "rdma_world.h"

using namespace rdma_world;

namespace {

/* A number of a byte that no memory has. */
constexpr uint64_t numbers = 1ull << 40;

RdmaFill maker(uint32_t n)
{
	return [n](uint64_t at, std::span<std::byte> to) {
		common::fill(to, n, at);
	};
}

/* Half an operation: what is to be at its target, and what is there. */
struct Half {
	Half(Bench &bench, Random &random, uint32_t number)
		: bench(bench), n(number), write(random.coin()),
		  from_fifo(random.coin()),
		  to_fifo(!from_fifo || random.below(3) == 0),
		  length(random.below(3000)),
		  source(write ? bench.world.a : bench.world.b),
		  target(write ? bench.world.b : bench.world.a), came(length)
	{
		fill(source.memory, 500, length, n);
		fill(target.memory, 0, memory_size, n + 1);
		bench.process = [this] { answer(); };
		bench.arrived = [this](const RdmaArrival &arrival) {
			EXPECT_EQ(arrival.length, length);
			/* It comes behind all pieces. */
			take();
			EXPECT_TRUE(whole());
			notified++;
			/* Memory that was handed over may be used. */
			if (write && !to_fifo)
				fill(target.memory, 7000, length, n + 5);
			used = target.memory;
		};
	}

	RdmaMove move(bool notify) const
	{
		Pvo at{from_fifo ? numbers : 500u};
		Pvo to{to_fifo ? numbers : 7000u};

		return {.local = write ? at : to,
			.remote = write ? to : at,
			.length = length,
			.notify = notify,
			.tag = n,
			.target = common::end_of(to_fifo),
			.source = common::end_of(from_fifo),
			.fill = write && from_fifo ? maker(n) : RdmaFill()};
	}

	/* The part of the processes of both ends. */
	void answer()
	{
		for (auto &request : std::exchange(source.requests, {}))
			bench.other.feed(address_a, request, maker(n));
		take();
	}

	void take()
	{
		for (auto &piece : std::exchange(target.pieces, {})) {
			auto &once = write ? bench.once_b : bench.once_a;

			EXPECT_EQ(piece.tag, n);
			if (!once.piece(piece.rcxt, piece.first,
					piece.fragment))
				continue;
			for (uint8_t byte : piece.bytes) {
				size_t at = piece.at++ - numbers;

				ASSERT_LT(at, length);
				EXPECT_EQ(byte, expected(at));
				came[at]++;
			}
		}
	}

	uint8_t expected(size_t at) const
	{
		return from_fifo ? pattern_byte(n, numbers + at) :
				   source.memory[500 + at];
	}

	bool whole() const
	{
		if (notified && write)
			return target.memory == used &&
			       (!to_fifo || each_once());
		if (to_fifo)
			return each_once();
		for (size_t at = 0; at < length; at++)
			if (target.memory[7000 + at] != expected(at))
				return false;
		return true;
	}

	bool each_once() const
	{
		return std::ranges::all_of(came, [](int times) {
			return times == 1;
		});
	}

	friend std::ostream &operator<<(std::ostream &out, const Half &half)
	{
		return out << (half.write ? "write" : "read")
			   << (half.from_fifo ? " from" : "")
			   << (half.to_fifo ? " to" : "") << " FIFO, "
			   << half.length << " bytes";
	}

	Bench &bench;
	uint32_t n;
	bool write, from_fifo, to_fifo;
	uint32_t length;
	End &source, &target;
	/* How often each byte came as a frame. */
	std::vector<int> came;
	int notified = 0;
	/* The target's memory after that. */
	std::vector<uint8_t> used;
};

/* A network for each seed, from good to terrible. */
void make_worse(World &world, unsigned seed)
{
	world.loss = seed % 5 * 8;
	world.repeats = seed % 3 * 20;
	world.reorder = seed % 4 * 30;
}

/* It ends well, its target has all, and the other end was notified if it was to be. */
void happens_once(Bench &bench, Half &half, bool notify)
{
	int ends = 0;

	bench.engine.begin(
		common::direction_of(half.write), bench.peer, half.move(notify),
		[&](const Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ends++;
		},
		bench.world.now);
	ASSERT_TRUE(bench.run());
	half.answer();
	ASSERT_EQ(ends, 1);
	ASSERT_EQ(half.notified, notify);
	ASSERT_TRUE(half.whole());
}

/* All forms: every byte comes once, whatever is lost, and the notification when all are there. */
TEST(RdmaEngine, HalfOperationsOnce)
{
	for (unsigned seed = 0; seed < times(12); seed++) {
		Bench bench(200 + seed, 700);
		Random random(seed);

		make_worse(bench.world, seed);
		for (uint32_t n = 0; n < 40; n++) {
			Half half(bench, random, n);
			bool notify = random.coin();

			ASSERT_NO_FATAL_FAILURE(
				happens_once(bench, half, notify))
				<< "seed " << seed << ", " << n << ": " << half;
			/* No operation owns what is still under way. */
			for (int i = 0; i < 200; i++) {
				bench.world.step();
				bench.other.look(bench.world.now);
			}
			for (auto &done :
			     std::exchange(bench.world.a.frames, {}))
				bench.engine.done(done, bench.world.now);
			half.answer();
			ASSERT_TRUE(half.whole())
				<< "seed " << seed << ", " << n << ": " << half;
			ASSERT_TRUE(bench.world.b.frames.empty());
		}
	}
}

/*
 * Adapters are recovered in the middle of it. Memory that was handed over by a notification is
 * its owner's from then on.
 */
TEST(RdmaEngine, OnceAlthoughAdaptersAreRecovered)
{
	for (unsigned seed = 0; seed < times(12); seed++) {
		Bench bench(300 + seed, 700);
		Random random(seed);
		uint32_t all = 0;

		make_worse(bench.world, seed);
		bench.recovers = true;
		for (uint32_t n = 0; n < 40; n++) {
			Half half(bench, random, n);
			bool notify = random.coin();

			if (random.below(3) == 0)
				half.from_fifo = half.to_fifo = false;
			ASSERT_NO_FATAL_FAILURE(
				happens_once(bench, half, notify))
				<< "seed " << seed << ", " << n << ": " << half;
		}
		all += bench.world.a.recoveries + bench.world.b.recoveries;
		EXPECT_GT(all, 0u);
	}
}

} // namespace
