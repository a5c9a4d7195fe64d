// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_engine_test.cpp - exactly-once RDMA (rdma_engine.hpp) over two adapters in
 * miniature and a network that loses, repeats and reorders as it likes. Time is counted
 * in steps. The adapters judge by the same order.h as the module; what they do with a
 * packet is written down here once more.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "random.h"
#include "rdma_engine.hpp"
#include "rdma_once.hpp"

extern "C" {
#include "window/order.h"
}

using namespace pavo;

namespace {

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

void End::put_done(uint32_t rcxt, const Context &c, uint8_t target,
		   uint64_t tid)
{
	/* A FIFO that is full now and then. */
	frames.push_back({.rcxt = rcxt,
			  .peer_rcxt = c.of.rcxt,
			  .tid = tid,
			  .length = c.of.total,
			  .tag = c.of.tag,
			  .cookie = 0,
			  .status = 0,
			  .target = target,
			  .attempts = c.of.attempts});
}

void End::transmit(uint32_t rcxt, Context &c)
{
	uint32_t length = std::min(c.left, fragment_size);
	Packet &packet = c.of;

	packet.kind = Packet::DATA;
	packet.to_b = !is_b;
	packet.peer_rcxt = rcxt;
	packet.payload.clear();
	if (length)
		packet.payload.assign(memory.begin() + long(packet.back_pvo),
				      memory.begin() +
					      long(packet.back_pvo + length));
	world.send(packet);
	packet.pvo += length;
	packet.back_pvo += length;
	packet.fragment++;
	c.left -= length;
	if (c.left)
		return;
	c.now.sending = false;
	if (c.own)
		marks[c.frame] = PAVO_FRAME_SENT;
}

void End::receive_data(Context &c, const Packet &packet)
{
	switch (pavo_tid_data(&c.now, packet.tid, packet.attempts)) {
	case PAVO_TID_RESUME:
		c.now.tid = packet.tid;
		c.of.attempts = packet.attempts;
		c.of.tid = packet.tid;
		c.of.rcxt = packet.peer_rcxt;
		break;
	case PAVO_TID_BEGIN:
		c.now.tid = packet.tid;
		c.now.first = pavo_tid_first(packet.tid, packet.attempts);
		c.now.placing = true;
		c.seen = {};
		c.left = packet.total;
		c.of = packet;
		c.of.rcxt = packet.peer_rcxt;
		break;
	case PAVO_TID_PART:
		break;
	case PAVO_TID_REPEAT:
		if (!packet.fragment && packet.flags & PAVO_RDMA_TELL_SOURCE) {
			Packet done = packet;

			done.kind = Packet::DONE;
			done.to_b = !is_b;
			done.rcxt = packet.peer_rcxt;
			done.peer_rcxt = packet.rcxt;
			world.send(done);
		}
		return;
	default:
		return;
	}
	switch (pavo_seen_look(&c.seen, packet.fragment)) {
	case PAVO_SEEN_NEW:
		if (!deliver(c, packet))
			return;
		pavo_seen_note(&c.seen, packet.fragment);
		c.left -= uint32_t(packet.payload.size());
		break;
	case PAVO_SEEN_AGAIN:
		break;
	case PAVO_SEEN_FAR:
		return;
	}
	if (!c.left && !end(c, packet))
		return;
	if (c.left)
		return;
	if (c.of.flags & PAVO_RDMA_TELL_SOURCE) {
		Packet done = c.of;

		done.kind = Packet::DONE;
		done.to_b = !is_b;
		done.peer_rcxt = packet.rcxt;
		world.send(done);
	}
}

/* To memory, or to a FIFO that is full now and then. */
bool End::deliver(const Context &c, const Packet &packet)
{
	if (!(c.of.flags & PAVO_RDMA_TO_FIFO)) {
		std::copy(packet.payload.begin(), packet.payload.end(),
			  memory.begin() + long(packet.pvo));
		return true;
	}
	if (world.random.below(100) < world.loss)
		return false;
	pieces.push_back({packet.rcxt, c.of.tag, packet.fragment, packet.pvo,
			  c.now.first, packet.payload});
	return true;
}

/* All is here; false: but its process has no room to be told. */
bool End::end(Context &c, const Packet &packet)
{
	if (c.of.flags & PAVO_RDMA_TELL_TARGET) {
		if (world.random.below(100) < world.loss)
			return false;
		put_done(packet.rcxt, c, 1, c.now.tid);
	}
	c.now.placing = false;
	c.now.complete = c.now.tid;
	return true;
}

/* The process makes the data. */
void End::ask_process(Context &c, const Packet &packet)
{
	if (world.random.below(100) < world.loss)
		return;
	asked.push_back({.local_rcxt = packet.rcxt,
			 .remote_rcxt = packet.peer_rcxt,
			 .tid = packet.tid,
			 .local_pvo = packet.pvo,
			 .remote_pvo = packet.back_pvo,
			 .length = packet.total,
			 .tag = packet.tag,
			 .flags = packet.flags,
			 .reserved = 0,
			 .attempts = packet.attempts,
			 .cookie = 0});
	c.now.tid = packet.tid;
	c.now.first = pavo_tid_first(packet.tid, packet.attempts);
	c.now.feeding = true;
}

/* Of a frame; false: it is not sent. */
bool End::begin_piece(const pavo_rdma_piece &piece)
{
	auto found = contexts.find(piece.local_rcxt);

	if (found == contexts.end())
		return false;
	Context &c = found->second;

	switch (pavo_tid_piece(&c.now, piece.tid)) {
	case PAVO_TID_PART:
		return true;
	case PAVO_TID_BEGIN:
		c.now.tid = piece.tid;
		c.now.first = pavo_tid_first(piece.tid, piece.attempts);
		c.now.placing = false;
		c.now.feeding = true;
		c.told = piece.flags & PAVO_RDMA_TELL_SOURCE;
		c.of.total = piece.total;
		c.of.tag = piece.tag;
		return true;
	default:
		return false;
	}
}

void End::receive(const Packet &packet)
{
	auto found = contexts.find(packet.rcxt);

	if (found == contexts.end())
		return;
	Context &c = found->second;

	if (packet.kind == Packet::DATA) {
		receive_data(c, packet);
	} else if (packet.kind == Packet::READ) {
		if (pavo_tid_request(&c.now, packet.tid) != PAVO_TID_BEGIN ||
		    c.now.placing)
			return;
		if (packet.flags & PAVO_RDMA_FROM_FIFO) {
			ask_process(c, packet);
			return;
		}
		c.now.tid = packet.tid;
		c.now.first = packet.tid;
		c.now.sending = true;
		c.own = false;
		c.left = packet.total;
		c.of = packet;
		c.of.rcxt = packet.peer_rcxt;
		/* Where it is at this end, and where it goes. */
		std::swap(c.of.pvo, c.of.back_pvo);
	} else if (packet.tid == c.now.tid && c.told) {
		c.told = false;
		c.now.feeding = false;
		if (c.now.sending && c.own)
			marks[c.frame] = PAVO_FRAME_SENT;
		c.now.sending = false;
		put_done(packet.rcxt, c, 0, packet.tid);
	}
}

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

void fill(std::vector<uint8_t> &memory, size_t from, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		memory[from + i] = uint8_t(seed * 37 + i * 11 + i / 251);
}

/* One operation after the other, over networks from good to terrible. */
TEST(RdmaEngine, EveryOperationOnceWhateverIsLost)
{
	for (unsigned seed = 0; seed < 30; seed++) {
		Bench bench(seed);
		World &world = bench.world;
		Random random(seed);

		world.loss = seed % 5 * 8;
		world.repeats = seed % 3 * 20;
		world.reorder = seed % 4 * 30;
		for (uint32_t n = 0; n < 40; n++) {
			bool write = random.coin(), tell = random.coin();
			uint32_t length = random.below(4) ?
						  random.below(3500) :
						  random.below(2) * 1000;
			End &from = write ? world.a : world.b;
			End &to = write ? world.b : world.a;
			int ends = 0, told = 0;

			fill(from.memory, 500, length, n);
			fill(to.memory, 0, memory_size, n + 1);
			bench.arrived = [&](const pavo_rdma_done &done) {
				/* The word comes when all is there. */
				EXPECT_EQ(done.tag, n);
				EXPECT_FALSE(memcmp(&to.memory[7000],
						    &from.memory[500], length));
				told++;
			};
			RdmaMove move{.local = {write ? 500u : 7000u},
				      .remote = {write ? 7000u : 500u},
				      .length = length,
				      .tell = tell,
				      .tag = n};
			bench.engine.begin(
				write, bench.peer, move,
				[&](std::error_code error) {
					EXPECT_FALSE(error) << error.message();
					ends++;
				},
				world.now);
			ASSERT_TRUE(bench.run())
				<< "seed " << seed << ", " << n;
			ASSERT_EQ(ends, 1);
			ASSERT_EQ(told, tell) << "seed " << seed << ", " << n;
			ASSERT_FALSE(memcmp(&to.memory[7000], &from.memory[500],
					    length));
			/* Whatever is under way still: memory is its owner's. */
			fill(to.memory, 0, memory_size, n + 2);
			auto mine = to.memory;
			fill(from.memory, 500, length, n + 3);
			for (int i = 0; i < 200; i++)
				world.step();
			for (auto &done : std::exchange(world.a.frames, {}))
				bench.engine.done(done, world.now);
			ASSERT_EQ(to.memory, mine)
				<< "seed " << seed << ", " << n;
			ASSERT_TRUE(world.b.frames.empty());
		}
	}
}

/* A number of a byte that no memory has. */
constexpr uint64_t numbers = 1ull << 40;

uint8_t made(uint64_t at, uint32_t n)
{
	return uint8_t(at * 13 + at / 239 + n * 29);
}

RdmaFill maker(uint32_t n)
{
	return [n](uint64_t at, std::span<std::byte> to) {
		for (size_t i = 0; i < to.size(); i++)
			to[i] = std::byte(made(at + i, n));
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
		bench.process = [this] {
			answer();
		};
		bench.arrived = [this](const pavo_rdma_done &) {
			/* It comes behind all pieces. */
			take();
			EXPECT_TRUE(whole());
			told++;
			/* Memory that was handed over may be used. */
			if (write && !to_fifo)
				fill(target.memory, 7000, length, n + 5);
			used = target.memory;
		};
	}

	RdmaMove move(bool tell) const
	{
		Pvo at{from_fifo ? numbers : 500u};
		Pvo to{to_fifo ? numbers : 7000u};

		return {.local = write ? at : to,
			.remote = write ? to : at,
			.length = length,
			.tell = tell,
			.tag = n,
			.to_fifo = to_fifo,
			.from_fifo = from_fifo,
			.fill = write && from_fifo ? maker(n) : RdmaFill()};
	}

	/* What the processes of both ends do. */
	void answer()
	{
		for (auto &request : std::exchange(source.asked, {}))
			bench.other.feed(1, 2, request, maker(n));
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
		return from_fifo ? made(numbers + at, n) :
				   source.memory[500 + at];
	}

	bool whole() const
	{
		if (told && write)
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
	int told = 0;
	/* The target's memory after that. */
	std::vector<uint8_t> used;
};

/* All forms: every byte comes once, whatever is lost, and the word when all are there. */
TEST(RdmaEngine, HalfOperationsOnce)
{
	for (unsigned seed = 0; seed < 30; seed++) {
		Bench bench(200 + seed, 700);
		Random random(seed);

		bench.world.loss = seed % 5 * 8;
		bench.world.repeats = seed % 3 * 20;
		bench.world.reorder = seed % 4 * 30;
		for (uint32_t n = 0; n < 40; n++) {
			Half half(bench, random, n);
			bool tell = random.coin();
			int ends = 0;

			bench.engine.begin(
				half.write, bench.peer, half.move(tell),
				[&](std::error_code error) {
					EXPECT_FALSE(error) << error.message();
					ends++;
				},
				bench.world.now);
			ASSERT_TRUE(bench.run())
				<< "seed " << seed << ", " << n;
			half.answer();
			ASSERT_EQ(ends, 1);
			ASSERT_EQ(half.told, tell)
				<< "seed " << seed << ", " << n << ": " << half;
			ASSERT_TRUE(half.whole())
				<< "seed " << seed << ", " << n << ": " << half;
			/* What is under way still is nobody's. */
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
 * Adapters are recovered in the middle of it. Memory that was handed over by a word is
 * its owner's from then on.
 */
TEST(RdmaEngine, OnceAlthoughAdaptersAreRecovered)
{
	for (unsigned seed = 0; seed < 30; seed++) {
		Bench bench(300 + seed, 700);
		Random random(seed);
		uint32_t all = 0;

		bench.world.loss = seed % 5 * 8;
		bench.world.repeats = seed % 3 * 20;
		bench.world.reorder = seed % 4 * 30;
		bench.recovers = true;
		for (uint32_t n = 0; n < 40; n++) {
			Half half(bench, random, n);
			bool tell = random.coin();
			int ends = 0;

			if (random.below(3) == 0)
				half.from_fifo = half.to_fifo = false;
			bench.engine.begin(
				half.write, bench.peer, half.move(tell),
				[&](std::error_code error) {
					EXPECT_FALSE(error) << error.message();
					ends++;
				},
				bench.world.now);
			ASSERT_TRUE(bench.run())
				<< "seed " << seed << ", " << n << ": " << half;
			half.answer();
			ASSERT_EQ(ends, 1);
			ASSERT_EQ(half.told, tell)
				<< "seed " << seed << ", " << n << ": " << half;
			ASSERT_TRUE(half.whole())
				<< "seed " << seed << ", " << n << ": " << half;
		}
		all += bench.world.a.recoveries + bench.world.b.recoveries;
		EXPECT_GT(all, 0u);
	}
}

/* Many at a time, on three channels. */
TEST(RdmaEngine, ManyAtATime)
{
	for (unsigned seed = 0; seed < 20; seed++) {
		Bench bench(100 + seed, 700);
		std::map<uint32_t, int> ends, told;

		bench.world.loss = 15;
		bench.world.repeats = 15;
		bench.world.reorder = 50;
		fill(bench.world.a.memory, 0, memory_size, seed);
		bench.arrived = [&](const pavo_rdma_done &done) {
			told[done.tag]++;
		};
		for (uint32_t n = 0; n < 60; n++) {
			RdmaMove move{.local = {n * 1000},
				      .remote = {n * 1000},
				      .length = 1000,
				      .tell = n % 3 == 0,
				      .tag = n};
			bench.engine.begin(
				true, bench.peer, move,
				[&, n](std::error_code error) {
					EXPECT_FALSE(error);
					ends[n]++;
				},
				bench.world.now);
		}
		ASSERT_TRUE(bench.run());
		for (uint32_t n = 0; n < 60; n++) {
			EXPECT_EQ(ends[n], 1) << n;
			EXPECT_EQ(told[n], n % 3 == 0) << n;
		}
		EXPECT_FALSE(memcmp(bench.world.a.memory.data(),
				    bench.world.b.memory.data(), 60'000));
	}
}

/* An attempt that takes longer than patience lasts is waited for, not begun again. */
TEST(RdmaEngine, SlowIsNotLost)
{
	for (bool write : {true, false}) {
		Bench bench(5, 4000, 40);
		std::optional<std::error_code> result;

		/* 40 packets at 2 ms, where patience is 8 ms at most. */
		bench.world.slowness = 200;
		fill(bench.world.a.memory, 0, 4000, 1);
		fill(bench.world.b.memory, 0, 4000, 2);
		auto wanted = write ? bench.world.a.memory :
				      bench.world.b.memory;
		bench.engine.begin(
			write, bench.peer,
			{.local = {0}, .remote = {0}, .length = 4000},
			[&](std::error_code error) { result = error; },
			bench.world.now);
		ASSERT_TRUE(bench.run());
		ASSERT_TRUE(result);
		EXPECT_FALSE(*result)
			<< (write ? "write " : "read ") << result->message();
		EXPECT_EQ(bench.world.a.memory, wanted);
		EXPECT_EQ(bench.world.b.memory, wanted);
		if (write) {
			/* Not all of 80 ms, but until the process looks. */
			EXPECT_LE(bench.engine.repeated(), 3u);
		}
	}
}

/* Nobody there: it is given up after so many attempts, and what comes next goes on. */
TEST(RdmaEngine, GivesUp)
{
	Bench bench(1, 1000, 6);
	std::vector<std::error_code> errors;

	bench.world.loss = 100;
	for (bool write : {true, false})
		bench.engine.begin(
			write, bench.peer,
			{.local = {0},
			 .remote = {0},
			 .length = 2500,
			 .tell = true},
			[&](std::error_code error) { errors.push_back(error); },
			bench.world.now);
	ASSERT_TRUE(bench.run());
	ASSERT_EQ(errors.size(), 2u);
	for (auto &error : errors)
		EXPECT_EQ(error, std::errc::timed_out);
	bench.world.loss = 0;
	errors.clear();
	bench.engine.begin(
		true, bench.peer, {.local = {0}, .remote = {0}, .length = 2500},
		[&](std::error_code error) { errors.push_back(error); },
		bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_FALSE(errors.at(0));
}

/* Nothing more is asked for after an error, and the other end is not told. */
TEST(RdmaEngine, AnErrorEndsIt)
{
	Bench bench(9);
	int ends = 0, told = 0;

	bench.port.refused = 1000;
	bench.arrived = [&](const pavo_rdma_done &) {
		told++;
	};
	for (int round = 1; round < 4; round++) {
		bench.engine.begin(
			true, bench.peer,
			{.local = {0},
			 .remote = {0},
			 .length = 20'000,
			 .tell = true},
			[&](std::error_code error) {
				EXPECT_EQ(error, std::errc::message_size);
				ends++;
			},
			bench.world.now);
		ASSERT_TRUE(bench.run());
		EXPECT_EQ(ends, round);
		/* The second and third of its pieces, and no more. */
		EXPECT_EQ(bench.port.refusals, 2 * round);
	}
	for (int i = 0; i < 1000; i++)
		bench.world.step();
	EXPECT_EQ(told, 0);
	EXPECT_TRUE(bench.world.b.frames.empty());
}

/* What was given up does not come later. */
TEST(RdmaEngine, NothingComesOfWhatWasGivenUp)
{
	Bench bench(5, 1000, 3);
	std::error_code result;

	fill(bench.world.a.memory, 0, memory_size, 1);
	fill(bench.world.b.memory, 0, memory_size, 2);
	bench.engine.begin(
		false, bench.peer,
		{.local = {0}, .remote = {0}, .length = 2500},
		[&](std::error_code error) { result = error; },
		bench.world.now);
	bench.world.still = true;
	ASSERT_TRUE(bench.run());
	EXPECT_EQ(result, std::errc::timed_out);
	bench.world.still = false;
	/* The last attempts are all that comes through. */
	std::erase_if(bench.world.network,
		      [](const Packet &packet) { return packet.tid < 3; });
	EXPECT_EQ(bench.world.network.size(), 3u);
	fill(bench.world.a.memory, 0, memory_size, 3);
	auto mine = bench.world.a.memory;
	for (int i = 0; i < 2000; i++)
		bench.world.step();
	EXPECT_TRUE(bench.world.network.empty());
	EXPECT_EQ(bench.world.a.memory, mine);
}

/* What came need not come again: where most is lost, some attempts are enough. */
TEST(RdmaEngine, AttemptsGoOnWhereTheLastEnded)
{
	for (bool write : {true, false}) {
		Bench bench(11, 10'000);
		bool over = false;

		bench.world.loss = 50;
		fill(bench.world.a.memory, 0, 10'000, write);
		fill(bench.world.b.memory, 0, 10'000, !write);
		bench.engine.begin(
			write, bench.peer,
			{.local = {0}, .remote = {0}, .length = 10'000},
			[&](std::error_code error) {
				EXPECT_FALSE(error);
				over = true;
			},
			bench.world.now);
		/* Its hundred packets never come all at once. */
		ASSERT_TRUE(bench.run());
		EXPECT_TRUE(over);
		EXPECT_LT(bench.engine.repeated(), 60u);
		EXPECT_FALSE(memcmp(bench.world.a.memory.data(),
				    bench.world.b.memory.data(), 10'000));
	}
}

/* It waits longer from attempt to attempt. */
TEST(RdmaEngine, BacksOff)
{
	Bench bench(1, 1000, 12);
	bool over = false;

	bench.world.loss = 100;
	bench.engine.begin(
		true, bench.peer, {.local = {0}, .remote = {0}, .length = 10},
		[&](std::error_code) { over = true; }, bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_TRUE(over);
	/* 0.5 + 1 + 2 + 4 ms, and eight times the most, which is 8 ms. */
	auto took = bench.world.now - Clock::time_point{};
	EXPECT_GE(took, std::chrono::microseconds(71'500));
	EXPECT_LE(took, std::chrono::microseconds(71'500 + 12 * 20));
	EXPECT_EQ(bench.engine.repeated(), 11u);
}

/* An operation may be begun where another has ended. */
TEST(RdmaEngine, BeginsFromDone)
{
	Bench bench(7);
	int left = 500;
	std::function<void(std::error_code)> next = [&](std::error_code error) {
		ASSERT_FALSE(error);
		if (--left)
			bench.engine.begin(
				true, bench.peer,
				{.local = {0}, .remote = {64}, .length = 64},
				next, bench.world.now);
	};

	bench.engine.begin(true, bench.peer,
			   {.local = {0}, .remote = {64}, .length = 64}, next,
			   bench.world.now);
	ASSERT_TRUE(bench.run());
	EXPECT_EQ(left, 0);
}

TEST(RdmaEngine, StopsWithoutAWord)
{
	Bench bench(3);
	bool said = false;

	for (int n = 0; n < 10; n++)
		bench.engine.begin(
			n % 2, bench.peer,
			{.local = {0}, .remote = {0}, .length = 5000},
			[&](std::error_code) { said = true; }, bench.world.now);
	bench.engine.stop();
	EXPECT_EQ(bench.engine.pending(), 0u);
	EXPECT_EQ(bench.engine.due(), Clock::time_point::max());
	for (int i = 0; i < 1000; i++)
		bench.world.step();
	EXPECT_FALSE(said);
}

} // namespace
