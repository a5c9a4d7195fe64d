// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mapping_tests.cpp - buffers of a job: what their PVOs look like, what they let
 * one reach, and that each is pinned and mapped once.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "world.h"

using namespace world;
using pavo::Job;
using pavo::Mapping;

namespace {

constexpr uint64_t offset_mask = (1ull << 42) - 1;

uint32_t table_of(pavo::Pvo pvo)
{
	return pvo.value >> 42 & 31;
}

uint32_t key_of(pavo::Pvo pvo)
{
	return pvo.value >> 47;
}

struct MappingTest : testing::Test {
	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key).value();
};

using Pvo = MappingTest;
using Sharing = MappingTest;
using Limits = MappingTest;
using Pages = MappingTest;

TEST_F(Pvo, LiesInATableOfTheJobsSlot)
{
	unsigned tables =
		parameter("job_large_tables") + parameter("job_small_tables");
	Memory memory(3 * page);
	Mapping mapping =
		Mapping::open(job, memory.part(123, 2 * page)).value();

	EXPECT_EQ(table_of(mapping.pvo()) / tables, job.info().value().slot);
	EXPECT_NE(key_of(mapping.pvo()), 0u);
	EXPECT_EQ(mapping.pvo().value & (page - 1), 123u);
	EXPECT_EQ(mapping.page_size(), page);
	EXPECT_FALSE(mapping.shared());
}

TEST_F(Pvo, ReachesTheBufferAndNothingBehindItsLastPage)
{
	Memory memory(3 * page);
	Mapping mapping =
		Mapping::open(job, memory.part(100, 2 * page)).value();
	pavo::Pvo pvo = mapping.pvo();

	EXPECT_EQ(job.check(pvo, 2 * page).value(), pavo::PvoResult::ok);
	EXPECT_EQ(job.check(pvo + page, page).value(), pavo::PvoResult::ok);
	/* Protection is per page: to the end of the third, and no further. */
	EXPECT_EQ(job.check(pvo, 3 * page - 100).value(), pavo::PvoResult::ok);
	EXPECT_EQ(job.check(pvo, 3 * page - 99).value(), pavo::PvoResult::key);
	EXPECT_EQ(job.check(pvo + 3 * page, 1).value(), pavo::PvoResult::key);
	EXPECT_EQ(job.check({pvo.value | offset_mask}, 1).value(),
		  pavo::PvoResult::range);
}

TEST_F(Pvo, DoesNotReachTheNeighbour)
{
	Memory memory(2 * page);
	Mapping first = Mapping::open(job, memory.part(0, page)).value();
	Mapping second = Mapping::open(job, memory.part(page, page)).value();

	ASSERT_EQ((first.pvo().value & offset_mask) + page,
		  second.pvo().value & offset_mask)
		<< "places are given out from the first on";
	EXPECT_NE(key_of(first.pvo()), key_of(second.pvo()));
	EXPECT_EQ(job.check(first.pvo(), page + 1).value(),
		  pavo::PvoResult::key);
}

TEST_F(Pvo, MeansNothingAfterItsEnd)
{
	Memory memory(page), other(page);
	pavo::Pvo old;
	{
		Mapping mapping = Mapping::open(job, memory.all()).value();

		old = mapping.pvo();
	}
	EXPECT_EQ(job.check(old, 1).value(), pavo::PvoResult::key);
	Mapping mapping = Mapping::open(job, other.all()).value();
	ASSERT_EQ(mapping.pvo().value & offset_mask, old.value & offset_mask);
	EXPECT_EQ(job.check(mapping.pvo(), 1).value(), pavo::PvoResult::ok);
	EXPECT_EQ(job.check(old, 1).value(), pavo::PvoResult::key)
		<< "that place, another key";
}

TEST_F(Pvo, IsTheJobsOnly)
{
	Memory memory(page);
	pavo::Pvo pvo, unowned{31ull << 42};
	{
		Job other = Job::reserve(a, job_id + 1, job_key).value();
		Mapping mapping = Mapping::open(other, memory.all()).value();

		pvo = mapping.pvo();
		EXPECT_EQ(other.check(pvo, 1).value(), pavo::PvoResult::ok);
		EXPECT_EQ(job.check(pvo, 1).value(), pavo::PvoResult::job);
	}
	EXPECT_EQ(job.check(pvo, 1).value(), pavo::PvoResult::table);
	EXPECT_EQ(job.check(unowned, 1).value(), pavo::PvoResult::table);
}

