// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * forged_third_tests.cpp - made-up packets of third-party RDMA: requests to a source, data to a
 * target, ends to a controller. See forged_tests.cpp.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "forgeries.h"

using namespace windows;

namespace {

constexpr uint8_t done = 0xc3, third_read = 0xc4, third_data = 0xc5;

/* The header with the third end; in a request, and in data. */
constexpr size_t third_bytes = 12;
constexpr size_t at_reader = AT_END_OF_READ, at_controller = AT_PAYLOAD;
constexpr size_t end_of_read = at_reader + third_bytes;
constexpr size_t third_payload = at_controller + third_bytes;

void set_third(Frame &frame, size_t at, uint16_t node, uint32_t window,
	       uint32_t rcxt)
{
	set_field(frame, at, 2, node);
	set_field(frame, at + 2, 2, 0);
	set_field(frame, at + 4, 4, window);
	set_field(frame, at + 8, 4, rcxt);
}

/* ------------------------------------------------------------ the source */

/* a has b send 1000 bytes of its memory to a context of a's that has no owner. */
Frame forged_request(Scene &scene)
{
	Frame frame = scene.forged();

	frame[AT_OPCODE] = third_read;
	resize(frame, end_of_read, 0);
	frame[AT_FLAGS] = 0;
	set_field(frame, AT_PVO, 8, scene.there.pvo());
	set_field(frame, AT_BACK_PVO, 8, scene.here.pvo());
	set_third(frame, at_reader, node_a, scene.a.number(),
		  scene.forged_a + 5);
	return frame;
}

const Forgery requests[] = {
	{"AnotherKey", "rx_drop_window_key",
	 [](Scene &, Frame &frame) { frame[AT_KEY + 7] ^= 1; }},
	{"ATargetWithoutARoute", "tx_drop_node",
	 [](Scene &, Frame &frame) {
		 set_field(frame, at_reader, 2, 5);
		 set_field(frame, AT_TOTAL, 4, 0xffffffff);
	 }},
	{"AFlagOfReads", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) {
		 frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_SOURCE;
	 }},
	{"DataOfTheProcess", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] = PAVO_RDMA_FROM_FIFO; }},
	{"AFlagThatIsNone", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] = 0x10; }},
	{"AStatus", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_STATUS] = PAVO_PVO_TABLE; }},
	{"Data", "rx_drop_surplus",
	 [](Scene &, Frame &frame) { resize(frame, end_of_read, 100); }},
	{"NoTarget", "rx_drop_short",
	 [](Scene &, Frame &frame) { resize(frame, at_reader, 0); }},
	{"HalfATarget", "rx_drop_short",
	 [](Scene &, Frame &frame) { resize(frame, at_reader + 8, 0); }},
};

class ForgedThirdRequest : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedThirdRequest, IsDropped)
{
	Scene scene;
	Frame frame = forged_request(scene);

	GetParam().forge(scene, frame);
	scene.drops(frame, GetParam().counter);
}

INSTANTIATE_TEST_SUITE_P(Contexts, ForgedThirdRequest,
			 testing::ValuesIn(of_contexts()), name_of);
INSTANTIATE_TEST_SUITE_P(Memory, ForgedThirdRequest,
			 testing::ValuesIn(of_memory()), name_of);
INSTANTIATE_TEST_SUITE_P(Addresses, ForgedThirdRequest,
			 testing::ValuesIn(of_addresses()), name_of);
INSTANTIATE_TEST_SUITE_P(Own, ForgedThirdRequest, testing::ValuesIn(requests),
			 name_of);

/* ------------------------------------------------------------ the target */

/* 1000 bytes for b, which a context of a's that has no owner is said to have requested. */
Frame forged_data(Scene &scene)
{
	Frame frame = scene.forged();

	frame[AT_OPCODE] = third_data;
	frame[AT_FLAGS] = 0;
	frame.insert(frame.begin() + at_controller, third_bytes, 0);
	resize(frame, third_payload, 1000);
	set_third(frame, at_controller, node_a, scene.a.number(),
		  scene.forged_a + 5);
	return frame;
}

