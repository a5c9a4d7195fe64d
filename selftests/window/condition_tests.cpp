// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * condition_tests.cpp - counters of windows, and requests that are held for them: when they go,
 * and what becomes of them otherwise.
 */
#include "condition_scene.h"

namespace {

TEST(Condition, ARequestIsHeldUntilItsComponentsAreOver)
{
	Conditions w;

	w.hold(3, {3});
	EXPECT_EQ(w.sent(2), (States{ok, held}));
	for (uint32_t n : {0, 1}) {
		w.prepare(w.write(n, true));
		EXPECT_EQ(w.sent(1), States{ok});
		EXPECT_EQ(w.over(w.a, 1), std::vector{n});
		EXPECT_EQ(w.over(w.b, 1), std::vector{n});
	}
	EXPECT_EQ(w.query().waiting, 1u);
	EXPECT_TRUE(quiet(w.b));
	w.prepare(w.write(2, true));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.over(w.a, 2), (std::vector{2u, 3u}));
	EXPECT_EQ(w.over(w.b, 2), (std::vector{2u, 3u}));
	EXPECT_EQ(w.released(1), States{ok});
	auto value = w.query();

	EXPECT_EQ(value.value, 3u);
	EXPECT_EQ(value.waiting, 0u);
	EXPECT_FALSE(value.failed || value.cancelled);
}

/* One held request counts for the next: no CPU waits between them. */
TEST(Condition, HeldRequestsFormAChain)
{
	Conditions w;

	w.hold(1, {1}, true);
	w.hold(2, {2}, true);
	w.hold(3, {3}, true);
	w.prepare(w.write(0, true));
	w.sent(7);
	EXPECT_EQ(w.over(w.b, 4), (std::vector{0u, 1u, 2u, 3u}));
	EXPECT_EQ(w.over(w.a, 4), (std::vector{0u, 1u, 2u, 3u}));
	EXPECT_EQ(w.query().value, 4u);
}

TEST(Condition, ArrivalsAtABoundContextCount)
{
	Conditions w;

	must(w.b.bind_counter(counter, w.peer[0]));
	must(w.b.bind_counter(counter, w.peer[1]));
	pavo::HeldRequest answer{Direction::write,
				 {node_a, w.a.number()},
				 {.local_rcxt = w.peer[3],
				  .remote_rcxt = w.own[3],
				  .tid = 1,
				  .local_pvo = w.there.pvo(),
				  .remote_pvo = w.here.pvo(4000),
				  .length = 100,
				  .tag = 77,
				  .flags = pavo::rdma_flag::notify_target}};

	must(w.b.prepare_held(counter, 2, {&answer, 1}));
	must(w.b.start());
	w.prepare(w.write(2));
	w.prepare(w.write(0));
	EXPECT_EQ(w.sent(2), (States{ok, ok}));
	EXPECT_EQ(w.over(w.a, 2).size(), 2u);
	EXPECT_TRUE(quiet(w.a));
	w.prepare(w.write(1));
	EXPECT_EQ(w.sent(1), States{ok});
	auto tags = w.over(w.a, 2);

	EXPECT_TRUE(std::ranges::find(tags, 77u) != tags.end());
	/* An unbound one does not count. */
	must(w.b.unbind_counter(w.peer[0]));
	must(w.b.bind_counter(counter, w.own[0] + 50));
	must(w.b.query_counter(counter, 5));
	must(w.b.start());
	w.over(w.b, 3);
	EXPECT_EQ(w.news(w.b).value, 2u);
	States states(7);

	EXPECT_EQ(w.b.sent(states), 7u);
	EXPECT_EQ(states[5], FrameState::bad_rcxt);
	w.prepare(w.write(0));
	EXPECT_EQ(w.sent(1), States{ok});
	w.over(w.b, 1);
	must(w.b.query_counter(counter, 6));
	must(w.b.start());
	EXPECT_EQ(w.news(w.b).value, 2u);
}

TEST(Condition, AnAttemptAtACompleteOperationDoesNotCountAgain)
{
	Conditions w;
	auto request = w.write(0, true);

	must(w.b.bind_counter(counter, w.peer[0]));
	must(w.b.start());
	for (uint16_t n = 0; n < 3; n++, request.tid++, request.attempts++) {
		w.prepare(request);
		EXPECT_EQ(w.sent(1), States{ok});
		EXPECT_EQ(w.over(w.a, 1).size(), 1u);
	}
	EXPECT_EQ(w.query().value, 1u);
	w.over(w.b, 1);
	must(w.b.query_counter(counter, 5));
	must(w.b.start());
	EXPECT_EQ(w.news(w.b).value, 1u);
}

