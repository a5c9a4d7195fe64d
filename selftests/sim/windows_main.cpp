// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * windows_main.cpp - pavo-sim-windows: the engines of windows on a bad network, from one seed each.
 *
 * Owns: the command line, making a failure smaller, and what is printed.
 */
#include <chrono>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "../common/options.h"
#include "numbers.hpp"
#include "windows.hpp"

namespace {

using namespace sim;
using Clock = std::chrono::steady_clock;

struct Options {
	uint64_t seeds = 1000, from = 1;
	std::string operations, without;
	unsigned failures = 5;
	bool json = false, tap = false, describe = false, quiet = false;
	bool shrinks = true;
};

/* The ends say by EXPECT what they find wrong. */
class Listener : public testing::EmptyTestEventListener {
public:
	void OnTestPartResult(const testing::TestPartResult &result) override
	{
		if (result.failed() && text_.empty())
			text_ = result.summary();
	}
	std::string take() { return std::exchange(text_, {}); }

private:
	std::string text_;
};

Listener *listen()
{
	auto &listeners = testing::UnitTest::GetInstance()->listeners();
	auto *listener = new Listener; /* the listeners delete it */

	delete listeners.Release(listeners.default_result_printer());
	listeners.Append(listener);
	return listener;
}

WindowLimits limits_of(const Options &o)
{
	WindowLimits limits;
	const auto &names = window_troubles();

	if (!o.operations.empty())
		limits.operations = parse_numbers<unsigned>(o.operations);
	for (size_t at = 0; at < o.without.size();) {
		const size_t comma =
			std::min(o.without.find(',', at), o.without.size());
		const std::string name = o.without.substr(at, comma - at);

		if (!std::ranges::count(names, name))
			throw std::invalid_argument(name);
		limits.without.insert(name);
		at = comma + 1;
	}
	return limits;
}

/* The command that runs it again. */
std::string command_of(uint64_t seed, const WindowLimits &limits)
{
	std::string text = fmt::format(
		"selftests/sim/simulate --windows --seeds 1 --from {}", seed);

	if (limits.operations)
		text += " --operations " + print_numbers(*limits.operations);
	if (!limits.without.empty())
		text += fmt::format(" --without {}",
				    fmt::join(limits.without, ","));
	return text;
}

class Simulation {
public:
	explicit Simulation(const Options &options)
		: options_(options), limits_(limits_of(options)),
		  listener_(listen())
	{
	}

	/* Return: true if no seed failed. */
	bool run();

private:
	WindowOutcome run_one(uint64_t seed, const WindowLimits &limits);
	void note(uint64_t seed, const WindowOutcome &outcome);
	void fail(uint64_t seed, const std::string &why);
	WindowLimits shrink(uint64_t seed);
	void print() const;
	double seconds() const
	{
		return std::chrono::duration<double>(Clock::now() - begin_)
			.count();
	}

