// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * multiqueue_test.cpp - outstanding requests: the queue itself, and what an
 * acknowledgement or a response means for them, against a model that counts
 * without wrapping.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <optional>
#include <vector>

#include "random.h"

extern "C" {
#include "requester/multiqueue.h"
#include "wire/psn.h"
}

namespace {

constexpr uint32_t half = 1 << 23;

/* A queue with its ring, at any point of its free-running counters. */
struct Queue {
	explicit Queue(uint32_t count, uint32_t counter = 0) : ring(count)
	{
		pavo_mq_init(&mq, ring.data(), count);
		mq.head = counter;
		mq.tail = counter;
	}

	std::vector<pavo_mq_entry> ring;
	pavo_mq mq;
};

/* WQE number at the head; nothing if empty. */
std::optional<uint32_t> oldest(const pavo_mq &mq)
{
	const pavo_mq_entry *entry = pavo_mq_find_oldest(&mq);

	return entry ? std::optional(entry->wqe) : std::nullopt;
}

/* ------------------------------------------------------------------- queue */

TEST(Queue, IsEmptyAtFirst)
{
	Queue queue(4);

	EXPECT_EQ(oldest(queue.mq), std::nullopt);
	pavo_mq_release(&queue.mq, 0x800000);
	EXPECT_EQ(oldest(queue.mq), std::nullopt);
}

TEST(Queue, KeepsWhatItIsGiven)
{
	Queue queue(4);

	ASSERT_EQ(pavo_mq_produce(&queue.mq, 0xfffffffe, 0xabcdef, 77), 0);
	const pavo_mq_entry *entry = pavo_mq_find_oldest(&queue.mq);

	ASSERT_NE(entry, nullptr);
	EXPECT_EQ(entry->wqe, 0xfffffffeu);
	EXPECT_EQ(entry->first, 0xabcdefu);
	EXPECT_EQ(entry->npkts, 77u);
}

TEST(Queue, TakesAsManyAsItHasEntriesAndNoMore)
{
	for (uint32_t count : {1u, 2u, 8u, 1024u}) {
		/* Also where the free-running counters wrap. */
		for (uint32_t counter : {0u, 0xfffffffeu, 0x7fffffffu}) {
			Queue queue(count, counter);

			for (uint32_t i = 0; i < count; i++)
				ASSERT_EQ(pavo_mq_produce(&queue.mq, i, i, 1),
					  0);
			ASSERT_EQ(pavo_mq_produce(&queue.mq, 999, 999, 1),
				  -ENOSPC);
			/* The refused one has overwritten nothing. */
			for (uint32_t i = 0; i < count; i++) {
				ASSERT_EQ(oldest(queue.mq), i);
				pavo_mq_release(&queue.mq, i + 1);
			}
			EXPECT_EQ(oldest(queue.mq), std::nullopt);
			EXPECT_EQ(pavo_mq_produce(&queue.mq, 5, count, 1), 0);
		}
	}
}

TEST(Queue, ReleasesWholeMessagesOnly)
{
	for (uint32_t first : {0u, 0x7ffffeu, 0xfffffdu, 0xffffffu}) {
		Queue queue(4);

		pavo_mq_produce(&queue.mq, 1, first, 4);
		pavo_mq_produce(&queue.mq, 2, pavo_psn_add(first, 4), 1);
		for (int done = 0; done < 4; done++) {
			pavo_mq_release(&queue.mq, pavo_psn_add(first, done));
			EXPECT_EQ(oldest(queue.mq), 1u) << done << " done";
		}
		pavo_mq_release(&queue.mq, pavo_psn_add(first, 4));
		EXPECT_EQ(oldest(queue.mq), 2u);
		pavo_mq_release(&queue.mq, pavo_psn_add(first, 5));
		EXPECT_EQ(oldest(queue.mq), std::nullopt);
	}
}

TEST(Queue, ReleasesSeveralAtOnce)
{
	Queue queue(8);

	for (uint32_t i = 0; i < 5; i++)
		pavo_mq_produce(&queue.mq, i, pavo_psn_add(0xfffffe, i * 2), 2);
	pavo_mq_release(&queue.mq, pavo_psn_add(0xfffffe, 7));
	EXPECT_EQ(oldest(queue.mq), 3u);
	pavo_mq_release(&queue.mq, pavo_psn_add(0xfffffe, 100));
	EXPECT_EQ(oldest(queue.mq), std::nullopt);
}

/* UPSN may still be before a message that waits behind others. */
TEST(Queue, KeepsWhatIsNotReachedYet)
{
	Queue queue(4);

	pavo_mq_produce(&queue.mq, 1, 10, 1);
	for (int before : {1, 2, 128, 5000}) {
		pavo_mq_release(&queue.mq, pavo_psn_add(10, -before));
		EXPECT_EQ(oldest(queue.mq), 1u);
	}
}

TEST(Queue, LongestMessages)
{
	Queue queue(4);

	pavo_mq_produce(&queue.mq, 1, 0x123456, half - 1);
	pavo_mq_release(&queue.mq, pavo_psn_add(0x123456, half - 2));
	EXPECT_EQ(oldest(queue.mq), 1u);
	pavo_mq_release(&queue.mq, pavo_psn_add(0x123456, half - 1));
	EXPECT_EQ(oldest(queue.mq), std::nullopt);
}

/* 2 GiB - 1 in packets of 256 bytes: half of the circle, behind another. */
TEST(Queue, HalfTheCircle)
{
	Queue queue(4);

	pavo_mq_produce(&queue.mq, 1, 0x123456 - 3, 3);
	pavo_mq_produce(&queue.mq, 2, 0x123456, half);
	pavo_mq_release(&queue.mq, 0x123456 - 1);
	EXPECT_EQ(oldest(queue.mq), 1u);
	pavo_mq_release(&queue.mq, 0x123456);
	EXPECT_EQ(oldest(queue.mq), 2u);
	for (uint32_t done : {1u, half / 2 - 1, half / 2, half - 1}) {
		pavo_mq_release(&queue.mq, pavo_psn_add(0x123456, done));
		EXPECT_EQ(oldest(queue.mq), 2u) << done;
	}
	pavo_mq_release(&queue.mq, pavo_psn_add(0x123456, half));
	EXPECT_EQ(oldest(queue.mq), std::nullopt);
}

/* ----------------------------------------------------------------- verdicts */

/* The two queues of a QP, UPSN and the PSN behind the last one sent. */
struct Outstanding {
	explicit Outstanding(uint32_t start)
		: reads(64), sends(64), upsn(start), sent(start)
	{
	}

