/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * direct.h - direct windows of adapters, as the module shows them to administrators in debugfs.
 * Reads only; used by status.cpp.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pavo {

/** An armed range of a direct window. */
struct DirectRangeInfo {
	uint64_t number = 0;
	std::string state; /* "filling", "sending" */
	std::string direction; /* "write", "read" */
	std::map<std::string, uint64_t> numbers; /* total, count, ... */
};

/** A direct window. */
struct DirectWindowInfo {
	uint64_t number = 0;
	uint64_t base = 0;
	uint64_t lkey = 0;
	std::map<std::string, uint64_t> numbers; /* ranges, buffers, free, ... */
	std::vector<DirectRangeInfo> armed;
};

/** Of that adapter; none where debugfs is not mounted, or not for this user. */
std::vector<DirectWindowInfo> read_direct_windows(const std::string &adapter);

} // namespace pavo
