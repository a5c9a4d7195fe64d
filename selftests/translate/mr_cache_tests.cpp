// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mr_cache_tests.cpp - memory regions that are kept after use: no memory is taken for
 * what it was.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include <pavo/mr_cache.h>

#include "../common/pattern.h"
#include "allocations.h"
#include "domain.h"
#include "loop.h"
#include "world.h"

using namespace world;

namespace {

/*
 * Every test fills memory, has the adapter read it by keys of the cache, and looks
 * for what the process sees there: whatever happened to the memory before.
 */
struct MrCacheTest : testing::Test {
	MrCacheTest() : cache(make()) {}
	~MrCacheTest() { pavo_mr_cache_destroy(cache); }

	pavo_mr_cache *make(int access = IBV_ACCESS_LOCAL_WRITE)
	{
		pavo_mr_cache *made =
			pavo_mr_cache_create(loop.pd(), access, &by_hand);

		if (!made)
			throw std::system_error(errno, std::generic_category());
		return made;
	}

	/* The adapter reads the same bytes there as the process does. */
	testing::AssertionResult same(std::span<std::byte> part,
				      pavo_mr_cache *other = nullptr)
	{
		pavo_mr_cache *from = other ? other : cache;
		std::array<pavo_mr_piece, 4> pieces;
		int n = pavo_mr_cache_get(from, part.data(), part.size(),
					  pieces.data(), pieces.size());

		if (n < 0)
			return testing::AssertionFailure() << strerror(-n);
		std::vector<std::byte> seen =
			loop.read({pieces.data(), size_t(n)});
		pavo_mr_cache_put(from, pieces.data(), n);
		for (size_t i = 0; i < part.size(); i++)
			if (i >= seen.size() || seen[i] != part[i])
				return testing::AssertionFailure()
				       << "byte " << i << " of " << part.size();
		return testing::AssertionSuccess();
	}

	/* The piece that is kept of a buffer in one fragment, after its use. */
	pavo_mr_piece kept(std::span<std::byte> part)
	{
		pavo_mr_piece piece{};

		EXPECT_EQ(pavo_mr_cache_get(cache, part.data(), part.size(),
					    &piece, 1),
			  1);
		pavo_mr_cache_put(cache, &piece, 1);
		return piece;
	}

	pavo_cache_stats stats()
	{
		pavo_cache_stats now;

		pavo_mr_cache_query(cache, &now);
		return now;
	}

