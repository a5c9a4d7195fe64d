// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - the command line of `pavo`. Owns the options.
 */
#include <cstdio>

#include <CLI/CLI.hpp>

#include "commands.h"
#include "device.h"

namespace {

constexpr int FAILED = 1;
constexpr int WRONG_USE = 2;

void add_status(CLI::App &app, pavo::StatusOptions &options)
{
	CLI::App *command = app.add_subcommand(
		"status", "state of the adapters, and trouble with advice");

	command->add_option("device", options.devices,
			    "adapters to show (all)");
	command->add_flag("--json", options.json, "as JSON, with everything");
	command->add_flag("-q,--queue-pairs", options.queue_pairs,
			  "list the queue pairs");
	command->add_flag("-c,--counters", options.all_counters,
			  "list all counters");
	command->callback([&] { pavo::status(options); });
}

void add_top(CLI::App &app, pavo::TopOptions &options)
{
	CLI::App *command = app.add_subcommand(
		"top", "rates of the adapters, updated periodically");

	command->add_option("device", options.devices,
			    "adapters to show (all)");
	command->add_flag("--json", options.json,
			  "a line with an array of adapters for each update");
	command->add_option("-i,--interval", options.interval,
			    "seconds between updates (1)")
		->check(CLI::Range(0.1, 3600.0));
	command->add_option("-n,--count", options.count,
			    "number of updates; 0: until interrupted (0)");
	command->callback([&] { pavo::top(options); });
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("pavo - show pavo's RDMA adapters");
	pavo::StatusOptions status;
	pavo::TopOptions top;

	app.require_subcommand(1);
	app.footer("Make and remove adapters with rdma(8): rdma link add "
		   "pavo0 type pavo netdev eth0.\n"
		   "Exit status: 0 done, 1 failed, 2 wrong use.");
	add_status(app, status);
	add_top(app, top);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		return app.exit(error) ? WRONG_USE : 0;
	} catch (const pavo::Error &error) {
		fprintf(stderr, "pavo: %s\n", error.what());
		return FAILED;
	}
	return 0;
}