const Forgery third_packets[] = {
	{"AnotherKey", "rx_drop_window_key",
	 [](Scene &, Frame &frame) { frame[AT_KEY] ^= 1; }},
	{"AFlagOfWrites", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) {
		 frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_TARGET;
	 }},
	{"ForTheFifo", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] = PAVO_RDMA_TO_FIFO; }},
	{"AFlagThatIsNone", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] = 0x20; }},
	{"AStatus", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_STATUS] = PAVO_PVO_KEY; }},
	{"NothingOfMuch", "rx_drop_rdma_length",
	 [](Scene &, Frame &frame) {
		 set_field(frame, AT_TOTAL, 4, 0xffffffff);
		 resize(frame, third_payload, 0);
	 }},
	{"NoController", "rx_drop_short",
	 [](Scene &, Frame &frame) { resize(frame, at_controller, 0); }},
	{"HalfAController", "rx_drop_short",
	 [](Scene &, Frame &frame) { resize(frame, at_controller + 8, 0); }},
};

/* Not the one that has a shorter header. */
std::vector<Forgery> of_third_amounts()
{
	auto all = of_amounts();

	std::erase_if(all, [](const Forgery &one) {
		return !strcmp(one.name, "NothingOfMuch");
	});
	return all;
}

class ForgedThirdData : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedThirdData, IsDropped)
{
	Scene scene;
	Frame frame = forged_data(scene);

	GetParam().forge(scene, frame);
	scene.drops(frame, GetParam().counter);
}

INSTANTIATE_TEST_SUITE_P(Contexts, ForgedThirdData,
			 testing::ValuesIn(of_contexts()), name_of);
INSTANTIATE_TEST_SUITE_P(Memory, ForgedThirdData,
			 testing::ValuesIn(of_memory()), name_of);
INSTANTIATE_TEST_SUITE_P(Amounts, ForgedThirdData,
			 testing::ValuesIn(of_third_amounts()), name_of);
INSTANTIATE_TEST_SUITE_P(Addresses, ForgedThirdData,
			 testing::ValuesIn(of_addresses()), name_of);
INSTANTIATE_TEST_SUITE_P(Own, ForgedThirdData, testing::ValuesIn(third_packets),
			 name_of);

/* Each of the two other ends is that of the first packet; data of a write is another's. */
TEST(ForgedThird, DataOfOtherEndsThanTheFirst)
{
	Scene scene;
	Frame frame = forged_data(scene), first = frame;
	Moved placed(scene.device_b, "rx_rdma_packets"),
		foreign(scene.device_b, "rx_drop_tid"),
		unknown(scene.device_a, "rx_drop_rcxt");
	const size_t places[] = {AT_NODE + 1,	    AT_WINDOW + 2,
				 AT_PEER_RCXT + 3,  at_controller + 1,
				 at_controller + 7, at_controller + 11};
	uint64_t wrong = 0;

	set_field(frame, AT_TOTAL, 4, 2000);
	scene.send(frame);
	ASSERT_TRUE(eventually([&] { return placed.by() == 1; }));
	set_field(frame, AT_FRAGMENT, 4, 1);
	set_field(frame, AT_PVO, 8, scene.there.pvo(2000));
	for (size_t place : places) {
		frame[place] ^= 1;
		scene.send(frame);
		wrong++;
		ASSERT_TRUE(eventually([&] { return foreign.by() == wrong; }))
			<< place;
		frame[place] ^= 1;
	}
	/* As that of a write by the one that sends it, and by the controller. */
	for (uint32_t sender : {scene.forged_a, scene.forged_a + 5}) {
		Frame write = scene.model;

		set_field(write, AT_RCXT, 4, scene.forged_b);
		set_field(write, AT_PEER_RCXT, 4, sender);
		set_field(write, AT_TID, 8, field(frame, AT_TID, 8));
		set_field(write, AT_TOTAL, 4, 2000);
		set_field(write, AT_FRAGMENT, 4, 1);
		write[AT_FLAGS] = 0;
		scene.send(write);
		wrong++;
		ASSERT_TRUE(eventually([&] { return foreign.by() == wrong; }));
	}
	EXPECT_EQ(placed.by(), 1u);
	EXPECT_EQ(unknown.by(), 0u);
	scene.send(frame);
	/* It was the last, and the controller that was named is notified. */
	ASSERT_TRUE(eventually([&] { return unknown.by() == 1; }));
	EXPECT_EQ(placed.by(), 2u);
	EXPECT_TRUE(quiet(scene.b));
	EXPECT_TRUE(quiet(scene.a));
	scene.there.fill(2);
	EXPECT_TRUE(scene.honest());
}

