// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_fifo_test.cpp - transfers by the FIFOs alone (rdma_fifo.hpp), over a network that loses,
 * repeats and reorders messages, and with messages that an honest peer does not send.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <vector>

#include "random.h"
#include "rdma_fifo.hpp"

using namespace pavo;

namespace {

using FifoClock = RdmaFifo::Clock;
using Bytes = std::vector<std::byte>;

constexpr WindowAddress fifo_a{1, 10}, fifo_b{2, 20};
constexpr size_t fifo_memory = 1 << 16;
/* PVO of the first byte of each end's memory. */
constexpr uint64_t fifo_pvo = 1 << 20;

struct Net;

struct FifoEnd : FifoPort {
	FifoEnd(Net &of, WindowAddress self, uint64_t first)
		: net(of), address(self), fifo(*this, {.attempts = 30}, first)
	{
	}

	size_t max_message() const override { return FifoMessage::size + 100; }
	std::error_code message(WindowAddress to,
				std::span<const std::byte> bytes) override;

	std::byte *at(uint64_t pvo, uint64_t length)
	{
		if (pvo < fifo_pvo || pvo - fifo_pvo > memory.size() ||
		    length > memory.size() - (pvo - fifo_pvo))
			return nullptr;
		return memory.data() + (pvo - fifo_pvo);
	}
	bool holds(uint64_t pvo, uint64_t length) override
	{
		return at(pvo, length);
	}
	bool read(uint64_t pvo, std::span<std::byte> to) override
	{
		std::byte *from = at(pvo, to.size());

		if (from)
			std::copy_n(from, to.size(), to.data());
		return from;
	}
	bool write(uint64_t pvo, std::span<const std::byte> from) override
	{
		std::byte *to = at(pvo, from.size());

		if (to)
			std::ranges::copy(from, to);
		written += to ? from.size() : 0;
		return to;
	}
	void arrive(WindowAddress from, uint32_t tag, uint32_t length) override
	{
		EXPECT_NE(from, address);
		arrived[tag]++;
		lengths[tag] = length;
	}
	void take(const RdmaPiece &piece) override
	{
		for (std::byte byte : piece.bytes)
			pieces[piece.at + pieces_of[piece.at]++] = byte;
	}
	RdmaFill feed(const RdmaReadRequest &request) override
	{
		if (rejects)
			return {};
		return [tag = request.tag](uint64_t from,
					   std::span<std::byte> to) {
			for (std::byte &byte : to)
				byte = std::byte(tag + from++);
		};
	}

	Net &net;
	WindowAddress address;
	Bytes memory = Bytes(fifo_memory);
	size_t written = 0;
	std::map<uint32_t, int> arrived;
	std::map<uint32_t, uint32_t> lengths;
	std::map<uint64_t, std::byte> pieces;
	std::map<uint64_t, uint64_t> pieces_of;
	bool rejects = false;
	size_t space = 16;
	RdmaFifo fifo;
};

struct Sent {
	bool to_b;
	Bytes bytes;
};

struct Net {
	explicit Net(uint32_t seed = 1, unsigned lost_percent = 0)
		: random(seed), loss(lost_percent)
	{
	}

	FifoEnd &end(bool is_b) { return is_b ? b : a; }

	/* One message arrives, or is lost, repeated or late. */
	void deliver()
	{
		size_t n = loss ? random.below(uint32_t(flying.size())) : 0;
		Sent one = flying[n];

		if (!loss || random.below(100) >= loss)
			flying.erase(flying.begin() + long(n));
		if (loss && random.below(100) < loss)
			return;
		end(one.to_b).fifo.take(end(!one.to_b).address, one.bytes, now);
		deliveries.push_back(one);
	}

	void step()
	{
		now += std::chrono::milliseconds(1);
		a.space = b.space = 16;
		a.fifo.look(now);
		b.fifo.look(now);
		for (int n = 0; n < 8 && !flying.empty(); n++)
			deliver();
	}

