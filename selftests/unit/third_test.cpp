// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * third_test.cpp - third-party operations between windows at each of their ends
 * (window/third.h). The machine's peer is the source where the machine is the controller, and
 * the controller elsewhere.
 */
#include "operation_env.h"

extern "C" {
#include "window/third.h"
}

using namespace operation_env;

namespace {

constexpr uint32_t third_id = 0x33, third_window = 12;
constexpr uint16_t third_node = 4;

/* As a packet of the third end. */
pavo_pkt from_third(pavo_pkt pkt)
{
	pkt.src_node = third_node;
	pkt.src_window = third_window;
	pkt.rdma.peer_rcxt = third_id;
	return pkt;
}

/* A request of the controller: this end is to send to the third one. */
pavo_pkt request_packet(uint64_t tid, uint16_t attempts = 0)
{
	pavo_pkt pkt =
		Machine::packet(PAVO_OP_WINDOW_THIRD_READ, tid, attempts);

	pkt.rdma.pvo = 0x3000;
	pkt.rdma.back_pvo = 0x4000;
	pkt.rdma.third_node = third_node;
	pkt.rdma.third_window = third_window;
	pkt.rdma.third_rcxt = third_id;
	return pkt;
}

/* Data from the third end, which the machine's peer requested. */
pavo_pkt data_packet(uint64_t tid, uint32_t fragment, uint32_t length,
		     uint16_t attempts = 0)
{
	pavo_pkt pkt =
		from_third(Machine::data(tid, fragment, length, attempts));

	pkt.opcode = PAVO_OP_WINDOW_THIRD_DATA;
	pkt.rdma.third_node = peer_node;
	pkt.rdma.third_window = peer_window;
	pkt.rdma.third_rcxt = peer_id;
	return pkt;
}

struct Wish {
	Wish()
	{
		hdr.type = PAVO_FRAME_RDMA_THIRD;
		hdr.node = peer_node;
		hdr.window = peer_window;
		hdr.length = sizeof(third);
		third.request.local_rcxt = own_id;
		third.request.remote_rcxt = peer_id;
		third.request.local_pvo = 0x1000;
		third.request.remote_pvo = 0x2000;
		third.request.length = 100;
		third.request.cookie = 6;
		third.node = third_node;
		third.window = third_window;
		third.rcxt = third_id;
	}

	uint32_t parse() { return pavo_third_parse(&req, &hdr, &third, 8); }

	pavo_frame_hdr hdr{};
	pavo_rdma_third third{};
	pavo_frame_request req{};
};

struct Controller : Machine {
	using Machine::Machine;

