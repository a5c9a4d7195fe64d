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

} // namespace

int main(int argc, char **argv)
{
	CLI::App app("pavo - show pavo's RDMA adapters, and make network "
		     "interfaces over windows");
	pavo::StatusOptions status;
	pavo::TopOptions top;
	InterfaceCommands interface;

	app.require_subcommand(1);
	app.footer("Make and remove adapters with rdma(8): rdma link add "
		   "pavo0 type pavo netdev eth0.\n"
		   "Exit status: 0 done, 1 failed, 2 wrong use.");
	add_status(app, status);
	add_top(app, top);
	add_interface_commands(app, interface);
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
