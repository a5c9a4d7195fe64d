// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recovery_test.cpp - loss recovery with go-back-N: tables of events, with the actions, PSNs and
 * timers that follow.
 */
#include "recovery_machine.h"

#include <gtest/gtest.h>

#include <string>

namespace recovery {
namespace {

/* ------------------------------------------------------------------ tables */

enum What {
	POST,
	POST_READ,
	SEND,
	READ,
	ACK,
	NAK,
	RNR,
	RESPONSE,
	TAKEN,
	ENDS,
	EXPIRE
};

constexpr unsigned int BACK = PAVO_REC_SEEK | PAVO_REC_RETRANSMIT;
constexpr unsigned int DONE = PAVO_REC_COMPLETE;

/* An event and its number: of packets, or a PSN. Then what is to be done, UPSN and the next PSN. */
struct Step {
	What what;
	uint32_t n;
	unsigned int todo;
	int32_t upsn, next;
	/* '-': no timer runs, 'l': the loss timer, 'r': the RNR timer */
	char timer;
};

struct Table {
	const char *name;
	std::vector<Step> steps;
};

unsigned int run_step(Machine &m, const Step &step)
{
	switch (step.what) {
	case POST:
	case POST_READ:
		m.post(step.n, step.what == POST_READ);
		return 0;
	case SEND:
		return m.send(step.n);
	case READ:
		return m.send(step.n, true);
	case ACK:
		return m.ack(step.n);
	case NAK:
		return m.nak(step.n);
	case RNR:
		return m.rnr(step.n);
	case RESPONSE:
		return m.respond(step.n);
	case TAKEN:
	case ENDS:
		return m.take(step.n, step.what == ENDS);
	case EXPIRE:
		return m.expire();
	}
	return ~0u;
}

char running_timer(const pavo_recovery &r)
{
	return r.timer.rnr ? 'r' : r.timer.loss ? 'l' : '-';
}

const Table tables[] = {
	{"acknowledged in two parts",
	 {{POST, 4, 0, 0, 0, '-'},
	  {SEND, 2, 0, 0, 2, 'l'},
	  {SEND, 2, 0, 0, 4, 'l'},
	  {ACK, 1, DONE, 2, 4, 'l'},
	  {ACK, 3, DONE, 4, 4, '-'},
	  /* Again, of the past, of the future. */
	  {ACK, 3, PAVO_REC_OLD, 4, 4, '-'},
	  {ACK, 0, PAVO_REC_OLD, 4, 4, '-'},
	  {ACK, 4, PAVO_REC_STRAY, 4, 4, '-'},
	  {NAK, 3, PAVO_REC_OLD, 4, 4, '-'},
	  {NAK, 4, PAVO_REC_STRAY, 4, 4, '-'},
	  {RNR, 9, PAVO_REC_STRAY, 4, 4, '-'}}},
	{"goes back once for a gap",
	 {{POST, 8, 0, 0, 0, '-'},
	  {SEND, 8, 0, 0, 8, 'l'},
	  {NAK, 3, DONE | BACK, 3, 3, 'l'},
	  {NAK, 3, 0, 3, 3, 'l'},
	  {SEND, 2, PAVO_REC_COUNT_RETRANSMIT, 3, 5, 'l'},
	  {NAK, 3, 0, 3, 5, 'l'},
	  /* An ACK of packets sent before: these are not sent again. */
	  {ACK, 5, DONE | PAVO_REC_SEEK, 6, 6, 'l'},
	  {SEND, 2, PAVO_REC_COUNT_RETRANSMIT, 6, 8, 'l'},
	  /* A new gap. */
	  {NAK, 7, DONE | BACK, 7, 7, 'l'},
	  {ACK, 7, DONE | PAVO_REC_SEEK, 8, 8, '-'}}},
	{"a gap at the oldest packet",
	 {{POST, 2, 0, 0, 0, '-'},
	  {SEND, 2, 0, 0, 2, 'l'},
	  {NAK, 0, BACK, 0, 0, 'l'},
	  {SEND, 2, PAVO_REC_COUNT_RETRANSMIT, 0, 2, 'l'},
	  {ACK, 1, DONE, 2, 2, '-'}}},
	{"waits when the peer is not ready",
	 {{POST, 4, 0, 0, 0, '-'},
	  {SEND, 4, 0, 0, 4, 'l'},
	  {RNR, 1, DONE | BACK, 1, 1, 'r'},
	  {RNR, 1, 0, 1, 1, 'r'},
	  /* The packets behind it are no gap. */
	  {NAK, 1, 0, 1, 1, 'r'},
	  /* It was there in time after all. */
	  {ACK, 2, DONE | PAVO_REC_SEEK, 3, 3, 'l'},
	  {ACK, 3, DONE | PAVO_REC_SEEK, 4, 4, '-'}}},
	{"probes after a timeout",
	 {{POST, 4, 0, 0, 0, '-'},
	  {SEND, 4, 0, 0, 4, 'l'},
	  {EXPIRE, 0, BACK, 0, 0, 'l'},
	  {SEND, 1, PAVO_REC_COUNT_RETRANSMIT, 0, 1, 'l'},
	  {EXPIRE, 0, BACK, 0, 0, 'l'},
	  {SEND, 1, PAVO_REC_COUNT_RETRANSMIT, 0, 1, 'l'},
	  {ACK, 0, DONE, 1, 1, 'l'},
	  {SEND, 3, PAVO_REC_COUNT_RETRANSMIT, 1, 4, 'l'},
	  {ACK, 3, DONE, 4, 4, '-'}}},
	{"takes the responses of a read",
	 {{POST_READ, 40, 0, 0, 0, '-'},
	  {READ, 32, 0, 0, 32, 'l'},
	  {READ, 8, 0, 0, 40, 'l'},
	  {RESPONSE, 0, PAVO_REC_TAKE, 0, 40, 'l'},
	  {TAKEN, 1, DONE, 1, 40, 'l'},
	  {RESPONSE, 0, PAVO_REC_OLD, 1, 40, 'l'},
	  {RESPONSE, 40, PAVO_REC_STRAY, 1, 40, 'l'},
	  /* Three are missing. */
	  {RESPONSE, 4, PAVO_REC_IMPLIED_NAK | BACK, 1, 1, 'l'},
	  {RESPONSE, 5, PAVO_REC_IMPLIED_NAK, 1, 1, 'l'},
	  {READ, 31, PAVO_REC_COUNT_RETRANSMIT, 1, 32, 'l'},
	  {RESPONSE, 1, PAVO_REC_TAKE, 1, 32, 'l'},
	  {ENDS, 32, DONE, 32, 32, 'l'},
	  {RESPONSE, 32, PAVO_REC_TAKE, 32, 32, 'l'},
	  {ENDS, 40, DONE | PAVO_REC_SEEK, 40, 40, '-'}}},
	{"a response acknowledges the writes before it",
	 {{POST, 3, 0, 0, 0, '-'},
	  {POST_READ, 2, 0, 0, 0, '-'},
	  {POST, 1, 0, 0, 0, '-'},
	  {SEND, 3, 0, 0, 3, 'l'},
	  {READ, 2, 0, 0, 5, 'l'},
	  {SEND, 1, 0, 0, 6, 'l'},
	  {RESPONSE, 3, DONE | PAVO_REC_TAKE, 3, 6, 'l'},
	  {ENDS, 5, DONE, 5, 6, 'l'},
	  {ACK, 5, DONE, 6, 6, '-'}}},
	{"an ACK behind a read says that its response is lost",
	 {{POST, 1, 0, 0, 0, '-'},
	  {POST_READ, 2, 0, 0, 0, '-'},
	  {POST, 2, 0, 0, 0, '-'},
	  {SEND, 1, 0, 0, 1, 'l'},
	  {READ, 2, 0, 0, 3, 'l'},
	  {SEND, 2, 0, 0, 5, 'l'},
	  {ACK, 4, DONE | PAVO_REC_IMPLIED_NAK | BACK, 1, 1, 'l'},
	  {READ, 2, PAVO_REC_COUNT_RETRANSMIT, 1, 3, 'l'},
	  /* So does a NAK; both wait for the receiver. */
	  {RNR, 4, PAVO_REC_IMPLIED_NAK | BACK, 1, 1, 'r'}}},
};

TEST(Recovery, Tables)
{
	for (uint32_t start : starts) {
		for (const Table &table : tables) {
			Machine m(start);

			for (size_t i = 0; i < table.steps.size(); i++) {
				const Step &step = table.steps[i];
				std::string at = std::string(table.name) +
						 ", step " + std::to_string(i) +
						 ", from psn " +
						 std::to_string(start);

				ASSERT_EQ(run_step(m, step), step.todo) << at;
				ASSERT_EQ(m.at(m.r.upsn), step.upsn) << at;
				ASSERT_EQ(m.at(m.r.next), step.next) << at;
				ASSERT_EQ(running_timer(m.r), step.timer) << at;
			}
		}
	}
}

/* ---------------------------------------------------------------- the rest */

TEST(Recovery, CompletesWhatIsAcknowledgedAndNoMore)
{
	for (uint32_t start : starts) {
		Machine m(start);

		m.post(3);
		m.post(2);
		m.send(5);
		for (int acked = 0; acked <= 5; acked++) {
			if (acked) {
				ASSERT_EQ(m.ack(acked - 1) & DONE, DONE);
			}
			EXPECT_EQ(pavo_recovery_completes(&m.r, m.psn(0), 3),
				  acked >= 3);
			EXPECT_EQ(pavo_recovery_completes(&m.r, m.psn(3), 2),
				  acked >= 5);
		}
	}
}

TEST(Recovery, RunsOutOfRetries)
{
	for (uint8_t limit = 0; limit < 8; limit++) {
		Machine m(0xfffffe, timeout, limit);

		m.post(2);
		m.send(2);
		for (int i = 0; i < limit; i++) {
			ASSERT_EQ(m.expire(), BACK);
			ASSERT_EQ(m.send(1), PAVO_REC_COUNT_RETRANSMIT + 0u);
		}
		EXPECT_EQ(m.expire(), PAVO_REC_NO_RETRY + 0u);
	}
	Machine m(0xfffffe, timeout, 7, 1);

	m.post(2);
	m.send(2);
	EXPECT_EQ(m.rnr(0), BACK);
	ASSERT_TRUE(pavo_recovery_is_delayed(&m.r));
	m.r.timer.rnr = 0;
	m.send(2);
	EXPECT_EQ(m.rnr(0), PAVO_REC_NO_RNR_RETRY + 0u);
}

TEST(Recovery, ProgressBringsTheRetriesBack)
{
	Machine m(0, timeout, 1);

	m.post(200);
	for (int i = 0; i < 100; i++) {
		m.send(1);
		m.send(1);
		ASSERT_EQ(m.expire(), BACK);
		m.send(1);
		ASSERT_EQ(m.ack(i), DONE);
	}
}

/* After a timeout the oldest packet goes alone, with AckReq. */
TEST(Recovery, AProbeIsOnePacket)
{
	Machine m(0xffffff);

	m.post(8);
	m.send(8);
	m.expire();
	EXPECT_TRUE(pavo_recovery_admits(&m.r, policy, 1));
	EXPECT_TRUE(pavo_recovery_wants_ack(&m.r, 1));
	m.send(1, false, false, true);
	EXPECT_FALSE(pavo_recovery_admits(&m.r, policy, 1));
	m.ack(0);
	EXPECT_TRUE(pavo_recovery_admits(&m.r, policy, 1));
	EXPECT_FALSE(pavo_recovery_wants_ack(&m.r, 1));
}

/* Without a timer there is no probe: nothing would end it. */
TEST(Recovery, WithoutATimeoutNothingIsProbed)
{
	Machine m(0, 0);

	m.post(8);
	m.send(8);
	EXPECT_EQ(running_timer(m.r), '-');
	EXPECT_EQ(m.nak(0), BACK);
	EXPECT_EQ(m.nak(0), 0u);
	EXPECT_EQ(running_timer(m.r), 'l');
	EXPECT_EQ(m.expire(), BACK);
	m.send(1);
	EXPECT_TRUE(pavo_recovery_admits(&m.r, policy, 1));
}

TEST(Recovery, AcksAreRequestedOftenEnoughToKeepTheCwndOpen)
{
	Machine m(0xfffff0);
	uint32_t quarter = PAVO_CWND_START / 4, sent = 0;

	m.post(PAVO_CWND_START);
	while (!pavo_recovery_wants_ack(&m.r, 1)) {
		m.send(1);
		sent++;
	}
	EXPECT_EQ(sent, quarter - 1);
	m.send(1, false, false, true);
	EXPECT_FALSE(pavo_recovery_wants_ack(&m.r, 1));
	/* A super-packet that the next one of its kind would exceed. */
	EXPECT_TRUE(pavo_recovery_wants_ack(&m.r, quarter / 2 + 1));
	EXPECT_FALSE(pavo_recovery_wants_ack(&m.r, quarter / 2));
}

TEST(Recovery, AcksAreAskedForOnce)
{
	Machine m(0xfffffe);
	uint32_t end = m.psn(3);

	m.post(3);
	EXPECT_EQ(pavo_recovery_request_ack(&m.r, m.r.sent), -EALREADY);
	m.send(3);
	ASSERT_EQ(pavo_recovery_request_ack(&m.r, end), 0);
	EXPECT_EQ(m.r.ack_requested, end);
	pavo_recovery_seek(&m.r, m.psn(2));
	EXPECT_TRUE(pavo_recovery_wants_ack(&m.r, 1));
	EXPECT_EQ(m.send(1, false, false, true),
		  PAVO_REC_COUNT_RETRANSMIT + 0u);
	EXPECT_EQ(pavo_recovery_request_ack(&m.r, end), -EALREADY);
	m.ack(2);
	EXPECT_EQ(m.r.ack_requested, PAVO_PSN_NONE);
}

TEST(Recovery, RoomIsForNewPacketsWithinTheCwnd)
{
	Machine m(0xfffff0);

	m.post(2 * PAVO_CWND_START);
	EXPECT_EQ(pavo_recovery_get_space(&m.r), PAVO_CWND_START / 4u);
	m.send(PAVO_CWND_START - 3);
	EXPECT_EQ(pavo_recovery_get_space(&m.r), 3u);
	m.send(2);
	EXPECT_EQ(pavo_recovery_get_space(&m.r), 1u);
	m.nak(0);
	EXPECT_EQ(pavo_recovery_get_space(&m.r), 1u);
}

TEST(Recovery, ReadsAreRequestedByChunks)
{
	Machine m(0xfffff0);
	uint32_t total = 2 * PAVO_READ_CHUNK + 5;

	EXPECT_EQ(pavo_read_span(&m.r, policy, 0, total), PAVO_READ_CHUNK + 0u);
	EXPECT_EQ(pavo_read_span(&m.r, policy, 3, total), PAVO_READ_CHUNK - 3u);
	EXPECT_EQ(pavo_read_span(&m.r, policy, 2 * PAVO_READ_CHUNK, total), 5u);
	EXPECT_EQ(pavo_read_span(&m.r, policy, 0, 1), 1u);
}

TEST(Recovery, ResponsesHaveTheirPlaceInAChunk)
{
	constexpr uint32_t chunk = PAVO_READ_CHUNK, total = 2 * chunk + 5;
	Machine m(0xfffff0);
	auto in_place = [&](uint32_t n, uint32_t npkts, bool first, bool last) {
		return pavo_recovery_is_in_place(&m.r, m.psn(n), n, npkts,
						 total, first, last);
	};

	EXPECT_TRUE(in_place(0, 1, true, false));
	EXPECT_FALSE(in_place(0, 1, false, false));
	EXPECT_FALSE(in_place(0, 1, true, true));
	EXPECT_TRUE(in_place(1, 1, false, false));
	EXPECT_TRUE(in_place(chunk - 1, 1, false, true));
	EXPECT_TRUE(in_place(0, chunk, true, true));
	EXPECT_FALSE(in_place(1, chunk, false, false));
	EXPECT_TRUE(in_place(total - 1, 1, false, true));
	/* Requested from the middle on. */
	EXPECT_FALSE(in_place(7, 1, true, false));
	m.post(total, true);
	pavo_recovery_seek(&m.r, m.psn(7));
	m.send(chunk - 7, true, true);
	EXPECT_TRUE(in_place(7, 1, true, false));
	EXPECT_TRUE(in_place(7, 1, false, false));
	EXPECT_FALSE(in_place(8, 1, true, false));
}

/* Two atomics; the answer to the second one comes first, is held, and both are sent again. */
void answer_held(Machine &m, unsigned posted)
{
	for (unsigned i = 0; i < posted; i++)
		m.post(1, true);
	m.send(1, true);
	m.send(1, true);
	EXPECT_TRUE(m.respond(1) & PAVO_REC_IMPLIED_NAK);
	EXPECT_EQ(m.r.reads_out, 0u);
	m.send(1, true);
	m.send(1, true);
	EXPECT_EQ(m.respond(0), unsigned{PAVO_REC_TAKE});
	m.take(1, true);
	EXPECT_EQ(m.r.reads_out, 1u);
	EXPECT_EQ(m.respond(1), unsigned{PAVO_REC_TAKE});
	m.take(2, true, true);
}

TEST(Recovery, ARequestThatWasSentAgainCountsUntilItsCopyIsAnswered)
{
	Machine m(0);

	answer_held(m, 4);
	EXPECT_EQ(m.r.reads_out, 1u);
	m.send(1, true);
	EXPECT_EQ(m.r.reads_out, 2u);
	EXPECT_FALSE(pavo_recovery_may_read(&m.r, 2));
	pavo_recovery_answered_twice(&m.r);
	EXPECT_TRUE(pavo_recovery_may_read(&m.r, 2));
	/* Its copy is answered once. */
	pavo_recovery_answered_twice(&m.r);
	EXPECT_EQ(m.r.reads_out, 1u);
}

TEST(Recovery, ALaterAnswerShowsThatTheCopyWasAnswered)
{
	Machine m(0);

	answer_held(m, 4);
	m.send(1, true);
	EXPECT_FALSE(pavo_recovery_may_read(&m.r, 2));
	EXPECT_EQ(m.respond(2), unsigned{PAVO_REC_TAKE});
	m.take(3, true);
	EXPECT_EQ(m.r.reads_out, 0u);
}

TEST(Recovery, WhatIsCountedForCopiesAloneStopsNoRequest)
{
	Machine m(0);

	answer_held(m, 3);
	EXPECT_EQ(m.r.reads_out, 1u);
	EXPECT_EQ(pavo_recovery_get_reads(&m.r), 0u);
	EXPECT_TRUE(pavo_recovery_may_read(&m.r, 1));
	m.send(1, true);
	EXPECT_FALSE(pavo_recovery_may_read(&m.r, 1));
}

TEST(Recovery, AtRestNothingIsCounted)
{
	Machine m(0);

	answer_held(m, 2);
	EXPECT_EQ(m.r.reads_out, 0u);
	EXPECT_EQ(m.r.reads_resent, 0u);
}

TEST(Recovery, FlushAndSkipLeaveNothingOutstanding)
{
	Machine m(0xfffffe);

	m.post(4);
	m.post(4, true);
	m.send(4);
	m.nak(2);
	pavo_recovery_flush(&m.r);
	EXPECT_EQ(running_timer(m.r), '-');
	EXPECT_EQ(pavo_mq_find_oldest(&m.r.outstanding.reads), nullptr);
	EXPECT_EQ(pavo_mq_find_oldest(&m.r.outstanding.sends), nullptr);
	EXPECT_EQ(m.at(m.r.next), 8);
	pavo_recovery_skip(&m.r);
	EXPECT_EQ(m.at(m.r.upsn), 8);
	EXPECT_EQ(m.at(m.r.sent), 8);
}

} // namespace
} // namespace recovery
