// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pvo_test.cpp - PVOs and TCEs: their bits, and what a PVO means in random layouts
 * of tables, against a model that looks for the region instead of the entry.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "random.h"

extern "C" {
#include "jobs/pvo.h"
}

namespace {

TEST(Pvo, HasSeventeenFiveAndFortyTwoBits)
{
	EXPECT_EQ(pavo_pvo_make(1, 0, 0), 1ull << 47);
	EXPECT_EQ(pavo_pvo_make(0x1ffff, 0, 0), 0xffff800000000000);
	EXPECT_EQ(pavo_pvo_make(0, 31, 0), 0x00007c0000000000ull);
	EXPECT_EQ(pavo_pvo_make(0, 0, PAVO_PVO_OFFSET_MASK),
		  0x000003ffffffffffull);
	EXPECT_EQ(pavo_pvo_make(0x1abcd, 0x15, 0x123456789ab),
		  0xd5e6d523456789abull);
	EXPECT_EQ(pavo_pvo_get_table(0xd5e6d523456789ab), 0x15u);
	EXPECT_EQ(pavo_pvo_get_offset(0xd5e6d523456789ab), 0x123456789abull);
}

TEST(Pvo, ATceHasTwentyTwoAndFortyTwoBits)
{
	uint64_t pvo = pavo_pvo_make(0x1abcd, 0x15, 0x123456789ab);
	uint64_t tce = pavo_tce_make(pvo, 0x2fedcba9000);

	EXPECT_EQ(tce, 0xd5e6d6fedcba9000ull);
	EXPECT_EQ(pavo_tce_get_key(tce), 0x1abcdu << 5 | 0x15);
	EXPECT_EQ(pavo_tce_get_key(tce), pavo_tce_get_key(pvo));
	EXPECT_EQ(pavo_tce_get_real(tce), 0x2fedcba9000ull);
}

TEST(Pvo, ByteOffsetsMayBeAdded)
{
	uint64_t pvo = pavo_pvo_make(77, 3, 0x5000);

	EXPECT_EQ(pvo + 0x1234, pavo_pvo_make(77, 3, 0x6234));
}

struct Region {
	uint32_t table, key, first, pages;
};

/* All tables of a node with what is registered in them. */
struct Layout {
	explicit Layout(Random &random)
	{
		for (uint32_t t = 0; t < PAVO_TCE_TABLES; t++) {
			entries[t].resize(random.below(24));
			tables[t] = {
				.tce = entries[t].data(),
				.count = uint32_t(entries[t].size()),
				.shift = shifts[random.below(3)],
				.job = random.below(4),
			};
			fill(random, t);
		}
	}

	uint64_t page(uint32_t table) const
	{
		return 1ull << tables[table].shift;
	}

	/* The model: the region that holds the byte, found by looking at all. */
	const Region *region_at(uint32_t table, uint64_t offset) const
	{
		for (const Region &r : regions)
			if (r.table == table &&
			    offset >= r.first * page(table) &&
			    offset < (r.first + r.pages) * page(table))
				return &r;
		return nullptr;
	}

	pavo_pvo_result expected(uint32_t job, uint64_t pvo) const
	{
		uint32_t t = pavo_pvo_get_table(pvo);
		uint64_t offset = pavo_pvo_get_offset(pvo);

		if (tables[t].job == 0)
			return PAVO_PVO_TABLE;
		if (tables[t].job != job)
			return PAVO_PVO_JOB;
		if (offset >= tables[t].count * page(t))
			return PAVO_PVO_RANGE;
		const Region *region = region_at(t, offset);
		return region && region->key == pvo >> 47 ? PAVO_PVO_OK :
							    PAVO_PVO_KEY;
	}

	static constexpr std::array<uint8_t, 3> shifts = {12, 16, 24};

