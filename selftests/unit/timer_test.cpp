// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* timer_test.cpp - Loss and RNR timer: events in, expiry and counts out. */
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "random.h"

extern "C" {
#include "requester/timer_logic.h"
}

namespace {

constexpr uint64_t now = 1000000;
constexpr uint64_t timeout = 67108864;

pavo_timer_state silent_timer(uint64_t value = timeout, uint8_t retries = 7,
			      uint8_t rnr = 3)
{
	pavo_timer_state t;

	std::memset(&t, 0xa5, sizeof(t));
	pavo_timer_init(&t, value, retries, rnr);
	return t;
}

/* Of a sender that has heard from its peer. */
pavo_timer_state timer(uint64_t value = timeout, uint8_t retries = 7,
		       uint8_t rnr = 3)
{
	pavo_timer_state t = silent_timer(value, retries, rnr);

	pavo_timer_answered(&t);
	return t;
}

/* Twice and four times the value, when one and two attempts were of no use. */
uint64_t wait_after(int attempts)
{
	return attempts < 2  ? timeout :
	       attempts == 2 ? 2 * timeout :
			       4 * timeout;
}

TEST(Timer, IsPutOffSoOftenWithoutProgress)
{
	pavo_timer_state t = timer();
	uint64_t at = now;

	pavo_timer_set(&t, at);
	ASSERT_EQ(pavo_timer_retry(&t, at), 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < PAVO_PUT_OFF_MAX; i++) {
			at = pavo_timer_get_next(&t);
			ASSERT_EQ(pavo_timer_put_off(&t, at), 0) << i;
			ASSERT_EQ(pavo_timer_get_next(&t), at + timeout);
		}
		ASSERT_EQ(pavo_timer_put_off(&t, at), -ETIMEDOUT);
		/* No attempt was counted, and none makes the response timeout longer. */
		ASSERT_EQ(t.retries, t.retry_limit - 1 + round);
		ASSERT_EQ(pavo_timer_retry(&t, at), 0);
		ASSERT_EQ(pavo_timer_put_off(&t, at), -ETIMEDOUT);
		pavo_timer_restart(&t, at);
	}
}

TEST(Timer, NothingRunsAtFirst)
{
	pavo_timer_state t = timer();

	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, ~0ull));
	EXPECT_FALSE(pavo_timer_end_rnr(&t, ~0ull));
}

TEST(Timer, SetStartsTheLossTimer)
{
	pavo_timer_state t = timer();

	pavo_timer_set(&t, now);
	EXPECT_EQ(pavo_timer_get_next(&t), now + timeout);
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, now));
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, now + timeout - 1));
	EXPECT_TRUE(pavo_timer_has_loss_expired(&t, now + timeout));
	EXPECT_TRUE(pavo_timer_has_loss_expired(&t, now + timeout + 1));
}

/* Later packets must not keep pushing the deadline of the oldest away. */
TEST(Timer, SetDoesNotMoveARunningTimer)
{
	pavo_timer_state t = timer();

	pavo_timer_set(&t, now);
	pavo_timer_set(&t, now + 5000);
	EXPECT_EQ(pavo_timer_get_next(&t), now + timeout);
}

TEST(Timer, StopStopsAndSetStartsAgain)
{
	pavo_timer_state t = timer();

	pavo_timer_set(&t, now);
	pavo_timer_stop(&t);
	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, ~0ull));
	pavo_timer_set(&t, now + 7);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 7 + timeout);
}

TEST(Timer, StopLeavesTheRnrDelayAlone)
{
	pavo_timer_state t = timer();

	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 10000), 0);
	pavo_timer_stop(&t);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 10000);
}

TEST(Timer, TimeoutZeroNeverRuns)
{
	pavo_timer_state t = timer(0);

	pavo_timer_set(&t, now);
	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
	pavo_timer_restart(&t, now);
	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
	EXPECT_EQ(pavo_timer_retry(&t, now), 0);
	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, ~0ull));
}

