// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * refusal.cpp - see refusal.h. The module's file has a line "KEY VALUE" for each
 * value, and is empty if there is none.
 */
#include "refusal.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

namespace pavo {

std::optional<Refusal> read_refusal()
{
	std::ifstream file("/sys/class/pavo/refusal");
	std::string key, value;
	Refusal refusal;

	while (file >> key && std::getline(file >> std::ws, value)) {
		if (key == "device")
			refusal.device = value;
		else if (key == "netdev")
			refusal.netdev = value;
		else if (key == "reason")
			refusal.reason = value;
		else if (key == "errno")
			refusal.error = std::atoi(value.c_str());
		else if (key == "age")
			refusal.age = std::strtoull(value.c_str(), nullptr, 10);
	}
	if (refusal.reason.empty())
		return std::nullopt;
	return refusal;
}

std::string sentence_of(const Refusal &refusal)
{
	return fmt::format("refused {} s ago: {} on {}: {} ({})", refusal.age,
			   refusal.device, refusal.netdev, refusal.reason,
			   strerror(refusal.error));
}

} // namespace pavo
