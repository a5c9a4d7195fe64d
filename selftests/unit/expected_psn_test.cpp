// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * expected_psn_test.cpp - the expected PSN of a responder: tables of events, with the verdicts and
 * the ACK or NAK that is due after them, and random arrivals against a model that does not wrap.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "random.h"

extern "C" {
#include "responder/hold_early.h"
}

namespace expected_psn {
namespace {

constexpr uint8_t rnr = PAVO_AETH_RNR | 5;
constexpr uint32_t starts[] = {0, 0xfffffe, 0xffffff, 0x7ffffe};

/* An arrival, or that the ACK was sent. Requests that are expected are executed, unless no receive WQE is there. */
enum What { REQUEST, ACK_REQ, NOT_READY, SENT };

/* '.': nothing is due, 'a': an ACK, 'n': a sequence error NAK, 'r': an RNR NAK */
struct Step {
	What what;
	int64_t psn;
	uint32_t npkts;
	/* 'x': executed, 'd': a duplicate, 'g': reported as a gap, 'l': dropped, '-': none */
	char verdict;
	int32_t expected;
	char due;
	int32_t due_psn;
};

struct Table {
	const char *name;
	std::vector<Step> steps;
};

class Responder {
public:
	explicit Responder(uint32_t start) : start_(start)
	{
		pavo_expected_reset(&e);
		pavo_expected_start(&e, start);
	}

	uint32_t psn(int64_t at) const { return pavo_psn_add(start_, at); }
	int32_t at(uint32_t psn) const { return pavo_psn_diff(psn, start_); }

	char take(int64_t at, uint32_t npkts, bool ack_req, bool ready)
	{
		switch (pavo_expected_find(&e, psn(at))) {
		case PAVO_PSN_DUPLICATE:
			pavo_expected_ack_all(&e);
			return 'd';
		case PAVO_PSN_EARLY:
			return pavo_expected_handle_early(&e, &pavo_hold_early,
							  psn(at), npkts) ==
					       PAVO_EARLY_REPORT ?
				       'g' :
				       'l';
		default:
			break;
		}
		pavo_expected_begin(&e, npkts);
		if (!ready) {
			pavo_expected_handle_rnr(&e, rnr);
			return 'x';
		}
		pavo_expected_advance(&e, npkts);
		if (ack_req)
			pavo_expected_ack_all(&e);
		return 'x';
	}

	char due() const
	{
		if (!e.ack_due)
			return '.';
		if (e.ack_syndrome == PAVO_AETH_ACK_UNLIMITED)
			return 'a';
		return e.ack_syndrome == PAVO_NAK_PSN_SEQ ? 'n' : 'r';
	}