TEST(Timer, RetriesAreCountedDown)
{
	for (uint8_t limit = 0; limit < 8; limit++) {
		pavo_timer_state t = timer(timeout, limit);
		uint64_t at = now;

		pavo_timer_set(&t, at);
		for (int i = 0; i < limit; i++) {
			at = pavo_timer_get_next(&t);
			ASSERT_TRUE(pavo_timer_has_loss_expired(&t, at));
			ASSERT_EQ(pavo_timer_retry(&t, at), 0);
			ASSERT_FALSE(pavo_timer_has_loss_expired(&t, at));
			ASSERT_EQ(pavo_timer_get_next(&t),
				  at + wait_after(i + 1));
		}
		at = pavo_timer_get_next(&t);
		ASSERT_TRUE(pavo_timer_has_loss_expired(&t, at));
		EXPECT_EQ(pavo_timer_retry(&t, at), -ETIMEDOUT) << int(limit);
		/* Used up is used up. */
		EXPECT_EQ(pavo_timer_retry(&t, at), -ETIMEDOUT) << int(limit);
	}
}

/* A peer that is not there is to be found out soon. */
TEST(Timer, APeerThatNeverAnsweredIsNotWaitedForLonger)
{
	pavo_timer_state t = silent_timer();

	pavo_timer_set(&t, now);
	for (uint64_t i = 1; i <= 7; i++) {
		ASSERT_EQ(pavo_timer_retry(&t, now + i * timeout), 0);
		ASSERT_EQ(pavo_timer_get_next(&t), now + (i + 1) * timeout);
	}
	EXPECT_EQ(pavo_timer_retry(&t, now + 8 * timeout), -ETIMEDOUT);

	/* Once it answered it may be slow, for the rest of the connection. */
	pavo_timer_restart(&t, now);
	pavo_timer_answered(&t);
	for (int i = 1; i <= 7; i++) {
		ASSERT_EQ(pavo_timer_retry(&t, now), 0);
		ASSERT_EQ(pavo_timer_get_next(&t), now + wait_after(i));
	}
}

TEST(Timer, RepeatedRnrNaksAreWaitedForLonger)
{
	constexpr uint64_t asked = 10000;
	constexpr uint64_t waits[] = {10000,  10000,  20000,  40000,   80000,
				      160000, 320000, 640000, 1000000, 1000000};
	pavo_timer_state t = timer(timeout, 7, PAVO_RNR_RETRY_INFINITE);

	for (int round = 0; round < 3; round++) {
		for (uint64_t wait : waits) {
			ASSERT_EQ(pavo_timer_start_rnr(&t, now, asked), 0);
			ASSERT_EQ(pavo_timer_get_next(&t), now + wait);
		}
		/* Progress begins anew. */
		pavo_timer_restart(&t, now);
	}
	/* The wait that the peer asks for is the least, however long. */
	for (int i = 0; i < 300; i++) {
		ASSERT_EQ(pavo_timer_start_rnr(&t, now, 655360000), 0);
		ASSERT_EQ(pavo_timer_get_next(&t), now + 655360000);
	}
}

TEST(Timer, ProgressReloadsValueAndCounts)
{
	pavo_timer_state t = timer(timeout, 2, 2);

	pavo_timer_set(&t, now);
	for (int round = 0; round < 10; round++) {
		uint64_t at = now + 100u * static_cast<uint64_t>(round);

		ASSERT_EQ(pavo_timer_retry(&t, at), 0);
		ASSERT_EQ(pavo_timer_retry(&t, at), 0);
		ASSERT_EQ(pavo_timer_retry(&t, at), -ETIMEDOUT);
		ASSERT_EQ(pavo_timer_start_rnr(&t, at, 1), 0);
		ASSERT_EQ(pavo_timer_start_rnr(&t, at, 1), 0);
		ASSERT_EQ(pavo_timer_start_rnr(&t, at, 1), -ETIMEDOUT);
		ASSERT_TRUE(pavo_timer_end_rnr(&t, at + 1));
		pavo_timer_restart(&t, at + 50);
		ASSERT_EQ(pavo_timer_get_next(&t), at + 50 + timeout);
	}
}