	Loop loop{"PAVO_DEV"};
	pavo_mr_cache *cache;
};

TEST_F(MrCacheTest, CarriesDataAndIsFoundAgain)
{
	Memory memory(8 * page);

	common::fill(memory.all(), 1);
	EXPECT_TRUE(same(memory.part(3, 6 * page)));
	common::fill(memory.all(), 2);
	EXPECT_TRUE(same(memory.part(3, 6 * page)));
	EXPECT_EQ(stats().misses, 1u);
}

TEST_F(MrCacheTest, SeveralFragments)
{
	Memory memory(2 * fragment);
	auto at = reinterpret_cast<uintptr_t>(memory.at());
	size_t border = fragment - at % fragment;
	std::span<std::byte> part = memory.part(border - 5000, 10000);

	common::fill(part, 3);
	EXPECT_TRUE(same(part));
	EXPECT_EQ(stats().entries, 2u);
}

TEST_F(MrCacheTest, Replaced)
{
	Memory memory(4 * page);

	common::fill(memory.all(), 4);
	EXPECT_TRUE(same(memory.all()));
	memory.replace();
	common::fill(memory.all(), 5);
	EXPECT_TRUE(same(memory.all()));
	EXPECT_EQ(stats().changed, 1u);
}

TEST_F(MrCacheTest, OnePageReplacedInTheMiddle)
{
	Memory memory(8 * page);

	common::fill(memory.all(), 6);
	EXPECT_TRUE(same(memory.all()));
	ASSERT_NE(mmap(memory.at() + 3 * page, page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		  MAP_FAILED);
	common::fill(memory.part(3 * page, page), 7);
	EXPECT_TRUE(same(memory.all()));
}

TEST_F(MrCacheTest, UnmappedMemoryIsRefusedAndItsKeyEnds)
{
	size_t before = pinned();
	Memory memory(4 * page);
	pavo_mr_piece old = kept(memory.all()), none{};

	memory.unmap();
	EXPECT_EQ(pavo_mr_cache_get(cache, memory.at(), page, &none, 1),
		  -EFAULT);
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(stats().entries, 0u);
	EXPECT_THROW(loop.read({&old, 1}), std::runtime_error) << "its key";
}

TEST_F(MrCacheTest, ATickEndsWhatWasUnmapped)
{
	size_t before = pinned();
	Memory memory(4 * page);
	pavo_mr_piece old = kept(memory.all());

	memory.unmap();
	EXPECT_EQ(pinned(), before + 4) << "the cache has not looked yet";
	pavo_mr_cache_tick(cache);
	EXPECT_EQ(pinned(), before);
	EXPECT_EQ(stats().changed, 1u);
	EXPECT_THROW(loop.read({&old, 1}), std::runtime_error) << "its key";
}

/* The case that sources.md#windows-lazy names. */
TEST_F(MrCacheTest, SharedMemoryDetachedAndAnotherAttached)
{
	int first = shmget(IPC_PRIVATE, 4 * page, 0600);
	int second = shmget(IPC_PRIVATE, 4 * page, 0600);
	ASSERT_TRUE(first >= 0 && second >= 0);
	void *at = shmat(first, nullptr, 0);
	std::span part(static_cast<std::byte *>(at), 4 * page);

	common::fill(part, 8);
	EXPECT_TRUE(same(part));
	ASSERT_EQ(shmdt(at), 0);
	ASSERT_EQ(shmat(second, at, 0), at);
	common::fill(part, 9);
	EXPECT_TRUE(same(part));
	shmdt(at);
	shmctl(first, IPC_RMID, nullptr);
	shmctl(second, IPC_RMID, nullptr);
}

TEST_F(MrCacheTest, Moved)
{
	Memory memory(4 * page), other(4 * page);

	common::fill(memory.all(), 10);
	common::fill(other.all(), 11);
	EXPECT_TRUE(same(memory.all()));
	EXPECT_TRUE(same(other.all()));
	ASSERT_EQ(mremap(other.at(), 4 * page, 4 * page,
			 MREMAP_MAYMOVE | MREMAP_FIXED, memory.at()),
		  memory.at());
	EXPECT_TRUE(same(memory.all()));
}

TEST_F(MrCacheTest, GivenBackByMadvise)
{
	Memory memory(4 * page);

	common::fill(memory.all(), 12);
	EXPECT_TRUE(same(memory.all()));
	ASSERT_EQ(madvise(memory.at() + page, page, MADV_DONTNEED), 0);
	EXPECT_TRUE(same(memory.all()));
	EXPECT_EQ(memory.at()[page], std::byte(0));
}

TEST_F(MrCacheTest, AFileCutAndMadeLongerAgain)
{
	int fd = memfd_create("cache", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fd, 4 * page), 0);
	Memory memory(fd, 4 * page);

	common::fill(memory.all(), 13);
	EXPECT_TRUE(same(memory.all()));
	ASSERT_EQ(ftruncate(fd, page), 0);
	ASSERT_EQ(ftruncate(fd, 4 * page), 0);
	common::fill(memory.part(2 * page, page), 14);
	EXPECT_TRUE(same(memory.all()));
	close(fd);
}

TEST_F(MrCacheTest, APrivateCopyOfAFile)
{
	int fd = memfd_create("cache", MFD_CLOEXEC);
	ASSERT_EQ(ftruncate(fd, 4 * page), 0);
	void *at = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			fd, 0);
	ASSERT_NE(at, MAP_FAILED);
	std::span part(static_cast<std::byte *>(at), 4 * page);

	pavo_mr_cache *reading = make(0);

