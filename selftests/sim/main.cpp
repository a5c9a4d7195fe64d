// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - pavo-sim: the module's own code as two peers on a bad network, all of it from one seed.
 *
 * Owns: the command line, and what is printed.
 */
#include <chrono>
#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "../common/options.h"
#include "numbers.hpp"
#include "runner.hpp"

namespace {

using namespace sim;
using Clock = std::chrono::steady_clock;

struct Options {
	uint64_t seeds = 1000, from = 1;
	std::string messages, packets, without;
	unsigned failures = 5, tries = 300, patience = 30;
	bool json = false, tap = false, trace = false, describe = false,
	     quiet = false;
	bool shrinks = true;
};

Limits limits_of(const Options &o)
{
	Limits limits;

	if (!o.messages.empty())
		limits.messages = parse_numbers<unsigned>(o.messages);
	if (!o.packets.empty())
		limits.packets = parse_numbers<uint64_t>(o.packets);
	limits.trace = o.trace;
	for (size_t at = 0; at < o.without.size();) {
		const size_t comma =
			std::min(o.without.find(',', at), o.without.size());
		const auto fault =
			fault_named(o.without.substr(at, comma - at));

		if (!fault)
			throw std::invalid_argument(o.without);
		limits.without.insert(*fault);
		at = comma + 1;
	}
	return limits;
}

/* The command that runs it again. */
std::string command_of(uint64_t seed, const Limits &limits)
{
	std::string text =
		fmt::format("selftests/sim/simulate --seeds 1 --from {}", seed);
	std::string without;

	for (Fault fault : limits.without)
		without += fmt::format("{}{}", without.empty() ? "" : ",",
				       name_of(fault));
	if (limits.messages)
		text += " --messages " + print_numbers(*limits.messages);
	if (!without.empty())
		text += " --without " + without;
	if (limits.packets)
		text += " --packets " + print_numbers(*limits.packets);
	return text;
}

/* Sums of all runs, and the failures. */
class Report {
public:
	explicit Report(const Options &options) : options_(options) {}

	void add(const Result &result);
	void fail(Runner &runner, const Result &result, const Limits &limits);
	unsigned failures() const { return unsigned(failures_.size()); }
	void print_progress();
	void print() const;
	uint64_t trace() const { return sum_.trace; }

private:
	double seconds() const
	{
		return std::chrono::duration<double>(Clock::now() - begin_)
			.count();
	}

