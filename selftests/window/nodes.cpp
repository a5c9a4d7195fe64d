// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes.cpp - tests of windows between machines, on whatever wire there is: see nodes.h.
 * Run by nodes.sh and three-nodes.sh.
 *
 * usage: pavo-nodes TEST ADAPTER[,ADAPTER] CLIENTS               the one that serves
 *        pavo-nodes TEST ADAPTER[,ADAPTER] ADDRESS [INTERFACE]   the others
 */
#include "nodes.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>

namespace nodes {

namespace {

constexpr uint16_t port = 7480;

} // namespace

Visitors::Visitors(unsigned clients)
{
	nodes::Listener listener(port);

	for (unsigned i = 0; i < clients; i++)
		meetings.push_back(listener.meet());
}

void Visitors::together()
{
	for (char word : {'c', 'g'})
		for (nodes::Meeting &meeting : meetings)
			meeting.exchange(word);
}

bool Visitors::all_wait() const
{
	return std::ranges::all_of(meetings, [](const auto &meeting) {
		return meeting.anything();
	});
}

Server::Server(const Arguments &arguments)
	: Visitors(arguments.clients),
	  node(arguments.adapters[0], job_id, job_key, 0)
{
	for (nodes::Meeting &meeting : meetings) {
		windows.push_back(node.introduce(meeting).window);
		if (arguments.second)
			introduce_second(node, meeting);
	}
}

Client::Client(const Arguments &arguments)
	: meeting(visit(arguments)),
	  node(arguments.adapters[0], job_id, job_key, meeting.node()),
	  window(node.introduce(meeting).window)
{
	if (arguments.second)
		introduce_second(node, meeting);
}

void together(nodes::Meeting &meeting)
{
	meeting.exchange('c');
	meeting.exchange('g');
}

nodes::Meeting visit(const Arguments &arguments)
{
	return {arguments.host, port};
}

void Idle::must_be() const
{
	for (const auto &[name, value] : now())
		must(before_.at(name) == value,
		     name + " of " + adapter_ + " has moved");
}

std::map<std::string, uint64_t> Idle::now() const
{
	/* The state of the kernel is new after that. */
	common::fresh_counter(adapter_, "rx_rdma_packets");
	return common::counters(adapter_);
}

std::vector<uint32_t> contexts(pavo::Window &window, size_t n)
{
	std::vector<uint32_t> rcxts(n);

	must(window.take_rcxts(rcxts), "contexts");
	return rcxts;
}

} // namespace nodes

namespace {

using nodes::Arguments;

struct Test {
	const char *name;
	nodes::Role *serve, *visit;
};

constexpr Test tests[] = {
	{"messages", nodes::serve_messages, nodes::send_messages},
	{"events", nodes::serve_events, nodes::send_messages},
	{"rdma", nodes::serve_rdma, nodes::ask_for_rdma},
	{"recovery", nodes::serve_rdma_and_recover,
	 nodes::ask_for_rdma_and_recover},
	{"notified", nodes::serve_notified, nodes::ask_notified},
	{"violations", nodes::suffer_violations, nodes::violate},
	{"cancel", nodes::serve_cancelled, nodes::cancel_in_the_middle},
	{"messages-by-two", nodes::serve_messages_by_two,
	 nodes::send_messages_by_two},
	{"rdma-by-two", nodes::serve_rdma_by_two, nodes::ask_for_rdma_by_two},
	{"snapshot", nodes::reuse_memory, nodes::keep_sending},
	{"rules", nodes::keep_rules, nodes::break_rules},
	{"replay", nodes::recover_from_the_past, nodes::replay_the_past},
	{"tables", nodes::serve_tables, nodes::ask_tables},
	{"rounds", nodes::watch_rounds, nodes::send_in_rounds},
	{"flags", nodes::watch_flags, nodes::put_flags},
	{"third", nodes::control_third_party, nodes::serve_third_party},
	{"third-killed", nodes::kill_controllers, nodes::outlive_controllers},
	{"library", nodes::serve_library, nodes::use_library},
	{"striped", nodes::serve_striped, nodes::ask_striped},
	{"striped-without", nodes::serve_striped, nodes::ask_striped_without},
	{"striped-recovery", nodes::serve_striped_recoveries,
	 nodes::ask_striped_recoveries},
	{"broadcast", nodes::serve_broadcast, nodes::join_broadcast},
	{"broadcast-missed", nodes::serve_broadcast_missed,
	 nodes::join_broadcast_late},
	{"broadcast-striped", nodes::serve_striped_broadcast,
	 nodes::join_striped_broadcast},
};

int usage()
{
	fprintf(stderr, "usage: pavo-nodes TEST ADAPTER[,ADAPTER] CLIENTS\n"
			"       pavo-nodes TEST ADAPTER[,ADAPTER] ADDRESS "
			"[INTERFACE]\ntests:");
	for (const Test &test : tests)
		fprintf(stderr, " %s", test.name);
	fputs("\n", stderr);
	return 2;
}

std::vector<std::string> split(const std::string &text)
{
	std::istringstream names(text);
	std::vector<std::string> list;

	for (std::string name; std::getline(names, name, ',');)
		list.push_back(name);
	return list;
}

} // namespace

int main(int argc, char **argv)
{
	auto found = std::ranges::find_if(tests, [&](const Test &test) {
		return argc > 1 && argv[1] == std::string(test.name);
	});

	if (argc < 4 || argc > 5 || found == std::end(tests) || !*argv[2])
		return usage();
	try {
		std::string who = argv[3];
		Arguments arguments{.adapters = split(argv[2]),
				    .host = who,
				    .interface = argc > 4 ? argv[4] : ""};

		if (who.find_first_of(".:") != who.npos) {
			found->visit(arguments);
		} else {
			arguments.clients = unsigned(std::stoul(who));
			found->serve(arguments);
		}
		return 0;
	} catch (const std::exception &error) {
		fprintf(stderr, "pavo-nodes %s: %s\n", argv[1], error.what());
		return 1;
	}
}
