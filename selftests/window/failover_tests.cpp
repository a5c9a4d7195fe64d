// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * failover_tests.cpp - numbers and packets from before: an adapter's recovery, and the
 * module's reload (windows document, "Failover Mechanisms"). Packets are recorded on their
 * way into interface vb and sent again through va, on the other end of its wire.
 */
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "adapter.h"
#include "raw.h"

using namespace windows;

namespace {

constexpr size_t length = 20'000;
/* Where the life before left its packets, and the PVO they name. */
constexpr const char *left_behind = "/run/pavo-packets";

void replay(Wire &out, const std::vector<Frame> &frames)
{
	for (const Frame &frame : frames)
		out.send(frame);
}

void recover(const pavo::Device &device)
{
	std::ofstream file("/sys/class/infiniband/" + device.name() +
			   "/recover");

	ASSERT_TRUE(file << 1 << std::flush);
}

/* End a hears that it is done. */
bool told(Ends &ends, uint64_t tid)
{
	auto done = ended(ends.a);

	return done.tid == tid && done.status == PAVO_PVO_OK;
}

TEST(Failover, PacketsOfBeforeARecoveryAreDroppedSilently)
{
	Ends ends(length);
	Wire in("vb"), out("va");

	ASSERT_EQ(ends.ask(true, ends.request(1, length)), PAVO_FRAME_SENT);
	ASSERT_TRUE(told(ends, 1));
	auto frames = in.recorded();
	ASSERT_EQ(frames.size(), (length + 1379) / 1380);
	ends.there.fill(3);
	/* They reach it, and are late. */
	Moved late(ends.device_b, "rx_drop_tid");
	replay(out, frames);
	ASSERT_TRUE(eventually([&] { return late.by() == frames.size(); }));
	recover(ends.device_b);
	Moved stale(ends.device_b, "rx_drop_rcxt");
	replay(out, frames);
	ASSERT_TRUE(eventually([&] { return stale.by() == frames.size(); }));
	/* Also of whoever has not noticed. */
	ASSERT_EQ(ends.ask(true, ends.request(2, length)), PAVO_FRAME_SENT);
	ASSERT_TRUE(
		eventually([&] { return stale.by() == 2 * frames.size(); }));
	EXPECT_TRUE(ends.there.holds(3));
	EXPECT_EQ(ends.b.lmt().state, 1u) << "no window error";
	EXPECT_TRUE(quiet(ends.b));
	EXPECT_TRUE(quiet(ends.a));
	/* New ones are good. */
	EXPECT_EQ(ends.b.lmt().rcxts_owned, 0u);
	uint32_t before = ends.rcxt_b;
	ends.b.take_rcxts({&ends.rcxt_b, 1});
	EXPECT_NE(ends.rcxt_b >> PAVO_RCXT_INDEX_BITS,
		  before >> PAVO_RCXT_INDEX_BITS);
	ASSERT_EQ(ends.ask(true, ends.request(3, length)), PAVO_FRAME_SENT);
	ASSERT_TRUE(told(ends, 3));
	EXPECT_TRUE(ends.there.holds(1));
}

TEST(Failover, WhatIsUnderWayAtARecoveryEnds)
{
	Ends ends(length);
	uint32_t old = ends.rcxt_a;

	recover(ends.device_a);
	EXPECT_EQ(ends.ask(true, ends.request(1, length, 0)),
		  PAVO_FRAME_BAD_RCXT);
	EXPECT_EQ(ends.a.return_rcxts({&old, 1}), std::errc::invalid_argument);
	EXPECT_EQ(ends.a.cancel({&old, 1}), std::errc::invalid_argument);
	for (int round = 0; round < 40; round++) {
		std::vector<uint32_t> many(100);
		ends.a.take_rcxts(many);
		ends.rcxt_a = many[50];
		ends.b.take_rcxts({&ends.rcxt_b, 1});
		pavo_frame_state state = PAVO_FRAME_EMPTY;
		ASSERT_FALSE(ends.a.prepare_rdma(true, node_b, ends.b.number(),
						 ends.request(1, length, 0)));
		std::thread sender([&] { ends.a.start(); });
		recover(ends.device_a);
		sender.join();
		ASSERT_TRUE(eventually([&] {
			return ends.a.sent({&state, 1}) == 1;
		}));
		ASSERT_TRUE(state == PAVO_FRAME_SENT ||
			    state == PAVO_FRAME_BAD_RCXT)
			<< state;
		ASSERT_EQ(ends.a.lmt().rcxts, 0u);
		ASSERT_EQ(ends.a.lmt().rcxts_owned, 0u);
	}
}

/* Before the module is loaded anew. */
TEST(Failover, LeavesPacketsBehind)
{
	Ends ends(length);
	Wire in("vb");
	std::ofstream file(left_behind);

	ASSERT_EQ(ends.ask(true, ends.request(1, length)), PAVO_FRAME_SENT);
	ASSERT_TRUE(told(ends, 1));
	file << ends.there.pvo() << ' ' << ends.b.number() << '\n';
	for (const Frame &frame : in.recorded()) {
		file << frame.size() << '\n';
		file.write(reinterpret_cast<const char *>(frame.data()),
			   std::streamsize(frame.size()));
	}
	ASSERT_TRUE(file.good());
}

/* After that: the adapter is the same to all who look. */
TEST(Failover, OfALifeBeforeTheAdapterTakesNothing)
{
	Ends ends(length);
	Wire out("va");
	std::ifstream file(left_behind);
	std::vector<Frame> frames;
	uint64_t pvo, n;
	uint32_t window;

	ASSERT_TRUE(file >> pvo >> window);
	while (file >> n) {
		Frame frame(n);

		file.ignore();
		file.read(reinterpret_cast<char *>(frame.data()),
			  std::streamsize(n));
		frames.push_back(frame);
	}
	ASSERT_EQ(frames.size(), (length + 1379) / 1380);
	/* The same job and the same window: all but what is random fits. */
	ASSERT_EQ(ends.b.number(), window);
	Moved stale(ends.device_b, "rx_drop_rcxt");
	replay(out, frames);
	ASSERT_TRUE(eventually([&] { return stale.by() == frames.size(); }));
	EXPECT_TRUE(ends.there.holds(2));
	/* And its PVO is none, where the context is good. */
	ASSERT_NE(pvo, ends.there.pvo());
	Moved refused(ends.device_b, "rx_drop_rdma_pvo");
	auto request = ends.request(1, length, 0);
	request.remote_pvo = pvo;
	ASSERT_EQ(ends.ask(true, request), PAVO_FRAME_SENT);
	ASSERT_TRUE(eventually([&] { return refused.by() == 1; }));
	EXPECT_TRUE(ends.there.holds(2));
	EXPECT_EQ(ends.b.lmt().state, 1u);
}

} // namespace