/* ------------------------------------------------------- the controller */

/* b waits for the end of an operation of which a is source and target; only the test answers. */
struct WaitingController : Scene {
	WaitingController()
	{
		pavo::FrameState state = pavo::FrameState::empty;

		third.request = request(++tid, 100);
		third.request.local_rcxt = forged_b;
		third.request.remote_rcxt = forged_a + 5;
		third.request.flags = 0;
		third.target = a.address();
		third.target_rcxt = forged_a + 6;
		must(b.prepare_third(a.address(), third));
		must(b.start());
		eventually([&] { return one_sent(b, state); });
		EXPECT_EQ(state, pavo::FrameState::sent);
	}

	/* An end, as that context of a would report it. */
	Frame end(uint32_t rcxt, uint8_t status)
	{
		Frame frame = forged();

		frame[AT_OPCODE] = done;
		resize(frame, AT_PAYLOAD, 0);
		frame[AT_FLAGS] = 0;
		frame[AT_STATUS] = status;
		set_field(frame, AT_PEER_RCXT, 4, rcxt);
		set_field(frame, AT_TID, 8, third.request.tid);
		return frame;
	}

	void refuses(Frame frame)
	{
		Moved stale(device_b, "rx_drop_tid");

		send(frame);
		EXPECT_TRUE(eventually([&] { return stale.by() == 1; }));
		EXPECT_TRUE(quiet(b));
	}

	pavo::ThirdFrame third;
};

TEST(ForgedThird, EndsOfOthersEndNothing)
{
	WaitingController scene;
	const uint32_t source = scene.third.request.remote_rcxt;
	const uint32_t target = scene.third.target_rcxt;

	/* The source cannot know that all has arrived. */
	scene.refuses(scene.end(source, 0));
	scene.refuses(scene.end(scene.forged_a, 0));
	for (size_t place : {AT_NODE + 1, AT_WINDOW + 2, AT_TID + 7}) {
		Frame frame = scene.end(target, 0);

		frame[place] ^= 1;
		scene.refuses(frame);
	}
	Frame frame = scene.end(target, 0);
	scene.send(frame);
	auto notified = ended(scene.b);
	EXPECT_EQ(notified.tid, scene.third.request.tid);
	EXPECT_EQ(notified.status, pavo::PvoResult::ok);
	EXPECT_EQ(notified.peer_rcxt, target);
	scene.refuses(frame);
	EXPECT_TRUE(scene.honest());
}

TEST(ForgedThird, AnErrorMayComeFromBothPeers)
{
	for (bool by_source : {true, false}) {
		WaitingController scene;
		const uint32_t peer = by_source ?
					      scene.third.request.remote_rcxt :
					      scene.third.target_rcxt;
		Frame frame = scene.end(peer, PAVO_PVO_JOB);

		scene.send(frame);
		auto notified = ended(scene.b);
		EXPECT_EQ(notified.status, pavo::PvoResult::job);
		EXPECT_EQ(notified.peer_rcxt, peer);
		scene.refuses(frame);
		EXPECT_EQ(scene.b.lmt().value().state,
			  pavo::WindowState::valid);
		EXPECT_TRUE(scene.honest());
	}
}

} // namespace
