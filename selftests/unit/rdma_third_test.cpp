// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_third_test.cpp - exactly-once third-party operations: end a is the controller, and every
 * end is a source and a target, a itself as well.
 */
#include <cstring>
#include <map>
#include <optional>

#include "rdma_world.h"

using namespace rdma_world;

namespace {

constexpr uint32_t contexts = 3;

/* The FIFOs of a window that have no free frame. */
struct FullFifos : FifoPort {
	size_t max_message() const override { return 1000; }
	std::error_code message(WindowAddress,
				std::span<const std::byte>) override
	{
		return std::make_error_code(std::errc::no_buffer_space);
	}
	bool holds(uint64_t, uint64_t) override { return true; }
	bool read(uint64_t, std::span<std::byte>) override { return true; }
	bool write(uint64_t, std::span<const std::byte>) override
	{
		return true;
	}
	void arrive(WindowAddress, uint32_t, uint32_t) override {}
	void take(const RdmaPiece &) override {}
	RdmaFill feed(const RdmaReadRequest &) override { return {}; }
};

struct Trio {
	explicit Trio(unsigned seed, uint32_t piece = 1000,
		      unsigned attempts = 65535, bool with_fifo = false)
		: world(seed), port(world, world.a), fifo(fifos, {}, 1),
		  engine(port,
			 {.timeout = std::chrono::microseconds(500),
			  .max_timeout = std::chrono::microseconds(8000),
			  .attempts = attempts,
			  .piece = piece},
			 with_fifo ? &fifo : nullptr)
	{
		for (uint32_t n = 0; n < 3; n++) {
			RdmaPeer peer{ends[n]->address(), {}};
			std::vector<uint32_t> locals;

			for (uint32_t i = 0; i < contexts; i++) {
				locals.push_back(100 + 10 * n + i);
				peer.rcxts.push_back(200 + 10 * n + i);
				world.a.take(locals.back());
				ends[n]->take(peer.rcxts.back());
				once[n].add({&peer.rcxts.back(), 1});
			}
			peers.push_back(engine.add(peer, locals));
		}
	}

	/* Of @length bytes at 500 of the source to 7000 of the target. */
	std::error_code begin(size_t source, size_t target, uint32_t length,
			      Rdma::Done done, uint32_t tag = 0,
			      bool notify = false,
			      std::optional<uint32_t> counter = {})
	{
		return engine.begin_third(peers[source], peers[target],
					  {.local = {7000},
					   .remote = {500},
					   .length = length,
					   .notify = notify,
					   .tag = tag,
					   .counter = counter},
					  std::move(done), world.now);
	}

	/* Begins one, and runs it to its end. */
	Result<void> move(size_t source, size_t target, uint32_t length)
	{
		std::optional<Result<void>> result;

		EXPECT_FALSE(begin(source, target, length,
				   [&](const Result<void> &how) {
					   EXPECT_FALSE(result) << "once";
					   result = how;
				   }));
		EXPECT_TRUE(run());
		return result.value_or(Unexpected(std::errc::protocol_error));
	}

	/* The peers answer what has become of their contexts. */
	void answer()
	{
		for (uint32_t rcxt : std::exchange(port.queried, {}))
			for (uint32_t n = 0; n < 3; n++)
				if (once[n].name(rcxt) != rcxt)
					engine.renew_remote(ends[n]->address(),
							    rcxt,
							    once[n].name(rcxt),
							    0, world.now);
	}

	void recover(uint32_t n)
	{
		std::vector<uint32_t> names = once[n].names();

		ends[n]->recover();
		for (uint32_t &name : names)
			name += 1000;
		once[n].rename(names);
	}

	bool run(int steps = 2'000'000)
	{
		for (; engine.pending() && steps; steps--) {
			world.step();
			if (recovers && !world.random.below(2000))
				recover(1 + world.random.below(2));
			engine.look(world.now);
			if (world.random.below(100))
				continue;
			for (auto &done : std::exchange(world.a.frames, {}))
				EXPECT_TRUE(engine.done(done, world.now));
			answer();
		}
		return !engine.pending();
	}

	/* Final notifications of that tag that an end's process gets. */
	uint32_t notified(uint32_t n, uint32_t tag, uint32_t length)
	{
		uint32_t count = 0;

		for (const Piece &piece : std::exchange(ends[n]->pieces, {}))
			if (once[n].piece(piece.rcxt, piece.first,
					  piece.fragment)) {
				EXPECT_EQ(piece.tag, tag);
				EXPECT_EQ(RdmaNotification::length(piece.at),
					  length);
				count++;
			}
		return count;
	}

