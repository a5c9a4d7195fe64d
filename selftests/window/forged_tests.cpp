// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * forged_tests.cpp - made-up requests for data, ends of operations and data for FIFOs; see
 * hostile_tests.cpp, which has data for memory.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "forgeries.h"

using namespace windows;
using pavo::Message;

namespace {

constexpr uint8_t message = 0xc0, data = 0xc1, read_request = 0xc2, done = 0xc3;

/* ------------------------------------------------------------ made-up reads */

/* b is to send 1000 bytes of its memory to a context of a's that has no owner. */
Frame forged_read(Scene &scene)
{
	Frame frame = scene.forged();

	frame[AT_OPCODE] = read_request;
	resize(frame, AT_END_OF_READ, 0);
	set_field(frame, AT_PEER_RCXT, 4, scene.forged_a + 5);
	set_field(frame, AT_PVO, 8, scene.there.pvo());
	set_field(frame, AT_BACK_PVO, 8, scene.here.pvo());
	return frame;
}

const Forgery reads[] = {
	{"AnotherKey", "rx_drop_window_key",
	 [](Scene &, Frame &frame) { frame[AT_KEY + 7] ^= 1; }},
	{"ANodeWithoutARoute", "tx_drop_node",
	 [](Scene &, Frame &frame) {
		 set_field(frame, AT_NODE, 2, 5);
		 set_field(frame, AT_TOTAL, 4, 0xffffffff);
	 }},
	{"AFlagThatIsNone", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] |= 0x10; }},
	{"AllFlags", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] = 0xff; }},
	{"AStatus", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_STATUS] = PAVO_PVO_TABLE; }},
	{"Data", "rx_drop_surplus",
	 [](Scene &, Frame &frame) { resize(frame, AT_END_OF_READ, 100); }},
	{"HalfAPvo", "rx_drop_short",
	 [](Scene &, Frame &frame) { resize(frame, AT_BACK_PVO + 4, 0); }},
};

class ForgedRead : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedRead, IsDropped)
{
	Scene scene;
	Frame frame = forged_read(scene);

	GetParam().forge(scene, frame);
	scene.drops(frame, GetParam().counter);
}

INSTANTIATE_TEST_SUITE_P(Contexts, ForgedRead, testing::ValuesIn(of_contexts()),
			 name_of);
INSTANTIATE_TEST_SUITE_P(Memory, ForgedRead, testing::ValuesIn(of_memory()),
			 name_of);
INSTANTIATE_TEST_SUITE_P(Addresses, ForgedRead,
			 testing::ValuesIn(of_addresses()), name_of);
INSTANTIATE_TEST_SUITE_P(Own, ForgedRead, testing::ValuesIn(reads), name_of);

/* Of four GiB from four pages there is what is in those, and then the refusal. */
TEST(ForgedReads, OfMoreThanThereIsEndAtTheRegion)
{
	constexpr uint32_t packet = 1380, whole = mapped / packet;
	Scene scene;
	Wire at_a("va");
	Frame frame = forged_read(scene);
	Moved refused(scene.device_b, "rx_drop_rdma_pvo"),
		sent(scene.device_b, "tx_rdma_packets"),
		nobodys(scene.device_a, "rx_drop_rcxt");

	set_field(frame, AT_TOTAL, 4, 0xffffffff);
	scene.send(frame);
	ASSERT_TRUE(eventually([&] { return refused.by() == 1; }));
	/* And the notification of the refusal. */
	ASSERT_TRUE(eventually([&] { return nobodys.by() == whole + 1; }));
	EXPECT_EQ(sent.by(), whole);
	auto came = at_a.recorded(data);
	ASSERT_EQ(came.size(), whole);
	for (const Frame &one : came) {
		uint64_t at = field(one, AT_PVO, 8) - scene.here.pvo();

		ASSERT_LE(at + packet, mapped);
		auto bytes = scene.there.memory.part(page + at, packet);
		EXPECT_FALSE(memcmp(&one[AT_PAYLOAD], bytes.data(), packet));
	}
	EXPECT_EQ(scene.b.lmt().value().rcxts, 0u);
	EXPECT_EQ(scene.b.lmt().value().state, pavo::WindowState::valid)
		<< "it was not its fault";
	EXPECT_TRUE(scene.honest());
}

