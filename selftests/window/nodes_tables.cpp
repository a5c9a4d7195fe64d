// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * nodes_tables.cpp - what an adapter keeps for a window, while it talks to other machines:
 * its local mapping table, as the process reads it and as root does, and the pool of
 * contexts, from head to tail, all of which can be used.
 */
#include <array>

#include "nodes_attempts.h"
#include "table.h"

using pavo::Message;
using pavo::Window;

namespace nodes {

namespace {

/* Contexts of each client that are written by, and what by each. */
constexpr size_t used = 8, table_part = 5003;
/* Contexts are taken in heaps of so many, then smaller ones. */
constexpr size_t heap = 1000;

using Rcxts = std::array<uint32_t, used>;

/* Root reads the same of it as the process does. */
void must_agree(const examples::Node &node)
{
	const pavo::Device &device = node.device;

	until("root to read the table that the process has", [&] {
		pavo::Lmt lmt = node.window.lmt().value();

		return windows::line_of(device, node.window) ==
		       windows::as_text(device, lmt);
	});
}

/*
 * A message each way, and again what was lost: the tables of both ends count it, and have
 * the key of the job that packets show. One other end after the other.
 */
void talk(examples::Node &node, examples::Meeting &meeting, uint32_t window)
{
	meeting.exchange('g');
	const pavo::Lmt before = node.window.lmt().value();
	bool over = false;

	while (!over) {
		must(node.window.send({meeting.other(), window}, {}),
		     "message");
		bool here = soon([&] {
			return node.window.lmt()->recv_count !=
			       before.recv_count;
		});
		over = meeting.exchange(here) && here;
	}
	const pavo::Lmt after = node.window.lmt().value();
	must(after.send_count != before.send_count, "sends are not counted");
	must(after.key && meeting.exchange(uint64_t(after.key)) == after.key,
	     "windows of a job have two keys");
	must_agree(node);
	until("as many messages as the table says", [&] {
		node.window.receive([](const Message &) {});
		return node.window.received() == node.window.lmt()->recv_count;
	});
	node.window.forget_sent();
}

/* Every field that this end decides about. */
void must_have(const examples::Node &node, uint16_t number, size_t rcxts)
{
	const pavo::Lmt lmt = node.window.lmt().value();

	must(lmt.state == pavo::WindowState::valid && lmt.node == number &&
		     lmt.job == job_id && lmt.window == node.window.number() &&
		     lmt.send_frames == 64 && lmt.recv_frames == 256 &&
		     lmt.rcxts_owned == rcxts && !lmt.rcxts && !lmt.events &&
		     !lmt.handlers && !lmt.fatal_rcxt,
	     "the table is of another window");
	must_agree(node);
}

/* All that the adapter has left. */
std::vector<uint32_t> take_all(Window &window)
{
	std::vector<uint32_t> all;

	for (size_t n = heap; n; n /= 10) {
		std::vector<uint32_t> some(n);

		while (window.take_rcxts(some).ok())
			all.insert(all.end(), some.begin(), some.end());
		must(window.take_rcxts(some) == std::errc::no_space_on_device,
		     "contexts that are not there are refused otherwise");
	}
	return all;
}

/* They come back in the order in which they went. */
Rcxts in_order(Window &window, const std::vector<uint32_t> &all)
{
	Rcxts back, again;

	for (size_t n = 0; n < used; n++)
		back[n] = all[all.size() / used * (n * 3 % used)];
	for (uint32_t rcxt : back)
		must(window.return_rcxts({&rcxt, 1}), "return");
	must(window.take_rcxts(again), "contexts");
	must(again == back, "the pool is no queue");
	return again;
}

} // namespace

void serve_tables(const Arguments &arguments)
{
	Responder responder(arguments, used * table_part);
	size_t owned = responder.clients();

	fill(responder.memory, untouched, 0);
	for (size_t i = 0; i < responder.clients(); i++) {
		Rcxts rcxts;

		must(responder.node.window.take_rcxts(rcxts), "contexts");
		owned += used;
		responder.meetings[i].exchange(rcxts);
	}
	must_have(responder.node, 0, owned);
	responder.together();
	for (size_t i = 0; i < responder.clients(); i++)
		talk(responder.node, responder.meetings[i],
		     responder.windows[i]);
	responder.together();
	for (size_t i = 0; i < responder.clients(); i++)
		must_hold(responder.part(i), uint32_t(i + 1), 0);
	must_have(responder.node, 0, owned);
}

void ask_tables(const Arguments &arguments)
{
	Requester requester(arguments, used * table_part);
	const uint64_t here = requester.request.local_pvo;
	const uint64_t there = requester.request.remote_pvo;
	uint16_t self = uint16_t(requester.self());
	Rcxts theirs = requester.meeting.exchange(Rcxts{});

	fill(requester.memory, requester.self(), 0);
	must_have(requester.node, self, 1);
	together(requester.meeting);
	talk(requester.node, requester.meeting, requester.window);
	std::vector<uint32_t> all = take_all(requester.own_window());
	must_have(requester.node, self, 1 + all.size());
	Rcxts mine = in_order(requester.own_window(), all);
	requester.request.length = table_part;
	for (size_t n = 0; n < used; n++) {
		requester.request.local_rcxt = mine[n];
		requester.request.remote_rcxt = theirs[n];
		requester.request.local_pvo = here + n * table_part;
		requester.request.remote_pvo = there + n * table_part;
		must(requester.complete(true).status == pavo::PvoResult::ok,
		     "a write");
	}
	must(requester.own_window().return_rcxts(all), "return");
	must_have(requester.node, self, 1);
	together(requester.meeting);
}

} // namespace nodes