	Outstanding &send(uint32_t npkts) { return add(sends, npkts); }
	Outstanding &read(uint32_t npkts) { return add(reads, npkts); }

	pavo_ack_verdict ack(int rpsn)
	{
		return judge(pavo_multiqueue_ack, rpsn);
	}

	pavo_ack_verdict response(int rpsn)
	{
		return judge(pavo_multiqueue_response, rpsn);
	}

	/* All of @rpsn and @until counted from the UPSN at the beginning. */
	template <typename Judge> pavo_ack_verdict judge(Judge *judge, int rpsn)
	{
		pavo_multiqueue both = {reads.mq, sends.mq};
		uint32_t psn = 0xdeadbeef;
		pavo_ack_verdict verdict = judge(
			&both, upsn, sent, pavo_psn_add(upsn, rpsn), &psn);

		until = verdict == PAVO_ACK_DROP ? -1 :
						   pavo_psn_diff(psn, upsn);
		return verdict;
	}

	Queue reads;
	Queue sends;
	uint32_t upsn;
	uint32_t sent;
	int until = -1;

private:
	Outstanding &add(Queue &queue, uint32_t npkts)
	{
		EXPECT_EQ(pavo_mq_produce(&queue.mq, 0, sent, npkts), 0);
		sent = pavo_psn_add(sent, static_cast<int>(npkts));
		return *this;
	}
};

/* Everything below is tried with PSNs that wrap at every possible place. */
class Verdict : public testing::TestWithParam<uint32_t> {};

TEST_P(Verdict, NothingOutstandingNothingAcknowledged)
{
	Outstanding o(GetParam());

	for (int rpsn : {-2, -1, 0, 1, 1000, int(half) - 1, -int(half)}) {
		EXPECT_EQ(o.ack(rpsn), PAVO_ACK_DROP) << rpsn;
		EXPECT_EQ(o.response(rpsn), PAVO_ACK_DROP) << rpsn;
	}
}

TEST_P(Verdict, AckReleasesUpToItsPsn)
{
	Outstanding o(GetParam());

	o.send(1).send(3).send(1);
	for (int rpsn = 0; rpsn < 5; rpsn++) {
		EXPECT_EQ(o.ack(rpsn), PAVO_ACK_RELEASE);
		EXPECT_EQ(o.until, rpsn + 1);
	}
}

TEST_P(Verdict, AckOfThePastOrTheFutureIsDropped)
{
	Outstanding o(GetParam());

	o.send(5);
	for (int rpsn : {-1, -2, -1000, 5, 6, 1000, int(half) - 1, -int(half)})
		EXPECT_EQ(o.ack(rpsn), PAVO_ACK_DROP) << rpsn;
}

TEST_P(Verdict, AckAcrossAReadMeansItsResponsesAreLost)
{
	Outstanding o(GetParam());

	o.send(2).read(4).send(2);
	EXPECT_EQ(o.ack(0), PAVO_ACK_RELEASE);
	EXPECT_EQ(o.until, 1);
	EXPECT_EQ(o.ack(1), PAVO_ACK_RELEASE);
	EXPECT_EQ(o.until, 2);
	for (int rpsn = 2; rpsn < 8; rpsn++) {
		EXPECT_EQ(o.ack(rpsn), PAVO_ACK_READ_LOST) << rpsn;
		EXPECT_EQ(o.until, 2); /* released up to the read */
	}
	EXPECT_EQ(o.ack(8), PAVO_ACK_DROP);
}

TEST_P(Verdict, AckWithinAReadLosesFromWhereItIs)
{
	Outstanding o(GetParam());

	o.read(4).send(2);
	o.upsn = pavo_psn_add(o.upsn, 2); /* two responses are here */
	EXPECT_EQ(o.ack(0), PAVO_ACK_READ_LOST);
	EXPECT_EQ(o.until, 0);
	EXPECT_EQ(o.ack(3), PAVO_ACK_READ_LOST);
	EXPECT_EQ(o.until, 0);
}

TEST_P(Verdict, ResponseInOrderIsTaken)
{
	Outstanding o(GetParam());

	o.read(3);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(o.response(0), PAVO_ACK_RELEASE);
		EXPECT_EQ(o.until, 0);
		o.upsn = pavo_psn_add(o.upsn, 1);
	}
}