	pavo_transition &wish(uint64_t tid, uint16_t attempts = 0)
	{
		Wish wish;

		wish.third.request.tid = tid;
		wish.third.request.attempts = attempts;
		EXPECT_EQ(wish.parse(), 0u);
		req = wish.req;
		tr = {};
		tr.req = &req;
		pavo_operation_third(&op, &tr);
		return tr;
	}
};

pavo_pkt end_packet(uint64_t tid, uint8_t status = 0)
{
	pavo_pkt pkt = Machine::packet(PAVO_OP_WINDOW_DONE, tid);

	pkt.rdma.status = status;
	return pkt;
}

/* ------------------------------------------------------------ the controller */

TEST(Third, AFrameIsCheckedBeforeAnythingElse)
{
	struct {
		uint32_t state;
		void (*change)(Wish &wish);
	} cases[] = {
		{0, [](Wish &) {}},
		{PAVO_FRAME_BAD_LENGTH, [](Wish &wish) { wish.hdr.length--; }},
		{PAVO_FRAME_BAD_LENGTH, [](Wish &wish) { wish.hdr.length++; }},
		{PAVO_FRAME_BAD_LENGTH,
		 [](Wish &wish) {
			 wish.hdr.length = sizeof(pavo_rdma_request);
		 }},
		{PAVO_FRAME_BAD_REQUEST,
		 [](Wish &wish) { wish.third.request.flags = source; }},
		{PAVO_FRAME_BAD_REQUEST,
		 [](Wish &wish) { wish.third.request.flags = to_fifo; }},
		{PAVO_FRAME_BAD_REQUEST,
		 [](Wish &wish) { wish.third.request.flags = 0x80; }},
		{PAVO_FRAME_BAD_REQUEST,
		 [](Wish &wish) {
			 wish.third.request.counter = PAVO_WINDOW_COUNTERS + 1;
		 }},
		{PAVO_FRAME_BAD_REQUEST,
		 [](Wish &wish) { wish.third.reserved = 1; }},
		{PAVO_FRAME_BAD_REQUEST,
		 [](Wish &wish) { wish.third.reserved2 = 1; }},
		{PAVO_FRAME_BAD_WINDOW,
		 [](Wish &wish) { wish.hdr.window = 1 << 24; }},
		{PAVO_FRAME_BAD_WINDOW,
		 [](Wish &wish) { wish.third.window = 1 << 24; }},
	};

	for (auto &c : cases) {
		Wish wish;

		c.change(wish);
		EXPECT_EQ(wish.parse(), c.state) << "case " << &c - cases;
	}
}

TEST(Third, TheControllerRequestsOfTheSource)
{
	Controller machine({.tid = 4});

	EXPECT_EQ(machine.wish(4).state, PAVO_FRAME_STALE);
	EXPECT_EQ(machine.tr.control_opcode, 0u);
	machine.wish(5);
	EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
	ASSERT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_THIRD_READ);
	EXPECT_EQ(machine.tr.control.node, peer_node);
	EXPECT_EQ(machine.tr.control.window, peer_window);
	const pavo_wreth &wreth = machine.tr.control.wreth;
	EXPECT_EQ(wreth.rcxt, peer_id);
	EXPECT_EQ(wreth.peer_rcxt, own_id);
	EXPECT_EQ(wreth.pvo, 0x2000u);
	EXPECT_EQ(wreth.back_pvo, 0x1000u);
	EXPECT_EQ(wreth.third_node, third_node);
	EXPECT_EQ(wreth.third_window, third_window);
	EXPECT_EQ(wreth.third_rcxt, third_id);
	EXPECT_TRUE(machine.op.notify);
	EXPECT_FALSE(machine.op.now.placing || machine.op.now.sending);
	machine.op.now.sending = true;
	EXPECT_EQ(machine.wish(6).state, PAVO_FRAME_BUSY);
}

/* The target reports the end or an error, and the source only an error. */
TEST(Third, TheControllerTakesItsEndOnce)
{
	struct {
		bool by_third;
		uint8_t status;
		bool used;
	} cases[] = {
		{true, 0, true},
		{true, PAVO_PVO_KEY, true},
		{false, 0, false},
		{false, PAVO_PVO_JOB, true},
	};

	for (auto &c : cases) {
		SCOPED_TRACE(&c - cases);
		Controller machine;
		pavo_pkt end = end_packet(5, c.status);

		machine.wish(5);
		if (c.by_third)
			end = from_third(end);
		machine.take(end);
		EXPECT_EQ(machine.tr.used, c.used);
		EXPECT_EQ(counted(machine.tr),
			  counts(only_if(!c.used, PAVO_CNT_rx_drop_tid)));
		EXPECT_EQ(machine.tr.effects, 0u) << "no window dies";
		EXPECT_EQ(machine.tr.action,
			  c.used ? PAVO_ACTION_PUT_DONE : PAVO_ACTION_NONE);
		if (!c.used)
			continue;
		pavo_rdma_done done =
			pavo_operation_done_frame(&machine.op, &machine.tr);
		EXPECT_EQ(done.peer_rcxt, c.by_third ? third_id : peer_id);
		EXPECT_EQ(done.status, c.status);
		EXPECT_EQ(done.cookie, 6u);
		EXPECT_EQ(done.target, 0);
		EXPECT_EQ(done.tid, 5u);
		/* As soon as there is a frame. */
		machine.on(1);
		machine.take(end);
		ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_DONE);
		machine.on();
		machine.take(end);
		EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_tid));
	}
}