/* Its job's key opens no other job's window, and no context is used across. */
TEST(ForgedReads, AndEndsForAnotherJob)
{
	Scene scene;
	pavo::Job other = pavo::Job::reserve(scene.device_b, world::job_id + 1,
					     world::job_key)
				  .value();
	pavo::Window window =
		pavo::Window::open(other, {.gid_index = scene.address_b.index})
			.value();
	Buffer secret(other, mapped, 7);
	Moved sent(scene.device_b, "tx_rdma_packets");
	uint32_t rcxt;

	must(window.take_rcxts({&rcxt, 1}));
	for (uint8_t opcode : {read_request, done}) {
		Frame frame = forged_read(scene);
		Moved key(scene.device_b, "rx_drop_window_key"),
			foreign(scene.device_b, "rx_drop_rcxt");

		frame[AT_OPCODE] = opcode;
		if (opcode == done)
			resize(frame, AT_PAYLOAD, 0);
		set_field(frame, AT_RCXT, 4, rcxt);
		set_field(frame, AT_DWINDOW, 3, window.number());
		scene.send(frame);
		EXPECT_TRUE(eventually([&] { return key.by() == 1; }));
		set_field(frame, AT_DWINDOW, 3, scene.b.number());
		scene.send(frame);
		EXPECT_TRUE(eventually([&] { return foreign.by() == 1; }));
	}
	/* Nor does a context of ours open its memory. */
	Frame frame = forged_read(scene);
	Moved refused(scene.device_b, "rx_drop_rdma_pvo");
	set_field(frame, AT_PVO, 8, secret.pvo());
	scene.send(frame);
	EXPECT_TRUE(eventually([&] { return refused.by() == 1; }));
	EXPECT_EQ(sent.by(), 0u);
	EXPECT_TRUE(quiet(window));
	EXPECT_TRUE(secret.holds(7));
	EXPECT_TRUE(scene.honest());
}

/* ------------------------------------------------------------- made-up ends */

/* b waits for the end of something that a does not know of. */
struct Waiting : Scene {
	explicit Waiting(bool write)
	{
		pavo::FrameState state = pavo::FrameState::empty;

		asked = request(++tid, 100);
		asked.local_rcxt = forged_b;
		asked.remote_rcxt = forged_a + 5;
		std::swap(asked.local_pvo, asked.remote_pvo);
		asked.flags = write ? pavo::rdma_flag::notify_source :
				      pavo::rdma_flag::notify_target;
		EXPECT_TRUE(b.prepare_rdma(common::direction_of(write),
					   {node_a, a.number()}, asked)
				    .has_value());
		EXPECT_TRUE(b.start().has_value());
		eventually([&] { return b.sent({&state, 1}) == 1; });
		EXPECT_EQ(state, pavo::FrameState::sent);
	}

	/* Its end, as a would tell it. */
	Frame end()
	{
		Frame frame = forged();

		frame[AT_OPCODE] = done;
		resize(frame, AT_PAYLOAD, 0);
		set_field(frame, AT_PEER_RCXT, 4, asked.remote_rcxt);
		set_field(frame, AT_TID, 8, asked.tid);
		set_field(frame, AT_TOTAL, 4, asked.length);
		set_field(frame, AT_TAG, 4, asked.tag);
		return frame;
	}

	/* It changes nothing. */
	void refuses(Frame &frame, const char *name)
	{
		Moved counter(device_b, name);

		send(frame);
		EXPECT_TRUE(eventually([&] { return counter.by() == 1; }));
		EXPECT_TRUE(quiet(b));
	}

	pavo::RequestFrame asked;
};

