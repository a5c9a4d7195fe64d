// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes.h - what tests of windows between machines share: patterns, waiting, and who takes
 * part. One node serves and has number 0, all others (1, 2, ...) come to it at the same
 * time. They find each other by TCP (meeting.h).
 */
#ifndef PAVO_WINDOW_NODES_H
#define PAVO_WINDOW_NODES_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <rdma/pavo-abi.h>

#include <pavo/window.hpp>

#include "../common/adapter.h"
#include "../common/eventually.h"
#include "../common/pattern.h"
#include "../common/slow_kernel.h"
#include "meeting.h"

namespace nodes {

constexpr uint32_t job_id = 2001;
constexpr uint64_t job_key = 0x6e6f646573;
/* Whose pattern memory has that is used for something else. */
constexpr uint32_t used_again = 100;

/* ----------------------------------------------------------------- patterns */

/* Of what @node has as @number. */
inline uint64_t seed_of(uint32_t node, uint32_t number)
{
	return uint64_t(node) << 32 | number;
}

/* @from: the place of the first of @bytes */
inline void fill(std::span<std::byte> bytes, uint32_t node, uint32_t number,
		 size_t from = 0)
{
	common::fill(bytes, seed_of(node, number), from);
}

/* The first that is wrong; bytes.size(): none is. */
inline size_t first_wrong(std::span<const std::byte> bytes, uint32_t node,
			  uint32_t number, size_t from = 0)
{
	const int64_t at = pattern_verify(bytes.data(), bytes.size(),
					  seed_of(node, number), from);

	return at < 0 ? bytes.size() : size_t(at);
}

inline void must_hold(std::span<const std::byte> bytes, uint32_t node,
		      uint32_t number, size_t from = 0)
{
	size_t i = first_wrong(bytes, node, number, from);

	if (i < bytes.size())
		throw std::runtime_error("byte " + std::to_string(from + i) +
					 " of number " +
					 std::to_string(number) + " of node " +
					 std::to_string(node) + " is wrong");
}

/* ------------------------------------------------------------------ waiting */

using common::must;

/* Until it is so; throws when it has not become so in a minute and a half, with checkers in five. */
template <class Condition> void until(const char *what, Condition &&condition)
{
	const auto most =
		std::chrono::seconds(common::slow_kernel() ? 300 : 90);

	must(common::eventually(condition, most),
	     std::string("in vain: ") + what);
}

/* -------------------------------------------------------------- who is there */

/* The arguments of the program. */
struct Arguments {
	std::vector<std::string> adapters;
	/* Of the one that serves. */
	unsigned clients = 0;
	/* Of the others: where that one is. */
	std::string host;
	/* The interface that goes down in the middle, of tests which have that. */
	std::string interface;
	/* Machines know each other by their second addresses, too. */
	bool second = false;
};

/* The clients that come to the one that serves. */
struct Visitors {
	explicit Visitors(unsigned clients);

	/* No node goes on before all have come here. */
	void together();
	/* All have come, or are gone: the server may come, too. */
	bool all_wait() const;

	std::vector<nodes::Meeting> meetings;
};

/* ... with a window. */
struct Server : Visitors {
	explicit Server(const Arguments &arguments);

	nodes::Node node;
	/* Of each visitor. */
	std::vector<uint32_t> windows;
};

struct Client {
	explicit Client(const Arguments &arguments);

	uint32_t self() const { return meeting.node(); }

	nodes::Meeting meeting;
	nodes::Node node;
	/* The server's. */
	uint32_t window;
};

/* Visitors::together() of a visitor. */
void together(nodes::Meeting &meeting);
nodes::Meeting visit(const Arguments &arguments);

/*
 * The other end has a second address, as this one has (nodes-lib.sh): packets between them
 * take both, alternately.
 */
void introduce_second(nodes::Node &node, nodes::Meeting &meeting);
/* Packets to that address, which is of node @to or of a group, leave from the second one, too. */
void send_from_second(nodes::Node &node, uint16_t to, const pavo::Gid &gid);

/* A window that may send to groups, in place of the node's. */
void allow_broadcast(nodes::Node &node);

using common::counter;
using common::recover;

/* All counters of an adapter, which is to have nothing to do meanwhile. */
class Idle {
public:
	explicit Idle(const std::string &adapter)
		: adapter_(adapter), before_(now())
	{
	}

	/* Throws: what has moved. */
	void must_be() const;

private:
	std::map<std::string, uint64_t> now() const;

	std::string adapter_;
	std::map<std::string, uint64_t> before_;
};

/* Contexts that are not of a pavo::Rdma. */
std::vector<uint32_t> contexts(pavo::Window &window, size_t n);

/* ----------------------------------------------------------------- messages */

/* How a message begins; the rest is pattern, and its number says how much. */
struct Head {
	uint32_t number;
	/* In answers: no other message is wanted. */
	uint32_t enough;
};

std::vector<std::byte> message(const pavo::Window &window, uint32_t node,
			       Head head);
/* Throws: it is not as @node made it. */
Head look(const pavo::Window &window, uint32_t node,
	  const pavo::Message &message);

/* ---------------------------------------------------------------- the tests */

/* Of the one that serves, or of the others. */
using Role = void(const Arguments &arguments);

/* Messages of all lengths, taken by looking for them, or as events say. */
Role serve_messages, serve_events, send_messages;

/* RDMA, with memory and FIFOs at either end; adapters recover in the middle. */
Role serve_rdma, serve_rdma_and_recover, ask_for_rdma, ask_for_rdma_and_recover;

/* Single attempts of RDMA: notifications of them, what is refused, what is cancelled. */
Role serve_notified, ask_notified, suffer_violations, violate, serve_cancelled,
	cancel_in_the_middle;

/* Packets that an adapter drops and counts: of what is over, at something, or not its own. */
Role keep_rules, break_rules;
/* Packets that were recorded before an adapter's recovery. */
Role recover_from_the_past, replay_the_past;

/* Tables of windows that talk, and the pool of contexts. */
Role serve_tables, ask_tables;

/* Rounds of windows that send; the wire has to keep their order. */
Role watch_rounds, send_in_rounds;

/* By coroutines, and by the header for C. */
Role serve_library, use_library;

/* Flags that wait for writes: who sees one sees all that it waits for. */
Role watch_flags, put_flags;

/* Third-party RDMA: the one that serves has all nodes send to all. */
Role control_third_party, serve_third_party;
/* ... and controllers are killed, between all others. */
Role kill_controllers, outlive_controllers;

/* Messages and RDMA between nodes that have two addresses each; all are used. */
Role serve_messages_by_two, send_messages_by_two, serve_rdma_by_two,
	ask_for_rdma_by_two;

/* Windows end under traffic, and their memory is used for something else. */
Role reuse_memory, keep_sending;

/* Messages over two adapters. In the middle one's link goes down, or it is taken away ... */
Role serve_striped, ask_striped, ask_striped_without;
/* ... or both begin anew. */
Role serve_striped_recoveries, ask_striped_recoveries;

/* RDMA to a group that all but the last client are in; what one of them misses it gets alone. */
Role serve_broadcast, join_broadcast, serve_broadcast_missed,
	join_broadcast_late;
/* ... over two adapters, of which a member loses the second in the end. */
Role serve_striped_broadcast, join_striped_broadcast;

} // namespace nodes

#endif // PAVO_WINDOW_NODES_H
