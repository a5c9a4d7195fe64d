// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * operation_test.cpp - packets that come to an operation between windows: each in every state that
 * matters, and what follows from it (window/operation.h).
 */
#include <string>

#include "operation_env.h"

using namespace operation_env;

namespace {

/* ---------------------------------------------------------------- the table */

TEST(Arrivals, EachPacketForWindowsHasARow)
{
	unsigned rows = 0;

	for (unsigned opcode = 0; opcode < 256; opcode++) {
		const struct pavo_op_info *info =
			pavo_opcode_get_info(uint8_t(opcode));
		const pavo_arrival *row = pavo_arrival_of(uint8_t(opcode));

		ASSERT_EQ(row != nullptr, info && info->flags & PAVO_OPF_WETH)
			<< opcode;
		if (!row)
			continue;
		rows++;
		EXPECT_EQ(row->opcode, opcode);
		EXPECT_EQ(row->take != nullptr,
			  (info->flags & PAVO_OPF_WRETH) != 0)
			<< opcode;
		EXPECT_EQ(row->most != 0, (info->flags & PAVO_OPF_PAYLOAD) != 0)
			<< opcode;
	}
	EXPECT_EQ(rows, 6u);
}

/* pavo_arrival_check() returns the counter of a reason, or 0. */
static_assert(PAVO_CNT_tx_packets == 0);

TEST(Arrivals, AreCheckedByTheirRows)
{
	struct {
		pavo_window_op opcode;
		uint32_t payload;
		uint8_t flags, status;
		uint32_t refused;
	} cases[] = {
		{PAVO_OP_WINDOW_MESSAGE, PAVO_FRAME_PAYLOAD, 0, 0, 0},
		/* It has neither flags nor a status. */
		{PAVO_OP_WINDOW_MESSAGE, 0, 0xff, 0xff, 0},
		{PAVO_OP_WINDOW_MESSAGE, PAVO_FRAME_PAYLOAD + 1, 0, 0,
		 PAVO_CNT_rx_drop_too_long},
		{PAVO_OP_WINDOW_DATA, 65000, PAVO_RDMA_FLAGS, 0, 0},
		{PAVO_OP_WINDOW_DATA, 1, PAVO_RDMA_FLAGS + 1, 0,
		 PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_DATA, 1, 0, 1, PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_READ, 0, PAVO_RDMA_FLAGS, 0, 0},
		{PAVO_OP_WINDOW_READ, 0, 0x80, 0,
		 PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_READ, 0, 0, 1, PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_DONE, 0, 0, PAVO_PVO_KEY, 0},
		{PAVO_OP_WINDOW_DONE, 0, 0, PAVO_PVO_KEY + 1,
		 PAVO_CNT_rx_drop_rdma_invalid},
		/* Of three ends: no flags. */
		{PAVO_OP_WINDOW_THIRD_READ, 0, 0, 0, 0},
		{PAVO_OP_WINDOW_THIRD_READ, 0, source, 0,
		 PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_THIRD_READ, 0, from_fifo, 0,
		 PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_THIRD_READ, 0, 0, 1,
		 PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_THIRD_DATA, 65000, 0, 0, 0},
		{PAVO_OP_WINDOW_THIRD_DATA, 1, to_fifo, 0,
		 PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_THIRD_DATA, 1, 0, PAVO_PVO_KEY,
		 PAVO_CNT_rx_drop_rdma_invalid},
	};
	pavo_pkt from_group = Machine::packet(PAVO_OP_WINDOW_MESSAGE, 1);

	from_group.src_window |= PAVO_WINDOW_GROUP;
	EXPECT_EQ(pavo_arrival_check(pavo_arrival_of(PAVO_OP_WINDOW_MESSAGE),
				     &from_group),
		  PAVO_CNT_rx_drop_rdma_invalid);

	for (auto &c : cases) {
		pavo_pkt pkt = Machine::packet(c.opcode, 1);

		pkt.payload = c.payload;
		pkt.rdma.flags = c.flags;
		pkt.rdma.status = c.status;
		EXPECT_EQ(pavo_arrival_check(pavo_arrival_of(uint8_t(c.opcode)),
					     &pkt),
			  c.refused)
			<< "case " << &c - cases;
	}
}

/* --------------------------------------------------------------------- data */

TEST(Operation, TakesDataByItsState)
{
	const pavo_attempt placing = {.tid = 4, .first = 4, .placing = true};
	const pavo_attempt resumed = {.tid = 4, .first = 3, .placing = true};
	const pavo_attempt sending = {.tid = 4, .sending = true};
	const pavo_attempt complete = {.tid = 4, .first = 4, .complete = 4};
	/* A packet is placed, or dropped or answered with a counter. */
	struct {
		pavo_attempt now;
		uint32_t left;
		pavo_pkt pkt;
		uint32_t counter;
		uint64_t tid;
	} cases[] = {
		{{}, 0, Machine::data(1, 0, 60), 0, 1},
		{placing, 100, Machine::data(4, 3, 60), 0, 4},
		/* Of an earlier attempt, of the next one, of another operation. */
		{resumed, 100, Machine::data(3, 3, 60), 0, 4},
		{placing, 100, Machine::data(5, 3, 60, 1), 0, 5},
		{placing, 100, Machine::data(3, 3, 60), PAVO_CNT_rx_drop_tid,
		 4},
		{{.tid = 4},
		 100,
		 Machine::data(4, 3, 60),
		 PAVO_CNT_rx_drop_tid,
		 4},
		{sending, 100, Machine::data(5, 0, 60),
		 PAVO_CNT_rx_drop_rcxt_busy, 4},
		/* It was complete: the first packet of an attempt is answered. */
		{complete, 0, Machine::data(5, 0, 60, 1), PAVO_CNT_rdma_repeats,
		 4},
		{complete, 0, Machine::data(5, 1, 60, 1),
		 PAVO_CNT_rx_drop_rdma_again, 4},
		/* More than is left, nothing of something, too far ahead. */
		{placing, 50, Machine::data(4, 1, 51),
		 PAVO_CNT_rx_drop_rdma_length, 4},
		{placing, 50, Machine::data(4, 1, 50), 0, 4},
		{placing, 50, Machine::data(4, 1, 0),
		 PAVO_CNT_rx_drop_rdma_length, 4},
		{placing, 50, Machine::data(4, PAVO_SEEN_BITS, 10),
		 PAVO_CNT_rx_drop_rdma_far, 4},
	};

	for (auto &c : cases) {
		SCOPED_TRACE(&c - cases);
		Machine machine(c.now, c.left);
		pavo_transition &tr = machine.take(c.pkt);

		EXPECT_EQ(tr.action,
			  c.counter ? PAVO_ACTION_NONE : PAVO_ACTION_PLACE);
		EXPECT_EQ(counted(tr), counts(c.counter));
		EXPECT_EQ(tr.used, c.now.complete != 0);
		EXPECT_EQ(machine.op.now.tid, c.tid);
		EXPECT_EQ(tr.effects, 0u);
	}
}

TEST(Operation, TakesDataOfItsPeerOnly)
{
	for (int i = 0; i < 4; i++) {
		Machine machine({.tid = 4, .first = 4, .placing = true});
		pavo_pkt pkt = Machine::data(4, 0, 60);

		pkt.src_node = uint16_t(peer_node + (i == 1));
		pkt.src_window = peer_window + (i == 2);
		pkt.rdma.peer_rcxt = peer_id + (i == 3);
		EXPECT_EQ(machine.take(pkt).action,
			  i ? PAVO_ACTION_NONE : PAVO_ACTION_PLACE)
			<< i;
		EXPECT_EQ(counted(machine.tr),
			  counts(only_if(i, PAVO_CNT_rx_drop_tid)));
	}
}

/* Two packets in both orders, each twice: each byte is placed once, with one notification. */
TEST(Operation, EndsWithItsLastByte)
{
	for (bool swapped : {false, true}) {
		Machine machine;
		pavo_pkt parts[] = {
			Machine::data(1, swapped, 60 - 20 * swapped),
			Machine::data(1, !swapped, 40 + 20 * swapped)};

		for (pavo_pkt &part : parts)
			part.rdma.flags = source | target;
		machine.take(parts[0]);
		ASSERT_EQ(machine.tr.action, PAVO_ACTION_PLACE);
		machine.on();
		EXPECT_TRUE(machine.tr.used);
		EXPECT_EQ(counted(machine.tr),
			  counts(PAVO_CNT_rx_rdma_packets));
		EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
		machine.take(parts[0]);
		EXPECT_EQ(counted(machine.tr),
			  counts(PAVO_CNT_rx_drop_rdma_again));
		EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
		machine.take(parts[1]);
		ASSERT_EQ(machine.tr.action, PAVO_ACTION_PLACE);
		machine.on();
		ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_DONE);
		EXPECT_TRUE(machine.tr.target);
		EXPECT_EQ(machine.tr.control_opcode, 0u)
			<< "the process is first";
		machine.on();
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rdma_done));
		EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_DONE);
		EXPECT_EQ(machine.tr.control.window, peer_window);
		EXPECT_EQ(machine.tr.control.wreth.rcxt, peer_id);
		EXPECT_EQ(machine.tr.control.wreth.peer_rcxt, own_id);
		EXPECT_EQ(machine.tr.control.wreth.tid, 1u);
		EXPECT_EQ(machine.op.now.complete, 1u);
		machine.take(parts[1]);
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_tid));
		EXPECT_EQ(machine.tr.control_opcode, 0u);
	}
}

