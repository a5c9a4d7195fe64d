// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * half_tests.cpp - half RDMA: memory at one end, the FIFO at the other. First what frames
 * and packets there are, then all forms by pavo::Rdma. Tests named Network are also run
 * with a network that loses, repeats and reorders.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "both.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;
using pavo::RdmaMove;

namespace {

/* Number of a byte where there is no memory. */
constexpr uint64_t numbers = 0x12345'6789'0000;

/* A frame that has come, copied. */
struct HalfFrame {
	pavo::FrameType type;
	uint16_t node;
	uint32_t window;
	std::vector<std::byte> payload;

	pavo::Message message() const { return {node, window, payload, type}; }
	pavo::PieceFrame piece() const { return message().piece(); }
	std::span<const std::byte> bytes() const
	{
		return std::span(payload).subspan(sizeof(pavo_rdma_piece));
	}
};

/* The next @n frames; fewer: no more have come. */
std::vector<HalfFrame> frames(pavo::Window &window, size_t n)
{
	std::vector<HalfFrame> come;

	eventually([&] {
		window.receive(
			[&](const Message &message) {
				come.push_back({message.type,
						message.from.node,
						message.from.window,
						{message.payload.begin(),
						 message.payload.end()}});
			},
			n - come.size());
		return come.size() == n;
	});
	return come;
}

/* A piece from end a to end b, @length bytes of pattern @number. */
pavo::FrameState send_piece(Ends &ends, const pavo::PieceFrame &piece,
			    uint32_t length, uint32_t number)
{
	pavo::FrameState state = pavo::FrameState::empty;
	auto bytes = pattern(number, length);

	EXPECT_TRUE(ends.a.prepare_piece(
				  {node_b, ends.b.number()}, piece, length,
				  [&](std::span<std::byte> to) {
					  std::ranges::copy(bytes, to.begin());
				  })
			    .has_value());
	EXPECT_TRUE(ends.a.start().has_value());
	eventually([&] { return ends.a.sent({&state, 1}) == 1; });
	return state;
}

pavo::PieceFrame piece_of(const Ends &ends, uint64_t tid, uint32_t total,
			  unsigned flags = pavo::rdma_flag::notify_source)
{
	return {.local_rcxt = ends.rcxt_a,
		.remote_rcxt = ends.rcxt_b,
		.tid = tid,
		.pvo = ends.there.pvo(),
		.total = total,
		.fragment = 0,
		.tag = uint32_t(0xdef000 + tid),
		.attempts = 0,
		.flags = uint8_t(flags),
		.cookie = uint32_t(0x70 + tid)};
}

/* Half-receive write: frames say which bytes they have, and the notification comes last. */
TEST(Half, AWriteBecomesFrames)
{
	constexpr uint32_t length = 5000;
	Ends ends;
	auto request = ends.request(7, length,
				    pavo::rdma_flag::notify_source |
					    pavo::rdma_flag::notify_target |
					    pavo::rdma_flag::to_fifo);
	uint32_t at = 0, fragment = 0;

	request.remote_pvo = numbers;
	ASSERT_EQ(ends.ask(true, request), pavo::FrameState::sent);
	while (at < length) {
		auto come = frames(ends.b, 1);

		ASSERT_EQ(come.size(), 1u);
		ASSERT_EQ(come[0].type, pavo::FrameType::rdma_piece);
		EXPECT_EQ(come[0].node, node_a);
		EXPECT_EQ(come[0].window, ends.a.number());
		pavo::PieceFrame piece = come[0].piece();
		EXPECT_EQ(piece.local_rcxt, ends.rcxt_b);
		EXPECT_EQ(piece.remote_rcxt, ends.rcxt_a);
		EXPECT_EQ(piece.tid, 7u);
		EXPECT_EQ(piece.pvo, numbers + at);
		EXPECT_EQ(piece.total, length);
		EXPECT_EQ(piece.fragment, fragment++);
		EXPECT_EQ(piece.tag, request.tag);
		EXPECT_EQ(piece.flags, request.flags);
		EXPECT_EQ(piece.cookie, 0u);
		EXPECT_EQ(at % pavo::piece_align, 0u);
		auto bytes = come[0].bytes();
		ASSERT_LE(at + bytes.size(), length);
		ASSERT_TRUE(std::ranges::equal(
			bytes, ends.here.memory.part(at, bytes.size())));
		at += uint32_t(bytes.size());
	}
	EXPECT_EQ(ended(ends.b).tid, 7u);
	EXPECT_EQ(ended(ends.a).tid, 7u);
	EXPECT_TRUE(ends.there.holds(2));
	EXPECT_TRUE(quiet(ends.b));
}

/* Half-receive read: likewise at the end that asked. */
TEST(Half, AReadBecomesFrames)
{
	constexpr uint32_t length = 4000;
	Ends ends;
	auto request = ends.request(3, length,
				    pavo::rdma_flag::notify_target |
					    pavo::rdma_flag::to_fifo);
	uint32_t at = 0;

	request.local_pvo = numbers;
	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	while (at < length) {
		auto come = frames(ends.a, 1);

		ASSERT_EQ(come.size(), 1u);
		ASSERT_EQ(come[0].type, pavo::FrameType::rdma_piece);
		EXPECT_EQ(come[0].piece().pvo, numbers + at);
		EXPECT_EQ(come[0].piece().cookie, request.cookie);
		auto bytes = come[0].bytes();
		ASSERT_TRUE(std::ranges::equal(
			bytes, ends.there.memory.part(at, bytes.size())));
		at += uint32_t(bytes.size());
	}
	EXPECT_EQ(at, length);
	EXPECT_EQ(ended(ends.a).cookie, request.cookie);
	EXPECT_TRUE(ends.here.holds(1));
	EXPECT_TRUE(quiet(ends.b));
}

/* Half-send write: pieces of any length, in any order, to memory. */
TEST(Half, PiecesAreWritten)
{
	constexpr uint32_t total = 1500;
	const struct {
		uint32_t at, length;
	} cuts[] = {{1000, 500}, {0, 1}, {1, 999}};
	Ends ends;

	for (uint32_t n : {0u, 1u, 2u}) {
		auto piece = piece_of(ends, 5, total);

		piece.pvo += 11 + cuts[n].at;
		piece.fragment = n;
		EXPECT_TRUE(quiet(ends.a)) << "not before all are there";
		ASSERT_EQ(send_piece(ends, piece, cuts[n].length, 30 + n),
			  pavo::FrameState::sent);
	}
	auto done = ended(ends.a);
	EXPECT_EQ(done.tid, 5u);
	EXPECT_EQ(done.cookie, 0x75u);
	EXPECT_EQ(done.length, total);
	for (uint32_t n : {0u, 1u, 2u})
		EXPECT_TRUE(std::ranges::equal(
			ends.there.memory.part(11 + cuts[n].at, cuts[n].length),
			pattern(30 + n, cuts[n].length)));
	EXPECT_TRUE(ends.there.holds(2, 0, 11));
	EXPECT_TRUE(ends.there.holds(2, 11 + total, (1 << 20) - 11 - total));
	EXPECT_TRUE(quiet(ends.b));
}

/* Half-send read: the process is asked, and its pieces go where the asker said. */
TEST(Half, AReadAsksTheProcess)
{
	constexpr uint32_t total = 900;
	Ends ends;
	auto request = ends.request(4, total,
				    pavo::rdma_flag::notify_target |
					    pavo::rdma_flag::notify_source |
					    pavo::rdma_flag::from_fifo);

	request.remote_pvo = numbers;
	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	auto come = frames(ends.b, 1);
	ASSERT_EQ(come.size(), 1u);
	ASSERT_EQ(come[0].type, pavo::FrameType::rdma_read);
	ASSERT_EQ(come[0].payload.size(), sizeof(pavo_rdma_request));
	pavo::RequestFrame asked = come[0].message().request();
	EXPECT_EQ(asked.local_rcxt, ends.rcxt_b);
	EXPECT_EQ(asked.remote_rcxt, ends.rcxt_a);
	EXPECT_EQ(asked.tid, 4u);
	EXPECT_EQ(asked.local_pvo, numbers);
	EXPECT_EQ(asked.remote_pvo, ends.here.pvo());
	EXPECT_EQ(asked.length, total);
	EXPECT_EQ(asked.tag, request.tag);
	EXPECT_EQ(asked.flags, request.flags);
	EXPECT_EQ(asked.cookie, 0u);

	auto bytes = pattern(44, total);
	pavo::PieceFrame piece{.local_rcxt = asked.local_rcxt,
			       .remote_rcxt = asked.remote_rcxt,
			       .tid = asked.tid,
			       .pvo = asked.remote_pvo,
			       .total = total,
			       .fragment = 0,
			       .tag = asked.tag,
			       .attempts = 0,
			       .flags = uint8_t(asked.flags &
						~pavo::rdma_flag::from_fifo),
			       .cookie = 0};
	ASSERT_TRUE(ends.b.prepare_piece(
				  {come[0].node, come[0].window}, piece, total,
				  [&](std::span<std::byte> to) {
					  std::ranges::copy(bytes, to.begin());
				  })
			    .has_value());
	ASSERT_TRUE(ends.b.start().has_value());
	EXPECT_EQ(ended(ends.a).tid, 4u);
	EXPECT_EQ(ended(ends.b).tid, 4u);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.part(0, total), bytes));
	EXPECT_TRUE(ends.here.holds(1, total, (1 << 20) - total));
}

