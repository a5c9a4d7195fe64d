// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recovery_channel_test.cpp - messages across a channel that loses packets, with go-back-N and with
 * a policy for this test, selective repair. Both stand behind the same interface.
 */
#include "recovery_channel.h"

#include <gtest/gtest.h>

extern "C" {
#include "requester/go_back_n.h"
}

namespace channel {
namespace {

/* ------------------------------------------------------- selective repair */

/*
 * A requester whose peer holds what is early and says so. Lost is what lies before a packet that
 * the peer holds, as the channel keeps the order; it is sent once more, and after that only when
 * the timer has expired.
 */
struct SelectiveRepair {
	pavo_recovery r; /* the policy finds the others by this one */
	PsnSet held, lost, resent;
};

SelectiveRepair &of(pavo_recovery *r)
{
	return *reinterpret_cast<SelectiveRepair *>(r);
}

const SelectiveRepair &of(const pavo_recovery *r)
{
	return *reinterpret_cast<const SelectiveRepair *>(r);
}

/* Continue with the oldest that is lost, or behind all that was sent. */
unsigned int continue_sending(SelectiveRepair &s)
{
	uint32_t next = s.lost.empty() ? s.r.sent : *s.lost.begin();
	bool moved = next != s.r.next;

	s.r.next = next;
	return moved ? PAVO_REC_SEEK : 0;
}

/* All before @until that the peer does not hold is lost. */
unsigned int lose_until(SelectiveRepair &s, uint32_t until)
{
	bool news = false;

	for (uint32_t psn = s.r.upsn; psn != until; psn = pavo_psn_add(psn, 1))
		if (!s.held.contains(psn) && !s.resent.contains(psn))
			news |= s.lost.insert(psn).second;
	if (news)
		pavo_cwnd_lost(&s.r.cwnd);
	return continue_sending(s) | (news ? unsigned{PAVO_REC_RETRANSMIT} : 0);
}

bool sr_admits(const pavo_recovery *r, u32 npkts)
{
	const SelectiveRepair &s = of(r);
	u32 away = s.held.size() + s.lost.size();

	return pavo_cwnd_admits(&r->cwnd,
				pavo_psn_diff(r->sent, r->upsn) - away, npkts);
}

/* Of what is lost: as far as it is in a row. */
u32 sr_run(const pavo_recovery *r)
{
	const SelectiveRepair &s = of(r);
	u32 run = 0;

	if (!s.lost.contains(r->next))
		return ~0u;
	while (s.lost.contains(pavo_psn_add(r->next, run)))
		run++;
	return run;
}

unsigned int sr_sent(pavo_recovery *r, u32 npkts, u64)
{
	SelectiveRepair &s = of(r);

	for (u32 i = 0; i < npkts; i++)
		if (s.lost.erase(pavo_psn_add(r->next, i)))
			s.resent.insert(pavo_psn_add(r->next, i));
	return continue_sending(s);
}

unsigned int sr_released(pavo_recovery *r, u32, u64)
{
	SelectiveRepair &s = of(r);

	for (PsnSet *set : {&s.held, &s.lost, &s.resent})
		set->erase(set->begin(), set->lower_bound(r->upsn));
	return continue_sending(s);
}

unsigned int sr_gap(pavo_recovery *r, u64)
{
	return lose_until(of(r), pavo_psn_add(r->upsn, 1));
}

unsigned int sr_held(pavo_recovery *r, u32 psn, u32 npkts, u64)
{
	SelectiveRepair &s = of(r);

	for (u32 i = 0; i < npkts; i++) {
		s.held.insert(pavo_psn_add(psn, i));
		s.lost.erase(pavo_psn_add(psn, i));
	}
	return lose_until(s, psn);
}

unsigned int sr_not_ready(pavo_recovery *r)
{
	of(r).lost.insert(r->upsn);
	return continue_sending(of(r)) | PAVO_REC_RETRANSMIT;
}

unsigned int sr_expired(pavo_recovery *r, u64 now)
{
	if (pavo_timer_retry(&r->timer, now))
		return PAVO_REC_NO_RETRY;
	/* The peer may have held the request of a read, whose response was lost after that. */
	of(r).held.clear();
	of(r).resent.clear();
	return lose_until(of(r), r->sent);
}

const pavo_recovery_policy selective_repair = {
	.clocked = true,
	.admits = sr_admits,
	.run = sr_run,
	.sent = sr_sent,
	.released = sr_released,
	.gap = sr_gap,
	.held = sr_held,
	.not_ready = sr_not_ready,
	.expired = sr_expired,
};

/* ------------------------------------------------------------------- runs */

struct Result {
	uint64_t ticks, sent, again, lost;
};

enum Mix { WRITES, READS, BOTH };

/* Move messages across the channel until all are complete. */
void run(bool selective, Mix mix, uint32_t loss, unsigned int seed,
	 Result &result)
{
	constexpr uint32_t delay = 50, messages = 30;
	Random random(seed);
	/* PSNs wrap on the way. */
	uint32_t psn = pavo_psn_add(0, -static_cast<int>(random.below(2000)));
	Wire out(random, delay, loss), back(random, delay, loss);
	SelectiveRepair state{};
	ModelRequester requester(state.r,
				 selective ? selective_repair : pavo_go_back_n,
				 psn, out);
	ModelResponder responder(psn, selective, back);
	std::vector<uint32_t> all, reads;
	uint64_t now = 1;

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
	for (Packet packet; !requester.is_done(); now++) {
		ASSERT_LT(now, 10000000u);
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
	result.ticks += now;
	result.sent += requester.sent;
	result.again += requester.again;
	result.lost += out.lost + back.lost;
}

Result run_many(bool selective, Mix mix, uint32_t loss)
{
	Result result{};

	for (unsigned int seed = 0; seed < 5; seed++)
		run(selective, mix, loss, seed, result);
	return result;
}

/* In thousandths. */
constexpr uint32_t losses[] = {1, 10, 50, 200};

TEST(Channel, NothingIsSentTwiceIfNothingIsLost)
{
	for (Mix mix : {WRITES, READS, BOTH}) {
		EXPECT_EQ(run_many(false, mix, 0).again, 0u);
		EXPECT_EQ(run_many(true, mix, 0).again, 0u);
	}
}

TEST(Channel, GoBackNMovesAllMessages)
{
	for (Mix mix : {WRITES, READS, BOTH})
		for (uint32_t loss : losses)
			run_many(false, mix, loss);
}

TEST(Channel, SelectiveRepairMovesAllMessages)
{
	for (Mix mix : {WRITES, READS, BOTH})
		for (uint32_t loss : losses)
			run_many(true, mix, loss);
}

/* The interface carries the difference: fewer packets, less time. */
TEST(Channel, SelectiveRepairSendsLittleMoreThanWhatWasLost)
{
	for (uint32_t loss : {10u, 50u}) {
		Result back = run_many(false, WRITES, loss);
		Result repair = run_many(true, WRITES, loss);

		EXPECT_LT(repair.again, 2 * repair.lost) << loss;
		EXPECT_LT(5 * repair.again, back.again) << loss;
		EXPECT_LT(repair.ticks, back.ticks) << loss;
	}
}

} // namespace
} // namespace channel
