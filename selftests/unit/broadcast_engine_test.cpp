// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * broadcast_engine_test.cpp - RDMA to a group (broadcast_engine.hpp): a source and members whose
 * operations are the module's own (rcxt_driver.h), and a network that loses, repeats and reorders
 * for each of them as it likes. Time is counted in steps.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "broadcast_engine.hpp"
#include "random.h"
#include "rcxt_driver.h"

namespace broadcast_world {

using namespace pavo;

using rcxt::Packet;
using Clock = BroadcastEngine::Clock;

constexpr uint32_t group_number = window_group | 9, contexts = 3;
constexpr uint32_t packet_size = 100, memory_bytes = 1 << 14;
constexpr uint16_t group_node = 50, source_node = 40;
constexpr uint64_t bound_at = 512;
constexpr uint32_t first_local = 1000;

class CastWorld;

/* A member: its bindings are all on the same memory. */
struct CastMember : rcxt::Driver {
	CastMember(WindowAddress self, CastWorld &w);

	CastWorld &world;
	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_bytes);
	/* Tags of operations, each once. */
	std::vector<uint32_t> arrived;
	/* Packets of data that were sent to it. */
	uint64_t packets = 0;
	uint32_t loss = 0;
	bool deaf = false;

protected:
	void send(const Packet &) override
	{
		ADD_FAILURE() << "a member sends by RDMA";
	}
	void mark(uint32_t, pavo_frame_state) override {}
	bool put_done(const pavo_rdma_done &) override { return false; }
	bool put_piece(const pavo_rdma_piece &, const pavo_operation &,
		       std::span<const uint8_t>) override
	{
		return false;
	}
	bool put_request(const pavo_rdma_request &) override { return false; }
	bool put_group_done(const pavo_group_done &done,
			    const pavo_operation &op) override;

private:
	uint64_t last_tid_ = 0;
};

/* The source: its memory, and the port of its engine. */
struct CastSource : rcxt::Driver, RdmaPort {
	explicit CastSource(CastWorld &w)
		: Driver({source_node, 7}, memory, packet_size), world(w)
	{
	}

	std::error_code request(Direction direction, WindowAddress to,
				const RequestFrame &request,
				uint32_t &number) override;
	std::error_code request_third(WindowAddress, const ThirdFrame &,
				      uint32_t &) override
	{
		return std::make_error_code(std::errc::not_supported);
	}
	std::error_code hold(const RdmaCondition &, const HeldRequest &,
			     uint32_t &) override
	{
		return std::make_error_code(std::errc::not_supported);
	}
	std::error_code set_counter(uint32_t, uint64_t) override
	{
		return std::make_error_code(std::errc::not_supported);
	}
	FrameState result(uint32_t number) override { return marks[number]; }
	void forget(uint32_t number) override { marks.erase(number); }
	void cancel(uint32_t id) override { end(id, PAVO_FRAME_CANCELLED); }
	void query_context(WindowAddress, uint32_t) override {}
	std::error_code
	piece(WindowAddress, const PieceFrame &, uint32_t,
	      const std::function<void(std::span<std::byte>)> &) override
	{
		return {};
	}
	uint32_t max_piece() const override { return packet_size; }

	CastWorld &world;
	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_bytes);
	std::map<uint32_t, FrameState> marks;
	uint32_t frames = 0;
	/* Packets that were sent to the group, and to one node. */
	uint64_t to_group = 0, to_one = 0;
	/* The node to which the request under way of an rCxt goes. */
	std::map<uint32_t, uint16_t> nodes;
	bool no_frames = false;

protected:
	void send(const Packet &packet) override;
	void mark(uint32_t number, pavo_frame_state state) override
	{
		marks[number] = FrameState(state);
	}
	bool put_done(const pavo_rdma_done &) override { return false; }
	bool put_piece(const pavo_rdma_piece &, const pavo_operation &,
		       std::span<const uint8_t>) override
	{
		return false;
	}
	bool put_request(const pavo_rdma_request &) override { return false; }
};

class CastWorld {
public:
	explicit CastWorld(unsigned seed, size_t n,
			   const BroadcastOptions &options = usual())
		: random(seed), source(*this)
	{
		std::vector<uint32_t> locals;

		for (uint32_t i = 0; i < contexts; i++) {
			locals.push_back(local + i);
			source.take(local + i);
		}
		engine = std::make_unique<BroadcastEngine>(source, options,
							   locals, 100);
		for (uint16_t i = 0; i < n; i++) {
			members.push_back(std::make_unique<CastMember>(
				WindowAddress{i, 3}, *this));
			EXPECT_FALSE(engine->add({i, 3}));
		}
		for (size_t i = 0; i < memory_bytes; i++)
			source.memory[i] = uint8_t(i * 7 + i / 256);
	}

