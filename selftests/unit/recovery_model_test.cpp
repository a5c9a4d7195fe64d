// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * recovery_model_test.cpp - random events of loss recovery with go-back-N, against a model that
 * counts without wrapping.
 */
#include "recovery_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "random.h"

namespace recovery {
namespace {

/*
 * Go-back-N, said in another way: numbers that do not wrap, and messages as a list. Without counts
 * of retries, which the machine gets enough of.
 */
struct Model {
	struct Message {
		int64_t first, end;
		bool read;
	};

	std::deque<Message> messages;
	int64_t posted = 0, upsn = 0, sent = 0, next = 0;
	bool reacted = false, probing = false, delayed = false;

	void send(int64_t npkts)
	{
		next += npkts;
		sent = std::max(sent, next);
	}

	bool release(int64_t until)
	{
		if (until == upsn)
			return false;
		upsn = until;
		next = std::max(next, upsn);
		while (!messages.empty() && messages.front().end <= upsn)
			messages.pop_front();
		reacted = probing = delayed = false;
		return true;
	}

	/* The first response of a read that is missing; -1: none. */
	int64_t missing() const
	{
		for (const Message &message : messages)
			if (message.read)
				return std::max(message.first, upsn);
		return -1;
	}

	void go_back()
	{
		if (!reacted)
			next = upsn;
		reacted = true;
	}

	void ack(int64_t of)
	{
		int64_t read = missing();

		if (of < upsn || of >= sent)
			return;
		release(read >= 0 && read <= of ? read : of + 1);
		if (read >= 0 && read <= of)
			go_back();
	}

	void nak(int64_t of, bool rnr)
	{
		if (of < upsn || of >= sent)
			return;
		if (of > upsn)
			ack(of - 1);
		if (rnr && !delayed) {
			delayed = reacted = true;
			probing = false;
			next = upsn;
		} else if (!rnr && upsn == of) {
			go_back();
		}
	}

	void respond(int64_t of)
	{
		int64_t read = missing();

		if (of < upsn || of >= sent || read < 0 || of < read)
			return;
		release(read);
		if (of == read)
			release(read + 1);
		else
			go_back();
	}

	void expire(bool timed)
	{
		reacted = false;
		go_back();
		probing = timed;
	}
};

/* Is the WQE at @at a read, and where does it end? */
int64_t end_of_message(const Model &model, int64_t at, bool *read)
{
	for (const Model::Message &message : model.messages) {
		if (at < message.end) {
			*read = message.read;
			return message.end;
		}
	}
	return at;
}

void send_some(Machine &m, Model &model, Random &random)
{
	bool read = false;
	int64_t end = end_of_message(model, model.next, &read);
	int64_t most = std::min<int64_t>(end - model.next, PAVO_READ_CHUNK);

	if (!most)
		return;
	most = 1 + random.below(most);
	bool again = model.next + most <= model.sent;

	/* A probe is one packet in front of all others. */
	ASSERT_EQ(pavo_recovery_admits(&m.r, policy, most),
		  model.next == model.upsn ||
			  (!model.probing &&
			   model.next - model.upsn + most <= m.r.cwnd.size));
	ASSERT_EQ(m.send(most, read),
		  again ? PAVO_REC_COUNT_RETRANSMIT + 0u : 0u);
	model.send(most);
}

TEST(Recovery, RandomEventsAreWhatTheModelSays)
{
	for (unsigned int round = 0; round < 400; round++) {
		Random random(round);
		uint64_t value = random.coin() ? timeout : 0;
		uint32_t start = starts[round % std::size(starts)];
		Machine m(pavo_psn_add(start, round), value);
		Model model;

		for (int step = 0; step < 600; step++) {
			/* Around what is outstanding, and beyond. */
			int64_t of = model.upsn - 2 +
				     random.below(model.sent - model.upsn + 5);
			unsigned int todo = 0;

			/* Retries are not the matter here. */
			m.r.timer.retries = 7;
			m.r.timer.rnr_retries = 7;
			m.now += random.below(100);
			switch (random.below(12)) {
			case 0: {
				uint32_t n = 1 + random.below(80);
				bool read = random.coin();

				if (model.messages.size() == wqes)
					break;
				m.post(n, read);
				model.messages.push_back(
					{model.posted, model.posted + n, read});
				model.posted += n;
				break;
			}
			case 1:
			case 2:
				todo = m.ack(of);
				model.ack(of);
				break;
			case 3:
				todo = m.nak(of);
				model.nak(of, false);
				break;
			case 4:
				todo = m.rnr(of);
				model.nak(of, true);
				break;
			case 5:
			case 6:
				todo = m.respond(of);
				if (todo & PAVO_REC_TAKE)
					todo |= m.take(of + 1, false);
				model.respond(of);
				break;
			case 7:
				if (!random.below(4) &&
				    model.sent > model.upsn) {
					todo = m.expire();
					model.expire(value);
				}
				break;
			case 8:
				m.r.timer.rnr = 0;
				model.delayed = false;
				break;
			default:
				send_some(m, model, random);
			}
			ASSERT_FALSE(HasFatalFailure());
			ASSERT_EQ(todo & PAVO_REC_NO_RETRY, 0u);
			ASSERT_EQ(m.r.upsn, m.psn(model.upsn)) << round;
			ASSERT_EQ(m.r.next, m.psn(model.next)) << round;
			ASSERT_EQ(m.r.sent, m.psn(model.sent)) << round;
			ASSERT_EQ(m.r.probing, model.probing) << round;
			ASSERT_EQ(pavo_recovery_is_delayed(&m.r),
				  model.delayed);
			if (model.upsn == model.sent) {
				ASSERT_EQ(m.r.timer.loss, 0u) << round;
			}
		}
	}
}

} // namespace
} // namespace recovery