	const Options &options_;
	const WindowLimits limits_;
	Listener *listener_;
	const Clock::time_point begin_ = Clock::now();
	Clock::time_point told_ = begin_;
	uint64_t runs_ = 0;
	WindowOutcome sum_;
	nlohmann::json failures_ = nlohmann::json::array();
};

WindowOutcome Simulation::run_one(uint64_t seed, const WindowLimits &limits)
{
	WindowPlan plan = make_window_plan(seed);

	cut_down(plan, limits);

	WindowOutcome outcome = sim::run(plan);
	const std::string said = listener_->take();

	if (outcome.failure.empty())
		outcome.failure = said;
	return outcome;
}

/* Leave out troubles, then operations, as long as it fails in any way. */
WindowLimits Simulation::shrink(uint64_t seed)
{
	WindowLimits least = limits_;
	const auto try_less = [&](const WindowLimits &less) {
		if (!run_one(seed, less).failure.empty())
			least = less;
	};

	for (const std::string &name : window_troubles()) {
		WindowLimits less = least;

		if (less.without.insert(name).second)
			try_less(less);
	}
	for (const WindowOperation &op : make_window_plan(seed).operations) {
		WindowLimits less = least;

		if (!less.operations) {
			less.operations.emplace();
			for (const auto &one :
			     make_window_plan(seed).operations)
				less.operations->insert(one.number);
		}
		if (less.operations->erase(op.number))
			try_less(less);
	}
	return least;
}

void Simulation::fail(uint64_t seed, const std::string &why)
{
	const std::string all = command_of(seed, limits_),
			  less = command_of(seed, options_.shrinks ?
							  shrink(seed) :
							  limits_);

	failures_.push_back({{"seed", seed},
			     {"text", why},
			     {"command", all},
			     {"smaller", less}});
	if (options_.json)
		return;
	fmt::print("# seed {} fails: {}\n#   again:   {}\n", seed, why, all);
	if (less != all)
		fmt::print("#   smaller: {}\n", less);
	std::fflush(stdout);
}

void Simulation::note(uint64_t seed, const WindowOutcome &outcome)
{
	runs_++;
	sum_.operations += outcome.operations;
	sum_.bytes += outcome.bytes;
	sum_.steps += outcome.steps;
	sum_.repeated += outcome.repeated;
	sum_.recoveries += outcome.recoveries;
	sum_.deaths += outcome.deaths;
	if (!outcome.failure.empty())
		fail(seed, outcome.failure);
	if (options_.quiet || Clock::now() - told_ < std::chrono::seconds(2))
		return;
	told_ = Clock::now();
	fmt::print(stderr, "# {} of {} seeds, {} failed, {:.0f} a second\n",
		   runs_, options_.seeds, failures_.size(),
		   double(runs_) / seconds());
}

void Simulation::print() const
{
	if (options_.json) {
		std::cout << nlohmann::json({{"seeds", runs_},
					     {"from", options_.from},
					     {"seconds", seconds()},
					     {"operations", sum_.operations},
					     {"bytes", sum_.bytes},
					     {"steps", sum_.steps},
					     {"repeated", sum_.repeated},
					     {"recoveries", sum_.recoveries},
					     {"dead_paths", sum_.deaths},
					     {"failures", failures_}})
				     .dump(1)
			  << "\n";
		return;
	}
	fmt::print("# {} seeds from {} on in {:.1f} s ({:.0f} a second): {} "
		   "operations, {} bytes, {} steps, {} requests repeated, {} "
		   "recoveries, {} dead paths\n",
		   runs_, options_.from, seconds(), double(runs_) / seconds(),
		   sum_.operations, sum_.bytes, sum_.steps, sum_.repeated,
		   sum_.recoveries, sum_.deaths);
	if (!options_.tap)
		fmt::print("{} of {} seeds failed\n", failures_.size(), runs_);
}

bool Simulation::run()
{
	for (uint64_t seed = options_.from;
	     seed < options_.from + options_.seeds &&
	     failures_.size() < options_.failures;
	     seed++) {
		if (options_.describe) {
			WindowPlan plan = make_window_plan(seed);

			cut_down(plan, limits_);
			fmt::print("{}", sim::describe(plan));
			/* A sanitizer may end it. */
			std::fflush(stdout);
		}
		note(seed, run_one(seed, limits_));
	}
	print();
	if (options_.tap)
		fmt::print("1..1\n{}ok 1 {} seeds from {} on\n",
			   failures_.empty() ? "" : "not ", options_.seeds,
			   options_.from);
	return failures_.empty();
}

} // namespace

int main(int argc, char **argv)
{
	Options o;
	common::CommandLine app(
		"pavo-sim-windows - run the engines of windows on a bad network, all of "
		"which follows from a seed");

	app.footer("Exit status: 0 all seeds passed, 1 some failed, 2 usage.\n"
		   "Troubles: loss repeats reorder recovery death.");
	app.add_option("--seeds", o.seeds, "how many seeds")
		->capture_default_str();
	app.add_option("--from", o.from, "the first one")->capture_default_str();
	app.add_option("--operations", o.operations,
		       "only these, as 1,4-6 or none");
	app.add_option("--without", o.without,
		       "troubles that do not happen, as loss,recovery");
	app.add_option("--failures", o.failures, "end after so many")
		->capture_default_str();
	app.add_flag("!--no-shrink", o.shrinks, "leave failures as they are");
	app.add_flag("--describe", o.describe,
		     "print what the seeds stand for");
	app.add_flag("--json", o.json, "print one JSON object");
	app.add_flag("--tap", o.tap, "print TAP");
	app.add_flag("--quiet", o.quiet, "no progress on stderr");
	app.read(argc, argv);
	try {
		return Simulation(o).run() ? 0 : 1;
	} catch (const std::invalid_argument &bad) {
		fmt::print(stderr,
			   "pavo-sim-windows: what is \"{}\"? (see --help)\n",
			   bad.what());
		return 2;
	}
}
