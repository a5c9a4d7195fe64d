// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* forged_group_tests.cpp - packets for groups that no adapter sends: dropped and counted. */
#include "group_scene.h"

namespace {

/* A packet of an honest write to the group, and a way to put others like it on the wire. */
struct ForgedGroup : Grouped {
	ForgedGroup() : in("vb"), out("va")
	{
		one.join();
		one.bind();
		honest();
		auto frames = in.recorded();
		EXPECT_EQ(frames.size(), 1u);
		model = frames.at(0);
		one.buffer.fill(2);
	}

	void honest()
	{
		size_t before = one.all.size();

		EXPECT_EQ(ask(write(1000, 200)), pavo::FrameState::sent);
		ASSERT_TRUE(one.wait(before).done);
		EXPECT_EQ(one.wait(before).done->status, pavo::PvoResult::ok);
	}

	Frame forged()
	{
		Frame frame = model;

		set_field(frame, AT_TID, 8, ++tid);
		return frame;
	}

	void send(Frame &frame)
	{
		finish_checksums(frame);
		out.send(frame);
	}

	Wire in;
	Wire out;
	Frame model;
};

struct GroupForgery {
	const char *name;
	const char *counter;
	void (*forge)(ForgedGroup &group, Frame &frame);
};

const GroupForgery group_forgeries[] = {
	{"AnotherKey", "rx_drop_window_key",
	 [](ForgedGroup &, Frame &frame) { frame[AT_KEY + 7] ^= 1; }},
	{"AnotherGroup", "rx_drop_group",
	 [](ForgedGroup &, Frame &frame) { frame[AT_DWINDOW + 2] ^= 1; }},
	{"AWindowAtTheAddressOfTheGroup", "rx_drop_address",
	 [](ForgedGroup &group, Frame &frame) {
		 set_field(frame, AT_DWINDOW, 3, group.one.window.number());
	 }},
	{"TheAddressOfAnotherGroup", "rx_drop_address",
	 [](ForgedGroup &, Frame &frame) {
		 set_field(frame, 0, 6, 0x01005e000001);
		 set_field(frame, AT_TO, 4, 0xe0000001);
	 }},
	{"TheAddressOfAll", "rx_drop_address",
	 [](ForgedGroup &, Frame &frame) {
		 set_field(frame, 0, 6, 0xffffffffffff);
		 set_field(frame, AT_TO, 4, 0xffffffff);
	 }},
	{"AGroupContextThatIsNotBound", "rx_drop_binding",
	 [](ForgedGroup &, Frame &frame) {
		 set_field(frame, AT_RCXT, 4, group_rcxt + 1);
	 }},
	{"AGroupContextThatIsNone", "rx_drop_binding",
	 [](ForgedGroup &, Frame &frame) {
		 set_field(frame, AT_RCXT, 4, 0xffffffff);
	 }},
	{"AStaleTid", "rx_drop_tid",
	 [](ForgedGroup &, Frame &frame) { set_field(frame, AT_TID, 8, 0); }},
	{"ATidThatIsOver", "rx_drop_tid",
	 [](ForgedGroup &, Frame &frame) { set_field(frame, AT_TID, 8, 1); }},
	{"ANotificationOfTheSource", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) {
		 frame[AT_FLAGS] |= PAVO_RDMA_NOTIFY_SOURCE;
	 }},
	{"DataForFifos", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) {
		 frame[AT_FLAGS] |= PAVO_RDMA_TO_FIFO;
	 }},
	{"AFlagThatIsNone", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) { frame[AT_FLAGS] |= 0x80; }},
	{"AStatus", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) { frame[AT_STATUS] = 1; }},
	{"ARead", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) {
		 frame[AT_OPCODE] = 0xc2;
		 resize(frame, AT_END_OF_READ, 0);
	 }},
	{"AnEnd", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) {
		 frame[AT_OPCODE] = 0xc3;
		 resize(frame, AT_PAYLOAD, 0);
	 }},
	{"AGroupAsSource", "rx_drop_rdma_invalid",
	 [](ForgedGroup &, Frame &frame) { frame[AT_WINDOW] |= 0x80; }},
	{"MoreThanAnnounced", "rx_drop_rdma_length",
	 [](ForgedGroup &, Frame &frame) {
		 set_field(frame, AT_TOTAL, 4, 999);
	 }},
	{"AFragmentFarAhead", "rx_drop_rdma_far",
	 [](ForgedGroup &, Frame &frame) {
		 set_field(frame, AT_FRAGMENT, 4, 4096);
	 }},
};

