// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_routes.cpp - messages and RDMA between machines that have two addresses each: they
 * are what they are by one, and packets go by both.
 */
#include "coming.h"
#include "nodes.h"

namespace nodes {

namespace {

using Address = pavo::AdapterAddress;

/* 192.168.79 of the first adapter (nodes-lib.sh). */
Address second_of(const std::string &device)
{
	auto found = common::find_gid(device, [](const auto &gid) {
		return gid.is_ipv4() && gid.bytes[12] == 192 &&
		       gid.bytes[13] == 168 && gid.bytes[14] == 79;
	});

	return {found.index, found.bytes};
}

/* A test, with the routes by second addresses; about as many packets come to each. */
void by_two(const Arguments &arguments, void (*test)(const Arguments &))
{
	const std::string &device = arguments.adapters[0];
	Coming first(pavo::Device::open(device).value().address().value().gid);
	Coming second(second_of(device).gid);
	Arguments two = arguments;

	two.second = true;
	test(two);
	unsigned by_first = first.packets(), by_second = second.packets();
	must(by_first + by_second > 100, "next to nothing has come");
	/* Routes differ in what routers look at, too. */
	must(first.sources().ports > 1 && second.sources().ports > 1,
	     "packets come by one source port");
	must(by_first > (by_first + by_second) / 4 &&
		     by_second > (by_first + by_second) / 4,
	     "packets keep to one of two addresses");
}

} // namespace

void send_from_second(nodes::Node &node, uint16_t to, const pavo::Gid &gid)
{
	const uint32_t index = second_of(node.device.name()).index;

	must(node.window.add_route(to, gid, {.gid_index = index}),
	     "routes by second addresses");
}

void introduce_second(nodes::Node &node, nodes::Meeting &meeting)
{
	const pavo::Gid mine = second_of(node.device.name()).gid;

	send_from_second(node, meeting.other(), meeting.exchange(mine));
}

void serve_messages_by_two(const Arguments &arguments)
{
	by_two(arguments, serve_messages);
}

void send_messages_by_two(const Arguments &arguments)
{
	by_two(arguments, send_messages);
}

void serve_rdma_by_two(const Arguments &arguments)
{
	by_two(arguments, serve_rdma);
}

void ask_for_rdma_by_two(const Arguments &arguments)
{
	by_two(arguments, ask_for_rdma);
}

} // namespace nodes