	static BroadcastOptions usual()
	{
		return {.group = {.number = group_number, .contexts = contexts},
			.node = group_node,
			.piece = 1000,
			.timeout = std::chrono::microseconds(2000),
			.max_timeout = std::chrono::microseconds(16000),
			.attempts = 64};
	}

	bool lost(uint32_t percent) { return random.below(100) < percent; }

	/* A packet for one member, and perhaps once more. */
	void deliver(size_t member, const Packet &packet)
	{
		CastMember &to = *members[member];

		to.packets++;
		if (to.deaf || lost(std::max(loss, to.loss)))
			return;
		network.emplace_back([this, member, packet] {
			members[member]->receive(packet);
		});
		if (lost(repeats))
			network.push_back(network.back());
	}

	void acknowledge(WindowAddress from, const BroadcastAck &ack)
	{
		if (lost(loss))
			return;
		network.emplace_back([this, from, ack] {
			auto bytes = ack.encode();
			auto read = BroadcastAck::decode(bytes);

			ASSERT_TRUE(read);
			engine->acknowledge(from, *read);
		});
	}

	void step()
	{
		now += std::chrono::microseconds(10);
		for (uint32_t i = 0; i < contexts; i++)
			if (source.sending(local + i))
				source.transmit(local + i);
		for (int n = 0; n < 4 && !network.empty(); n++) {
			size_t at =
				lost(reorder) ?
					random.below(uint32_t(network.size())) :
					0;
			auto act = std::move(network[at]);

			network.erase(network.begin() + long(at));
			act();
		}
		engine->look(now);
		if (engine->lost_contexts())
			renew();
	}

	/* The adapter of the source ends all of its contexts. The process takes others. */
	void recover()
	{
		source.lose_all(PAVO_FRAME_BAD_RCXT);
		local += contexts;
		for (uint32_t i = 0; i < contexts; i++)
			source.take(local + i);
	}

	void renew()
	{
		std::vector<uint32_t> locals(contexts);

		std::iota(locals.begin(), locals.end(), local);
		engine->renew(locals);
		renewals++;
	}

	/* Until all operations are over. */
	void run()
	{
		for (int steps = 0; engine->pending(); steps++) {
			ASSERT_LT(steps, 2'000'000);
			step();
		}
	}

	void put(uint64_t offset, uint32_t length, uint32_t tag)
	{
		EXPECT_FALSE(engine->begin(
			{.local = {offset},
			 .offset = offset,
			 .length = length,
			 .tag = tag},
			[this](const Result<void> &how) {
				results.push_back(how.error_or({}).code());
			},
			now));
	}

	bool has(const CastMember &member, uint64_t offset,
		 uint32_t length) const
	{
		return std::equal(source.memory.begin() + long(offset),
				  source.memory.begin() + long(offset + length),
				  member.memory.begin() +
					  long(bound_at + offset));
	}

	Random random;
	uint32_t loss = 0, repeats = 0, reorder = 0;
	CastSource source;
	std::vector<std::unique_ptr<CastMember>> members;
	std::unique_ptr<BroadcastEngine> engine;
	std::deque<std::function<void()>> network;
	std::vector<std::error_code> results;
	Clock::time_point now{};
	uint32_t local = first_local;
	unsigned renewals = 0;
};

CastMember::CastMember(WindowAddress self, CastWorld &w)
	: Driver(self, memory, packet_size), world(w)
{
	for (uint32_t i = 0; i < contexts; i++)
		bind(i, group_number, bound_at, memory_bytes - bound_at);
}

bool CastMember::put_group_done(const pavo_group_done &done,
				const pavo_operation &op)
{
	bool last = done.rcxt == contexts - 1;

	/* Its FIFO is full now and then. */
	if (world.lost(world.loss))
		return false;
	EXPECT_EQ(op.peer.node, source_node);
	if (last && std::exchange(last_tid_, done.tid) != done.tid &&
	    !done.status)
		arrived.push_back(done.tag);
	world.acknowledge(address(), {.group = done.group,
				      .rcxt = done.rcxt,
				      .tid = done.tid,
				      .status = PvoResult(done.status)});
	return true;
}

std::error_code CastSource::request(Direction direction, WindowAddress to,
				    const RequestFrame &request,
				    uint32_t &number)
{
	pavo_rdma_request wish{};

	if (no_frames)
		return std::make_error_code(std::errc::no_buffer_space);
	EXPECT_EQ(direction, Direction::write);
	EXPECT_EQ(to.window, group_number);
	wish.local_rcxt = request.local_rcxt;
	wish.remote_rcxt = request.remote_rcxt;
	wish.tid = request.tid;
	wish.local_pvo = request.local_pvo;
	wish.remote_pvo = request.remote_pvo;
	wish.length = request.length;
	wish.tag = request.tag;
	wish.flags = request.flags;
	wish.attempts = request.attempts;
	number = frames++;
	marks[number] = FrameState::empty;
	nodes[request.local_rcxt] = to.node;
	auto mark = Driver::request(PAVO_FRAME_RDMA_WRITE, to, wish, number);
	if (mark != FrameState::empty)
		marks[number] = mark;
	return {};
}

