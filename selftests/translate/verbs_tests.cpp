// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verbs_tests.cpp - memory regions of verbs: what they pin is pinned once for a
 * process, whichever adapters it is registered with.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string>

#include "domain.h"
#include "world.h"

using namespace world;

namespace {

TEST(Verbs, ABufferIsPinnedOnceForTwoAdapters)
{
	Domain a("PAVO_DEV"), b("PAVO_PEER");
	Memory memory(16 * page);
	size_t before = pinned();
	Region first = region(a, memory.all());
	Region second = region(b, memory.all());
	Region third = region(b, memory.part(5, 16 * page - 10));

	ASSERT_TRUE(first && second && third);
	EXPECT_EQ(pinned(), before + 16);
	first.reset();
	EXPECT_EQ(pinned(), before + 16);
	second.reset();
	third.reset();
	EXPECT_EQ(pinned(), before);
}

TEST(Verbs, ReadOnlyMemoryIsPinnedForReadingOnly)
{
	Domain a("PAVO_DEV");
	Memory memory(4 * page);
	size_t before = pinned();

	ASSERT_EQ(mprotect(memory.at(), 4 * page, PROT_READ), 0);
	Region reading = region(a, memory.all(), IBV_ACCESS_REMOTE_READ);
	ASSERT_TRUE(reading);
	Region writing = region(a, memory.all());
	EXPECT_FALSE(writing);
	EXPECT_EQ(pinned(), before + 4);
}

TEST(Verbs, WhatIsPinnedForReadingIsNotTakenForWriting)
{
	Domain a("PAVO_DEV");
	Memory memory(4 * page);
	size_t before = pinned();
	Region reading = region(a, memory.all(), IBV_ACCESS_REMOTE_READ);
	Region writing = region(a, memory.all());
	Region again = region(a, memory.all(), IBV_ACCESS_REMOTE_READ);

	ASSERT_TRUE(reading && writing && again);
	EXPECT_EQ(pinned(), before + 8);
}

TEST(Verbs, ReplacedMemoryIsPinnedAnew)
{
	Domain a("PAVO_DEV");
	Memory memory(4 * page);
	size_t before = pinned();
	Region first = region(a, memory.all());

	memory.replace();
	Region second = region(a, memory.all());
	ASSERT_TRUE(first && second);
	EXPECT_EQ(pinned(), before + 8);
}

/* docs/memory.md, "Regions and pins": a region is its process's, a mapping the job's. */
TEST(Verbs, ARegionAndAMappingArePinnedEach)
{
	Domain a("PAVO_DEV"), b("PAVO_PEER");
	pavo::Device device = adapter();
	pavo::Job job = pavo::Job::reserve(device, job_id, job_key).value();
	pavo::Job other =
		pavo::Job::reserve(device, job_id + 1, job_key).value();
	Memory memory(4 * page);
	size_t before = pinned();
	Region first = region(a, memory.all());
	auto mapping = std::make_unique<pavo::Mapping>(
		pavo::Mapping::open(job, memory.all()).value());

	ASSERT_TRUE(first);
	EXPECT_FALSE(mapping->shared());
	EXPECT_EQ(pinned(), before + 8);
	/* Each is shared with its like. */
	Region second = region(b, memory.all());
	pavo::Mapping again = pavo::Mapping::open(job, memory.all()).value();
	EXPECT_TRUE(again.shared());
	EXPECT_EQ(pinned(), before + 8);
	pavo::Mapping apart = pavo::Mapping::open(other, memory.all()).value();
	EXPECT_FALSE(apart.shared());
	EXPECT_EQ(pinned(), before + 12);
	first.reset();
	mapping.reset();
	EXPECT_EQ(pinned(), before + 12);
	second.reset();
	EXPECT_EQ(pinned(), before + 8);
}

struct DestroyCq {
	void operator()(ibv_cq *cq) const { ibv_destroy_cq(cq); }
};

struct FreeWindow {
	void operator()(ibv_mw *window) const { ibv_dealloc_mw(window); }
};

/* Bytes that count as those of the cgroup that this was started in. */
size_t charged()
{
	return common::read_word<size_t>(getenv("PAVO_CGROUP") +
					 std::string("/memory.current"));
}

/* Run by guest.sh in a cgroup of its own. An entry has 64 bytes. */
TEST(Verbs, DISABLED_RingsAreChargedToTheCgroup)
{
	constexpr int entries = 65535;
	constexpr size_t ring = (entries + 1) * 64, little = ring / 4;
	Domain a("PAVO_DEV");
	auto cq = [&](int least) {
		return std::unique_ptr<ibv_cq, DestroyCq>(
			ibv_create_cq(static_cast<ibv_pd *>(a)->context, least,
				      nullptr, nullptr, 0));
	};

	/* Make the first of its kind: some memory is allocated with that one only. */
	cq(16);
	const size_t before = charged();
	auto made = cq(entries);
	ASSERT_TRUE(made);
	EXPECT_GE(charged(), before + ring - little);
	made.reset();
	EXPECT_LT(charged(), before + little);
}

/* Run by guest.sh in a cgroup with three objects, of which the domain is one. */
TEST(Verbs, DISABLED_ObjectsOfTheCgroup)
{
	Domain a("PAVO_DEV");
	Memory memory(3 * page);
	size_t before = pinned();
	auto cq = [&] {
		ibv_cq *made = ibv_create_cq(static_cast<ibv_pd *>(a)->context,
					     16, nullptr, nullptr, 0);

		return std::unique_ptr<ibv_cq, DestroyCq>(made);
	};
	auto window = [&] {
		return std::unique_ptr<ibv_mw, FreeWindow>(
			ibv_alloc_mw(a, IBV_MW_TYPE_1));
	};
	auto all_are_refused = [&] {
		bool none = true;

		errno = 0;
		none = !region(a, memory.all()) && errno == EAGAIN && none;
		errno = 0;
		none = !cq() && errno == EAGAIN && none;
		errno = 0;
		none = !window() && errno == EAGAIN && none;
		return none;
	};

	for (int round = 0; round < 3; round++) {
		Region one = region(a, memory.part(0, page));
		auto two = cq();

		ASSERT_TRUE(one && two);
		EXPECT_TRUE(all_are_refused());
		EXPECT_EQ(pinned(), before + 1);
		/* Any other may have a page that one gives back. */
		round % 2 ? one.reset() : two.reset();
		auto three = window();
		ASSERT_TRUE(three);
		EXPECT_TRUE(all_are_refused());
		round % 2 ? two.reset() : one.reset();
		Region four = region(a, memory.all());
		ASSERT_TRUE(four);
		EXPECT_TRUE(all_are_refused());
	}
	EXPECT_EQ(pinned(), before);
}

TEST(Verbs, TheLimitIsThatOfDistinctMemory)
{
	Process child([](Process &) {
		become_user(16 * page);
		Domain a("PAVO_DEV"), b("PAVO_PEER");
		Memory memory(17 * page);
		size_t own = pinned();
		std::span<std::byte> most = memory.part(0, (16 - own) * page);
		Region first = region(a, most);
		Region second = region(b, most);
		Region more = region(a, memory.all().last(page));

		return first && second && !more && errno == ENOMEM &&
		       pinned() == 16;
	});

	EXPECT_TRUE(child.good());
}

} // namespace
