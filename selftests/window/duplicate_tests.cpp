// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * duplicate_tests.cpp - the same once more: packets that the network makes two of while others
 * are awaited, ends for which there was no room at first, and reads that were answered.
 */
#include <gtest/gtest.h>

#include <algorithm>

#include "scene.h"

using namespace windows;
using pavo::Message;

namespace {

constexpr size_t place = page + 100, half_bytes = 1000;

/* Half of 2000 bytes, by a fragment that is number @n of two. */
Frame half(Scene &scene, uint32_t n)
{
	Frame frame = scene.model;

	frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_TARGET;
	set_field(frame, AT_RCXT, 4, scene.forged_b);
	set_field(frame, AT_PEER_RCXT, 4, scene.forged_a);
	set_field(frame, AT_TID, 8, scene.tid);
	set_field(frame, AT_TOTAL, 4, 2 * half_bytes);
	set_field(frame, AT_FRAGMENT, 4, n);
	set_field(frame, AT_PVO, 8, field(frame, AT_PVO, 8) + n * half_bytes);
	return frame;
}

/* A fragment that comes again is not placed again, nor does it count as another. */
TEST(Again, AFragmentWhileTheOtherIsAwaited)
{
	for (uint32_t early : {0, 1}) {
		const size_t late_place = place + (1 - early) * half_bytes;
		Scene scene;
		Moved placed(scene.device_b, "rx_rdma_packets"),
			again(scene.device_b, "rx_drop_rdma_again"),
			done(scene.device_b, "rdma_done");

		scene.tid++;
		Frame frame = half(scene, early);
		scene.send(frame);
		ASSERT_TRUE(eventually([&] { return placed.by() == 1; }));
		scene.there.fill(9);
		for (uint64_t n = 1; n <= 3; n++) {
			scene.send(frame);
			ASSERT_TRUE(
				eventually([&] { return again.by() == n; }));
		}
		EXPECT_TRUE(scene.there.holds(9)) << "placed again";
		EXPECT_EQ(placed.by(), 1u);
		EXPECT_EQ(done.by(), 0u) << "half of it is not here";
		EXPECT_TRUE(quiet(scene.b));
		frame = half(scene, 1 - early);
		scene.send(frame);
		EXPECT_EQ(ended(scene.b).tid, scene.tid);
		EXPECT_EQ(placed.by(), 2u);
		EXPECT_TRUE(scene.there.holds(9, 0, late_place));
		EXPECT_TRUE(std::ranges::equal(
			scene.there.memory.part(late_place, half_bytes),
			scene.here.memory.part(0, half_bytes)));
		EXPECT_TRUE(scene.honest());
	}
}

/* All is here, but there was no frame to say so: the next that comes again finds one. */
TEST(Again, AnEndForWhichTheFifoHadNoRoom)
{
	constexpr uint32_t slots = 256;
	Scene scene;
	Frame frame = scene.forged();
	uint32_t messages = 0;
	pavo::DoneFrame notified{};

	ASSERT_EQ(scene.b.lmt().value().recv_frames, slots);
	Moved frames(scene.device_b, "rx_frames");
	for (uint32_t n = 0; n < slots;)
		if (scene.a.send({node_b, scene.b.number()}, {}).has_value())
			n++;
	ASSERT_TRUE(eventually([&] { return frames.by() == slots; }));
	Moved full(scene.device_b, "rx_drop_fifo_full"),
		again(scene.device_b, "rx_drop_rdma_again"),
		done(scene.device_b, "rdma_done");
	frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_TARGET;
	scene.send(frame);
	ASSERT_TRUE(eventually([&] { return full.by() == 1; }));
	scene.there.fill(9);
	scene.send(frame);
	ASSERT_TRUE(eventually([&] { return full.by() == 2; }));
	EXPECT_EQ(again.by(), 1u);
	EXPECT_EQ(done.by(), 0u);
	auto take = [&](const Message &message) {
		if (message.type == pavo::FrameType::rdma_done)
			notified = message.done();
		else
			messages++;
	};
	scene.b.receive(take);
	EXPECT_EQ(messages, slots);
	EXPECT_EQ(notified.tid, 0u);
	scene.send(frame);
	ASSERT_TRUE(eventually([&] {
		scene.b.receive(take);
		return notified.tid;
	}));
	EXPECT_EQ(notified.tid, scene.tid);
	EXPECT_EQ(notified.length, half_bytes);
	EXPECT_EQ(again.by(), 2u);
	EXPECT_EQ(done.by(), 1u);
	EXPECT_TRUE(scene.there.holds(9)) << "placed again";
	EXPECT_TRUE(scene.honest());
}

/* A peer that asks again for what it has read gets that answer, and no byte is sent. */
TEST(Again, AReadThatIsComplete)
{
	Ends ends;
	auto request = ends.request(10, 5000, pavo::rdma_flag::notify_target);

	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 10u);
	ends.here.fill(9);
	Moved repeats(ends.device_a, "rdma_repeats"),
		sent(ends.device_b, "tx_rdma_packets");
	for (uint16_t attempt : {1, 2, 3}) {
		request.tid = 10u + attempt;
		request.attempts = attempt;
		request.cookie = 7u + attempt;
		ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
		auto done = ended(ends.a);
		EXPECT_EQ(done.tid, request.tid);
		EXPECT_EQ(done.length, 5000u);
		EXPECT_EQ(done.status, pavo::PvoResult::ok);
	}
	EXPECT_EQ(repeats.by(), 3u);
	EXPECT_EQ(sent.by(), 0u);
	EXPECT_TRUE(ends.here.holds(9)) << "read again";
	/* One that is not the same, or a new one, is read. */
	request.tid = 14;
	request.attempts = 0;
	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	ASSERT_EQ(ended(ends.a).tid, 14u);
	EXPECT_TRUE(std::ranges::equal(ends.here.memory.part(0, 5000),
				       ends.there.memory.part(0, 5000)));
}

