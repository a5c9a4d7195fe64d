// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * route_tests.cpp - several routes to a node: that packets take all of them, that no byte
 * is lost by it, and that one that leads nowhere does not stop what goes by the others.
 * Both adapters have addresses in 10.9.0 and 10.9.1 (guest.sh).
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <thread>

#include <pavo/rdma.hpp>

#include "both.h"
#include "command.hpp"
#include "raw.h"

using namespace windows;
using pavo::Rdma;

namespace {

constexpr size_t route_memory = 1 << 20;

/* Both ends with a megabyte, and operations from end a. */
struct RouteEnds : Pair {
	explicit RouteEnds(bool ipv6 = false)
		: Pair(ipv6, 1024, 256), memory_a(route_memory),
		  memory_b(route_memory),
		  mapping_a(pavo::Mapping::open(job_a, memory_a.all()).value()),
		  mapping_b(pavo::Mapping::open(job_b, memory_b.all()).value()),
		  rdma_a(pavo::Rdma::open(a).value()),
		  rdma_b(pavo::Rdma::open(b).value())
	{
		peer = introduce(rdma_a, rdma_b, node_b, b.number(), 2);
	}

	/* All of it, there or here; every byte is looked at. */
	void move(bool put, uint32_t number)
	{
		int ended = 0;
		auto over = [&](const pavo::Result<void> &how) {
			EXPECT_TRUE(how.ok()) << how.error().message();
			ended++;
		};
		pavo::RdmaMove all{.local = mapping_a.pvo(),
				   .remote = mapping_b.pvo(),
				   .length = route_memory};

		common::fill((put ? memory_a : memory_b).all(), number);
		common::fill((put ? memory_b : memory_a).all(), number + 1);
		if (put)
			(void)rdma_a.put(peer, all, over);
		else
			(void)rdma_a.get(peer, all, over);
		ASSERT_TRUE(eventually([&] {
			(void)rdma_a.progress();
			(void)rdma_b.progress();
			return ended;
		}));
		ASSERT_TRUE(std::ranges::equal(memory_a.all(), memory_b.all()));
		ASSERT_TRUE(common::holds(memory_b.all(), number));
	}

	/* @n short messages, and their ends. */
	void messages(unsigned n)
	{
		unsigned seen = 0;

		rdma_b.on_message([&](const pavo::Message &) { seen++; });
		for (unsigned i = 0; i < n; i++)
			ASSERT_TRUE(
				rdma_a.send({node_b, b.number()}, pattern(i, i))
					.ok());
		ASSERT_TRUE(eventually([&] {
			(void)rdma_b.progress();
			return seen == n;
		}));
		rdma_b.on_message({});
	}