const Forgery ends[] = {
	{"AnotherKey", "rx_drop_window_key",
	 [](Scene &, Frame &frame) { frame[AT_KEY + 3] ^= 0x80; }},
	{"ATidBefore", "rx_drop_tid",
	 [](Scene &, Frame &frame) {
		 set_field(frame, AT_TID, 8, field(frame, AT_TID, 8) - 1);
	 }},
	{"ATidToCome", "rx_drop_tid",
	 [](Scene &, Frame &frame) {
		 set_field(frame, AT_TID, 8, field(frame, AT_TID, 8) + 1);
	 }},
	{"TheLastTidThereIs", "rx_drop_tid",
	 [](Scene &, Frame &frame) { set_field(frame, AT_TID, 8, ~0ull); }},
	{"AnotherWindow", "rx_drop_tid",
	 [](Scene &, Frame &frame) { frame[AT_WINDOW + 2] ^= 1; }},
	{"AnotherNode", "rx_drop_tid",
	 [](Scene &, Frame &frame) { frame[AT_NODE + 1] ^= 1; }},
	{"AnotherContextThere", "rx_drop_tid",
	 [](Scene &scene, Frame &frame) {
		 set_field(frame, AT_PEER_RCXT, 4, scene.forged_a);
	 }},
	{"AContextOfNobody", "rx_drop_rcxt",
	 [](Scene &scene, Frame &frame) {
		 set_field(frame, AT_RCXT, 4, scene.forged_b + 5);
	 }},
	{"AStatusThatIsNone", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_STATUS] = PAVO_PVO_KEY + 1; }},
	{"AnAbsurdStatus", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_STATUS] = 0xff; }},
	{"AFlagThatIsNone", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] |= 0x80; }},
	{"Data", "rx_drop_surplus",
	 [](Scene &, Frame &frame) { resize(frame, AT_PAYLOAD, 4); }},
};

class ForgedEnd : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedEnd, EndsNothing)
{
	Waiting scene(true);
	Frame frame = scene.end();

	GetParam().forge(scene, frame);
	scene.refuses(frame, GetParam().counter);
	/* It is still waited for. */
	frame = scene.end();
	scene.send(frame);
	EXPECT_EQ(ended(scene.b).tid, scene.asked.tid);
	EXPECT_TRUE(scene.there.holds(2));
	EXPECT_TRUE(scene.honest());
}

INSTANTIATE_TEST_SUITE_P(Own, ForgedEnd, testing::ValuesIn(ends), name_of);

/* This end does not believe the frame's length and tag, and tells once. */
TEST(ForgedEnds, TellWhatThisEndKnows)
{
	Waiting scene(true);
	Frame frame = scene.end();

	set_field(frame, AT_TOTAL, 4, 0xffffffff);
	set_field(frame, AT_TAG, 4, 0x666);
	set_field(frame, AT_FRAGMENT, 4, 0xffffffff);
	set_field(frame, AT_PVO, 8, ~0ull);
	scene.send(frame);
	auto notified = ended(scene.b);
	EXPECT_EQ(notified.tid, scene.asked.tid);
	EXPECT_EQ(notified.length, scene.asked.length);
	EXPECT_EQ(notified.tag, scene.asked.tag);
	EXPECT_EQ(notified.cookie, scene.asked.cookie);
	EXPECT_EQ(notified.status, pavo::PvoResult::ok);
	EXPECT_EQ(notified.target, 0);
	for (int n = 0; n < 3; n++)
		scene.refuses(frame, "rx_drop_tid");
	EXPECT_TRUE(scene.honest());
}

/*
 * The requests of a read's later attempts were lost, not its data: the source is notified by
 * the end of any of them, and of no other operation.
 */
TEST(ForgedEnds, OfALaterAttemptThanTheSourceHasHeardOf)
{
	Scene scene;
	Frame frame = forged_read(scene);
	const uint64_t tid = field(frame, AT_TID, 8);
	Moved sent(scene.device_b, "tx_rdma_packets"),
		late(scene.device_b, "rx_drop_tid");
	uint64_t others = 0;

	frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_SOURCE;
	set_field(frame, AT_PVO, 8, field(frame, AT_PVO, 8) + page);
	scene.send(frame);
	ASSERT_TRUE(eventually([&] { return sent.by() == 1; }));
	frame[AT_OPCODE] = done;
	resize(frame, AT_PAYLOAD, 0);
	/* How much later, and how many attempts before it. */
	for (auto [later, attempts] :
	     {std::pair{1, 0}, {1, 2}, {2, 1}, {2, 0xffff}, {-1, 0}, {-1, 1}}) {
		set_field(frame, AT_TID, 8, tid + later);
		set_field(frame, AT_ATTEMPTS, 2, attempts);
		scene.send(frame);
		others++;
		ASSERT_TRUE(eventually([&] { return late.by() == others; }))
			<< later << " " << attempts;
	}
	EXPECT_TRUE(quiet(scene.b));
	set_field(frame, AT_TID, 8, tid + 3);
	set_field(frame, AT_ATTEMPTS, 2, 3);
	scene.send(frame);
	auto notified = ended(scene.b);
	EXPECT_EQ(notified.tid, tid);
	EXPECT_EQ(notified.status, pavo::PvoResult::ok);
	EXPECT_EQ(notified.target, 0);
	scene.send(frame);
	EXPECT_TRUE(eventually([&] { return late.by() == others + 1; }))
		<< "it is notified once";
	EXPECT_TRUE(quiet(scene.b));
	EXPECT_TRUE(scene.honest());
}

