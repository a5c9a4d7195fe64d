// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cache_test.cpp - lazy deregistration without a kernel: what the cache of libpavo
 * keeps, gives and ends, against memory that is made up.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "fragment_cache.hpp"
#include "fragment_map.hpp"
#include "random.h"

using pavo::FragmentMap;
using pavo::Range;

namespace {

constexpr size_t page = 4096;
constexpr size_t fragment = PAVO_CACHE_FRAGMENT;
constexpr uint64_t segment = 1ull << 32;

/* Pages that are there, each in some version, and a limit of registered ones. */
class FakeMemory {
public:
	struct Registration {
		uint64_t id;
	};

	int enter(uint32_t entry, Range range, Registration &made) noexcept
	{
		int err = note(entry, range, made);

		if (!err && entered)
			entered();
		return err;
	}

	int note(uint32_t entry, Range range, Registration &made)
	{
		std::lock_guard lock(mutex);

		EXPECT_FALSE(entries.contains(entry)) << "entered twice";
		EXPECT_EQ(range.start % page, 0u);
		EXPECT_EQ(range.end % page, 0u);
		EXPECT_LT(range.start, range.end);
		EXPECT_EQ(range.start / fragment, (range.end - 1) / fragment);
		calls++;
		for (uintptr_t at = range.start; at < range.end; at += page)
			if (absent.contains(at))
				return EFAULT;
		if (registered + range.length() > limit)
			return refusal;
		registered += range.length();
		made.id = next++;
		entries[entry] = {range, made.id, false};
		return 0;
	}

	void leave(uint32_t entry, const Registration &made) noexcept
	{
		/* A caller that gets it now must not get it. */
		std::this_thread::yield();
		std::lock_guard lock(mutex);

		ASSERT_TRUE(entries.contains(entry)) << "left twice";
		EXPECT_EQ(entries[entry].id, made.id);
		EXPECT_FALSE(in_use.contains(made.id)) << "left while in use";
		registered -= entries[entry].range.length();
		entries.erase(entry);
	}

	bool changed(uint32_t entry) noexcept
	{
		std::lock_guard lock(mutex);
		auto found = entries.find(entry);

		return found == entries.end() || found->second.changed;
	}

	/* The kernel's part when [@from, @from + @length) is not the memory that it was. */
	void change(uintptr_t from, size_t length)
	{
		std::lock_guard lock(mutex);

		for (auto &[number, entry] : entries)
			if (entry.range.start < from + length &&
			    from < entry.range.end)
				entry.changed = true;
	}

	struct Known {
		Range range;
		uint64_t id;
		bool changed;
	};

	/* Called when memory is registered and watched, and not yet in the cache. */
	std::function<void()> entered;
	std::recursive_mutex mutex;
	std::map<uint32_t, Known> entries;
	std::set<uintptr_t> absent;
	std::multiset<uint64_t> in_use;
	size_t registered = 0;
	size_t limit = SIZE_MAX;
	int refusal = ENOMEM; /* of what is more than that */
	uint64_t next = 1;
	uint64_t calls = 0;
};

using Cache = pavo::FragmentCache<FakeMemory>;

pavo_cache_options options(uint32_t entries, uint32_t flags = 0)
{
	return {.entries = entries,
		.segments = 4,
		.idle_limit = 3,
		.flags = flags};
}

/* An entry that is in use until it goes out of scope. */
class Use {
public:
	Use(Cache &cache, uintptr_t start, size_t length) : cache_(cache)
	{
		int64_t got = cache.get({start, start + length});

		error = got < 0 ? int(-got) : 0;
		entry = got < 0 ? 0 : uint32_t(got);
	}
	~Use()
	{
		if (!error)
			cache_.put(entry);
	}
	Use(const Use &) = delete;

	uint64_t id() const { return cache_.entry(entry).registration.id; }
	Range range() const { return cache_.entry(entry).range; }

	int error;
	uint32_t entry = 0;

private:
	Cache &cache_;
};

struct LazyCache : testing::Test {
	static constexpr uintptr_t at = 5 * segment + 7 * fragment;