	pavo_expected e{};

private:
	uint32_t start_;
};

const Table tables[] = {
	{"in order",
	 {{REQUEST, 0, 1, 'x', 1, '.', 0},
	  {REQUEST, 1, 3, 'x', 4, '.', 0},
	  {ACK_REQ, 4, 1, 'x', 5, 'a', 4},
	  {ACK_REQ, 5, 1, 'x', 6, 'a', 5}}},
	{"duplicates are acknowledged up to the latest",
	 {{REQUEST, 0, 4, 'x', 4, '.', 0},
	  {REQUEST, 2, 1, 'd', 4, 'a', 3},
	  {SENT, 0, 0, '-', 4, '.', 0},
	  {REQUEST, 0, 1, 'd', 4, 'a', 3}}},
	{"a gap is reported once",
	 {{REQUEST, 0, 1, 'x', 1, '.', 0},
	  {REQUEST, 2, 1, 'g', 1, 'n', 1},
	  {SENT, 0, 0, '-', 1, '.', 0},
	  {REQUEST, 3, 1, 'l', 1, '.', 0},
	  {REQUEST, 1, 1, 'x', 2, '.', 0},
	  {REQUEST, 3, 1, 'g', 2, 'n', 2}}},
	{"a NAK that waits names what is missing when it is sent",
	 {{REQUEST, 2, 1, 'g', 0, 'n', 0},
	  {REQUEST, 0, 1, 'x', 1, 'n', 1},
	  /* An ACK does not replace it. */
	  {ACK_REQ, 1, 1, 'x', 2, 'n', 2},
	  {REQUEST, 3, 1, 'l', 2, 'n', 2},
	  {REQUEST, 2, 1, 'x', 3, 'n', 3},
	  {REQUEST, 3, 1, 'x', 4, 'a', 3}}},
	{"a packet that arrives behind others takes the NAK back",
	 {{REQUEST, 1, 1, 'g', 0, 'n', 0}, {REQUEST, 0, 2, 'x', 2, 'a', 1}}},
	{"no receive WQE",
	 {{REQUEST, 0, 1, 'x', 1, '.', 0},
	  {NOT_READY, 1, 1, 'x', 1, 'r', 1},
	  /* The packets behind it are no gap, but lost. */
	  {REQUEST, 2, 2, 'l', 1, 'r', 1},
	  {SENT, 0, 0, '-', 1, '.', 0},
	  {REQUEST, 4, 1, 'l', 1, '.', 0},
	  {ACK_REQ, 1, 1, 'x', 2, 'a', 1},
	  {REQUEST, 3, 1, 'g', 2, 'n', 2}}},
	{"a receive WQE comes before the RNR NAK is sent",
	 {{NOT_READY, 0, 1, 'x', 0, 'r', 0},
	  {REQUEST, 1, 1, 'l', 0, 'r', 0},
	  {REQUEST, 0, 1, 'x', 1, 'n', 1},
	  {REQUEST, 1, 1, 'x', 2, 'a', 1}}},
};

TEST(ExpectedPsn, Tables)
{
	for (uint32_t start : starts) {
		for (const Table &table : tables) {
			Responder r(start);

			for (size_t i = 0; i < table.steps.size(); i++) {
				const Step &step = table.steps[i];
				std::string at = std::string(table.name) +
						 ", step " + std::to_string(i);
				char verdict = '-';

				if (step.what == SENT)
					r.e.ack_due = false;
				else
					verdict =
						r.take(step.psn, step.npkts,
						       step.what == ACK_REQ,
						       step.what != NOT_READY);
				ASSERT_EQ(verdict, step.verdict) << at;
				ASSERT_EQ(r.at(r.e.psn), step.expected) << at;
				ASSERT_EQ(r.due(), step.due) << at;
				if (step.due == '.')
					continue;
				ASSERT_EQ(r.at(r.e.ack_psn), step.due_psn)
					<< at;
			}
		}
	}
}

TEST(ExpectedPsn, ImplausiblePsnsAreCounted)
{
	Responder r(0xfffff0);

	EXPECT_EQ(r.take(1 << 16, 1, false, true), 'g');
	EXPECT_EQ(r.e.far, 0u);
	EXPECT_EQ(r.take((1 << 16) + 1, 1, false, true), 'l');
	EXPECT_EQ(r.e.far, 1u);
	EXPECT_EQ(r.take(-(1 << 16), 1, false, true), 'd');
	EXPECT_EQ(r.e.far, 1u);
	EXPECT_EQ(r.take(-(1 << 16) - 1, 1, false, true), 'd');
	EXPECT_EQ(r.e.far, 2u);
	pavo_expected_reset(&r.e);
	EXPECT_EQ(r.e.far, 0u);
}

/* Half of all PSNs are before the expected one. */
TEST(ExpectedPsn, IsBetweenThePastAndTheFuture)
{
	constexpr int64_t half = 1 << 23;

	for (uint32_t start : starts) {
		Responder r(start);

		EXPECT_EQ(pavo_expected_find(&r.e, r.psn(0)), PAVO_PSN_EXECUTE);
		EXPECT_EQ(pavo_expected_find(&r.e, r.psn(1)), PAVO_PSN_EARLY);
		EXPECT_EQ(pavo_expected_find(&r.e, r.psn(half - 1)),
			  PAVO_PSN_EARLY);
		EXPECT_EQ(pavo_expected_find(&r.e, r.psn(half)),
			  PAVO_PSN_DUPLICATE);
		EXPECT_EQ(pavo_expected_find(&r.e, r.psn(-1)),
			  PAVO_PSN_DUPLICATE);
	}
}

/*
 * Requests are executed in order and once; a gap has one NAK until the expected
 * request comes, and the requester learns of all that was dropped behind a NAK that waits.
 */
TEST(ExpectedPsn, RandomArrivals)
{
	for (unsigned int round = 0; round < 200; round++) {
		Random random(round);
		Responder r(pavo_psn_add(starts[round % 4], -round));
		int64_t expected = 0, dropped = 0;
		bool silent = false;

		for (int step = 0; step < 2000; step++) {
			int64_t psn = random.coin() ?
					      expected :
					      expected + random.below(12) - 4;
			uint32_t npkts = 1 + random.below(4);
			bool ready = random.below(8);
			char verdict, due = r.due();

			if (!random.below(4)) {
				r.e.ack_due = false;
				continue;
			}
			verdict = r.take(psn, npkts, random.coin(), ready);
			if (psn < expected) {
				ASSERT_EQ(verdict, 'd');
			} else if (psn > expected) {
				ASSERT_EQ(verdict, silent ? 'l' : 'g');
				if (!silent)
					dropped = 0;
				dropped = std::max(dropped, psn + npkts);
				silent = true;
			} else if (!ready) {
				ASSERT_EQ(verdict, 'x');
				if (due != 'n' && due != 'r')
					dropped = expected;
				silent = true;
			} else {
				ASSERT_EQ(verdict, 'x');
				expected += npkts;
				silent = (due == 'n' || due == 'r') &&
					 dropped > expected;
				/* The NAK goes on as long as something behind it is lost. */
				ASSERT_EQ(r.due() == 'n', silent) << step;
			}
			ASSERT_EQ(r.at(r.e.psn), expected);
			if (r.due() == 'n' || r.due() == 'r') {
				ASSERT_EQ(r.at(r.e.ack_psn), expected);
			}
		}
	}
}

} // namespace
} // namespace expected_psn