TEST_F(Sharing, ABufferIsFoundAgain)
{
	size_t before = pinned();
	Memory memory(8 * page);
	Mapping first = Mapping::open(job, memory.all()).value();
	Mapping second =
		Mapping::open(job, memory.part(10, 8 * page - 20)).value();

	EXPECT_TRUE(second.shared());
	EXPECT_EQ(second.pvo(), first.pvo() + 10);
	EXPECT_EQ(job.info().value().buffers, 1u);
	EXPECT_EQ(job.info().value().mappings, 2u);
	EXPECT_EQ(job.info().value().pinned, 8 * page);
	EXPECT_EQ(pinned(), before + 8);
}

TEST_F(Sharing, ThroughTwoAdapters)
{
	pavo::Device b = other_adapter();
	Job there = Job::join(b, job_id, job_key).value();
	size_t before = pinned();
	Memory memory(8 * page);
	{
		Mapping first = Mapping::open(job, memory.all()).value();
		Mapping second = Mapping::open(there, memory.all()).value();

		EXPECT_TRUE(second.shared());
		EXPECT_EQ(second.pvo(), first.pvo());
		EXPECT_EQ(pinned(), before + 8);
		EXPECT_EQ(there.info().value().buffers, 1u);
		EXPECT_EQ(there.info().value().shared, 1u);
	}
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(job.info().value().pinned, 0u);
}

/*
 * The second process pins nothing as long as the first is there, whose memory
 * it counts as, and then all of it.
 */
TEST_F(Sharing, ByTwoProcesses)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fd, 8 * page), 0);
	Memory memory(fd, 8 * page);
	auto mapping = std::make_unique<Mapping>(
		Mapping::open(job, memory.all()).value());
	pavo::Pvo pvo = mapping->pvo();
	Process child([&](Process &self) {
		pavo::Device own = other_adapter();
		Job joined = Job::join(own, job_id, job_key).value();
		Memory away(5 * page);
		Memory view(fd, 8 * page);
		Mapping second = Mapping::open(joined, view.all()).value();
		bool same = second.shared() && second.pvo() == pvo;
		size_t at_first = pinned();

		self.meet();
		self.meet();
		return same && at_first == 0 && pinned() == 8 &&
		       joined.check(pvo, 8 * page).value() ==
			       pavo::PvoResult::ok;
	});

	child.meet();
	EXPECT_EQ(job.info().value().buffers, 1u);
	EXPECT_EQ(job.info().value().mappings, 2u);
	mapping.reset();
	EXPECT_EQ(pinned(), 0u);
	EXPECT_EQ(job.check(pvo, 8 * page).value(), pavo::PvoResult::ok);
	child.meet();
	EXPECT_TRUE(child.good());
	EXPECT_EQ(job.check(pvo, 8 * page).value(), pavo::PvoResult::key);
	close(fd);
}

/* A process that has mapped it twice has it until it has unmapped it twice. */
TEST_F(Sharing, ABufferCountsAsItsFirstUsers)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fd, 8 * page), 0);
	Memory memory(fd, 8 * page);
	auto one = std::make_unique<Mapping>(
		Mapping::open(job, memory.all()).value());
	Process child([&](Process &self) {
		pavo::Device own = other_adapter();
		Job joined = Job::join(own, job_id, job_key).value();
		Memory view(fd, 8 * page);
		Mapping third = Mapping::open(joined, view.all()).value();

		self.meet();
		self.meet();
		bool none = pinned() == 0;
		self.meet();
		self.meet();
		return none && pinned() == 8;
	});

	child.meet();
	auto two = std::make_unique<Mapping>(
		Mapping::open(job, memory.all()).value());
	one.reset();
	EXPECT_EQ(pinned(), 8u);
	child.meet();
	child.meet();
	two.reset();
	EXPECT_EQ(pinned(), 0u);
	child.meet();
	EXPECT_TRUE(child.good());
	close(fd);
}

