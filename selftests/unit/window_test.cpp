// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* window_test.cpp - what may be in flight: losses and acknowledgments in. */
#include <gtest/gtest.h>

#include <algorithm>

#include "random.h"

extern "C" {
#include "requester/window_logic.h"
}

namespace {

pavo_window window()
{
	pavo_window w = {0xa5a5a5a5, 0xa5a5a5a5};

	pavo_window_init(&w);
	return w;
}

TEST(Window, BeginsWideAndAdmitsUpToThat)
{
	pavo_window w = window();

	EXPECT_TRUE(pavo_window_admits(&w, 0, 1));
	EXPECT_TRUE(pavo_window_admits(&w, PAVO_WINDOW - 1, 1));
	EXPECT_FALSE(pavo_window_admits(&w, PAVO_WINDOW, 1));
	EXPECT_TRUE(pavo_window_admits(&w, PAVO_WINDOW - 32, 32));
	EXPECT_FALSE(pavo_window_admits(&w, PAVO_WINDOW - 31, 32));
}

/* Or a request that stands for more than the window would wait for ever. */
TEST(Window, AlwaysAdmitsWhenNothingIsInFlight)
{
	pavo_window w = window();

	EXPECT_TRUE(pavo_window_admits(&w, 0, 10 * PAVO_WINDOW));
}

TEST(Window, LossHalvesDownToTheLeast)
{
	pavo_window w = window();

	pavo_window_lost(&w);
	EXPECT_EQ(w.size, PAVO_WINDOW / 2u);
	for (int i = 0; i < 40; i++)
		pavo_window_lost(&w);
	EXPECT_EQ(w.size, PAVO_WINDOW_LEAST + 0u);
	EXPECT_FALSE(pavo_window_admits(&w, PAVO_WINDOW_LEAST, 1));
}

TEST(Window, GrowsOnceForEveryWindowThatCameThrough)
{
	pavo_window w = window();

	pavo_window_lost(&w);
	pavo_window_acked(&w, 63);
	EXPECT_EQ(w.size, 64u);
	pavo_window_acked(&w, 1);
	EXPECT_EQ(w.size, 64u + PAVO_WINDOW_STEP);
	pavo_window_acked(&w, 67);
	EXPECT_EQ(w.size, 64u + PAVO_WINDOW_STEP);
	pavo_window_acked(&w, 1);
	EXPECT_EQ(w.size, 64u + 2 * PAVO_WINDOW_STEP);
}

TEST(Window, LossTakesWhatWasCountedTowardsGrowth)
{
	pavo_window w = window();

	pavo_window_lost(&w);
	pavo_window_acked(&w, 63);
	pavo_window_lost(&w);
	pavo_window_acked(&w, 31);
	EXPECT_EQ(w.size, 32u);
}

TEST(Window, StaysBetweenItsBoundsAndIsWideAgainInTheEnd)
{
	Random random;
	pavo_window w = window();

	for (int i = 0; i < 100000; i++) {
		if (random.below(20) == 0)
			pavo_window_lost(&w);
		else
			pavo_window_acked(&w, 1 + random.below(w.size));
		ASSERT_GE(w.size, PAVO_WINDOW_LEAST + 0u);
		ASSERT_LE(w.size, PAVO_WINDOW + 0u);
		ASSERT_GE(pavo_window_ask(&w), 1u);
		ASSERT_LT(pavo_window_ask(&w), w.size);
	}
	for (int i = 0; i < PAVO_WINDOW / PAVO_WINDOW_STEP; i++)
		pavo_window_acked(&w, PAVO_WINDOW);
	EXPECT_EQ(w.size, PAVO_WINDOW + 0u);
}

} // namespace
