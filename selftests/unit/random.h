/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * random.h - random values for property tests.
 *
 * The seed is fixed so that a failure is found again by running again; with
 * PAVO_SEED=n in the environment other values are tried, with PAVO_WIDE=1
 * (make test-full) more of them.
 */
#ifndef PAVO_UNIT_RANDOM_H
#define PAVO_UNIT_RANDOM_H

#include <cstdint>
#include <cstdlib>
#include <random>

class Random {
public:
	Random() : engine_(seed()) {}

	/* Others than those of another number. */
	explicit Random(unsigned number) : engine_(seed() + number) {}

	/* All 64 bits random. */
	uint64_t bits() { return engine_(); }

	/* 0 .. limit - 1 */
	uint32_t below(uint32_t limit)
	{
		return static_cast<uint32_t>(engine_() % limit);
	}

	bool coin() { return engine_() & 1; }

	static uint64_t seed()
	{
		const char *text = std::getenv("PAVO_SEED");

		return text ? std::strtoull(text, nullptr, 0) : 0x9a70;
	}

private:
	std::mt19937_64 engine_;
};

/* How often a test with random values does a thing. */
inline unsigned times(unsigned plain)
{
	return std::getenv("PAVO_WIDE") ? 5 * plain : plain;
}

#endif /* PAVO_UNIT_RANDOM_H */
