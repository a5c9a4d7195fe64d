// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * third_tests.cpp - third-party RDMA: a window has a second one send to a third; each may be the
 * same as another. forged_third_tests.cpp has made-up packets.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>

#include <pavo/rdma.hpp>

#include "trio.h"

using namespace windows;
using namespace std::chrono_literals;

namespace {

/* Bytes of data in a packet: the header is 12 bytes longer than that of a write. */
constexpr uint32_t third_packet = 1368;

struct ThirdOver : testing::TestWithParam<bool> {};

/* From each window to each, so that all are controller, source and target in every mixture. */
TEST_P(ThirdOver, MovesEveryLengthFromEachToEach)
{
	Trio trio(GetParam());
	constexpr size_t half = Trio::bytes / 2;

	for (uint32_t length : {0u, 1u, third_packet - 1, third_packet,
				third_packet + 1, 65'539u, uint32_t(half)})
		for (size_t n = 0; n < 9; n++) {
			const size_t source = n % 3, target = n / 3;
			auto &from = *trio.buffers[source];
			auto &to = *trio.buffers[target];
			auto third = trio.request(source, target, length);
			const uint32_t packets = std::max(
				1u, (length + third_packet - 1) / third_packet);
			Moved sent(trio.device_of(source), "tx_rdma_packets"),
				complete(trio.device_of(target), "rdma_done");

			SCOPED_TRACE(std::to_string(length) + " from " +
				     std::to_string(source) + " to " +
				     std::to_string(target));
			from.fill(uint32_t(30 + n));
			common::fill(to.memory.part(half, half), 40);
			ASSERT_EQ(trio.ask(source, third),
				  pavo::FrameState::sent);
			auto done = ended(trio.a);
			ASSERT_EQ(done.tid, third.request.tid);
			EXPECT_EQ(done.rcxt, trio.controls);
			EXPECT_EQ(done.peer_rcxt, trio.targets[target]);
			EXPECT_EQ(done.length, length);
			EXPECT_EQ(done.tag, third.request.tag);
			EXPECT_EQ(done.cookie, third.request.cookie);
			EXPECT_EQ(done.status, pavo::PvoResult::ok);
			EXPECT_EQ(done.target, 0);
			ASSERT_TRUE(std::ranges::equal(
				from.memory.part(0, length),
				to.memory.part(half, length)));
			/* And not a byte beside it. */
			ASSERT_TRUE(common::holds(to.memory.part(half + length,
								 half - length),
						  40, length));
			EXPECT_EQ(sent.by(), packets);
			EXPECT_EQ(complete.by(), 1u);
			for (pavo::Window *window : trio.windows)
				EXPECT_TRUE(quiet(*window));
		}
}

INSTANTIATE_TEST_SUITE_P(Ip, ThirdOver, testing::Values(false, true),
			 [](const auto &info) {
				 return info.param ? "v6" : "v4";
			 });

TEST(Third, RequestsAreChecked)
{
	Trio trio;
	struct {
		pavo::FrameState state;
		void (*change)(pavo::ThirdFrame &third);
	} cases[] = {
		{pavo::FrameState::bad_request,
		 [](pavo::ThirdFrame &third) {
			 third.request.flags = pavo::rdma_flag::notify_source;
		 }},
		{pavo::FrameState::bad_request,
		 [](pavo::ThirdFrame &third) {
			 third.request.flags = pavo::rdma_flag::to_fifo;
		 }},
		{pavo::FrameState::bad_request,
		 [](pavo::ThirdFrame &third) { third.request.flags = 0x80; }},
		{pavo::FrameState::bad_window,
		 [](pavo::ThirdFrame &third) { third.target.window = ~0u; }},
		{pavo::FrameState::bad_rcxt,
		 [](pavo::ThirdFrame &third) {
			 third.request.local_rcxt ^= 1u << 31;
		 }},
		{pavo::FrameState::stale,
		 [](pavo::ThirdFrame &third) { third.request.tid = 0; }},
	};

	for (auto &c : cases) {
		auto third = trio.request(1, 2, 100);

		c.change(third);
		EXPECT_EQ(trio.ask(1, third), c.state) << &c - cases;
	}
	EXPECT_TRUE(trio.buffers[2]->holds(3));
	EXPECT_TRUE(quiet(trio.a));
	EXPECT_TRUE(trio.all_valid());
}

/* The controller gets the status, from the end that has it; no window dies. */
TEST(Third, BadMemoryEndsItForTheController)
{
	Trio trio;

	for (bool at_source : {true, false})
		for (uint64_t wrong : {uint64_t(1) << 60, uint64_t(1) << 44}) {
			auto third = trio.request(1, 2, 5000);
			Moved refused(trio.device_of(at_source ? 1 : 2),
				      "rx_drop_rdma_pvo");

			(at_source ? third.request.remote_pvo :
				     third.request.local_pvo) ^= wrong;
			ASSERT_EQ(trio.ask(1, third), pavo::FrameState::sent);
			auto done = ended(trio.a);
			EXPECT_EQ(done.tid, third.request.tid);
			EXPECT_NE(done.status, pavo::PvoResult::ok);
			EXPECT_EQ(done.peer_rcxt, at_source ? trio.sources[1] :
							      trio.targets[2]);
			EXPECT_GE(refused.by(), 1u);
			EXPECT_TRUE(trio.buffers[2]->holds(3));
			EXPECT_TRUE(trio.all_valid());
			for (pavo::Window *window : trio.windows)
				EXPECT_TRUE(quiet(*window));
		}
	ASSERT_EQ(trio.ask(1, trio.request(1, 2, 5000)),
		  pavo::FrameState::sent);
	EXPECT_EQ(ended(trio.a).status, pavo::PvoResult::ok);
}

/* An attempt that finds no route is counted, and the next one may find it. */
TEST(Third, NeedsRoutesFromSourceToTargetAndFromThatToTheController)
{
	Trio trio;
	auto b = another(trio); /* has a route to node a only */
	auto &to = *trio.buffers[2];
	uint32_t rcxt;

	must(b->take_rcxts({&rcxt, 1}));
	auto third = trio.request(1, 2, 5000);
	third.request.remote_rcxt = rcxt;
	auto ask = [&] {
		pavo::FrameState state = pavo::FrameState::empty;

		must(trio.a.prepare_third(b->address(), third));
		must(trio.a.start());
		return eventually([&] { return one_sent(trio.a, state); }) &&
		       state == pavo::FrameState::sent;
	};
	Moved none(trio.device_b, "tx_drop_node");
	ASSERT_TRUE(ask());
	ASSERT_TRUE(eventually([&] { return none.by() == 1; }));
	EXPECT_TRUE(quiet(trio.a));
	EXPECT_TRUE(to.holds(3));
	must(b->set_node(node_c, trio.address_a.gid));
	third.request.tid = ++trio.tid;
	third.request.attempts = 1;
	ASSERT_TRUE(ask());
	EXPECT_EQ(ended(trio.a).tid, trio.tid);
	EXPECT_FALSE(to.holds(3));

	/* A target that cannot answer has the data, and does not take it again. */
	pavo::Window lonely =
		pavo::Window::open(trio.job_b,
				   {.node = node_b,
				    .gid_index = trio.address_b.index})
			.value();
	must(lonely.take_rcxts({&rcxt, 1}));
	must(b->set_node(node_b, trio.address_b.gid));
	to.fill(3);
	third.target = lonely.address();
	third.target_rcxt = rcxt;
	third.request.tid = ++trio.tid;
	third.request.attempts = 0;
	ASSERT_TRUE(ask());
	ASSERT_TRUE(eventually([&] { return none.by() == 2; }));
	EXPECT_FALSE(to.holds(3));
	to.fill(3);
	must(lonely.set_node(node_a, trio.address_a.gid));
	Moved repeats(trio.device_b, "rdma_repeats");
	third.request.tid = ++trio.tid;
	third.request.attempts = 1;
	ASSERT_TRUE(ask());
	EXPECT_EQ(ended(trio.a).tid, trio.tid);
	EXPECT_EQ(repeats.by(), 1u);
	EXPECT_TRUE(to.holds(3));
}

/* A process is killed whose request is being carried out: the contexts serve the next one. */
TEST(Third, GoesOnWithoutItsController)
{
	constexpr uint16_t node_of_victim = 3;
	Trio trio;
	auto third = trio.request(1, 2, Trio::bytes / 2);

	must(trio.b.set_node(node_of_victim, trio.address_a.gid));
	must(trio.c.set_node(node_of_victim, trio.address_a.gid));
	for (int round = 0; round < 3; round++) {
		Moved begun(trio.device_b, "tx_rdma_packets");
		third.request.tid = ++trio.tid;
		world::Process victim([&](world::Process &self) {
			pavo::Device device = world::adapter();
			pavo::Job job = pavo::Job::join(device, world::job_id,
							world::job_key)
						.value();
			pavo::Window window =
				pavo::Window::open(
					job,
					{.node = node_of_victim,
					 .gid_index = trio.address_a.index})
					.value();

			must(window.set_node(node_b, trio.address_b.gid));
			must(window.take_rcxts({&third.request.local_rcxt, 1}));
			must(window.prepare_third(trio.b.address(), third));
			must(window.start());
			self.meet();
			self.meet();
			return true;
		});

		victim.meet();
		victim.kill();
		EXPECT_TRUE(eventually([&] { return begun.by() > 0; }));
		/* It may find the source busy, and is requested again then. */
		trio.buffers[1]->fill(uint32_t(50 + round));
		auto next = trio.request(1, 2, Trio::bytes / 2);
		bool over = false;
		EXPECT_TRUE(eventually([&] {
			EXPECT_EQ(trio.ask(1, next), pavo::FrameState::sent);
			over = eventually([&] { return !quiet(trio.a); },
					  100ms);
			next.request.tid = ++trio.tid;
			next.request.attempts++;
			return over;
		}));
		EXPECT_TRUE(std::ranges::equal(
			trio.buffers[1]->memory.part(0, Trio::bytes / 2),
			trio.buffers[2]->memory.part(Trio::bytes / 2,
						     Trio::bytes / 2)));
		EXPECT_TRUE(trio.all_valid());
	}
}

/* The library's, from each to each, also over a network that loses, repeats and reorders. */
TEST(Network, ThirdPartyOperationsOnce)
{
	constexpr uint32_t operations = 45, size = 11'000;
	Trio trio;
	std::vector<pavo::Rdma> rdmas;
	std::vector<pavo::Rdma::Peer> peers;
	std::map<uint32_t, int> ended;
	std::map<uint32_t, size_t> notified;

	for (pavo::Window *window : trio.windows)
		rdmas.push_back(pavo::Rdma::open(*window).value());
	for (size_t i = 0; i < rdmas.size(); i++) {
		std::vector<uint32_t> rcxts(3);

		must(rdmas[i].take_rcxts(rcxts));
		peers.push_back(must(
			rdmas[0].add({trio.windows[i]->address(), rcxts})));
		rdmas[i].on_arrival([&, i](const pavo::RdmaArrival &arrival) {
			EXPECT_EQ(arrival.length, size);
			EXPECT_FALSE(notified.contains(arrival.tag));
			notified[arrival.tag] = i;
		});
	}
	const uint32_t counter = must(rdmas[0].take_counter());
	for (uint32_t n = 0; n < operations; n++) {
		const size_t source = n % 3, target = n / 3 % 3;
		const size_t at = n * size;
		pavo::RdmaMove move{.local = {trio.buffers[target]->pvo(
					    Trio::bytes / 2 + at)},
				    .remote = {trio.buffers[source]->pvo(at)},
				    .length = size,
				    .notify = n % 2 == 0,
				    .tag = n,
				    .counter = counter};

		must(rdmas[0].third_party(
			peers[source], peers[target], move,
			[&ended, n](const pavo::Result<void> &how) {
				EXPECT_TRUE(how.has_value())
					<< how.error().message();
				ended[n]++;
			}));
	}
	auto all_is_there = [&] {
		for (uint32_t n = 0; n < operations; n++)
			EXPECT_TRUE(std::ranges::equal(
				trio.buffers[n % 3]->memory.part(n * size,
								 size),
				trio.buffers[n / 3 % 3]->memory.part(
					Trio::bytes / 2 + n * size, size)))
				<< n;
	};
	/* The adapter puts it when all have counted; some may still have to notify. */
	bool flagged = false;
	must(rdmas[0].put(peers[1],
			  {.local = {trio.buffers[0]->pvo()},
			   .remote = {trio.buffers[1]->pvo(Trio::bytes - 1)},
			   .length = 1,
			   .after = pavo::RdmaCondition{counter}},
			  [&](const pavo::Result<void> &how) {
				  EXPECT_TRUE(how.has_value());
				  all_is_there();
				  flagged = true;
			  }));
	ASSERT_TRUE(eventually([&] {
		for (pavo::Rdma &rdma : rdmas)
			(void)rdma.progress();
		return !rdmas[0].pending();
	}));
	for (pavo::Rdma &rdma : rdmas)
		(void)rdma.progress();
	EXPECT_TRUE(flagged);
	for (uint32_t n = 0; n < operations; n++) {
		EXPECT_EQ(ended[n], 1) << n;
		EXPECT_EQ(notified.contains(n), n % 2 == 0) << n;
		if (n % 2 == 0) {
			EXPECT_EQ(notified[n], n / 3 % 3) << n;
		}
	}
	all_is_there();
	if (getenv("PAVO_LOSSY")) {
		EXPECT_GT(rdmas[0].retries(), 0u);
	}
}

} // namespace
