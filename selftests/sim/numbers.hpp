/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * numbers.hpp - sets of numbers on a command line.
 */
#ifndef PAVO_SIM_NUMBERS_HPP
#define PAVO_SIM_NUMBERS_HPP

#include <charconv>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace sim {

/* The number at @text[@at], behind which @at moves. Throws std::invalid_argument with the text. */
inline uint64_t parse_number(const std::string &text, size_t &at)
{
	uint64_t number = 0;
	const char *begin = text.data() + at, *end = text.data() + text.size();
	const auto [behind, error] = std::from_chars(begin, end, number);

	if (error != std::errc())
		throw std::invalid_argument(text);
	at = size_t(behind - text.data());
	return number;
}

/* @text: numbers and ranges of them, "1,4-6"; or "none". Throws std::invalid_argument. */
template <class Number> std::set<Number> parse_numbers(const std::string &text)
{
	std::set<Number> numbers;

	if (text == "none")
		return numbers;
	for (size_t at = 0; at < text.size();) {
		const uint64_t first = parse_number(text, at);
		uint64_t last = first;

		if (at < text.size() && text[at] == '-')
			last = parse_number(text, ++at);
		/* No run has so many. */
		if (last - first > 1'000'000)
			throw std::invalid_argument(text);
		for (uint64_t n = first; n <= last; n++)
			numbers.insert(Number(n));
		if (at < text.size() && text[at++] != ',')
			throw std::invalid_argument(text);
	}
	return numbers;
}

/* The text of parse_numbers(). */
template <class Number> std::string print_numbers(const std::set<Number> &set)
{
	std::string text;

	for (auto at = set.begin(); at != set.end();) {
		const Number first = *at;
		Number last = first;

		while (++at != set.end() && *at == last + 1)
			last = *at;
		text += fmt::format("{}{}", text.empty() ? "" : ",", first);
		if (last != first)
			text += fmt::format("-{}", last);
	}
	return text.empty() ? "none" : text;
}

} // namespace sim

#endif /* PAVO_SIM_NUMBERS_HPP */
