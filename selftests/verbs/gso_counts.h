/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gso_counts.h - the GSO super-packets that adapters of this machine have made. */
#pragma once

#include <fstream>
#include <string>

#include "../common/check.h"

namespace pv {

/* Since the module was loaded. */
inline unsigned super_packets()
{
	std::ifstream file("/sys/kernel/debug/pavo/gso");
	std::string word;
	unsigned count = 0;

	file >> word >> count;
	REQUIRE(file, "no count of super-packets");
	return count;
}

} // namespace pv
