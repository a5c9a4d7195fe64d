// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * round_tests.cpp - who sends, and how much at a time: the quantum, seen by the order in
 * which packets arrive, the number of transmit workers, and the work manager
 * (sources.md#windows-send).
 */
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "adapter.h"
#include "raw.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;

namespace {

/* Messages of this thread arrive in order: it stays on its CPU. */
class OneCpu {
public:
	explicit OneCpu(int cpu = sched_getcpu())
	{
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_getaffinity(0, sizeof(before_), &before_) ||
		    sched_setaffinity(0, sizeof(one), &one))
			throw std::runtime_error("no CPU of its own");
	}
	~OneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
	OneCpu(const OneCpu &) = delete;

private:
	cpu_set_t before_;
};

/*
 * Two windows that are to have something to send at the same time, though each call makes
 * the caller a worker. The first one's receive FIFO is full: before the next packet is
 * dropped the adapter looks at its commands, and no worker sends for that.
 */
struct Rounds : testing::TestWithParam<uint32_t> {
	Rounds()
	{
		pavo::WindowOptions options = {.node = node_a,
					       .recv_frames = PAVO_FIFO_LEAST,
					       .gid_index =
						       ends.address_a.index};

		first = std::make_unique<pavo::Window>(
			pavo::Window::open(ends.job_a, options).value());
		must(first->set_node(node_b, ends.address_b.gid));
		for (uint32_t n = 0; n < PAVO_FIFO_LEAST; n++)
			to_first();
		EXPECT_TRUE(eventually([&] {
			return first->lmt().value().recv_count ==
			       PAVO_FIFO_LEAST;
		}));
	}

	void to_first()
	{
		EXPECT_TRUE(
			ends.b.send({node_a, first->number()}, {}).has_value());
	}

	/* @n frames of it are ready; then those of the other, and all are sent. */
	void start_both(uint32_t n)
	{
		pavo_command_page *page = shared_of(*first).commands();
		uint64_t command = uint64_t(PAVO_WCMD_START_TRANSMIT)
				   << PAVO_WCMD_OP_SHIFT;

		page->ring[page->producer % PAVO_WCMD_RING] = command | n;
		std::atomic_ref(page->producer).fetch_add(1);
		to_first();
		ASSERT_TRUE(eventually(
			[&] { return first->lmt().value().send_ready == n; }));
		ASSERT_TRUE(ends.a.start().has_value());
	}

	/* Of @each packets of both: so many of one, then so many of the other. */
	void in_turns(const std::vector<uint32_t> &order, uint32_t each)
	{
		uint32_t k = GetParam(), other = ends.a.number(),
			 begins = order.at(0);
		uint32_t second = begins == other ? first->number() : other;
		std::vector<uint32_t> expected;

		for (uint32_t sent = 0; sent < each; sent += k)
			for (uint32_t who : {begins, second})
				expected.insert(expected.end(),
						std::min(k, each - sent), who);
		EXPECT_EQ(order, expected) << "rounds of " << k;
	}

	OneCpu cpu;
	Parameter workers{"window_workers", 1};
	Parameter quantum{"window_quantum", GetParam()};
	Ends ends;
	std::unique_ptr<pavo::Window> first;
};

TEST_P(Rounds, OfFrames)
{
	constexpr uint32_t each = 20;
	std::vector<uint32_t> order;

	ASSERT_EQ(ends.a.lmt().value().quantum, GetParam());
	for (uint32_t n = 0; n < each; n++) {
		ASSERT_TRUE(first->prepare({node_b, ends.b.number()}, {})
				    .has_value());
		ASSERT_TRUE(ends.a.prepare({node_b, ends.b.number()}, {})
				    .has_value());
	}
	start_both(each);
	ASSERT_TRUE(eventually([&] {
		ends.b.receive([&](const Message &message) {
			order.push_back(message.from.window);
		});
		return order.size() == 2 * each;
	}));
	in_turns(order, each);
}

/* A request is a frame; what it asks for comes behind the frames of a round. */
TEST_P(Rounds, OfRdma)
{
	constexpr uint32_t each = 20, packet = 1380;
	auto request = ends.request(1, each * packet);
	std::vector<uint32_t> order;
	uint32_t rcxts[2];
	Wire in("vb");

	must(first->take_rcxts({&rcxts[0], 1}));
	must(ends.b.take_rcxts({&rcxts[1], 1}));
	ASSERT_TRUE(ends.a.prepare_rdma(pavo::Direction::write,
					{node_b, ends.b.number()}, request)
			    .has_value());
	request.local_rcxt = rcxts[0];
	request.remote_rcxt = rcxts[1];
	request.remote_pvo += each * packet;
	ASSERT_TRUE(first->prepare_rdma(pavo::Direction::write,
					{node_b, ends.b.number()}, request)
			    .has_value());
	start_both(1);
	ASSERT_TRUE(eventually([&] {
		for (const Frame &frame : in.recorded())
			order.push_back(uint32_t(field(frame, AT_WINDOW, 3)));
		return order.size() == 2 * each;
	}));
	in_turns(order, each);
}

INSTANTIATE_TEST_SUITE_P(Quantum, Rounds, testing::Values(1u, 3u, 8u, 1024u),
			 [](const auto &info) {
				 return std::to_string(info.param);
			 });

/* After so many rounds a worker is to do something else, and the manager goes on. */
TEST(Workers, TheManagerGoesOn)
{
	constexpr uint32_t few = 40, many = 1000;
	Parameter workers("window_workers", 1), quantum("window_quantum", 1);
	Pair pair(false, 2048, 1024);
	uint32_t come = 0;
	auto send = [&](uint32_t n) {
		come = 0;
		for (uint32_t i = 0; i < n; i++)
			ASSERT_TRUE(
				pair.a.prepare({node_b, pair.b.number()}, {})
					.has_value());
		ASSERT_TRUE(pair.a.start().has_value());
		ASSERT_TRUE(eventually([&] {
			come += pair.b.receive([](const Message &) {});
			return come == n;
		}));
	};

	const uint64_t before = used_up("windows");
	Moved none(pair.device_a, "window_manager");
	send(few);
	EXPECT_EQ(none.by(), 0u) << "few rounds are the caller's";
	EXPECT_EQ(used_up("windows"), before);
	Moved some(pair.device_a, "window_manager");
	send(many);
	EXPECT_GE(some.by(), many / 100);
	/* The caller's rounds, and the manager's; the last one has nothing left. */
	EXPECT_GE(used_up("windows") - before, many / 100);
	EXPECT_EQ(come, many);
}

/*
 * A window with something to send while the only other window is in the hands of a worker sends
 * that, and leaves the other to its worker: the manager does not run until that is done.
 */
TEST(Workers, LeaveAWindowToWhoHasIt)
{
	if (std::thread::hardware_concurrency() < 2)
		GTEST_SKIP() << "one CPU: never two at work";
	constexpr uint32_t length = 1 << 18;
	constexpr uint64_t enough = 20;
	/* An operation is a round. */
	Parameter quantum("window_quantum", 1024);
	Ends ends(length);
	pavo::WindowOptions options = {.node = node_a,
				       .gid_index = ends.address_a.index};
	pavo::Window other = pavo::Window::open(ends.job_a, options).value();
	must(other.set_node(node_b, ends.address_b.gid));
	std::atomic<bool> over = false;
	std::thread writer([&] {
		for (uint64_t tid = 1; !over; tid++) {
			ASSERT_EQ(ends.ask(true, ends.request(tid, length)),
				  pavo::FrameState::sent);
			ASSERT_EQ(ended(ends.a).tid, tid);
		}
	});
	auto in_turn = [&] { return ends.a.lmt().value().quantum_left != 0; };
	Moved runs(ends.device_a, "window_manager");
	uint64_t calls = 0, met = 0;

	/* Until some came in the middle of a round, which has gone on after them. */
	EXPECT_TRUE(eventually([&] {
		if (!in_turn())
			return false;
		pavo::FrameState state = pavo::FrameState::empty;

		must(other.send({node_b, ends.b.number()}, {}));
		met += in_turn();
		calls++;
		EXPECT_TRUE(eventually([&] { return one_sent(other, state); }));
		return met >= enough;
	}));
	over = true;
	writer.join();
	EXPECT_LT(runs.by(), 5 * calls) << met << " of " << calls;
}

/* Two that send one message after the other, until @enough. Return: how many. */
uint64_t send_by_two(Pair &pair, pavo::Window &other,
		     const std::function<bool(uint64_t)> &enough)
{
	std::atomic<uint64_t> sent = 0;
	std::atomic<bool> over = false;
	auto send = [&](pavo::Window &window) {
		while (!over) {
			pavo::FrameState state = pavo::FrameState::empty;

			ASSERT_TRUE(window.send({node_b, pair.b.number()}, {})
					    .has_value());
			/* Whichever worker sends it. */
			ASSERT_TRUE(eventually(
				[&] { return one_sent(window, state); }));
			ASSERT_EQ(state, pavo::FrameState::sent);
			sent++;
		}
	};
	std::thread one([&] { send(pair.a); }), two([&] { send(other); });

	EXPECT_TRUE(eventually([&] { return enough(sent); }));
	over = true;
	one.join();
	two.join();
	return sent;
}

/* As many as the parameter says: a caller that comes when all are at work does not wait. */
TEST(Workers, AreNoMoreThanTheyMayBe)
{
	if (std::thread::hardware_concurrency() < 2)
		GTEST_SKIP() << "one CPU: never two at work";
	Pair pair;
	pavo::WindowOptions options = {.node = node_a,
				       .gid_index = pair.address_a.index};
	pavo::Window other = pavo::Window::open(pair.job_a, options).value();
	must(other.set_node(node_b, pair.address_b.gid));
	uint64_t sent;

	{
		Parameter workers("window_workers", 1);
		Moved busy(pair.device_a, "window_no_worker");

		sent = send_by_two(pair, other,
				   [&](uint64_t) { return busy.by() > 10; });
	}
	/* These two and the manager are three. */
	Parameter workers("window_workers", 3);
	Moved busy(pair.device_a, "window_no_worker");
	send_by_two(pair, other, [&](uint64_t n) { return n >= sent; });
	EXPECT_EQ(busy.by(), 0u);
}

/* The thread is on this CPU from now on, before all others if it is @urgent. */
void stay_on(int cpu, bool urgent)
{
	sched_param first = {.sched_priority = 10};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) ||
	    (urgent && sched_setscheduler(0, SCHED_FIFO, &first)))
		throw std::runtime_error("no such CPU or priority");
}