/* Maps all of a view and ends that again, so many times. Return: it was there each time. */
bool come_and_go(const Job &job, const Memory &view, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		Mapping mapping = Mapping::open(job, view.all()).value();

		if (job.check(mapping.pvo(), view.all().size()).value() !=
		    pavo::PvoResult::ok)
			return false;
	}
	return true;
}

/* The same by two threads. */
bool two_come_and_go(const Job &job, const Memory &view, int rounds)
{
	std::atomic<int> good = 0;
	auto one = [&] { good += come_and_go(job, view, rounds); };
	std::thread first(one), second(one);

	first.join();
	second.join();
	return good == 2;
}

/*
 * A thread that goes hands the pages on to one that has just come: two threads in each of two
 * processes, while a third process has jobs come and go.
 */
TEST_F(Sharing, ByManyWhoComeAndGo)
{
	constexpr int rounds = 200;
	int fd = memfd_create("shared", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fd, 8 * page), 0);
	Process child([&](Process &self) {
		pavo::Device own = other_adapter();
		Job joined = Job::join(own, job_id, job_key).value();
		Memory view(fd, 8 * page);

		self.meet();
		bool good = two_come_and_go(joined, view, rounds);
		self.meet();
		return good && pinned() == 0;
	});
	Process jobs([&](Process &self) {
		pavo::Device own = adapter();

		self.meet();
		for (int i = 0; i < rounds; i++) {
			Job other =
				Job::reserve(own, job_id + 1, job_key).value();
			Memory memory(page);
			Mapping mapping =
				Mapping::open(other, memory.all()).value();
		}
		return true;
	});
	Memory view(fd, 8 * page);

	child.meet();
	jobs.meet();
	EXPECT_TRUE(two_come_and_go(job, view, rounds));
	child.meet();
	EXPECT_TRUE(child.good());
	EXPECT_TRUE(jobs.good());
	EXPECT_EQ(pinned(), 0u);
	EXPECT_EQ(job.info().value().buffers, 0u);
	EXPECT_EQ(job.info().value().mappings, 0u);
	close(fd);
}

TEST_F(Sharing, OtherPagesAtThatAddressAreAnotherBuffer)
{
	Memory memory(4 * page);
	Mapping first = Mapping::open(job, memory.all()).value();

	memory.replace();
	Mapping second = Mapping::open(job, memory.all()).value();
	EXPECT_FALSE(second.shared());
	EXPECT_NE(second.pvo(), first.pvo());
	EXPECT_EQ(job.info().value().buffers, 2u);
	EXPECT_EQ(job.check(first.pvo(), 4 * page).value(),
		  pavo::PvoResult::ok);
	EXPECT_EQ(job.check(second.pvo(), 4 * page).value(),
		  pavo::PvoResult::ok);
}

TEST_F(Pages, HugeOnesAreMappedAsLargeOnes)
{
	constexpr size_t huge = 2 << 20;

	try {
		Memory memory(huge, MAP_HUGETLB);
		Mapping whole = Mapping::open(job, memory.all()).value();

		EXPECT_EQ(whole.page_size(), 65536u);
		EXPECT_EQ(job.check(whole.pvo(), huge).value(),
			  pavo::PvoResult::ok);
		EXPECT_EQ(job.check(whole.pvo(), huge + 1).value(),
			  pavo::PvoResult::key);
		/* A large page would let others reach what was not given. */
		Mapping part =
			Mapping::open(job, memory.part(65536, 65536 + page))
				.value();
		EXPECT_EQ(part.page_size(), page);
		EXPECT_EQ(job.check(part.pvo(), 65536 + page + 1).value(),
			  pavo::PvoResult::key);
	} catch (const std::system_error &error) {
		GTEST_SKIP() << error.what();
	}
}