void CastSource::send(const Packet &packet)
{
	uint16_t node = nodes[packet.rdma().peer_rcxt];

	(node == group_node ? to_group : to_one)++;
	for (size_t i = 0; i < world.members.size(); i++)
		if (node == group_node ||
		    node == world.members[i]->address().node)
			world.deliver(i, packet);
}

/* ------------------------------------------------------------------- tests */

TEST(BroadcastEngine, SendsEachPacketOnce)
{
	for (size_t n : {1u, 2u, 7u}) {
		CastWorld world(1, n);

		world.put(300, 4321, 5);
		world.run();
		ASSERT_EQ(world.results.size(), 1u);
		EXPECT_FALSE(world.results[0]);
		/* For any number of members: 4 pieces of 10, and 4 of 321. */
		EXPECT_EQ(world.source.to_group, 44u);
		EXPECT_EQ(world.source.to_one, 0u);
		for (auto &member : world.members) {
			EXPECT_TRUE(world.has(*member, 300, 4321));
			EXPECT_EQ(member->arrived, std::vector<uint32_t>{5});
		}
	}
}

TEST(BroadcastEngine, SendsWhatOneHasLostToThatOneAlone)
{
	CastWorld world(2, 3);

	world.members[1]->loss = 40;
	world.put(0, 5000, 6);
	world.run();
	EXPECT_FALSE(world.results.at(0));
	EXPECT_TRUE(world.has(*world.members[1], 0, 5000));
	EXPECT_EQ(world.source.to_group, 50u);
	EXPECT_GT(world.source.to_one, 0u);
	EXPECT_EQ(world.members[0]->packets, 50u);
	EXPECT_EQ(world.members[2]->packets, 50u);
	EXPECT_EQ(world.members[1]->packets, 50u + world.source.to_one);
	EXPECT_GT(world.engine->retries(), 0u);
}

TEST(BroadcastEngine, IsExactlyOnceOnABadNetwork)
{
	for (unsigned seed = 1; seed <= 150; seed++) {
		CastWorld world(seed, 1 + seed % 4);
		std::vector<uint32_t> tags;

		world.loss = 5;
		world.repeats = 10;
		world.reorder = 30;
		for (uint32_t tag = 0; tag < 6; tag++) {
			world.put(tag * 2500, tag * 460, tag);
			tags.push_back(tag);
		}
		world.run();
		for (auto &result : world.results)
			EXPECT_FALSE(result) << "seed " << seed;
		for (auto &member : world.members) {
			std::ranges::sort(member->arrived);
			EXPECT_EQ(member->arrived, tags) << "seed " << seed;
			for (uint32_t tag = 0; tag < 6; tag++)
				EXPECT_TRUE(world.has(*member, tag * 2500,
						      tag * 460))
					<< "seed " << seed << " tag " << tag;
		}
		if (testing::Test::HasFailure())
			return;
	}
}

/* The adapter of the source recovers at any moment: once, and nothing beside it. */
TEST(BroadcastEngine, IsExactlyOnceOverRecoveries)
{
	for (unsigned seed = 1; seed <= 60; seed++) {
		CastWorld world(seed, 1 + seed % 3);
		std::vector<uint32_t> tags;

		world.loss = seed % 2 * 5;
		world.repeats = world.reorder = seed % 3 * 10;
		for (uint32_t tag = 0; tag < 5; tag++) {
			world.put(tag * 2500, 2400, tag);
			tags.push_back(tag);
		}
		for (int n = 0; n < 4; n++) {
			for (uint32_t i = world.random.below(12); i; i--)
				world.step();
			world.recover();
		}
		ASSERT_NO_FATAL_FAILURE(world.run()) << "seed " << seed;
		EXPECT_GT(world.renewals, 0u);
		for (auto &result : world.results)
			EXPECT_FALSE(result) << "seed " << seed;
		for (auto &member : world.members) {
			std::ranges::sort(member->arrived);
			EXPECT_EQ(member->arrived, tags) << "seed " << seed;
			for (uint32_t tag : tags)
				EXPECT_TRUE(
					world.has(*member, tag * 2500, 2400));
		}
	}
}

