// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recovery_channel_test.cpp - messages across a channel that loses and reorders packets, towards a
 * peer without SACKs (go-back-N) and towards one with them (selective repair).
 */
#include "recovery_channel.h"

#include <gtest/gtest.h>

namespace channel {
namespace {

enum Mix { WRITES, READS, BOTH };

struct Result {
	uint64_t ticks, psns, again, lost;
};

/* Move messages across the channel until all are complete. */
void run(bool sacks, Mix mix, Faults faults, uint32_t messages,
	 unsigned int seed, Result &result)
{
	constexpr uint64_t delay = 50 * tick;
	Random random(seed);
	/* PSNs wrap on the way. */
	uint32_t psn = pavo_psn_add(0, -static_cast<int>(random.below(2000)));
	Wire out(random, delay, faults), back(random, delay, faults);
	ModelRequester requester(sacks, psn, out);
	ModelResponder responder(psn, sacks, back);
	std::vector<uint32_t> all, reads;
	uint64_t now = tick;

	for (uint32_t i = 0; i < messages; i++) {
		uint32_t npkts = 1 + random.below(100);
		bool read = mix == READS || (mix == BOTH && random.coin());

		for (uint32_t n = 0; n < npkts; n++) {
			all.push_back(pavo_psn_add(psn, all.size()));
			if (read)
				reads.push_back(all.back());
		}
		requester.post(npkts, read);
	}
	for (Packet packet; !requester.is_done(); now += tick) {
		ASSERT_LT(now, 10000000 * tick);
		ASSERT_FALSE(requester.failed);
		while (out.pop(now, packet))
			responder.take(now, packet);
		while (back.pop(now, packet))
			requester.take(now, packet);
		requester.check_timers(now);
		requester.send(now);
	}
	/* Each packet was executed once and in order, each response taken once and in order. */
	ASSERT_EQ(responder.executed, all);
	ASSERT_EQ(requester.taken, reads);
	ASSERT_EQ(requester.completed, messages);
	ASSERT_EQ(requester.r.timer.loss, 0u);
	ASSERT_EQ(requester.r.timer.repair, 0u);
	ASSERT_TRUE(!sacks || pavo_board_is_clean(requester.r.board));
	ASSERT_EQ(requester.r.reads_out, 0u);
	result.ticks += now / tick;
	result.psns += all.size();
	result.again += requester.again;
	result.lost += out.lost + back.lost;
}

Result run_many(bool sacks, Mix mix, Faults faults, uint32_t messages = 30)
{
	Result result{};

	for (unsigned int seed = 0; seed < 5; seed++)
		run(sacks, mix, faults, messages, seed, result);
	return result;
}

/* In thousandths. */
constexpr uint32_t losses[] = {1, 10, 50, 200};

TEST(Channel, NothingIsSentTwiceIfNothingIsLost)
{
	for (Mix mix : {WRITES, READS, BOTH}) {
		EXPECT_EQ(run_many(false, mix, {}).again, 0u);
		EXPECT_EQ(run_many(true, mix, {}).again, 0u);
	}
}

TEST(Channel, GoBackNMovesAllMessages)
{
	for (Mix mix : {WRITES, READS, BOTH})
		for (uint32_t loss : losses)
			run_many(false, mix, {.loss = loss});
}

TEST(Channel, SelectiveRepairMovesAllMessages)
{
	for (Mix mix : {WRITES, READS, BOTH})
		for (uint32_t loss : losses)
			run_many(true, mix, {.loss = loss});
}

TEST(Channel, SelectiveRepairMovesAllMessagesOutOfOrder)
{
	for (Mix mix : {WRITES, READS, BOTH})
		for (uint32_t loss : {0u, 10u, 200u})
			run_many(true, mix, {.loss = loss, .reorder = 250});
}

/* Fewer packets, less time. */
TEST(Channel, SelectiveRepairSendsLittleMoreThanWhatWasLost)
{
	for (uint32_t loss : {10u, 50u}) {
		for (Mix mix : {WRITES, READS}) {
			Result back = run_many(false, mix, {.loss = loss});
			Result repair = run_many(true, mix, {.loss = loss});

			EXPECT_LT(repair.again, 2 * repair.lost) << loss;
			EXPECT_LT(repair.ticks, back.ticks) << loss;
			if (mix == WRITES) {
				EXPECT_LT(5 * repair.again, back.again) << loss;
			}
		}
	}
}

/*
 * Packets that are overtaken are not taken for lost, once that was seen; also if some need next to no
 * time.
 */
TEST(Channel, ReorderingIsNotLoss)
{
	for (Mix mix : {WRITES, READS}) {
		Result near = run_many(true, mix, {.reorder = 250}, 300);
		Result far = run_many(true, mix,
				      {.reorder = 250, .reorder_by = 50}, 300);

		EXPECT_LT(100 * near.again, near.psns) << mix;
		EXPECT_LT(50 * far.again, far.psns) << mix;
		EXPECT_LT(2 * far.ticks, 3 * far.psns) << mix;
	}
}

} // namespace
} // namespace channel