TEST_F(Limits, WhatCannotBeMapped)
{
	Memory memory(4 * page);
	auto map = [&](std::span<std::byte> part) {
		return refusal([&] { (void)Mapping::open(job, part).value(); });
	};

	EXPECT_EQ(map({memory.at(), 0}), EINVAL);
	EXPECT_EQ(map({memory.at(), ~0ull}), EINVAL);
	EXPECT_EQ(map({memory.at(), 1ull << 42}), EINVAL);
	mprotect(memory.at() + 2 * page, page, PROT_READ);
	EXPECT_EQ(map(memory.all()), EFAULT);
	munmap(memory.at() + 3 * page, page);
	EXPECT_EQ(map(memory.all()), EFAULT);
	EXPECT_EQ(map(memory.part(0, 2 * page)), 0);
	EXPECT_EQ(pinned(), 0u);
	EXPECT_EQ(job.info().value().buffers, 0u);
}

TEST_F(Limits, MemoryWithoutAMappingInTheKernel)
{
	int fd = int(syscall(__NR_memfd_secret, 0));

	if (fd < 0)
		GTEST_SKIP() << "no memfd_secret()";
	ASSERT_EQ(ftruncate(fd, 4 * page), 0);
	Memory secret(fd, 4 * page);
	close(fd);
	secret.all()[0] = std::byte(1);
	EXPECT_EQ(refusal([&] {
			  (void)Mapping::open(job, secret.all()).value();
		  }),
		  EFAULT);
	EXPECT_EQ(pinned(), 0u);
}

TEST_F(Limits, OfTheJob)
{
	Job small = Job::reserve(a, job_id + 1, job_key, 8 * page).value();
	Memory memory(9 * page);
	auto map = [&](size_t from, size_t bytes) {
		return refusal([&] {
			(void)Mapping::open(small, memory.part(from, bytes))
				.value();
		});
	};

	EXPECT_EQ(map(0, 9 * page), EDQUOT);
	EXPECT_EQ(map(0, 8 * page), 0);
	Mapping most = Mapping::open(small, memory.part(0, 7 * page)).value();
	EXPECT_EQ(map(7 * page, 2 * page), EDQUOT);
	EXPECT_EQ(map(7 * page, page), 0);
	EXPECT_EQ(map(0, 7 * page), 0) << "is mapped already";
	EXPECT_EQ(pinned(), 7u);
}

TEST_F(Limits, OfLockedMemory)
{
	Process child([](Process &) {
		become_user(8 * page);
		pavo::Device own = adapter();
		Job mine = Job::reserve(own, job_id + 1, job_key).value();
		Memory memory(9 * page);
		auto map = [&](size_t from, size_t bytes) {
			return refusal([&] {
				(void)Mapping::open(mine,
						    memory.part(from, bytes))
					.value();
			});
		};
		bool whole = map(0, 9 * page) == ENOMEM &&
			     map(0, 8 * page) == 0 && pinned() == 0;
		Mapping most =
			Mapping::open(mine, memory.part(0, 7 * page)).value();

		return whole && map(7 * page, 2 * page) == ENOMEM &&
		       map(7 * page, page) == 0 && map(0, 7 * page) == 0 &&
		       pinned() == 7;
	});

	EXPECT_TRUE(child.good());
}

/* A user's second process: eight pages are its limit, six are in each file. */
bool gets_no_more(Process &self, int first, int second)
{
	pavo::Device own = other_adapter();
	Job joined = Job::join(own, job_id + 1, job_key).value();
	Memory x(first, 6 * page), y(second, 6 * page), more(3 * page);
	auto map = [&](std::span<std::byte> buffer) {
		return refusal(
			[&] { (void)Mapping::open(joined, buffer).value(); });
	};
	auto of_x = std::make_unique<Mapping>(
		Mapping::open(joined, x.all()).value());
	auto is_all = [&] {
		return map(more.all()) == ENOMEM && map(y.all()) == ENOMEM &&
		       map(more.part(0, 2 * page)) == 0 && map(x.all()) == 0;
	};

	self.meet();
	bool lent = of_x->shared() && pinned() == 0 && is_all();
	self.meet();
	self.meet();
	bool left = pinned() == 6 && is_all();
	of_x.reset();
	return lent && left && pinned() == 0 && map(y.all()) == 0;
}

