// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cwnd_test.cpp - what may be in flight: losses and acknowledgments in. */
#include <gtest/gtest.h>

#include "random.h"

extern "C" {
#include "requester/cwnd.h"
}

namespace {

pavo_cwnd window()
{
	pavo_cwnd w = {0xa5a5a5a5, 0xa5a5a5a5};

	pavo_cwnd_init(&w);
	return w;
}

TEST(Window, BeginsWideAndAdmitsUpToThat)
{
	pavo_cwnd w = window();

	EXPECT_TRUE(pavo_cwnd_admits(&w, 0, 1));
	EXPECT_TRUE(pavo_cwnd_admits(&w, PAVO_CWND - 1, 1));
	EXPECT_FALSE(pavo_cwnd_admits(&w, PAVO_CWND, 1));
	EXPECT_TRUE(pavo_cwnd_admits(&w, PAVO_CWND - 32, 32));
	EXPECT_FALSE(pavo_cwnd_admits(&w, PAVO_CWND - 31, 32));
}

/* Or a request that stands for more than the window would wait for ever. */
TEST(Window, AlwaysAdmitsWhenNothingIsInFlight)
{
	pavo_cwnd w = window();

	EXPECT_TRUE(pavo_cwnd_admits(&w, 0, 10 * PAVO_CWND));
}

TEST(Window, LossHalvesDownToTheLeast)
{
	pavo_cwnd w = window();

	pavo_cwnd_lost(&w);
	EXPECT_EQ(w.size, PAVO_CWND / 2u);
	for (int i = 0; i < 40; i++)
		pavo_cwnd_lost(&w);
	EXPECT_EQ(w.size, PAVO_CWND_LEAST + 0u);
	EXPECT_FALSE(pavo_cwnd_admits(&w, PAVO_CWND_LEAST, 1));
}

TEST(Window, GrowsOnceForEveryWindowThatCameThrough)
{
	pavo_cwnd w = window();

	pavo_cwnd_lost(&w);
	pavo_cwnd_acked(&w, 63);
	EXPECT_EQ(w.size, 64u);
	pavo_cwnd_acked(&w, 1);
	EXPECT_EQ(w.size, 64u + PAVO_CWND_STEP);
	pavo_cwnd_acked(&w, 67);
	EXPECT_EQ(w.size, 64u + PAVO_CWND_STEP);
	pavo_cwnd_acked(&w, 1);
	EXPECT_EQ(w.size, 64u + 2 * PAVO_CWND_STEP);
}

TEST(Window, LossTakesWhatWasCountedTowardsGrowth)
{
	pavo_cwnd w = window();

	pavo_cwnd_lost(&w);
	pavo_cwnd_acked(&w, 63);
	pavo_cwnd_lost(&w);
	pavo_cwnd_acked(&w, 31);
	EXPECT_EQ(w.size, 32u);
}

TEST(Window, StaysBetweenItsBoundsAndIsWideAgainInTheEnd)
{
	Random random;
	pavo_cwnd w = window();

	for (int i = 0; i < 100000; i++) {
		if (random.below(20) == 0)
			pavo_cwnd_lost(&w);
		else
			pavo_cwnd_acked(&w, 1 + random.below(w.size));
		ASSERT_GE(w.size, PAVO_CWND_LEAST + 0u);
		ASSERT_LE(w.size, PAVO_CWND + 0u);
		ASSERT_GE(pavo_cwnd_get_ack_req(&w), 1u);
		ASSERT_LT(pavo_cwnd_get_ack_req(&w), w.size);
	}
	for (int i = 0; i < PAVO_CWND / PAVO_CWND_STEP; i++)
		pavo_cwnd_acked(&w, PAVO_CWND);
	EXPECT_EQ(w.size, PAVO_CWND + 0u);
}

} // namespace
