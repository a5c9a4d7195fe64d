// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * main.cpp - pavo-engine: the scripts of the wire tests against the module's own code in this
 * program, through the provider and libibverbs, with a clock that only waits move.
 *
 * Owns: the command line, and the list of scripts that cannot run here.
 */
#include <cstdio>
#include <cstdlib>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

#include "../wire/tool/runner.h"
#include "engine.h"
#include "engine_bench.h"

namespace {

/* Scripts that need a part of the module which the engine does not have. */
const struct {
	std::string_view script;
	const char *why;
} not_here[] = {
	{"responder/odp-gone-before-duplicate", "it has no on-demand regions"},
	{"responder/duplicate-read-absurd", "it has no on-demand regions"},
};

std::string why_not(const std::string &script)
{
	for (const auto &known : not_here)
		if (script == known.script)
			return known.why;
	return "";
}

/* True if nothing has leaked since the beginning, or no sanitizer looks for that. */
bool no_leak()
{
#ifdef __SANITIZE_ADDRESS__
	return !__lsan_do_recoverable_leak_check();
#else
	return true;
#endif
}

} // namespace

int main(int argc, char **argv)
{
	try {
		common::CommandLine app(
			"pavo-engine - run scripts of pavo-wire against the "
			"module's code in this program, without a device");
		pw::RunOptions o;

		app.footer("Prints TAP. Exit status: 0 all passed, 1 something "
			   "failed, 2 usage, 4 all skipped.");
		o.declare(app);
		app.add_flag("--gso", engine_gso,
			     "new packets are GSO super-packets, which the "
			     "engine segments as a device does");
		app.add_flag("--in-a-row", engine_in_a_row,
			     "packets that a script injects in a row arrive "
			     "before works run");
		app.read(argc, argv);
		o.in_a_row = engine_in_a_row;
		o.engine = true;
		o.setup.device = "engine";
		o.setup.peer4 = pw::parse_address("10.9.0.2");
		o.setup.peer6 = pw::parse_address("fd00:9::2");
		o.setup.pavo = true;

		fake::Kernel kernel(
			{{"engine", std::to_string(PAVO_ABI_VERSION)}});

		o.make_bench = [&] {
			return std::make_unique<engine::EngineBench>(kernel);
		};
		o.together = true;
		o.at_end = no_leak;
		o.why_not = why_not;
		return pw::run_scripts(o);
	} catch (const pw::NoCase &error) {
		std::fprintf(stderr, "pavo-engine: %s (see --help)\n",
			     error.what());
		return 2;
	} catch (const std::exception &error) {
		std::fprintf(stderr, "pavo-engine: %s\n", error.what());
		return 1;
	}
}
