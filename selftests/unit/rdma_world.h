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
	std::vector<pavo_rdma_done> frames;
	std::vector<Piece> pieces;
	std::vector<pavo_rdma_request> asked;
	std::map<uint32_t, pavo_frame_state> marks;
	uint32_t recoveries = 0;

	/* A recovery: all contexts have other names, and know nothing. */
	void recover()
	{
		std::map<uint32_t, Context> fresh;

		for (auto &[rcxt, context] : contexts) {
			if (context.now.sending && context.own)
				marks[context.frame] = PAVO_FRAME_BAD_RCXT;
			fresh[rcxt + 1000];
		}
		contexts = std::move(fresh);
		recoveries++;
	}

	void receive(const Packet &packet);
	void receive_data(Context &c, const Packet &packet);
	void transmit(uint32_t rcxt, Context &c);
	void put_done(uint32_t rcxt, const Context &c, uint8_t target,
		      uint64_t tid);
	bool deliver(const Context &c, const Packet &packet);
	bool end(Context &c, const Packet &packet);
	void ask_process(Context &c, const Packet &packet);
	bool begin_piece(const pavo_rdma_piece &piece);
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
	piece(uint16_t, uint32_t, const pavo_rdma_piece &piece, uint32_t length,
	      const std::function<void(std::span<std::byte>)> &fill) override
	{
		/* Frames are few. */
		if (world.random.below(4) == 0)
			return std::make_error_code(std::errc::no_buffer_space);
		if (!end.begin_piece(piece))
			return {};
		Packet packet{.kind = Packet::DATA,
			      .to_b = !end.is_b,
			      .rcxt = piece.remote_rcxt,
			      .peer_rcxt = piece.local_rcxt,
			      .tid = piece.tid,
			      .pvo = piece.pvo,
			      .back_pvo = 0,
			      .total = piece.total,
			      .fragment = piece.fragment,
			      .tag = piece.tag,
			      .attempts = piece.attempts,
			      .flags = piece.flags,
			      .payload = std::vector<uint8_t>(length)};

		fill(std::as_writable_bytes(std::span(packet.payload)));
		world.send(packet);
		return {};
	}

	std::error_code request(bool write, uint16_t, uint32_t,
				const pavo_rdma_request &request,
				uint32_t &frame) override
	{
		auto found = end.contexts.find(request.local_rcxt);

		if (found == end.contexts.end()) {
			frame = next++;
			end.marks[frame] = PAVO_FRAME_BAD_RCXT;
			return {};
		}
		Context &c = found->second;

		EXPECT_GT(request.tid, c.now.tid) << "tids only grow";
		/* A number is no memory, nor is that of no bytes. */
		if (request.length && !(request.flags & PAVO_RDMA_TO_FIFO) &&
		    request.local_pvo >= refused) {
			refusals++;
			return std::make_error_code(std::errc::message_size);
		}
		if (world.random.below(100) < world.loss)
			return std::make_error_code(std::errc::no_buffer_space);
		frame = next++;
		if (c.now.sending) {
			end.marks[frame] = PAVO_FRAME_BUSY;
			return {};
		}
		if (!write &&
		    pavo_tid_repeats(&c.now, request.tid, request.attempts)) {
			c.now.tid = request.tid;
			c.of.attempts = request.attempts;
			end.put_done(request.local_rcxt, c, 1, request.tid);
			end.marks[frame] = PAVO_FRAME_SENT;
			return {};
		}
		bool resume = !write && pavo_tid_resumes(&c.now, request.tid,
							 request.attempts);

		c.now.tid = request.tid;
		c.now.first = pavo_tid_first(request.tid, request.attempts);
		c.now.placing = !write;
		c.now.feeding = false;
		c.now.sending = write;
		c.told = write && request.flags & PAVO_RDMA_TELL_SOURCE;
		c.own = write;
		c.frame = frame;
		if (!resume) {
			c.left = request.length;
			c.seen = {};
		}
		c.of = {.kind = write ? Packet::DATA : Packet::READ,
			.to_b = true,
			.rcxt = request.remote_rcxt,
			.peer_rcxt = request.local_rcxt,
			.tid = request.tid,
			.pvo = request.remote_pvo,
			.back_pvo = request.local_pvo,
			.total = request.length,
			.fragment = 0,
			.tag = request.tag,
			.attempts = request.attempts,
			.flags = request.flags,
			.payload = {}};
		if (!write) {
			world.send(c.of);
			end.marks[frame] = PAVO_FRAME_SENT;
		}
		return {};
	}

	pavo_frame_state result(uint32_t frame) override
	{
		auto found = end.marks.find(frame);

		return found == end.marks.end() ? PAVO_FRAME_EMPTY :
						  found->second;
	}

	void forget(uint32_t) override {}

	void ask_about(uint16_t, uint32_t, uint32_t rcxt) override
	{
		if (world.random.below(100) >= world.loss)
			asked.push_back(rcxt);
	}

	void cancel(uint32_t rcxt) override
	{
		auto found = end.contexts.find(rcxt);

		if (found == end.contexts.end())
			return;
		Context &c = found->second;

		if (c.now.sending && c.own)
			end.marks[c.frame] = PAVO_FRAME_CANCELLED;
		c.now.sending = false;
		c.now.placing = false;
		c.now.feeding = false;
		c.told = false;
	}

	World &world;
	End &end;
	uint32_t next = 0;
	/* Contexts of the other end, of which nothing is heard. */
	std::vector<uint32_t> asked;
	/* From this address on. */
	uint64_t refused = memory_size;
	int refusals = 0;
};

