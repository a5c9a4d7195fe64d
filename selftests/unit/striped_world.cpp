// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped_world.cpp - see striped_world.h. */
#include "striped_world.h"

#include <cstring>

#include "../common/pattern.h"

namespace striped {

void End::send(size_t lane, const StripedWord &word)
{
	auto copy = StripedWord::decode(word.encode());

	ASSERT_TRUE(copy);
	world.send({.kind = Packet::WORD,
		    .lane = lane,
		    .to_b = !is_b,
		    .chunk = {},
		    .word = *copy});
}

void End::move(bool write, const StripedMove &move)
{
	auto done = [this, write, move](std::error_code error) {
		ended[move.tag]++;
		errors[move.tag] = error;
		EXPECT_TRUE(error || !may_write(write, move)) << move.tag;
	};

	engine.begin(common::direction_of(write), move, done, world.now);
}

void End::put(uint64_t from, uint64_t to, uint64_t length, bool tell,
	      uint32_t tag)
{
	move(true, {.local = {from},
		    .remote = {to},
		    .length = length,
		    .tell = tell,
		    .tag = tag});
}

void End::get(uint64_t from, uint64_t to, uint64_t length, bool tell,
	      uint32_t tag)
{
	move(false, {.local = {to},
		     .remote = {from},
		     .length = length,
		     .tell = tell,
		     .tag = tag});
}

/* All packets of a chunk, whose data is here. */
void End::send_data(size_t lane, const ChunkId &chunk, bool write,
		    const RdmaMove &move)
{
	uint64_t from = write ? move.local.value : move.remote.value;
	uint32_t at = 0, fragment = 0;

	do {
		uint32_t length = std::min(move.length - at, packet_size);

		world.send({.kind = Packet::DATA,
			    .lane = lane,
			    .to_b = !is_b,
			    .chunk = chunk,
			    .move = move,
			    .write = write,
			    .fragment = fragment++,
			    .payload = {memory.begin() + long(from + at),
					memory.begin() +
						long(from + at + length)}});
		at += length;
	} while (at < move.length);
}

void End::transmit(size_t lane, uint64_t chunk, Flight &flight)
{
	ChunkId id{lane, is_b, chunk};

	if (flight.write)
		send_data(lane, id, true, flight.move);
	else
		world.send({.kind = Packet::READ,
			    .lane = lane,
			    .to_b = !is_b,
			    .chunk = id,
			    .move = flight.move});
}

/* What took too long is sent again, some times. */
void End::attempt()
{
	for (size_t i = 0; i < lanes.size(); i++)
		for (auto at = lanes[i].flights.begin();
		     at != lanes[i].flights.end();) {
			auto &[chunk, flight] = *at++;

			if (flight.due > world.now)
				continue;
			if (flight.attempts++ == 12) {
				engine.over(chunk,
					    std::make_error_code(
						    std::errc::timed_out));
				lanes[i].flights.erase(chunk);
				continue;
			}
			transmit(i, chunk, flight);
			flight.due = world.now + std::chrono::microseconds(400);
		}
}

void End::place(const Packet &packet)
{
	const RdmaMove &move = packet.move;
	uint64_t to = packet.write ? move.remote.value : move.local.value;
	auto &fragments = came[packet.chunk];

	if (fragments.insert(packet.fragment).second)
		std::copy(packet.payload.begin(), packet.payload.end(),
			  memory.begin() +
				  long(to + packet.fragment * packet_size));
}

/* A chunk that this end began is over. */
void End::end(const Packet &packet)
{
	uint64_t chunk = std::get<2>(packet.chunk);
	bool bad = packet.fragment;

	if (lanes[packet.lane].flights.erase(chunk))
		engine.over(chunk,
			    bad ? std::make_error_code(std::errc::bad_address) :
				  std::error_code());
}

void End::receive(const Packet &packet)
{
	size_t fragments = std::max<size_t>(
		1, (packet.move.length + packet_size - 1) / packet_size);
	Packet done = packet;

	/* An end that does not look has a full FIFO soon. */
	if (packet.kind == Packet::WORD) {
		if (asleep)
			return;
		if (packet.word.what == StripedWord::tell)
			oldest = std::max(oldest, packet.word.oldest);
		engine.heard(packet.lane, packet.word);
		return;
	}
	if (!lanes[packet.lane].open)
		return;
	done.kind = Packet::DONE;
	done.to_b = !is_b;
	done.fragment = packet.kind != Packet::DONE &&
			packet.move.remote.value == wrong;
	if (packet.kind == Packet::READ && !done.fragment) {
		send_data(packet.lane, packet.chunk, false, packet.move);
	} else if (packet.kind == Packet::DONE) {
		end(packet);
	} else if (done.fragment) {
		world.send(done);
	} else if (packet.write || lanes[packet.lane].flights.contains(
					   std::get<2>(packet.chunk))) {
		place(packet);
		if (came[packet.chunk].size() != fragments)
			return;
		if (packet.write)
			world.send(done);
		else
			end(done);
	}
}

void fill(std::vector<uint8_t> &memory, unsigned seed)
{
	pattern_fill(memory.data(), memory.size(), seed, 0);
}

/* Would any packet that is under way still be placed for that operation? */
bool End::may_write(bool write, const StripedMove &move) const
{
	const End &target = world.end(is_b != write);

	for (const Packet &packet : world.network) {
		auto [lane, of_b, chunk] = packet.chunk;
		auto came = target.came.find(packet.chunk);

		if (packet.kind != Packet::DATA || of_b != is_b ||
		    packet.write != write ||
		    packet.move.local.value < move.local.value ||
		    packet.move.local.value >= move.local.value + move.length ||
		    !target.lanes[lane].open)
			continue;
		if (!write && !lanes[lane].flights.contains(chunk))
			continue;
		if (came == target.came.end() ||
		    !came->second.contains(packet.fragment))
			return true;
	}
	return false;
}

bool equal(const End &a, uint64_t from, const End &b, uint64_t to, size_t n)
{
	return !memcmp(&a.memory[from], &b.memory[to], n);
}

} // namespace striped
