/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Choices by a seed, so that a run can be repeated.
 *
 * Owns: the generator of numbers. Used by: all that invents or changes dialogues.
 */
#pragma once

#include <cstdint>
#include <random>

namespace wf {

class Random {
public:
	explicit Random(uint64_t seed) : engine_(seed) {}

	uint64_t any() { return engine_(); }
	/* 0 to @n - 1; 0 for @n 0. */
	uint64_t below(uint64_t n) { return n ? engine_() % n : 0; }
	bool one_in(uint64_t n) { return below(n) == 0; }

	template <class Container> auto &pick(Container &of)
	{
		return *(std::begin(of) +
			 static_cast<long>(below(std::size(of))));
	}

private:
	std::mt19937_64 engine_;
};

} // namespace wf
