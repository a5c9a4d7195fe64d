// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table_tests.cpp - the TCE tables as they are by default, with the numbers of
 * sources.md#windows-tce, and entries of 16 MiB.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "large_page.h"
#include "world.h"

using namespace world;
using pavo::Job;
using pavo::Mapping;

namespace {

constexpr uint64_t large = LargePage::bytes, medium = 65536;

struct Table {
	uint64_t page;
	uint64_t entries;
	uint64_t used;
};

/* Those of all jobs, as the privileged see them. */
std::map<unsigned, Table> tables()
{
	std::map<unsigned, Table> found;

	for (const std::string &line :
	     common::lines_of("/sys/kernel/debug/pavo/jobs")) {
		std::istringstream words(line);
		std::string word;
		unsigned number;
		Table table{};

		/* table 3 pages of 4096 entries 12 of 1048576 */
		if (words >> word && word == "table" &&
		    words >> number >> word >> word >> table.page >> word >>
			    table.used >> word >> table.entries)
			found[number] = table;
	}
	return found;
}

TEST(Tables, ThirtyOfThirtyTwoInFiveSlots)
{
	constexpr unsigned named = 32, slots = 5, of_large = 4, of_small = 2;
	constexpr unsigned each = of_large + of_small;
	pavo::Device a = adapter();
	std::vector<Job> jobs;

	EXPECT_EQ(parameter("job_slots"), slots);
	EXPECT_EQ(parameter("job_large_tables"), of_large);
	EXPECT_EQ(parameter("job_small_tables"), of_small);
	EXPECT_TRUE(tables().empty());
	for (uint32_t i = 0; i < slots; i++)
		jobs.push_back(Job::reserve(a, job_id + i, job_key).value());
	EXPECT_EQ(refusal([&] {
			  Job::reserve(a, job_id + slots, job_key).value();
		  }),
		  ENOSPC);

	std::map<unsigned, Table> all = tables();
	ASSERT_EQ(all.size(), slots * each);
	for (const auto &[number, table] : all) {
		ASSERT_LT(number, slots * each);
		EXPECT_EQ(table.page, number % each < of_large ? large : page)
			<< number;
		EXPECT_EQ(table.entries,
			  parameter(number % each < of_large ?
					    "tce_large_entries" :
					    "tce_small_entries"));
		EXPECT_EQ(table.used, 0u);
	}
	/* All can be named, by anyone: the adapter says which is another's or free. */
	unsigned own = jobs[2].info().value().slot;
	for (uint64_t number = 0; number < named; number++) {
		pavo::Pvo pvo{1ull << 47 | number << 42};

		EXPECT_EQ(jobs[2].check(pvo, 1).value(),
			  number >= slots * each ? pavo::PvoResult::table :
			  number / each == own	 ? pavo::PvoResult::range :
						   pavo::PvoResult::job)
			<< number;
	}
}

struct LargePages : testing::Test {
	void SetUp() override
	{
		if (!world::has_huge_pages())
			GTEST_SKIP() << "a kernel without huge pages";
		memory = std::make_unique<LargePage>();
	}

	/* How many entries of that size the job has. */
	uint64_t entries(uint64_t size)
	{
		uint64_t used = 0;

		for (const auto &[number, table] : tables())
			used += table.page == size ? table.used : 0;
		return used;
	}

	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key).value();
	std::unique_ptr<LargePage> memory;
};

TEST_F(LargePages, AreOneEntry)
{
	size_t before = pinned();
	Mapping whole = Mapping::open(job, memory->all()).value();

	EXPECT_EQ(whole.page_size(), large);
	EXPECT_EQ(entries(large), 1u);
	EXPECT_EQ(pinned(), before + large / page);
	EXPECT_EQ(job.check(whole.pvo(), large).value(), pavo::PvoResult::ok);
	EXPECT_EQ(job.check(whole.pvo() + (large - 1), 1).value(),
		  pavo::PvoResult::ok);
	EXPECT_EQ(job.check(whole.pvo(), large + 1).value(),
		  pavo::PvoResult::key);
	EXPECT_EQ(job.check(whole.pvo() + large, 1).value(),
		  pavo::PvoResult::key);
}

/* An entry of a page reaches all of it: of a part it would give away the rest. */
TEST_F(LargePages, NotForAPart)
{
	Mapping half = Mapping::open(job, memory->part(0, large / 2)).value();
	Mapping most =
		Mapping::open(job, memory->part(page, large - page)).value();
	Mapping whole = Mapping::open(job, memory->all()).value();

	EXPECT_EQ(half.page_size(), medium);
	EXPECT_EQ(job.check(half.pvo(), large / 2 + 1).value(),
		  pavo::PvoResult::key);
	EXPECT_EQ(most.page_size(), page);
	EXPECT_EQ(job.check(most.pvo(), large - page + 1).value(),
		  pavo::PvoResult::key);
	EXPECT_EQ(whole.page_size(), large) << "another table";
	EXPECT_EQ(entries(large), 1u);
	EXPECT_EQ(entries(medium), large / 2 / medium);
}

/*
 * The first table has an entry of 16 MiB and one of 64 KiB in turn, and keys can be
 * guessed: what is asked for by the key of the latter, as if it were the former's, is
 * never there.
 */
TEST_F(LargePages, AnEntryIsNotTakenForALargerOne)
{
	constexpr uint64_t keys = (1 << 17) - 1, behind = 1 << 20;
	constexpr int rounds = 100;
	std::span<std::byte> small = memory->part(0, medium);
	std::atomic<uint64_t> guess{0};
	std::atomic<uint64_t> reached{0}, looks{0};
	std::jthread reader([&](std::stop_token stop) {
		while (!stop.stop_requested()) {
			pavo::Pvo pvo{guess};

			reached += job.check(pvo, 1).value() ==
				   pavo::PvoResult::ok;
			looks++;
		}
	});

	for (int i = 0; i < rounds; i++) {
		uint64_t next;
		{
			Mapping whole =
				Mapping::open(job, memory->all()).value();
			uint64_t key = whole.pvo().value >> 47;

			ASSERT_EQ(whole.page_size(), large);
			next = whole.pvo().value & 31ull << 42;
			next |= (key == keys ? 1 : key + 1) << 47;
		}
		guess = next | behind;
		Mapping part = Mapping::open(job, small).value();
		ASSERT_EQ(part.page_size(), medium);
		ASSERT_EQ(part.pvo().value, next) << "not what was guessed";
		guess = 0;
	}
	reader.request_stop();
	reader.join();
	EXPECT_EQ(reached, 0u) << "of " << looks;
}

} // namespace
