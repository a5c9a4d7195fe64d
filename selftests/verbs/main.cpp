// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-verbs: a matrix of RC tests between two verbs devices.
 *
 * Both devices in this process:        pavo-verbs --dev A --peer B
 * Two machines, there:                 pavo-verbs --dev B --server
 *               here:                  pavo-verbs --dev A --connect HOST
 *
 * Owns: the command line. Works with any driver; output is TAP.
 */
#include <fstream>
#include <iostream>
#include <memory>

#include <unistd.h>

#include "env.h"
#include "ext_host.h"
#include "gid_option.h"
#include "remote_host.h"
#include "tap.h"

namespace {

struct Options {
	pv::Selector dev;
	pv::Selector peer;
	bool server = false;
	bool once = false;
	bool swap = false;
	bool list = false;
	std::string connect;
	uint16_t port = 18515;
	pv::EnvOptions env;
	pv::RunOptions run;
};

std::string trim(const std::string &text)
{
	size_t first = text.find_first_not_of(" \t");
	size_t last = text.find_last_not_of(" \t");

	return first == text.npos ? "" : text.substr(first, last - first + 1);
}

/* "TEST | part of the failure's text | reason" per line; # comments. */
void read_known(Options &o, const std::string &path)
{
	std::ifstream in(path);

	if (!in)
		throw std::runtime_error("cannot read " + path);
	for (std::string line; std::getline(in, line);) {
		size_t one = line.find('|');
		size_t two = line.find('|', one + 1);

		if (line.empty() || line[0] == '#')
			continue;
		if (one == line.npos || two == line.npos)
			throw std::runtime_error(path + ": bad line: " + line);
		o.run.known[trim(line.substr(0, one))] = {
			trim(line.substr(one + 1, two - one - 1)),
			trim(line.substr(two + 1))};
	}
}

/* Where the other end is; a program that lists its tests needs none. */
void check_ends(const Options &o)
{
	const bool ends =
		!o.connect.empty() + !o.peer.device.empty() + o.server == 1;

	if (!o.list && (o.dev.device.empty() || !ends))
		throw CLI::ValidationError(
			"--dev is needed, and one of --peer, --connect and "
			"--server");
}

Options parse(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-verbs - a matrix of tests between two verbs "
		"devices\nPrints TAP.");
	Options o;
	auto seconds = [&](const char *name, auto &&take, const char *help) {
		app.add_option_function<uint32_t>(name, take, help);
	};

	app.add_option("--dev", o.dev.device, "a device of this machine");
	app.add_option("--peer", o.peer.device, "another, in this process");
	app.add_option("--connect", o.connect,
		       "the machine where --server was given");
	app.add_flag("--server", o.server, "be the other end of a --connect");
	app.add_flag("--once", o.once,
		     "end after the first client (with --server)");
	app.add_option("--port", o.port,
		       "TCP port of the control connection (18515)");
	app.add_flag("--swap", o.swap, "the other end plays the active part");
	pv::add_gid_option(app, o.dev, o.peer);
	pv::add_class_options(app, o.dev, o.peer);
	app.add_option("--gid-index", o.dev.gid_index,
		       "a GID of --dev by its index");
	app.add_option("--peer-gid-index", o.peer.gid_index,
		       "a GID of --peer by its index");
	app.add_list("--only", o.run.only,
		     "only tests whose name contains TEXT; may be repeated");
	app.add_flag("--two-cpus", o.run.two_cpus,
		     "only tests that need two CPUs, and those of --only");
	app.add_list("--skip", o.run.skip,
		     "leave those tests out; may be repeated");
	app.add_option_function<std::string>(
		"--known",
		[&](const std::string &file) { read_known(o, file); },
		"lines \"TEST | text | reason\": known failures of a peer");
	app.add_flag("--list", o.list, "list the tests and what they check");
	app.add_option("--large", o.env.large,
		       "size of the large messages (64 MiB)");
	app.add_flag("--huge", o.env.huge, "messages of 2 GiB - 1 too");
	app.add_option("--many", o.env.many,
		       "queue pairs on each adapter in scale.many_qps (256)");
	app.add_option("--loss-timeout", o.env.loss_timeout,
		       "loss timer of queue pairs, 4.096 us * 2^N (14)")
		->check(CLI::Range(0, 31));
	app.add_option("--races", o.env.races,
		       "writes that race with the end of their key (100000)");
	seconds(
		"--patience", [&](uint32_t n) { o.env.patience_ms = n * 1000; },
		"how long one completion may take (20)");
	seconds(
		"--limit", [&](uint32_t n) { o.run.limit_seconds = n; },
		"how long one test may take (120)");
	app.callback([&] { check_ends(o); });
	app.read(argc, argv);
	return o;
}

int serve_clients(const Options &o)
{
	int listener = pv::listen_on(o.port);

	std::cerr << "serving on port " << o.port << std::endl;
	do {
		int fd = pv::accept_from(listener);
		pv::ExtHost host(o.dev);

		pv::serve(host, fd);
		close(fd);
	} while (!o.once);
	return 0;
}

int run(const Options &o)
{
	auto here = std::make_unique<pv::ExtHost>(o.dev);
	std::unique_ptr<pv::Host> there;
	pv::EnvOptions env_options = o.env;
	pv::RunOptions run_options = o.run;

	env_options.two_machines = !o.connect.empty();
	run_options.two_machines = env_options.two_machines;
	if (env_options.two_machines)
		there = pv::remote_host(pv::connect_to(o.connect, o.port, 60));
	else
		there = std::make_unique<pv::ExtHost>(o.peer);
	if (o.swap) {
		pv::Env env(*there, *here, env_options, o.peer, o.dev);
		return run_all(env, run_options);
	}
	pv::Env env(*here, *there, env_options, o.dev, o.peer);
	return run_all(env, run_options);
}

} // namespace

int main(int argc, char **argv)
{
	try {
		Options o = parse(argc, argv);

		if (o.list) {
			pv::list_tests(o.run);
			return 0;
		}
		return o.server ? serve_clients(o) : run(o);
	} catch (const std::exception &error) {
		std::cout << "Bail out! " << error.what() << std::endl;
		return 1;
	}
}
