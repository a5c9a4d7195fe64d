/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gso_counts.h - the trains that adapters of this machine have made. */
#pragma once

#include <fstream>
#include <string>

#include "../common/check.h"

namespace pv {

/* Since the module was loaded. */
inline unsigned trains()
{
	std::ifstream file("/sys/kernel/debug/pavo/gso");
	std::string word;
	unsigned count = 0;

	file >> word >> count;
	REQUIRE(file, "no count of trains");
	return count;
}

} // namespace pv
