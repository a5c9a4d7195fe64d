// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * poll_tests.cpp - doorbell workers and windows: while the worker of a device is awake, its
 * windows send without a system call. Doorbells of verbs: verbs/poll_tests.cpp.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include <unistd.h>

#include "../common/tracer.h"
#include "../common/worker.h"
#include "adapter.h"
#include "second_wire.h"
#include "shared_window.hpp"

using namespace windows;
using pavo::Message;
using std::chrono::microseconds;

namespace {

/* Longer than any test waits for anything, and short. */
constexpr microseconds never(3600'000'000), soon(2000);
/* Looks until what must come is lost: looking makes no calls, not even for the time. */
constexpr uint64_t most_looks = 2'000'000'000;

struct Polled : testing::Test {
	Parameter allowed{"poll_idle_max", never.count()};
	Pair pair;

	static bool asleep(const pavo::Window &window)
	{
		return std::atomic_ref(shared_of(window).commands()->flags) &
		       PAVO_WCMD_NEED_KICK;
	}

	/* From a to b. Makes no system calls if the worker is awake. */
	void send_one()
	{
		const std::byte byte{1};

		ASSERT_TRUE(pair.a.send({node_b, pair.b.number()}, {&byte, 1})
				    .has_value());
		for (uint64_t looks = 0;
		     !pair.b.receive([](const Message &) {}); looks++)
			ASSERT_LT(looks, most_looks) << "lost";
		pavo::FrameState state;
		for (uint64_t looks = 0; !one_sent(pair.a, state); looks++)
			ASSERT_LT(looks, most_looks) << "not marked";
		ASSERT_EQ(state, pavo::FrameState::sent);
	}
};

TEST_F(Polled, SendingMakesNoSystemCalls)
{
	/* On one CPU each waits until the scheduler has been at the worker. */
	const int messages = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 1000 : 100;
	common::Tracer tracer;

	const uint64_t kicked = tracer.calls();
	for (int i = 0; i < 10; i++)
		send_one();
	EXPECT_EQ(tracer.calls() - kicked, 10u) << "without a worker";

	must(pair.device_a.poll(never));
	must(pair.device_b.poll(never));
	ASSERT_TRUE(
		eventually([&] { return !asleep(pair.a) && !asleep(pair.b); }));
	const uint64_t before = tracer.calls();
	for (int i = 0; i < messages; i++)
		ASSERT_NO_FATAL_FAILURE(send_one());
	EXPECT_EQ(tracer.calls() - before, 0u);
}

TEST_F(Polled, OneCallAfterAnIdleTime)
{
	common::Tracer tracer;

	must(pair.device_b.poll(never));
	for (int i = 0; i < 10; i++) {
		must(pair.device_a.poll(soon));
		/* That of the other device does not. */
		ASSERT_TRUE(eventually(common::worker_sleeps));
		must(pair.device_a.poll(never));
		ASSERT_TRUE(asleep(pair.a));
		const uint64_t before = tracer.calls();
		for (int n = 0; n < 20; n++)
			ASSERT_NO_FATAL_FAILURE(send_one());
		EXPECT_EQ(tracer.calls() - before, 1u);
	}
}

/* A process that has set a threshold looks at its FIFO next, and then waits. */
TEST_F(Polled, AThresholdIsSetWhenTheCallReturns)
{
	must(pair.device_a.poll(never));
	ASSERT_TRUE(eventually([&] { return !asleep(pair.a); }));
	for (uint32_t n = 1; n < 1000; n++) {
		must(pair.a.recv_threshold(n));
		ASSERT_EQ(pair.a.lmt().value().recv_threshold, n);
	}
}

/* A worker looks at 64 windows. Others of its device call, and lose nothing. */
TEST_F(Polled, MoreWindowsThanAWorkerLooksAt)
{
	constexpr int windows = 70;
	std::vector<std::unique_ptr<pavo::Window>> all;
	int awake = 0;

	must(pair.device_a.poll(never));
	ASSERT_TRUE(eventually([&] { return !asleep(pair.a); }));
	for (int i = 0; i < windows; i++) {
		all.push_back(
			std::make_unique<pavo::Window>(must(pavo::Window::open(
				pair.job_a,
				{.send_frames = PAVO_FIFO_LEAST,
				 .recv_frames = PAVO_FIFO_LEAST,
				 .gid_index = pair.address_a.index}))));
		must(all.back()->set_node(node_b, pair.address_b.gid));
		awake += !asleep(*all.back());
	}
	EXPECT_EQ(awake, 63) << "one more is the pair's";
	for (auto &window : all) {
		must(window->send({node_b, pair.b.number()}, pattern(1, 10)));
		ASSERT_TRUE(eventually([&] {
			return pair.b.receive([](const Message &) {});
		}));
	}
	/* Room for another one. */
	all.erase(all.begin());
	all.push_back(std::make_unique<pavo::Window>(must(pavo::Window::open(
		pair.job_a, {.send_frames = PAVO_FIFO_LEAST,
			     .recv_frames = PAVO_FIFO_LEAST}))));
	EXPECT_FALSE(asleep(*all.back()));
	must(pair.device_a.poll(microseconds(0)));
	for (auto &window : all)
		EXPECT_TRUE(asleep(*window));
}

/* The adapter counts by itself: a process cannot keep a worker awake by another count. */
TEST_F(Polled, AWorkerBelievesNoConsumer)
{
	std::atomic_ref consumer(shared_of(pair.a).commands()->consumer);

	/* This thread writes several times in it, also on one CPU. */
	must(pair.device_a.poll(50 * soon));
	ASSERT_TRUE(eventually([&] {
		consumer += 77;
		return asleep(pair.a);
	}));
	std::atomic_ref(shared_of(pair.a).commands()->producer) += 12345;
	must(shared_of(pair.a).kick());
	ASSERT_TRUE(eventually([&] { return asleep(pair.a); }));
}

TEST_F(Polled, LimitsAreTold)
{
	EXPECT_EQ(pair.device_a.poll(microseconds(-1)),
		  pavo::Unexpected(std::errc::invalid_argument));
	EXPECT_EQ(pair.device_a.poll(microseconds(1ll << 32)),
		  pavo::Unexpected(std::errc::invalid_argument));
	Parameter none("poll_idle_max", 0);
	EXPECT_EQ(pair.device_a.poll(soon),
		  pavo::Unexpected(std::errc::operation_not_permitted));
	must(pair.device_a.poll(microseconds(0)));
}

TEST(PolledAdapter, Goes)
{
	wire("make");
	adapter_is_active("wc0");
	adapter_is_active("wd0");
	{
		PathEnd end("wc0", node_a), other("wd0", node_b);

		must(end.device.poll(never));
		must(other.device.poll(soon));
		wire("delete wc0");
		/* The worker has set the flag: the next command fails with the reason. */
		EXPECT_EQ(end.window->send({node_b, other.window->number()},
					   pattern(1, 10)),
			  pavo::Unexpected(std::errc::io_error));
		EXPECT_EQ(end.device.poll(never),
			  pavo::Unexpected(std::errc::io_error));
	}
	wire("mend");
	wire("unmake");
}

} // namespace
