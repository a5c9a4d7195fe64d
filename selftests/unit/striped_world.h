/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * striped_world.h - two ends with paths, for the tests of striped_engine.hpp. A path is a
 * window at each end, whose operations are the module's own (rcxt_driver.h), and a wire that
 * loses, repeats, reorders and keeps back as it is told. Each chunk has an rCxt of its own at
 * both ends of its path, and a closed path has none. Time is counted in steps.
 */
#ifndef PAVO_UNIT_STRIPED_WORLD_H
#define PAVO_UNIT_STRIPED_WORLD_H

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "../common/direction.h"
#include "random.h"
#include "rcxt_driver.h"
#include "striped_engine.hpp"

namespace striped {

using namespace pavo;
using Clock = StripedEngine::Clock;

constexpr uint32_t packet_size = 16;
constexpr size_t memory_size = 1 << 14;

struct Packet {
	enum { RDMA, WORD } kind;
	size_t path;
	bool to_b;
	rcxt::Packet rdma{};
	StripedControl control{};
};

struct End;

/* The window of a path at one end. */
class PathWindow : public rcxt::Driver {
public:
	PathWindow(End &end, size_t path, bool b);

protected:
	void send(const rcxt::Packet &packet) override;
	void mark(uint32_t, pavo_frame_state) override {}
	bool put_done(const pavo_rdma_done &done) override;
	bool put_piece(const pavo_rdma_piece &, const pavo_operation &,
		       std::span<const uint8_t>) override;
	bool put_request(const pavo_rdma_request &) override;
	pavo_pvo_result check(uint64_t pvo, uint32_t length) const override;

private:
	End &end_;
	size_t path_;
};

class World;

/* One end: memory, an engine, and its paths. */
struct End : StripedPort {
	/* A chunk that was begun here. */
	struct Flight {
		bool write;
		RdmaMove move;
		uint16_t attempts = 0;
		Clock::time_point due{};
	};
	struct Path {
		std::unique_ptr<PathWindow> window;
		bool open = true;
		std::map<uint64_t, Flight> flights;
		size_t begun = 0;
		size_t most = 0;
	};

	End(World &w, bool b, const StripedOptions &options)
		: world(w), is_b(b), engine(*this, options)
	{
	}

	void begin(size_t path, uint64_t chunk, Direction direction,
		   const RdmaMove &move) override
	{
		EXPECT_TRUE(paths[path].open) << "a chunk for a closed path";
		paths[path].flights[chunk] = {direction == Direction::write,
					      move};
		chunks[rcxt_of(chunk, is_b)] = paths[path].flights[chunk];
		paths[path].begun++;
		paths[path].most =
			std::max(paths[path].most, paths[path].flights.size());
	}

	void close(size_t path) override
	{
		EXPECT_TRUE(paths[path].open) << "closed twice";
		paths[path].open = false;
		paths[path].flights.clear();
		paths[path].window->lose_all(PAVO_FRAME_BAD_RCXT);
	}

	void send(size_t path, const StripedControl &control) override;

	void put(uint64_t from, uint64_t to, uint64_t length, bool notify,
		 uint32_t tag);
	void get(uint64_t from, uint64_t to, uint64_t length, bool notify,
		 uint32_t tag);
	void move(bool write, const StripedMove &move);
	/* The rCxt of a chunk, at both ends: begun by end b, or by end a. */
	static uint32_t rcxt_of(uint64_t chunk, bool by_b)
	{
		return uint32_t(chunk * 2 + by_b);
	}

	void send_request(size_t path, uint64_t chunk, const Flight &flight);
	void send_all(size_t path, uint32_t rcxt);
	void attempt();
	void receive(const Packet &packet);
	void chunk_over(size_t path, const pavo_rdma_done &done);
	bool may_write(bool write, const StripedMove &move) const;

