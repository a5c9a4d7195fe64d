// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* psn_test.cpp - arithmetic of PSNs, above all where they wrap. */
#include <gtest/gtest.h>

#include "random.h"

extern "C" {
#include "wire/psn.h"
}

namespace {

constexpr int half = 1 << 23;
constexpr uint32_t interesting[] = {
	0, 1, 2, 0x7ffffe, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff};

TEST(Psn, AddWraps)
{
	EXPECT_EQ(pavo_psn_add(0, 1), 1u);
	EXPECT_EQ(pavo_psn_add(0xffffff, 1), 0u);
	EXPECT_EQ(pavo_psn_add(0xfffffe, 5), 3u);
	EXPECT_EQ(pavo_psn_add(0, -1), 0xffffffu);
	EXPECT_EQ(pavo_psn_add(3, -5), 0xfffffeu);
	EXPECT_EQ(pavo_psn_add(0x123456, 0), 0x123456u);
	EXPECT_EQ(pavo_psn_add(0x800000, half), 0u);
	EXPECT_EQ(pavo_psn_add(5, 1 << 24), 5u);
}

TEST(Psn, DiffIsSignedAndWraps)
{
	EXPECT_EQ(pavo_psn_diff(5, 5), 0);
	EXPECT_EQ(pavo_psn_diff(6, 5), 1);
	EXPECT_EQ(pavo_psn_diff(5, 6), -1);
	EXPECT_EQ(pavo_psn_diff(0, 0xffffff), 1);
	EXPECT_EQ(pavo_psn_diff(0xffffff, 0), -1);
	EXPECT_EQ(pavo_psn_diff(2, 0xfffffe), 4);
	EXPECT_EQ(pavo_psn_diff(0xfffffe, 2), -4);
}

TEST(Psn, TheCircleIsHalvedAt2To23)
{
	for (uint32_t psn : interesting) {
		EXPECT_EQ(pavo_psn_diff(pavo_psn_add(psn, half - 1), psn),
			  half - 1);
		EXPECT_EQ(pavo_psn_diff(pavo_psn_add(psn, half), psn), -half);
		EXPECT_EQ(pavo_psn_diff(pavo_psn_add(psn, -half), psn), -half);
		EXPECT_EQ(pavo_psn_diff(pavo_psn_add(psn, half + 1), psn),
			  1 - half);
	}
}

TEST(Psn, DiffUndoesAdd)
{
	Random random;

	for (int i = 0; i < 100000; i++) {
		uint32_t psn = random.below(1 << 24);
		int n = static_cast<int>(random.below(1 << 24)) - half;
		uint32_t sum = pavo_psn_add(psn, n);

		ASSERT_LE(sum, PAVO_PSN_MASK);
		ASSERT_EQ(pavo_psn_diff(sum, psn), n) << psn << " + " << n;
		ASSERT_EQ(pavo_psn_add(sum, -n), psn);
	}
}

/* Bits above 24, as an unmasked counter has them, do not matter. */
TEST(Psn, UpperBitsDoNotMatter)
{
	Random random;

	for (int i = 0; i < 10000; i++) {
		auto a = static_cast<uint32_t>(random.bits());
		auto b = static_cast<uint32_t>(random.bits());

		ASSERT_EQ(pavo_psn_diff(a, b),
			  pavo_psn_diff(a & PAVO_PSN_MASK, b & PAVO_PSN_MASK));
		ASSERT_EQ(pavo_psn_add(a, 1),
			  pavo_psn_add(a & PAVO_PSN_MASK, 1));
	}
}

} // namespace
