/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* gso_counts.h - the GSO super-packets of this machine's adapters, and what became of them. */
#pragma once

#include <fstream>
#include <string>

#include "../common/check.h"

namespace pv {

/* A count since the module was loaded; @wanted: "super_packets", "segmented", "merged". */
inline unsigned gso_count(const std::string &wanted)
{
	std::ifstream file("/sys/kernel/debug/pavo/gso");
	std::string word;
	unsigned count = 0;

	while (file >> word >> count)
		if (word == wanted)
			return count;
	REQUIRE(false, "no count ", wanted);
	return 0;
}

inline unsigned super_packets()
{
	return gso_count("super_packets");
}

} // namespace pv