	const Options &options_;
	const Clock::time_point begin_ = Clock::now();
	Clock::time_point told_ = begin_;
	uint64_t runs_ = 0;
	Outcome sum_;
	nlohmann::json failures_ = nlohmann::json::array();
};

void Report::add(const Result &result)
{
	const Outcome &o = result.outcome;

	runs_++;
	if (!result.passed && !options_.quiet)
		fmt::print(stderr, "# seed {} fails: {}\n", result.seed,
			   result.kind);
	sum_.packets += o.packets;
	sum_.events += o.events;
	sum_.time += o.time;
	sum_.messages += o.messages;
	sum_.retransmits += o.retransmits;
	sum_.not_ready += o.not_ready;
	sum_.failed += o.failed;
	sum_.trace = sum_.trace * 31 + o.trace;
	for (size_t i = 0; i < fault_count; i++)
		sum_.faults[i] += o.faults[i];
	print_progress();
}

void Report::print_progress()
{
	if (options_.quiet || Clock::now() - told_ < std::chrono::seconds(2))
		return;
	told_ = Clock::now();
	fmt::print(stderr, "# {} of {} seeds, {} failed, {:.0f} a second\n",
		   runs_, options_.seeds, failures_.size(),
		   double(runs_) / seconds());
}

void Report::fail(Runner &runner, const Result &result, const Limits &limits)
{
	const Limits small = options_.shrinks ? shrink(runner, result, limits,
						       options_.tries) :
						limits;
	const std::string all = command_of(result.seed, limits),
			  less = command_of(result.seed, small);

	failures_.push_back({{"seed", result.seed},
			     {"kind", result.kind},
			     {"text", result.text},
			     {"command", all},
			     {"smaller", less}});
	if (options_.json)
		return;
	fmt::print("# seed {} fails: {}: {}\n#   again:   {}\n", result.seed,
		   result.kind, result.text, all);
	if (less != all)
		fmt::print("#   smaller: {}\n", less);
	std::fflush(stdout);
}

void Report::print() const
{
	nlohmann::json faults;

	for (size_t i = 0; i < fault_count; i++)
		faults[std::string(name_of(Fault(i)))] = sum_.faults[i];
	if (options_.json) {
		std::cout << nlohmann::json({{"seeds", runs_},
					     {"from", options_.from},
					     {"seconds", seconds()},
					     {"messages", sum_.messages},
					     {"packets", sum_.packets},
					     {"events", sum_.events},
					     {"nanoseconds", sum_.time},
					     {"retransmits", sum_.retransmits},
					     {"rnr_naks", sum_.not_ready},
					     {"errors", sum_.failed},
					     {"faults", faults},
					     {"trace", sum_.trace},
					     {"failures", failures_}})
				     .dump(1)
			  << "\n";
		return;
	}
	fmt::print(
		"# {} seeds from {} on in {:.1f} s ({:.0f} a second): {} messages, "
		"{} packets, {} retransmitted, {} RNR NAKs, {} connections that "
		"ended in an error; trace {:016x}\n# faults: {}\n",
		runs_, options_.from, seconds(), double(runs_) / seconds(),
		sum_.messages, sum_.packets, sum_.retransmits, sum_.not_ready,
		sum_.failed, sum_.trace, faults.dump());
	if (!options_.tap)
		fmt::print("{} of {} seeds failed\n", failures_.size(), runs_);
}

void print_plans(const Options &o, const Limits &limits)
{
	for (uint64_t seed = o.from; seed < o.from + o.seeds; seed++) {
		Plan plan = make_plan(seed);

		cut_down(plan, limits);
		fmt::print("{}", describe(plan));
	}
	std::fflush(stdout);
}

/* Run all seeds of @o. Return: those that failed. */
std::vector<Result> run_all(Runner &runner, Report &report, const Options &o,
			    const Limits &limits)
{
	std::vector<Result> failed;

	runner.run(o.from, o.seeds, limits, [&](const Result &result) {
		report.add(result);
		if (!result.passed)
			failed.push_back(result);
		return failed.size() < o.failures;
	});
	return failed;
}

/* True if some of the seeds run in the same way once more. */
bool run_again(Runner &runner, Options o, const Limits &limits)
{
	o.seeds = std::min<uint64_t>(o.seeds, 100);
	Report first(o), second(o);

	run_all(runner, first, o, limits);
	run_all(runner, second, o, limits);
	return first.trace() == second.trace();
}

int run(const Options &o)
{
	const Limits limits = limits_of(o);
	Runner runner(o.patience);
	Report report(o);

	if (o.describe)
		print_plans(o, limits);
	const std::vector<Result> failed = run_all(runner, report, o, limits);

	for (const Result &result : failed)
		report.fail(runner, result, limits);
	report.print();
	if (!o.tap)
		return failed.empty() ? 0 : 1;
	const bool same = run_again(runner, o, limits);

	fmt::print(
		"1..2\n{}ok 1 {} seeds from {} on\n{}ok 2 a seed runs in the "
		"same way each time\n",
		failed.empty() ? "" : "not ", o.seeds, o.from,
		same ? "" : "not ");
	return failed.empty() && same ? 0 : 1;
}

} // namespace

int main(int argc, char **argv)
{
	Options o;
	common::CommandLine app(
		"pavo-sim - run the module's own code as two peers on a bad network, "
		"all of which follows from a seed");

	app.footer(
		"Exit status: 0 all seeds passed, 1 some failed, 2 usage.\n"
		"Faults: loss burst cut overflow corrupt duplicate reorder deaf mark "
		"jitter late memory paging backlog.");
	app.add_option("--seeds", o.seeds, "how many seeds")
		->capture_default_str();
	app.add_option("--from", o.from, "the first one")->capture_default_str();
	app.add_option("--messages", o.messages,
		       "only these messages, as 1,4-6 or none");
	app.add_option("--packets", o.packets,
		       "only these packets have faults, likewise");
	app.add_option("--without", o.without,
		       "kinds of faults that do not happen, as loss,late");
	app.add_option("--failures", o.failures, "end after so many")
		->capture_default_str();
	app.add_option("--tries", o.tries,
		       "most runs to make a failure smaller")
		->capture_default_str();
	app.add_option("--patience", o.patience, "seconds that a seed may take")
		->capture_default_str();
	app.add_flag("!--no-shrink", o.shrinks, "leave failures as they are");
	app.add_flag("--describe", o.describe,
		     "print what the seeds stand for");
	app.add_flag("--trace", o.trace, "print all that happens in them");
	app.add_flag("--json", o.json, "print one JSON object");
	app.add_flag("--tap", o.tap, "print TAP");
	app.add_flag("--quiet", o.quiet, "no progress on stderr");
	app.read(argc, argv);
	try {
		return run(o);
	} catch (const std::invalid_argument &bad) {
		fmt::print(stderr, "pavo-sim: what is \"{}\"? (see --help)\n",
			   bad.what());
		return 2;
	} catch (const std::exception &error) {
		fmt::print(stderr, "pavo-sim: {}\n", error.what());
		return 1;
	}
}
