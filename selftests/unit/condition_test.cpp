// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * condition_test.cpp - counters of a window, and requests that are held for them
 * (window/condition.h): which frames are held, when they are released, and what they are marked;
 * and at random against a model.
 */
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "random.h"

extern "C" {
#include "window/condition.h"
#include "window/operation.h"
}

namespace {

constexpr uint32_t frames = 16;

struct Free {
	void operator()(void *memory) const { free(memory); }
};

/* A frame that was taken from the list of those that are ready. */
struct Ready {
	uint32_t number;
	uint32_t mark;

	bool operator==(const Ready &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Ready &ready)
{
	return out << ready.number << " marked " << ready.mark;
}

struct Conditions {
	Conditions()
		: memory(static_cast<pavo_conditions *>(
			  calloc(1, pavo_conditions_size(frames)))),
		  c(memory.get())
	{
		pavo_conditions_init(c, frames);
	}

	static pavo_frame_line request(uint32_t rcxt = 7, uint8_t counter = 0)
	{
		pavo_frame_line line{};
		pavo_rdma_request request{};

		line.hdr.type = PAVO_FRAME_RDMA_WRITE;
		line.hdr.length = sizeof(request);
		request.local_rcxt = rcxt;
		request.counter = counter;
		request.flags = PAVO_RDMA_NOTIFY_SOURCE;
		memcpy(line.payload, &request, sizeof(request));
		return line;
	}

	static pavo_frame_line conditional(uint32_t counter, uint64_t target,
					   uint32_t following)
	{
		pavo_frame_line line{};
		pavo_conditional body{};

		line.hdr.type = PAVO_FRAME_CONDITIONAL;
		line.hdr.length = sizeof(body);
		body.counter = counter;
		body.target = target;
		body.following = following;
		memcpy(line.payload, &body, sizeof(body));
		return line;
	}

	/* As the worker of send.c does. Return: the frame's mark. */
	uint32_t take(const pavo_frame_line &line)
	{
		uint32_t number = next++, all = number, state;

		if (!pavo_conditions_follows(c))
			return pavo_conditions_begin(c, &line, number);
		state = pavo_conditions_take(c, &line, number, &all);
		if (all != number)
			complete.push_back(all);
		return state;
	}

	/* Hold @following requests. Return: number of the CONDITIONAL. */
	uint32_t hold(uint32_t counter, uint64_t target, uint32_t following = 1,
		      uint32_t rcxt = 7)
	{
		uint32_t number = next;

		EXPECT_EQ(take(conditional(counter, target, following)),
			  uint32_t(PAVO_FRAME_EMPTY));
		for (uint32_t i = 0; i < following; i++)
			EXPECT_EQ(take(request(rcxt)),
				  uint32_t(PAVO_FRAME_HELD));
		EXPECT_FALSE(complete.empty());
		EXPECT_EQ(complete.back(), number);
		return number;
	}

	std::vector<Ready> ready()
	{
		std::vector<Ready> all;
		pavo_held held;
		uint32_t mark;

		while (!pavo_conditions_next(c, &held, &mark))
			all.push_back({held.number, mark});
		return all;
	}

	pavo_counter_value value(uint32_t n) const
	{
		return pavo_conditions_value(c, n);
	}

