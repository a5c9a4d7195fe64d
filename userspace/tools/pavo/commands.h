/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * commands.h - the functions of the command. Options come from main.cpp;
 * results go to standard output; all throw Error.
 */
#pragma once

#include <string>
#include <vector>

namespace pavo {

struct StatusOptions {
	std::vector<std::string> devices; /* empty: all */
	bool json = false;
	bool queue_pairs = false;
	bool all_counters = false;
};

struct TopOptions {
	std::vector<std::string> devices;
	bool json = false;
	double interval = 1.0; /* seconds */
	unsigned int count = 0; /* rounds; 0: until interrupted */
};

/** Shows the adapters' state at this moment. */
void status(const StatusOptions &options);

/** Shows the adapters' rates periodically. */
void top(const TopOptions &options);

} // namespace pavo