/*
 * On one CPU callers have much to send, and an urgent thread stops them again and again
 * (in a kernel that preempts calls). While they stand still a caller on the other CPU finds
 * a worker free: what it sends has left when its call returns.
 */
TEST(Workers, AreNotHeldByCallersThatStandStill)
{
	if (std::thread::hardware_concurrency() < 2)
		GTEST_SKIP() << "one CPU: no thread sends meanwhile";

	using namespace std::chrono;
	constexpr uint32_t enough = 200, frames = 64;
	Parameter workers("window_workers", 2), quantum("window_quantum", 1);
	Pair pair;
	pavo::WindowOptions options = {.node = node_a,
				       .gid_index = pair.address_a.index};
	std::atomic<bool> over = false, still = false;
	std::atomic<uint32_t> stops = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			stay_on(1, false);
			pavo::Window window =
				pavo::Window::open(pair.job_a, options).value();

			must(window.set_node(node_b, pair.address_b.gid));
			while (!over) {
				for (uint32_t n = 0; n < frames; n++)
					(void)window.prepare(
						{node_b, pair.b.number()}, {});
				(void)window.start();
			}
		});
	threads.emplace_back([&] {
		stay_on(1, true);
		while (!over) {
			std::this_thread::sleep_for(milliseconds(2));
			auto until = steady_clock::now() + milliseconds(8);

			stops++;
			still = true;
			while (steady_clock::now() < until)
				;
			still = false;
		}
	});
	OneCpu here(0);
	uint32_t asked = 0, late = 0;

	EXPECT_TRUE(eventually([&] {
		pavo::FrameState state = pavo::FrameState::empty;
		const uint32_t before = stops;

		if (!still)
			return false;
		must(pair.a.send({node_b, pair.b.number()}, {}));
		const bool sent = one_sent(pair.a, state);

		/* All of it while they stood still? */
		if (still && before == stops) {
			asked++;
			late += !sent;
		}
		EXPECT_TRUE(sent || eventually([&] {
				    return one_sent(pair.a, state);
			    }));
		return asked >= enough;
	}));
	over = true;
	for (std::thread &thread : threads)
		thread.join();
	EXPECT_EQ(late, 0u) << "of " << asked;
}

} // namespace