	std::array<std::vector<u64>, PAVO_TCE_TABLES> entries;
	std::array<pavo_tce_table, PAVO_TCE_TABLES> tables;
	std::vector<Region> regions;

private:
	/* Regions and holes, side by side; some keys occur twice. */
	void fill(Random &random, uint32_t t)
	{
		for (uint32_t i = 0; i < tables[t].count;) {
			uint32_t left = tables[t].count - i;
			Region r = {t, 1 + random.below(4), i,
				    1 + random.below(std::min(left, 5u))};

			i += r.pages;
			if (random.below(3) == 0)
				continue;
			if (random.below(8) == 0)
				r.key = 0x1ffff;
			for (uint32_t p = 0; p < r.pages; p++)
				entries[t][r.first + p] = pavo_tce_make(
					pavo_pvo_make(r.key, t, 0),
					real(t, r.first + p));
			regions.push_back(r);
		}
	}

public:
	/* Different for every page, and a page's address. */
	uint64_t real(uint32_t t, uint32_t index) const
	{
		return ((uint64_t(t) << 10 | index) + 1) * page(t) &
		       PAVO_PVO_OFFSET_MASK;
	}
};

/* Close to an existing value, or any. */
uint64_t some_pvo(Random &random, const Layout &layout)
{
	if (layout.regions.empty() || random.below(8) == 0)
		return random.bits();

	const Region &r =
		layout.regions[random.below(uint32_t(layout.regions.size()))];
	uint64_t page = layout.page(r.table);
	uint64_t offset = r.first * page + random.bits() % (r.pages * page);

	switch (random.below(8)) {
	case 0:
		offset += page;
		break;
	case 1:
		return pavo_pvo_make(random.below(1 << 17), r.table, offset);
	case 2:
		return pavo_pvo_make(r.key, random.below(PAVO_TCE_TABLES),
				     offset);
	case 3:
		return pavo_pvo_make(0, r.table, offset);
	}
	return pavo_pvo_make(r.key, r.table, offset & PAVO_PVO_OFFSET_MASK);
}

TEST(Pvo, MeansWhatTheModelSays)
{
	Random random;
	std::array<unsigned, PAVO_PVO_KEY + 1> seen = {};

	for (int round = 0; round < 500; round++) {
		Layout layout(random);

		for (int i = 0; i < 200; i++) {
			uint64_t pvo = some_pvo(random, layout);
			uint32_t job = 1 + random.below(3);
			pavo_pvo_place place = {};
			pavo_pvo_result result = pavo_pvo_translate(
				layout.tables.data(), job, pvo, &place);

			ASSERT_EQ(result, layout.expected(job, pvo))
				<< std::hex << pvo << " of job " << job;
			seen[result]++;
			if (result != PAVO_PVO_OK)
				continue;

			uint32_t t = pavo_pvo_get_table(pvo);
			uint64_t page = layout.page(t);
			uint64_t offset = pavo_pvo_get_offset(pvo);

			ASSERT_EQ(place.real, layout.real(t, offset / page) +
						      offset % page);
			ASSERT_EQ(place.left, page - offset % page);
		}
	}
	for (unsigned count : seen)
		EXPECT_GT(count, 100u);
}

/* A range is allowed when every byte of it is; the first that is not decides. */
TEST(Pvo, ARangeIsAllItsBytes)
{
	Random random;
	std::array<unsigned, PAVO_PVO_KEY + 1> seen = {};

	for (int round = 0; round < 500; round++) {
		Layout layout(random);

		for (int i = 0; i < 200; i++) {
			uint64_t pvo = some_pvo(random, layout);
			uint64_t page = layout.page(pavo_pvo_get_table(pvo));
			uint64_t length = random.bits() % (4 * page);
			uint32_t job = 1 + random.below(3);
			pavo_pvo_result want = layout.expected(job, pvo);
			pavo_pvo_result result = pavo_pvo_check(
				layout.tables.data(), job, pvo, length);

			for (uint64_t at = page; !want && at < length + page;
			     at += page)
				want = layout.expected(
					job,
					pvo + std::min(at,
						       std::max(length,
								uint64_t(1)) -
							       1));
			/* Of a range with both faults either is true. */
			if (want == PAVO_PVO_KEY && result == PAVO_PVO_RANGE) {
				uint32_t t = pavo_pvo_get_table(pvo);

				ASSERT_GT(pavo_pvo_get_offset(pvo) + length,
					  layout.tables[t].count * page);
				continue;
			}
			ASSERT_EQ(result, want)
				<< std::hex << pvo << " " << length;
			seen[result]++;
		}
	}
	for (unsigned count : seen)
		EXPECT_GT(count, 100u);
}

/* An entry that is not mapped has key 0, in table 0 as well: no process may name it so. */
TEST(Pvo, KeyZeroOpensNothing)
{
	std::array<u64, 4> none = {};
	std::array<pavo_tce_table, PAVO_TCE_TABLES> tables = {};
	pavo_pvo_place place;

	tables[0] = {none.data(), 4, 12, 9};
	EXPECT_EQ(pavo_pvo_translate(tables.data(), 9,
				     pavo_pvo_make(0, 0, 0x1000), &place),
		  PAVO_PVO_KEY);
	EXPECT_EQ(pavo_pvo_check(tables.data(), 9, pavo_pvo_make(0, 0, 0), 1),
		  PAVO_PVO_KEY);
}

TEST(Pvo, LongRangesDoNotWrapAround)
{
	std::array<u64, 1> one = {
		pavo_tce_make(pavo_pvo_make(5, 0, 0), 0x7000)};
	std::array<pavo_tce_table, PAVO_TCE_TABLES> tables = {};
	uint64_t pvo = pavo_pvo_make(5, 0, 0);

	tables[0] = {one.data(), 1, 12, 9};
	EXPECT_EQ(pavo_pvo_check(tables.data(), 9, pvo, 0x1000), PAVO_PVO_OK);
	EXPECT_EQ(pavo_pvo_check(tables.data(), 9, pvo, 0x1001),
		  PAVO_PVO_RANGE);
	EXPECT_EQ(pavo_pvo_check(tables.data(), 9, pvo + 1, ~0ull),
		  PAVO_PVO_RANGE);
	EXPECT_EQ(pavo_pvo_check(tables.data(), 9, pvo + 2, ~0ull),
		  PAVO_PVO_RANGE);
	EXPECT_EQ(pavo_pvo_check(tables.data(), 9, pvo + 0xfff,
				 PAVO_PVO_OFFSET_MASK + 2),
		  PAVO_PVO_RANGE);
}

} // namespace