struct Bench {
	explicit Bench(unsigned seed, uint32_t piece = 1000,
		       unsigned attempts = 65535)
		: world(seed), port(world, world.a), port_b(world, world.b),
		  engine(port,
			 {.patience = std::chrono::microseconds(500),
			  .most_patience = std::chrono::microseconds(8000),
			  .attempts = attempts,
			  .piece = piece,
			  .half_piece = piece}),
		  other(port_b, {})
	{
		RdmaPeer to{1, 2, {}};
		std::array<uint32_t, 3> locals{};

		for (uint32_t i = 0; i < 3; i++) {
			to.rcxts.push_back(20 + i);
			locals[i] = 10 + i;
			world.a.contexts[10 + i];
			world.b.contexts[20 + i];
		}
		once_a.add(locals);
		once_b.add(to.rcxts);
		peer = engine.add(to, locals);
		peer = engine.add(to, locals);
	}

	/* Until nothing is pending, or the steps are used up. */
	bool run(int steps = 2'000'000)
	{
		for (; engine.pending() && steps; steps--) {
			world.step();
			if (recovers && !world.random.below(3000))
				(world.random.coin() ? world.a : world.b)
					.recover();
			renew_a();
			engine.look(world.now);
			other.look(world.now);
			/* Processes look when they like. */
			if (!world.random.below(200))
				take_frames();
		}
		return !engine.pending();
	}

	void take_frames()
	{
		for (auto &done : std::exchange(world.a.frames, {})) {
			done.rcxt = once_a.name(done.rcxt);
			EXPECT_TRUE(engine.done(done, world.now));
		}
		if (process)
			process();
		for (auto &done : arrived ? std::exchange(world.b.frames, {}) :
					    std::vector<pavo_rdma_done>()) {
			once_b.end(done.rcxt, done.tid - done.attempts);
			arrived(done);
		}
		answer();
	}

	/*
	 * What Rdma does after recoveries: contexts are taken anew at end a, and at end
	 * b when it is asked about one.
	 */
	static bool rename(End &end, RdmaOnce &once, uint32_t &known)
	{
		auto names = once.names();

		for (uint32_t &name : names)
			name += 1000 * (end.recoveries - known);
		once.rename(names);
		return std::exchange(known, end.recoveries) != end.recoveries;
	}

	void renew_a()
	{
		auto old = once_a.names();

		if (!rename(world.a, once_a, known_a))
			return;
		for (size_t i = 0; i < old.size(); i++)
			engine.renew_local(old[i], once_a.names()[i],
					   world.now);
	}

	void answer()
	{
		for (uint32_t rcxt : std::exchange(port.asked, {})) {
			rename(world.b, once_b, known_b);
			uint32_t name = once_b.name(rcxt);
			engine.renew_remote(1, 2, rcxt, name,
					    once_b.ended(name), world.now);
		}
	}

	World world;
	Port port, port_b;
	/* That of end a, which all tests are about, and what end b answers by. */
	RdmaEngine engine, other;
	size_t peer;
	RdmaOnce once_a, once_b;
	uint32_t known_a = 0, known_b = 0;
	std::function<void(const pavo_rdma_done &)> arrived;
	/* What processes do beside that. */
	std::function<void()> process;
	/* Adapters are recovered now and then. */
	bool recovers = false;
};

inline void fill(std::vector<uint8_t> &memory, size_t from, size_t n,
		 unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		memory[from + i] = uint8_t(seed * 37 + i * 11 + i / 251);
}

} // namespace rdma_world

#endif // PAVO_UNIT_RDMA_WORLD_H
