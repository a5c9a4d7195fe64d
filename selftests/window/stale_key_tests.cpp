// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * stale_key_tests.cpp - keys of memory from before the module's reload
 * (sources.md#windows-failover), on packets and in a request in which all else is right.
 * As they were recorded, packets of then do not get as far: see failover_tests.cpp, whose life
 * before leaves them behind.
 */
#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "adapter.h"
#include "raw.h"

using namespace windows;

namespace {

constexpr uint32_t stale_length = 20'000;
constexpr uint64_t key_bits = ~0ull << 47;

/* The notes of failover_tests.cpp. */
struct LifeBefore {
	LifeBefore()
	{
		std::ifstream file("/run/pavo-packets");
		size_t n;

		file >> pvo >> window;
		while (file >> n) {
			Frame frame(n);

			file.ignore();
			file.read(reinterpret_cast<char *>(frame.data()),
				  std::streamsize(n));
			frames.push_back(frame);
		}
	}

	uint64_t pvo = 0;
	uint32_t window = 0;
	std::vector<Frame> frames;
};

/* Of the present life, but for the memory that it names. */
Frame of_today(const Ends &ends, Frame frame, uint64_t tid)
{
	set_field(frame, AT_DWINDOW, 3, ends.b.number());
	set_field(frame, AT_WINDOW, 3, ends.a.number());
	set_field(frame, AT_RCXT, 4, ends.rcxt_b);
	set_field(frame, AT_PEER_RCXT, 4, ends.rcxt_a);
	set_field(frame, AT_TID, 8, tid);
	finish_checksums(frame);
	return frame;
}

struct StaleKey : Ends {
	StaleKey() : Ends(stale_length), out("va") {}

	LifeBefore before;
	Wire out;
	uint64_t tid = 0;
};

/* The same table, the same place in it, another key: else this would show nothing. */
void expect_only_the_key_differs(const StaleKey &now)
{
	ASSERT_EQ(now.before.frames.size(), (stale_length + 1379) / 1380);
	ASSERT_EQ(now.before.pvo & ~key_bits, now.there.pvo() & ~key_bits);
	ASSERT_NE(now.before.pvo, now.there.pvo());
}

TEST(Failover, OfALifeBeforeTheAdapterPlacesNoPacket)
{
	StaleKey now;

	ASSERT_NO_FATAL_FAILURE(expect_only_the_key_differs(now));
	Moved refused(now.device_b, "rx_drop_rdma_pvo");
	Moved other(now.device_b, "rx_drop_rcxt");
	/* An attempt for each: the first that is refused ends its attempt. */
	for (const Frame &frame : now.before.frames)
		now.out.send(of_today(now, frame, ++now.tid));
	ASSERT_TRUE(eventually(
		[&] { return refused.by() == now.before.frames.size(); }));
	EXPECT_EQ(other.by(), 0u);
	EXPECT_TRUE(now.there.holds(2));
	EXPECT_EQ(now.b.lmt().value().state, pavo::WindowState::valid)
		<< "no window error at this end";
	EXPECT_TRUE(quiet(now.b));

	/* It was the key alone: with that of today they come in, all of them. */
	Moved done(now.device_b, "rdma_done");
	now.tid++;
	for (Frame frame : now.before.frames) {
		uint64_t at = field(frame, AT_PVO, 8) - now.before.pvo;

		set_field(frame, AT_PVO, 8, now.there.pvo() + at);
		now.out.send(of_today(now, frame, now.tid));
	}
	ASSERT_TRUE(eventually([&] { return done.by() == 1; }));
	EXPECT_TRUE(now.there.holds(1));
	EXPECT_EQ(refused.by(), now.before.frames.size());
}

/* Named by the process itself it is a fault of the process. */
TEST(Failover, OfALifeBeforeTheAdapterSendsNothing)
{
	StaleKey now;
	auto request = now.request(1, stale_length);

	ASSERT_NO_FATAL_FAILURE(expect_only_the_key_differs(now));
	Moved sent(now.device_a, "tx_rdma_packets");
	request.local_pvo = now.before.pvo;
	EXPECT_EQ(now.ask(true, request), pavo::FrameState::bad_pvo);
	EXPECT_EQ(now.a.lmt().value().state, pavo::WindowState::dead);
	EXPECT_EQ(now.a.lmt().value().fatal_rcxt, now.rcxt_a);
	EXPECT_EQ(now.ask(true, now.request(2, stale_length)),
		  pavo::FrameState::dead);
	EXPECT_EQ(sent.by(), 0u);
	EXPECT_TRUE(now.there.holds(2));
	EXPECT_EQ(now.b.lmt().value().state, pavo::WindowState::valid);
}

} // namespace
