// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rack_test.cpp - sets of PSNs, and what RACK-TLP makes of arrivals (wire/psn_set.h,
 * requester/rack.h).
 */
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "random.h"

extern "C" {
#include "requester/pacing.h"
#include "requester/rack.h"
#include "wire/psn_set.h"
}

namespace {

struct Bits {
	explicit Bits(uint32_t size) : words(size / 64)
	{
		pavo_psn_set_init(&set, words.data(), size);
	}

	std::vector<u64> words;
	pavo_psn_set set;
};

/* Against a set of numbers, where PSNs wrap. */
TEST(PsnSet, IsASetOfNumbers)
{
	Random random;

	for (int round = 0; round < 300; round++) {
		const uint32_t size = 64u << random.below(4);
		const uint32_t base =
			pavo_psn_add(0, -int32_t(random.below(2 * size)));
		std::set<uint32_t> model;
		Bits bits(size);
		pavo_psn_set &set = bits.set;

		for (int step = 0; step < 30; step++) {
			const uint32_t at = random.below(size);
			const uint32_t n = random.below(size - at) + 1;
			const uint32_t psn = pavo_psn_add(base, at);
			const bool add = random.coin();

			for (uint32_t i = at; i < at + n; i++) {
				if (add)
					model.insert(i);
				else
					model.erase(i);
			}
			if (add)
				pavo_psn_set_add(&set, psn, n);
			else
				pavo_psn_set_remove(&set, psn, n);
			ASSERT_EQ(set.count, model.size());
			ASSERT_EQ(pavo_psn_set_is_empty(&set), model.empty());
			for (uint32_t i = 0; i < size; i++)
				ASSERT_EQ(pavo_psn_set_has(&set, base + i),
					  model.contains(i));
			for (bool in : {true, false}) {
				uint32_t first = 0;

				while (first < n &&
				       model.contains(at + first) != in)
					first++;
				ASSERT_EQ(pavo_psn_set_find(&set, psn, n, in),
					  first);
			}
		}
	}
}

TEST(PsnSet, AWordBeginsAnywhere)
{
	Random random;
	Bits bits(256);
	pavo_psn_set &set = bits.set;

	for (int i = 0; i < 100; i++)
		pavo_psn_set_add(&set, random.below(set.size), 1);
	for (uint32_t psn = 0; psn < 2 * set.size; psn++)
		for (uint32_t bit = 0; bit < 64; bit++)
			ASSERT_EQ(pavo_psn_set_get_word(&set, psn) >> bit & 1,
				  pavo_psn_set_has(&set, psn + bit));
}

struct Rack {
	Rack() { pavo_rack_init(&rack); }

	void arrive(uint32_t at, uint32_t psn, uint32_t now)
	{
		pavo_rack_measure(&rack, now - at);
		pavo_rack_arrived(&rack, at, psn, now);
	}

