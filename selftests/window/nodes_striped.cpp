// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_striped.cpp - one message over two adapters to another machine. In the middle the
 * second one's link goes down, or it is taken away: all bytes are there once, and what comes
 * after that goes by the first. Or both begin anew: they go on.
 */
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>

#include <pavo/striped.hpp>

#include "../common/slow_kernel.h"
#include "nodes.h"

namespace nodes {

namespace {

constexpr uint64_t message_size = 2 << 20;
/* Whose pattern the server's memory has when it is got. */
constexpr uint32_t returned = 100;

/*
 * @attempts: until an end gives a path up, four in a second, or one where the kernel has checkers:
 * an attempt there may take longer than 250 ms. An emulated machine on a busy host answers late,
 * so there are many, but where a test waits until a path is given up.
 */
pavo::StripedOptions striped_options(unsigned attempts = 200)
{
	const unsigned slowness = common::slow_kernel() ? 4 : 1;

	return {.chunk = 1 << 15,
		.path = {.timeout = slowness * std::chrono::milliseconds(20),
			 .max_timeout =
				 slowness * std::chrono::milliseconds(250),
			 .attempts = attempts}};
}

/* An adapter, with a window of the job, and memory that others have, too. */
struct Path : nodes::Node {
	Path(const std::string &name, uint16_t number,
	     std::span<std::byte> memory)
		: Node(name, job_id, job_key, number),
		  mapping(pavo::Mapping::open(job, memory).value())
	{
	}

	pavo::Mapping mapping;
};

/* One end: paths by all adapters to the other machine, and memory. */
struct End {
	End(const Arguments &arguments, nodes::Meeting &with,
	    const pavo::StripedOptions &options = striped_options())
		: meeting(with), memory(message_size), striped(options)
	{
		for (const std::string &name : arguments.adapters)
			add(name);
		remote = meeting.exchange(paths[0]->mapping.pvo());
		striped.on_arrival(
			[this](const pavo::StripedArrival &) { arrived++; });
	}

	/* The other end does the same at this moment. */
	void add(const std::string &name)
	{
		std::array<uint32_t, 4> rcxts;

		paths.push_back(
			std::make_unique<Path>(name, meeting.node(), memory));
		pavo::WindowAddress window = paths.back()->introduce(meeting);
		must(striped.add(paths.back()->window, rcxts), "a path");
		rcxts = meeting.exchange(rcxts);
		must(striped.connect(paths.size() - 1,
				     {window, {rcxts.begin(), rcxts.end()}}),
		     "the other end's path");
	}

	nodes::Meeting &meeting;
	std::vector<std::byte> memory;
	std::vector<std::unique_ptr<Path>> paths;
	pavo::Striped striped;
	pavo::Pvo remote;
	unsigned arrived = 0;
};

/* Until all clients have what they wanted. */
void serve_all(const Visitors &visitors,
	       const std::vector<std::unique_ptr<End>> &ends)
{
	until("messages of all", [&] {
		for (auto &end : ends)
			end->striped.progress();
		return visitors.all_wait();
	});
}

/*
 * All of the memory. @middle: called once, when every path has chunks under way and the test
 * has not looked for their ends yet, so that there is more for each.
 */
template <class Middle>
void move(End &end, bool put, bool notify, Middle &&middle)
{
	pavo::Result<void> result;
	pavo::StripedMove all{.local = end.paths[0]->mapping.pvo(),
			      .remote = end.remote,
			      .length = message_size,
			      .notify = notify};
	auto over = [&](const pavo::Result<void> &how) { result = how; };

	must(put ? end.striped.put(all, over) : end.striped.get(all, over),
	     "no operation");
	middle();
	until("the end of a message", [&] {
		end.striped.progress();
		return !end.striped.pending();
	});
	must(result, put ? "put" : "get");
}

} // namespace

namespace {

/* @lost: whether the second path is, in the middle of the first message. */
void serve(const Arguments &arguments, bool lost)
{
	Visitors visitors(arguments.clients);
	std::vector<std::unique_ptr<End>> ends;

	for (nodes::Meeting &meeting : visitors.meetings)
		ends.push_back(std::make_unique<End>(arguments, meeting));
	visitors.together();
	serve_all(visitors, ends);
	for (auto &end : ends) {
		uint32_t node = end->meeting.other();

		must(end->arrived == 1, "notified of a message not once");
		must_hold(end->memory, node, 1);
		must(end->striped.path(0).alive &&
			     end->striped.path(1).alive != lost,
		     "another path has failed here");
		fill(end->memory, returned + node, 2);
	}
	visitors.together();
	serve_all(visitors, ends);
	for (auto &end : ends) {
		must(end->arrived == 2, "notified of a message not once");
		must_hold(end->memory, returned + end->meeting.other(), 2);
	}
	visitors.together();
}

/* @middle: what is done in the middle of a message there. */
void put_and_get(End &end, const std::function<void()> &middle, bool lost)
{
	together(end.meeting);
	/* It is a good path, to begin with: a part of every message goes by it. */
	fill(end.memory, end.meeting.node(), 3);
	move(end, true, false, [] {});
	must(end.striped.path(1).alive && end.striped.path(1).chunks > 0,
	     "the path has carried nothing");
	fill(end.memory, end.meeting.node(), 1);
	move(end, true, true, middle);
	uint64_t chunks = end.striped.path(1).chunks;
	must(end.striped.path(0).alive && end.striped.path(1).alive != lost,
	     "another path has failed");
	must_hold(end.memory, end.meeting.node(), 1);
	together(end.meeting);
	move(end, false, true, [] {});
	must_hold(end.memory, returned + end.meeting.node(), 2);
	must((end.striped.path(1).chunks == chunks) == lost,
	     "a path that has failed is used, or one that has not is not");
	together(end.meeting);
}

/* @why: of which error the second path fails when that command is executed. */
void lose_a_path(const Arguments &arguments, const std::string &command,
		 std::errc why, const pavo::StripedOptions &options)
{
	nodes::Meeting meeting = visit(arguments);
	End end(arguments, meeting, options);

	put_and_get(
		end,
		[&] {
			must(!std::system(command.c_str()),
			     "the path is not lost");
		},
		true);
	must(end.striped.path(1).error == why,
	     "the path has failed by something else");
}

} // namespace

void serve_striped(const Arguments &arguments)
{
	serve(arguments, true);
}

void ask_striped(const Arguments &arguments)
{
	lose_a_path(arguments, "ip link set " + arguments.interface + " down",
		    std::errc::timed_out, striped_options(20));
}

void ask_striped_without(const Arguments &arguments)
{
	lose_a_path(arguments, "rdma link delete " + arguments.adapters[1],
		    std::errc::io_error, striped_options());
}

void serve_striped_recoveries(const Arguments &arguments)
{
	serve(arguments, false);
}

void ask_striped_recoveries(const Arguments &arguments)
{
	nodes::Meeting meeting = visit(arguments);
	End end(arguments, meeting);

	put_and_get(
		end,
		[&] {
			for (const std::string &adapter : arguments.adapters)
				recover(adapter);
		},
		false);
}

} // namespace nodes
