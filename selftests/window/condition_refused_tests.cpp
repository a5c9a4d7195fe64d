// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * condition_refused_tests.cpp - conditional frames, and frames of counters, that are refused.
 */
#include "condition_scene.h"

namespace {

/* Frames that a hostile process writes. */
struct Refused : Conditions {
	void conditional(uint32_t number, uint64_t target, uint32_t following)
	{
		pavo_conditional body{number, following, target};

		local(FrameType::conditional, body);
	}

	template <class Body> void local(FrameType type, const Body &body)
	{
		auto *frame = shared_of(a).send_frame(next);

		must(a.prepare({node_b, b.number()},
			       std::as_bytes(std::span(&body, 1))));
		frame->type = uint8_t(type);
		next++;
	}

	void requests(size_t n)
	{
		while (n--) {
			prepare(write(0));
			next++;
		}
	}

	/* Nothing is held, nothing was sent, and the window goes on. */
	void nothing_happened()
	{
		must(a.set_counter(counter, 100));
		must(a.set_counter(0, 100));
		prepare(write(3));
		EXPECT_EQ(sent(3), (States{ok, ok, ok}));
		EXPECT_EQ(over(b, 1), std::vector{3u});
		EXPECT_TRUE(quiet(b));
	}

	uint32_t next = 0;
};

TEST(Condition, ThatIsInvalidHoldsNothing)
{
	struct {
		uint32_t counter;
		uint64_t target;
		uint32_t following, refused;
	} const cases[] = {
		{64, 1, 1, 1},	    {~0u, 1, 2, 2},	 {counter, 0, 2, 2},
		{counter, 1, 0, 0}, {counter, 1, 64, 5}, {counter, 1, ~0u, 5},
	};

	for (auto &c : cases) {
		Refused w;

		w.conditional(c.counter, c.target, c.following);
		w.requests(c.refused);
		EXPECT_EQ(w.sent(1 + c.refused), States(1 + c.refused, bad))
			<< &c - cases;
		/* So many frames are refused that the FIFO could hold. */
		for (uint32_t n = c.refused; n < std::min(c.following, 63u);
		     n++) {
			w.requests(1);
			EXPECT_EQ(w.sent(1), States{bad});
		}
		w.nothing_happened();
	}
}

TEST(Condition, ThatIsNestedHoldsNothing)
{
	Refused w;

	w.conditional(counter, 1, 3);
	w.requests(1);
	w.conditional(0, 1, 2);
	w.requests(2);
	EXPECT_EQ(w.sent(5), (States{bad, bad, bad, bad, bad}));
	w.nothing_happened();
}

TEST(Condition, OfWhichAFollowerIsNoRequestHoldsNothing)
{
	Refused w;

	w.conditional(counter, 1, 2);
	w.requests(1);
	w.local(FrameType::message, 5);
	EXPECT_EQ(w.sent(3), (States{bad, bad, bad}));
	/* Frame after frame, each with a START_TRANSMIT of its own. */
	w.conditional(counter, 1, 2);
	must(w.a.start());
	w.requests(1);
	must(w.a.start());
	w.local(FrameType::counter_set, pavo_counter_request{});
	EXPECT_EQ(w.sent(3), (States{bad, bad, bad}));
	w.nothing_happened();
}

TEST(Condition, ACounterFrameThatIsInvalidIsRefused)
{
	Refused w;

	w.local(FrameType::counter_set, pavo_counter_request{64, 0, 1, 0, 0});
	w.local(FrameType::counter_set, pavo_counter_request{1, 0, 1, 0, 8});
	w.local(FrameType::counter_clear, pavo_counter_request{1, 0, 1, 0, 0});
	w.local(FrameType::counter_query,
		pavo_counter_request{~0u, 0, 0, 0, 0});
	w.local(FrameType::counter_query, 5);
	w.local(FrameType::counter_value, pavo_counter_value{});
	EXPECT_EQ(w.sent(6), (States{bad, bad, bad, bad, FrameState::bad_length,
				     FrameState::bad_type}));
	auto request = w.write(0);

	request.counter = 65;
	w.prepare(request);
	request.counter = 1;
	request.flags = 0;
	w.prepare(request);
	EXPECT_EQ(w.sent(2), (States{bad, bad}));
	w.nothing_happened();
}

} // namespace