	std::unique_ptr<pavo_conditions, Free> memory;
	pavo_conditions *c;
	uint32_t next = 0;
	/* CONDITIONALs that are to be marked SENT. */
	std::vector<uint32_t> complete;
};

using All = std::vector<Ready>;

TEST(Condition, IsReleasedInOrderWhenItsCounterReachesTheTarget)
{
	Conditions w;

	w.hold(3, 2, 3);
	pavo_conditions_count(w.c, 2);
	pavo_conditions_count(w.c, 3);
	EXPECT_EQ(w.ready(), All());
	EXPECT_EQ(w.value(3).waiting, 1u);
	pavo_conditions_count(w.c, 3);
	EXPECT_EQ(w.ready(), (All{{1, 0}, {2, 0}, {3, 0}}));
	EXPECT_EQ(w.value(3).waiting, 0u);
	EXPECT_EQ(w.value(3).value, 2u);
}

TEST(Condition, IsReleasedAtOnceIfItsCounterIsThere)
{
	Conditions w;

	pavo_conditions_set(w.c, 63, ~0ull - 1);
	pavo_conditions_count(w.c, 63);
	pavo_conditions_count(w.c, 63);
	EXPECT_EQ(w.value(63).value, ~0ull) << "it does not wrap";
	w.hold(63, ~0ull);
	EXPECT_EQ(w.ready(), (All{{1, 0}}));
}

TEST(Condition, OthersOfTheCounterAndOtherCountersWait)
{
	Conditions w;

	w.hold(0, 5);
	w.hold(0, 2);
	w.hold(1, 1);
	w.hold(0, 2);
	pavo_conditions_set(w.c, 0, 2);
	EXPECT_EQ(w.ready(), (All{{3, 0}, {7, 0}}));
	pavo_conditions_set(w.c, 0, 1);
	EXPECT_EQ(w.ready(), All());
	pavo_conditions_set(w.c, 0, 5);
	pavo_conditions_count(w.c, 1);
	EXPECT_EQ(w.ready(), (All{{1, 0}, {5, 0}}));
}

TEST(Condition, AFailureCancelsWhatIsHeldAndWhatComesAfter)
{
	Conditions w;
	pavo_counter_value told;

	w.hold(4, 1);
	w.hold(5, 1);
	pavo_conditions_fail(w.c, 4);
	EXPECT_EQ(w.ready(), (All{{1, PAVO_FRAME_CANCELLED}}));
	ASSERT_EQ(pavo_conditions_unreported(w.c, &told), 0);
	EXPECT_EQ(told.counter, 4u);
	EXPECT_TRUE(told.cancelled && told.failed);
	pavo_conditions_reported(w.c, 4);
	EXPECT_EQ(pavo_conditions_unreported(w.c, &told), -ENOENT);
	/* Also when the counter is at the target. */
	pavo_conditions_count(w.c, 4);
	w.hold(4, 1);
	EXPECT_EQ(w.ready(), (All{{5, PAVO_FRAME_CANCELLED}}));
	EXPECT_EQ(pavo_conditions_unreported(w.c, &told), 0);
	pavo_conditions_set(w.c, 4, 1);
	w.hold(4, 1);
	EXPECT_EQ(w.ready(), (All{{7, 0}}));
	EXPECT_EQ(w.value(5).waiting, 1u);
}

/* The process had no slot for the frame after all. */
TEST(Condition, ANewsThatCouldNotBeToldIsToldLater)
{
	Conditions w;
	pavo_counter_value told;

	for (uint32_t n : {4, 6}) {
		w.hold(n, 1);
		pavo_conditions_cancel(w.c, n);
	}
	ASSERT_EQ(pavo_conditions_unreported(w.c, &told), 0);
	EXPECT_EQ(told.counter, 4u);
	pavo_conditions_reported(w.c, 4);
	pavo_conditions_unreport(w.c, 4);
	/* Cancelled again meanwhile: told once. */
	pavo_conditions_unreport(w.c, 4);
	for (uint32_t n : {4, 6}) {
		ASSERT_EQ(pavo_conditions_unreported(w.c, &told), 0);
		EXPECT_EQ(told.counter, n);
		EXPECT_TRUE(told.cancelled);
		pavo_conditions_reported(w.c, n);
	}
	EXPECT_EQ(pavo_conditions_unreported(w.c, &told), -ENOENT);
	EXPECT_EQ(w.c->unreported, 0u);
}

TEST(Condition, ARecoveryFailsAllCounters)
{
	Conditions w;

	w.hold(4, 1);
	w.hold(5, 1, 2);
	pavo_conditions_fail_all(w.c);
	EXPECT_EQ(w.ready(), (All{{1, PAVO_FRAME_CANCELLED},
				  {3, PAVO_FRAME_CANCELLED},
				  {4, PAVO_FRAME_CANCELLED}}));
	EXPECT_TRUE(w.value(0).failed);
}

TEST(Condition, ClearingWithCancelDoesNotFailTheCounter)
{
	Conditions w;

	w.hold(4, 1);
	pavo_conditions_cancel(w.c, 4);
	EXPECT_EQ(w.ready(), (All{{1, PAVO_FRAME_CANCELLED}}));
	EXPECT_FALSE(w.value(4).failed);
}

TEST(Condition, ACancelOfAnRcxtCancelsItsCondition)
{
	Conditions w;

	w.hold(4, 1, 1, 11);
	w.hold(4, 1, 1, 12);
	w.hold(5, 0 + 1, 1, 13);
	pavo_conditions_cancel_rcxt(w.c, 12);
	EXPECT_EQ(w.ready(), (All{{3, PAVO_FRAME_CANCELLED}}));
	EXPECT_EQ(w.value(4).waiting, 1u);
	/* Of those that are released already, and of one that is not complete. */
	pavo_conditions_count(w.c, 4);
	pavo_conditions_cancel_rcxt(w.c, 11);
	EXPECT_EQ(w.ready(), (All{{1, PAVO_FRAME_CANCELLED}}));
	w.take(Conditions::conditional(6, 1, 2));
	w.take(Conditions::request(14));
	pavo_conditions_cancel_rcxt(w.c, 14);
	EXPECT_EQ(w.take(Conditions::request(15)),
		  uint32_t(PAVO_FRAME_CANCELLED));
	EXPECT_EQ(w.ready(),
		  (All{{6, PAVO_FRAME_CANCELLED}, {7, PAVO_FRAME_CANCELLED}}));
	pavo_conditions_cancel_rcxt(w.c, 99);
	EXPECT_EQ(w.ready(), All());
}

TEST(Condition, TheEndMarksAllThatIsHeldDead)
{
	Conditions w;

	w.hold(1, 1);
	w.hold(2, 9);
	pavo_conditions_count(w.c, 1);
	w.take(Conditions::conditional(6, 1, 2));
	w.take(Conditions::request());
	pavo_conditions_end(w.c);
	EXPECT_EQ(w.ready(), (All{{1, PAVO_FRAME_DEAD},
				  {3, PAVO_FRAME_DEAD},
				  {4, PAVO_FRAME_DEAD},
				  {5, PAVO_FRAME_DEAD}}));
}

/* The worker that took the frame may not have seen the end yet. */
TEST(Condition, AfterTheEndNothingIsHeld)
{
	Conditions w;

	pavo_conditions_end(w.c);
	EXPECT_EQ(w.take(Conditions::conditional(6, 1, 1)),
		  uint32_t(PAVO_FRAME_DEAD));
	EXPECT_EQ(w.ready(), All());
}

/* ----------------------------------------------------------- wrong frames */

TEST(Condition, ThoseThatAreInvalidHoldNothing)
{
	struct {
		uint32_t counter;
		uint64_t target;
		uint32_t following, refused;
	} const cases[] = {
		{64, 1, 2, 2}, {~0u, 1, 1, 1}, {0, 0, 3, 3},
		{0, 1, 0, 0},  {0, 1, 16, 15}, {0, 1, ~0u, 15},
	};

	for (auto &c : cases) {
		Conditions w;

		EXPECT_EQ(w.take(Conditions::conditional(c.counter, c.target,
							 c.following)),
			  uint32_t(PAVO_FRAME_BAD_REQUEST));
		for (uint32_t i = 0; i < c.refused; i++) {
			ASSERT_TRUE(pavo_conditions_follows(w.c)) << i;
			EXPECT_EQ(w.take(Conditions::request()),
				  uint32_t(PAVO_FRAME_BAD_REQUEST));
		}
		EXPECT_FALSE(pavo_conditions_follows(w.c)) << &c - cases;
		EXPECT_EQ(w.ready(), All());
	}
	Conditions w;
	auto line = Conditions::conditional(0, 1, 1);

	line.hdr.length--;
	EXPECT_EQ(w.take(line), uint32_t(PAVO_FRAME_BAD_LENGTH));
	EXPECT_TRUE(pavo_conditions_follows(w.c));
}

TEST(Condition, OfWhichAFrameIsInvalidHoldsNothing)
{
	auto message = Conditions::request(), longer = message, set = message,
	     counter = Conditions::request(7, 65);

	message.hdr.type = PAVO_FRAME_MESSAGE;
	set.hdr.type = PAVO_FRAME_COUNTER_SET;
	longer.hdr.length++;
	struct {
		const pavo_frame_line &line;
		uint32_t mark;
	} const cases[] = {
		{message, PAVO_FRAME_BAD_REQUEST},
		{set, PAVO_FRAME_BAD_REQUEST},
		{counter, PAVO_FRAME_BAD_REQUEST},
		{longer, PAVO_FRAME_BAD_LENGTH},
		{Conditions::conditional(0, 1, 1), PAVO_FRAME_BAD_REQUEST},
	};

	for (auto &c : cases) {
		Conditions w;

		w.take(Conditions::conditional(0, 1, 3));
		w.take(Conditions::request());
		EXPECT_EQ(w.take(c.line), c.mark) << &c - cases;
		EXPECT_EQ(w.ready(), (All{{0, PAVO_FRAME_BAD_REQUEST},
					  {1, PAVO_FRAME_BAD_REQUEST}}));
		EXPECT_EQ(w.take(Conditions::request()),
			  uint32_t(PAVO_FRAME_BAD_REQUEST));
		EXPECT_FALSE(pavo_conditions_follows(w.c));
		EXPECT_TRUE(w.complete.empty());
		pavo_conditions_count(w.c, 0);
		EXPECT_EQ(w.ready(), All());
	}
}

/* Requests behind the inner one are not carried out at once, either. */
TEST(Condition, ANestedOneRefusesItsOwnRequests)
{
	Conditions w;

	w.take(Conditions::conditional(0, 1, 1));
	w.take(Conditions::conditional(0, 1, 2));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(w.take(Conditions::request()),
			  uint32_t(PAVO_FRAME_BAD_REQUEST));
	EXPECT_FALSE(pavo_conditions_follows(w.c));
	w.hold(0, 1);
}

TEST(Condition, ASlotWithAHeldFrameTakesNoOther)
{
	Conditions w;

	w.hold(0, 1);
	w.next = frames;
	w.take(Conditions::conditional(0, 1, 1));
	EXPECT_EQ(w.take(Conditions::request()),
		  uint32_t(PAVO_FRAME_BAD_REQUEST));
	EXPECT_EQ(w.ready(), (All{{frames, PAVO_FRAME_BAD_REQUEST}}));
	w.next = frames + 1;
	EXPECT_EQ(w.take(Conditions::conditional(0, 1, 1)),
		  uint32_t(PAVO_FRAME_BAD_REQUEST));
	EXPECT_EQ(w.take(Conditions::request()),
		  uint32_t(PAVO_FRAME_BAD_REQUEST));
	pavo_conditions_count(w.c, 0);
	EXPECT_EQ(w.ready(), (All{{1, 0}}));
}

TEST(Condition, MoreThanMayWaitAreBusy)
{
	constexpr uint32_t many = 4 * PAVO_CONDITIONS;
	std::unique_ptr<pavo_conditions, Free> memory(
		static_cast<pavo_conditions *>(
			calloc(1, pavo_conditions_size(many))));
	Conditions w;

	pavo_conditions_init(memory.get(), many);
	w.c = memory.get();
	for (uint32_t i = 0; i < PAVO_CONDITIONS; i++)
		w.hold(i % PAVO_WINDOW_COUNTERS, 1);
	EXPECT_EQ(w.take(Conditions::conditional(0, 1, 1)),
		  uint32_t(PAVO_FRAME_BUSY));
	EXPECT_EQ(w.take(Conditions::request()), uint32_t(PAVO_FRAME_BUSY));
	pavo_conditions_count(w.c, 9);
	EXPECT_EQ(w.ready().size(), 4u);
	w.hold(0, 1);
}

TEST(Counter, FramesThatAreInvalid)
{
	struct {
		uint8_t type;
		pavo_counter_request request;
		uint32_t state;
	} const cases[] = {
		{PAVO_FRAME_COUNTER_SET, {63, 0, 5, 0, 0}, 0},
		{PAVO_FRAME_COUNTER_SET, {64, 0, 5, 0, 0}, 8},
		{PAVO_FRAME_COUNTER_SET, {0, 1, 5, 0, 0}, 8},
		{PAVO_FRAME_COUNTER_SET, {0, 0, 5, 1, 0}, 8},
		{PAVO_FRAME_COUNTER_SET, {0, 1, 0, 0, 1}, 0},
		{PAVO_FRAME_COUNTER_SET, {0, 1, 1, 0, 1}, 8},
		{PAVO_FRAME_COUNTER_SET, {0, 0, 0, 0, 2}, 8},
		{PAVO_FRAME_COUNTER_CLEAR, {0, 0, 0, 0, 0}, 0},
		{PAVO_FRAME_COUNTER_CLEAR, {0, 0, 1, 0, 0}, 8},
		{PAVO_FRAME_COUNTER_CLEAR, {0, 0, 0, 0, 2}, 0},
		{PAVO_FRAME_COUNTER_CLEAR, {0, 9, 0, 0, 1}, 0},
		{PAVO_FRAME_COUNTER_CLEAR, {0, 9, 0, 0, 3}, 8},
		{PAVO_FRAME_COUNTER_CLEAR, {0, 0, 0, 0, 4}, 8},
		{PAVO_FRAME_COUNTER_QUERY, {0, 0, 0, 77, 0}, 0},
		{PAVO_FRAME_COUNTER_QUERY, {0, 0, 1, 77, 0}, 8},
		{PAVO_FRAME_COUNTER_QUERY, {0, 0, 0, 77, 1}, 8},
		{PAVO_FRAME_COUNTER_QUERY, {64, 0, 0, 77, 0}, 8},
	};

	for (auto &c : cases) {
		pavo_frame_line line{};
		pavo_counter_request request;

		line.hdr.type = c.type;
		line.hdr.length = sizeof(c.request);
		memcpy(line.payload, &c.request, sizeof(c.request));
		EXPECT_EQ(pavo_counter_check(&line, &request), c.state)
			<< &c - cases;
		line.hdr.length++;
		EXPECT_EQ(pavo_counter_check(&line, &request),
			  uint32_t(PAVO_FRAME_BAD_LENGTH));
	}
}

/* -------------------------------------------------------------- at random */

/* The same, said otherwise. */
struct Model {
	struct Group {
		uint32_t counter;
		uint64_t target;
		std::deque<uint32_t> numbers;
		uint32_t rcxt;
	};

