// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_world.h - two adapters in miniature and a network that loses, repeats and reorders
 * as it likes, for tests of exactly-once RDMA (rdma_engine.hpp). Time is counted in
 * steps. The adapters judge by the same order.h as the module; what they do with a packet
 * is written down here once more.
 */
#ifndef PAVO_UNIT_RDMA_WORLD_H
#define PAVO_UNIT_RDMA_WORLD_H

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "../common/direction.h"
#include "random.h"
#include "rdma_engine.hpp"
#include "rdma_once.hpp"

extern "C" {
#include "window/order.h"
}

namespace rdma_world {

using namespace pavo;

using Clock = RdmaEngine::Clock;

constexpr uint32_t fragment_size = 100;
constexpr size_t memory_size = 1 << 16;

struct Packet {
	enum { DATA, READ, DONE } kind;
	bool to_b;
	uint32_t rcxt, peer_rcxt;
	uint64_t tid, pvo, back_pvo;
	uint32_t total, fragment, tag;
	uint16_t attempts;
	uint8_t flags;
	std::vector<uint8_t> payload;
};

struct Context {
	pavo_attempt now{};
	pavo_seen seen{};
	bool told = false;
	uint32_t left = 0, frame = 0;
	bool own = false;
	Packet of{}; /* the operation, as the next packet of it would be */
};

class World;

/* Data that came as a frame. */
struct Piece {
	uint32_t rcxt, tag, fragment;
	uint64_t at, first;
	std::vector<uint8_t> bytes;
};

/* One end: memory, contexts, and the frames of its process. */
struct End {
	bool is_b;
	World &world;
	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_size);
	std::map<uint32_t, Context> contexts;
	std::vector<DoneFrame> frames;
	std::vector<Piece> pieces;
	std::vector<RequestFrame> asked;
	std::map<uint32_t, FrameState> marks;
	uint32_t recoveries = 0;

	/* A recovery: all contexts have other names, and know nothing. */
	void recover()
	{
		std::map<uint32_t, Context> fresh;

		for (auto &[rcxt, context] : contexts) {
			if (context.now.sending && context.own)
				marks[context.frame] = FrameState::bad_rcxt;
			fresh[rcxt + 1000];
		}
		contexts = std::move(fresh);
		recoveries++;
	}

	void receive(const Packet &packet);
	void receive_data(Context &c, const Packet &packet);
	void transmit(uint32_t rcxt, Context &c);
	void put_done(uint32_t rcxt, const Context &c, bool target,
		      uint64_t tid);
	bool deliver(const Context &c, const Packet &packet);
	bool end(Context &c, const Packet &packet);
	void ask_process(Context &c, const Packet &packet);
	bool begin_piece(const PieceFrame &piece);
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
		for (End *end : {&a, &b})
			for (auto &[rcxt, context] : end->contexts)
				if (context.now.sending &&
				    !random.below(slowness))
					end->transmit(rcxt, context);
		if (network.empty() || still)
			return;
		size_t n = random.below(100) < reorder ?
				   random.below(uint32_t(network.size())) :
				   0;
		Packet packet = network[n];

		network.erase(network.begin() + long(n));
		(packet.to_b ? b : a).receive(packet);
	}

	Random random;
	uint32_t loss = 0, repeats = 0, reorder = 0;
	/* Steps from packet to packet of one operation. */
	uint32_t slowness = 2;
	/* Everything stays where it is. */
	bool still = false;
	End a{false, *this}, b{true, *this};
	std::vector<Packet> network;
	Clock::time_point now{};
};

/* An engine's adapter: an end. */
struct Port : RdmaPort {
	explicit Port(World &world, End &end) : world(world), end(end) {}

	uint32_t piece_room() const override { return fragment_size; }
	std::error_code
	piece(uint16_t node, uint32_t window, const PieceFrame &piece,
	      uint32_t length,
	      const std::function<void(std::span<std::byte>)> &fill) override;
	std::error_code request(Direction direction, uint16_t node,
				uint32_t window, const RequestFrame &request,
				uint32_t &frame) override;
	FrameState result(uint32_t frame) override;
	void forget(uint32_t) override {}
	void ask_about(uint16_t node, uint32_t window, uint32_t rcxt) override;
	void cancel(uint32_t rcxt) override;

	World &world;
	End &end;
	uint32_t next = 0;
	/* Contexts of the other end, of which nothing is heard. */
	std::vector<uint32_t> asked;
	/* From this address on. */
	uint64_t refused = memory_size;
	int refusals = 0;

private:
	FrameState ask(bool write, uint32_t frame, Context &c,
		       const RequestFrame &request);
};

/* Two engines on a network, of which one begins all operations. */
struct Bench {
	explicit Bench(unsigned seed, uint32_t piece = 1000,
		       unsigned attempts = 65535);

	/* Until nothing is pending, or the steps are used up. */
	bool run(int steps = 2'000'000);
	/* What has come to both processes. */
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
	/* What processes do beside that. */
	std::function<void()> process;
	/* Adapters are recovered now and then. */
	bool recovers = false;

private:
	void take_words();
	void renew_a();
	void answer();
};

/* Bytes of memory number @seed. */
void fill(std::vector<uint8_t> &memory, size_t from, size_t n, unsigned seed);

} // namespace rdma_world

#endif // PAVO_UNIT_RDMA_WORLD_H
