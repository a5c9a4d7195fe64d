// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_world.h - two windows whose operations are the module's own (rcxt_driver.h), and a
 * network that loses, repeats and reorders as it likes, for tests of exactly-once RDMA
 * (rdma_engine.hpp). Time is counted in steps.
 */
#ifndef PAVO_UNIT_RDMA_WORLD_H
#define PAVO_UNIT_RDMA_WORLD_H

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "../common/direction.h"
#include "random.h"
#include "rcxt_driver.h"
#include "rdma_engine.hpp"
#include "rdma_once.hpp"

namespace rdma_world {

using namespace pavo;

using Clock = RdmaEngine::Clock;

constexpr uint32_t fragment_size = 100;
constexpr size_t memory_size = 1 << 16;

using rcxt::Packet;

constexpr WindowAddress address_a{3, 4}, address_b{1, 2}, address_c{5, 6};

class World;

/* Data that came as a frame. */
struct Piece {
	uint32_t rcxt, tag, fragment;
	uint64_t at, first;
	std::vector<uint8_t> bytes;
};

/* One end: memory, a window, and the frames of its process. */
struct End : rcxt::Driver {
	End(const WindowAddress &self, World &w)
		: Driver(self, memory, fragment_size), world(w)
	{
	}

	/* A recovery: all contexts have other names, and know nothing. */
	void recover();

	World &world;
	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_size);
	std::vector<DoneFrame> frames;
	std::vector<Piece> pieces;
	std::vector<RequestFrame> requests;
	std::map<uint32_t, FrameState> marks;
	uint32_t recoveries = 0;

protected:
	void send(const Packet &packet) override;
	void mark(uint32_t frame, pavo_frame_state state) override;
	bool put_done(const pavo_rdma_done &done) override;
	bool put_piece(const pavo_rdma_piece &piece, const pavo_operation &op,
		       std::span<const uint8_t> data) override;
	bool put_request(const pavo_rdma_request &request) override;

private:
	/* A FIFO is full now and then. */
	bool full() const;
};

class World {
public:
	explicit World(unsigned seed) : random(seed) {}

	void send(const Packet &packet)
	{
		if (random.below(100) < loss)
			return;
		network.push_back(packet);
		if (random.below(100) < repeats)
			network.push_back(packet);
	}

	/* Any packet, or something to be sent. */
	void step()
	{
		now += std::chrono::microseconds(10);
		for (End *end : {&a, &b, &c})
			end->release();
		for (End *end : {&a, &b, &c})
			for (const auto &[id, rcxt] : end->rcxts())
				if (rcxt.op.now.sending &&
				    !random.below(slowness))
					end->transmit(id);
		if (network.empty() || still)
			return;
		size_t n = random.below(100) < reorder ?
				   random.below(uint32_t(network.size())) :
				   0;
		Packet packet = std::move(network[n]);

		network.erase(network.begin() + long(n));
		for (End *end : {&a, &b, &c})
			if (packet.pkt.dqpn == end->address().window)
				end->receive(packet);
	}

	Random random;
	uint32_t loss = 0, repeats = 0, reorder = 0;
	/* Steps from packet to packet of one operation. */
	uint32_t slowness = 2;
	/* Everything stays where it is. */
	bool still = false;
	/* Two, and a third for third-party operations. */
	End a{address_a, *this}, b{address_b, *this}, c{address_c, *this};
	std::deque<Packet> network;
	Clock::time_point now{};
};

/* An engine's adapter: an end. */
struct Port : RdmaPort {
	explicit Port(World &world, End &end) : world(world), end(end) {}

	uint32_t max_piece() const override { return fragment_size; }
	std::error_code
	piece(WindowAddress to, const PieceFrame &piece, uint32_t length,
	      const std::function<void(std::span<std::byte>)> &fill) override;
	std::error_code request(Direction direction, WindowAddress to,
				const RequestFrame &request,
				uint32_t &frame) override;
	std::error_code request_third(WindowAddress source,
				      const ThirdFrame &third,
				      uint32_t &frame) override;
	std::error_code hold(const RdmaCondition &condition,
			     const HeldRequest &request,
			     uint32_t &frame) override;
	std::error_code set_counter(uint32_t counter, uint64_t value) override;
	FrameState result(uint32_t frame) override;
	void forget(uint32_t) override {}
	void query_context(WindowAddress to, uint32_t rcxt) override;
	void cancel(uint32_t rcxt) override;

	World &world;
	End &end;
	uint32_t next = 0;
	/* Contexts of the other end, that do not answer. */
	std::vector<uint32_t> queried;
	/* From this address on. */
	uint64_t refused = memory_size;
	int refusals = 0;
};

/* Two engines on a network, of which one begins all operations. */
struct Bench {
	explicit Bench(unsigned seed, uint32_t piece = 1000,
		       unsigned attempts = 65535);

	/* Until nothing is pending, or the steps are used up. */
	bool run(int steps = 2'000'000);
	void step();
	/* Take the frames that have come to both processes. */
	void take_frames();

	World world;
	Port port, port_b;
	/* That of end a, which all tests are about, and what end b answers by. */
	RdmaEngine engine, other;
	size_t peer;
	RdmaOnce once_a, once_b;
	uint32_t known_a = 0, known_b = 0;
	/* Of operations of end a, by its process. */
	std::function<void(const RdmaArrival &)> arrived;
	/* Other acts of the processes. */
	std::function<void()> process;
	/* Adapters are recovered now and then. */
	bool recovers = false;

private:
	void take_notifications();
	void renew_a();
	void answer();
};

/* Bytes of memory number @seed. */
void fill(std::vector<uint8_t> &memory, size_t from, size_t n, unsigned seed);

} // namespace rdma_world

#endif // PAVO_UNIT_RDMA_WORLD_H
