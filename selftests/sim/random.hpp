/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * random.hpp - numbers that follow from a seed alone, the same on each machine (splitmix64).
 */
#ifndef PAVO_SIM_RANDOM_HPP
#define PAVO_SIM_RANDOM_HPP

#include <cstdint>
#include <initializer_list>

namespace sim {

constexpr uint64_t scramble(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

class Random {
public:
	/* Streams of one seed that have different names are independent. */
	explicit constexpr Random(uint64_t seed, uint64_t stream = 0)
		: state_(scramble(scramble(seed) ^ stream))
	{
	}

	constexpr uint64_t next()
	{
		state_ += 0x9e3779b97f4a7c15;
		return scramble(state_);
	}

	/* Less than @limit, which is not 0. */
	constexpr uint64_t below(uint64_t limit) { return next() % limit; }
	constexpr uint64_t between(uint64_t least, uint64_t most)
	{
		return least + below(most - least + 1);
	}
	/* True in @of_1000 of 1000 cases. */
	constexpr bool chance(unsigned of_1000)
	{
		return below(1000) < of_1000;
	}
	template <class T> constexpr T one_of(std::initializer_list<T> values)
	{
		return values.begin()[below(values.size())];
	}

private:
	uint64_t state_;
};

} // namespace sim

#endif /* PAVO_SIM_RANDOM_HPP */