	/* Read only so far: the pages are the file's until they are written to. */
	EXPECT_TRUE(same(part, reading));
	common::fill(part.first(2 * page), 15);
	EXPECT_TRUE(same(part, reading));
	EXPECT_TRUE(same(part));
	common::fill(part, 20);
	EXPECT_TRUE(same(part, reading));
	EXPECT_TRUE(same(part));
	pavo_mr_cache_destroy(reading);
	munmap(at, 4 * page);
	close(fd);
}

TEST_F(MrCacheTest, MarkedCopyOnWriteByFork)
{
	Memory memory(8 * page);

	common::fill(memory.all(), 16);
	EXPECT_TRUE(same(memory.all()));
	Process child([&](Process &self) {
		self.meet();
		/* Its own copy, and no longer the parent's. */
		common::fill(memory.all(), 17);
		self.meet();
		return true;
	});
	common::fill(memory.part(0, 4 * page), 18);
	EXPECT_TRUE(same(memory.all()));
	child.meet();
	child.meet();
	EXPECT_TRUE(same(memory.all()));
	common::fill(memory.all(), 19);
	EXPECT_TRUE(same(memory.all()));
	EXPECT_TRUE(child.good());
	EXPECT_TRUE(same(memory.all()));
	EXPECT_GE(stats().changed, 1u) << "the kernel told of the fork";
}