	pavo_rack rack;
};

TEST(Rack, TheLatestTransmissionThatArrivedDecides)
{
	/* Times wrap, too. */
	for (uint32_t start : {1000u, 0xffffff80u}) {
		Rack r;

		EXPECT_FALSE(pavo_rack_was_sent_before(&r.rack, start, 0));
		r.arrive(start + 10, 5, start + 110);
		r.arrive(start, 9, start + 120);
		EXPECT_EQ(r.rack.psn, 5u);
		EXPECT_TRUE(pavo_rack_was_sent_before(&r.rack, start + 9, 7));
		EXPECT_TRUE(pavo_rack_was_sent_before(&r.rack, start + 10, 4));
		EXPECT_FALSE(pavo_rack_was_sent_before(&r.rack, start + 10, 5));
		EXPECT_FALSE(pavo_rack_was_sent_before(&r.rack, start + 11, 4));
		r.arrive(start + 200, 4, start + 300);
		EXPECT_EQ(r.rack.psn, 4u);
		EXPECT_EQ(r.rack.rtt, 100u);
	}
}

TEST(Rack, TheWindowIsAQuarterOfARoundTripAndWidens)
{
	Rack r;

	r.arrive(0, 0, 1000);
	EXPECT_EQ(pavo_rack_get_window(&r.rack, 0), 250u);
	EXPECT_EQ(pavo_rack_get_window(&r.rack, PAVO_RACK_THRESHOLD - 1), 250u);
	EXPECT_EQ(pavo_rack_get_window(&r.rack, PAVO_RACK_THRESHOLD), 0u);
	pavo_rack_widen(&r.rack);
	EXPECT_EQ(pavo_rack_get_window(&r.rack, PAVO_RACK_THRESHOLD), 0u);
	pavo_rack_note_reordering(&r.rack);
	EXPECT_EQ(pavo_rack_get_window(&r.rack, PAVO_RACK_THRESHOLD), 500u);
	for (int i = 0; i < 100; i++)
		pavo_rack_widen(&r.rack);
	/* A round trip and what it varies by, and no longer. */
	EXPECT_EQ(pavo_rack_get_window(&r.rack, 0), 1000 + 4 * r.rack.rttvar);
	for (int i = 0; i < PAVO_RACK_CALM; i++)
		pavo_rack_recovered(&r.rack);
	EXPECT_EQ(pavo_rack_get_window(&r.rack, 0), 250u);
}

TEST(Pacing, TheCwndAndAQuarterLeaveInARoundTripAndTwoInSlowStart)
{
	pavo_cwnd w;

	pavo_cwnd_init(&w);
	w.size = 100;
	w.threshold = 50;
	EXPECT_EQ(pavo_pacing_get_gap(&w, 1000), 1000u * 1024 / 125);
	w.threshold = 101;
	EXPECT_EQ(pavo_pacing_get_gap(&w, 1000), 1000u * 1024 / 200);
	w.size = PAVO_CWND_FLOOR;
	w.threshold = PAVO_CWND_FLOOR;
	EXPECT_EQ(pavo_pacing_get_gap(&w, 1), 1024u / 5);
}

TEST(Rack, AProbeWaitsForTwoRoundTripsOrWhatTheyVaryByAndThenLonger)
{
	Rack r;
	const uint32_t wait = 2000 + PAVO_RACK_PROBE_SLACK;

	r.rack.srtt = 1000;
	r.rack.rttvar = 250;
	EXPECT_EQ(pavo_rack_get_probe_wait(&r.rack, 0), wait);
	EXPECT_EQ(pavo_rack_get_probe_wait(&r.rack, 1), wait);
	EXPECT_EQ(pavo_rack_get_probe_wait(&r.rack, 3), 4 * wait);
	r.rack.rttvar = 500;
	EXPECT_EQ(pavo_rack_get_probe_wait(&r.rack, 0), wait + 1000);
}

TEST(Rack, RoundTripsThatDoubleAreAQueue)
{
	Rack r;

	for (uint32_t i = 0; i < 50; i++)
		r.arrive(i * 1000, i, i * 1000 + 1000);
	pavo_rack_end_round(&r.rack, 51000);
	EXPECT_FALSE(r.rack.delayed);
	EXPECT_EQ(r.rack.srtt, 1000u);
	for (uint32_t i = 50; i < 100; i++)
		r.arrive(i * 1000, i, i * 1000 + 3000);
	EXPECT_FALSE(r.rack.delayed);
	pavo_rack_end_round(&r.rack, 103000);
	EXPECT_TRUE(r.rack.delayed);
	EXPECT_EQ(r.rack.min_rtt, 1000u);
}

/* Some packets overtake all others: the round is as long as before. */
TEST(Rack, AShortRoundTripAloneSaysNothing)
{
	Rack r;

	pavo_rack_note_reordering(&r.rack);
	for (uint32_t i = 0; i < 400; i++) {
		r.arrive(i * 1000, i, i * 1000 + (i % 4 ? 1000 : 1));
		if (i % 20 == 19)
			pavo_rack_end_round(&r.rack, i * 1000 + 1000);
		ASSERT_FALSE(r.rack.delayed);
	}
	EXPECT_EQ(r.rack.min_rtt, 750u);
}

/* A path that has become longer is known for that after a while, in which little is in flight. */
TEST(Rack, TheShortestRoundTripIsForgotten)
{
	Rack r;
	uint32_t now = 5, drained = 0;

	for (uint32_t i = 0; i < PAVO_RACK_SAMPLES; i++) {
		EXPECT_EQ(r.rack.min_rtt, 0u);
		r.arrive(now, i, now + 100);
		pavo_rack_end_round(&r.rack, now + 100);
	}
	EXPECT_EQ(r.rack.min_rtt, 100u);
	for (uint32_t i = 1; i < 60 * PAVO_RACK_SAMPLES; i++) {
		now += PAVO_RACK_MIN_AGE / 10 / PAVO_RACK_SAMPLES;
		r.arrive(now, PAVO_RACK_SAMPLES + i, now + 900);
		pavo_rack_end_round(&r.rack, now + 900);
		drained += !r.rack.count && r.rack.drain;
	}
	EXPECT_EQ(r.rack.min_rtt, 900u);
	EXPECT_FALSE(r.rack.delayed);
	EXPECT_EQ(drained, 5u * PAVO_RACK_DRAIN);
}

/* After the loss timer an answer may come soon, as the path may be another one; a queue is one still. */
TEST(Rack, TheLossTimerDoubtsTheShortestRoundTrip)
{
	Rack r;
	uint32_t now = 5;
	auto round = [&](uint32_t rtt) {
		for (uint32_t i = 0; i < PAVO_RACK_SAMPLES; i++)
			r.arrive(now, i, now + rtt);
		now += rtt;
		pavo_rack_end_round(&r.rack, now);
	};

	round(1000);
	EXPECT_TRUE(pavo_rack_is_too_soon(&r.rack, 400));
	pavo_rack_mark_doubted(&r.rack);
	EXPECT_FALSE(pavo_rack_is_too_soon(&r.rack, 400));
	round(5000);
	EXPECT_TRUE(r.rack.delayed);
	EXPECT_TRUE(pavo_rack_is_too_soon(&r.rack, 400));
	round(500);
	EXPECT_FALSE(r.rack.delayed);
	EXPECT_FALSE(pavo_rack_is_too_soon(&r.rack, 400));
}

} // namespace