/* The next duplicate notifies a process whose FIFO was full, and then its peer. */
TEST(Operation, DefersItsEndWhileTheFifoIsFull)
{
	Machine machine;
	pavo_pkt all = Machine::data(1, 0, 100);

	all.rdma.flags = source | target;
	machine.take(all);
	machine.on();
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_DONE);
	machine.on(1);
	EXPECT_EQ(machine.tr.control_opcode, 0u);
	EXPECT_TRUE(machine.op.now.placing);
	EXPECT_EQ(machine.op.now.complete, 0u);
	machine.take(all);
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_rdma_again));
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_DONE);
	machine.on();
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_DONE);
	EXPECT_FALSE(machine.op.now.placing);
}

TEST(Operation, WithoutBytesEndsWithItsPacket)
{
	Machine machine;
	pavo_pkt none = Machine::data(1, 0, 0);

	none.rdma.total = 0;
	machine.take(none);
	EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
	EXPECT_EQ(counted(machine.tr),
		  counts(PAVO_CNT_rx_rdma_packets, PAVO_CNT_rdma_done));
	EXPECT_EQ(machine.tr.control_opcode, 0u);
	EXPECT_EQ(machine.op.now.complete, 1u);
}

TEST(Operation, PutsDataForTheFifoIntoFrames)
{
	Machine machine;
	pavo_pkt pkt = Machine::data(1, 0, PAVO_PIECE_DATA + 1);

	pkt.rdma.flags = to_fifo | from_fifo;
	pkt.rdma.total = 5000;
	pkt.rdma.pvo = 77;
	machine.take(pkt);
	EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_too_long));
	pkt.payload--;
	machine.take(pkt);
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_PIECE);
	pavo_rdma_piece frame =
		pavo_operation_piece_frame(&machine.op, &machine.tr);
	EXPECT_EQ(frame.local_rcxt, own_id);
	EXPECT_EQ(frame.remote_rcxt, peer_id);
	EXPECT_EQ(frame.pvo, 77u);
	EXPECT_EQ(frame.total, 5000u);
	EXPECT_EQ(frame.flags, to_fifo);
	/* A full FIFO is a lost packet. */
	machine.on(1);
	EXPECT_FALSE(machine.tr.used);
	EXPECT_EQ(machine.op.left, 5000u);
	machine.take(pkt);
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_PIECE);
	machine.on();
	EXPECT_TRUE(machine.tr.used);
	EXPECT_EQ(machine.op.left, 5000u - PAVO_PIECE_DATA);
}

