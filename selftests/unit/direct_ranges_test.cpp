// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* direct_ranges_test.cpp - addresses of a direct window, and its free ranges. */
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include <pavo/direct_ranges.hpp>

using pavo::DirectPlace, pavo::DirectRanges, pavo::DirectShape;

namespace {

/* The numbers of the document: 32 ranges of 4096 bytes from an unaligned address on. */
constexpr DirectShape document{0x12345678, 32, 4096};

TEST(DirectShape, TranslatesTheNumbersOfTheDocument)
{
	EXPECT_EQ(document.length(), 0x20000u);
	EXPECT_EQ(document.find(0x12347700), (DirectPlace{2, 0x88}));
	EXPECT_EQ(document.address(2), 0x12347678u);
	EXPECT_EQ(document.address(2, 0x88), 0x12347700u);
}

TEST(DirectShape, FindsTheEdgesAndNothingBehindThem)
{
	EXPECT_EQ(document.find(0x12345678), (DirectPlace{0, 0}));
	EXPECT_EQ(document.find(0x12345678 + 4095), (DirectPlace{0, 4095}));
	EXPECT_EQ(document.find(0x12345678 + 4096), (DirectPlace{1, 0}));
	EXPECT_EQ(document.find(0x12345678 + 0x1ffff), (DirectPlace{31, 4095}));
	EXPECT_FALSE(document.find(0x12345677));
	EXPECT_FALSE(document.find(0x12345678 + 0x20000));
	EXPECT_FALSE(document.find(0));
	EXPECT_FALSE(document.find(UINT64_MAX));
}

TEST(DirectShape, TranslatesAtTheEndOfAllAddresses)
{
	constexpr DirectShape last{UINT64_MAX - 8191, 2, 4096};

	EXPECT_EQ(last.find(UINT64_MAX), (DirectPlace{1, 4095}));
	EXPECT_EQ(last.address(1, 4095), UINT64_MAX);
	EXPECT_FALSE(last.find(0));
}

TEST(DirectRanges, GivesEachRangeOnce)
{
	DirectRanges ranges(32);
	std::set<uint32_t> taken;

	for (int i = 0; i < 32; i++)
		taken.insert(ranges.take().value());
	EXPECT_EQ(taken.size(), 32u);
	EXPECT_EQ(*taken.rbegin(), 31u);
	EXPECT_FALSE(ranges.take());
	EXPECT_EQ(ranges.free(), 0u);
}

TEST(DirectRanges, TakesTheOneThatIsFreeForTheLongestTime)
{
	DirectRanges ranges(4);

	for (uint32_t i = 0; i < 4; i++)
		EXPECT_EQ(ranges.take(), i);
	EXPECT_TRUE(ranges.give(2));
	EXPECT_TRUE(ranges.give(0));
	EXPECT_TRUE(ranges.give(3));
	EXPECT_EQ(ranges.take(), 2u);
	EXPECT_TRUE(ranges.give(2));
	EXPECT_EQ(ranges.take(), 0u);
	EXPECT_EQ(ranges.take(), 3u);
	EXPECT_EQ(ranges.take(), 2u);
	EXPECT_FALSE(ranges.take());
}

TEST(DirectRanges, RefusesWhatWasNotTaken)
{
	DirectRanges ranges(2);

	EXPECT_FALSE(ranges.give(0));
	EXPECT_EQ(ranges.take(), 0u);
	EXPECT_TRUE(ranges.give(0));
	EXPECT_FALSE(ranges.give(0));
	EXPECT_FALSE(ranges.give(2));
	EXPECT_FALSE(ranges.give(UINT32_MAX));
	EXPECT_EQ(ranges.free(), 2u);
}

TEST(DirectRanges, WithoutAnyGivesNone)
{
	DirectRanges ranges(0);

	EXPECT_FALSE(ranges.take());
	EXPECT_FALSE(ranges.give(0));
}

TEST(DirectRanges, GivesNoRangeToTwoThreads)
{
	DirectRanges ranges(8);
	std::vector<std::atomic<int>> users(8);
	std::atomic<bool> twice{false};
	auto work = [&] {
		for (int i = 0; i < 20000; i++) {
			auto range = ranges.take();

			if (!range)
				continue;
			if (users[*range].fetch_add(1))
				twice = true;
			users[*range].fetch_sub(1);
			ranges.give(*range);
		}
	};

	{
		std::jthread a(work), b(work), c(work);
	}
	EXPECT_FALSE(twice);
	EXPECT_EQ(ranges.free(), 8u);
}

} // namespace
