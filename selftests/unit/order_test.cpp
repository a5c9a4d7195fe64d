// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * order_test.cpp - fragments that were seen, against a set of all; and what becomes of
 * every combination of tids.
 */
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "random.h"

extern "C" {
#include "seen.h"
#include "window/order.h"
}

namespace {

/* A fragment arrives. */
pavo_seen_verdict see(pavo_seen &seen, uint32_t fragment)
{
	pavo_seen_verdict verdict = pavo_seen_find(&seen, fragment);

	if (verdict == PAVO_SEEN_NEW)
		pavo_seen_note(&seen, fragment);
	return verdict;
}

TEST(Seen, EachOnceInAnyOrder)
{
	Random random;

	for (int round = 0; round < 20; round++) {
		pavo_seen seen{};
		std::set<uint32_t> model;
		std::deque<uint32_t> ahead;
		uint32_t next = 0, base = 0;

		for (int step = 0; step < 40000; step++) {
			/* Some of those ahead, some new, some from the past. */
			uint32_t fragment = random.coin() ?
						    next++ :
						    random.below(next + 5000);
			bool again = model.contains(fragment);
			auto verdict = see(seen, fragment);

			if (again) {
				ASSERT_EQ(verdict, PAVO_SEEN_DUPLICATE);
			} else if (fragment >= base + PAVO_SEEN_BITS) {
				ASSERT_EQ(verdict, PAVO_SEEN_FAR);
			} else {
				ASSERT_EQ(verdict, PAVO_SEEN_NEW);
				model.insert(fragment);
			}
			while (model.contains(base))
				base++;
			ASSERT_EQ(seen.base, base);
			/* Fill the oldest gap now and then. */
			if (!random.below(3) && base < next &&
			    see(seen, base) == PAVO_SEEN_NEW)
				model.insert(base);
			while (model.contains(base))
				base++;
		}
	}
}

TEST(Seen, TheEdgeOfWhatIsRemembered)
{
	pavo_seen seen{};

	EXPECT_EQ(see(seen, PAVO_SEEN_BITS), PAVO_SEEN_FAR);
	EXPECT_EQ(see(seen, PAVO_SEEN_BITS - 1), PAVO_SEEN_NEW);
	EXPECT_EQ(see(seen, ~0u), PAVO_SEEN_FAR);
	EXPECT_EQ(see(seen, 0), PAVO_SEEN_NEW);
	EXPECT_EQ(see(seen, 0), PAVO_SEEN_DUPLICATE);
	EXPECT_EQ(see(seen, PAVO_SEEN_BITS), PAVO_SEEN_NEW);
	EXPECT_EQ(see(seen, PAVO_SEEN_BITS + 1), PAVO_SEEN_FAR);
}

TEST(Seen, BackwardsAsFarAsItGoes)
{
	pavo_seen seen{};

	for (uint32_t n = PAVO_SEEN_BITS; n--;)
		ASSERT_EQ(see(seen, n), PAVO_SEEN_NEW) << n;
	EXPECT_EQ(seen.base, PAVO_SEEN_BITS);
	for (uint64_t word : seen.bits)
		EXPECT_EQ(word, 0u);
}

TEST(Tid, OfData)
{
	struct {
		pavo_attempt now;
		uint64_t tid;
		uint16_t attempts;
		pavo_tid_verdict verdict;
	} cases[] = {
		{{}, 1, 0, PAVO_TID_BEGIN},
		{{}, 0, 0, PAVO_TID_ENDED},
		{{.tid = 5, .placing = true}, 4, 0, PAVO_TID_STALE},
		{{.tid = 5, .placing = true}, 5, 0, PAVO_TID_PART},
		/* An earlier attempt at the same, or at something before. */
		{{.tid = 5, .first = 3, .placing = true}, 4, 1, PAVO_TID_PART},
		{{.tid = 5, .first = 3, .placing = true}, 3, 0, PAVO_TID_PART},
		{{.tid = 5, .first = 3, .placing = true}, 4, 0, PAVO_TID_STALE},
		{{.tid = 5, .first = 3, .placing = true}, 2, 0, PAVO_TID_STALE},
		{{.tid = 5, .first = 3}, 4, 1, PAVO_TID_STALE},
		{{.tid = 5, .placing = true}, 6, 0, PAVO_TID_BEGIN},
		{{.tid = 5, .first = 5, .placing = true}, 6, 1, PAVO_TID_RESUME},
		{{.tid = 5, .first = 4, .placing = true}, 6, 1, PAVO_TID_BEGIN},
		{{.tid = 5, .first = 4, .placing = true}, 8, 4, PAVO_TID_RESUME},
		/* It was cancelled. */
		{{.tid = 5, .first = 5}, 6, 1, PAVO_TID_BEGIN},
		{{.tid = 5}, 5, 0, PAVO_TID_ENDED},
		{{.tid = 5, .complete = 5}, 5, 0, PAVO_TID_ENDED},
		{{.tid = 5, .complete = 5}, 6, 0, PAVO_TID_BEGIN},
		{{.tid = 5, .complete = 5}, 6, 1, PAVO_TID_REPEAT},
		{{.tid = 5, .complete = 5}, 9, 4, PAVO_TID_REPEAT},
		{{.tid = 5, .complete = 5}, 9, 3, PAVO_TID_BEGIN},
		/* An older one was complete, this one is not. */
		{{.tid = 7, .first = 7, .complete = 5, .placing = true},
		 8,
		 1,
		 PAVO_TID_RESUME},
		{{.tid = 7, .first = 7, .complete = 5, .placing = true},
		 8,
		 3,
		 PAVO_TID_REPEAT},
		/* No attempt is older than the first. */
		{{.tid = 1, .complete = 1}, 3, 3, PAVO_TID_BEGIN},
		{{.tid = 1, .complete = 1}, 3, 0xffff, PAVO_TID_BEGIN},
		{{.tid = 5, .sending = true}, 6, 0, PAVO_TID_BUSY},
		{{.tid = 5, .sending = true}, 5, 0, PAVO_TID_ENDED},
		{{.tid = ~0ull}, ~0ull, 0, PAVO_TID_ENDED},
		{{.tid = ~0ull - 1}, ~0ull, 0, PAVO_TID_BEGIN},
	};

	for (auto &c : cases)
		EXPECT_EQ(pavo_tid_check_data(&c.now, c.tid, c.attempts),
			  c.verdict)
			<< "case " << &c - cases;
}

TEST(Tid, OfRequests)
{
	pavo_attempt idle{.tid = 5}, sending{.tid = 5, .sending = true};

	for (uint64_t tid : {0, 4, 5}) {
		EXPECT_EQ(pavo_tid_check_request(&idle, tid), PAVO_TID_STALE);
		EXPECT_EQ(pavo_tid_check_request(&sending, tid),
			  PAVO_TID_STALE);
	}
	EXPECT_EQ(pavo_tid_check_request(&idle, 6), PAVO_TID_BEGIN);
	EXPECT_EQ(pavo_tid_check_request(&sending, 6), PAVO_TID_BUSY);
}

TEST(Tid, OfPieces)
{
	struct {
		pavo_attempt now;
		uint64_t tid;
		pavo_tid_verdict verdict;
	} cases[] = {
		{{}, 1, PAVO_TID_BEGIN},
		{{}, 0, PAVO_TID_ENDED},
		{{.tid = 5, .feeding = true}, 4, PAVO_TID_STALE},
		{{.tid = 5, .feeding = true}, 5, PAVO_TID_PART},
		{{.tid = 5, .feeding = true}, 6, PAVO_TID_BEGIN},
		/* It was cancelled, or something else. */
		{{.tid = 5}, 5, PAVO_TID_ENDED},
		{{.tid = 5, .placing = true}, 5, PAVO_TID_ENDED},
		{{.tid = 5, .placing = true}, 6, PAVO_TID_BEGIN},
		{{.tid = 5, .sending = true}, 5, PAVO_TID_ENDED},
		{{.tid = 5, .sending = true}, 6, PAVO_TID_BUSY},
		{{.tid = ~0ull}, ~0ull, PAVO_TID_ENDED},
	};

	for (auto &c : cases)
		EXPECT_EQ(pavo_tid_check_piece(&c.now, c.tid), c.verdict)
			<< "case " << &c - cases;
}

TEST(Tid, OfEnds)
{
	pavo_attempt now{.tid = 5, .first = 4};

	EXPECT_TRUE(pavo_tid_ends(&now, 5, 0));
	EXPECT_TRUE(pavo_tid_ends(&now, 5, 1));
	/* Of another attempt at the same operation: only of a higher one. */
	EXPECT_FALSE(pavo_tid_ends(&now, 4, 0));
	EXPECT_TRUE(pavo_tid_ends(&now, 6, 2));
	EXPECT_TRUE(pavo_tid_ends(&now, 1000, 996));
	/* Of another operation. */
	EXPECT_FALSE(pavo_tid_ends(&now, 4, 1));
	EXPECT_FALSE(pavo_tid_ends(&now, 6, 0));
	EXPECT_FALSE(pavo_tid_ends(&now, 6, 1));
	EXPECT_FALSE(pavo_tid_ends(&now, 6, 3));
	EXPECT_FALSE(pavo_tid_ends(&now, 6, 0xffff));
	now = {};
	for (uint16_t attempts = 0; attempts < 20; attempts++)
		EXPECT_FALSE(pavo_tid_ends(&now, 9, attempts)) << attempts;
}

TEST(Tid, OfRepeats)
{
	pavo_attempt now{.tid = 8, .complete = 5};

	EXPECT_TRUE(pavo_tid_repeats(&now, 9, 4));
	EXPECT_FALSE(pavo_tid_repeats(&now, 9, 3));
	/* A first attempt is none at anything before. */
	EXPECT_FALSE(pavo_tid_repeats(&now, 9, 0));
	now.complete = ~0ull;
	EXPECT_FALSE(pavo_tid_repeats(&now, 9, 0));
	now.complete = 0;
	for (uint16_t attempts = 0; attempts < 20; attempts++)
		EXPECT_FALSE(pavo_tid_repeats(&now, 9, attempts)) << attempts;
}

} // namespace