TEST(Third, TheControllerBelievesNobodyElse)
{
	for (int i = 0; i < 5; i++) {
		Controller machine;
		pavo_pkt end = from_third(end_packet(5));

		machine.wish(4);
		machine.wish(5, 1);
		end.src_node = uint16_t(third_node + (i == 1));
		end.src_window = third_window + (i == 2);
		end.rdma.peer_rcxt = third_id + (i == 3);
		end.rdma.tid = 5 - (i == 4);
		EXPECT_EQ(machine.take(end).used, !i) << i;
		EXPECT_EQ(counted(machine.tr),
			  counts(only_if(i, PAVO_CNT_rx_drop_tid)));
	}
}

/* ---------------------------------------------------------------- the source */

TEST(Third, TheSourceSendsToTheTarget)
{
	Machine machine;
	pavo_fragment next;

	machine.take(request_packet(5));
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_FIND_ROUTE);
	EXPECT_EQ(machine.tr.peer.node, third_node);
	machine.on();
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_QUEUE);
	machine.on();
	EXPECT_TRUE(machine.tr.used && machine.tr.wake);
	EXPECT_FALSE(machine.op.notify);
	for (uint32_t n = 0; n < 2; n++) {
		pavo_transition tr{};

		/* The longer header takes the place of data. */
		ASSERT_EQ(pavo_operation_next(&machine.op, 60 + PAVO_WTETH_LEN,
					      &next),
			  0);
		EXPECT_EQ(next.opcode, PAVO_OP_WINDOW_THIRD_DATA);
		EXPECT_EQ(next.length, n ? 40u : 60u);
		EXPECT_EQ(next.from, 0x3000u + 60 * n);
		EXPECT_EQ(next.control.node, third_node);
		EXPECT_EQ(next.control.window, third_window);
		EXPECT_EQ(next.control.wreth.rcxt, third_id);
		EXPECT_EQ(next.control.wreth.peer_rcxt, own_id);
		EXPECT_EQ(next.control.wreth.pvo, 0x4000u + 60 * n);
		EXPECT_EQ(next.control.wreth.third_node, peer_node);
		EXPECT_EQ(next.control.wreth.third_window, peer_window);
		EXPECT_EQ(next.control.wreth.third_rcxt, peer_id);
		EXPECT_EQ(pavo_operation_sent(&machine.op, &next, &tr), !n);
		EXPECT_EQ(tr.control_opcode, 0u);
	}
}

TEST(Third, TheSourceTakesRequestsAsReads)
{
	const pavo_attempt idle = {.tid = 4},
			   sending = {.tid = 4, .sending = true},
			   placing = {.tid = 4, .placing = true};
	struct {
		pavo_attempt now;
		uint64_t tid;
		uint32_t counter;
		bool requested = false;
	} cases[] = {
		{idle, 5, 0},
		{idle, 4, PAVO_CNT_rx_drop_tid},
		{sending, 5, PAVO_CNT_rx_drop_rcxt_busy},
		{placing, 5, PAVO_CNT_rx_drop_rcxt_busy, true},
		{placing, 4, PAVO_CNT_rx_drop_tid},
		/* A write whose controller may have been killed. */
		{placing, 5, 0},
	};

	for (auto &c : cases) {
		SCOPED_TRACE(&c - cases);
		Machine machine(c.now);

		machine.op.requested = c.requested;
		machine.take(request_packet(c.tid));
		EXPECT_EQ(counted(machine.tr), counts(c.counter));
		EXPECT_EQ(machine.tr.action, c.counter ?
						     PAVO_ACTION_NONE :
						     PAVO_ACTION_FIND_ROUTE);
		if (c.counter)
			continue;
		/* No route to the target. */
		machine.on(1);
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_tx_drop_node));
		EXPECT_FALSE(machine.tr.used);
		EXPECT_EQ(machine.op.now.tid, 4u);
	}
}