/* Packets that report the end are repeated on the wire, also as of another attempt. */
TEST(Condition, AnEndThatIsRepeatedOnTheWireCountsOnce)
{
	Conditions w;
	Wire in("va"), out("vb");
	Moved dropped(w.device_a, "rx_drop_tid");

	w.hold(2, {1});
	w.prepare(w.write(0, true));
	EXPECT_EQ(w.sent(3), (States{ok, held, ok}));
	EXPECT_EQ(w.over(w.a, 1), std::vector{0u});
	auto ends = in.recorded(0xc3);
	ASSERT_EQ(ends.size(), 1u);
	for (uint16_t n = 0; n < 3; n++) {
		set_field(ends[0], AT_TID, 8, 1 + n);
		set_field(ends[0], AT_ATTEMPTS, 2, n);
		finish_checksums(ends[0]);
		out.send(ends[0]);
	}
	ASSERT_TRUE(eventually([&] { return dropped.by() == 3; }));
	EXPECT_EQ(w.query().value, 1u);
	EXPECT_EQ(w.query().waiting, 1u);
}

TEST(Condition, ReadsCount)
{
	Conditions w;
	auto read = w.write(0, true, 5000);

	read.flags = 0;
	w.hold(1, {1});
	must(w.a.prepare_rdma(Direction::read, w.to_b(), read));
	const auto states = w.sent(3);

	EXPECT_TRUE(states[0] == ok && states[2] == ok);
	/* The read may be over by now. */
	EXPECT_TRUE(states[1] == held || states[1] == ok);
	EXPECT_EQ(w.over(w.b, 1), std::vector{1u});
}

TEST(Condition, CountersAreSetAndCleared)
{
	Conditions w;

	w.hold(10, {0});
	w.hold(20, {1});
	EXPECT_EQ(w.sent(4), (States{ok, held, ok, held}));
	must(w.a.set_counter(counter, 19));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.over(w.b, 1), std::vector{0u});
	EXPECT_EQ(w.query().value, 19u);
	must(w.a.clear_counter(counter));
	EXPECT_EQ(w.sent(1), States{ok});
	auto value = w.query();

	EXPECT_EQ(value.value, 0u);
	EXPECT_EQ(value.waiting, 1u);
	must(w.a.clear_counter(counter, true));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.released(2), (States{ok, cancelled}));
	EXPECT_TRUE(w.news(w.a).cancelled);
	EXPECT_FALSE(w.query().failed);
	EXPECT_TRUE(quiet(w.b));
}

/* The FIFO is small, and its ring goes round many times meanwhile. */
TEST(Condition, OthersGoOnWhileRequestsAreHeld)
{
	Conditions w(16);
	std::deque<pavo::HeldOutcome> outcomes;
	pavo::HeldOutcome one;

	w.hold(1, {0, 1});
	w.hold(2, {2});
	EXPECT_EQ(w.sent(5), (States{ok, held, held, ok, held}));
	for (uint32_t n = 0; n < 1000; n++) {
		must(w.a.send(w.to_b(), std::as_bytes(std::span(&n, 1))));
		ASSERT_EQ(w.sent(1), States{ok}) << n;
		ASSERT_TRUE(eventually([&] {
			return w.b.receive([&](const Message &message) {
				EXPECT_EQ(message.type, FrameType::message);
			});
		}));
		if (n == 500) {
			must(w.a.set_counter(counter, 1));
			ASSERT_EQ(w.sent(1), States{ok});
			EXPECT_EQ(w.over(w.b, 2), (std::vector{0u, 1u}));
		}
		if (w.a.released({&one, 1}))
			outcomes.push_back(one);
	}
	ASSERT_EQ(outcomes.size(), 2u);
	EXPECT_EQ(outcomes[0].frame, 1u);
	EXPECT_EQ(outcomes[1].frame, 2u);
	EXPECT_EQ(outcomes[1].state, ok);
	must(w.a.set_counter(counter, 2));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.over(w.b, 1), std::vector{2u});
	ASSERT_EQ(w.released(1), States{ok});
	EXPECT_TRUE(quiet(w.b));
}

