// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * drr_test.cpp - turns and credits: shares by weight, credits that are never more than there
 * are, and none that waits for ever, against an adapter that is played here.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "random.h"

extern "C" {
#include "drr.h"
}

namespace {

constexpr uint32_t quantum = 32;

/* A queue pair that always has something to send; what it sent waits for an answer. */
struct Sender {
	pavo_drr_queue queue;
	pavo_pool pool = PAVO_POOL_SENDS;
	uint8_t level = 0;
	uint32_t cwnd = 128;
	uint64_t sent = 0;
	uint32_t in_flight = 0;
	bool called = false; /* its work is queued */
};

class Adapter {
public:
	Adapter(uint32_t sends, uint32_t reads, size_t count) : senders(count)
	{
		pavo_drr_init(&drr, quantum, sends, reads);
		for (Sender &sender : senders)
			pavo_drr_queue_init(&sender.queue, PAVO_KIND_REQUESTS,
					    quantum);
	}

	Sender *of(pavo_drr_queue *queue)
	{
		for (Sender &sender : senders)
			if (&sender.queue == queue)
				return &sender;
		return nullptr;
	}

	void call_next()
	{
		pavo_drr_queue *queue = pavo_drr_next(&drr);

		if (queue)
			of(queue)->called = true;
	}

	/* As transmit.c and drr_queue.c do it. */
	void visit(Sender &sender, uint32_t burst)
	{
		uint32_t n;

		settle(sender);
		while (sender.in_flight < sender.cwnd) {
			sender.queue.level = sender.level;
			n = std::min(burst, sender.cwnd - sender.in_flight);
			n = pavo_drr_take(&drr, &sender.queue, sender.pool, n);
			if (!n) {
				call_next();
				break;
			}
			sender.queue.spent += n;
			sender.sent += n;
			sender.in_flight += n;
			check();
		}
		settle(sender);
		pavo_drr_end_round(&drr, &sender.queue);
		call_next();
	}

	void settle(Sender &sender)
	{
		for (pavo_pool pool : {PAVO_POOL_SENDS, PAVO_POOL_READS})
			pavo_drr_hold_credits(
				&drr, &sender.queue, pool,
				pool == sender.pool ? sender.in_flight : 0);
		check();
	}

	/* One that was called, or one whose packets were answered. False: nothing can happen. */
	bool step(Random &random, uint32_t burst)
	{
		std::vector<Sender *> called, answered;

		for (Sender &sender : senders) {
			if (sender.called)
				called.push_back(&sender);
			if (sender.in_flight)
				answered.push_back(&sender);
		}
		if (called.empty() && answered.empty())
			return false;
		if (!called.empty() && (answered.empty() || random.coin())) {
			Sender &next = *called[random.below(called.size())];

			next.called = false;
			pavo_drr_begin_round(&drr, &next.queue);
			visit(next, burst);
			return true;
		}
		Sender &next = *answered[random.below(answered.size())];
		next.in_flight -= 1 + random.below(next.in_flight);
		visit(next, burst);
		return true;
	}

	void check() const
	{
		for (int pool = 0; pool < PAVO_POOLS; pool++) {
			const pavo_pool_state &state = drr.pool[pool];
			uint64_t held = 0;

			for (const Sender &sender : senders)
				held += sender.queue.held[pool];
			ASSERT_EQ(state.used, held);
			ASSERT_LE(state.used, state.most);
			if (state.limit) {
				ASSERT_LE(state.most, state.limit);
			}
		}
	}

