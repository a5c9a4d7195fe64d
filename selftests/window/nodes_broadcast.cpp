// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_broadcast.cpp - RDMA to a group of machines. The one that serves is the source. All others
 * but the last one are members: on that one no byte and no counter changes. In some rounds the
 * adapter of the source or of a member recovers in the middle.
 */
#include <pavo/broadcast.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>

#include "nodes.h"

using pavo::Broadcast;
using pavo::BroadcastGroup;

namespace nodes {

namespace {

constexpr size_t cast_memory = 1 << 20;
constexpr unsigned cast_rounds = 12;
/* Whose pattern memory has to which nothing was written. */
constexpr uint32_t cast_untouched = 300;
/* Number of no machine. */
constexpr uint16_t all_members = 60;

BroadcastGroup cast_group()
{
	return {.gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 77, 0,
			1},
		.number = pavo::window_group | 77};
}

/* Bytes of an operation, and where: from none to all of the memory. */
uint32_t cast_length(uint32_t round)
{
	return round ? uint32_t(cast_memory >> (round % 12)) - round : 0;
}

uint64_t cast_offset(uint32_t round)
{
	return round % 3 * 13;
}

/* Whose adapter recovers in the middle of an operation. */
enum class Recovers { none, source, member };

Recovers recovers_in(uint32_t round)
{
	constexpr Recovers turns[] = {Recovers::none, Recovers::source,
				      Recovers::none, Recovers::member};

	return turns[round % 4];
}

/* Of the whole machine, which does nothing else by RDMA. */
uint64_t came(const std::string &adapter)
{
	return common::counter(adapter, "rx_rdma_packets");
}

struct CastSource : Visitors {
	explicit CastSource(const Arguments &arguments,
			    std::chrono::microseconds timeout)
		: Visitors(arguments.clients), adapter(arguments.adapters[0]),
		  node(adapter, job_id, job_key, 0), memory(cast_memory),
		  mapping(pavo::Mapping::open(node.job, memory).value())
	{
		allow_broadcast(node);
		rdma.emplace(pavo::Rdma::open(node.window).value());
		cast.emplace(Broadcast::open(*rdma, {.group = cast_group(),
						     .node = all_members,
						     .timeout = timeout})
				     .value());
		for (nodes::Meeting &meeting : meetings)
			windows.push_back(node.introduce(meeting));
		for (size_t i = 0; i + 1 < windows.size(); i++)
			must(cast->add(windows[i]), "member");
	}

	/* To all members, and until all have it. */
	void put(uint32_t round)
	{
		pavo::Completion over;

		fill(memory, 0, round);
		must(cast->put({.local = mapping.pvo(),
				.offset = cast_offset(round),
				.length = cast_length(round),
				.tag = round},
			       over),
		     "put");
		if (recovers_in(round) == Recovers::source)
			recover(adapter);
		until("a group to have it", [&] {
			must(cast->progress(), "progress");
			return over.over();
		});
		must(over.result(), "RDMA to a group");
	}

	/* Packets of an operation, each of which goes over the wire once. */
	uint64_t packets(uint32_t round) const
	{
		const uint32_t length = cast_length(round),
			       most = node.window.rdma_payload();

		return length ? (length + most - 1) / most : 1;
	}

	std::string adapter;
	Node node;
	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	std::optional<pavo::Rdma> rdma;
	std::optional<Broadcast> cast;
	std::vector<pavo::WindowAddress> windows;
};

struct CastClient {
	explicit CastClient(const Arguments &arguments)
		: adapter(arguments.adapters[0]), meeting(visit(arguments)),
		  node(adapter, job_id, job_key, meeting.node()),
		  memory(cast_memory + 64),
		  mapping(pavo::Mapping::open(node.job, memory).value()),
		  rdma(pavo::Rdma::open(node.window).value())
	{
		fill(memory, cast_untouched, meeting.node());
		node.introduce(meeting);
	}

	void join()
	{
		target.emplace(pavo::BroadcastTarget::open(rdma, cast_group(),
							   mapping.pvo(),
							   memory.size())
				       .value());
		target->on_arrival([this](const pavo::BroadcastArrival &one) {
			must(one.from.node == 0, "it is not of the source");
			arrived.push_back(one.tag);
		});
	}

	/* Answers until the source waits for this end. @middle: what is done when packets have come. */
	void serve(const std::function<void()> &middle = {})
	{
		const uint64_t before = came(adapter);
		bool over = !middle;

		until("the source", [&] {
			if (!over && came(adapter) != before) {
				over = true;
				middle();
			}
			must(rdma.progress(), "progress");
			return meeting.anything();
		});
	}