	World world;
	std::array<End *, 3> ends{&world.a, &world.b, &world.c};
	std::array<RdmaOnce, 3> once;
	Port port;
	FullFifos fifos;
	RdmaFifo fifo;
	RdmaEngine engine;
	std::vector<size_t> peers;
	/* Adapters of the peers are recovered now and then. */
	bool recovers = false;
};

/* From every end to every end, the same as well, over networks from good to terrible. */
TEST(RdmaThird, EveryOperationOnceWhateverIsLost)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		Trio trio(seed);
		World &world = trio.world;
		Random random(seed);

		world.loss = seed % 5 * 8;
		world.repeats = seed % 3 * 20;
		world.reorder = seed % 4 * 30;
		for (uint32_t n = 0; n < 27; n++) {
			const uint32_t source = n % 3, target = n / 3 % 3;
			const bool notify = random.coin();
			const uint32_t length = random.below(4) ?
							random.below(3500) :
							random.below(2) * 1000;
			End &from = *trio.ends[source],
			    &to = *trio.ends[target];
			int ends = 0;

			SCOPED_TRACE(std::to_string(seed) + ", " +
				     std::to_string(n));
			for (End *end : trio.ends)
				fill(end->memory, 0, memory_size, n + 1);
			fill(from.memory, 500, length, n);
			auto wanted = to.memory;
			std::copy_n(from.memory.begin() + 500, length,
				    wanted.begin() + 7000);
			ASSERT_FALSE(trio.begin(
				source, target, length,
				[&](const Result<void> &how) {
					EXPECT_TRUE(how.has_value())
						<< how.error().message();
					EXPECT_EQ(to.memory, wanted);
					ends++;
				},
				n, notify));
			ASSERT_TRUE(trio.run());
			ASSERT_EQ(ends, 1);
			ASSERT_EQ(to.memory, wanted);
			/* Packets may still be under way: memory is its owner's. */
			for (End *end : trio.ends)
				fill(end->memory, 0, memory_size, n + 2);
			auto mine = to.memory;
			for (int i = 0; i < 200; i++)
				world.step();
			for (auto &done : std::exchange(world.a.frames, {}))
				trio.engine.done(done, world.now);
			ASSERT_EQ(to.memory, mine);
			ASSERT_EQ(trio.notified(target, n, length), notify);
			for (End *end : {&world.b, &world.c})
				ASSERT_TRUE(end->frames.empty())
					<< "only the controller is notified";
		}
	}
}

/* With puts and gets on the same channels: none waits for ever. */
TEST(RdmaThird, AmongOthers)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		Trio trio(100 + seed, 700);
		World &world = trio.world;
		std::map<uint32_t, int> ends;
		Random random(seed);

		world.loss = 15;
		world.repeats = 15;
		world.reorder = 50;
		trio.recovers = seed % 2;
		fill(world.b.memory, 0, memory_size, seed);
		world.a.memory = world.c.memory = world.b.memory;
		for (uint32_t n = 0; n < 90; n++) {
			/* All ends have the same bytes, so that nothing changes. */
			RdmaMove move{.local = {n * 500},
				      .remote = {n * 500},
				      .length = random.below(2000)};
			auto done = [&ends, n](const Result<void> &how) {
				EXPECT_TRUE(how.has_value());
				ends[n]++;
			};
			size_t one = trio.peers[random.below(3)];
			size_t other = trio.peers[random.below(3)];

			if (n % 3)
				ASSERT_FALSE(trio.engine.begin_third(
					one, other, move, done, world.now));
			else
				ASSERT_FALSE(trio.engine.begin(
					common::direction_of(random.coin()),
					one, move, done, world.now));
		}
		auto same = world.b.memory;
		ASSERT_TRUE(trio.run(5'000'000)) << seed;
		for (uint32_t n = 0; n < 90; n++)
			EXPECT_EQ(ends[n], 1) << n;
		for (End *end : trio.ends)
			EXPECT_EQ(end->memory, same);
	}
}

/* Adapters of source and target lose their contexts in the middle. */
TEST(RdmaThird, GoesOnAfterRecoveries)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		Trio trio(seed);

		trio.world.loss = 10;
		trio.recovers = true;
		for (uint32_t n = 0; n < 10; n++) {
			fill(trio.world.c.memory, 500, 9000, n);
			ASSERT_TRUE(trio.move(2, 1, 9000).has_value()) << seed;
			ASSERT_FALSE(memcmp(&trio.world.b.memory[7000],
					    &trio.world.c.memory[500], 9000));
		}
	}
}