	pavo_drr drr;
	std::vector<Sender> senders;
};

TEST(Drr, AreOffWhileWeightsAreEqualAndCreditsUnlimited)
{
	Adapter adapter(0, 0, 1);
	pavo_drr_queue &queue = adapter.senders[0].queue;

	EXPECT_FALSE(adapter.drr.on);
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(pavo_drr_take(&adapter.drr, &queue, PAVO_POOL_SENDS,
					32),
			  32u);
	EXPECT_EQ(queue.held[PAVO_POOL_SENDS], 0u);
	for (auto &weights : adapter.drr.weight) {
		weights[3] = 2;
		pavo_drr_enable(&adapter.drr);
		EXPECT_TRUE(adapter.drr.on);
		weights[3] = 1;
	}
	for (auto &weights : adapter.drr.weight)
		std::ranges::fill(weights, 2);
	pavo_drr_enable(&adapter.drr);
	EXPECT_FALSE(adapter.drr.on);
	adapter.drr.pool[PAVO_POOL_READS].limit = 1;
	pavo_drr_enable(&adapter.drr);
	EXPECT_TRUE(adapter.drr.on);
}

TEST(Drr, AQueueThatHasSpentItsDeficitWaitsForTheNextRound)
{
	Adapter adapter(0, 0, 2);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *a = &adapter.senders[0].queue,
		       *b = &adapter.senders[1].queue;

	drr->weight[PAVO_KIND_REQUESTS][1] = 3;
	pavo_drr_enable(drr);
	b->level = 1;
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 20), 20u);
	a->spent = 40; /* a super-packet may be longer than the deficit */
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 20), 0u);
	EXPECT_EQ(pavo_drr_next(drr), a);
	/* It is called, and has to begin its round. */
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 20), 0u);
	pavo_drr_end_round(drr, a);
	EXPECT_EQ(pavo_drr_next(drr), nullptr);
	pavo_drr_begin_round(drr, a);
	EXPECT_EQ(a->deficit, 24);
	/* It is being served, so no other is called. */
	b->spent = 32;
	EXPECT_EQ(pavo_drr_take(drr, b, PAVO_POOL_SENDS, 1), 0u);
	EXPECT_EQ(pavo_drr_next(drr), nullptr);
	pavo_drr_end_round(drr, a);
	EXPECT_EQ(pavo_drr_next(drr), b);
	pavo_drr_begin_round(drr, b);
	EXPECT_EQ(b->deficit, 96);
	pavo_drr_begin_round(drr, b);
	EXPECT_EQ(b->deficit, 96);
}

TEST(Drr, ResponsesHaveWeightsOfTheirOwn)
{
	Adapter adapter(0, 0, 2);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *requests = &adapter.senders[0].queue,
		       *responses = &adapter.senders[1].queue;

	pavo_drr_queue_init(responses, PAVO_KIND_RESPONSES, quantum);
	drr->weight[PAVO_KIND_RESPONSES][0] = 5;
	pavo_drr_enable(drr);
	for (pavo_drr_queue *queue : {requests, responses}) {
		queue->spent = quantum;
		EXPECT_EQ(pavo_drr_take(drr, queue, PAVO_POOL_NONE, 1), 0u);
		EXPECT_EQ(pavo_drr_next(drr), queue);
		pavo_drr_begin_round(drr, queue);
		pavo_drr_end_round(drr, queue);
	}
	EXPECT_EQ(requests->deficit, int(quantum));
	EXPECT_EQ(responses->deficit, 5 * int(quantum));
}

TEST(Drr, StrictPriorityIsServedBeforeAllWeights)
{
	Adapter adapter(4, 0, 3);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *a = &adapter.senders[0].queue,
		       *b = &adapter.senders[1].queue,
		       *strict = &adapter.senders[2].queue;

	drr->weight[PAVO_KIND_REQUESTS][5] = PAVO_WEIGHT_STRICT;
	pavo_drr_enable(drr);
	EXPECT_TRUE(drr->on);
	strict->level = 5;
	/* It waits for its round behind two others, and is the first all the same. */
	for (pavo_drr_queue *queue : {a, b, strict}) {
		queue->spent = quantum;
		EXPECT_EQ(pavo_drr_take(drr, queue, PAVO_POOL_NONE, 1), 0u);
	}
	EXPECT_EQ(pavo_drr_next(drr), strict);
	pavo_drr_begin_round(drr, strict);
	EXPECT_EQ(strict->deficit, int(quantum));
	strict->spent = quantum;
	EXPECT_EQ(pavo_drr_take(drr, strict, PAVO_POOL_NONE, 1), 0u);
	pavo_drr_end_round(drr, strict);
	EXPECT_EQ(pavo_drr_next(drr), strict);
	pavo_drr_begin_round(drr, strict);
	pavo_drr_end_round(drr, strict);
	EXPECT_EQ(pavo_drr_next(drr), a);
	pavo_drr_begin_round(drr, a);
	/* A credit that is free is its, though another waits; no other gets one before it. */
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 4), 4u);
	pavo_drr_end_round(drr, a);
	EXPECT_EQ(pavo_drr_next(drr), b);
	pavo_drr_begin_round(drr, b);
	EXPECT_EQ(pavo_drr_take(drr, b, PAVO_POOL_SENDS, 1), 0u);
	pavo_drr_end_round(drr, b);
	pavo_drr_hold_credits(drr, a, PAVO_POOL_SENDS, 3);
	EXPECT_EQ(pavo_drr_take(drr, strict, PAVO_POOL_SENDS, 1), 1u);
	EXPECT_EQ(pavo_drr_next(drr), nullptr);
	/* A change of the policy runs all that wait. */
	EXPECT_EQ(pavo_drr_dequeue_any(drr), b);
	EXPECT_EQ(pavo_drr_dequeue_any(drr), nullptr);
}

