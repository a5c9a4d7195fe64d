// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group_way_tests.cpp - RDMA to a group by several ways: all routes to it, in turn, and a part by
 * each of two adapters. Each packet is on the wire once, and each byte is at its place at all members.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <pavo/broadcast.hpp>

#include "raw.h"
#include "second_wire.h"

using namespace windows;
using pavo::Broadcast;
using pavo::BroadcastTarget;

namespace {

constexpr size_t way_bytes = 1 << 20;
constexpr uint32_t way_piece = 1 << 16, way_pieces = way_bytes / way_piece;
/* Of data in a packet, on a wire of 1500 bytes. */
constexpr uint32_t way_payload = 1380;
constexpr uint32_t packets_a_piece =
	(way_piece + way_payload - 1) / way_payload;
constexpr uint16_t way_node = 60;

/* Not so slow is any kernel that a packet goes a second time. */
pavo::BroadcastOptions way_options()
{
	return {.group = {.gid = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff,
				   239, 7, 7, 9}},
			  .number = pavo::window_group | 79},
		.node = way_node,
		.piece = way_piece,
		.timeout = std::chrono::seconds(20),
		.max_timeout = std::chrono::seconds(20)};
}

/* A window of an adapter, with memory, and RDMA. */
struct WayEnd : PathEnd {
	WayEnd(const char *name, uint16_t node, world::Memory &memory)
		: PathEnd(name, node),
		  mapping(pavo::Mapping::open(job, memory.all()).value())
	{
		window = std::make_unique<pavo::Window>(
			pavo::Window::open(job, {.node = node,
						 .send_frames = 256,
						 .recv_frames = 1024,
						 .gid_index = address.index,
						 .broadcast = true})
				.value());
		rdma = std::make_unique<pavo::Rdma>(
			pavo::Rdma::open(*window).value());
	}

	pavo::Mapping mapping;
	std::unique_ptr<pavo::Rdma> rdma;
};

struct WaySource : WayEnd {
	WaySource(const char *name, world::Memory &memory)
		: WayEnd(name, node_a, memory),
		  cast(Broadcast::open(*rdma, way_options()).value())
	{
	}

	/* One piece, an operation of its own. */
	void put(size_t piece)
	{
		const uint64_t at = piece * way_piece;

		must(cast.put({.local = mapping.pvo() + at,
			       .offset = at,
			       .length = way_piece,
			       .tag = uint32_t(piece)},
			      [this](const pavo::Result<void> &how) {
				      EXPECT_TRUE(how.has_value())
					      << how.error().message();
				      over++;
			      }));
	}

	Broadcast cast;
	size_t over = 0;
};

struct WayTarget : WayEnd {
	WayTarget(const char *name, world::Memory &memory, WaySource &source)
		: WayEnd(name, node_b, memory),
		  target(BroadcastTarget::open(*rdma, way_options().group,
					       mapping.pvo(), way_bytes)
				 .value())
	{
		must(window->set_node(node_a, source.address.gid));
		must(source.window->set_node(node_b, address.gid));
		must(source.cast.add(window->address()));
		target.on_arrival([this](const pavo::BroadcastArrival &one) {
			arrived[one.tag]++;
		});
	}

	BroadcastTarget target;
	std::map<uint32_t, int> arrived;
};

/* Packets of data, by the bytes at @at. */
std::map<uint64_t, size_t> ways_of(const std::vector<Frame> &frames, size_t at,
				   size_t bytes)
{
	std::map<uint64_t, size_t> ways;

	for (const Frame &frame : frames)
		ways[field(frame, at, bytes)]++;
	return ways;
}

TEST(Routes, ToAGroupTakeTurns)
{
	world::Memory from(way_bytes), one(way_bytes), two(way_bytes);
	WaySource source("wa0", from);
	WayTarget first("wb0", one, source), second("wb0", two, source);
	const Address other = address_in(source.device, 1);
	Wire wire("vb");

	common::fill(from.all(), 1);
	must(source.window->set_node(way_node, way_options().group.gid,
				     {.ports = 3}));
	must(source.window->add_route(way_node, way_options().group.gid,
				      {.ports = 3, .gid_index = other.index}));
	for (size_t piece = 0; piece < way_pieces; piece++)
		source.put(piece);
	ASSERT_TRUE(eventually([&] {
		must(source.cast.progress());
		must(first.rdma->progress());
		must(second.rdma->progress());
		return source.over == way_pieces;
	}));
	EXPECT_EQ(source.cast.retries(), 0u);
	EXPECT_TRUE(common::holds(one.all(), 1));
	EXPECT_TRUE(common::holds(two.all(), 1));
	for (const WayTarget *target : {&first, &second})
		for (uint32_t piece = 0; piece < way_pieces; piece++)
			EXPECT_EQ(target->arrived.at(piece), 1);
	/* However many members there are. */
	const auto frames = wire.recorded();
	ASSERT_EQ(frames.size(), way_pieces * packets_a_piece);
	for (auto [at, bytes, ways] :
	     {std::array<size_t, 3>{AT_FROM, 4, 2}, {AT_PORT, 2, 6}}) {
		const auto seen = ways_of(frames, at, bytes);

		EXPECT_EQ(seen.size(), ways);
		for (auto [way, packets] : seen)
			EXPECT_NEAR(double(packets),
				    double(frames.size()) / double(ways),
				    double(way_pieces))
				<< way;
	}
}

/* As a program does it: a Broadcast at each adapter, and the next piece for the one that is idle. */
TEST(Routes, OfTwoAdaptersShareAGroup)
{
	world::Memory from(way_bytes), to(way_bytes);
	WaySource source_a("wa0", from), source_c("wc0", from);
	WayTarget target_b("wb0", to, source_a), target_d("wd0", to, source_c);
	Wire wire_b("vb"), wire_d("vd");
	size_t next = 0;

	common::fill(from.all(), 2);
	EXPECT_EQ(target_b.mapping.pvo(), target_d.mapping.pvo());
	ASSERT_TRUE(eventually([&] {
		for (WaySource *source : {&source_a, &source_c}) {
			if (!source->cast.pending() && next < way_pieces)
				source->put(next++);
			must(source->cast.progress());
		}
		must(target_b.rdma->progress());
		must(target_d.rdma->progress());
		return source_a.over + source_c.over == way_pieces;
	}));
	EXPECT_TRUE(common::holds(to.all(), 2));
	EXPECT_GT(source_a.over, 0u);
	EXPECT_GT(source_c.over, 0u);
	EXPECT_EQ(wire_b.recorded().size(), source_a.over * packets_a_piece);
	EXPECT_EQ(wire_d.recorded().size(), source_c.over * packets_a_piece);
	for (uint32_t piece = 0; piece < way_pieces; piece++)
		EXPECT_EQ(target_b.arrived[piece] + target_d.arrived[piece], 1);
}

} // namespace