/* The adapter marks the fault of a piece on its frame, and sends nothing. */
TEST(Half, WrongPieces)
{
	Ends ends;
	auto good = piece_of(ends, 9, 200, 0);
	auto wrong = [&](auto change) {
		pavo::PieceFrame piece = good;

		change(piece);
		return send_piece(ends, piece, 100, 1);
	};
	/* The library writes 0 to what is reserved; it is changed in the frame. */
	auto reserved = [&](auto change) {
		auto *frame = shared_of(ends.a).send_frame(
			ends.a.lmt().value().send_count);
		pavo::FrameState state = pavo::FrameState::empty;

		EXPECT_TRUE(ends.a.prepare_piece({node_b, ends.b.number()},
						 good, 100,
						 [](std::span<std::byte>) {})
				    .has_value());
		change(*reinterpret_cast<pavo_rdma_piece *>(frame + 1));
		EXPECT_TRUE(ends.a.start().has_value());
		eventually([&] { return ends.a.sent({&state, 1}) == 1; });
		return state;
	};
	uint32_t other = 0;

	EXPECT_EQ(wrong([&](auto &p) { p.local_rcxt ^= 1; }),
		  pavo::FrameState::bad_rcxt);
	EXPECT_EQ(wrong([](auto &p) { p.local_rcxt = ~0u; }),
		  pavo::FrameState::bad_rcxt);
	EXPECT_EQ(wrong([](auto &p) { p.flags = pavo::rdma_flag::from_fifo; }),
		  pavo::FrameState::bad_request);
	EXPECT_EQ(wrong([](auto &p) { p.flags = 0x80; }),
		  pavo::FrameState::bad_request);
	EXPECT_EQ(reserved([](auto &p) { p.counter = 65; }),
		  pavo::FrameState::bad_request);
	EXPECT_EQ(reserved([](auto &p) { p.reserved2 = 1; }),
		  pavo::FrameState::bad_request);
	ASSERT_EQ(wrong([](auto &) {}), pavo::FrameState::sent);
	/* The operation has begun: with this end, by this tid. */
	EXPECT_EQ(wrong([](auto &p) { p.tid--; }), pavo::FrameState::stale);
	must(ends.a.take_rcxts({&other, 1}));
	EXPECT_EQ(wrong([&](auto &p) { p.remote_rcxt = other; }),
		  pavo::FrameState::bad_request);
	ASSERT_TRUE(ends.a.cancel({&ends.rcxt_a, 1}).has_value());
	EXPECT_EQ(wrong([](auto &p) { p.fragment = 1; }),
		  pavo::FrameState::stale);
	/* Longer than it may be, or shorter. */
	auto *frame =
		shared_of(ends.a).send_frame(ends.a.lmt().value().send_count);
	ASSERT_TRUE(ends.a.prepare_piece({node_b, ends.b.number()}, good, 0,
					 [](std::span<std::byte>) {})
			    .has_value());
	frame->length = sizeof(pavo_rdma_piece) - 1;
	ASSERT_TRUE(ends.a.start().has_value());
	pavo::FrameState state = pavo::FrameState::empty;
	ASSERT_TRUE(eventually([&] { return ends.a.sent({&state, 1}) == 1; }));
	EXPECT_EQ(state, pavo::FrameState::bad_length);
	EXPECT_EQ(ends.a.prepare_piece({node_b, ends.b.number()}, good, 2032,
				       [](std::span<std::byte>) {}),
		  pavo::Unexpected(std::errc::message_size));
	/* Writes have no process to ask. */
	EXPECT_EQ(ends.ask(true,
			   ends.request(20, 10, pavo::rdma_flag::from_fifo)),
		  pavo::FrameState::bad_request);
}