TEST(Condition, AFullFifoHoldsNoMore)
{
	Conditions w(16);

	for (uint32_t n = 0; n < 4; n++)
		w.hold(1, {n, n, n});
	EXPECT_EQ(w.sent(16).size(), 16u);
	/* Four slots are left: those of the CONDITIONALs. */
	std::vector<pavo::HeldRequest> requests(4, {Direction::write, w.to_b(),
						    w.write(0)});

	EXPECT_EQ(w.a.prepare_held(counter, 1, requests).error().code(),
		  std::errc::no_buffer_space);
	requests.resize(3);
	must(w.a.prepare_held(counter, 1, requests));
	EXPECT_EQ(w.sent(4), (States{ok, held, held, held}));
	must(w.a.set_counter(counter, 1));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.released(15).size(), 15u);
}

TEST(Condition, WhatWasCopiedIsCarriedOut)
{
	Conditions w;

	w.hold(1, {0});
	EXPECT_EQ(w.sent(2), (States{ok, held}));
	/* All but the state, which is the adapter's. */
	auto *frame = shared_of(w.a).send_frame(1);

	memset(reinterpret_cast<std::byte *>(frame + 1), 0xff, 48);
	memset(frame, 0xff, offsetof(pavo_frame_hdr, state));
	must(w.a.set_counter(counter, 1));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.over(w.b, 1), std::vector{0u});
	EXPECT_TRUE(common::holds(w.there.memory.part(0, 100), 1, 0));
}

/* --------------------------------------------------------------- failures */

TEST(Condition, AComponentWithABadPvoCancelsWhatIsHeld)
{
	Conditions w;
	Moved sent(w.device_a, "tx_rdma_packets"),
		gone(w.device_a, "window_held_cancelled");
	auto wrong = w.write(0, true);

	wrong.remote_pvo += 1ull << 50;
	w.hold(2, {2, 3});
	EXPECT_EQ(w.sent(3), (States{ok, held, held}));
	w.prepare(wrong);
	w.prepare(w.write(1, true));
	EXPECT_EQ(w.sent(2), (States{ok, ok}));
	EXPECT_EQ(w.released(2), (States{cancelled, cancelled}));
	auto news = w.news(w.a);

	EXPECT_TRUE(news.cancelled && news.failed);
	EXPECT_EQ(news.counter, counter);
	/* Those that come later, too, until the counter is cleared. */
	w.hold(1, {2});
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_TRUE(w.news(w.a).cancelled);
	must(w.a.clear_counter(counter));
	w.hold(1, {2});
	w.prepare(w.write(1, true));
	w.sent(5);
	EXPECT_EQ(w.over(w.b, 4), (std::vector{0u, 1u, 1u, 2u}));
	EXPECT_EQ(sent.by(), 4u);
	EXPECT_EQ(gone.by(), 3u);
	EXPECT_EQ(w.a.lmt().value().state, pavo::WindowState::valid);
}

TEST(Condition, AFailureGoesOnAlongAChain)
{
	Conditions w;
	auto wrong = w.write(0, true);
	pavo::HeldRequest next{Direction::write, w.to_b(), w.write(1)},
		last{Direction::write, w.to_b(), w.write(2)};

	wrong.remote_pvo += 1ull << 50;
	next.request.counter = 1;
	must(w.a.prepare_held(0, 1, {&last, 1}));
	must(w.a.prepare_held(counter, 1, {&next, 1}));
	EXPECT_EQ(w.sent(4), (States{ok, held, ok, held}));
	w.prepare(wrong);
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.released(2), (States{cancelled, cancelled}));
	/* The failed one is reported to the target. */
	EXPECT_EQ(w.over(w.b, 1), std::vector{0u});
	EXPECT_TRUE(quiet(w.b));
}

TEST(Condition, ACancelledComponentCancelsWhatIsHeld)
{
	Conditions w;
	auto lost = w.write(0, true);

	/* No such context: no answer comes. */
	lost.remote_rcxt = w.own[0];
	w.hold(1, {1});
	w.prepare(lost);
	EXPECT_EQ(w.sent(3), (States{ok, held, ok}));
	must(w.a.cancel({&w.own[3], 1}));
	EXPECT_EQ(w.query().waiting, 1u);
	must(w.a.cancel({&w.own[0], 1}));
	EXPECT_EQ(w.released(1), States{cancelled});
	EXPECT_TRUE(w.news(w.a).failed);
	EXPECT_TRUE(quiet(w.b));
}

