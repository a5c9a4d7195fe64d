// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct.cpp - see direct.h.
 *
 * A line for each window: "pavo0 window 3 pd 1 lkey 00001234 base 7f00 ranges 32 ...". Lines behind
 * it are its armed ranges: "  range 2 state filling write total 4096 count 100 ...".
 */
#include "direct.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace pavo {
namespace {

constexpr char FILE_NAME[] = "/sys/kernel/debug/pavo/direct";

/* Parses a number. -1 (a range without a buffer) and all that is no number give the highest. */
uint64_t number(const std::string &text, int base = 10)
{
	uint64_t value = 0;
	auto [end, error] = std::from_chars(
		text.data(), text.data() + text.size(), value, base);

	return error == std::errc() ? value : UINT64_MAX;
}

/* The rest of the line: names, each with a number. */
std::map<std::string, uint64_t> numbers_of(std::istringstream &words)
{
	std::map<std::string, uint64_t> numbers;

	for (std::string name, value; words >> name >> value;)
		numbers[name] = number(value);
	return numbers;
}

DirectRangeInfo range_of(std::istringstream &words)
{
	std::string value, word;
	DirectRangeInfo range;

	words >> value >> word >> range.state >> range.direction;
	range.number = number(value);
	range.numbers = numbers_of(words);
	return range;
}

DirectWindowInfo window_of(std::istringstream &words)
{
	std::string value, word, pd, lkey, base;
	DirectWindowInfo window;

	words >> value >> word >> pd >> word >> lkey >> word >> base;
	window.number = number(value);
	window.lkey = number(lkey, 16);
	window.base = number(base, 16);
	window.numbers = numbers_of(words);
	window.numbers["pd"] = number(pd);
	return window;
}

} // namespace

std::vector<DirectWindowInfo> read_direct_windows(const std::string &adapter)
{
	std::vector<DirectWindowInfo> windows;
	std::ifstream file(FILE_NAME);
	bool its = false;

	for (std::string line; std::getline(file, line);) {
		std::istringstream words(line);
		std::string first, kind;

		words >> first;
		if (first == "range" && its && !windows.empty()) {
			windows.back().armed.push_back(range_of(words));
			continue;
		}
		if (first == "range" || !(words >> kind) || kind != "window")
			continue;
		its = first == adapter;
		if (its)
			windows.push_back(window_of(words));
	}
	return windows;
}

} // namespace pavo