/* A piece for which there is no frame did not come, and comes by the next attempt. */
TEST(Half, AFullFifoForgetsNothing)
{
	constexpr uint32_t length = 60'000;
	Both both(1, {.half_piece = length}, 16);
	Moved full(both.device_b, "rx_drop_fifo_full");
	std::vector<int> came(length);
	int ended = 0;

	fill(both.memory_a, 0, length, 8);
	both.rdma_b.on_piece([&](const pavo::RdmaPiece &piece) {
		for (size_t i = 0; i < piece.bytes.size(); i++) {
			size_t at = piece.at - numbers + i;

			ASSERT_LT(at, length);
			EXPECT_EQ(piece.bytes[i], both.memory_a.at()[at]);
			came[at]++;
		}
	});
	(void)both.rdma_a.put(both.b_of_a,
			      {.local = both.mapping_a.pvo(),
			       .remote = {numbers},
			       .length = length,
			       .notify = true,
			       .tag = 3,
			       .target = pavo::RdmaEnd::fifo},
			      [&](const pavo::Result<void> &how) {
				      EXPECT_TRUE(how.has_value())
					      << how.error().message();
				      ended++;
			      });
	/* Its process does not look while the first attempt is sent. */
	ASSERT_TRUE(eventually([&] { return full.by() >= 10; }));
	ASSERT_TRUE(both.run());
	EXPECT_EQ(ended, 1);
	EXPECT_EQ(both.arrived_b[3], 1);
	EXPECT_EQ(both.lengths[3], length);
	EXPECT_TRUE(std::ranges::all_of(came, [](int n) { return n == 1; }));
	EXPECT_GT(both.rdma_a.retries(), 0u);
}