TEST(Third, TheSourceReportsItsMemoryToTheController)
{
	Machine machine;
	pavo_fragment next;
	pavo_transition tr{};

	machine.take(request_packet(5));
	machine.on();
	machine.on();
	/* It takes no end: the target has none for it. */
	machine.take(from_third(end_packet(5)));
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_tid));
	EXPECT_TRUE(machine.op.now.sending);
	ASSERT_EQ(pavo_operation_next(&machine.op, 80, &next), 0);
	pavo_operation_no_memory(&machine.op, &next, PAVO_PVO_KEY, &tr);
	EXPECT_EQ(tr.effects, PAVO_EFFECT_UNQUEUE | PAVO_EFFECT_VIOLATION);
	EXPECT_EQ(pavo_third_get_requester(&machine.op)->window, peer_window);
	EXPECT_EQ(counted(tr), counts(PAVO_CNT_rx_drop_rdma_pvo));
	EXPECT_EQ(tr.control_opcode, PAVO_OP_WINDOW_DONE);
	EXPECT_EQ(tr.control.node, peer_node);
	EXPECT_EQ(tr.control.window, peer_window);
	EXPECT_EQ(tr.control.wreth.rcxt, peer_id);
	EXPECT_EQ(tr.control.wreth.peer_rcxt, own_id);
	EXPECT_EQ(tr.control.wreth.tid, 5u);
	EXPECT_EQ(tr.control.wreth.status, PAVO_PVO_KEY);
	EXPECT_FALSE(machine.op.now.sending);
}

/* ---------------------------------------------------------------- the target */

/* Without flags, and yet it notifies the controller, which sent nothing. */
TEST(Third, TheTargetNotifiesTheController)
{
	Machine machine;

	machine.take(data_packet(1, 1, 40));
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_PLACE);
	machine.on();
	EXPECT_EQ(machine.tr.control_opcode, 0u);
	machine.take(data_packet(1, 0, 60));
	machine.on();
	EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE) << "not its process";
	EXPECT_EQ(counted(machine.tr),
		  counts(PAVO_CNT_rx_rdma_packets, PAVO_CNT_rdma_done));
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_DONE);
	EXPECT_EQ(machine.tr.control.node, peer_node);
	EXPECT_EQ(machine.tr.control.window, peer_window);
	EXPECT_EQ(machine.tr.control.wreth.rcxt, peer_id);
	EXPECT_EQ(machine.tr.control.wreth.peer_rcxt, own_id);
	EXPECT_EQ(machine.tr.control.wreth.status, 0);
	/* The controller missed that: its next attempt is answered, not placed. */
	machine.take(data_packet(2, 0, 60, 1));
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rdma_repeats));
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_DONE);
	EXPECT_EQ(machine.tr.control.window, peer_window);
	EXPECT_EQ(machine.tr.control.wreth.tid, 2u);
	machine.take(data_packet(2, 1, 40, 1));
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_rdma_again));
	EXPECT_EQ(machine.tr.control_opcode, 0u);
}

TEST(Third, TheTargetReportsItsMemoryToTheController)
{
	Machine machine;

	machine.take(data_packet(1, 0, 60));
	machine.on(PAVO_PVO_RANGE);
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_rdma_pvo));
	EXPECT_EQ(machine.tr.effects, PAVO_EFFECT_VIOLATION)
		<< "its window lives";
	EXPECT_EQ(pavo_third_get_requester(&machine.op)->window, peer_window);
	EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_DONE);
	EXPECT_EQ(machine.tr.control.window, peer_window);
	EXPECT_EQ(machine.tr.control.wreth.rcxt, peer_id);
	EXPECT_EQ(machine.tr.control.wreth.status, PAVO_PVO_RANGE);
	EXPECT_FALSE(machine.op.now.placing);
}