/* That of a read is the data's to tell, unless there is none. */
TEST(ForgedEnds, OfAReadAreNotBelievedWithoutItsData)
{
	Waiting scene(false);
	Frame frame = scene.end();

	scene.refuses(frame, "rx_drop_tid");
	EXPECT_TRUE(scene.there.holds(2));
	frame[AT_STATUS] = PAVO_PVO_JOB;
	scene.send(frame);
	auto notified = ended(scene.b);
	EXPECT_EQ(notified.tid, scene.asked.tid);
	EXPECT_EQ(notified.status, pavo::PvoResult::job);
	EXPECT_EQ(notified.target, 1);
	scene.refuses(frame, "rx_drop_tid");
	/* Its data comes too late now. */
	frame = scene.forged();
	set_field(frame, AT_TID, 8, scene.asked.tid);
	set_field(frame, AT_PEER_RCXT, 4, scene.asked.remote_rcxt);
	scene.refuses(frame, "rx_drop_tid");
	EXPECT_TRUE(scene.there.holds(2));
	EXPECT_TRUE(scene.honest());
}

/* ----------------------------------------------------------- data for FIFOs */

/* 1000 bytes of an operation of that many, which are to become a frame. */
Frame forged_piece(Scene &scene)
{
	Frame frame = scene.forged();

	frame[AT_FLAGS] |= PAVO_RDMA_TO_FIFO;
	return frame;
}

const Forgery pieces[] = {
	{"AFlagThatIsNone", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_FLAGS] |= 0x20; }},
	{"AStatus", "rx_drop_rdma_invalid",
	 [](Scene &, Frame &frame) { frame[AT_STATUS] = PAVO_PVO_KEY; }},
};

class ForgedPiece : public testing::TestWithParam<Forgery> {};

TEST_P(ForgedPiece, IsDropped)
{
	Scene scene;
	Frame frame = forged_piece(scene);

	GetParam().forge(scene, frame);
	scene.drops(frame, GetParam().counter);
}

INSTANTIATE_TEST_SUITE_P(Contexts, ForgedPiece,
			 testing::ValuesIn(of_contexts()), name_of);
INSTANTIATE_TEST_SUITE_P(Amounts, ForgedPiece, testing::ValuesIn(of_amounts()),
			 name_of);
INSTANTIATE_TEST_SUITE_P(Addresses, ForgedPiece,
			 testing::ValuesIn(of_addresses()), name_of);
INSTANTIATE_TEST_SUITE_P(Own, ForgedPiece, testing::ValuesIn(pieces), name_of);