/* Memory that is not there, at either peer: the controller gets the status, and goes on. */
TEST(RdmaThird, ReportsBadMemoryOfEitherPeer)
{
	for (bool at_source : {true, false}) {
		Trio trio(3);
		std::vector<uint8_t> &bad = at_source ? trio.world.c.memory :
							trio.world.b.memory;
		const size_t whole = bad.size();

		bad.resize(at_source ? 1500 : 7999);
		auto before = trio.world.b.memory;
		EXPECT_EQ(trio.move(2, 1, 1001),
			  Unexpected(std::errc::bad_address));
		bad.resize(whole);
		fill(trio.world.c.memory, 500, 1001, 5);
		EXPECT_TRUE(trio.move(2, 1, 1001).has_value());
		EXPECT_FALSE(memcmp(&trio.world.b.memory[7000],
				    &trio.world.c.memory[500], 1001));
	}
}

/*
 * An end has no contexts any more: operations that were begun there end, at whichever end it is, and
 * so do those that wait for it; others go on.
 */
TEST(RdmaThird, EndsWhereAPeerHasNoContextsAnyMore)
{
	for (uint32_t lost : {1u, 2u}) {
		Trio trio(4, 1000, 65535, true);
		std::map<uint32_t, std::error_code> ended;
		auto begin = [&](size_t source, size_t target, uint32_t tag) {
			return trio.begin(
				source, target, 9000,
				[&ended, tag](const Result<void> &how) {
					EXPECT_FALSE(ended.contains(tag));
					ended[tag] = how.error_or({}).code();
				},
				tag);
		};

		/* 0 has all contexts of two ends, 1 waits for it, and 2 for one of both. */
		ASSERT_FALSE(begin(2, 1, 0));
		ASSERT_FALSE(begin(1, 2, 1));
		ASSERT_FALSE(begin(0, 3 - lost, 2));
		fill(trio.world.a.memory, 500, 9000, 9);
		for (uint32_t i = 0; i < contexts; i++) {
			EXPECT_FALSE(ended.contains(1)) << "one is left";
			trio.engine.renew_remote(
				trio.ends[lost]->address(),
				trio.ends[lost]->rcxts().begin()->first + i,
				~0u, 0, trio.world.now);
		}
		EXPECT_EQ(ended[0], std::errc::operation_canceled);
		EXPECT_EQ(ended[1], std::errc::operation_canceled);
		EXPECT_FALSE(ended.contains(2));
		EXPECT_EQ(begin(1, 2, 3), std::errc::operation_not_supported);
		ASSERT_TRUE(trio.run(200'000));
		EXPECT_TRUE(ended.contains(2) && !ended[2]);
		EXPECT_FALSE(memcmp(&trio.ends[3 - lost]->memory[7000],
				    &trio.world.a.memory[500], 9000));
	}
}

/* A flag at the source, which the adapter writes when the target has all data. */
TEST(RdmaThird, CountForConditions)
{
	constexpr uint32_t counter = 4, flag = 100, length = 3500;

	for (unsigned seed = 1; seed <= 60; seed++) {
		Trio trio(seed);
		World &world = trio.world;
		int ends = 0;
		auto done = [&](const Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ends++;
		};

		world.loss = seed % 4 * 5;
		world.repeats = world.reorder = seed % 3 * 15;
		fill(world.c.memory, 500, length, seed);
		world.a.memory[flag] = uint8_t(seed);
		ASSERT_FALSE(
			trio.begin(2, 1, length, done, 0, seed % 2, counter));
		ASSERT_FALSE(
			trio.engine.begin(Direction::write, trio.peers[2],
					  {.local = {flag},
					   .remote = {flag},
					   .length = 1,
					   .after = RdmaCondition{counter}},
					  done, world.now));
		while (world.c.memory[flag] != seed)
			ASSERT_TRUE(trio.engine.pending() &&
				    (trio.run(1) || true));
		ASSERT_FALSE(memcmp(&world.b.memory[7000], &world.c.memory[500],
				    length))
			<< seed;
		ASSERT_TRUE(trio.run());
		EXPECT_EQ(ends, 2);
	}
}

/* An operation that counts ends before it has begun, and so does one that waits for it at another peer. */
TEST(RdmaThird, ACountedOneThatCannotBeginFailsItsCounter)
{
	constexpr uint32_t counter = 4;
	Trio trio(5, 1000, 65535, true);
	std::vector<std::error_code> ended;
	auto done = [&](const Result<void> &how) {
		ended.push_back(how.error_or({}).code());
	};

	/* The first one has all contexts of end 1. */
	ASSERT_FALSE(trio.begin(2, 1, 9000, done));
	ASSERT_FALSE(trio.begin(0, 1, 9000, done, 0, false, counter));
	ASSERT_FALSE(trio.engine.begin(Direction::write, trio.peers[0],
				       {.local = {100},
					.remote = {200},
					.length = 1,
					.after = RdmaCondition{counter}},
				       done, trio.world.now));
	for (uint32_t i = 0; i < contexts; i++)
		trio.engine.renew_remote(trio.world.b.address(), 210 + i, ~0u,
					 0, trio.world.now);
	ASSERT_TRUE(trio.run(200'000));
	const std::error_code cancelled =
		make_error_code(std::errc::operation_canceled);
	EXPECT_EQ(ended, std::vector(3, cancelled));
}

/*
 * A controller ends in the middle of its work and cancels nothing. Another one has contexts of its
 * own, but those of its peers are the same.
 */
TEST(RdmaThird, AnotherControllerUsesTheContextsOfOneThatIsGone)
{
	Trio trio(6);
	Port port(trio.world, trio.world.a);
	const uint64_t above = 1000;
	RdmaEngine next(port, {.attempts = 6, .piece = 1000}, nullptr, above);
	std::vector<size_t> peers;
	int ended = 0;

	for (uint32_t n = 0; n < 100; n++)
		ASSERT_TRUE(trio.move(1 + n % 2, 2 - n % 2, 900).has_value());
	ASSERT_FALSE(trio.begin(2, 1, 9000, nullptr));
	for (uint32_t n = 0; n < 3; n++) {
		RdmaPeer peer{trio.ends[n]->address(), {}};
		std::vector<uint32_t> locals;

		for (uint32_t i = 0; i < contexts; i++) {
			locals.push_back(400 + 10 * n + i);
			peer.rcxts.push_back(200 + 10 * n + i);
			trio.world.a.take(locals.back());
		}
		peers.push_back(next.add(peer, locals));
	}
	trio.world.a.frames.clear();
	fill(trio.world.c.memory, 500, 9000, 7);
	ASSERT_FALSE(next.begin_third(
		peers[2], peers[1],
		{.local = {20'000}, .remote = {500}, .length = 9000},
		[&](const Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			ended++;
		},
		trio.world.now));
	for (int steps = 2'000'000; next.pending() && steps; steps--) {
		trio.world.step();
		next.look(trio.world.now);
		for (auto &done : std::exchange(trio.world.a.frames, {}))
			next.done(done, trio.world.now);
	}
	EXPECT_EQ(ended, 1);
	EXPECT_FALSE(memcmp(&trio.world.b.memory[20'000],
			    &trio.world.c.memory[500], 9000));
}

TEST(RdmaThird, GivesUp)
{
	Trio trio(1, 1000, 6);

	trio.world.loss = 100;
	EXPECT_EQ(trio.move(2, 1, 2500), Unexpected(std::errc::timed_out));
	trio.world.loss = 0;
	EXPECT_TRUE(trio.move(2, 1, 2500).has_value());
}

TEST(RdmaThird, RefusesWhatCannotBe)
{
	Trio trio(1);
	size_t one =
		trio.engine.add({{9, 9}, {300}}, std::vector<uint32_t>{301});
	auto refused = [&](size_t source, size_t target, const RdmaMove &move) {
		return trio.engine.begin_third(source, target, move, {},
					       trio.world.now) ==
		       std::errc::invalid_argument;
	};
	const size_t b = trio.peers[1], c = trio.peers[2];

	EXPECT_TRUE(refused(b, one + 1, {.length = 1}));
	EXPECT_TRUE(refused(one + 1, b, {.length = 1}));
	EXPECT_TRUE(refused(one, one, {.length = 1})) << "one channel only";
	EXPECT_TRUE(refused(b, c, {.length = 1, .target = RdmaEnd::fifo}));
	EXPECT_TRUE(refused(b, c, {.length = 1, .source = RdmaEnd::fifo}));
	EXPECT_TRUE(refused(b, c, {.length = 1, .counter = counter_count}));
	EXPECT_TRUE(refused(b, c, {.length = 1, .after = RdmaCondition{1}}));
	EXPECT_EQ(trio.engine.pending(), 0u);
	EXPECT_FALSE(refused(b, b, {.length = 1}));
	trio.engine.stop();
	EXPECT_EQ(trio.engine.pending(), 0u);
}

} // namespace