TEST(Timer, RnrDelayIsWaitedForOnce)
{
	pavo_timer_state t = timer();

	pavo_timer_set(&t, now);
	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 655360000), 0);
	/* The loss timer rests: nothing is on its way. */
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, ~0ull));
	EXPECT_EQ(pavo_timer_get_next(&t), now + 655360000);
	EXPECT_FALSE(pavo_timer_end_rnr(&t, now + 655359999));
	EXPECT_TRUE(pavo_timer_end_rnr(&t, now + 655360000));
	EXPECT_FALSE(pavo_timer_end_rnr(&t, now + 655360000));
	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
}

/* A responder that answers beyond the refused request has taken it. */
TEST(Timer, ProgressEndsTheRnrDelay)
{
	pavo_timer_state t = timer();

	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 655360000), 0);
	pavo_timer_restart(&t, now + 10);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 10 + timeout);
	EXPECT_FALSE(pavo_timer_end_rnr(&t, ~0ull));
}

TEST(Timer, WhatIsToldAgainIsHeardInTime)
{
	pavo_timer_state t = timer(0);

	pavo_timer_gap_repeated(&t, now);
	EXPECT_EQ(pavo_timer_get_next(&t), now + PAVO_ECHO_NS);
	/* Each echo of the echo must not push it away. */
	pavo_timer_gap_repeated(&t, now + 1000);
	EXPECT_EQ(pavo_timer_get_next(&t), now + PAVO_ECHO_NS);
	EXPECT_TRUE(pavo_timer_has_loss_expired(&t, now + PAVO_ECHO_NS));
	EXPECT_EQ(t.retries, 7);
	/* An answer makes it one that needed nothing. */
	pavo_timer_restart(&t, now + 2000);
	EXPECT_EQ(pavo_timer_get_next(&t), 0u);
}

TEST(Timer, WhoTellsSomethingAgainIsThere)
{
	pavo_timer_state t = timer();

	pavo_timer_set(&t, now);
	pavo_timer_gap_repeated(&t, now + 5000);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 5000 + timeout);
	/* No retry was taken, but those that were are remembered. */
	EXPECT_EQ(t.retries, 7);
	ASSERT_EQ(pavo_timer_retry(&t, now), 0);
	ASSERT_EQ(pavo_timer_retry(&t, now), 0);
	pavo_timer_gap_repeated(&t, now + 9000);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 9000 + 2 * timeout);
	/* In the delay nothing is on its way that could be lost. */
	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 10), 0);
	pavo_timer_gap_repeated(&t, now + 5);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 10);
	EXPECT_FALSE(pavo_timer_has_loss_expired(&t, ~0ull));
}

TEST(Timer, RnrRetriesAreCountedDown)
{
	for (uint8_t limit = 0; limit < PAVO_RNR_RETRY_INFINITE; limit++) {
		pavo_timer_state t = timer(timeout, 7, limit);

		for (int i = 0; i < limit; i++)
			ASSERT_EQ(pavo_timer_start_rnr(&t, now, 10), 0);
		EXPECT_EQ(pavo_timer_start_rnr(&t, now, 10), -ETIMEDOUT)
			<< int(limit);
	}
}

TEST(Timer, SevenRnrRetriesAreForEver)
{
	pavo_timer_state t = timer(timeout, 7, PAVO_RNR_RETRY_INFINITE);

	for (uint64_t i = 0; i < 1000; i++) {
		ASSERT_EQ(pavo_timer_start_rnr(&t, now + i, 10000000), 0);
		ASSERT_EQ(pavo_timer_get_next(&t), now + i + 10000000);
	}
}

