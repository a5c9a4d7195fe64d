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
constexpr int TROUBLE = 3;

void add_check(CLI::App &app, pavo::CheckOptions &options, bool &well)
{
	CLI::App *command = app.add_subcommand(
		"check", "what is wrong with this machine, and what to type");

	command->add_option("device", options.devices,
			    "adapters to check (all)");
	command->add_flag("--json", options.json, "as JSON");
	command->callback([&] { well = pavo::check(options); });
}

void add_status(CLI::App &app, pavo::StatusOptions &options, bool &well)
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
	command->add_flag("--forget", options.forget,
			  "from now on show trouble of counters only that "
			  "comes after this call");
	command->callback([&] { well = pavo::status(options); });
}

void add_top(CLI::App &app, pavo::TopOptions &options)
{
	CLI::App *command = app.add_subcommand(
		"top", "rates of the adapters, updated periodically");

	command->add_option("device", options.devices,
			    "adapters to show (all)");
	command->add_flag("--json", options.json,
			  "a line with an array of adapters for each update");
	command->add_flag("-q,--queue-pairs", options.queue_pairs,
			  "show the busiest queue pairs, with cwnd and round "
			  "trips");
	command->add_option("-i,--interval", options.interval,
			    "seconds between updates (1)")
		->check(CLI::Range(0.1, 3600.0));
	command->add_option("-n,--count", options.count,
			    "number of updates; 0: until interrupted (0)");
	command->callback([&] { pavo::top(options); });
}

void add_metrics(CLI::App &app, pavo::MetricsOptions &options)
{
	CLI::App *command = app.add_subcommand(
		"metrics", "counters, objects and findings for Prometheus");

	command->add_option("device", options.devices,
			    "adapters to tell of (all)");
	CLI::Option *output = command->add_option(
		"-o,--output", options.output,
		"replace this file, for the textfile collector of "
		"prometheus-node-exporter");

	command->add_option("-l,--listen", options.listen,
			    "[ADDRESS:]PORT: serve them by HTTP at /metrics, "
			    "without an address for this machine alone")
		->excludes(output);
	command->callback([&] { pavo::metrics(options); });
}

struct InterfaceCommands {
	pavo::InterfaceOptions add;
	std::string name;
	std::vector<std::string> words; /* nodes, or adapters */
	bool json = false;
};

void add_interface_options(CLI::App &app, pavo::InterfaceOptions &options)
{
	CLI::App *command =
		app.add_subcommand("add", "make one, as root, for a job");

	command->add_option("device", options.device, "adapter")->required();
	command->add_option("--name", options.name,
			    "name of the interface (pavo and a number)");
	command->add_option("--job", options.job, "JOBID")->required();
	CLI::Option_group *key = command->add_option_group("key");

	key->add_option("--key", options.key, "key of the job");
	key->add_option("--key-file", options.key_file,
			"file with the key of the job");
	key->require_option(1);
	command->add_option("--node", options.node,
			    "number of this machine in the job")
		->required();
	command->add_option("--nodes", options.nodes,
			    "number of the job's nodes (as the others need)");
	command->add_option("--window", options.window,
			    "number of its window (any), and of a peer's that "
			    "does not name one");
	command->add_option("--gid-index", options.gid_index,
			    "the adapter's GID to use (the first one)");
	command->add_option("--peer", options.peers,
			    "NODE=ADDRESS[/WINDOW] of another node, again for "
			    "each");
	command->callback([&] { pavo::add_interface(options); });
}

void add_interface_commands(CLI::App &app, InterfaceCommands &options)
{
	CLI::App *command = app.add_subcommand(
		"interface", "network interfaces over windows of a job");
	CLI::App *sub;

	command->require_subcommand(1);
	add_interface_options(*command, options.add);

	sub = command->add_subcommand("delete", "remove one");
	sub->add_option("name", options.name, "its name")->required();
	sub->callback([&] { pavo::delete_interface(options.name); });

	sub = command->add_subcommand("node", "change what it knows of nodes");
	sub->add_option("name", options.name, "its name")->required();
	sub->add_option("nodes", options.words,
			"NODE=ADDRESS[/WINDOW]; window 0: forget the node")
		->required();
	sub->callback([&] {
		pavo::set_interface_nodes(options.name, options.words);
	});

	sub = command->add_subcommand("show", "list them");
	sub->add_option("device", options.words, "adapters (all)");
	sub->add_flag("--json", options.json, "as JSON");
	sub->callback(
		[&] { pavo::show_interfaces(options.words, options.json); });
}

/* CLI11's message about an unknown command names no command. */
void check_command(const CLI::App &app, int argc, char **argv)
{
	std::string all;

	if (argc < 2 || argv[1][0] == '-')
		return;
	for (const CLI::App *command : app.get_subcommands({})) {
		if (command->get_name() == argv[1])
			return;
		all += (all.empty() ? "" : ", ") + command->get_name();
	}
	throw CLI::ExtrasError(
		"pavo", {std::string(argv[1]) + " (commands: " + all + ")"});
}

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("pavo - show pavo's RDMA adapters, and make network "
		     "interfaces over windows");
	pavo::CheckOptions check;
	pavo::StatusOptions status;
	pavo::TopOptions top;
	pavo::MetricsOptions metrics;
	InterfaceCommands interface;
	bool well = true;

	app.set_version_flag("--version", "pavo " PAVO_VERSION);
	app.require_subcommand(1);
	app.footer("Make and remove adapters with rdma(8): rdma link add "
		   "pavo0 type pavo netdev eth0.\n"
		   "Exit status: 0 done, 1 failed, 2 wrong use, 3 check or "
		   "status found trouble.");
	add_check(app, check, well);
	add_status(app, status, well);
	add_top(app, top);
	add_metrics(app, metrics);
	add_interface_commands(app, interface);
	try {
		check_command(app, argc, argv);
		app.parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		return app.exit(error) ? WRONG_USE : 0;
	} catch (const pavo::Error &error) {
		fprintf(stderr, "pavo: %s\n", error.what());
		return FAILED;
	}
	return well ? 0 : TROUBLE;
}
