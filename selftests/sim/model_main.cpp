// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * model_main.cpp - pavo-model: three messages between two peers, through every schedule of a small
 * network.
 *
 * Owns: the command line, the plans, what is printed.
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <rdma/pavo-abi.h>
#include <sanitizer/common_interface_defs.h>

#include "../common/options.h"
#include "model.hpp"
#include "oracle.hpp"

namespace {

using namespace sim;
using Clock = std::chrono::steady_clock;

constexpr int mtu = 256;
constexpr uint32_t one_packet = 24, two_packets = mtu + 24;

struct Options {
	unsigned faults = 1;
	std::vector<size_t> plans;
	std::string schedule;
	bool json = false, tap = false, list = false;
};

Message make_message(Op op, uint32_t length)
{
	Message m;

	m.op = op;
	m.length = length;
	m.offset = is_atomic(op) ? 8 : word_bytes + 8;
	m.operand = 0x1122334455667788;
	m.joined = true;
	return m;
}

Plan make_small_plan(std::vector<Message> messages, uint64_t seed)
{
	Connection connection;
	Plan plan;

	for (unsigned i = 0; i < messages.size(); i++)
		messages[i].number = i;
	connection.mtu = mtu;
	/* The second one is the last: PSNs wrap. */
	connection.psn = {0xfffffe, 77};
	connection.receive_size = 2 * mtu;
	connection.depth = 4;
	connection.flows[0].messages = std::move(messages);
	plan.seed = seed;
	plan.connections = {connection};
	return plan;
}

/*
 * A read, an atomic and another message in every order: four PSNs, of which the read or the other
 * message has two.
 */
std::vector<Plan> make_plans()
{
	std::vector<Plan> plans;

	for (Op other : {Op::send, Op::write, Op::write_imm, Op::atomic_write})
		for (bool long_read : {true, false}) {
			std::vector<Message> messages = {
				make_message(Op::read, long_read ? two_packets :
								   one_packet),
				make_message(Op::fetch_add, 8),
				make_message(other, is_atomic(other) ? 8 :
						    long_read ? one_packet :
								two_packets),
			};
			std::vector<unsigned> order = {0, 1, 2};

			if (is_atomic(other))
				messages[2].offset = 16;
			do {
				plans.push_back(make_small_plan(
					{messages[order[0]], messages[order[1]],
					 messages[order[2]]},
					plans.size() + 1));
			} while (std::ranges::next_permutation(order).found);
		}
	return plans;
}

std::string describe_plan(const Plan &plan)
{
	std::string text;

	for (const Message &m : plan.connections[0].flows[0].messages)
		text += fmt::format("{}{} of {} B", text.empty() ? "" : ", ",
				    name_of(m.op), m.length);
	return text;
}

/* The schedule under way, for a run that a sanitizer ends. */
Schedule now_at;
size_t now_plan;

void print_place()
{
	fmt::print("# repeat it: pavo-model --plan {} --schedule '{}'\n",
		   now_plan, print(now_at));
	std::fflush(stdout);
}

void add(Explored &sum, const Explored &one)
{
	sum.states += one.states;
	sum.steps += one.steps;
	sum.known += one.known;
	sum.ends += one.ends;
	sum.runs += one.runs;
	sum.longest = std::max(sum.longest, one.longest);
}

void print_result(const Options &o, const Explored &sum, size_t plans,
		  double seconds)
{
	if (o.json)
		std::cout << nlohmann::json({{"plans", plans},
					     {"faults", o.faults},
					     {"states", sum.states},
					     {"steps", sum.steps},
					     {"known", sum.known},
					     {"ends", sum.ends},
					     {"runs", sum.runs},
					     {"longest", sum.longest},
					     {"seconds", seconds}})
				     .dump(1)
			  << "\n";
	else
		fmt::print(
			"# {} plans, at most {} faults: {} states, {} steps ({} to "
			"known states), {} ends, schedules of up to {} steps; "
			"{:.1f} s\n",
			plans, o.faults, sum.states, sum.steps, sum.known,
			sum.ends, sum.longest, seconds);
}

int run(Options &o)
{
	const std::vector<Plan> all = make_plans();
	const auto begin = Clock::now();
	fake::Kernel kernel({{"engine", std::to_string(PAVO_ABI_VERSION)}});
	Explored sum;

	if (o.plans.empty())
		for (size_t i = 1; i <= all.size(); i++)
			o.plans.push_back(i);
	if (o.tap)
		fmt::print("TAP version 13\n1..{}\n", o.plans.size());
	for (size_t n = 0; n < o.plans.size(); n++) {
		const Plan &plan = all.at(o.plans[n] - 1);
		const std::string text = describe_plan(plan);

		now_plan = o.plans[n];
		if (o.list) {
			fmt::print("{:3} {}\n", now_plan, text);
			continue;
		}
		try {
			if (o.schedule.empty()) {
				add(sum,
				    explore(kernel, plan, o.faults, now_at));
			} else {
				now_at = parse_schedule(o.schedule);
				replay(kernel, plan, now_at);
			}
		} catch (const Failure &failure) {
			fmt::print("# {}: {}\n", failure.kind, failure.what());
			print_place();
			fmt::print("{}{}\n",
				   o.tap ? fmt::format("not ok {} ", n + 1) :
					   "failed: ",
				   text);
			return 1;
		}
		if (o.tap)
			fmt::print("ok {} {}\n", n + 1, text);
	}
	if (!o.list && o.schedule.empty())
		print_result(o, sum, o.plans.size(),
			     std::chrono::duration<double>(Clock::now() - begin)
				     .count());
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	Options o;
	common::CommandLine app(
		"pavo-model - go through every schedule of a small network between two "
		"peers that are the module's own code");

	app.footer(
		"A schedule has a step each: aN packet N of those under way arrives, rN it "
		"arrives and stays, lN it is lost, f the next timer fires.\n"
		"Exit status: 0 all held, 1 something did not, 2 usage.");
	app.add_option("--faults", o.faults, "most faults of a schedule")
		->capture_default_str();
	app.add_option("--plan", o.plans, "only these plans, by --list");
	app.add_option("--schedule", o.schedule,
		       "run this schedule of a plan, and print what happens");
	app.add_flag("--list", o.list, "print the plans");
	app.add_flag("--json", o.json, "print one JSON object");
	app.add_flag("--tap", o.tap, "print TAP");
	app.read(argc, argv);
	__sanitizer_set_death_callback(print_place);
	try {
		return run(o);
	} catch (const std::invalid_argument &bad) {
		fmt::print(stderr, "pavo-model: what is \"{}\"? (see --help)\n",
			   bad.what());
		return 2;
	} catch (const std::out_of_range &) {
		fmt::print(stderr,
			   "pavo-model: there is no such plan or packet; "
			   "--list names the plans\n");
		return 2;
	}
}