/* When the target's process is notified of the whole, all its pieces are there. */
TEST(Half, ToldOfAllPiecesTogether)
{
	constexpr uint32_t length = 50'001;
	Both both(3, {.half_piece = 4096});
	uint32_t came = 0, ended = 0;

	both.rdma_b.on_piece([&](const pavo::RdmaPiece &piece) {
		EXPECT_EQ(piece.tag, 9u);
		EXPECT_LT(piece.at, numbers + length);
		came += uint32_t(piece.bytes.size());
	});
	both.rdma_b.on_arrival([&](const pavo::RdmaArrival &arrival) {
		EXPECT_EQ(arrival.tag, 9u);
		EXPECT_EQ(arrival.length, length);
		EXPECT_EQ(came, length);
		both.arrived_b[9]++;
	});
	(void)both.rdma_a.put(both.b_of_a,
			      {.local = both.mapping_a.pvo(),
			       .remote = {numbers},
			       .length = length,
			       .notify = true,
			       .tag = 9,
			       .target = pavo::RdmaEnd::fifo},
			      [&](const pavo::Result<void> &how) {
				      EXPECT_TRUE(how.has_value())
					      << how.error().message();
				      ended++;
			      });
	ASSERT_TRUE(both.run());
	EXPECT_EQ(ended, 1u);
	EXPECT_EQ(both.arrived_b[9], 1);
}

/* Operations that cannot be are refused at once, and nothing is called. */
TEST(Half, RefusesWhatCannotBe)
{
	Both both(1);
	RdmaMove move{.local = both.mapping_a.pvo(),
		      .remote = {(1ull << 63) - 9},
		      .length = 10,
		      .target = pavo::RdmaEnd::fifo};
	int ended = 0;
	auto over = [&](const pavo::Result<void> &) { ended++; };

	EXPECT_EQ(both.rdma_a.put(both.b_of_a, move, over),
		  pavo::Unexpected(std::errc::invalid_argument))
		<< "numbers of bytes that are too high";
	EXPECT_EQ(both.rdma_a.put(99, move, over),
		  pavo::Unexpected(std::errc::invalid_argument));
	move.source = pavo::RdmaEnd::fifo;
	move.remote = {numbers};
	EXPECT_EQ(both.rdma_a.put(both.b_of_a, move, over),
		  pavo::Unexpected(std::errc::invalid_argument))
		<< "no feeder makes the data";
	EXPECT_EQ(both.rdma_a.pending(), 0u);
	ASSERT_TRUE(both.run());
	EXPECT_EQ(ended, 0);
	/* The last that there are. */
	move.source = pavo::RdmaEnd::memory;
	move.remote = {(1ull << 63) - 10};
	ASSERT_TRUE(both.rdma_a.put(both.b_of_a, move, over).has_value());
	ASSERT_TRUE(both.run());
	EXPECT_EQ(ended, 1);
}

TEST(Half, NobodyFeeds)
{
	Both both(2,
		  {.timeout = std::chrono::microseconds(500), .attempts = 4});
	pavo::Result<void> result;

	(void)both.rdma_a.get(both.b_of_a,
			      {.local = both.mapping_a.pvo(),
			       .remote = {numbers},
			       .length = 10,
			       .source = pavo::RdmaEnd::fifo},
			      [&](const pavo::Result<void> &how) {
				      result = how;
			      });
	ASSERT_TRUE(both.run());
	EXPECT_EQ(result, pavo::Unexpected(std::errc::timed_out));
}

