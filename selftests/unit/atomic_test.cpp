// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * atomic_test.cpp - the value that an atomic operation leaves in a word, compared with the
 * pseudo code of the document (sources.md#ext-fetch-add, sources.md#ext-cmp-swap), line by
 * line: fields of every length, corner values and random ones.
 */
#include <gtest/gtest.h>

#include "random.h"

extern "C" {
#include "memory/atomic.h"
}

namespace {

constexpr uint64_t ones = ~0ull;
const unsigned rounds = times(2000000);

/* The loop of FetchAdd, with its names. */
uint64_t added(uint64_t original, uint64_t add_data, uint64_t add_mask)
{
	uint64_t bit_location = 1, remote_data_value = 0;
	unsigned carry = 0;

	for (int bit = 0; bit <= 63; bit++) {
		if (bit != 0)
			bit_location = bit_location << 1;
		const unsigned val1 = !(!(original & bit_location));
		const unsigned val2 = !(!(add_data & bit_location));
		unsigned sum = carry + val1 + val2;

		carry = !(!(sum & 2));
		sum = sum & 1;
		if (sum)
			remote_data_value |= bit_location;
		carry = carry && !(add_mask & bit_location);
	}
	return remote_data_value;
}

/* The condition of CmpSwap, with its names. */
uint64_t swapped(uint64_t original, uint64_t compare, uint64_t compare_mask,
		 uint64_t swap, uint64_t swap_mask)
{
	if (!((compare ^ original) & compare_mask))
		return (original & ~swap_mask) | (swap & swap_mask);
	return original;
}

/* A mask that ends fields of @width bits, the last of which may be shorter. */
uint64_t ends_of(unsigned width, bool at_top)
{
	uint64_t mask = at_top ? 1ull << 63 : 0;

	for (unsigned bit = width; bit <= 64; bit += width)
		mask |= 1ull << (bit - 1);
	return mask;
}

/* A value close to an overflow, or any. */
uint64_t operand(Random &random, uint64_t mask)
{
	switch (random.below(8)) {
	case 0:
		return 0;
	case 1:
		return ones;
	case 2:
		return mask;
	case 3:
		return ~mask;
	case 4:
		return mask << 1 | 1;
	case 5:
		return 1ull << random.below(64);
	default:
		return random.bits();
	}
}

uint64_t any_mask(Random &random)
{
	switch (random.below(4)) {
	case 0:
		return random.bits();
	case 1:
		return random.bits() & random.bits() & random.bits();
	default:
		return ends_of(1 + random.below(64), random.coin());
	}
}

uint64_t fetch_add(uint64_t old, uint64_t add, uint64_t mask)
{
	const pavo_atomic op = {.aop = PAVO_AOP_FETCH_ADD,
				.swap_add = add,
				.swap_add_mask = mask,
				.compare = 0,
				.compare_mask = ones};

	return pavo_atomic_compute(&op, old);
}

TEST(FetchAdd, IsThePseudoCodeForFieldsOfEveryWidth)
{
	for (unsigned width = 1; width <= 64; width++) {
		for (bool at_top : {false, true}) {
			const uint64_t mask = ends_of(width, at_top);
			const uint64_t corners[] = {
				0,	    1,
				mask,	    ~mask,
				ones,	    mask << 1 | 1,
				ones - 1,   0x5555555555555555,
				1ull << 63,
			};

			for (uint64_t old : corners)
				for (uint64_t add : corners)
					ASSERT_EQ(fetch_add(old, add, mask),
						  added(old, add, mask))
						<< std::hex << old << " + "
						<< add << " in " << mask;
		}
	}
}

TEST(FetchAdd, IsThePseudoCodeForRandomMasks)
{
	Random random;

	for (unsigned i = 0; i < rounds; i++) {
		const uint64_t mask = any_mask(random);
		const uint64_t old = operand(random, mask);
		const uint64_t add = operand(random, mask);

		ASSERT_EQ(fetch_add(old, add, mask), added(old, add, mask))
			<< std::hex << old << " + " << add << " in " << mask;
	}
}

TEST(FetchAdd, OfOneFieldIsAnAddition)
{
	Random random;

	for (unsigned i = 0; i < 100000; i++) {
		const uint64_t old = operand(random, 0);
		const uint64_t add = operand(random, 0);

		EXPECT_EQ(fetch_add(old, add, 0), old + add);
		EXPECT_EQ(fetch_add(old, add, 1ull << 63), old + add);
		EXPECT_EQ(fetch_add(old, add, ones), old ^ add);
	}
}

TEST(CmpSwap, IsThePseudoCode)
{
	Random random;
	unsigned matched = 0;

	for (unsigned i = 0; i < rounds; i++) {
		const uint64_t mask = any_mask(random);
		const uint64_t old = operand(random, mask);
		pavo_atomic op = {.aop = PAVO_AOP_CMP_SWAP,
				  .swap_add = operand(random, mask),
				  .swap_add_mask = operand(random, mask),
				  .compare = operand(random, mask),
				  .compare_mask = operand(random, mask)};

		/* By itself it hardly ever matches, and seldom misses by one bit. */
		if (random.coin())
			op.compare = (old & op.compare_mask) |
				     (op.compare & ~op.compare_mask);
		if (random.below(4) == 0)
			op.compare ^= 1ull << random.below(64);
		matched += !((op.compare ^ old) & op.compare_mask);
		ASSERT_EQ(pavo_atomic_compute(&op, old),
			  swapped(old, op.compare, op.compare_mask, op.swap_add,
				  op.swap_add_mask))
			<< std::hex << old << ": compare " << op.compare
			<< " in " << op.compare_mask << ", swap " << op.swap_add
			<< " in " << op.swap_add_mask;
	}
	EXPECT_GT(matched, rounds / 8);
	EXPECT_LT(matched, rounds - rounds / 8);
}

TEST(Swap, IgnoresTheOtherFields)
{
	Random random;

	for (unsigned i = 0; i < 100000; i++) {
		const pavo_atomic op = {.aop = PAVO_AOP_SWAP,
					.swap_add = random.bits(),
					.swap_add_mask = random.bits(),
					.compare = random.bits(),
					.compare_mask = random.bits()};

		EXPECT_EQ(pavo_atomic_compute(&op, random.bits()), op.swap_add);
	}
}

TEST(FetchAdd, IgnoresTheComparison)
{
	Random random;

	for (unsigned i = 0; i < 100000; i++) {
		const uint64_t old = random.bits();
		const pavo_atomic op = {.aop = PAVO_AOP_FETCH_ADD,
					.swap_add = random.bits(),
					.swap_add_mask = any_mask(random),
					.compare = random.bits(),
					.compare_mask = random.bits()};

		EXPECT_EQ(pavo_atomic_compute(&op, old),
			  added(old, op.swap_add, op.swap_add_mask));
	}
}

} // namespace
