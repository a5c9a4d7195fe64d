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
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

#include <getopt.h>
#include <unistd.h>

#include "env.h"
#include "local_host.h"
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

constexpr const char *usage =
	R"(usage: pavo-verbs --dev NAME (--peer NAME | --connect HOST | --server)
  --gid v4|v6            which kind of GID to use (v4)
  --gid-index N          a GID of --dev by its index
  --peer-gid-index N     a GID of --peer by its index
  --server               serve as the other end of a --connect
  --once                 end after the first client (with --server)
  --port N               TCP port of the control connection (18515)
  --swap                 the other end plays the active part
  --only TEXT            only tests whose name contains TEXT (repeatable)
  --two-cpus             only tests that need two CPUs, and those of --only
  --skip TEXT            leave those tests out (repeatable)
  --known FILE           lines "TEST | text | reason": known failures of a peer
  --list                 list the tests and what they check
  --large BYTES          size of the large messages (64 MiB)
  --huge                 messages of 2 GiB - 1 too
  --many N               queue pairs on each adapter in scale.many_qps (256)
  --races N              writes that race with the end of their key (100000)
  --patience SECONDS     how long one completion may take (20)
  --limit SECONDS        how long one test may take (120)
)";

[[noreturn]] void bad_usage()
{
	std::cerr << usage;
	exit(2);
}

uint64_t number(const char *text)
{
	char *end = nullptr;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || *end)
		bad_usage();
	return value;
}

void take_gid(Options &o, const std::string &kind)
{
	if (kind != "v4" && kind != "v6")
		bad_usage();
	o.dev.gid = o.peer.gid = kind == "v6" ? pv::GidKind::v6 :
						pv::GidKind::v4;
}

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

/* An option, and what becomes of its value, which is in optarg. */
struct Choice {
	const char *name;
	bool has_value;
	void (*take)(Options &o);
};

const Choice choices[] = {
	{"dev", true,
	 [](Options &o) {
		 o.dev.device = optarg;
	 }},
	{"peer", true,
	 [](Options &o) {
		 o.peer.device = optarg;
	 }},
	{"gid", true,
	 [](Options &o) {
		 take_gid(o, optarg);
	 }},
	{"gid-index", true,
	 [](Options &o) {
		 o.dev.gid_index = int(number(optarg));
	 }},
	{"peer-gid-index", true,
	 [](Options &o) {
		 o.peer.gid_index = int(number(optarg));
	 }},
	{"server", false,
	 [](Options &o) {
		 o.server = true;
	 }},
	{"once", false,
	 [](Options &o) {
		 o.once = true;
	 }},
	{"port", true,
	 [](Options &o) {
		 o.port = uint16_t(number(optarg));
	 }},
	{"connect", true,
	 [](Options &o) {
		 o.connect = optarg;
	 }},
	{"swap", false,
	 [](Options &o) {
		 o.swap = true;
	 }},
	{"only", true,
	 [](Options &o) {
		 o.run.only.push_back(optarg);
	 }},
	{"two-cpus", false,
	 [](Options &o) {
		 o.run.two_cpus = true;
	 }},
	{"skip", true,
	 [](Options &o) {
		 o.run.skip.push_back(optarg);
	 }},
	{"known", true,
	 [](Options &o) {
		 read_known(o, optarg);
	 }},
	{"list", false,
	 [](Options &o) {
		 o.list = true;
	 }},
	{"large", true,
	 [](Options &o) {
		 o.env.large = number(optarg);
	 }},
	{"huge", false,
	 [](Options &o) {
		 o.env.huge = true;
	 }},
	{"many", true,
	 [](Options &o) {
		 o.env.many = uint32_t(number(optarg));
	 }},
	{"races", true,
	 [](Options &o) {
		 o.env.races = uint32_t(number(optarg));
	 }},
	{"patience", true,
	 [](Options &o) {
		 o.env.patience_ms = uint32_t(number(optarg)) * 1000;
	 }},
	{"limit", true,
	 [](Options &o) {
		 o.run.limit_seconds = unsigned(number(optarg));
	 }},
	{"help", false,
	 [](Options &) {
		 std::cout << usage;
		 exit(0);
	 }},
};

Options parse(int argc, char **argv)
{
	Options o;
	std::vector<option> known;
	int which = 0;

	for (const Choice &choice : choices)
		known.push_back({choice.name, choice.has_value, nullptr, 0});
	known.push_back({});
	for (int c;
	     (c = getopt_long(argc, argv, "", known.data(), &which)) != -1;) {
		if (c)
			bad_usage();
		choices[which].take(o);
	}
	if (optind != argc)
		bad_usage();
	if (o.list)
		return o;
	if (o.dev.device.empty() ||
	    o.server + !o.connect.empty() + !o.peer.device.empty() != 1)
		bad_usage();
	return o;
}

int serve_clients(const Options &o)
{
	int listener = pv::listen_on(o.port);

	std::cerr << "serving on port " << o.port << std::endl;
	do {
		int fd = pv::accept_from(listener);
		pv::LocalHost host(o.dev);

		pv::serve(host, fd);
		close(fd);
	} while (!o.once);
	return 0;
}

int run(const Options &o)
{
	auto here = std::make_unique<pv::LocalHost>(o.dev);
	std::unique_ptr<pv::Host> there;
	pv::EnvOptions env_options = o.env;
	pv::RunOptions run_options = o.run;

	env_options.two_machines = !o.connect.empty();
	run_options.two_machines = env_options.two_machines;
	if (env_options.two_machines)
		there = std::make_unique<pv::RemoteHost>(
			pv::connect_to(o.connect, o.port, 60));
	else
		there = std::make_unique<pv::LocalHost>(o.peer);
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
