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
	Job job = Job::reserve(a, job_id, job_key).value();
	MappingCache cache = MappingCache::open(job, by_hand).value();
	std::array<MappingPiece, 8> room{};

	/* Its pieces, given back at once. */
	std::vector<MappingPiece> look(std::span<std::byte> buffer)
	{
		std::span<MappingPiece> pieces =
			cache.get(buffer, room).value();

		cache.put(pieces);
		return {pieces.begin(), pieces.end()};
	}

	int refusal_of(std::span<std::byte> buffer)
	{
		auto got = cache.get(buffer, room);

		if (got.has_value())
			cache.put(got.value());
		return got.error_or({}).number();
	}
};

TEST_F(MappingCacheTest, GivesTheSamePvoAgain)
{
	Memory memory(8 * page);
	std::vector<MappingPiece> first = look(memory.part(10, 5 * page));

	ASSERT_EQ(first.size(), 1u);
	EXPECT_EQ(first[0].start, memory.at() + 10);
	EXPECT_EQ(first[0].length, 5 * page);
	EXPECT_EQ(job.check(first[0].pvo, 5 * page).value(),
		  pavo::PvoResult::ok);
	EXPECT_EQ(look(memory.part(page, 20))[0].pvo,
		  first[0].pvo + (page - 10));
	EXPECT_EQ(cache.stats().misses, 1u);
	EXPECT_EQ(job.info().value().mappings, 1u);
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
		EXPECT_EQ(job.check(piece.pvo, piece.length).value(),
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

	EXPECT_EQ(cache.get(memory.all(), std::span(room).first(1)),
		  pavo::Unexpected(std::errc::no_buffer_space));
	for (int second = 0; second < 3; second++)
		cache.tick();
	EXPECT_EQ(cache.stats().entries, 0u);
	EXPECT_EQ(job.info().value().pinned, 0u);
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
	MappingCache ticking = MappingCache::open(job, {.entries = 0,
							.segments = 0,
							.idle_limit = 1,
							.flags = 0})
				       .value();
	Memory memory(page);

	ticking.put(ticking.get(memory.all(), room).value());
	ASSERT_EQ(ticking.stats().entries, 1u);
	EXPECT_TRUE(
		common::eventually([&] { return !ticking.stats().entries; }));
	EXPECT_EQ(ticking.stats().idle, 1u);
}

TEST_F(MappingCacheTest, MakesRoomWhenTheJobHasItsLimit)
{
	Job small = Job::reserve(a, job_id + 1, job_key, 4 * page).value();
	MappingCache own = MappingCache::open(small, by_hand).value();
	Memory memory(3 * fragment);

	for (int round = 0; round < 2; round++)
		for (size_t n = 0; n < 3; n++)
			own.put(own.get(memory.part(n * fragment, 2 * page),
					room)
					.value());
	EXPECT_EQ(own.stats().evicted, 4u);
	EXPECT_EQ(small.info().value().pinned, 4 * page);
	EXPECT_EQ(own.get(memory.part(0, 5 * page), room).error_or({}).number(),
		  EDQUOT);
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
	EXPECT_EQ(job.check(old, 1).value(), pavo::PvoResult::key)
		<< "it ended";
	EXPECT_EQ(cache.stats().changed, 1u);
}

TEST_F(MappingCacheTest, UnmappedMemoryIsRefusedAndItsPvoEnds)
{
	size_t before = pinned();
	Memory memory(4 * page);
	pavo::Pvo old = look(memory.all())[0].pvo;

	memory.unmap();
	EXPECT_EQ(refusal_of(memory.all()), EFAULT);
	EXPECT_EQ(job.check(old, 1).value(), pavo::PvoResult::key);
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
	EXPECT_EQ(job.check(old, 1).value(), pavo::PvoResult::key);
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(cache.stats().changed, 1u);
}

TEST_F(MappingCacheTest, WhatIsInUseSurvivesItsReplacement)
{
	Memory memory(4 * page);
	std::array<MappingPiece, 2> held{};
	std::span<MappingPiece> pieces = cache.get(memory.all(), held).value();
	pavo::Pvo old = held[0].pvo;

	memory.replace();
	EXPECT_NE(look(memory.all())[0].pvo, old);
	EXPECT_EQ(job.check(old, 4 * page).value(), pavo::PvoResult::ok);
	cache.put(pieces);
	EXPECT_EQ(job.check(old, 1).value(), pavo::PvoResult::key);
}

TEST_F(MappingCacheTest, AChildIsRefusedAndLeavesTheParentsAlone)
{
	Memory memory(4 * page);
	auto own = std::make_unique<MappingCache>(
		MappingCache::open(job, pavo_cache_options{}).value());
	std::span<MappingPiece> pieces = own->get(memory.all(), room).value();
	Process child([&](Process &) {
		std::array<MappingPiece, 2> none{};
		auto refused = own->get(memory.all(), none);

		own->put(pieces);
		own->tick();
		pavo_cache_stats stats = own->stats();
		own.reset();
		return refused.error().number() == ECHILD &&
		       stats.entries == 0 && stats.misses == 0;
	});

	EXPECT_TRUE(child.good());
	EXPECT_EQ(job.check(pieces[0].pvo, 4 * page).value(),
		  pavo::PvoResult::ok);
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
	EXPECT_EQ(job.info().value().mappings, 1u);
	/* A mapping in use stays. */
	std::array<MappingPiece, 2> held{};
	std::span<MappingPiece> pieces =
		cache.get(memory.part(0, page), held).value();
	EXPECT_EQ(refusal_of(memory.part(fragment, page)), EAGAIN);
	cache.put(pieces);
	EXPECT_EQ(refusal_of(memory.part(fragment, page)), 0);
}

TEST_F(MappingCacheTest, RefusesWhatCannotBe)
{
	EXPECT_EQ(MappingCache::open(job, {.entries = 65537,
					   .segments = 0,
					   .idle_limit = 0,
					   .flags = 0}),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(MappingCache::open(job, {.entries = 0,
					   .segments = 0,
					   .idle_limit = 0,
					   .flags = 4}),
		  pavo::Unexpected(std::errc::invalid_argument));
}

} // namespace