TEST(Drr, AQueueThatLeavesPassesTheServiceOn)
{
	Adapter adapter(0, 4, 3);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *a = &adapter.senders[0].queue,
		       *b = &adapter.senders[1].queue;

	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_READS, 8), 4u);
	EXPECT_EQ(pavo_drr_take(drr, b, PAVO_POOL_READS, 1), 0u);
	EXPECT_EQ(pavo_drr_next(drr), nullptr);
	EXPECT_FALSE(pavo_drr_is_idle(drr, a));
	EXPECT_FALSE(pavo_drr_is_idle(drr, b));
	pavo_drr_leave(drr, a);
	EXPECT_TRUE(pavo_drr_is_idle(drr, a));
	EXPECT_EQ(pavo_drr_next(drr), b);
	EXPECT_EQ(drr->serving, b);
	pavo_drr_leave(drr, b);
	EXPECT_EQ(drr->serving, nullptr);
	EXPECT_EQ(drr->pool[PAVO_POOL_READS].used, 0u);
	EXPECT_EQ(drr->pool[PAVO_POOL_READS].most, 4u);
}

TEST(Drr, CreditsGoToWaitingQueuesBeforeTheirLastOwner)
{
	Adapter adapter(4, 0, 2);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *a = &adapter.senders[0].queue,
		       *b = &adapter.senders[1].queue;

	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 4), 4u);
	EXPECT_EQ(pavo_drr_take(drr, b, PAVO_POOL_SENDS, 1), 0u);
	pavo_drr_hold_credits(drr, a, PAVO_POOL_SENDS, 2);
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 1), 0u);
	EXPECT_EQ(pavo_drr_next(drr), b);
	pavo_drr_begin_round(drr, b);
	EXPECT_EQ(pavo_drr_take(drr, b, PAVO_POOL_SENDS, 4), 2u);
}

TEST(Drr, ThoseOfAPoolDoNotWaitForCreditsOfTheOther)
{
	Adapter adapter(1, 1, 3);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *a = &adapter.senders[0].queue,
		       *b = &adapter.senders[1].queue,
		       *c = &adapter.senders[2].queue;

	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 1), 1u);
	EXPECT_EQ(pavo_drr_take(drr, b, PAVO_POOL_SENDS, 1), 0u);
	c->spent = quantum;
	EXPECT_EQ(pavo_drr_take(drr, c, PAVO_POOL_READS, 1), 0u);
	EXPECT_EQ(pavo_drr_next(drr), c);
	pavo_drr_begin_round(drr, c);
	EXPECT_EQ(pavo_drr_take(drr, c, PAVO_POOL_READS, 1), 1u);
}

TEST(Drr, ALimitThatIsLoweredIsKeptOnceCreditsAreBack)
{
	Adapter adapter(8, 0, 1);
	pavo_drr *drr = &adapter.drr;
	pavo_drr_queue *a = &adapter.senders[0].queue;

	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 8), 8u);
	drr->pool[PAVO_POOL_SENDS].limit = 2;
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 1), 0u);
	EXPECT_EQ(pavo_drr_next(drr), nullptr);
	pavo_drr_hold_credits(drr, a, PAVO_POOL_SENDS, 1);
	EXPECT_EQ(pavo_drr_next(drr), a);
	pavo_drr_begin_round(drr, a);
	EXPECT_EQ(pavo_drr_take(drr, a, PAVO_POOL_SENDS, 4), 1u);
}

