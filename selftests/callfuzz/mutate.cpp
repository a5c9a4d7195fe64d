// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mutate.cpp - see mutate.h.
 */
#include "mutate.h"

#include <algorithm>

namespace callfuzz {

constexpr size_t most_learned = 20000;

const Entry &Mutator::any_entry()
{
	const auto &all = entries();
	uint64_t sum = 0;

	for (const Entry &entry : all)
		sum += entry.weight;
	/* Calls that break the world are rare: it takes long to make it anew. */
	if (!any(300))
		return *find_entry(any(2) ? "remove_link" : "end_ns");
	uint64_t left = any(sum);
	for (const Entry &entry : all) {
		if (left < entry.weight)
			return entry;
		left -= entry.weight;
	}
	return all.front();
}

uint64_t Mutator::any_number(const Field &field, uint64_t before)
{
	static constexpr uint64_t edges[] = {0,
					     1,
					     2,
					     7,
					     15,
					     16,
					     255,
					     256,
					     4095,
					     4096,
					     65535,
					     65536,
					     0x7fffffff,
					     0x80000000,
					     0xffffffff,
					     0x100000000,
					     0x7fffffffffffffff,
					     ~uint64_t{0}};

	switch (any(8)) {
	case 0:
		return edges[any(std::size(edges))];
	case 1:
		return before ^ uint64_t { 1 } << any(field.size * 8 + 1) % 64;
	case 2:
		return before + any(9) - 4;
	case 3:
		if (!learned_.empty()) {
			const Compared &one = learned_[any(learned_.size())];

			return one.constant + (chance(30) ? any(3) - 1 : 0);
		}
		return random_();
	default:
		return field.hints[any(field.hints.size())];
	}
}

/* Mostly one that fits; else one that does not, or a number. */
Value Mutator::any_value(const Program &program, size_t at, const Field &field,
			 Value before)
{
	std::vector<Value> fit, all;

	for (size_t i = 0; i < at; i++) {
		const auto &outputs = program.calls[i].entry->outputs;

		for (size_t k = 0; k < outputs.size(); k++) {
			const std::string &cls = outputs[k].cls;
			const Value value{int(i), int(k), 0};

			if (cls == field.cls ||
			    (field.cls == "area" && cls.ends_with("area")))
				fit.push_back(value);
			all.push_back(value);
		}
	}
	if (!fit.empty() && chance(80))
		return fit[any(fit.size())];
	if (!all.empty() && chance(20))
		return all[any(all.size())];
	if (before.call >= 0 && chance(50)) {
		before.number = any(2) ? any(3) - 1 : 1ull << any(32);
		return before;
	}
	return {-1, 0, any_number(field, before.number)};
}

void Mutator::change_arg(Program &program, size_t at)
{
	Call &call = program.calls[at];

	if (call.args.empty())
		return;
	const size_t which = any(call.args.size());
	const Field &field = call.entry->fields[call.entry->args[which]];
	Value &value = call.args[which];

	if (field.what == What::file && chance(70))
		return;
	/* The constant that it was compared with tells which value it might have. */
	if (value.call < 0 && chance(30))
		for (int i = 0; i < 64 && !learned_.empty(); i++) {
			const Compared &one = learned_[any(learned_.size())];

			if (one.value == value.number) {
				value.number = one.constant;
				return;
			}
		}
	if (field.what == What::value || field.what == What::file)
		value = any_value(program, at, field, value);
	else if (chance(10))
		value = any_value(program, at, field, value);
	else
		value = {-1, 0, any_number(field, value.number)};
}

Twisted Mutator::any_twist(const Call &call)
{
	const uint32_t word = chance(50) ? 1u << any(32) : uint32_t(random_());

	switch (any(12)) {
	case 0:
		return {Twist::cut, uint32_t(any(64)), 0};
	case 1:
		return {Twist::more, uint32_t(any(64)), uint32_t(any(2))};
	case 2:
	case 3:
		return {Twist::flip, uint32_t(any(200)), word};
	case 4:
		return {Twist::omit, uint32_t(any(12)), 0};
	case 5: {
		const auto &fields = call.entry->fields;
		const Field &one = fields[any(fields.size() + !fields.size())];

		return {Twist::id, uint32_t(std::max(one.attr, 0)),
			uint32_t(any(2) ? any(20) : 0x1000 + any(14))};
	}
	case 6:
		return {Twist::room, uint32_t(any(64)), 0};
	case 7:
		return {Twist::flags, uint32_t(any(4)), 0};
	case 8:
		return {Twist::foreign, uint32_t(any(2) ? 0 : random_()),
			uint32_t(any(2) ? 0x11000000 : 0x14000000)};
	default:
		return {Twist::nth, uint32_t(1 + any(any(2) ? 10 : 60)), 0};
	}
}

void Mutator::change_call(Program &program, size_t at)
{
	Call &call = program.calls[at];

	if (chance(40)) {
		if (!call.twists.empty() && chance(40))
			call.twists.erase(call.twists.begin() +
					  long(any(call.twists.size())));
		else if (call.twists.size() < 3 && !call.entry->fields.empty())
			call.twists.push_back(any_twist(call));
	} else if (chance(30)) {
		call.async = !call.async;
	} else if (chance(25)) {
		call.actor = int(any(actors));
	} else {
		change_arg(program, at);
	}
}

void Mutator::insert_call(Program &program)
{
	if (program.calls.size() >= most_calls)
		return;
	const size_t at = any(program.calls.size() + 1);
	/* Mostly of an actor that is in it. */
	const int actor =
		program.calls.empty() || chance(10) ?
			int(any(actors)) :
			program.calls[any(program.calls.size())].actor;

	program.insert(at, default_call(program, at, any_entry(), actor));
	while (chance(40))
		change_arg(program, at);
}

/* Twice at once, or once more, or by another actor. */
void Mutator::repeat_call(Program &program, size_t at)
{
	Call call = program.calls[at];

	if (program.calls.size() >= most_calls)
		return;
	if (chance(60))
		program.calls[at].async = true;
	if (chance(20))
		call.actor = int(any(actors));
	const size_t to = chance(60) ? at + 1 :
				       at + 1 + any(program.calls.size() - at);
	program.insert(to, call);
}

void Mutator::swap_calls(Program &program, size_t at)
{
	if (at + 1 >= program.calls.size())
		return;
	Call next = program.calls[at + 1];

	for (const Value &value : next.args)
		if (value.call == int(at))
			return;
	program.remove(at + 1);
	program.insert(at, next);
}

void Mutator::splice(Program &program, const Program &other)
{
	const size_t keep = any(program.calls.size() + 1);
	const size_t from = chance(50) ? 0 : any(other.calls.size() + 1);

	while (program.calls.size() > keep && chance(70))
		program.remove(program.calls.size() - 1);
	const size_t base = program.calls.size();
	for (size_t i = from;
	     i < other.calls.size() && program.calls.size() < most_calls; i++) {
		Call call = other.calls[i];

		for (size_t k = 0; k < call.args.size(); k++) {
			Value &value = call.args[k];

			if (value.call >= int(from))
				value.call += int(base) - int(from);
			else if (value.call >= 0)
				value = find_value(
					program, program.calls.size(),
					call.entry->fields[call.entry->args[k]]
						.cls,
					call.actor);
		}
		program.calls.push_back(call);
	}
}

void Mutator::mutate_once(Program &program, const Program &other)
{
	const uint64_t what = program.calls.empty() ? 0 : any(100);
	const size_t at = any(program.calls.size() + program.calls.empty());

	if (what < 25)
		insert_call(program);
	else if (what < 50)
		change_arg(program, at);
	else if (what < 70)
		change_call(program, at);
	else if (what < 78)
		program.remove(at);
	else if (what < 88)
		repeat_call(program, at);
	else if (what < 94)
		swap_calls(program, at);
	else
		splice(program, other);
}

/* Mostly without what costs a world: seconds, in which a hundred programs could run. */
void Mutator::spare_world(Program &program)
{
	if (!any(8))
		return;
	for (size_t at = program.calls.size(); at--;) {
		const std::string &name = program.calls[at].entry->name;

		if (name == "remove_link" || name == "end_ns")
			program.remove(at);
	}
}

Program Mutator::mutate(Program program, const Program &other)
{
	do
		mutate_once(program, other);
	while (chance(65));
	spare_world(program);
	return program;
}

Program Mutator::invent()
{
	Program program;
	const int actor = int(any(3));

	for (const char *name : {"open", "get_context", "alloc_pd"})
		program.calls.push_back(default_call(program,
						     program.calls.size(),
						     *find_entry(name), actor));
	program.calls[0].args[0].number = uint64_t(actor);
	for (uint64_t n = 3 + any(15); n; n--) {
		const size_t at = program.calls.size();

		program.calls.push_back(
			default_call(program, at, any_entry(), actor));
		if (chance(60))
			change_arg(program, at);
		if (chance(10))
			change_call(program, at);
	}
	return program;
}

void Mutator::learn(const Compared *compared, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (learned_.size() < most_learned)
			learned_.push_back(compared[i]);
		else
			learned_[any(most_learned)] = compared[i];
}

} // namespace callfuzz
