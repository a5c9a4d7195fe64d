// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mapping_cache_tests.cpp - mappings of a job that are kept after use: what is found
 * again, what ends, and what a child may do.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include <pavo/mapping_cache.hpp>

#include "../common/eventually.h"
#include "world.h"

using namespace world;
using pavo::Job;
using pavo::MappingCache;
using pavo::MappingPiece;

namespace {

struct MappingCacheTest : testing::Test {
	pavo::Device a = adapter();
	Job job = Job::reserve(a, job_id, job_key);
	MappingCache cache{job, by_hand};
	std::array<MappingPiece, 8> room{};

	/* Its pieces, given back at once. */
	std::vector<MappingPiece> look(std::span<std::byte> buffer)
	{
		std::error_code error;
		std::span<MappingPiece> pieces = cache.get(buffer, room, error);

		EXPECT_EQ(error.value(), 0) << error.message();
		cache.put(pieces);
		return {pieces.begin(), pieces.end()};
	}

	int refusal_of(std::span<std::byte> buffer)
	{
		std::error_code error;

		cache.put(cache.get(buffer, room, error));
		return error.value();
	}
};

TEST_F(MappingCacheTest, GivesTheSamePvoAgain)
{
	Memory memory(8 * page);
	std::vector<MappingPiece> first = look(memory.part(10, 5 * page));

	ASSERT_EQ(first.size(), 1u);
	EXPECT_EQ(first[0].start, memory.at() + 10);
	EXPECT_EQ(first[0].length, 5 * page);
	EXPECT_EQ(job.check(first[0].pvo, 5 * page), pavo::PvoResult::ok);
	EXPECT_EQ(look(memory.part(page, 20))[0].pvo,
		  first[0].pvo + (page - 10));
	EXPECT_EQ(cache.stats().misses, 1u);
	EXPECT_EQ(job.info().mappings, 1u);
}

TEST_F(MappingCacheTest, PiecesOfABufferOfSeveralFragments)
{
	Memory memory(3 * fragment);
	std::span<std::byte> buffer = memory.part(5, 2 * fragment + 100);
	std::vector<MappingPiece> pieces = look(buffer);
	std::byte *at = buffer.data();

	ASSERT_LE(pieces.size(), PAVO_CACHE_PIECES(buffer.size()));
	ASSERT_GE(pieces.size(), 3u);
	for (const MappingPiece &piece : pieces) {
		EXPECT_EQ(piece.start, at);
		EXPECT_EQ(job.check(piece.pvo, piece.length),
			  pavo::PvoResult::ok);
		at += piece.length;
		EXPECT_TRUE(at == buffer.data() + buffer.size() ||
			    reinterpret_cast<uintptr_t>(at) % fragment == 0);
	}
	EXPECT_EQ(at, buffer.data() + buffer.size());
	EXPECT_EQ(look(buffer)[1].pvo, pieces[1].pvo);
}

TEST_F(MappingCacheTest, TooLittleRoomLeavesNothingInUse)
{
	Memory memory(2 * fragment);
	std::error_code error;

	EXPECT_TRUE(cache.get(memory.all(), std::span(room).first(1), error)
			    .empty());
	EXPECT_EQ(error.value(), ENOBUFS);
	for (int second = 0; second < 3; second++)
		cache.tick();
	EXPECT_EQ(cache.stats().entries, 0u);
	EXPECT_EQ(job.info().pinned, 0u);
}

TEST_F(MappingCacheTest, EndsWhatIsIdle)
{
	size_t before = pinned();
	Memory memory(4 * page);

	look(memory.all());
	EXPECT_EQ(pinned(), before + 4);
	for (int second = 0; second < 3; second++)
		cache.tick();
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(cache.stats().idle, 1u);
}

TEST_F(MappingCacheTest, ItsOwnSecondsGoBy)
{
	MappingCache ticking(
		job,
		{.entries = 0, .segments = 0, .idle_limit = 1, .flags = 0});
	Memory memory(page);
	std::error_code error;

	ticking.put(ticking.get(memory.all(), room, error));
	ASSERT_EQ(ticking.stats().entries, 1u);
	EXPECT_TRUE(
		common::eventually([&] { return !ticking.stats().entries; }));
	EXPECT_EQ(ticking.stats().idle, 1u);
}

TEST_F(MappingCacheTest, MakesRoomWhenTheJobHasItsLimit)
{
	Job small = Job::reserve(a, job_id + 1, job_key, 4 * page);
	MappingCache own(small, by_hand);
	Memory memory(3 * fragment);
	std::error_code error;

	for (int round = 0; round < 2; round++)
		for (size_t n = 0; n < 3; n++) {
			own.put(own.get(memory.part(n * fragment, 2 * page),
					room, error));
			ASSERT_EQ(error.value(), 0) << error.message();
		}
	EXPECT_EQ(own.stats().evicted, 4u);
	EXPECT_EQ(small.info().pinned, 4 * page);
	own.put(own.get(memory.part(0, 5 * page), room, error));
	EXPECT_EQ(error.value(), EDQUOT);
}

TEST_F(MappingCacheTest, MemoryThatIsNotThere)
{
	Memory memory(2 * page);
	std::span<std::byte> all = memory.all();

	ASSERT_EQ(munmap(memory.at() + page, page), 0);
	EXPECT_EQ(refusal_of(all), EFAULT);
	EXPECT_EQ(refusal_of(all.first(page)), 0);
	EXPECT_EQ(refusal_of({memory.at(), SIZE_MAX}), EFAULT);
	EXPECT_EQ(refusal_of({memory.at(), 0}), 0);
}

TEST_F(MappingCacheTest, AProtectedPageIsNotFoundAgain)
{
	Memory memory(4 * page);

	look(memory.all());
	ASSERT_EQ(mprotect(memory.at(), 4 * page, PROT_READ), 0);
	EXPECT_EQ(refusal_of(memory.all()), EFAULT);
	ASSERT_EQ(mprotect(memory.at(), 4 * page, PROT_READ | PROT_WRITE), 0);
	EXPECT_EQ(refusal_of(memory.all()), 0);
}

TEST_F(MappingCacheTest, ReplacedMemoryHasAnotherPvo)
{
	Memory memory(4 * page);
	pavo::Pvo old = look(memory.all())[0].pvo;

	memory.replace();
	EXPECT_NE(look(memory.all())[0].pvo, old);
	EXPECT_EQ(job.check(old, 1), pavo::PvoResult::key) << "it ended";
	EXPECT_EQ(cache.stats().changed, 1u);
}

TEST_F(MappingCacheTest, UnmappedMemoryIsRefusedAndItsPvoEnds)
{
	size_t before = pinned();
	Memory memory(4 * page);
	pavo::Pvo old = look(memory.all())[0].pvo;

	memory.unmap();
	EXPECT_EQ(refusal_of(memory.all()), EFAULT);
	EXPECT_EQ(job.check(old, 1), pavo::PvoResult::key);
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(cache.stats().entries, 0u);
}

TEST_F(MappingCacheTest, ATickEndsWhatWasUnmapped)
{
	size_t before = pinned();
	Memory memory(4 * page);
	pavo::Pvo old = look(memory.all())[0].pvo;

	memory.unmap();
	EXPECT_EQ(pinned(), before + 4) << "the cache has not looked yet";
	cache.tick();
	EXPECT_EQ(job.check(old, 1), pavo::PvoResult::key);
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(cache.stats().changed, 1u);
}

TEST_F(MappingCacheTest, WhatIsInUseSurvivesItsReplacement)
{
	Memory memory(4 * page);
	std::array<MappingPiece, 2> held{};
	std::error_code error;
	std::span<MappingPiece> pieces = cache.get(memory.all(), held, error);
	pavo::Pvo old = held[0].pvo;

	memory.replace();
	EXPECT_NE(look(memory.all())[0].pvo, old);
	EXPECT_EQ(job.check(old, 4 * page), pavo::PvoResult::ok);
	cache.put(pieces);
	EXPECT_EQ(job.check(old, 1), pavo::PvoResult::key);
}

TEST_F(MappingCacheTest, AChildIsRefusedAndLeavesTheParentsAlone)
{
	Memory memory(4 * page);
	auto own = std::make_unique<MappingCache>(job, pavo_cache_options{});
	std::error_code error;
	std::span<MappingPiece> pieces = own->get(memory.all(), room, error);
	Process child([&](Process &) {
		std::error_code refused;
		std::array<MappingPiece, 2> none{};

		own->get(memory.all(), none, refused);
		own->put(pieces);
		own->tick();
		pavo_cache_stats stats = own->stats();
		own.reset();
		return refused.value() == ECHILD && stats.entries == 0 &&
		       stats.misses == 0;
	});

	EXPECT_TRUE(child.good());
	EXPECT_EQ(job.check(pieces[0].pvo, 4 * page), pavo::PvoResult::ok);
	own->put(pieces);
	EXPECT_EQ(own->stats().entries, 1u);
}

/* Run by guest.sh in a cgroup with three objects: the job, a watch, and one mapping. */
TEST_F(MappingCacheTest, DISABLED_MakesRoomWithinTheLimitOfTheCgroup)
{
	Memory memory(3 * fragment);

	for (size_t n = 0; n < 3; n++)
		look(memory.part(n * fragment, page));
	EXPECT_EQ(cache.stats().evicted, 2u);
	EXPECT_EQ(job.info().mappings, 1u);
	/* A mapping in use stays. */
	std::error_code error;
	std::array<MappingPiece, 2> held{};
	std::span<MappingPiece> pieces =
		cache.get(memory.part(0, page), held, error);
	ASSERT_EQ(error.value(), 0) << error.message();
	EXPECT_EQ(refusal_of(memory.part(fragment, page)), EAGAIN);
	cache.put(pieces);
	EXPECT_EQ(refusal_of(memory.part(fragment, page)), 0);
}

TEST_F(MappingCacheTest, RefusesWhatCannotBe)
{
	EXPECT_EQ(refusal([&] {
			  MappingCache(job, {.entries = 65537,
					     .segments = 0,
					     .idle_limit = 0,
					     .flags = 0});
		  }),
		  EINVAL);
	EXPECT_EQ(refusal([&] {
			  MappingCache(job, {.entries = 0,
					     .segments = 0,
					     .idle_limit = 0,
					     .flags = 4});
		  }),
		  EINVAL);
}

} // namespace
