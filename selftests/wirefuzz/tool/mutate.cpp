// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Changed dialogues: see invent.h.
 */
#include <array>

#include "../../wire/tool/packet.h"
#include "invent.h"
#include "window_packet.h"

namespace wf {

namespace {

constexpr size_t steps_most = 64;

constexpr std::array<const char *, 7> all_targets = {"rc0", "rc1", "uc0", "uc1",
						     "ud0", "xt0", "xi0"};
constexpr std::array<const char *, 9> all_regions = {"l", "s", "r",   "ro", "n",
						     "p", "o", "mw1", "mw2"};
constexpr std::array<const char *, 12> window_symbols = {
	"w0", "k", "c0", "c1", "c2", "c3", "m", "ms", "m2", "g0", "i0", "ik"};
constexpr std::array<const char *, 13> envelope_keys = {
	"icrc", "flip", "cut",	"truncate", "extra",	"udp_len", "ip_len",
	"src",	"vlan", "frag", "ttl",	    "udp_csum", "tos"};

/* Around what fields and regions end at. */
uint64_t edge(Random &random)
{
	static constexpr std::array<uint64_t, 22> edges = {
		0,	    1,	      2,	  3,	       4,
		7,	    8,	      255,	  256,	       1024,
		4096,	    32767,    32768,	  0xffff,      0x7fffff,
		0x800000,   0xffffff, 0x7fffffff, 0x80000000u, 0xffffffffu,
		1ull << 63, ~0ull};

	return random.pick(edges) + random.below(3) - 1;
}

uint64_t change_number(uint64_t number, Random &random)
{
	switch (random.below(6)) {
	case 0:
		return number + 1;
	case 1:
		return number - 1;
	case 2:
		return number + random.below(32) - 16;
	case 3:
		return number ^ 1ull << random.below(random.one_in(2) ? 8 : 33);
	case 4:
		return edge(random);
	default:
		return random.any() >> random.below(64);
	}
}

const char *other_symbol(const std::string &old, Random &random)
{
	for (const char *name : window_symbols)
		if (old == name)
			return random.pick(window_symbols);
	for (const char *name : all_targets)
		if (old == name)
			return random.pick(all_targets);
	return random.pick(all_regions);
}

void change_arg(Step &step, Random &random)
{
	if (step.args.empty())
		return;
	Value &value = random.pick(step.args).second;

	if (!value.symbol.empty() && random.one_in(3))
		value.symbol = other_symbol(value.symbol, random);
	else
		value.number = change_number(value.number, random);
}

void add_envelope(Step &step, Random &random)
{
	const std::string key = random.pick(envelope_keys);
	uint64_t number = random.below(64);

	if (key == "ip_len" || key == "udp_len")
		number = random.one_in(3) ? edge(random) : random.below(200);
	if (key == "src" && random.one_in(2))
		number = 77;
	if (key == "vlan")
		number = random.below(8);
	step.set(key, {"", number});
}

/* A field of the packet that was as usual before. */
void add_field(Step &step, Random &random)
{
	const auto all = pw::fields();
	const bool window = step.name.starts_with("W_");
	const std::string key(
		window ? window_fields()[random.below(window_fields().size())]
				 .name :
			 all[random.below(all.size())].name);
	Value value{"", random.one_in(2) ? edge(random) : random.below(4)};

	if (window && random.one_in(2))
		value = {random.pick(window_symbols), random.below(3)};
	if (!window && key == "qpn")
		value = {random.pick(all_targets), 0};
	if (key == "rkey" || key == "va" || key == "inv")
		value = {random.pick(all_regions),
			 random.one_in(2) ? 0 : edge(random)};
	if (key == "srqn")
		value = {random.one_in(2) ? "s0" : "s1", random.below(2)};
	step.set(key, value);
}

/* Another opcode of the same service, or of any. */
void change_opcode(Step &step, Random &random)
{
	if (step.name.starts_with("W_")) {
		static constexpr std::array<const char *, 6> names = {
			"W_MESSAGE", "W_DATA",	     "W_READ",
			"W_DONE",    "W_THIRD_READ", "W_THIRD_DATA"};

		step.name = random.pick(names);
		return;
	}
	const pw::Opcode *old = pw::opcode_by_name(step.name);

	for (int tries = 0; old && tries < 32; tries++) {
		const auto code = static_cast<uint8_t>(
			random.one_in(6) ?
				random.below(256) :
				(old->code & 0xe0) | random.below(32));

		if (const pw::Opcode *other = pw::opcode_by_code(code)) {
			step.name = other->name;
			return;
		}
	}
}

void change_packet(Step &step, Random &random)
{
	switch (random.below(10)) {
	case 0:
		return change_opcode(step, random);
	case 1:
		return add_envelope(step, random);
	case 2:
	case 3:
		return add_field(step, random);
	case 4:
		step.set("times", {"", 1 + random.below(20)});
		if (random.one_in(2))
			step.set("stride", {"", 1 + random.below(2)});
		return;
	case 5:
		step.set("opcode", {"", random.below(256)});
		return;
	case 6:
		if (!step.args.empty())
			step.args.erase(step.args.begin() +
					static_cast<long>(random.below(
						step.args.size())));
		return;
	default:
		return change_arg(step, random);
	}
}

Step target_event(Random &random)
{
	static constexpr std::array<const char *, 7> states = {
		"RESET", "INIT", "RTR", "RTS", "SQD", "ERR", "ERR"};
	const std::string target = random.pick(all_targets);

	switch (random.below(5)) {
	case 0:
		return {"destroy", target, "", {}};
	case 1:
		return {"begin", target, "", {}};
	case 2:
		return {"recv", target, "", {{"len", {"", random.below(5000)}}}};
	case 3:
		return {"post",
			target,
			random.one_in(2) ? "READ" : "WRITE",
			{{"len", {"", random.below(5000)}}}};
	default:
		return {"state", target, random.pick(states), {}};
	}
}

Step memory_event(Random &random)
{
	static constexpr std::array<const char *, 5> names = {"r", "r", "o",
							      "l", "ro"};
	const std::string region = random.pick(names);

	switch (random.below(5)) {
	case 0:
		return {"rereg",
			region,
			"",
			{{"access", {"", random.below(32)}}}};
	case 1:
		return {"drop",
			"o",
			"",
			{{"at", {"", random.below(32768)}},
			 {"len", {"", random.below(16384)}}}};
	case 2:
		return {"reg", region, "", {}};
	case 3:
		return {"post",
			"rc0",
			"LOCAL_INV",
			{{"rkey", {"mw2", random.below(2)}}}};
	default:
		return {"dereg", region, "", {}};
	}
}

Step some_event(bool with_failures, Random &random)
{
	if (with_failures && random.one_in(2))
		return {"fault",
			random.one_in(4) ? "page" : "slab",
			"",
			{{"percent", {"", 1 + random.below(60)}},
			 {"times", {"", 1 + random.below(30)}}}};
	switch (random.below(7)) {
	case 6:
		return window_event(random);
	case 0:
		return {"poll", "", "", {}};
	case 1:
		return {"wait", "", "", {{"us", {"", random.below(3000)}}}};
	case 2:
		return {"answer", random.pick(all_targets), "all", {}};
	case 3:
		return memory_event(random);
	default:
		return target_event(random);
	}
}

void splice(Dialogue &to, const Dialogue &other, Random &random)
{
	const size_t from = random.below(other.size());
	const size_t count = 1 + random.below(other.size() - from);
	const auto begin = other.begin() + static_cast<long>(from);

	to.insert(to.begin() + static_cast<long>(random.below(to.size() + 1)),
		  begin, begin + static_cast<long>(count));
}

void change_order(Dialogue &dialogue, size_t at, Random &random)
{
	const auto place = dialogue.begin() + static_cast<long>(at);

	switch (random.below(4)) {
	case 0:
		dialogue.erase(place);
		return;
	case 1: {
		const Step again = *place;

		dialogue.insert(dialogue.begin() +
					static_cast<long>(random.below(
						dialogue.size() + 1)),
				again);
		return;
	}
	case 2:
		dialogue.resize(at + 1);
		return;
	default:
		std::swap(*place, random.pick(dialogue));
	}
}

void mutate_once(Dialogue &dialogue, const Dialogue &other, bool with_failures,
		 Random &random)
{
	const size_t at = random.below(dialogue.size());
	Step &step = dialogue[at];

	switch (random.below(12)) {
	case 0:
	case 1:
		return change_order(dialogue, at, random);
	case 2:
		if (!other.empty())
			splice(dialogue, other, random);
		return;
	case 3:
	case 4:
		dialogue.insert(dialogue.begin() + static_cast<long>(at),
				some_event(with_failures, random));
		return;
	case 5:
		if (step.subject.size() == 3)
			step.subject = random.pick(all_targets);
		return;
	default:
		if (step.verb == verb_packet)
			change_packet(step, random);
		else
			change_arg(step, random);
	}
}

} // namespace

Dialogue mutate(const Dialogue &dialogue, const Dialogue &other,
		bool with_failures, Random &random)
{
	Dialogue changed = dialogue;

	for (uint64_t n = 1 + random.below(random.one_in(4) ? 12 : 4); n; n--)
		if (!changed.empty())
			mutate_once(changed, other, with_failures, random);
	if (with_failures && !changed.empty() && random.one_in(2))
		changed.insert(changed.begin() + static_cast<long>(random.below(
							 changed.size())),
			       some_event(true, random));
	if (changed.size() > steps_most)
		changed.resize(steps_most);
	return changed;
}

} // namespace wf