	FakeMemory memory;
	Cache cache{memory, options(8)};
	Cache exact{memory, options(8, PAVO_CACHE_EXACT)};
};

TEST_F(LazyCache, FindsWhatItHas)
{
	uint64_t first = Use(cache, at + 100, 2 * page).id();
	Use again(cache, at + page, page + 50);

	EXPECT_EQ(again.id(), first);
	EXPECT_EQ(again.range().start, at);
	EXPECT_EQ(again.range().end, at + 3 * page);
	EXPECT_EQ(cache.stats().misses, 1u);
	EXPECT_EQ(cache.stats().bytes, 3 * page);
}

TEST_F(LazyCache, KeepsFragmentsAndSegmentsApart)
{
	Use one(cache, at, page), two(cache, at + fragment, page);
	Use three(cache, at + segment, page);

	EXPECT_NE(one.id(), two.id());
	EXPECT_NE(one.id(), three.id());
	EXPECT_EQ(Use(cache, at, page).id(), one.id());
	EXPECT_EQ(Use(cache, at + fragment, page).id(), two.id());
	EXPECT_EQ(Use(cache, at + segment, page).id(), three.id());
}

TEST_F(LazyCache, ChangedMemoryIsRegisteredAnew)
{
	uint64_t first = Use(cache, at, 4 * page).id();

	memory.change(at + 3 * page, page);
	Use again(cache, at, page);
	EXPECT_NE(again.id(), first);
	EXPECT_EQ(again.range().end, at + page) << "only the requested range";
	EXPECT_EQ(cache.stats().changed, 1u);
	EXPECT_EQ(cache.stats().entries, 1u);
}

TEST_F(LazyCache, ChangedMemoryInUseStaysUntilItsEnd)
{
	{
		Use first(cache, at, page);

		memory.change(at, 1);
		Use second(cache, at, page);
		EXPECT_NE(first.id(), second.id());
		EXPECT_EQ(memory.entries.size(), 2u);
		EXPECT_EQ(Use(cache, at, page).id(), second.id());
	}
	EXPECT_EQ(memory.entries.size(), 1u);
}

TEST_F(LazyCache, AWalkThroughAFragmentCostsFewRegistrations)
{
	for (size_t done = 0; done < fragment; done += page)
		ASSERT_EQ(Use(cache, at + done, page).error, 0);
	EXPECT_LE(memory.calls, 14u);
	EXPECT_EQ(cache.stats().entries, 1u);
	EXPECT_EQ(cache.stats().bytes, fragment);

	for (size_t to = 2 * fragment; to > fragment; to -= page)
		ASSERT_EQ(Use(cache, at + to - page, page).error, 0);
	EXPECT_LE(memory.calls, 28u);
	EXPECT_EQ(cache.stats().entries, 2u);
	EXPECT_EQ(cache.stats().bytes, 2 * fragment);
}

TEST_F(LazyCache, AHoleIsLeftAlone)
{
	memory.absent.insert(at + 2 * page);
	uint64_t below = Use(cache, at, page).id();
	uint64_t above = Use(cache, at + 3 * page, page).id();

	EXPECT_NE(below, above);
	EXPECT_EQ(Use(cache, at, page).id(), below);
	EXPECT_EQ(Use(cache, at + 3 * page, page).id(), above);
	EXPECT_EQ(Use(cache, at + page, 2 * page).error, EFAULT);
	EXPECT_EQ(cache.stats().failures, 1u);
	EXPECT_EQ(cache.stats().entries, 2u);
}

TEST_F(LazyCache, ExactRegistersNothingBetween)
{
	Use(exact, at, page);
	Use apart(exact, at + 2 * page, page);
	EXPECT_EQ(apart.range().start, at + 2 * page);
	EXPECT_EQ(apart.range().end, at + 3 * page);
	Use joined(exact, at + page, page);
	EXPECT_EQ(joined.range().start, at);
	EXPECT_EQ(joined.range().end, at + 3 * page);
	Use alone(exact, at + 9 * page, page);
	EXPECT_EQ(alone.range().start, at + 9 * page);
}

TEST_F(LazyCache, AFragmentHasFourAtMost)
{
	for (size_t n = 0; n < 6; n++)
		Use(exact, at + 2 * n * page, page);
	EXPECT_EQ(exact.stats().entries, 4u);
	EXPECT_EQ(exact.stats().evicted, 2u);
}

TEST_F(LazyCache, TheLeastRecentlyUsedGoes)
{
	memory.limit = 3 * page;
	std::vector<uint64_t> ids;
	for (size_t n = 0; n < 3; n++)
		ids.push_back(Use(cache, at + n * fragment, page).id());
	EXPECT_EQ(Use(cache, at, page).id(), ids[0]);
	EXPECT_EQ(Use(cache, at + 3 * fragment, page).error, 0);
	EXPECT_EQ(cache.stats().evicted, 1u);
	EXPECT_EQ(Use(cache, at, page).id(), ids[0]);
	EXPECT_EQ(Use(cache, at + 2 * fragment, page).id(), ids[2]);
	EXPECT_NE(Use(cache, at + fragment, page).id(), ids[1]);
}

/* Whatever the limit that was exceeded: entries are evicted until none is left. */
TEST_F(LazyCache, RoomIsMadeWithinAnyLimit)
{
	for (int refusal : {ENOMEM, EDQUOT, ENOSPC, EAGAIN, ENOBUFS}) {
		FakeMemory few;
		Cache own(few, options(8));

		few.limit = 2 * page;
		few.refusal = refusal;
		for (size_t n = 0; n < 4; n++)
			EXPECT_EQ(Use(own, at + n * fragment, page).error, 0)
				<< refusal;
		EXPECT_EQ(own.stats().evicted, 2u) << refusal;
		EXPECT_EQ(Use(own, at, 3 * page).error, refusal);
		EXPECT_EQ(own.stats().entries, 0u) << refusal;
	}
	memory.limit = page;
	memory.refusal = EFAULT;
	uint64_t id = Use(cache, at, page).id();
	EXPECT_EQ(Use(cache, at + fragment, page).error, EFAULT);
	EXPECT_EQ(Use(cache, at, page).id(), id) << "no limit: nothing ends";
}

TEST_F(LazyCache, WhatIsInUseStays)
{
	memory.limit = 2 * page;
	Use one(cache, at, page), two(cache, at + fragment, page);

	EXPECT_EQ(Use(cache, at + 2 * fragment, page).error, ENOMEM);
	EXPECT_EQ(Use(cache, at, page).id(), one.id());
	EXPECT_EQ(Use(cache, at + fragment, page).id(), two.id());
}

TEST_F(LazyCache, AllEntriesInUse)
{
	std::vector<std::unique_ptr<Use>> uses;

	for (size_t n = 0; n < 8; n++)
		uses.push_back(
			std::make_unique<Use>(cache, at + n * fragment, page));
	EXPECT_EQ(Use(cache, at + 8 * fragment, page).error, ENOBUFS);
	uses.pop_back();
	EXPECT_EQ(Use(cache, at + 8 * fragment, page).error, 0);
}

TEST_F(LazyCache, MoreSegmentsThanItHas)
{
	for (size_t round = 0; round < 3; round++)
		for (size_t n = 0; n < 7; n++)
			ASSERT_EQ(Use(cache, at + n * segment, page).error, 0);
	EXPECT_EQ(cache.stats().entries, 4u);
}

TEST_F(LazyCache, IdleOnesEndAfterTheirTime)
{
	uint64_t id = Use(cache, at, page).id();
	{
		Use held(cache, at + fragment, page);

		for (int second = 0; second < 2; second++)
			cache.tick();
		EXPECT_EQ(Use(cache, at, page).id(), id) << "used: anew";
		for (int second = 0; second < 3; second++)
			cache.tick();
		EXPECT_EQ(cache.stats().entries, 2u);
		cache.tick();
		EXPECT_EQ(cache.stats().idle, 1u);
		EXPECT_EQ(memory.entries.size(), 1u) << "in use: not idle";
	}
	for (int second = 0; second < 4; second++)
		cache.tick();
	EXPECT_EQ(memory.entries.size(), 0u);
}

TEST_F(LazyCache, ASecondEndsWhatChanged)
{
	Use(cache, at, page);
	memory.change(at, page);
	cache.tick();
	EXPECT_EQ(memory.entries.size(), 0u);
	EXPECT_EQ(cache.stats().changed, 1u);
}

/*
 * An entry is found as soon as its place is used again, and still says what it was:
 * a thread that hits it then must see that it is gone, since the kernel watches already.
 */
TEST_F(LazyCache, WhatIsGoneIsNotHitWhileItsPlaceIsTakenAgain)
{
	enum { NOT_FOUND, GONE, HIT };
	std::promise<int> looked;
	std::thread other;
	int calls = 0;

	Use(cache, at, 4 * page);
	memory.change(at, page);
	cache.tick();
	ASSERT_EQ(cache.stats().entries, 0u);
	memory.entered = [&] {
		if (calls++)
			return;
		other = std::thread([&] {
			Range gone = {at + 2 * page, at + 3 * page};
			uint32_t entry;
			bool hit = cache.get_quickly(gone, entry);

			bool found = entry != Cache::none;
			looked.set_value(hit ? HIT : found ? GONE : NOT_FOUND);
			if (found)
				cache.put(entry);
		});
		EXPECT_EQ(looked.get_future().get(), GONE);
	};
	Use now(cache, at, page);
	other.join();
	memory.entered = nullptr;
	EXPECT_EQ(calls, 1);
	EXPECT_EQ(now.range().end, at + page);
	EXPECT_EQ(Use(cache, at, page).id(), now.id());
	EXPECT_EQ(cache.stats().entries, 1u);
}

/* In any order, an entry that is returned covers the requested memory and has not changed. */
TEST_F(LazyCache, AnyOrderOfAll)
{
	Random random;
	std::vector<std::unique_ptr<Use>> uses;

	for (int n = 0; n < 200000; n++) {
		uintptr_t start = at + random.below(3) * segment +
				  random.below(3) * fragment +
				  random.below(64) * page + random.below(page);
		size_t length = 1 + random.below(8 * page);

		switch (random.below(10)) {
		case 0:
			memory.change(start, length);
			break;
		case 1:
			cache.tick();
			break;
		case 2:
			memory.limit = (1 + random.below(300)) * page;
			break;
		case 3:
			memory.absent.clear();
			for (uint64_t i = random.below(20); i--;)
				memory.absent.insert(start / page * page +
						     random.below(99) * page);
			break;
		case 4:
		case 5:
			if (!uses.empty()) {
				size_t gone = random.below(uses.size());

				memory.in_use.erase(
					memory.in_use.find(uses[gone]->id()));
				std::swap(uses[gone], uses.back());
				uses.pop_back();
			}
			break;
		default:
			auto use = std::make_unique<Use>(cache, start, length);
			if (use->error) {
				ASSERT_TRUE(use->error == EFAULT ||
					    use->error == ENOMEM ||
					    use->error == ENOBUFS);
				break;
			}
			ASSERT_TRUE(
				use->range().covers({start, start + length}));
			ASSERT_FALSE(memory.changed(use->entry));
			ASSERT_EQ(memory.entries[use->entry].id, use->id());
			memory.in_use.insert(use->id());
			uses.push_back(std::move(use));
		}
		ASSERT_LE(memory.entries.size(), 8u);
		ASSERT_EQ(cache.stats().entries, memory.entries.size());
		ASSERT_EQ(cache.stats().bytes, memory.registered);
	}
	memory.in_use.clear();
}

/* Hits take no lock: while others change, evict and end what is hit. */
TEST_F(LazyCache, ThreadsOnTheSameFragments)
{
	constexpr int threads = 4, rounds = 20000;
	std::atomic<int> wrong = 0, given = 0;
	std::vector<std::thread> all;

	memory.limit = 24 * page;
	for (int thread = 0; thread < threads; thread++)
		all.emplace_back([&, thread] {
			Random random(thread);

			for (int n = 0; n < rounds; n++) {
				uintptr_t start = at +
						  random.below(6) * fragment +
						  random.below(8) * page;
				Use use(cache, start, page);

				if (n % 64 == thread)
					memory.change(start, page);
				if (use.error)
					continue;
				given++;
				std::lock_guard lock(memory.mutex);
				auto found = memory.entries.find(use.entry);
				wrong += found == memory.entries.end() ||
					 found->second.id != use.id() ||
					 !found->second.range.covers(
						 {start, start + page});
			}
		});
	for (std::thread &thread : all)
		thread.join();
	EXPECT_EQ(wrong, 0);
	EXPECT_GT(given, threads * rounds / 2);
	EXPECT_GT(cache.stats().changed, 0u);
}

TEST(FragmentMap, AgreesWithAMap)
{
	constexpr uint32_t segments = 5;
	FragmentMap map(segments);
	std::map<uint64_t, uint32_t> model;
	Random random;

	for (int n = 0; n < 300000; n++) {
		/* Far apart and near, so that segments meet in their probing. */
		uint64_t high = random.below(2) ? random.below(16) :
						  random.below(16) << 12;
		uint64_t at = high * segment + random.below(4) * fragment;
		std::set<uint64_t> used;
		for (const auto &[key, value] : model)
			used.insert(key / segment);

		if (random.below(2)) {
			bool room = used.contains(high) ||
				    used.size() < segments;

			ASSERT_EQ(map.set(at, n), room);
			if (room)
				model[at] = n;
		} else {
			map.clear(at);
			model.erase(at);
		}
		for (const auto &[key, value] : model)
			ASSERT_EQ(map.find(key + random.below(fragment)),
				  value);
		ASSERT_EQ(map.find(at),
			  model.contains(at) ? model[at] : FragmentMap::none);
	}
}

} // namespace