/* All three ends are those of the first packet. */
TEST(Third, TheTargetTakesDataOfItsEndsOnly)
{
	for (int i = 0; i < 7; i++) {
		Machine machine;
		pavo_pkt pkt = data_packet(4, 1, 40);

		machine.take(data_packet(4, 0, 60));
		machine.on();
		pkt.src_node = uint16_t(third_node + (i == 1));
		pkt.src_window = third_window + (i == 2);
		pkt.rdma.peer_rcxt = third_id + (i == 3);
		pkt.rdma.third_node = uint16_t(peer_node + (i == 4));
		pkt.rdma.third_window = peer_window + (i == 5);
		pkt.rdma.third_rcxt = peer_id + (i == 6);
		EXPECT_EQ(machine.take(pkt).action,
			  i ? PAVO_ACTION_NONE : PAVO_ACTION_PLACE)
			<< i;
		EXPECT_EQ(counted(machine.tr),
			  counts(only_if(i, PAVO_CNT_rx_drop_tid)));
	}
}

/* Data of the other kind, of the same peer and tid, is of another operation. */
TEST(Third, DataOfTwoAndOfThreeEndsDoNotMix)
{
	for (bool third_first : {false, true}) {
		for (uint64_t attempt : {0, 1}) {
			Machine machine;
			pavo_pkt two = Machine::data(4 + attempt, 1, 40,
						     uint16_t(attempt));
			pavo_pkt three = data_packet(4 + attempt, 1, 40,
						     uint16_t(attempt));

			machine.take(third_first ? data_packet(4, 0, 60) :
						   Machine::data(4, 0, 60));
			machine.on();
			EXPECT_EQ(machine.op.left, 40u);
			machine.take(third_first ? two : three);
			/* A higher tid begins anew, and keeps nothing. */
			EXPECT_EQ(machine.tr.action, attempt ?
							     PAVO_ACTION_PLACE :
							     PAVO_ACTION_NONE);
			EXPECT_EQ(machine.op.left, attempt ? 100u : 40u);
		}
		/* Nor is one answered as an attempt at the other. */
		Machine machine({.tid = 4, .first = 4, .complete = 4}, 0);

		if (third_first) {
			machine.op.role = PAVO_THIRD_TARGET;
			machine.op.third = {third_window, third_id, third_node};
		}
		machine.take(third_first ? Machine::data(5, 0, 60, 1) :
					   data_packet(5, 0, 60, 1));
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_tid));
		EXPECT_EQ(machine.tr.control_opcode, 0u);
	}
}

/* A recovery at the source or the controller changed their rCxts. */
TEST(Third, TheTargetResumesWithOtherContexts)
{
	Machine machine;
	pavo_pkt pkt = data_packet(5, 1, 40, 1);

	machine.take(data_packet(4, 0, 60));
	machine.on();
	pkt.rdma.peer_rcxt = third_id + 1000;
	pkt.rdma.third_rcxt = peer_id + 1000;
	ASSERT_EQ(machine.take(pkt).action, PAVO_ACTION_PLACE);
	EXPECT_EQ(machine.op.left, 40u) << "the data is kept";
	machine.on();
	EXPECT_EQ(machine.tr.control.wreth.rcxt, peer_id + 1000);
	EXPECT_EQ(machine.tr.control.wreth.tid, 5u);
}

TEST(Third, TheTargetTakesNoEnd)
{
	for (uint8_t status : {uint8_t(0), uint8_t(PAVO_PVO_JOB)}) {
		Machine machine;

		machine.take(data_packet(4, 0, 60));
		machine.on();
		machine.take(end_packet(4, status));
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_tid));
		EXPECT_TRUE(machine.op.now.placing);
	}
}

} // namespace
