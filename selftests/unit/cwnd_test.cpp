// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cwnd_test.cpp - what may be in flight: losses, round trips and acknowledgments in
 * (requester/cwnd.h, requester/congestion.h).
 */
#include <gtest/gtest.h>

#include "random.h"

extern "C" {
#include "requester/congestion.h"
}

namespace {

pavo_cwnd window()
{
	pavo_cwnd w;

	pavo_cwnd_init(&w);
	w.size = PAVO_CWND;
	return w;
}

/* A peer that sends no SACKs. */
void lose(pavo_cwnd &w)
{
	pavo_cc_loss.lost(&w, 1, false);
}

void acknowledge(pavo_cwnd &w, uint32_t packets)
{
	const pavo_progress what = {.packets = packets, .limited = true};

	pavo_cc_loss.acked(&w, &what);
}

/* One that does; @n times a cwnd of packets, on a path whose shortest round trip is @rtt us. */
void round_trips(pavo_cwnd &w, int n, bool delayed, bool limited = true,
		 uint32_t rtt = 100000)
{
	for (; n; n--) {
		const pavo_progress what = {.packets = w.size,
					    .rtt = rtt,
					    .mean = 2 * rtt,
					    .limited = limited,
					    .delayed = delayed};

		pavo_cc_delay.acked(&w, &what);
	}
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

	lose(w);
	EXPECT_EQ(w.size, PAVO_CWND / 2u);
	for (int i = 0; i < 40; i++)
		lose(w);
	EXPECT_EQ(w.size, PAVO_CWND_LEAST + 0u);
	EXPECT_FALSE(pavo_cwnd_admits(&w, PAVO_CWND_LEAST, 1));
}

TEST(Window, GrowsOnceForEveryWindowThatCameThrough)
{
	pavo_cwnd w = window();

	lose(w);
	acknowledge(w, 63);
	EXPECT_EQ(w.size, 64u);
	acknowledge(w, 1);
	EXPECT_EQ(w.size, 64u + PAVO_CWND_STEP);
	acknowledge(w, 67);
	EXPECT_EQ(w.size, 64u + PAVO_CWND_STEP);
	acknowledge(w, 1);
	EXPECT_EQ(w.size, 64u + 2 * PAVO_CWND_STEP);
}

TEST(Window, LossTakesWhatWasCountedTowardsGrowth)
{
	pavo_cwnd w = window();

	lose(w);
	acknowledge(w, 63);
	lose(w);
	acknowledge(w, 31);
	EXPECT_EQ(w.size, 32u);
}

TEST(Window, StaysBetweenItsBoundsAndIsWideAgainInTheEnd)
{
	Random random;
	pavo_cwnd w = window();

	for (int i = 0; i < 100000; i++) {
		if (random.below(20) == 0)
			lose(w);
		else
			acknowledge(w, 1 + random.below(w.size));
		ASSERT_GE(w.size, PAVO_CWND_LEAST + 0u);
		ASSERT_LE(w.size, PAVO_CWND + 0u);
		ASSERT_GE(pavo_cwnd_get_ack_req(&w), 1u);
		ASSERT_LT(pavo_cwnd_get_ack_req(&w), w.size);
	}
	for (int i = 0; i < PAVO_CWND / PAVO_CWND_STEP; i++)
		acknowledge(w, PAVO_CWND);
	EXPECT_EQ(w.size, PAVO_CWND + 0u);
}

/* --------------------------------------------------------------- round trips */

TEST(Delay, GrowsAsFarAsThereIsMemory)
{
	pavo_cwnd w = window();

	round_trips(w, 1, false);
	EXPECT_EQ(w.size, PAVO_CWND + 0u);
	EXPECT_TRUE(w.wanted);
	pavo_cwnd_set_most(&w, 1024);
	EXPECT_FALSE(w.wanted);
	round_trips(w, 2, false);
	EXPECT_EQ(w.size, 512u);
	w.final = true;
	round_trips(w, 2, false);
	EXPECT_EQ(w.size, 1024u);
	EXPECT_FALSE(w.wanted);
	pavo_cwnd_set_most(&w, PAVO_CWND);
	EXPECT_EQ(w.size, PAVO_CWND + 0u);
}

/* An application that sends little says nothing of the path. */
TEST(Delay, GrowsOnlyWhereItIsTheLimit)
{
	pavo_cwnd w = window();

	pavo_cwnd_set_most(&w, 4096);
	round_trips(w, 100, false, false);
	EXPECT_EQ(w.size, PAVO_CWND + 0u);
}

TEST(Delay, GrowsOnlyAsFarAsTheRoundTripNeeds)
{
	pavo_cwnd w = window();

	pavo_cwnd_set_most(&w, 4096);
	round_trips(w, 20, false, true, 0);
	round_trips(w, 20, false, true, 128);
	EXPECT_EQ(w.size, 128u);
	round_trips(w, 20, false, true, 300);
	EXPECT_EQ(w.size, 512u);
	/* Packets of 1 KiB: four in a microsecond. */
	w.rate = 4;
	round_trips(w, 20, false, true, 300);
	EXPECT_EQ(w.size, 2048u);
	/* After losses it grows back to where it began, whatever the round trip. */
	pavo_cc_delay.expired(&w);
	EXPECT_EQ(w.size, 32u);
	round_trips(w, 3, false, true, 1);
	EXPECT_EQ(w.size, 128u);
}

TEST(Delay, AQueueEndsSlowStartAndCalmBeginsItAgain)
{
	pavo_cwnd w = window();

	pavo_cwnd_set_most(&w, 4096);
	round_trips(w, 1, false);
	round_trips(w, 1, true);
	EXPECT_EQ(w.size, 256u);
	round_trips(w, 4, true);
	EXPECT_EQ(w.size, 256u + 4 * PAVO_CWND_STEP_CAUTIOUS);
	round_trips(w, 7, false);
	round_trips(w, 1, true);
	round_trips(w, 8, false);
	const uint32_t size =
		256 + 15 * PAVO_CWND_STEP + 5 * PAVO_CWND_STEP_CAUTIOUS;

	EXPECT_EQ(w.size, size);
	round_trips(w, 1, false);
	EXPECT_EQ(w.size, 2 * size);
}

TEST(Delay, ALossCountsIfAQueueHasGrown)
{
	pavo_cwnd w = window();

	pavo_cc_delay.lost(&w, 1, false);
	pavo_cc_delay.lost(&w, 16, false);
	EXPECT_EQ(w.size, 128u);
	pavo_cc_delay.lost(&w, 1, true);
	EXPECT_EQ(w.size, 89u);
	pavo_cc_delay.lost(&w, 12, false);
	EXPECT_EQ(w.size, 62u);
	pavo_cc_delay.expired(&w);
	EXPECT_EQ(w.size, PAVO_CWND_LEAST + 0u);
	pavo_cwnd_set_most(&w, 4096);
	round_trips(w, 1, true);
	EXPECT_EQ(w.size, PAVO_CWND_LEAST + PAVO_CWND_STEP_CAUTIOUS + 0u);
}

/* Slow start has filled a queue: what the path holds, and as much, stays. Later it grows, slowly. */
TEST(Delay, SlowStartEndsWithAShortQueue)
{
	pavo_cwnd w = window();
	const pavo_progress grown = {.packets = 128,
				     .rtt = 1000,
				     .mean = 4000,
				     .limited = true,
				     .delayed = true};

	pavo_cwnd_set_most(&w, 4096);
	pavo_cc_delay.acked(&w, &grown);
	EXPECT_EQ(w.size, 64u);
	pavo_cc_delay.acked(&w, &grown);
	EXPECT_EQ(w.size, 64u + PAVO_CWND_STEP_CAUTIOUS);
}

TEST(Marks, ShrinkByHalfOfTheirShareAndASeventhAtLeast)
{
	pavo_cwnd w = window();

	pavo_cc_delay.marked(&w, PAVO_ECN_WHOLE);
	EXPECT_EQ(w.size, 64u);
	EXPECT_EQ(w.threshold, 64u);
	pavo_cc_delay.marked(&w, 1);
	EXPECT_EQ(w.size, 55u);
	for (int i = 0; i < 40; i++)
		pavo_cc_delay.marked(&w, PAVO_ECN_WHOLE);
	EXPECT_EQ(w.size, PAVO_CWND_FLOOR + 0u);
	pavo_cc_loss.marked(&w, 1);
	EXPECT_EQ(w.size, PAVO_CWND_FLOOR + 0u);
}

TEST(Marks, TheirShareIsSmoothed)
{
	pavo_ecn e;

	pavo_ecn_init(&e);
	EXPECT_EQ(e.share, PAVO_ECN_WHOLE);
	pavo_ecn_end_round(&e);
	EXPECT_EQ(e.share, PAVO_ECN_WHOLE);
	for (int i = 0; i < 200; i++) {
		e.marked = 25;
		e.acked = 100;
		pavo_ecn_end_round(&e);
	}
	EXPECT_NEAR(e.share, PAVO_ECN_WHOLE / 4, PAVO_ECN_GAIN);
	for (int i = 0; i < 200; i++) {
		e.acked = 100;
		pavo_ecn_end_round(&e);
	}
	EXPECT_LE(e.share, 0 + PAVO_ECN_GAIN);
}

/* Packets that wait behind a gap are marked, and not acknowledged in that round. */
TEST(Marks, AreAtMostTheWhole)
{
	pavo_ecn e;

	pavo_ecn_init(&e);
	e.marked = 300;
	e.acked = 100;
	pavo_ecn_end_round(&e);
	EXPECT_EQ(e.share, PAVO_ECN_WHOLE);
	EXPECT_EQ(e.marked, 0u);
}

TEST(Marks, ThePeersCountWraps)
{
	pavo_ecn e;

	pavo_ecn_init(&e);
	EXPECT_EQ(pavo_ecn_note_count(&e, 60), 60u);
	EXPECT_EQ(pavo_ecn_note_count(&e, 60), 0u);
	EXPECT_EQ(pavo_ecn_note_count(&e, 3), 7u);
}

} // namespace