TEST(Condition, ACancelOfItsContextCancelsAHeldRequest)
{
	Conditions w;

	w.hold(1, {1, 2});
	w.hold(1, {3});
	EXPECT_EQ(w.sent(5), (States{ok, held, held, ok, held}));
	must(w.a.cancel({&w.own[2], 1}));
	EXPECT_EQ(w.released(2), (States{cancelled, cancelled}));
	EXPECT_FALSE(w.news(w.a).failed);
	must(w.a.set_counter(counter, 1));
	EXPECT_EQ(w.sent(1), States{ok});
	EXPECT_EQ(w.over(w.b, 1), std::vector{3u});
}

/* The context may be that of another window by the time that its counter is reached. */
TEST(Condition, AReturnedContextCancelsWhatIsHeld)
{
	Conditions w;
	auto lost = w.write(0, true);

	/* No such context: no answer comes. */
	lost.remote_rcxt = w.own[0];
	w.hold(1, {1});
	w.prepare(lost);
	EXPECT_EQ(w.sent(3), (States{ok, held, ok}));
	/* It has no operation. */
	must(w.a.return_rcxts({&w.own[3], 1}));
	EXPECT_EQ(w.query().waiting, 1u);
	must(w.a.return_rcxts({&w.own[0], 1}));
	ASSERT_EQ(w.released(1), States{cancelled});
	EXPECT_TRUE(w.news(w.a).failed);
	/* One that a held request names. */
	must(w.a.clear_counter(counter));
	w.hold(1, {1, 2});
	EXPECT_EQ(w.sent(4), (States{ok, ok, held, held}));
	must(w.a.return_rcxts({&w.own[2], 1}));
	ASSERT_EQ(w.released(2), (States{cancelled, cancelled}));
	EXPECT_FALSE(w.news(w.a).failed);
	EXPECT_TRUE(quiet(w.b));
}

TEST(Condition, ARefusedComponentCancelsWhatIsHeld)
{
	Conditions w;
	auto wrong = w.write(0, true);

	wrong.local_rcxt += 1 << 19;
	w.hold(1, {1});
	EXPECT_EQ(w.sent(2), (States{ok, held}));
	w.prepare(wrong);
	EXPECT_EQ(w.sent(1), States{FrameState::bad_rcxt});
	EXPECT_EQ(w.released(1), States{cancelled});
}

TEST(Condition, ARecoveryCancelsWhatIsHeld)
{
	Conditions w;

	w.hold(1, {1, 2});
	EXPECT_EQ(w.sent(3), (States{ok, held, held}));
	recover(w.device_a);
	EXPECT_EQ(w.released(2), (States{cancelled, cancelled}));
	EXPECT_TRUE(w.news(w.a).failed);
	w.hold(1, {1});
	EXPECT_EQ(w.sent(2).size(), 2u);
	EXPECT_TRUE(w.news(w.a).cancelled);
	EXPECT_TRUE(w.query().failed);
}

TEST(Condition, TheEndOfTheWindowMarksWhatIsHeldDead)
{
	Conditions w;

	w.hold(1, {1, 2});
	EXPECT_EQ(w.sent(3), (States{ok, held, held}));
	must(w.a.disable());
	EXPECT_EQ(w.released(2), (States{dead, dead}));
}

TEST(Condition, TheDeathOfTheWindowMarksWhatIsHeldDead)
{
	Conditions w;
	auto wrong = w.write(0);

	/* Its own memory is not mapped. */
	wrong.local_pvo += 1ull << 50;
	w.hold(1, {1, 2});
	EXPECT_EQ(w.sent(3), (States{ok, held, held}));
	w.prepare(wrong);
	EXPECT_EQ(w.sent(1), States{FrameState::bad_pvo});
	EXPECT_EQ(w.released(2), (States{dead, dead}));
}

TEST(Condition, AFullFifoGetsTheNewsLater)
{
	Conditions w;
	auto wrong = w.write(0, true);

	for (uint32_t n = 0; n < 256; n++) {
		must(w.b.send({node_a, w.a.number()}, {}));
		ASSERT_TRUE(eventually(
			[&] { return w.a.lmt().value().recv_count == n + 1; }));
	}
	wrong.local_rcxt += 1 << 19;
	w.hold(1, {1});
	must(w.a.query_counter(counter, 3));
	EXPECT_EQ(w.sent(3), (States{ok, held, FrameState::not_sent}));
	w.prepare(wrong);
	EXPECT_EQ(w.sent(1), States{FrameState::bad_rcxt});
	EXPECT_EQ(w.released(1), States{cancelled});
	EXPECT_EQ(w.a.receive([](const Message &) {}), 256u);
	/* Any call finds the slots that are free again. */
	must(w.a.recv_threshold(0));
	EXPECT_TRUE(w.news(w.a).cancelled);
}

} // namespace
