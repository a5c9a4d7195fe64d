// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * operation_count_test.cpp - ends of operations that a window's counter counts
 * (window/operation.h): each operation once, at either end, or its failure.
 */
#include <gtest/gtest.h>

#include "operation_env.h"

namespace {

using namespace operation_env;

constexpr uint8_t counter = 5;

/* A machine that names the counter, or whose rCxt is bound to it. */
struct Counting : Machine {
	using Machine::Machine;

	/* A frame of this end's process, carried out. */
	void ask(pavo_frame_type type, uint64_t tid, uint16_t attempts = 0)
	{
		request(type, tid, source | target, attempts, counter + 1);
		drain();
	}

	void drain()
	{
		note();
		while (tr.action) {
			on();
			note();
		}
	}

	void note()
	{
		if (tr.effects & (PAVO_EFFECT_COUNT | PAVO_EFFECT_FAIL)) {
			EXPECT_EQ(tr.counter, counter);
		}
		counts += (tr.effects & PAVO_EFFECT_COUNT) != 0;
		fails += (tr.effects & PAVO_EFFECT_FAIL) != 0;
	}

	void arrive(const pavo_pkt &packet)
	{
		take(packet);
		drain();
	}

	void done(uint64_t tid, uint8_t status = 0, uint16_t attempts = 0)
	{
		pavo_pkt pkt = packet(PAVO_OP_WINDOW_DONE, tid, attempts);

		pkt.rdma.status = status;
		arrive(pkt);
	}

	/* The last packet of a write. */
	void sent()
	{
		pavo_fragment next;

		tr = {};
		ASSERT_EQ(pavo_operation_next(&op, 100, &next), 0);
		pavo_operation_sent(&op, &next, &tr);
	}

	void cancel()
	{
		tr = {};
		pavo_operation_end(&op, PAVO_FRAME_CANCELLED, &tr);
		note();
	}

