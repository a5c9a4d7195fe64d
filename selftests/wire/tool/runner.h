/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs the cases of scripts in processes of their own, and prints TAP.
 *
 * Owns: what the command lines of pavo-wire and pavo-engine have in common, the list of cases,
 * and the processes.
 */
#pragma once

#include <functional>
#include <memory>

#include "../../common/options.h"
#include "../../common/tap.h"
#include "machine.h"

namespace pw {

enum Result { passed, failed };

struct RunOptions {
	Setup setup;
	std::string type = "pavo";
	std::vector<std::string> only, paths;
	unsigned limit = 30;
	bool list = false, check = false, trace = false, kmsg = false,
	     sample = false;
	/* One process for all cases, as long as it lives; else one for each. */
	bool together = false;
	/* Packets that a script injects in a row arrive before works of the device run. */
	bool in_a_row = false;
	/* The device is the module in this program. */
	bool engine = false;
	/* In the process of a case; in that of all cases at the end, false: something is wrong. */
	std::function<std::unique_ptr<Bench>()> make_bench;
	std::function<bool()> at_end;
	/* Why a script cannot run here; "": it can. */
	std::function<std::string(const std::string &name)> why_not;
	/* May regions of the device be flushed? Unset: they may. */
	std::function<bool()> can_flush;

	/* Scripts and options that do not depend on the device. */
	void declare(common::CommandLine &app);
};

/* No case has the name that was asked for. */
struct NoCase : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* Result of the program. Throws NoCase. */
int run_scripts(const RunOptions &options);

} // namespace pw
