// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * key_slot_test.cpp - words of the remote key memory: alone, and with an invalidator
 * and a responder at them at the same time. Names and numbers of the cases:
 * sources.md#keys-timing, figures 13 to 17.
 */
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

extern "C" {
#include "memory/key_slot.h"
}

namespace {

constexpr unsigned vis = 256, slots_of_vi = 4;

using Vi = std::array<atomic64_t, slots_of_vi>;

struct Memory {
	std::vector<Vi> vi{vis};
	uint32_t gen = 0;

	void begin(unsigned n, unsigned slot, uint32_t key)
	{
		pavo_key_slot_begin(&vi[n][slot], gen++, key);
		pavo_key_slot_leave(&vi[n][slot]);
	}

	bool valid(unsigned n, unsigned slot) const
	{
		return atomic64_read(&vi[n][slot]) & PAVO_KEY_SLOT_VALID;
	}

	/* The walk: all slots, also after a match. Return: matches. */
	unsigned walk(uint32_t key)
	{
		unsigned matches = 0;
		u64 left;

		for (Vi &v : vi)
			for (atomic64_t &slot : v) {
				if (pavo_key_slot_revoke(&slot, key, &left))
					continue;
				matches++;
				EXPECT_TRUE(
					pavo_key_slot_is_quiet(&slot, left));
			}
		return matches;
	}
};

TEST(Slot, HasOneValidOneBusyThirtyGenerationAndThirtyTwoKeyBits)
{
	atomic64_t slot{};

	pavo_key_slot_begin(&slot, 0x3fffffff, 0xffffffff);
	EXPECT_EQ(uint64_t(atomic64_read(&slot)), ~0ull);
	pavo_key_slot_begin(&slot, 0x40000001, 0x1234567);
	EXPECT_EQ(uint64_t(atomic64_read(&slot)), 0xc000000101234567);
	pavo_key_slot_leave(&slot);
	EXPECT_EQ(uint64_t(atomic64_read(&slot)), 0x8000000101234567);
	pavo_key_slot_end(&slot);
	EXPECT_EQ(atomic64_read(&slot), 0);
}

TEST(Slot, ACopyEntersWhileTheKeyIsValid)
{
	atomic64_t slot{};
	u64 left = 0, again = 0;

	EXPECT_EQ(pavo_key_slot_enter(&slot), -EKEYREVOKED);
	pavo_key_slot_begin(&slot, 1, 7);
	pavo_key_slot_leave(&slot);
	EXPECT_EQ(pavo_key_slot_enter(&slot), 0);
	EXPECT_EQ(pavo_key_slot_revoke(&slot, 8, &left), -EALREADY);
	EXPECT_EQ(pavo_key_slot_revoke(&slot, 7, &left), 0);
	EXPECT_FALSE(pavo_key_slot_is_quiet(&slot, left)) << "it is in";
	EXPECT_EQ(pavo_key_slot_revoke(&slot, 7, &again), -EALREADY)
		<< "only once";
	EXPECT_EQ(u32(again), 7u) << "but the second caller waits, too";
	EXPECT_FALSE(pavo_key_slot_is_quiet(&slot, again));
	pavo_key_slot_leave(&slot);
	EXPECT_TRUE(pavo_key_slot_is_quiet(&slot, left));
	EXPECT_TRUE(pavo_key_slot_is_quiet(&slot, again));
	EXPECT_EQ(pavo_key_slot_enter(&slot), -EKEYREVOKED);
}

TEST(Slot, TheNextOperationIsNotTheOneThatWasEnded)
{
	atomic64_t slot{};
	u64 left = 0;

	pavo_key_slot_begin(&slot, 1, 7);
	EXPECT_EQ(pavo_key_slot_revoke(&slot, 7, &left), 0);
	pavo_key_slot_end(&slot);
	pavo_key_slot_begin(&slot, 2, 7);
	EXPECT_TRUE(pavo_key_slot_is_quiet(&slot, left)) << "that copy is over";
	pavo_key_slot_leave(&slot);
	EXPECT_EQ(pavo_key_slot_enter(&slot), 0);
}

/* Drawing 13: one PD, nothing matches. */
TEST(Walk, WithoutAMatchClearsNothing)
{
	Memory memory;

	for (unsigned n = 0; n < vis; n++)
		for (unsigned s = 0; s < slots_of_vi; s++)
			memory.begin(n, s, 1000 + n * slots_of_vi + s);
	EXPECT_EQ(memory.walk(999), 0u);
	for (unsigned n = 0; n < vis; n++)
		for (unsigned s = 0; s < slots_of_vi; s++)
			EXPECT_TRUE(memory.valid(n, s));
}

/* Drawing 16: the same key in all slots; a match does not end the walk. */
TEST(Walk, ClearsEverySlotWithTheKey)
{
	Memory memory;

	for (unsigned n = 0; n < vis; n++)
		for (unsigned s = 0; s < slots_of_vi; s++)
			memory.begin(n, s, n % 16 ? 1 : 2);
	EXPECT_EQ(memory.walk(2), 16 * slots_of_vi);
	for (unsigned n = 0; n < vis; n++)
		for (unsigned s = 0; s < slots_of_vi; s++)
			EXPECT_EQ(memory.valid(n, s), n % 16 != 0);
	EXPECT_EQ(memory.walk(2), 0u) << "it restarts at the first";
}

TEST(Walk, ASlotThatIsNotValidDoesNotMatch)
{
	Memory memory;

	memory.begin(0, 0, 5);
	pavo_key_slot_end(&memory.vi[0][0]);
	EXPECT_EQ(memory.walk(5), 0u);
	EXPECT_EQ(memory.walk(0), 0u) << "an empty word is no key 0";
}

/*
 * Drawing 17: the responder writes its slots during the walk. No operation with
 * another key loses it, and one that began after a walk keeps it (lost update).
 */
TEST(Walk, NeverClearsANewKey)
{
	constexpr unsigned rounds = 1000000;
	atomic64_t slot{};
	std::jthread invalidator([&](std::stop_token stop) {
		u64 left;

		while (!stop.stop_requested())
			if (!pavo_key_slot_revoke(&slot, 1, &left))
				while (!pavo_key_slot_is_quiet(&slot, left))
					std::this_thread::yield();
	});

	for (uint32_t gen = 0; gen < rounds; gen++) {
		pavo_key_slot_begin(&slot, 2 * gen, 1);
		pavo_key_slot_end(&slot);
		pavo_key_slot_begin(&slot, 2 * gen + 1, 2);
		pavo_key_slot_leave(&slot);
		ASSERT_EQ(pavo_key_slot_enter(&slot), 0) << "round " << gen;
		pavo_key_slot_end(&slot);
	}
}

/*
 * The race itself, as the engine plays it: a key table with one key, a slot, and
 * memory that must not change once an invalidation is complete.
 */
TEST(Walk, AfterItNothingIsWrittenThroughTheKey)
{
	/* A round takes a microsecond, or some time slices of other threads on a busy machine. */
	constexpr unsigned rounds = 20000, least = 500;
	const auto end =
		std::chrono::steady_clock::now() + std::chrono::seconds(5);
	std::atomic<uint32_t> table{0};
	std::atomic<uint64_t> memory{0};
	atomic64_t slot{};
	std::atomic<uint64_t> writes{0};

	/* Operations of several packets, each with whatever key there is. */
	std::jthread responder([&](std::stop_token stop) {
		for (uint32_t gen = 0; !stop.stop_requested(); gen++) {
			uint32_t key = table.load(std::memory_order_relaxed);

			if (!key) {
				/* The invalidator may need this CPU. */
				std::this_thread::yield();
				continue;
			}
			pavo_key_slot_begin(&slot, gen, key);
			if (table.load(std::memory_order_relaxed) != key) {
				pavo_key_slot_end(&slot);
				continue;
			}
			memory.store(key, std::memory_order_relaxed);
			pavo_key_slot_leave(&slot);
			for (int i = 0; i < 3 && !pavo_key_slot_enter(&slot);
			     i++) {
				memory.store(key, std::memory_order_relaxed);
				writes++;
				pavo_key_slot_leave(&slot);
			}
			pavo_key_slot_end(&slot);
		}
	});

	for (uint32_t key = 1; key <= rounds; key++) {
		u64 left;

		if (key > least && std::chrono::steady_clock::now() > end)
			break;

		table.store(key, std::memory_order_release);
		/* On a busy machine each wait is a time slice of other threads. */
		if (key % 64 == 0)
			while (memory.load() != key)
				std::this_thread::yield();
		table.store(0, std::memory_order_release);
		std::atomic_thread_fence(std::memory_order_seq_cst);
		if (!pavo_key_slot_revoke(&slot, key, &left))
			while (!pavo_key_slot_is_quiet(&slot, left))
				std::this_thread::yield();
		memory.store(0);
		for (int i = 0; i < 8; i++) {
			ASSERT_EQ(memory.load(), 0u) << "key " << key;
			std::this_thread::yield();
		}
	}
	EXPECT_GT(writes.load(), 0u);
}

} // namespace
