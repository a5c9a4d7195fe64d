/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * transfer.h - the two sides of a copy. Called by main.cpp; sender.cpp and
 * receiver.cpp hold them, to_many.cpp those of a copy to many machines.
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
	/* To many machines: their number, of the sender; and where that one is. */
	uint32_t to_many = 0;
	std::string from;
	std::string adapter = "rdma0";
	std::string group = "239.192.74.75";
};

/* Tells the other side that this one fails, by the connection that they have. */
void report_failure(Connection &connection, const Error &error);
/* Throws Error if this message says that the other side failed. */
void check_failure(uint32_t data);

void send_file(const Options &options);
void receive_file(const Options &options);
void send_to_many(const Options &options);
void receive_of_many(const Options &options);

} // namespace copy
