/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * striped_world.h - two ends with lanes in miniature, for the tests of striped_engine.hpp:
 * each lane carries packets of chunks and words, and loses, repeats, reorders and keeps
 * them back as it is told. A chunk is placed as long as its lane is open where it goes;
 * whatever comes after that is dropped, as by the adapter when contexts were given back.
 * Time is counted in steps.
 */
#ifndef PAVO_UNIT_STRIPED_WORLD_H
#define PAVO_UNIT_STRIPED_WORLD_H

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "../common/direction.h"
#include "random.h"
#include "striped_engine.hpp"

namespace striped {

using namespace pavo;
using Clock = StripedEngine::Clock;

constexpr uint32_t packet_size = 16;
constexpr size_t memory_size = 1 << 14;

/* A chunk of one of the ends, by a lane. */
using ChunkId = std::tuple<size_t, bool, uint64_t>;

struct Packet {
	enum { DATA, READ, DONE, WORD } kind;
	size_t lane;
	bool to_b;
	ChunkId chunk;
	RdmaMove move{};
	bool write = false;
	uint32_t fragment = 0;
	std::vector<uint8_t> payload{};
	StripedWord word{};
};

class World;

/* One end: memory, an engine, and its lanes. */
struct End : StripedPort {
	/* A chunk that was begun here. */
	struct Flight {
		bool write;
		RdmaMove move;
		unsigned attempts = 0;
		Clock::time_point due{};
	};
	struct Lane {
		bool open = true;
		std::map<uint64_t, Flight> flights;
		size_t begun = 0;
		size_t most = 0;
	};

	End(World &w, bool b, const StripedOptions &options)
		: world(w), is_b(b), engine(*this, options)
	{
	}

	void begin(size_t lane, uint64_t chunk, Direction direction,
		   const RdmaMove &move) override
	{
		EXPECT_TRUE(lanes[lane].open) << "a chunk for a closed lane";
		lanes[lane].flights[chunk] = {direction == Direction::write,
					      move};
		lanes[lane].begun++;
		lanes[lane].most =
			std::max(lanes[lane].most, lanes[lane].flights.size());
	}

	void close(size_t lane) override
	{
		EXPECT_TRUE(lanes[lane].open) << "closed twice";
		lanes[lane].open = false;
		lanes[lane].flights.clear();
	}

	void send(size_t lane, const StripedWord &word) override;

	void put(uint64_t from, uint64_t to, uint64_t length, bool tell,
		 uint32_t tag);
	void get(uint64_t from, uint64_t to, uint64_t length, bool tell,
		 uint32_t tag);
	void move(bool write, const StripedMove &move);
	void transmit(size_t lane, uint64_t chunk, Flight &flight);
	void send_data(size_t lane, const ChunkId &chunk, bool write,
		       const RdmaMove &move);
	void attempt();
	void receive(const Packet &packet);
	void place(const Packet &packet);
	void end(const Packet &packet);
	bool may_write(bool write, const StripedMove &move) const;

	World &world;
	bool is_b;
	StripedEngine engine;
	std::vector<Lane> lanes;
	std::vector<uint8_t> memory = std::vector<uint8_t>(memory_size);
	/* Fragments of each chunk that came here. */
	std::map<ChunkId, std::set<uint32_t>> came;
	std::map<uint32_t, int> arrived, ended;
	std::map<uint32_t, std::error_code> errors;
	bool asleep = false;
	/* Of the words that it heard. */
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
	explicit World(unsigned seed, size_t lanes,
		       StripedOptions options = usual())
		: random(seed), wires(lanes), a(*this, false, options),
		  b(*this, true, options)
	{
		for (size_t i = 0; i < lanes; i++)
			for (End *end : {&a, &b}) {
				end->lanes.emplace_back();
				end->engine.add(token(end->is_b, i));
			}
		for (size_t i = 0; i < lanes; i++)
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
			.patience = std::chrono::microseconds(300),
			.most_patience = std::chrono::microseconds(3000)};

		return options;
	}

	static uint32_t token(bool b, size_t lane)
	{
		return uint32_t(100 + 50 * b + lane);
	}

	End &end(bool is_b) { return is_b ? b : a; }

	void send(const Packet &packet)
	{
		if (wires[packet.lane] == Wire::CUT || random.below(100) < loss)
			return;
		network.push_back(packet);
		if (random.below(100) < repeats)
			network.push_back(packet);
	}

	void deliver(size_t n)
	{
		Packet packet = network[n];

		network.erase(network.begin() + long(n));
		if (wires[packet.lane] == Wire::CUT)
			return;
		end(packet.to_b).receive(packet);
	}

	/* Packets of wires that hold theirs wait. */
	void deliver_one()
	{
		std::vector<size_t> able;

		for (size_t i = 0; i < network.size() && able.size() < 64; i++)
			if (wires[network[i].lane] != Wire::HELD)
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

	/* What was held back comes, all of it. */
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
	std::vector<Packet> network;
	Clock::time_point now{};
	End a, b;
};

/* Bytes of memory number @seed. */
void fill(std::vector<uint8_t> &memory, unsigned seed);
bool equal(const End &a, uint64_t from, const End &b, uint64_t to, size_t n);

} // namespace striped

#endif /* PAVO_UNIT_STRIPED_WORLD_H */
