// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pavo-wire: plays the other side of a queue pair by script.
 *
 * Owns: the command line. Called by: guest.sh in a guest, meson (--check) on the build machine.
 */
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "kernel_bench.h"
#include "runner.h"

using namespace pw;

namespace {

[[noreturn]] void usage(const std::string &why)
{
	std::fprintf(stderr, "pavo-wire: %s (see --help)\n", why.c_str());
	std::exit(2);
}

RunOptions parse_options(int argc, char **argv)
{
	common::CommandLine app(
		"pavo-wire - test one queue pair of an RDMA device from "
		"the other end of its wire");
	RunOptions o;
	std::string interface;
	unsigned patience = 0;
	auto address = [&](const char *name, Address &to, const char *help) {
		app.add_option_function<std::string>(
			name,
			[&](const std::string &text) {
				to = parse_address(text);
			},
			help);
	};

	o.setup.peer4 = parse_address("10.9.0.2");
	o.setup.peer6 = parse_address("fd00:9::2");
	app.footer("Prints TAP. Exit status: 0 all passed, 1 something failed, "
		   "2 usage, 4 all skipped.\n"
		   "The language is described in README.md next to the "
		   "scripts. Both peer addresses need a\nroute and a "
		   "permanent neighbour entry (the MAC of --interface) on the "
		   "device's\ninterface, and must belong to no interface.");
	o.declare(app);
	app.add_option("--device", o.setup.device,
		       "the verbs device under test; its network interface is "
		       "one end of a veth pair");
	app.add_option("--interface", interface,
		       "the other end of that pair; must be up, without any "
		       "address");
	address("--peer4", o.setup.peer4,
		"IPv4 address the scripts speak from (10.9.0.2)");
	address("--peer6", o.setup.peer6,
		"IPv6 address the scripts speak from (fd00:9::2)");
	app.add_option("--type", o.type,
		       "what the device is: pavo (default) or rxe. On rxe a "
		       "script that says rxe-differs and fails is skipped; on "
		       "pavo a counter that does not exist is a failure");
	app.add_option("--patience", patience,
		       "seconds to wait for what must happen (10)")
		->check(CLI::Range(1, 3600));
	app.read(argc, argv);
	if (patience)
		o.setup.patience = 1000000000ll * patience;
	o.setup.pavo = o.type == "pavo";
	if (!o.list && !o.check &&
	    (o.setup.device.empty() || interface.empty()))
		usage("--device and --interface are needed");
	o.make_bench = [device = o.setup.device, interface] {
		return std::make_unique<KernelBench>(device, interface);
	};
	o.can_flush = [device = o.setup.device,
		       can = std::optional<bool>()]() mutable {
		if (!can)
			can = Dut::can_flush(device);
		return *can;
	};
	return o;
}

} // namespace

int main(int argc, char **argv)
{
	try {
		const RunOptions o = parse_options(argc, argv);
		std::optional<Stamping> stamping;

		if (!o.list && !o.check)
			stamping.emplace();
		return run_scripts(o);
	} catch (const NoCase &error) {
		usage(error.what());
	} catch (const std::exception &error) {
		std::fprintf(stderr, "pavo-wire: %s\n", error.what());
		return 1;
	}
}