TEST(BroadcastEngine, NamesMembersThatAreSilent)
{
	auto options = CastWorld::usual();

	options.attempts = 4;
	CastWorld world(3, 3, options);
	world.members[2]->deaf = true;
	world.put(0, 2500, 1);
	world.run();
	EXPECT_EQ(world.results.at(0), std::errc::timed_out);
	EXPECT_EQ(world.engine->silent(), (std::vector<WindowAddress>{{2, 3}}));
	EXPECT_FALSE(world.engine->remove({2, 3}));
	EXPECT_EQ(world.engine->remove({2, 3}), std::errc::invalid_argument);
	world.put(0, 2500, 2);
	world.run();
	EXPECT_FALSE(world.results.at(1));
	EXPECT_TRUE(world.has(*world.members[0], 0, 2500));
	EXPECT_TRUE(world.members[2]->arrived.empty());
}

TEST(BroadcastEngine, WaitsNoMoreForRemovedMembers)
{
	CastWorld world(4, 2);

	world.members[1]->deaf = true;
	world.put(0, 2500, 1);
	for (int i = 0; i < 1000; i++)
		world.step();
	EXPECT_EQ(world.engine->pending(), 1u);
	EXPECT_FALSE(world.engine->remove({1, 3}));
	world.run();
	EXPECT_FALSE(world.results.at(0));
	world.members[0]->deaf = true;
	world.put(0, 2500, 2);
	for (int i = 0; i < 1000; i++)
		world.step();
	EXPECT_FALSE(world.engine->remove({0, 3}));
	world.run();
	EXPECT_EQ(world.results.size(), 2u);
	EXPECT_EQ(world.engine->begin({}, {}, world.now),
		  std::errc::invalid_argument)
		<< "there is no member";
}

TEST(BroadcastEngine, FailsWhereAMemberHasNoMemory)
{
	CastWorld world(5, 2);

	world.put(memory_bytes - bound_at - 999, 1000, 1);
	world.run();
	EXPECT_EQ(world.results.at(0), std::errc::bad_address);
	world.put(memory_bytes - bound_at - 1000, 1000, 2);
	world.run();
	EXPECT_FALSE(world.results.at(1));
}

TEST(BroadcastEngine, IgnoresAcknowledgmentsOfOthers)
{
	CastWorld world(6, 2);

	world.members[1]->deaf = true;
	world.put(0, 100, 1);
	for (int i = 0; i < 1000; i++)
		world.step();
	const BroadcastAck good = {.group = group_number,
				   .rcxt = contexts - 1,
				   .tid = 101,
				   .status = PvoResult::ok};
	BroadcastAck bad = good;
	bad.group++;
	world.engine->acknowledge({1, 3}, bad);
	bad = good;
	bad.rcxt = 0;
	world.engine->acknowledge({1, 3}, bad);
	bad.rcxt = 63;
	world.engine->acknowledge({1, 3}, bad);
	for (uint64_t tid : {0ull, 100ull, ~0ull}) {
		bad = good;
		bad.tid = tid;
		world.engine->acknowledge({1, 3}, bad);
	}
	world.engine->acknowledge({1, 4}, good);
	world.engine->acknowledge({2, 3}, good);
	world.engine->look(world.now);
	EXPECT_EQ(world.engine->pending(), 1u);
	world.engine->acknowledge({1, 3}, good);
	world.engine->look(world.now);
	EXPECT_EQ(world.engine->pending(), 0u);
}

TEST(BroadcastEngine, WaitsForFreeFrames)
{
	CastWorld world(7, 2);

	world.source.no_frames = true;
	world.put(0, 3000, 1);
	for (int i = 0; i < 10; i++)
		world.step();
	EXPECT_EQ(world.source.to_group, 0u);
	EXPECT_LE(world.engine->due(), world.now);
	world.source.no_frames = false;
	world.run();
	EXPECT_FALSE(world.results.at(0));
	EXPECT_EQ(world.engine->due(), Clock::time_point::max());
}

/* ---------------------------------------------------------------- messages */

TEST(BroadcastAck, IsReadOnlyIfValid)
{
	const BroadcastAck ack = {.group = group_number,
				  .rcxt = 63,
				  .tid = 0x0102030405060708,
				  .status = PvoResult::range};
	auto bytes = ack.encode();
	auto read = BroadcastAck::decode(bytes);

	ASSERT_TRUE(read);
	EXPECT_EQ(read->group, ack.group);
	EXPECT_EQ(read->rcxt, ack.rcxt);
	EXPECT_EQ(read->tid, ack.tid);
	EXPECT_EQ(read->status, ack.status);
	EXPECT_FALSE(BroadcastAck::decode(std::span(bytes).first(19)));
	for (auto [at, value] : {std::pair{0, 5}, {1, 1}, {3, 1}, {11, 64}}) {
		auto wrong = bytes;

		wrong[size_t(at)] = std::byte(value);
		EXPECT_FALSE(BroadcastAck::decode(wrong)) << at;
	}
}

} // namespace broadcast_world