class ForgedForGroup : public testing::TestWithParam<GroupForgery> {};

TEST_P(ForgedForGroup, IsDropped)
{
	ForgedGroup group;
	Frame frame = group.forged();
	Moved counter(group.device_b, GetParam().counter);

	GetParam().forge(group, frame);
	for (uint64_t n = 1; n <= 3; n++) {
		group.send(frame);
		ASSERT_TRUE(eventually([&] { return counter.by() >= n; }));
		if (field(frame, AT_TID, 8) > 1)
			set_field(frame, AT_TID, 8, ++group.tid);
	}
	EXPECT_EQ(counter.by(), 3u);
	EXPECT_TRUE(quiet(group.one.window));
	EXPECT_TRUE(group.one.buffer.holds(2));
	/* A forgery may have begun an operation: the honest one has a higher tid. */
	group.honest();
}

INSTANTIATE_TEST_SUITE_P(Own, ForgedForGroup,
			 testing::ValuesIn(group_forgeries),
			 [](const auto &info) {
				 return std::string(info.param.name);
			 });

/* While one window's data is incomplete that of another is dropped, until the binding ends. */
TEST(ForgedForGroups, ByAnotherWindowMeanwhile)
{
	ForgedGroup group;
	Frame begun = group.forged(), other = group.forged();
	Moved busy(group.device_b, "rx_drop_rcxt_busy");

	set_field(begun, AT_TOTAL, 4, 2000);
	group.send(begun);
	Moved placed(group.device_b, "rx_rdma_packets");
	EXPECT_TRUE(eventually(
		[&] { return group.one.buffer.holds(1, 200, 1000); }));
	other[AT_WINDOW + 2] ^= 1;
	for (uint64_t n = 1; n <= 2; n++) {
		group.send(other);
		ASSERT_TRUE(eventually([&] { return busy.by() == n; }));
		set_field(other, AT_TID, 8, ++group.tid);
	}
	EXPECT_EQ(placed.by(), 0u);
	EXPECT_TRUE(quiet(group.one.window));
	must(group.one.window.unbind(group_number, group_rcxt));
	group.one.bind(group.tid - 1);
	group.send(other);
	ASSERT_TRUE(group.one.wait(1).done);
	EXPECT_EQ(group.one.wait(1).done->tid, group.tid);
}

/* A peer that claims to be the node with the group's address gets no answer there. */
TEST(ForgedForGroups, AnswersDoNotGoToMany)
{
	ForgedGroup group;
	pavo::Window victim =
		pavo::Window::open(group.job_b,
				   {.node = node_b,
				    .gid_index = group.address_b.index,
				    .broadcast = true})
			.value();
	Moved unanswered(group.device_b, "tx_drop_node"),
		sent(group.device_b, "tx_rdma_packets"),
		placed(group.device_b, "rx_rdma_packets");
	uint32_t rcxt;

	must(victim.set_node(group_node, group_gid));
	must(victim.take_rcxts({&rcxt, 1}));
	/* One that goes to one machine. */
	EXPECT_EQ(group.ask(group.write(1000), node_b), pavo::FrameState::sent);
	EXPECT_TRUE(group.one.wait(1).done);
	Frame frame = group.in.recorded().at(0);
	set_field(frame, AT_DWINDOW, 3, victim.number());
	set_field(frame, AT_NODE, 2, group_node);
	set_field(frame, AT_RCXT, 4, rcxt);
	set_field(frame, AT_PVO, 8, group.one.buffer.pvo());
	frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_SOURCE;
	group.send(frame);
	EXPECT_TRUE(eventually([&] { return unanswered.by() == 1; }));
	EXPECT_EQ(placed.by(), 2u) << "it is data as any other";
	set_field(frame, AT_TID, 8, ++group.tid);
	frame[AT_OPCODE] = 0xc2;
	resize(frame, AT_END_OF_READ, 0);
	group.send(frame);
	EXPECT_TRUE(eventually([&] { return unanswered.by() == 2; }));
	EXPECT_EQ(sent.by(), 0u);
	EXPECT_TRUE(quiet(victim));
}

} // namespace