/* Memory that counts as another's counts against the limit of all processes that use it. */
TEST_F(Limits, OfWhatOthersLockedFirst)
{
	int first = memfd_create("first", MFD_CLOEXEC);
	int second = memfd_create("second", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(first, 6 * page), 0);
	ASSERT_EQ(ftruncate(second, 6 * page), 0);
	Process child([&](Process &) {
		become_user(8 * page);
		pavo::Device own = adapter();
		Job mine = Job::reserve(own, job_id + 1, job_key).value();
		Memory x(first, 6 * page), y(second, 6 * page);
		auto of_x = std::make_unique<Mapping>(
			Mapping::open(mine, x.all()).value());
		Process other([&](Process &self) {
			return gets_no_more(self, first, second);
		});

		other.meet();
		other.meet();
		of_x.reset();
		Mapping of_y = Mapping::open(mine, y.all()).value();
		other.meet();
		return other.good() && pinned() == 6;
	});

	EXPECT_TRUE(child.good());
	close(first);
	close(second);
}

/* One page each until there is no more place; then all is free again. */
TEST_F(Limits, OfTheTables)
{
	size_t entries = parameter("tce_small_entries");
	if (entries > 4096)
		GTEST_SKIP() << "too large to be filled";
	size_t pages = entries * parameter("job_small_tables");
	Memory memory((pages + 1) * page);

	for (int round = 0; round < 2; round++) {
		std::vector<Mapping> mappings;

		for (size_t i = 0; i < pages; i++)
			mappings.push_back(
				Mapping::open(job, memory.part(i * page, page))
					.value());
		EXPECT_EQ(refusal([&] {
				  (void)Mapping::open(
					  job, memory.part(pages * page, page))
					  .value();
			  }),
			  ENOSPC);
		for (size_t i = 0; i < pages; i++)
			ASSERT_EQ(job.check(mappings[i].pvo(), page).value(),
				  pavo::PvoResult::ok);
		/* Any order: the even ones, then the odd ones from behind. */
		for (size_t i = 0; i < pages; i += 2)
			Mapping gone = std::move(mappings[i]);
		EXPECT_EQ(refusal([&] {
				  (void)Mapping::open(job,
						      memory.part(0, 2 * page))
					  .value();
			  }),
			  ENOSPC)
			<< "places for one each";
		while (!mappings.empty())
			mappings.pop_back();
		EXPECT_EQ(pinned(), 0u);
		EXPECT_EQ(job.info().value().buffers, 0u);
	}
}

/* Run by guest.sh in a cgroup with three objects: the job and two mappings. */
TEST_F(Limits, DISABLED_OfTheCgroup)
{
	Memory memory(3 * page);
	std::vector<Mapping> mappings;

	for (size_t i = 0; i < 2; i++)
		mappings.push_back(
			Mapping::open(job, memory.part(i * page, page)).value());
	EXPECT_EQ(refusal([&] {
			  (void)Mapping::open(job, memory.part(2 * page, page))
				  .value();
		  }),
		  EAGAIN);
	EXPECT_EQ(pinned(), 2u);
	mappings.pop_back();
	EXPECT_EQ(refusal([&] {
			  (void)Mapping::open(job, memory.part(2 * page, page))
				  .value();
		  }),
		  0);
}

/*
 * Two halves, run by guest.sh: a PVO is written down, the module is loaded anew,
 * and it means nothing.
 */
TEST_F(Pvo, DISABLED_IsWrittenDown)
{
	Memory memory(page);
	Mapping mapping = Mapping::open(job, memory.all()).value();
	std::ofstream file(getenv("PAVO_NOTES"));

	file << mapping.pvo().value << '\n';
	EXPECT_EQ(job.check(mapping.pvo(), page).value(), pavo::PvoResult::ok);
}

TEST_F(Pvo, DISABLED_OfAnEarlierLoadIsStale)
{
	std::ifstream file(getenv("PAVO_NOTES"));
	Memory memory(page);
	Mapping mapping = Mapping::open(job, memory.all()).value();
	pavo::Pvo old;

	ASSERT_TRUE(file >> old.value);
	ASSERT_EQ(old.value & ~0ull >> 17, mapping.pvo().value & ~0ull >> 17)
		<< "the same table, the same place";
	EXPECT_EQ(job.check(old, page).value(), pavo::PvoResult::key);
}

} // namespace