/* One operation between two ends, of which one or both are FIFOs. */
struct Half {
	bool at_a, write, from_fifo, to_fifo;
	uint32_t n, length;
	/* Where there is memory. */
	size_t place;
	std::vector<int> came;
	int ended = 0;

	std::byte made(uint64_t at) const
	{
		return std::byte(pattern_byte(n, at));
	}

	RdmaMove move(Both &both) const
	{
		pavo::Pvo here = (at_a ? both.mapping_a : both.mapping_b).pvo();
		pavo::Pvo there =
			(at_a ? both.mapping_b : both.mapping_a).pvo();
		bool local_fifo = write ? from_fifo : to_fifo;
		bool remote_fifo = write ? to_fifo : from_fifo;
		RdmaMove move{.local = local_fifo ? pavo::Pvo{numbers} :
						    here + place,
			      .remote = remote_fifo ? pavo::Pvo{numbers} :
						      there + place,
			      .length = length,
			      .notify = n % 3 == 0,
			      .tag = n,
			      .target = common::end_of(to_fifo),
			      .source = common::end_of(from_fifo)};

		if (write && from_fifo)
			move.fill = filler();
		return move;
	}

	pavo::RdmaFill filler() const
	{
		return [this](uint64_t at, std::span<std::byte> to) {
			for (std::byte &byte : to)
				byte = made(at++ - numbers);
		};
	}

	/* Memory of the end where the data is, and of that where it goes. */
	world::Memory &source(Both &both) const
	{
		return at_a == write ? both.memory_a : both.memory_b;
	}
	world::Memory &target(Both &both) const
	{
		return at_a == write ? both.memory_b : both.memory_a;
	}

	void take(Both &both, const pavo::RdmaPiece &piece)
	{
		for (size_t i = 0; i < piece.bytes.size(); i++) {
			size_t at = piece.at - numbers + i;

			ASSERT_LT(at, length);
			ASSERT_EQ(piece.bytes[i], expected(both, at));
			came[at]++;
		}
	}

	std::byte expected(Both &both, size_t at) const
	{
		return from_fifo ? made(at) : source(both).at()[place + at];
	}

	void expect_whole(Both &both) const
	{
		EXPECT_EQ(ended, 1) << n;
		for (size_t at = 0; at < length; at++)
			if (to_fifo)
				ASSERT_EQ(came[at], 1) << n << ", " << at;
			else
				ASSERT_EQ(target(both).at()[place + at],
					  expected(both, at))
					<< n << ", " << at;
	}
};

std::vector<Half> halves(Both &both)
{
	const uint32_t lengths[] = {0, 1, 63, 64, 1984, 1985, 20'000, 70'001};
	std::vector<Half> all;
	size_t place = 0;
	uint32_t n = 0;

	for (bool at_a : {true, false})
		for (bool write : {true, false})
			for (int fifo : {1, 2, 3})
				for (uint32_t length : lengths) {
					all.push_back(
						{at_a, write, bool(fifo & 1),
						 bool(fifo & 2), n++, length,
						 place,
						 std::vector<int>(length)});
					place += length + 5;
				}
	for (const Half &half : all) {
		fill(half.source(both), half.place, half.length, half.n);
		fill(half.target(both), half.place, half.length, half.n + 7);
	}
	return all;
}

/* All forms in both directions at the same time. */
TEST(Network, HalfOperationsOnce)
{
	Both both;
	auto all = halves(both);

	for (auto *rdma : {&both.rdma_a, &both.rdma_b}) {
		rdma->on_piece([&](const pavo::RdmaPiece &piece) {
			all.at(piece.tag).take(both, piece);
		});
		rdma->on_feed([&](const pavo::RdmaReadRequest &asked) {
			return all.at(asked.tag).filler();
		});
	}
	for (Half &half : all) {
		auto &rdma = half.at_a ? both.rdma_a : both.rdma_b;
		auto peer = half.at_a ? both.b_of_a : both.a_of_b;
		auto over = [&half](const pavo::Result<void> &how) {
			EXPECT_TRUE(how.has_value()) << how.error().message();
			half.ended++;
		};

		if (half.write)
			(void)rdma.put(peer, half.move(both), over);
		else
			(void)rdma.get(peer, half.move(both), over);
	}
	ASSERT_TRUE(both.run());
	for (Half &half : all) {
		half.expect_whole(both);
		EXPECT_EQ((half.at_a ? both.arrived_b : both.arrived_a)[half.n],
			  half.n % 3 == 0)
			<< half.n;
		if (half.n % 3 == 0) {
			EXPECT_EQ(both.lengths[half.n], half.length) << half.n;
		}
	}
}

} // namespace