TEST(Drr, WaitingQueuesAreDismissedWhenDrrIsOff)
{
	Adapter adapter(1, 0, 3);
	pavo_drr *drr = &adapter.drr;

	for (Sender &sender : adapter.senders)
		pavo_drr_take(drr, &sender.queue, PAVO_POOL_SENDS, 1);
	drr->pool[PAVO_POOL_SENDS].limit = 0;
	pavo_drr_enable(drr);
	EXPECT_EQ(pavo_drr_dequeue_any(drr), &adapter.senders[1].queue);
	EXPECT_EQ(pavo_drr_dequeue_any(drr), &adapter.senders[2].queue);
	EXPECT_EQ(pavo_drr_dequeue_any(drr), nullptr);
	EXPECT_EQ(pavo_drr_take(drr, &adapter.senders[1].queue, PAVO_POOL_SENDS,
				7),
		  7u);
}

/* Shares by weight, for any super-packets, with scarce credits or without any. */
class Shares : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {};

TEST_P(Shares, AreThoseOfTheWeights)
{
	const auto [credits, burst] = GetParam();
	Adapter adapter(credits, 0, 8);
	Random random(credits + burst);
	uint64_t sum = 0;

	/* Queues wait for the adapter only: responses arrive at once. */
	for (int level = 0; level < 4; level++)
		adapter.drr.weight[PAVO_KIND_REQUESTS][level] = 1u << level;
	pavo_drr_enable(&adapter.drr);
	for (size_t i = 0; i < 8; i++) {
		adapter.senders[i].level = uint8_t(i % 4);
		adapter.senders[i].cwnd = ~0u;
	}
	for (Sender &sender : adapter.senders)
		adapter.visit(sender, burst);
	for (int i = 0; i < 20000; i++)
		ASSERT_TRUE(adapter.step(random, burst));
	for (const Sender &sender : adapter.senders)
		sum += sender.sent;
	for (const Sender &sender : adapter.senders) {
		const double want = double(sum) * (1 << sender.level) / 30;

		EXPECT_NEAR(double(sender.sent), want, want * 0.2)
			<< "weight " << (1 << sender.level);
	}
}

INSTANTIATE_TEST_SUITE_P(Drr, Shares,
			 testing::Values(std::pair{0u, 1u}, std::pair{0u, 15u},
					 std::pair{8u, 1u}, std::pair{8u, 15u},
					 std::pair{64u, 32u}));

/* At random: pools are never overdrawn (check()), all that waits goes on, nothing is kept. */
TEST(Drr, AtRandomNoneStarvesAndNoCreditIsLost)
{
	for (unsigned seed = 0; seed < times(8); seed++) {
		Random random(seed);
		Adapter adapter(random.below(20), random.below(8),
				2 + random.below(40));
		pavo_drr *drr = &adapter.drr;

		drr->weight[PAVO_KIND_REQUESTS][1] = 1 + random.below(8);
		pavo_drr_enable(drr);
		for (Sender &sender : adapter.senders) {
			sender.level = uint8_t(random.below(2));
			sender.cwnd = 1 + random.below(128);
			sender.pool = pavo_pool(random.below(PAVO_POOLS));
		}
		for (Sender &sender : adapter.senders)
			adapter.visit(sender, 1 + random.below(32));
		for (int i = 0; i < 20000; i++)
			ASSERT_TRUE(adapter.step(random, 1 + random.below(32)));
		for (const Sender &sender : adapter.senders)
			EXPECT_GT(sender.sent, 0u) << "seed " << seed;
		for (Sender &sender : adapter.senders)
			pavo_drr_leave(drr, &sender.queue);
		for (const pavo_pool_state &pool : drr->pool)
			EXPECT_EQ(pool.used, 0u);
		EXPECT_EQ(pavo_drr_next(drr), nullptr);
	}
}

} // namespace