	World &world;
	bool is_b;
	StripedEngine engine;
	std::vector<Path> paths;
	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_size);
	/* All chunks that this end began, by their rCxts. */
	std::map<uint32_t, Flight> chunks;
	std::map<uint32_t, int> arrived, ended;
	std::map<uint32_t, std::error_code> errors;
	bool asleep = false;
	/* Of the control messages that it received. */
	uint64_t oldest = 0;
	/* Chunks whose memory there is none, by their offset there. */
	uint64_t wrong = ~0ull;
};

enum class Wire {
	GOOD,
	CUT, /* what is on it is lost */
	HELD, /* what is on it stays there */
};

class World {
public:
	explicit World(unsigned seed, size_t paths,
		       StripedOptions options = usual())
		: random(seed), wires(paths), a(*this, false, options),
		  b(*this, true, options)
	{
		for (size_t i = 0; i < paths; i++)
			for (End *end : {&a, &b}) {
				end->paths.push_back(
					{.window = std::make_unique<PathWindow>(
						 *end, i, end->is_b)});
				end->engine.add(token(end->is_b, i));
			}
		for (size_t i = 0; i < paths; i++)
			for (End *end : {&a, &b})
				end->engine.connect(i, token(!end->is_b, i), 3);
		for (End *end : {&a, &b})
			end->engine.on_arrival(
				[end](const StripedArrival &arrival) {
					end->arrived[arrival.tag]++;
				});
	}

	static StripedOptions usual()
	{
		StripedOptions options = {
			.chunk = 64,
			.timeout = std::chrono::microseconds(300),
			.max_timeout = std::chrono::microseconds(3000)};

		return options;
	}

	static uint32_t token(bool b, size_t path)
	{
		return uint32_t(100 + 50 * b + path);
	}

	End &end(bool is_b) { return is_b ? b : a; }

	void send(const Packet &packet)
	{
		if (wires[packet.path] == Wire::CUT || random.below(100) < loss)
			return;
		network.push_back(packet);
		if (random.below(100) < repeats)
			network.push_back(packet);
	}

	void deliver(size_t n)
	{
		Packet packet = std::move(network[n]);

		network.erase(network.begin() + long(n));
		if (wires[packet.path] == Wire::CUT)
			return;
		end(packet.to_b).receive(packet);
	}

	/* Packets of wires that hold theirs wait. */
	void deliver_one()
	{
		std::vector<size_t> able;

		for (size_t i = 0; i < network.size() && able.size() < 64; i++)
			if (wires[network[i].path] != Wire::HELD)
				able.push_back(i);
		if (able.empty())
			return;
		deliver(random.below(100) < reorder ?
				able[random.below(uint32_t(able.size()))] :
				able[0]);
	}

	void step()
	{
		now += std::chrono::microseconds(10);
		for (End *end : {&a, &b})
			end->attempt();
		for (int i = 0; i < 4; i++)
			deliver_one();
		for (End *end : {&a, &b})
			if (!end->asleep && random.coin())
				end->engine.look(now);
	}

	/* Until nothing is pending, or the steps are used up. */
	bool run(int steps = 60'000)
	{
		while ((a.engine.pending() || b.engine.pending()) && steps--)
			step();
		return !a.engine.pending() && !b.engine.pending();
	}

	/* Packets that were held back come, all of them. */
	void release()
	{
		for (Wire &wire : wires)
			wire = Wire::GOOD;
		while (!network.empty())
			deliver(0);
	}

	Random random;
	uint32_t loss = 0, repeats = 0, reorder = 0;
	std::vector<Wire> wires;
	std::deque<Packet> network;
	Clock::time_point now{};
	End a, b;
};

/* Bytes of memory number @seed. */
void fill(std::vector<uint8_t> &memory, unsigned seed);
bool equal(const End &a, uint64_t from, const End &b, uint64_t to, size_t n);

} // namespace striped

#endif /* PAVO_UNIT_STRIPED_WORLD_H */
