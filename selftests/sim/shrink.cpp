// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * shrink.cpp - makes a failed run smaller; see runner.hpp.
 */
#include <algorithm>
#include <functional>

#include "runner.hpp"

namespace sim {

namespace {

class Shrinker {
public:
	Shrinker(Runner &runner, const Result &failed, Limits limits,
		 unsigned tries)
		: runner_(runner), failed_(failed), limits_(std::move(limits)),
		  tries_(tries)
	{
	}

	Limits shrink();

private:
	bool fails(const Limits &limits);
	void drop_kinds();
	template <class Number>
	void drop_numbers(std::optional<std::set<Number>> Limits::*what);

	Runner &runner_;
	const Result &failed_;
	Limits limits_;
	unsigned tries_;
};

/* True if it fails in the same way. */
bool Shrinker::fails(const Limits &limits)
{
	if (!tries_)
		return false;
	tries_--;
	const Result result = runner_.run_one(failed_.seed, limits);

	return !result.passed && result.kind == failed_.kind;
}

void Shrinker::drop_kinds()
{
	for (size_t i = 0; i < fault_count; i++) {
		Limits less = limits_;

		if (less.without.insert(Fault(i)).second && fails(less))
			limits_ = less;
	}
}

/* Drop parts that get smaller and smaller (delta debugging, Zeller 2002). */
template <class Number>
void Shrinker::drop_numbers(std::optional<std::set<Number>> Limits::*what)
{
	size_t part = ((limits_.*what)->size() + 1) / 2;

	while (part && tries_) {
		const std::vector<Number> all((limits_.*what)->begin(),
					      (limits_.*what)->end());

		for (size_t at = 0; at < all.size(); at += part) {
			Limits less = limits_;

			for (size_t i = at; i < std::min(at + part, all.size());
			     i++)
				(less.*what)->erase(all[i]);
			if (fails(less))
				limits_ = less;
		}
		part = part == 1 ? 0 : (part + 1) / 2;
	}
}

Limits Shrinker::shrink()
{
	Plan plan = make_plan(failed_.seed);
	Limits listed = limits_;

	cut_down(plan, limits_);
	listed.messages.emplace();
	for (const Connection &connection : plan.connections)
		for (const Flow &flow : connection.flows)
			for (const Message &message : flow.messages)
				listed.messages->insert(message.number);
	if (!fails(listed))
		return limits_;
	limits_ = listed;
	drop_kinds();
	drop_numbers(&Limits::messages);
	if (!fails(limits_))
		return limits_;
	/* The faults of that run, by number. */
	const Evidence &evidence = runner_.evidence();

	listed = limits_;
	listed.packets.emplace(evidence.faulty,
			       evidence.faulty + evidence.count);
	if (fails(listed)) {
		limits_ = listed;
		drop_numbers(&Limits::packets);
		drop_numbers(&Limits::messages);
	}
	return limits_;
}

} // namespace

Limits shrink(Runner &runner, const Result &failed, Limits limits,
	      unsigned tries)
{
	return Shrinker(runner, failed, std::move(limits), tries).shrink();
}

} // namespace sim