/* Only memory that the process itself named, and that is not its own, kills its window. */
TEST(Operation, EndsWhereDataHasNoPlace)
{
	Machine passive;
	pavo_pkt pkt = Machine::data(1, 0, 100);

	pkt.rdma.flags = source;
	passive.take(pkt);
	passive.on(PAVO_PVO_KEY);
	EXPECT_EQ(counted(passive.tr), counts(PAVO_CNT_rx_drop_rdma_pvo));
	EXPECT_EQ(passive.tr.effects, PAVO_EFFECT_VIOLATION);
	EXPECT_EQ(passive.tr.control_opcode, PAVO_OP_WINDOW_DONE);
	EXPECT_EQ(passive.tr.control.wreth.status, PAVO_PVO_KEY);
	EXPECT_FALSE(passive.op.now.placing);
	EXPECT_EQ(passive.op.now.complete, 0u);
	for (uint32_t foreign : {0u, 1u}) {
		Machine reader;

		reader.read(1, target);
		reader.take(pkt);
		reader.on(PAVO_PVO_RANGE);
		ASSERT_EQ(reader.tr.action, PAVO_ACTION_CHECK_MAPPED);
		EXPECT_EQ(reader.tr.pvo, 0x1000u);
		EXPECT_EQ(reader.tr.length, 100u);
		reader.on(foreign);
		EXPECT_EQ(reader.tr.effects,
			  foreign ? PAVO_EFFECT_KILL : PAVO_EFFECT_VIOLATION);
		EXPECT_EQ(reader.tr.action,
			  foreign ? PAVO_ACTION_NONE : PAVO_ACTION_PUT_DONE);
		EXPECT_EQ(reader.tr.status, PAVO_PVO_RANGE);
		/* A full FIFO does not bring such an operation back. */
		if (!foreign)
			reader.on(1);
		EXPECT_FALSE(reader.op.now.placing);
		EXPECT_FALSE(reader.op.notify);
		EXPECT_EQ(reader.tr.control_opcode, 0u);
	}
}

