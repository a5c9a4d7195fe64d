/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * units.h - formats numbers with units. Used by status.cpp and top.cpp.
 */
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace pavo {

/** "12.3 MiB" */
inline std::string bytes(uint64_t value)
{
	static constexpr std::array UNITS = {"B",   "KiB", "MiB", "GiB",
					     "TiB", "PiB", "EiB"};
	auto number = static_cast<double>(value);
	size_t unit = 0;

	for (; number >= 1024 && unit + 1 < UNITS.size(); unit++)
		number /= 1024;
	return unit ? fmt::format("{:.1f} {}", number, UNITS[unit]) :
		      fmt::format("{} B", value);
}

/** "12.3M": decimal, for rates. */
inline std::string rate(double value)
{
	static constexpr std::array UNITS = {"", "k", "M", "G", "T"};
	size_t unit = 0;

	for (; value >= 10000 && unit + 1 < UNITS.size(); unit++)
		value /= 1000;
	return fmt::format("{:.{}f}{}", value, value < 100 && value > 0 ? 1 : 0,
			   UNITS[unit]);
}

} // namespace pavo