	/* It has come once, and is in its place. */
	void must_have(uint32_t round)
	{
		must(arrived.size() == round + 1 && arrived.back() == round,
		     "an operation arrived not once");
		must_hold(std::span(memory).subspan(cast_offset(round),
						    cast_length(round)),
			  0, round);
	}

	std::string adapter;
	nodes::Meeting meeting;
	Node node;
	std::vector<std::byte> memory;
	pavo::Mapping mapping;
	pavo::Rdma rdma;
	std::optional<pavo::BroadcastTarget> target;
	std::vector<uint32_t> arrived;
};

} // namespace

void allow_broadcast(nodes::Node &node)
{
	node.window = pavo::Window::open(node.job,
					 {.node = node.window.address().node,
					  .send_frames = 256,
					  .recv_frames = 1024,
					  .gid_index = node.address.index,
					  .broadcast = true})
			      .value();
}

void serve_broadcast(const Arguments &arguments)
{
	CastSource source(arguments, std::chrono::milliseconds(50));
	unsigned once = 0;

	source.together();
	for (uint32_t round = 0; round < cast_rounds; round++) {
		uint64_t before = counter(source.adapter, "tx_rdma_packets"),
			 retries = source.cast->retries();

		source.put(round);
		/* Counters are some milliseconds old. */
		if (source.cast->retries() == retries) {
			until("a packet for all to be counted once", [&] {
				return counter(source.adapter,
					       "tx_rdma_packets") -
					       before ==
				       source.packets(round);
			});
			once++;
		}
		for (nodes::Meeting &meeting : source.meetings)
			meeting.exchange(round);
		source.together();
	}
	printf("# %u of %u operations without a retry, %llu retries\n", once,
	       cast_rounds, (unsigned long long)source.cast->retries());
	source.together();
}

void join_broadcast(const Arguments &arguments)
{
	CastClient client(arguments);
	const std::vector<std::byte> untouched = client.memory;
	/* The number of clients is not known to one: the last is told. */
	const bool member = client.meeting.node() < 3;
	const Idle idle(client.adapter);

	if (member)
		client.join();
	together(client.meeting);
	for (uint32_t round = 0; round < cast_rounds; round++) {
		if (client.meeting.node() == 1 &&
		    recovers_in(round) == Recovers::member)
			client.serve([&] { recover(client.adapter); });
		else
			client.serve();
		must(client.meeting.exchange(round) == round, "round");
		if (member)
			client.must_have(round);
		else
			must(client.memory == untouched &&
				     client.arrived.empty(),
			     "something came to no member");
		together(client.meeting);
	}
	if (!member)
		idle.must_be();
	together(client.meeting);
}

/* The first client joins when all others have the operation: it gets it alone. */
void serve_broadcast_missed(const Arguments &arguments)
{
	CastSource source(arguments, std::chrono::milliseconds(2000));
	pavo::Completion over;
	constexpr uint32_t round = 1;
	bool told = false;
	auto go_on = [&](auto &&condition) {
		return [&] {
			must(source.cast->progress(), "progress");
			return condition();
		};
	};

	fill(source.memory, 0, round);
	source.together();
	must(source.cast->put({.local = source.mapping.pvo(),
			       .offset = cast_offset(round),
			       .length = cast_length(round),
			       .tag = round},
			      over),
	     "put");
	/* All but the last piece, which waits for the first client, are acknowledged there. */
	until("a retry", go_on([&] { return source.cast->retries() > 2; }));
	told = source.meetings[0].exchange('j') == 'j';
	must(told, "the first client");
	until("the operation to end", go_on([&] { return over.over(); }));
	must(over.result(), "RDMA to a group");
	for (nodes::Meeting &meeting : source.meetings)
		meeting.exchange(source.packets(round));
	source.together();
}

void join_broadcast_late(const Arguments &arguments)
{
	CastClient client(arguments);
	const bool late = client.meeting.node() == 1,
		   member = client.meeting.node() < 3;
	/* Of earlier tests there may be some. */
	auto repeats = [&] {
		return counter(client.adapter, "rdma_repeats") +
		       counter(client.adapter, "rx_drop_rdma_again");
	};
	const uint64_t before = came(client.adapter), repeated = repeats();

	if (member && !late)
		client.join();
	together(client.meeting);
	if (late) {
		client.serve();
		client.meeting.exchange('j');
		client.join();
	}
	client.serve();
	const uint64_t packets = client.meeting.exchange(uint64_t(0));
	if (member) {
		must_hold(std::span(client.memory)
				  .subspan(cast_offset(1), cast_length(1)),
			  0, 1);
		must(client.arrived == std::vector<uint32_t>{1},
		     "it arrived not once");
	}
	if (member && !late) {
		until("its packets to be counted",
		      [&] { return came(client.adapter) - before == packets; });
		must(repeats() == repeated, "it got a further attempt");
	}
	together(client.meeting);
}

} // namespace nodes