/* ------------------------------------------------------- requests for data */

TEST(Operation, TakesRequestsByItsState)
{
	const pavo_attempt idle = {.tid = 4},
			   sending = {.tid = 4, .sending = true},
			   placing = {.tid = 4, .placing = true},
			   feeding = {.tid = 4, .feeding = true};
	struct {
		pavo_attempt now;
		uint64_t tid;
		uint8_t flags;
		pavo_action action;
		uint32_t counter;
		bool requested = false;
	} cases[] = {
		{idle, 5, 0, PAVO_ACTION_FIND_ROUTE, 0},
		{idle, 5, from_fifo, PAVO_ACTION_PUT_READ, 0},
		{idle, 4, 0, PAVO_ACTION_NONE, PAVO_CNT_rx_drop_tid},
		{sending, 5, 0, PAVO_ACTION_NONE, PAVO_CNT_rx_drop_rcxt_busy},
		{sending, 4, 0, PAVO_ACTION_NONE, PAVO_CNT_rx_drop_tid},
		{placing, 5, from_fifo, PAVO_ACTION_NONE,
		 PAVO_CNT_rx_drop_rcxt_busy, true},
		{placing, 5, 0, PAVO_ACTION_NONE, PAVO_CNT_rx_drop_rcxt_busy,
		 true},
		{placing, 5, 0, PAVO_ACTION_FIND_ROUTE, 0},
		{placing, 4, 0, PAVO_ACTION_NONE, PAVO_CNT_rx_drop_tid},
		{feeding, 5, from_fifo, PAVO_ACTION_PUT_READ, 0},
	};

	for (auto &c : cases) {
		SCOPED_TRACE(&c - cases);
		Machine machine(c.now);
		pavo_pkt pkt = Machine::packet(PAVO_OP_WINDOW_READ, c.tid);

		pkt.rdma.flags = c.flags;
		machine.op.requested = c.requested;
		machine.take(pkt);
		EXPECT_EQ(machine.tr.action, c.action);
		EXPECT_EQ(counted(machine.tr), counts(c.counter));
		EXPECT_EQ(machine.op.now.tid, 4u);
		if (!c.action)
			continue;
		/* No route, or no frame: the request is dropped. */
		machine.on(1);
		EXPECT_EQ(counted(machine.tr),
			  counts(only_if(!c.flags, PAVO_CNT_tx_drop_node)));
		EXPECT_FALSE(machine.tr.used);
		EXPECT_EQ(machine.op.now.tid, 4u);
	}
}