	int counts = 0, fails = 0;
};

TEST(OperationCount, AWriteCountsWhenItsEndIsReported)
{
	Counting m;

	m.ask(PAVO_FRAME_RDMA_WRITE, 1);
	EXPECT_EQ(m.counts, 0);
	m.done(1);
	EXPECT_EQ(m.counts, 1);
	m.done(1);
	m.cancel();
	EXPECT_EQ(m.counts, 1);
	EXPECT_EQ(m.fails, 0);
}

TEST(OperationCount, AnotherAttemptDoesNotCountAgain)
{
	Counting m;

	m.ask(PAVO_FRAME_RDMA_WRITE, 1);
	m.done(1);
	m.ask(PAVO_FRAME_RDMA_WRITE, 2, 1);
	m.done(2, 0, 1);
	m.ask(PAVO_FRAME_RDMA_WRITE, 3, 2);
	m.cancel();
	EXPECT_EQ(m.counts, 1);
	EXPECT_EQ(m.fails, 0);
	m.ask(PAVO_FRAME_RDMA_WRITE, 4);
	m.done(4);
	EXPECT_EQ(m.counts, 2);
}

/* The end reported to the process finds its FIFO full, and is reported again. */
TEST(OperationCount, AnEndWithoutAFrameCountsOnce)
{
	Counting m;

	m.ask(PAVO_FRAME_RDMA_WRITE, 1);
	m.take(Machine::packet(PAVO_OP_WINDOW_DONE, 1));
	m.note();
	ASSERT_EQ(m.tr.action, PAVO_ACTION_PUT_DONE);
	m.on(1);
	m.note();
	m.done(1);
	EXPECT_EQ(m.counts, 1);
}

TEST(OperationCount, ALaterAttemptCountsIfTheFirstWasNotOver)
{
	Counting m;

	m.ask(PAVO_FRAME_RDMA_WRITE, 1);
	m.sent();
	m.ask(PAVO_FRAME_RDMA_WRITE, 2, 1);
	EXPECT_EQ(m.op.now.tid, 2u);
	EXPECT_EQ(m.fails, 0);
	m.done(2, 0, 1);
	EXPECT_EQ(m.counts, 1);
}

TEST(OperationCount, FailuresAreStatusCancelAndAnotherOperation)
{
	Counting status, cancelled, other;

	status.ask(PAVO_FRAME_RDMA_WRITE, 1);
	status.done(1, PAVO_PVO_KEY);
	status.cancel();
	EXPECT_EQ(status.counts, 0);
	EXPECT_EQ(status.fails, 1);
	cancelled.ask(PAVO_FRAME_RDMA_WRITE, 1);
	cancelled.cancel();
	cancelled.cancel();
	EXPECT_EQ(cancelled.fails, 1);
	other.ask(PAVO_FRAME_RDMA_WRITE, 1);
	other.sent();
	other.ask(PAVO_FRAME_RDMA_WRITE, 2);
	EXPECT_EQ(other.fails, 1);
	other.done(2);
	EXPECT_EQ(other.counts, 1);
}

TEST(OperationCount, AReadCountsWhenAllDataIsInPlace)
{
	Counting m;

	m.ask(PAVO_FRAME_RDMA_READ, 1);
	m.arrive(Machine::data(1, 0, 60));
	m.arrive(Machine::data(1, 0, 60));
	EXPECT_EQ(m.counts, 0);
	m.arrive(Machine::data(1, 1, 40));
	EXPECT_EQ(m.counts, 1);
	m.ask(PAVO_FRAME_RDMA_READ, 2, 1);
	m.arrive(Machine::data(2, 0, 60, 1));
	m.cancel();
	EXPECT_EQ(m.counts, 1);
	EXPECT_EQ(m.fails, 0);
}

/* The last byte is there, but the process has no slot: nothing is complete. */
TEST(OperationCount, AReadWithoutAFrameCountsWhenItHasOne)
{
	Counting m;

	m.ask(PAVO_FRAME_RDMA_READ, 1);
	m.take(Machine::data(1, 0, 100));
	ASSERT_EQ(m.tr.action, PAVO_ACTION_PLACE);
	m.on();
	ASSERT_EQ(m.tr.action, PAVO_ACTION_PUT_DONE);
	m.on(1);
	m.note();
	EXPECT_EQ(m.counts, 0);
	m.arrive(Machine::data(1, 0, 100));
	EXPECT_EQ(m.counts, 1);
}

TEST(OperationCount, ABoundContextCountsWhatPeersWrite)
{
	Counting m;

	m.op.bound = counter + 1;
	m.arrive(Machine::data(1, 0, 60));
	m.arrive(Machine::data(1, 1, 40));
	EXPECT_EQ(m.counts, 1);
	/* The source missed the answer. */
	m.arrive(Machine::data(2, 0, 60, 1));
	m.arrive(Machine::data(2, 1, 40, 1));
	EXPECT_EQ(m.counts, 1);
	/* An attempt that the next one resumes. */
	m.arrive(Machine::data(3, 0, 60));
	m.arrive(Machine::data(4, 1, 40, 1));
	EXPECT_EQ(m.counts, 2);
	m.arrive(Machine::data(5, 0, 60));
	m.arrive(Machine::data(6, 0, 100));
	EXPECT_EQ(m.counts, 3);
	EXPECT_EQ(m.fails, 0);
}

TEST(OperationCount, ABoundContextCountsWhatPeersRead)
{
	Counting m;
	pavo_pkt read = Machine::packet(PAVO_OP_WINDOW_READ, 1);

	m.op.bound = counter + 1;
	read.rdma.flags = source;
	m.arrive(read);
	m.done(1);
	m.done(1);
	EXPECT_EQ(m.counts, 1);
}

TEST(OperationCount, ABoundContextDoesNotCountOwnRequests)
{
	Counting m;

	m.op.bound = counter + 1;
	m.request(PAVO_FRAME_RDMA_WRITE, 1, source);
	m.drain();
	m.done(1);
	EXPECT_EQ(m.counts, 0);
}

TEST(OperationCount, DataWithoutAPlaceFailsTheBoundCounter)
{
	Counting m;

	m.op.bound = counter + 1;
	m.take(Machine::data(1, 0, 60));
	ASSERT_EQ(m.tr.action, PAVO_ACTION_PLACE);
	m.on(PAVO_PVO_KEY);
	m.drain();
	EXPECT_EQ(m.fails, 1);
	EXPECT_EQ(m.counts, 0);
}

TEST(OperationCount, AnRcxtThatComesToAWindowIsBoundToNoCounter)
{
	Counting m;

	m.op.bound = m.op.counter = 1;
	m.op.counted = 9;
	pavo_operation_reset(&m.op);
	EXPECT_EQ(m.op.bound, 0);
	EXPECT_EQ(m.op.counter, 0);
	EXPECT_EQ(m.op.counted, 0u);
}

TEST(OperationCount, FramesNameACounterWhoseEndTheyLearn)
{
	struct {
		uint8_t type, flags, counter;
		uint32_t state;
	} const cases[] = {
		{PAVO_FRAME_RDMA_WRITE, source, 64, 0},
		{PAVO_FRAME_RDMA_WRITE, source, 65, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_WRITE, target, 1, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_READ, 0, 64, 0},
		{PAVO_FRAME_RDMA_READ, 0, 255, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_PIECE, source, 64, 0},
		{PAVO_FRAME_RDMA_PIECE, source, 65, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_PIECE, 0, 1, PAVO_FRAME_BAD_REQUEST},
	};

	for (auto &c : cases) {
		pavo_frame_hdr hdr{};
		pavo_rdma_request request{};
		pavo_rdma_piece piece{};
		pavo_frame_request req;
		bool is_piece = c.type == PAVO_FRAME_RDMA_PIECE;

		hdr.type = c.type;
		hdr.length = sizeof(request);
		request.flags = piece.flags = c.flags;
		request.counter = piece.counter = c.counter;
		EXPECT_EQ(is_piece ? pavo_frame_parse_piece(&req, &hdr, &piece,
							    2000) :
				     pavo_frame_parse_request(&req, &hdr,
							      &request, 1),
			  c.state)
			<< &c - cases;
		EXPECT_EQ(req.counter, c.counter);
	}
}

} // namespace
