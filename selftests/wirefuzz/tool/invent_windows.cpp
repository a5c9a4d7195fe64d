// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * New dialogues with windows: see invent.h. Packets of two and three ends and of a group, requests
 * that are held for a counter, and what an interface over a window gets and sends.
 */
#include <algorithm>
#include <array>

#include "invent.h"

namespace wf {

namespace {

constexpr uint64_t slot = 4096;

Step &add_step(Dialogue &talk, std::string verb, std::string subject)
{
	talk.push_back({std::move(verb), std::move(subject), "", {}});
	return talk.back();
}

std::string any_context(Random &random)
{
	return "c" + std::to_string(random.below(4));
}

/* How many bytes of an operation a packet has. */
uint64_t data_of(const std::string &name, uint64_t total, uint64_t fragment,
		 Random &random)
{
	if (name == "W_MESSAGE")
		return random.below(2033);
	if (name == "W_DATA" || name == "W_THIRD_DATA")
		return std::min(slot, total - fragment * slot);
	return 0;
}

void add_window_packet(Dialogue &talk, uint64_t tid, Random &random)
{
	static constexpr std::array<const char *, 7> names = {
		"W_MESSAGE", "W_DATA",	     "W_DATA",	    "W_READ",
		"W_DONE",    "W_THIRD_READ", "W_THIRD_DATA"};
	const uint64_t total = random.below(20000);
	const uint64_t fragment = random.below(total / slot + 1);
	const std::string name = random.pick(names);
	const bool third = name.starts_with("W_THIRD");
	Step &step = add_step(talk, "<", "w0");

	step.name = name;
	step.set("data", {"", data_of(name, total, fragment, random)});
	if (random.one_in(6))
		step.set("times", {"", 1 + random.below(64)});
	if (name == "W_MESSAGE")
		return;
	if (random.one_in(4))
		step.set("attempts", {"", random.below(3)});
	step.set("rcxt", {any_context(random), 0});
	step.set("peer_rcxt", {"", third ? 6u : 5u});
	step.set("tid", {"", tid});
	step.set("pvo", {"m", random.below(8192) + fragment * slot});
	step.set("total", {"", total});
	step.set("fragment", {"", fragment});
	if (!third)
		step.set("flags", {"", random.below(8)});
	if (third)
		step.set("third_rcxt", {"", 7});
	if (name == "W_READ" || name == "W_THIRD_READ")
		step.set("back", {"", 0x2000});
}

/* For the group that w0 is in: by its address, or as a further attempt by w0's. */
void add_group_packet(Dialogue &talk, uint64_t tid, Random &random)
{
	const uint64_t total = random.below(10000);
	const uint64_t fragment = random.below(total / slot + 1);
	Step &step = add_step(talk, "<", "w0");

	step.name = random.one_in(4) ? "W_MESSAGE" : "W_DATA";
	step.set("qpn", {"g0", 0});
	if (!random.one_in(3))
		step.set("group", {"", 1});
	step.set("data", {"", data_of(step.name, total, fragment, random)});
	if (step.name == "W_MESSAGE")
		return;
	step.set("rcxt", {"", random.below(3)});
	step.set("peer_rcxt", {"", 5});
	step.set("tid", {"", tid});
	step.set("pvo", {"", fragment * slot});
	step.set("total", {"", total});
	step.set("fragment", {"", fragment});
	step.set("flags", {"", random.one_in(4) ? 0u : 2u});
	if (random.one_in(3))
		step.set("from", {"", 0x200 + random.below(3)});
}

void add_interface_packet(Dialogue &talk, uint64_t tid, Random &random)
{
	static constexpr std::array<uint64_t, 5> types = {4, 4, 6, 1, 0x9000};
	Step &step = add_step(talk, "<", "w0");

	step.name = "W_MESSAGE";
	step.set("qpn", {"i0", 0});
	step.set("key", {"ik", 0});
	if (random.one_in(2)) {
		step.set("kind", {"", 7});
		step.set("ether", {"", random.pick(types)});
		step.set("data", {"", random.below(2033)});
		return;
	}
	step.set("kind", {"", 8});
	step.set("offer", {"", 14 + random.below(slot)});
	step.set("tid", {"", tid});
	if (random.one_in(4))
		step.set("times", {"", 1 + random.below(64)});
}

void set_request(Step &step, uint64_t tid, Random &random)
{
	step.set("pvo", {step.name == "WRITE" ? "ms" : "m", 0});
	step.set("tid", {"", tid});
	step.set("len", {"", random.below(16384)});
	step.set("flags", {"", random.below(8)});
	step.set("rcxt", {any_context(random), 0});
	if (random.one_in(3))
		step.set("counter", {"", 1 + random.below(3)});
}

void add_request(Dialogue &talk, uint64_t tid, Random &random)
{
	static constexpr std::array<const char *, 4> verbs = {
		"wrdma", "wrdma", "wthird", "wheld"};
	Step &step = add_step(talk, verbs[random.below(verbs.size())], "w0");

	if (step.verb != "wthird")
		step.name = random.one_in(2) ? "WRITE" : "READ";
	set_request(step, tid, random);
	if (random.one_in(5)) {
		step.set("to", {"", 1});
		step.set("flags", {"", 2});
		step.set("peer_rcxt", {"", random.below(3)});
	}
	if (step.verb != "wheld")
		return;
	step.set("on", {"", random.below(3)});
	step.set("target", {"", 1 + random.below(3)});
	step.set("n", {"", random.below(4)});
}

Dialogue invent_messages(Random &random)
{
	Dialogue talk;
	uint64_t tid = 1 + random.below(1 << 16);

	for (uint64_t n = 2 + random.below(8); n; n--) {
		const uint64_t what = random.below(12);

		if (what < 5)
			add_window_packet(talk, tid, random);
		else if (what < 6)
			add_group_packet(talk, tid, random);
		else if (what < 8)
			add_request(talk, ++tid, random);
		else if (what < 9)
			talk.push_back({"answer", "w0", "all", {}});
		else
			talk.push_back(window_event(random));
		tid += random.below(2);
	}
	return talk;
}

/* A counter that operations of the peer add to, requests that wait for it, and those packets. */
Dialogue invent_held(Random &random)
{
	Dialogue talk;
	uint64_t tid = 1 + random.below(1 << 16);

	for (uint64_t c = 0; c < 2; c++) {
		Step &bind = add_step(talk, "wcount", "w0");

		bind.name = "BIND";
		bind.set("c", {"", c});
	}
	for (uint64_t n = 1 + random.below(6); n; n--) {
		Step &step = add_step(talk, "wheld", "w0");

		step.name = random.one_in(2) ? "WRITE" : "READ";
		set_request(step, ++tid, random);
		step.set("target", {"", 1 + random.below(4)});
		step.set("n", {"", random.below(3)});
		if (random.one_in(3))
			talk.push_back(window_event(random));
	}
	for (uint64_t n = 1 + random.below(6); n; n--) {
		Step &step = add_step(talk, "<", "w0");

		step.name = "W_DATA";
		step.set("data", {"", 64});
		step.set("rcxt", {"c" + std::to_string(random.below(3)), 0});
		step.set("peer_rcxt", {"", 5});
		step.set("tid", {"", ++tid});
		step.set("total", {"", random.one_in(8) ? 65u : 64u});
	}
	talk.push_back({"answer", "w0", "all", {}});
	return talk;
}

Dialogue invent_interface(Random &random)
{
	static constexpr std::array<const char *, 4> ways = {"all", "all",
							     "done", "status"};
	static constexpr std::array<uint64_t, 6> lengths = {60,	  1500, 2100,
							    4096, 9000, 65534};
	Dialogue talk;
	uint64_t tid = 1 + random.below(1 << 16);

	for (uint64_t n = 2 + random.below(8); n; n--) {
		const uint64_t what = random.below(8);

		if (what < 4) {
			add_interface_packet(talk, tid++, random);
		} else if (what < 6) {
			Step &step = add_step(talk, "isend", "i0");

			step.set("type", {"", random.one_in(2) ? 4u : 6u});
			step.set("len", {"", random.pick(lengths)});
			step.set("many", {"", random.below(2)});
			if (random.one_in(4))
				step.set("times", {"", random.below(64)});
		} else {
			talk.push_back({"answer", "w0", random.pick(ways), {}});
		}
		if (random.one_in(3))
			talk.push_back({"wait",
					"",
					"",
					{{"us", {"", random.below(3000)}}}});
	}
	return talk;
}

Step any_group_event(Random &random)
{
	static constexpr std::array<const char *, 4> names = {"JOIN", "LEAVE",
							      "BIND", "UNBIND"};

	return {"wgroup",
		"w0",
		random.pick(names),
		{{"rcxt", {"", random.below(3)}},
		 {"at", {"", random.below(8192)}},
		 {"tid", {"", random.below(3)}}}};
}

Step any_counter_event(Random &random)
{
	static constexpr std::array<const char *, 6> names = {
		"SET", "CLEAR", "CANCEL", "QUERY", "BIND", "UNBIND"};

	return {"wcount",
		"w0",
		random.pick(names),
		{{"on", {"", random.below(3)}},
		 {"value", {"", random.below(4)}},
		 {"c", {"", random.below(4)}}}};
}

} // namespace

Step window_event(Random &random)
{
	static constexpr std::array<const char *, 9> verbs = {
		"wsend",   "wreceive", "wreceive", "wreceive", "wcancel",
		"wreturn", "wtake",    "wdisable", "wclose"};

	switch (random.below(6)) {
	case 0:
		return any_group_event(random);
	case 1:
	case 2:
		return any_counter_event(random);
	case 3:
		if (random.one_in(4))
			return {random.one_in(2) ? "idown" : "iup",
				"i0",
				"",
				{}};
		[[fallthrough]];
	default:
		return {verbs[random.below(verbs.size())],
			"w0",
			"",
			{{"c", {"", random.below(4)}}}};
	}
}

Dialogue invent_windows(Random &random)
{
	switch (random.below(4)) {
	case 0:
	case 1:
		return invent_messages(random);
	case 2:
		return invent_held(random);
	default:
		return invent_interface(random);
	}
}

} // namespace wf