/* Windows have one partition. */
TEST(Forged, PacketsOfAnotherPartition)
{
	constexpr size_t at_pkey = AT_OPCODE + 2;
	Scene scene;
	Frame frame = scene.forged();

	ASSERT_EQ(field(frame, at_pkey, 2), 0xffffu);
	set_field(frame, at_pkey, 2, 0x8001);
	scene.drops(frame, "rx_drop_pkey");
}

/* Once: the source of a read that did not hear of its end, when the reader asks again. */
TEST(Again, TheSourceOfAReadThatWasNotNotified)
{
	Ends ends;
	uint32_t slots = ends.b.lmt().value().recv_frames;
	auto request = ends.request(10, 5000,
				    pavo::rdma_flag::notify_source |
					    pavo::rdma_flag::notify_target);
	Moved frames(ends.device_b, "rx_frames"),
		full(ends.device_b, "rx_drop_fifo_full"),
		late(ends.device_b, "rx_drop_tid"),
		sent(ends.device_b, "tx_rdma_packets");

	for (uint32_t n = 0; n < slots;)
		if (ends.a.send({node_b, ends.b.number()}, {}).has_value())
			n++;
	ASSERT_TRUE(eventually([&] { return frames.by() == slots; }));
	ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
	EXPECT_EQ(ended(ends.a).tid, 10u);
	ASSERT_TRUE(eventually([&] { return full.by() == 1; }));
	ends.b.receive([](const Message &message) {
		EXPECT_EQ(message.type, pavo::FrameType::message);
	});
	const uint64_t packets = sent.by();
	for (uint16_t attempt : {1, 2, 3}) {
		request.tid = 10u + attempt;
		request.attempts = attempt;
		ASSERT_EQ(ends.ask(false, request), pavo::FrameState::sent);
		EXPECT_EQ(ended(ends.a).tid, request.tid);
		if (attempt == 1) {
			auto done = ended(ends.b);
			/* The attempt that it knows of. */
			EXPECT_EQ(done.tid, 10u);
			EXPECT_EQ(done.length, 5000u);
			EXPECT_EQ(done.status, pavo::PvoResult::ok);
			EXPECT_EQ(done.target, 0);
		}
		EXPECT_TRUE(
			eventually([&] { return late.by() == attempt - 1u; }));
	}
	EXPECT_TRUE(quiet(ends.b)) << "notified twice";
	EXPECT_EQ(sent.by(), packets) << "read again";
}

} // namespace