TEST_F(MrCacheTest, RemoteRightsOpenNothingThatWasNotAskedFor)
{
	pavo_mr_cache *open =
		make(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	Memory memory(16 * page);
	pavo_cache_stats now;
	pavo_mr_piece piece;

	for (size_t n : {0, 8}) {
		ASSERT_EQ(pavo_mr_cache_get(open, memory.at() + n * page, page,
					    &piece, 1),
			  1);
		pavo_mr_cache_put(open, &piece, 1);
	}
	pavo_mr_cache_query(open, &now);
	EXPECT_EQ(now.bytes, 2 * page);
	pavo_mr_cache_destroy(open);
}

/* As pavo/cache.h says: a peer with the key of one has that of the other. */
TEST_F(MrCacheTest, BuffersThatTouchHaveOneKey)
{
	pavo_mr_cache *open =
		make(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	Memory memory(4 * page);
	auto key = [&](size_t n) {
		pavo_mr_piece piece{};

		EXPECT_EQ(pavo_mr_cache_get(open, memory.at() + n * page, page,
					    &piece, 1),
			  1);
		pavo_mr_cache_put(open, &piece, 1);
		return piece.rkey;
	};

	uint32_t first = key(0), apart = key(3), second = key(1);
	EXPECT_NE(first, second);
	EXPECT_EQ(key(0), second);
	EXPECT_EQ(key(3), apart);
	EXPECT_NE(apart, second);
	pavo_mr_cache_destroy(open);
}

TEST_F(MrCacheTest, AHitAllocatesNothing)
{
	Memory memory(4 * page);
	pavo_mr_piece pieces[2];
	int n = pavo_mr_cache_get(cache, memory.at(), 3 * page, pieces, 2);
	ASSERT_GT(n, 0);
	pavo_mr_cache_put(cache, pieces, n);
	size_t before = allocations();

	for (int i = 0; i < 1000; i++) {
		n = pavo_mr_cache_get(cache, memory.at() + i, 2 * page, pieces,
				      2);
		ASSERT_EQ(n, 1);
		pavo_mr_cache_put(cache, pieces, n);
	}
	EXPECT_EQ(allocations(), before);
	EXPECT_EQ(stats().misses, 1u);
}

/* The counting that the test above relies on. */
TEST(Allocations, AreCountedInWhateverWay)
{
	void *volatile some = nullptr;
	auto counted = [&](auto &&get) {
		size_t before = allocations();

		some = get();
		free(some);
		return allocations() - before;
	};
	auto by_new = [&](auto... how) {
		size_t before = allocations();

		some = ::operator new(100, how...);
		::operator delete(some, how...);
		return allocations() - before;
	};

	EXPECT_EQ(counted([] { return malloc(100); }), 1u);
	EXPECT_EQ(counted([] { return calloc(10, 10); }), 1u);
	EXPECT_EQ(counted([] { return realloc(nullptr, 100); }), 1u);
	EXPECT_EQ(counted([] { return aligned_alloc(64, 128); }), 1u);
	EXPECT_EQ(counted([] {
			  void *at = nullptr;

			  return posix_memalign(&at, 64, 100) ? nullptr : at;
		  }),
		  1u);
	EXPECT_EQ(by_new(), 1u);
	EXPECT_EQ(by_new(std::nothrow), 1u);
	EXPECT_EQ(by_new(std::align_val_t(64)), 1u);
}

TEST_F(MrCacheTest, RoomIsMadeWithinTheLimitOfLockedMemory)
{
	Process child([](Process &) {
		become_user(8 * page);
		Loop own("PAVO_DEV");
		size_t other = pinned();
		pavo_mr_cache *cache = pavo_mr_cache_create(
			own.pd(), IBV_ACCESS_LOCAL_WRITE, &by_hand);
		Memory memory(4 * fragment);
		pavo_cache_stats now;
		pavo_mr_piece piece;

		for (size_t n = 0; n < 4; n++) {
			if (pavo_mr_cache_get(cache, memory.at() + n * fragment,
					      3 * page, &piece, 1) != 1)
				return false;
			pavo_mr_cache_put(cache, &piece, 1);
		}
		pavo_mr_cache_query(cache, &now);
		return now.evicted >= 2 && pinned() <= 8 &&
		       pinned() == other + now.bytes / page;
	});

	EXPECT_TRUE(child.good());
}

/* Run by guest.sh in a cgroup with three objects: a domain, a watch, and one region. */
TEST(MrCache, DISABLED_MakesRoomWithinTheLimitOfTheCgroup)
{
	Domain pd("PAVO_DEV");
	pavo_mr_cache *cache =
		pavo_mr_cache_create(pd, IBV_ACCESS_LOCAL_WRITE, &by_hand);
	ASSERT_TRUE(cache);
	Memory memory(3 * fragment);
	pavo_mr_piece piece, other;
	pavo_cache_stats now;
	auto get = [&](size_t n, pavo_mr_piece &made) {
		return pavo_mr_cache_get(cache, memory.at() + n * fragment,
					 page, &made, 1);
	};

	for (size_t n = 0; n < 3; n++) {
		ASSERT_EQ(get(n, piece), 1);
		pavo_mr_cache_put(cache, &piece, 1);
	}
	pavo_mr_cache_query(cache, &now);
	EXPECT_EQ(now.evicted, 2u);
	EXPECT_EQ(now.entries, 1u);
	/* A region in use stays. */
	ASSERT_EQ(get(0, piece), 1);
	EXPECT_EQ(get(1, other), -EAGAIN);
	pavo_mr_cache_put(cache, &piece, 1);
	pavo_mr_cache_destroy(cache);
}

/* Threads that change their own memory all the time see their own data. */
TEST_F(MrCacheTest, ThreadsThatReplaceTheirMemory)
{
	constexpr int threads = 3, rounds = 40;
	std::atomic<int> wrong = 0;
	std::vector<std::thread> all;

	for (int t = 0; t < threads; t++)
		all.emplace_back([&, t] {
			Loop own(&loop);
			Memory memory(4 * page);

			for (int n = 0; n < rounds; n++) {
				std::array<pavo_mr_piece, 2> pieces;

				common::fill(memory.all(), n * threads + t);
				int got = pavo_mr_cache_get(cache, memory.at(),
							    4 * page,
							    pieces.data(),
							    pieces.size());
				if (got < 1) {
					wrong++;
					continue;
				}
				std::vector<std::byte> seen =
					own.read({pieces.data(), size_t(got)});
				wrong += seen.size() != 4 * page ||
					 memcmp(seen.data(), memory.at(),
						seen.size());
				pavo_mr_cache_put(cache, pieces.data(), got);
				memory.replace();
			}
		});
	for (std::thread &thread : all)
		thread.join();
	EXPECT_EQ(wrong, 0);
	/* Neighbours may share a registration, and each round changes one. */
	EXPECT_GE(stats().changed, uint64_t(rounds - 1));
}

} // namespace
