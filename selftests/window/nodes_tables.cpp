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
void must_agree(const nodes::Node &node)
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
void talk(nodes::Node &node, nodes::Meeting &meeting, uint32_t window)
{
	meeting.exchange('g');
	const pavo::Lmt before = node.window.lmt().value();
	bool over = false;

	while (!over) {
		must(node.window.send({meeting.other(), window}, {}),
		     "message");
		bool here = soon([&] {
			return node.window.lmt().value().recv_count !=
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
		return node.window.received() ==
		       node.window.lmt().value().recv_count;
	});
	node.window.forget_sent();
}

/* Every field that this end decides about. */
void must_have(const nodes::Node &node, uint16_t number, size_t rcxts)
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

		while (window.take_rcxts(some).has_value())
			all.insert(all.end(), some.begin(), some.end());
		must(window.take_rcxts(some) ==
			     pavo::Unexpected(std::errc::no_space_on_device),
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
	Asked asked(arguments, used * table_part);
	size_t owned = asked.clients();

	fill(asked.memory, untouched, 0);
	for (size_t i = 0; i < asked.clients(); i++) {
		Rcxts rcxts;

		must(asked.node.window.take_rcxts(rcxts), "contexts");
		owned += used;
		asked.meetings[i].exchange(rcxts);
	}
	must_have(asked.node, 0, owned);
	asked.together();
	for (size_t i = 0; i < asked.clients(); i++)
		talk(asked.node, asked.meetings[i], asked.windows[i]);
	asked.together();
	for (size_t i = 0; i < asked.clients(); i++)
		must_hold(asked.part(i), uint32_t(i + 1), 0);
	must_have(asked.node, 0, owned);
}

void ask_tables(const Arguments &arguments)
{
	Asker asker(arguments, used * table_part);
	const uint64_t here = asker.request.local_pvo;
	const uint64_t there = asker.request.remote_pvo;
	uint16_t self = uint16_t(asker.self());
	Rcxts theirs = asker.meeting.exchange(Rcxts{});

	fill(asker.memory, asker.self(), 0);
	must_have(asker.node, self, 1);
	together(asker.meeting);
	talk(asker.node, asker.meeting, asker.window);
	std::vector<uint32_t> all = take_all(asker.asking());
	must_have(asker.node, self, 1 + all.size());
	Rcxts mine = in_order(asker.asking(), all);
	asker.request.length = table_part;
	for (size_t n = 0; n < used; n++) {
		asker.request.local_rcxt = mine[n];
		asker.request.remote_rcxt = theirs[n];
		asker.request.local_pvo = here + n * table_part;
		asker.request.remote_pvo = there + n * table_part;
		must(asker.notified(true).status == pavo::PvoResult::ok,
		     "a write");
	}
	must(asker.asking().return_rcxts(all), "return");
	must_have(asker.node, self, 1);
	together(asker.meeting);
}

} // namespace nodes