TEST_P(Verdict, ResponseAcknowledgesWhatPrecedesTheRead)
{
	Outstanding o(GetParam());

	o.send(3).read(2);
	EXPECT_EQ(o.response(3), PAVO_ACK_RELEASE);
	EXPECT_EQ(o.until, 3);
}

TEST_P(Verdict, ResponseWithAGapBeforeIsAReadLost)
{
	Outstanding o(GetParam());

	o.send(1).read(3).send(1).read(2);
	for (int rpsn : {2, 3, 5, 6}) {
		EXPECT_EQ(o.response(rpsn), PAVO_ACK_READ_LOST) << rpsn;
		EXPECT_EQ(o.until, 1);
	}
}

TEST_P(Verdict, ResponseToNoReadIsDropped)
{
	Outstanding none(GetParam());

	none.send(3);
	for (int rpsn = -1; rpsn < 4; rpsn++)
		EXPECT_EQ(none.response(rpsn), PAVO_ACK_DROP) << rpsn;

	Outstanding o(GetParam());

	o.send(3).read(2).send(1);
	for (int rpsn : {-1, 0, 1, 2, 6, 7, 1000, -int(half)})
		EXPECT_EQ(o.response(rpsn), PAVO_ACK_DROP) << rpsn;
}

TEST_P(Verdict, DuplicateResponseIsDropped)
{
	Outstanding o(GetParam());

	o.read(4).send(1);
	o.upsn = pavo_psn_add(o.upsn, 2);
	EXPECT_EQ(o.response(-2), PAVO_ACK_DROP);
	EXPECT_EQ(o.response(-1), PAVO_ACK_DROP);
	EXPECT_EQ(o.response(0), PAVO_ACK_RELEASE);
}

INSTANTIATE_TEST_SUITE_P(FromPsn, Verdict,
			 testing::Values(0u, 1u, 0x7ffffcu, 0x7fffffu,
					 0x800000u, 0xfffff9u, 0xfffffbu,
					 0xfffffdu, 0xfffffeu, 0xffffffu),
			 testing::PrintToStringParamName());

/* -------------------------------------------------------------------- model */

/* The same with PSNs that never wrap and one list instead of two queues. */
class Model {
public:
	struct Message {
		bool read;
		uint64_t first;
		uint64_t end;
	};

	struct Judgement {
		pavo_ack_verdict verdict;
		uint64_t until;

		bool operator==(const Judgement &) const = default;
	};

	explicit Model(uint64_t start) : upsn(start), sent(start) {}

	void produce(bool read, uint32_t npkts)
	{
		messages.push_back({read, sent, sent + npkts});
		sent += npkts;
	}

	void release(uint64_t psn)
	{
		upsn = psn;
		while (!messages.empty() && messages.front().end <= psn)
			messages.pop_front();
	}

	Judgement ack(uint64_t rpsn) const
	{
		if (rpsn < upsn || rpsn >= sent)
			return {PAVO_ACK_DROP, 0};
		for (uint64_t psn = upsn; psn <= rpsn; psn++)
			if (is_read(psn))
				return {PAVO_ACK_READ_LOST, psn};
		return {PAVO_ACK_RELEASE, rpsn + 1};
	}

	Judgement response(uint64_t rpsn) const
	{
		if (rpsn < upsn || rpsn >= sent)
			return {PAVO_ACK_DROP, 0};
		for (uint64_t psn = upsn; psn < rpsn; psn++)
			if (is_read(psn))
				return {PAVO_ACK_READ_LOST, psn};
		if (!is_read(rpsn))
			return {PAVO_ACK_DROP, 0};
		return {PAVO_ACK_RELEASE, rpsn};
	}