/* Once begun, an operation is what it is: the same length, and no memory. */
TEST(ForgedPieces, ThatDifferFromTheFirst)
{
	Scene scene;
	Frame frame = forged_piece(scene);
	std::vector<uint64_t> numbers;
	auto take = [&](const Message &one) {
		ASSERT_EQ(one.type, pavo::FrameType::rdma_piece);
		EXPECT_EQ(one.piece_bytes().size(), 1000u);
		EXPECT_EQ(one.piece().total, 3000u);
		EXPECT_EQ(one.piece().flags & pavo::rdma_flag::to_fifo,
			  pavo::rdma_flag::to_fifo);
		numbers.push_back(one.piece().pvo);
	};
	auto come = [&](size_t n) {
		return eventually([&] {
			scene.b.receive(take);
			return numbers.size() == n;
		});
	};

	set_field(frame, AT_TOTAL, 4, 3000);
	scene.send(frame);
	ASSERT_TRUE(come(1));
	set_field(frame, AT_FRAGMENT, 4, 1);
	Moved wrong(scene.device_b, "rx_drop_rdma_length");
	uint64_t n = 0;
	for (uint32_t total : {0u, 1000u, 2999u, 3001u, 0xffffffffu}) {
		set_field(frame, AT_TOTAL, 4, total);
		scene.send(frame);
		ASSERT_TRUE(eventually([&] { return wrong.by() == n + 1; }));
		n++;
	}
	set_field(frame, AT_TOTAL, 4, 3000);
	/* Numbers that go round, and memory: only numbers. */
	set_field(frame, AT_PVO, 8, ~0ull);
	frame[AT_FLAGS] = PAVO_RDMA_NOTIFY_SOURCE;
	scene.send(frame);
	ASSERT_TRUE(come(2));
	set_field(frame, AT_FRAGMENT, 4, 2);
	set_field(frame, AT_PVO, 8, scene.there.pvo());
	scene.send(frame);
	ASSERT_TRUE(come(3));
	EXPECT_EQ(numbers, (std::vector<uint64_t>{field(scene.model, AT_PVO, 8),
						  ~0ull, scene.there.pvo()}));
	/* It was the last. */
	scene.send(frame);
	Moved late(scene.device_b, "rx_drop_tid");
	set_field(frame, AT_FRAGMENT, 4, 3);
	scene.send(frame);
	EXPECT_TRUE(eventually([&] { return late.by() >= 1; }));
	EXPECT_TRUE(quiet(scene.b));
	EXPECT_TRUE(scene.there.holds(2));
	EXPECT_TRUE(scene.honest());
}

/* Both interfaces take longer packets than a frame has room for. */
class LongPackets {
public:
	LongPackets() { set("4000"); }
	~LongPackets() { set("1500"); }
	LongPackets(const LongPackets &) = delete;

private:
	void set(const std::string &mtu)
	{
		shell("ip link set va mtu " + mtu + " && ip link set vb mtu " +
		      mtu);
	}
};

TEST(ForgedPieces, ThatNoFrameHasRoomFor)
{
	constexpr size_t message_at = AT_RCXT;
	LongPackets packets;
	Scene scene;
	const struct {
		uint8_t opcode;
		size_t headers, most;
		pavo::FrameType type;
	} kinds[] = {{message, message_at, PAVO_FRAME_PAYLOAD,
		      pavo::FrameType::message},
		     {data, AT_PAYLOAD, PAVO_PIECE_DATA,
		      pavo::FrameType::rdma_piece}};

	for (auto &kind : kinds) {
		Frame frame = forged_piece(scene);
		Moved dropped(scene.device_b, "rx_drop_too_long");
		size_t come = 0;

		frame[AT_OPCODE] = kind.opcode;
		for (size_t size :
		     {kind.most + 1, kind.most + 2, size_t(3800)}) {
			resize(frame, kind.headers, size);
			if (kind.opcode == data) {
				set_field(frame, AT_TID, 8, ++scene.tid);
				set_field(frame, AT_TOTAL, 4, size);
			}
			scene.send(frame);
		}
		EXPECT_TRUE(eventually([&] { return dropped.by() == 3; }));
		EXPECT_TRUE(quiet(scene.b));
		/* A frame that just fits is taken. */
		resize(frame, kind.headers, kind.most);
		if (kind.opcode == data) {
			set_field(frame, AT_TID, 8, ++scene.tid);
			set_field(frame, AT_TOTAL, 4, kind.most);
		}
		scene.send(frame);
		EXPECT_TRUE(eventually([&] {
			come += scene.b.receive([&](const Message &one) {
				EXPECT_EQ(one.type, kind.type);
				EXPECT_EQ(
					one.payload.size(),
					kind.most +
						(kind.opcode == data ?
							 sizeof(pavo_rdma_piece) :
							 0));
			});
			return come == 1;
		}));
	}
	EXPECT_TRUE(scene.there.holds(2));
	EXPECT_TRUE(scene.honest());
}

} // namespace
