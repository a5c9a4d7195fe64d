/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * transfer.h - the two sides of a copy. Called by main.cpp; sender.cpp and
 * receiver.cpp hold them.
 */
#pragma once

#include <string>

#include "connection.h"

namespace copy {

struct Options {
	std::string file;
	Where where;
	uint32_t chunk = 1u << 20;
	uint32_t slots = 16;
	int timeout_ms = 30000;
	bool wait_forever = false;
	bool quiet = false;
};

void send_file(const Options &options);
void receive_file(const Options &options);

} // namespace copy