	bool is_read(uint64_t psn) const
	{
		for (const Message &message : messages)
			if (psn >= message.first && psn < message.end)
				return message.read;
		return false;
	}

	std::deque<Message> messages;
	uint64_t upsn;
	uint64_t sent;
};

uint32_t wire(uint64_t psn)
{
	return static_cast<uint32_t>(psn) & PAVO_PSN_MASK;
}

struct Pair {
	explicit Pair(uint64_t start) : model(start), reads(16), sends(16) {}

	void produce(bool read, uint32_t npkts)
	{
		Queue &queue = read ? reads : sends;

		if (!pavo_mq_produce(&queue.mq, 0, wire(model.sent), npkts))
			model.produce(read, npkts);
		else
			ASSERT_EQ(queue.mq.tail - queue.mq.head, 16u);
	}

	void release(uint64_t psn)
	{
		pavo_mq_release(&reads.mq, wire(psn));
		pavo_mq_release(&sends.mq, wire(psn));
		model.release(psn);

		size_t left = reads.mq.tail - reads.mq.head + sends.mq.tail -
			      sends.mq.head;

		ASSERT_EQ(left, model.messages.size());
	}

	/* The code's judgement of RPSN @rpsn, in the model's PSNs. */
	template <typename Judge>
	Model::Judgement judge(Judge *judge, uint64_t rpsn) const
	{
		pavo_multiqueue both = {reads.mq, sends.mq};
		uint32_t psn = 0;
		pavo_ack_verdict verdict = judge(&both, wire(model.upsn),
						 wire(model.sent), wire(rpsn),
						 &psn);

		if (verdict == PAVO_ACK_DROP)
			return {verdict, 0};
		return {verdict,
			model.upsn + static_cast<uint64_t>(pavo_psn_diff(
					     psn, wire(model.upsn)))};
	}

	Model model;
	Queue reads;
	Queue sends;
};

/* Mostly what moves on; else a little before UPSN to behind the last. */
uint64_t random_rpsn(Random &random, const Model &model)
{
	auto span = static_cast<uint32_t>(model.sent - model.upsn);

	if (random.below(4))
		return model.upsn + (random.below(4) == 0);
	return model.upsn - 8 + random.below(span + 16);
}

TEST(MultiqueueModel, RandomTrafficIsJudgedAsTheModelJudges)
{
	Random random;
	/* Starts so that the PSNs wrap early on; 2^24 stands for zero. */
	Pair pair((1 << 24) + 0xffff00);
	int seen[3] = {};

	for (int i = 0; i < 300000; i++) {
		if (random.coin())
			pair.produce(random.below(3) == 0, 1 + random.below(9));
		uint64_t rpsn = random_rpsn(random, pair.model);
		bool response = random.coin();
		Model::Judgement expected = response ?
						    pair.model.response(rpsn) :
						    pair.model.ack(rpsn);

		ASSERT_EQ(response ?
				  pair.judge(pavo_multiqueue_response, rpsn) :
				  pair.judge(pavo_multiqueue_ack, rpsn),
			  expected)
			<< "round " << i;
		seen[expected.verdict]++;
		if (expected.verdict == PAVO_ACK_DROP)
			continue;
		/* A response taken is done with; what is lost stays. */
		pair.release(
			expected.until +
			(response && expected.verdict == PAVO_ACK_RELEASE));
		ASSERT_FALSE(HasFatalFailure()) << "round " << i;
	}
	for (int verdict :
	     {PAVO_ACK_DROP, PAVO_ACK_RELEASE, PAVO_ACK_READ_LOST})
		EXPECT_GT(seen[verdict], 10000) << "verdict " << verdict;
	EXPECT_GT(pair.model.sent, 0x2000000u) << "PSNs have not wrapped";
}

TEST(Multiqueue, SpanCountsThePacketsOfItsMessages)
{
	Queue sends(8, ~0u - 1);

	/* PSNs go round between the second and the third message. */
	pavo_mq_produce(&sends.mq, 0, 0xfffff0, 4);
	pavo_mq_produce(&sends.mq, 1, 0xfffff8, 8);
	pavo_mq_produce(&sends.mq, 3, 0x10, 16);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0xfffff0, 0x20), 28u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0xfffff0, 0xfffff0), 0u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0xfffff0, 0xfffff1), 1u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0xfffff2, 0xfffff6), 2u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0xfffff2, 0xfffffa), 4u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0xfffffe, 0x12), 4u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0x0, 0x10), 0u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0x18, 0x40), 8u);
	EXPECT_EQ(pavo_mq_span(&sends.mq, 0x20, 0x40), 0u);
}

} // namespace