	world::Memory memory_a;
	world::Memory memory_b;
	pavo::Mapping mapping_a;
	pavo::Mapping mapping_b;
	Rdma rdma_a;
	Rdma rdma_b;
	Rdma::Peer peer;
};

using Counts = std::map<uint64_t, size_t>;

/* How many packets have which value of a field. */
Counts counts(const std::vector<Frame> &frames, size_t at, size_t bytes)
{
	Counts counts;

	for (const Frame &frame : frames)
		counts[field(frame, at, bytes)]++;
	return counts;
}

/* All about as many. */
void expect_even(const Counts &counts, size_t values, size_t frames)
{
	EXPECT_EQ(counts.size(), values);
	for (auto [value, n] : counts) {
		EXPECT_GT(n, frames / values * 3 / 4) << value;
		EXPECT_LT(n, frames / values * 5 / 4) << value;
	}
}

void expect_ports(const Counts &ports)
{
	for (auto [port, n] : ports)
		EXPECT_GE(port, 0xc000u);
}

/* An IPv4 address as a number. */
uint64_t number_of(const pavo::Gid &gid)
{
	return uint64_t(gid[12]) << 24 | gid[13] << 16 | gid[14] << 8 | gid[15];
}

TEST(Routes, DataTakesEveryPort)
{
	constexpr size_t packets = route_memory / 1380;

	for (uint16_t requested : {1, 4, 16, 0}) {
		RouteEnds ends;
		Wire wire("vb");
		size_t ports = requested ? requested : 4;

		must(ends.a.set_node(node_b, ends.address_b.gid,
				     {.ports = requested}));
		ends.move(true, requested);
		auto frames = wire.recorded();
		auto seen = counts(frames, AT_PORT, 2);
		EXPECT_GE(frames.size(), packets);
		expect_even(seen, ports, frames.size());
		expect_ports(seen);
	}
}

/* So does what an answer consists of, by the routes of who answers. */
TEST(Routes, DataThatIsReadTakesEveryPort)
{
	RouteEnds ends;
	Wire wire("va");

	must(ends.b.set_node(node_a, ends.address_a.gid, {.ports = 8}));
	ends.move(false, 1);
	auto frames = wire.recorded();
	expect_even(counts(frames, AT_PORT, 2), 8, frames.size());
}

TEST(Routes, MessagesTakeTurns)
{
	RouteEnds ends;
	Wire wire("vb");

	must(ends.a.set_node(node_b, ends.address_b.gid, {.ports = 5}));
	ends.messages(60);
	auto seen = counts(wire.recorded(0xc0), AT_PORT, 2);
	EXPECT_EQ(seen.size(), 5u);
	for (auto [port, n] : seen)
		EXPECT_EQ(n, 12u) << port;
	expect_ports(seen);
}

TEST(Routes, OverIPv6)
{
	constexpr uint16_t routes = 7;
	RouteEnds ends(true);
	Wire wire("vb");

	must(ends.a.set_node(node_b, ends.address_b.gid, {.ports = routes}));
	ends.move(true, 1);
	auto frames = wire.recorded(0xc1, true);
	auto ports = counts(frames, AT6_PORT, 2);
	auto labels = counts(frames, AT6_LABEL, 3);
	Counts both;
	EXPECT_GE(frames.size(), route_memory / 1380);
	expect_even(ports, routes, frames.size());
	expect_ports(ports);
	/* A router that balances by labels sees as many ways, and those are the same. */
	expect_even(labels, routes, frames.size());
	EXPECT_FALSE(labels.contains(0));
	for (const Frame &frame : frames)
		both[field(frame, AT6_LABEL, 3) << 16 |
		     field(frame, AT6_PORT, 2)]++;
	expect_even(both, routes, frames.size());
	ends.move(false, 2);
}

TEST(Routes, TwoAddressesOfANode)
{
	RouteEnds ends;
	Address second = address_in(ends.device_b, 1);
	Wire wire("vb");

	must(ends.a.set_node(node_b, ends.address_b.gid, {.ports = 2}));
	must(ends.a.add_route(node_b, second.gid, {.ports = 2}));
	ends.move(true, 1);
	auto frames = wire.recorded();
	auto seen = counts(frames, AT_TO, 4);
	expect_even(seen, 2, frames.size());
	EXPECT_TRUE(seen.contains(number_of(ends.address_b.gid)));
	EXPECT_TRUE(seen.contains(number_of(second.gid)));
	expect_even(counts(frames, AT_PORT, 2), 4, frames.size());
	EXPECT_EQ(counts(frames, AT_FROM, 4).size(), 1u);
	ends.move(false, 2);
	/* Instead of all. */
	must(ends.a.set_node(node_b, second.gid, {.ports = 1}));
	wire.recorded();
	ends.messages(8);
	seen = counts(wire.recorded(0xc0), AT_TO, 4);
	EXPECT_EQ(seen, (Counts{{number_of(second.gid), 8}}));
}

TEST(Routes, TwoAddressesOfThisAdapter)
{
	RouteEnds ends;
	Address second = address_in(ends.device_a, 1);
	Wire wire("vb");

	must(ends.a.set_node(node_b, ends.address_b.gid, {.ports = 1}));
	must(ends.a.add_route(node_b, address_in(ends.device_b, 1).gid,
			      {.ports = 1, .gid_index = second.index}));
	ends.move(true, 1);
	auto frames = wire.recorded();
	auto seen = counts(frames, AT_FROM, 4);
	expect_even(seen, 2, frames.size());
	EXPECT_TRUE(seen.contains(number_of(second.gid)));
	/* The pairs are kept together. */
	for (const Frame &frame : frames)
		ASSERT_EQ(field(frame, AT_FROM, 3), field(frame, AT_TO, 3));
}

/* At both ends, so requests, data and answers meet it. */
TEST(Routes, OneOfTwoAddressesIsUnreachable)
{
	RouteEnds ends;
	pavo::Gid nobody_b = ends.address_b.gid, nobody_a = nobody_b;

	nobody_b[15] = 77;
	nobody_a[15] = 78;
	must(ends.a.set_node(node_b, nobody_b, {.ports = 1}));
	must(ends.a.add_route(node_b, ends.address_b.gid, {.ports = 1}));
	must(ends.b.set_node(node_a, ends.address_a.gid, {.ports = 1}));
	must(ends.b.add_route(node_a, nobody_a, {.ports = 1}));
	for (uint32_t round = 0; round < 3; round++) {
		ends.move(true, 2 * round + 1);
		ends.move(false, 2 * round + 2);
	}
	EXPECT_GT(ends.rdma_a.repeated(), 0u);
}

TEST(Routes, ThereAreSoMany)
{
	RouteEnds ends;
	Wire wire("vb");
	const pavo::Gid &gid = ends.address_b.gid;
	pavo::Gid none{}, six = address_of(ends.device_b, true).gid;

	must(ends.a.set_node(node_b, gid, {.ports = 16}));
	for (int i = 0; i < 3; i++)
		must(ends.a.add_route(node_b, gid, {.ports = 16}));
	EXPECT_EQ(ends.a.add_route(node_b, gid, {.ports = 1}),
		  std::errc::no_space_on_device);
	EXPECT_EQ(ends.a.add_route(node_b, gid), std::errc::no_space_on_device);
	for (uint16_t ports : {17, 1000, 65535})
		EXPECT_EQ(ends.a.set_node(node_b, gid, {.ports = ports}),
			  std::errc::invalid_argument)
			<< ports;
	for (uint16_t index : {63, 256, 65535})
		EXPECT_EQ(ends.a.set_node(node_b, gid, {.gid_index = index}),
			  std::errc::invalid_argument)
			<< index;
	EXPECT_EQ(ends.a.set_node(node_b, none), std::errc::invalid_argument);
	EXPECT_EQ(ends.a.set_node(node_b, six), std::errc::invalid_argument)
		<< "from an address of IPv4";
	EXPECT_EQ(ends.a.add_route(64, gid), std::errc::invalid_argument);
	/* The routes from before have stayed. */
	ends.messages(64);
	auto seen = counts(wire.recorded(0xc0), AT_PORT, 2);
	EXPECT_EQ(seen.size(), 64u) << "a port for each route";
	expect_ports(seen);
	/* To a node that had none. */
	must(ends.a.add_route(63, gid, {.ports = 2}));
}

/* Arguments that the library would not pass. */
TEST(Routes, HostileArguments)
{
	pavo::Device device = world::adapter();
	pavo::Job job =
		pavo::Job::reserve(device, world::job_id, world::job_key)
			.value();
	Address own = address_of(device);
	pavo_window_args args = {.send_frames = 16,
				 .recv_frames = 16,
				 .nodes = 4,
				 .node = 0,
				 .sgid_index = own.index,
				 .recv_event = -1,
				 .send_event = -1,
				 .flags = 0};
	pavo_window_resp resp{};
	pavo::Command open(PAVO_OBJECT_WINDOW, PAVO_METHOD_WINDOW_OPEN);
	open.new_handle(PAVO_ATTR_WINDOW_HANDLE)
		.handle(PAVO_ATTR_WINDOW_JOB, job.handle())
		.in(PAVO_ATTR_WINDOW_ARGS, args)
		.out(PAVO_ATTR_WINDOW_RESP, resp);
	ASSERT_EQ(open.run(job.fd()), 0);
	auto result = [&](auto change) {
		pavo_window_node_args routes{};

		memcpy(routes.gid, own.gid.data(), own.gid.size());
		routes.ports = 1;
		change(routes);
		return pavo::Command(PAVO_OBJECT_WINDOW,
				     PAVO_METHOD_WINDOW_NODE)
			.handle(PAVO_ATTR_WINDOW_HANDLE, open.made())
			.in(PAVO_ATTR_WINDOW_NODE_ARGS, routes)
			.run(job.fd());
	};
	using Args = pavo_window_node_args;

	EXPECT_EQ(result([](Args &) {}), 0);
	for (int bit = 2; bit < 16; bit++)
		EXPECT_EQ(result([&](Args &a) { a.flags = 1 << bit; }), EINVAL);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(result([&](Args &a) { a.reserved[i] = 1; }), EINVAL);
	EXPECT_EQ(result([](Args &a) { a.sgid_index = 1; }), EINVAL)
		<< "without its flag";
	for (uint32_t node : {4u, 65536u, 0x7fffffffu, 0xffffffffu})
		EXPECT_EQ(result([&](Args &a) { a.node = node; }), EINVAL);
	EXPECT_EQ(result([](Args &a) { a.flags = PAVO_NODE_ADD; }), 0);
}

/* Packets are on their way by routes that end. */
TEST(Routes, ChangedUnderTraffic)
{
	constexpr int changes = 400;
	RouteEnds ends;
	Address second = address_in(ends.device_b, 1);
	std::atomic<bool> over = false;
	std::thread changer([&] {
		for (int i = 0; i < changes; i++) {
			uint16_t ports = uint16_t(1 + i % 16);

			must(ends.a.set_node(node_b, ends.address_b.gid,
					     {.ports = ports}));
			must(ends.a.add_route(node_b, second.gid,
					      {.ports = ports}));
			must(ends.b.set_node(node_a, ends.address_a.gid,
					     {.ports = ports}));
		}
		over = true;
	});

	for (uint32_t n = 0; !over; n++) {
		ends.move(n % 2, n);
		if (testing::Test::HasFatalFailure())
			break;
	}
	changer.join();
	ends.move(true, 1);
}

} // namespace