/* Loss retries have no such value (IBA 9.7.5.1.4). */
TEST(Timer, SevenLossRetriesAreSeven)
{
	pavo_timer_state t = timer(timeout, 7, 7);

	for (int i = 0; i < 7; i++)
		ASSERT_EQ(pavo_timer_retry(&t, now), 0);
	EXPECT_EQ(pavo_timer_retry(&t, now), -ETIMEDOUT);
}

TEST(Timer, LossAndRnrRetriesAreCountedApart)
{
	pavo_timer_state t = timer(timeout, 1, 1);

	ASSERT_EQ(pavo_timer_retry(&t, now), 0);
	EXPECT_EQ(pavo_timer_start_rnr(&t, now, 10), 0);
	EXPECT_EQ(pavo_timer_start_rnr(&t, now, 10), -ETIMEDOUT);
	EXPECT_EQ(pavo_timer_retry(&t, now), -ETIMEDOUT);
}

TEST(Timer, NextIsTheNearerDeadline)
{
	pavo_timer_state t = timer();

	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 5000), 0);
	pavo_timer_set(&t, now);
	EXPECT_EQ(pavo_timer_get_next(&t), now + 5000);
	ASSERT_TRUE(pavo_timer_end_rnr(&t, now + 5000));
	EXPECT_EQ(pavo_timer_get_next(&t), now + timeout);

	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 2 * timeout), 0);
	pavo_timer_set(&t, now);
	EXPECT_EQ(pavo_timer_get_next(&t), now + timeout);
}

TEST(Timer, OnlyTheLossTimerMayBeLate)
{
	constexpr uint64_t slack = 1000000;
	pavo_timer_state t = timer(16 * slack);

	EXPECT_EQ(pavo_timer_get_slack(&t), 0u);
	ASSERT_EQ(pavo_timer_start_rnr(&t, now, 5000), 0);
	pavo_timer_set(&t, now);
	EXPECT_EQ(pavo_timer_get_slack(&t), 0u);
	ASSERT_TRUE(pavo_timer_end_rnr(&t, now + 5000));
	EXPECT_EQ(pavo_timer_get_slack(&t), slack);
	t.timeout -= 16;
	EXPECT_EQ(pavo_timer_get_slack(&t), slack - 1);
	t.timeout += 32;
	EXPECT_EQ(pavo_timer_get_slack(&t), slack);
	pavo_timer_stop(&t);
	EXPECT_EQ(pavo_timer_get_slack(&t), 0u);
}

/*
 * A sender whose every packet is lost with some chance: it gives up exactly
 * when one packet was lost retry_limit + 1 times in a row, and each attempt
 * takes exactly as long as it should.
 */
TEST(Timer, GivesUpAfterTheLimitAndNotBefore)
{
	Random random;
	int gave_up = 0;

	for (int round = 0; round < 2000; round++) {
		auto limit = static_cast<uint8_t>(random.below(8));
		pavo_timer_state t = timer(timeout, limit);
		uint64_t at = now;
		int lost = 0;
		bool alive = true;

		pavo_timer_set(&t, at);
		for (int i = 0; i < 50 && alive; i++) {
			uint64_t deadline = pavo_timer_get_next(&t);

			ASSERT_EQ(deadline, at + wait_after(lost));
			if (random.below(4) == 0) {
				at += random.below(timeout);
				ASSERT_FALSE(
					pavo_timer_has_loss_expired(&t, at));
				pavo_timer_restart(&t, at);
				lost = 0;
				continue;
			}
			at = deadline;
			ASSERT_TRUE(pavo_timer_has_loss_expired(&t, at));
			alive = !pavo_timer_retry(&t, at);
			ASSERT_EQ(alive, ++lost <= limit);
		}
		gave_up += !alive;
	}
	EXPECT_GT(gave_up, 100);
	EXPECT_LT(gave_up, 2000);
}

} // namespace