	/* Until all are over. */
	bool run()
	{
		for (int n = 0; n < 200'000 && ended < begun; n++)
			step();
		return ended == begun;
	}

	RdmaFifo::Done done(std::error_code expected = {})
	{
		begun++;
		return [this, expected](std::error_code error,
					FifoClock::time_point) {
			EXPECT_EQ(error, expected) << error.message();
			ended++;
		};
	}

	Random random;
	unsigned loss;
	FifoClock::time_point now{};
	FifoEnd a{*this, fifo_a, 100};
	FifoEnd b{*this, fifo_b, 5};
	std::deque<Sent> flying;
	std::vector<Sent> deliveries;
	unsigned begun = 0, ended = 0;
};

std::error_code FifoEnd::message(WindowAddress to,
				 std::span<const std::byte> bytes)
{
	EXPECT_LE(bytes.size(), max_message());
	if (!space)
		return std::make_error_code(std::errc::no_buffer_space);
	space--;
	net.flying.push_back({to == fifo_b, Bytes(bytes.begin(), bytes.end())});
	return {};
}

FifoTransfer transfer(Direction direction, WindowAddress peer, uint64_t local,
		      uint64_t remote, uint32_t length, uint32_t tag = 0,
		      uint8_t flags = 0)
{
	return {.direction = direction,
		.peer = peer,
		.local = fifo_pvo + local,
		.remote = fifo_pvo + remote,
		.length = length,
		.tag = tag,
		.flags = flags,
		.fill = {}};
}

void fill_random(Random &random, Bytes &bytes)
{
	for (std::byte &byte : bytes)
		byte = std::byte(random.below(256));
}

TEST(RdmaFifo, MovesEveryLengthBothWays)
{
	for (uint32_t length :
	     {0u, 1u, 63u, 64u, 65u, 128u, 6399u, 6400u, 6401u, 30'000u}) {
		Net net;

		fill_random(net.random, net.a.memory);
		net.a.fifo.start(transfer(Direction::write, fifo_b, 5, 7,
					  length, 1, rdma_flag::notify_target),
				 net.done(), net.now);
		ASSERT_TRUE(net.run()) << length;
		EXPECT_EQ(net.b.arrived[1], 1);
		EXPECT_EQ(net.b.lengths[1], length);
		net.b.fifo.start(transfer(Direction::read, fifo_a, 40'000,
					  20'000, length / 2),
				 net.done(), net.now);
		ASSERT_TRUE(net.run()) << length;
		EXPECT_TRUE(std::equal(net.a.memory.begin() + 5,
				       net.a.memory.begin() + 5 + length,
				       net.b.memory.begin() + 7));
		EXPECT_TRUE(
			std::equal(net.a.memory.begin() + 20'000,
				   net.a.memory.begin() + 20'000 + length / 2,
				   net.b.memory.begin() + 40'000));
		EXPECT_EQ(net.b.written, length + length / 2);
		EXPECT_EQ(net.a.written, 0u);
		EXPECT_EQ(net.a.fifo.repeated() + net.b.fifo.repeated(), 0u);
	}
}

TEST(RdmaFifo, EveryByteOnceOverABadNetwork)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		Net net(seed, 20);
		uint64_t put = 0;

		fill_random(net.random, net.a.memory);
		for (uint32_t tag = 1; tag <= 8; tag++) {
			uint32_t length = net.random.below(4000);
			bool write = tag % 2;

			net.end(!write).fifo.start(
				transfer(write ? Direction::write :
						 Direction::read,
					 write ? fifo_b : fifo_a, tag * 4000,
					 tag * 4000, length, tag,
					 write ? rdma_flag::notify_target : 0),
				net.done(), net.now);
			put += length;
		}
		ASSERT_TRUE(net.run()) << seed;
		EXPECT_EQ(net.b.written, put) << seed;
		for (uint32_t tag = 1; tag <= 8; tag++)
			EXPECT_EQ(net.b.arrived[tag], tag % 2) << seed;
		/* Messages of before place nothing. */
		size_t notified = net.b.arrived.size();
		auto all = net.deliveries;
		for (int times = 0; times < 2; times++)
			for (const Sent &old : all)
				net.end(old.to_b).fifo.take(
					net.end(!old.to_b).address, old.bytes,
					net.now);
		EXPECT_EQ(net.b.written, put) << seed;
		for (uint32_t tag = 1; tag <= 8; tag++)
			EXPECT_EQ(net.b.arrived[tag], tag % 2) << seed;
		EXPECT_EQ(net.b.arrived.size(), notified);
	}
}

TEST(RdmaFifo, MovesDataOfAndForProcesses)
{
	Net net(3, 10);
	auto put = transfer(Direction::write, fifo_b, 0, 0, 1000, 7,
			    rdma_flag::to_fifo | rdma_flag::notify_target);
	auto get = transfer(Direction::read, fifo_b, 0, 0, 1000, 9,
			    rdma_flag::from_fifo);

	put.local = 50;
	put.fill = [](uint64_t at, std::span<std::byte> to) {
		for (std::byte &byte : to)
			byte = std::byte(3 * at++);
	};
	put.remote = 70'000;
	get.remote = 4;
	net.a.fifo.start(put, net.done(), net.now);
	net.a.fifo.start(get, net.done(), net.now);
	ASSERT_TRUE(net.run());
	EXPECT_EQ(net.b.pieces.size(), 1000u);
	for (uint64_t n = 0; n < 1000; n++) {
		EXPECT_EQ(net.b.pieces[70'000 + n], std::byte(3 * (50 + n)));
		EXPECT_EQ(net.a.memory[n], std::byte(9 + 4 + n));
	}
	EXPECT_EQ(net.b.arrived[7], 1);
	/* One whose peer rejects it times out, as of half RDMA. */
	net.b.rejects = true;
	net.a.fifo.start(get,
			 net.done(std::make_error_code(std::errc::timed_out)),
			 net.now);
	EXPECT_TRUE(net.run());
}

TEST(RdmaFifo, TouchesOnlyMemoryThatIsMapped)
{
	const auto bad = std::make_error_code(std::errc::bad_address);
	const struct {
		uint64_t local, remote;
		uint32_t length;
	} cases[] = {
		{0, fifo_memory, 1},	 {0, fifo_memory - 100, 101},
		{0, 0, fifo_memory + 1}, {fifo_memory - 150, 0, 151},
		{0, ~fifo_pvo, 100},
	};

	for (Direction direction : {Direction::write, Direction::read})
		for (auto &c : cases) {
			Net net;

			net.a.fifo.start(transfer(direction, fifo_b, c.local,
						  c.remote, c.length, 1,
						  rdma_flag::notify_target),
					 net.done(bad), net.now);
			ASSERT_TRUE(net.run());
			EXPECT_TRUE(net.b.arrived.empty());
			/* Chunks before the end of this end's memory may be placed. */
			EXPECT_LT(net.b.written + net.a.written, c.length);
		}
}

/* A message that no honest peer sends, for a transfer that b does not know yet. */
TEST(RdmaFifo, ForgedMessagesPlaceNothing)
{
	const FifoMessage good = {.type = FifoMessage::put,
				  .flags = rdma_flag::notify_target,
				  .chunk_bytes = 64,
				  .id = 9,
				  .pvo = fifo_pvo,
				  .total = 100,
				  .chunk = 1};
	auto send = [](Net &net, const FifoMessage &head, size_t behind) {
		auto begin = head.encode();
		Bytes bytes(begin.begin(), begin.end());

		bytes.resize(bytes.size() + behind, std::byte(0xee));
		net.b.fifo.take(fifo_a, bytes, net.now);
		net.step();
	};
	auto changed = [&good](auto change) {
		FifoMessage head = good;

		change(head);
		return head;
	};
	const std::pair<FifoMessage, size_t> bad[] = {
		{good, 35},
		{good, 37},
		{good, 0},
		{changed([](auto &h) { h.type = FifoMessage::Type(0); }), 36},
		{changed([](auto &h) { h.type = FifoMessage::Type(5); }), 36},
		{changed([](auto &h) { h.flags = 0x10; }), 36},
		{changed([](auto &h) { h.flags = 0x1; }), 36},
		{changed([](auto &h) { h.status = PvoResult(5); }), 36},
		{changed([](auto &h) { h.chunk_bytes = 0; }), 36},
		{changed([](auto &h) { h.chunk_bytes = 63; }), 36},
		{changed([](auto &h) { h.chunk = 2; }), 36},
		{changed([](auto &h) { h.chunk = ~0u; }), 36},
		{changed([](auto &h) { h.total = ~0u; }), 64},
		{changed([](auto &h) { h.pvo = ~0ull; }), 36},
		{changed([](auto &h) { h.type = FifoMessage::data; }), 36},
		{changed([](auto &h) { h.type = FifoMessage::answer; }), 0},
	};

	for (auto &[head, behind] : bad) {
		Net net;

		send(net, head, behind);
		EXPECT_EQ(net.b.written, 0u);
		EXPECT_TRUE(net.b.arrived.empty());
	}
	Net net;
	send(net, good, 36);
	EXPECT_EQ(net.b.written, 36u);
	/* The rest of it, but as if it were another. */
	send(net, changed([](auto &h) {
		     h.chunk = 0;
		     h.pvo += 64;
	     }),
	     64);
	EXPECT_EQ(net.b.written, 36u);
	send(net, changed([](auto &h) { h.chunk = 0; }), 64);
	EXPECT_EQ(net.b.written, 100u);
	EXPECT_EQ(net.b.arrived[0], 1);
	for (uint32_t chunk : {0u, 1u})
		send(net, changed([&](auto &h) { h.chunk = chunk; }),
		     chunk ? 36 : 64);
	EXPECT_EQ(net.b.written, 100u);
	EXPECT_EQ(net.b.arrived[0], 1);
}

/* A peer that begins transfers and ends none gets no more memory than for so many. */
TEST(RdmaFifo, RemembersABoundedNumberOfTransfers)
{
	Net net;
	FifoMessage head = {.type = FifoMessage::put,
			    .chunk_bytes = 64,
			    .pvo = fifo_pvo,
			    .total = 100};
	auto send = [&](uint64_t id) {
		head.id = id;
		auto begin = head.encode();
		Bytes bytes(begin.begin(), begin.end());

		bytes.resize(bytes.size() + 64);
		net.b.fifo.take(fifo_a, bytes, net.now);
	};

	for (uint64_t n = 0; n < RdmaFifo::most_incoming + 50; n++)
		send(1000 + n);
	EXPECT_EQ(net.b.written, 64 * RdmaFifo::most_incoming);
	/* One that says that the earlier ones are over. */
	head.oldest = 5000;
	send(5000);
	EXPECT_EQ(net.b.written, 64 * (RdmaFifo::most_incoming + 1));
	head.oldest = 0;
	send(1000 + RdmaFifo::most_incoming);
	EXPECT_EQ(net.b.written, 64 * (RdmaFifo::most_incoming + 1));
}

} // namespace