TEST(Operation, SendsTheDataOfAPeersRead)
{
	Machine machine;
	pavo_pkt pkt = Machine::packet(PAVO_OP_WINDOW_READ, 5);

	pkt.rdma.pvo = 0x3000;
	pkt.rdma.back_pvo = 0x4000;
	machine.take(pkt);
	machine.on();
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_QUEUE);
	machine.on();
	EXPECT_TRUE(machine.tr.used && machine.tr.wake);
	EXPECT_TRUE(machine.op.now.sending);
	EXPECT_EQ(machine.op.from, 0x3000u);
	EXPECT_EQ(machine.op.to, 0x4000u);
	EXPECT_FALSE(machine.op.own);
	Machine ended;

	ended.take(pkt);
	ended.on();
	ended.on(1);
	EXPECT_FALSE(ended.tr.used || ended.tr.wake || ended.op.now.sending);
}

/* --------------------------------------------------------------------- ends */

TEST(Operation, TakesEndsByItsState)
{
	struct {
		const char *state;
		uint8_t status;
		pavo_action action;
		uint8_t effects, mark;
		bool used;
	} cases[] = {
		{"idle", 0, PAVO_ACTION_NONE, 0, 0, false},
		{"write", 0, PAVO_ACTION_PUT_DONE,
		 PAVO_EFFECT_UNQUEUE | PAVO_EFFECT_MARK, PAVO_FRAME_SENT, true},
		{"write", PAVO_PVO_JOB, PAVO_ACTION_PUT_DONE,
		 PAVO_EFFECT_UNQUEUE | PAVO_EFFECT_MARK, PAVO_FRAME_CANCELLED,
		 true},
		/* A read ends with its last byte, or by an error of the source. */
		{"read", 0, PAVO_ACTION_NONE, 0, 0, false},
		{"read", PAVO_PVO_JOB, PAVO_ACTION_PUT_DONE, 0, 0, true},
		{"giving", 0, PAVO_ACTION_NONE, PAVO_EFFECT_UNQUEUE, 0, true},
		{"feeding", 0, PAVO_ACTION_NONE, 0, 0, true},
	};

	for (auto &c : cases) {
		SCOPED_TRACE(&c - cases);
		Machine machine({.tid = 5, .first = 5});
		std::string state = c.state;
		pavo_pkt end = Machine::packet(PAVO_OP_WINDOW_DONE, 6);

		if (state == "write")
			machine.write(6, source);
		else if (state == "read")
			machine.read(6, target);
		else if (state != "idle")
			machine.op.now = {.tid = 6,
					  .first = 6,
					  .complete = 0,
					  .sending = state == "giving",
					  .placing = false,
					  .feeding = state == "feeding"};
		else
			machine.op.now.tid = 6;
		end.rdma.status = c.status;
		machine.take(end);
		EXPECT_EQ(machine.tr.action, c.action);
		EXPECT_EQ(machine.tr.effects, c.effects);
		EXPECT_EQ(machine.tr.used, c.used);
		EXPECT_EQ(counted(machine.tr),
			  counts(only_if(!c.used, PAVO_CNT_rx_drop_tid)));
		if (c.effects & PAVO_EFFECT_MARK) {
			EXPECT_EQ(machine.tr.mark, c.mark);
		}
		if (!c.action)
			continue;
		EXPECT_EQ(machine.tr.target, state == "read");
		/* Notified once, as soon as there is a frame. */
		machine.on(1);
		machine.take(end);
		ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_DONE);
		machine.on();
		machine.take(end);
		EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
		EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rx_drop_tid));
	}
}

TEST(Operation, DropsPacketsAfterACancel)
{
	Machine machine;
	pavo_transition tr{};

	machine.take(Machine::data(1, 0, 60));
	machine.on();
	pavo_operation_end(&machine.op, PAVO_FRAME_CANCELLED, &tr);
	EXPECT_EQ(tr.effects, 0u);
	EXPECT_EQ(counted(machine.take(Machine::data(1, 1, 40))),
		  counts(PAVO_CNT_rx_drop_tid));
	/* The next attempt begins anew. */
	EXPECT_EQ(machine.take(Machine::data(2, 0, 60, 1)).action,
		  PAVO_ACTION_PLACE);
	EXPECT_EQ(machine.op.left, 100u);
}

} // namespace