	void release(uint32_t counter)
	{
		for (auto at = groups.begin(); at != groups.end();) {
			bool cancelled = failed[counter];

			if (at->counter != counter ||
			    (!cancelled && at->target > values[counter])) {
				++at;
				continue;
			}
			done(*at, cancelled ? PAVO_FRAME_CANCELLED : 0);
			at = groups.erase(at);
		}
	}

	void done(const Group &group, uint32_t mark)
	{
		for (uint32_t number : group.numbers)
			ready.push_back({number, mark});
	}

	std::deque<Group> groups;
	std::map<uint32_t, uint64_t> values;
	std::map<uint32_t, bool> failed;
	All ready;
};

TEST(Condition, AtRandomAsTheModel)
{
	Random random(1);

	for (int round = 0; round < 300; round++) {
		Conditions w;
		Model model;

		for (int step = 0; step < 200; step++) {
			uint32_t counter = random.below(4);
			uint32_t n = 1 + random.below(3);

			switch (random.below(6)) {
			case 0:
			case 1: {
				uint32_t used = 0;

				for (auto &group : model.groups)
					used += uint32_t(group.numbers.size());
				while (w.c->held[w.next % frames].used)
					w.next++;
				if (used + n + 1 > frames / 2)
					break;
				Model::Group group{counter,
						   model.values[counter] +
							   random.below(4),
						   {},
						   random.below(5)};
				group.target += !group.target;
				w.take(Conditions::conditional(
					counter, group.target, n));
				while (n--) {
					while (w.c->held[w.next % frames].used)
						w.next++;
					group.numbers.push_back(w.next);
					ASSERT_EQ(w.take(Conditions::request(
							  group.rcxt)),
						  uint32_t(PAVO_FRAME_HELD));
				}
				model.groups.push_back(group);
				break;
			}
			case 2:
			case 3:
				pavo_conditions_count(w.c, counter);
				model.values[counter]++;
				break;
			case 4:
				pavo_conditions_set(w.c, counter, n);
				model.values[counter] = n;
				model.failed[counter] = false;
				break;
			default:
				if (random.below(4))
					break;
				pavo_conditions_fail(w.c, counter);
				model.failed[counter] = true;
			}
			model.release(counter);
			ASSERT_EQ(w.ready(), model.ready) << round << step;
			model.ready.clear();
		}
	}
}

} // namespace
