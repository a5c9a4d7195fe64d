// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * operation_send_test.cpp - an operation between windows as its own process has it: what its
 * frames begin, and how it is sent (window/operation.h).
 */
#include "operation_env.h"

using namespace operation_env;

namespace {

/* ------------------------------------------------------------------ sending */

TEST(Operation, SendsItsDataInOrder)
{
	Machine machine;
	pavo_fragment next;

	EXPECT_EQ(pavo_operation_next(&machine.op, 60, &next), -ENODATA);
	machine.write(1, source);
	for (uint32_t n = 0; n < 2; n++) {
		pavo_transition tr{};

		ASSERT_EQ(pavo_operation_next(&machine.op, 60, &next), 0);
		EXPECT_EQ(next.length, n ? 40u : 60u);
		EXPECT_EQ(next.from, 0x1000u + 60 * n);
		EXPECT_EQ(next.control.wreth.pvo, 0x2000u + 60 * n);
		EXPECT_EQ(next.control.wreth.fragment, n);
		EXPECT_EQ(next.control.wreth.total, 100u);
		EXPECT_EQ(next.control.wreth.rcxt, peer_id);
		EXPECT_EQ(next.control.wreth.peer_rcxt, own_id);
		EXPECT_EQ(next.control.node, peer_node);
		EXPECT_EQ(pavo_operation_sent(&machine.op, &next, &tr), !n);
		EXPECT_EQ(tr.effects,
			  n ? PAVO_EFFECT_UNQUEUE | PAVO_EFFECT_MARK : 0);
		EXPECT_EQ(tr.mark, n ? PAVO_FRAME_SENT : 0);
	}
	EXPECT_EQ(pavo_operation_next(&machine.op, 60, &next), -ENODATA);
}

TEST(Operation, SegmentsDataForAFifoAtItsMultiples)
{
	struct {
		uint32_t room, length;
	} cases[] = {{64, 64}, {127, 64}, {128, 128}, {4000, 1984}};

	for (auto &c : cases) {
		Machine machine;
		pavo_fragment next;

		machine.write(1, to_fifo);
		machine.op.left = 100'000;
		ASSERT_EQ(pavo_operation_next(&machine.op, c.room, &next), 0);
		EXPECT_EQ(next.length, c.length) << c.room;
	}
}

/* A packet that was made before a cancel moves nothing of the operation after it. */
TEST(Operation, AStalePacketChangesNothing)
{
	Machine machine;
	pavo_fragment old;
	pavo_transition tr{};

	machine.write(1);
	ASSERT_EQ(pavo_operation_next(&machine.op, 60, &old), 0);
	pavo_operation_end(&machine.op, PAVO_FRAME_CANCELLED, &tr);
	EXPECT_EQ(tr.mark, PAVO_FRAME_CANCELLED);
	/* The same window took the rCxt once more, and uses the same tid. */
	pavo_operation_reset(&machine.op);
	machine.write(1);
	tr = {};
	EXPECT_FALSE(pavo_operation_sent(&machine.op, &old, &tr));
	EXPECT_EQ(machine.op.left, 100u);
	pavo_operation_give_up(&machine.op, &old, PAVO_FRAME_DEAD, &tr);
	EXPECT_EQ(tr.effects, 0u);
	EXPECT_TRUE(machine.op.now.sending);
}

TEST(Operation, WithoutMemoryKillsOnlyTheWindowThatNamedIt)
{
	for (bool own : {true, false}) {
		Machine machine;
		pavo_fragment next;
		pavo_transition tr{};

		machine.write(1);
		machine.op.own = own;
		ASSERT_EQ(pavo_operation_next(&machine.op, 60, &next), 0);
		pavo_operation_no_memory(&machine.op, &next, PAVO_PVO_KEY, &tr);
		EXPECT_FALSE(machine.op.now.sending);
		EXPECT_EQ(tr.effects,
			  own ? PAVO_EFFECT_UNQUEUE | PAVO_EFFECT_MARK |
					  PAVO_EFFECT_KILL :
				PAVO_EFFECT_UNQUEUE | PAVO_EFFECT_VIOLATION);
		EXPECT_EQ(tr.control_opcode,
			  only_if(!own, PAVO_OP_WINDOW_DONE));
		if (own) {
			EXPECT_EQ(tr.mark, PAVO_FRAME_BAD_PVO);
		} else {
			EXPECT_EQ(tr.control.wreth.status, PAVO_PVO_KEY);
			EXPECT_EQ(counted(tr),
				  counts(PAVO_CNT_rx_drop_rdma_pvo));
		}
	}
}

/* ------------------------------------------------- frames of this process */

TEST(Operation, AWriteIsQueuedOrRefused)
{
	Machine machine({.tid = 4});

	EXPECT_EQ(machine.request(PAVO_FRAME_RDMA_WRITE, 4, 0).state,
		  PAVO_FRAME_STALE);
	machine.request(PAVO_FRAME_RDMA_WRITE, 5, 0);
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_QUEUE);
	EXPECT_EQ(machine.on(1).state, PAVO_FRAME_DEAD);
	EXPECT_FALSE(machine.op.now.sending);
	machine.write(6);
	EXPECT_EQ(machine.tr.state, PAVO_FRAME_EMPTY);
	EXPECT_EQ(machine.op.frame, 8u);
	EXPECT_EQ(machine.request(PAVO_FRAME_RDMA_WRITE, 7, 0).state,
		  PAVO_FRAME_BUSY);
}

TEST(Operation, AReadNamesOnlyMemoryOfItsOwnJob)
{
	Machine machine;

	machine.request(PAVO_FRAME_RDMA_READ, 5, target);
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_CHECK_MAPPED);
	machine.on(1);
	EXPECT_EQ(machine.tr.state, PAVO_FRAME_BAD_PVO);
	EXPECT_EQ(machine.tr.effects, PAVO_EFFECT_KILL);
	EXPECT_EQ(machine.tr.control_opcode, 0u);
	EXPECT_EQ(machine.op.now.tid, 0u);
	/* For the FIFO there is no memory to check. */
	machine.request(PAVO_FRAME_RDMA_READ, 6, to_fifo);
	EXPECT_EQ(machine.tr.action, PAVO_ACTION_NONE);
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_READ);
}

TEST(Operation, AReadResumesWhereItsLastAttemptEnded)
{
	Machine machine;

	machine.read(1, source | target);
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_READ);
	EXPECT_EQ(machine.tr.control.wreth.pvo, 0x2000u);
	EXPECT_EQ(machine.tr.control.wreth.back_pvo, 0x1000u);
	machine.take(Machine::data(1, 0, 60));
	machine.on();
	machine.read(2, source | target, 1);
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_READ);
	EXPECT_EQ(machine.op.left, 40u) << "the data is kept";
	machine.take(Machine::data(2, 1, 40, 1));
	machine.on();
	machine.on();
	EXPECT_EQ(machine.op.now.complete, 2u);
	/* The notification was lost: it is sent once more, and no data is requested. */
	machine.read(3, source | target, 2);
	EXPECT_EQ(counted(machine.tr), counts(PAVO_CNT_rdma_repeats));
	ASSERT_EQ(machine.tr.action, PAVO_ACTION_PUT_DONE);
	machine.on();
	EXPECT_EQ(machine.tr.state, PAVO_FRAME_SENT);
	EXPECT_EQ(machine.tr.control_opcode, PAVO_OP_WINDOW_DONE);
	machine.read(4, source | target, 3);
	machine.on(1);
	EXPECT_EQ(machine.tr.state, PAVO_FRAME_NOT_SENT);
	EXPECT_EQ(machine.tr.control_opcode, 0u);
}

TEST(Operation, APieceIsOfItsOperationAndPeer)
{
	Machine machine({.tid = 4});
	auto piece = [&](uint64_t tid, uint32_t window) {
		pavo_frame_hdr hdr{};
		pavo_rdma_piece wish{};

		hdr.type = PAVO_FRAME_RDMA_PIECE;
		hdr.node = peer_node;
		hdr.window = window;
		hdr.length = sizeof(wish) + 10;
		wish.local_rcxt = own_id;
		wish.remote_rcxt = peer_id;
		wish.tid = tid;
		EXPECT_EQ(pavo_frame_parse_piece(&machine.req, &hdr, &wish,
						 2000),
			  0u);
		machine.tr = {};
		machine.tr.req = &machine.req;
		pavo_operation_piece(&machine.op, &machine.tr);
		return machine.tr.state;
	};

	EXPECT_EQ(piece(4, peer_window), PAVO_FRAME_STALE);
	EXPECT_EQ(piece(5, peer_window), PAVO_FRAME_EMPTY);
	EXPECT_TRUE(machine.op.now.feeding);
	EXPECT_EQ(piece(5, peer_window), PAVO_FRAME_EMPTY);
	EXPECT_EQ(piece(5, others), PAVO_FRAME_BAD_REQUEST);
	machine.op.now.sending = true;
	EXPECT_EQ(piece(6, peer_window), PAVO_FRAME_BUSY);
}

TEST(FrameRequest, IsCheckedBeforeAnythingElse)
{
	struct {
		uint8_t type;
		uint16_t length;
		uint32_t window;
		uint8_t flags, counter;
		uint32_t state;
	} cases[] = {
		{PAVO_FRAME_RDMA_READ, 48, 1, PAVO_RDMA_FLAGS, 0, 0},
		{PAVO_FRAME_RDMA_READ, 47, 1, 0, 0, PAVO_FRAME_BAD_LENGTH},
		{PAVO_FRAME_RDMA_READ, 49, 1, 0, 0, PAVO_FRAME_BAD_LENGTH},
		{PAVO_FRAME_RDMA_READ, 48, 1, 0x10, 0, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_READ, 48, 1, 0, 65, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_READ, 48, 1u << 24, 0, 0,
		 PAVO_FRAME_BAD_WINDOW},
		{PAVO_FRAME_RDMA_WRITE, 48, 1, from_fifo, 0,
		 PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_WRITE, 48, 1, to_fifo, 0, 0},
		{PAVO_FRAME_RDMA_PIECE, 48, 1, to_fifo, 0, 0},
		{PAVO_FRAME_RDMA_PIECE, 47, 1, 0, 0, PAVO_FRAME_BAD_LENGTH},
		{PAVO_FRAME_RDMA_PIECE, 2000, 1, 0, 0, 0},
		{PAVO_FRAME_RDMA_PIECE, 2001, 1, 0, 0, PAVO_FRAME_BAD_LENGTH},
		{PAVO_FRAME_RDMA_PIECE, 48, 1, from_fifo, 0,
		 PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_PIECE, 48, 1, 0, 1, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_PIECE, 48, 1u << 24, 0, 0,
		 PAVO_FRAME_BAD_WINDOW},
	};

	for (auto &c : cases) {
		pavo_frame_hdr hdr{};
		pavo_rdma_request request{};
		pavo_rdma_piece piece{};
		pavo_frame_request req;

		hdr.type = c.type;
		hdr.length = c.length;
		hdr.window = c.window;
		request.flags = piece.flags = c.flags;
		request.counter = piece.counter = c.counter;
		EXPECT_EQ(c.type == PAVO_FRAME_RDMA_PIECE ?
				  pavo_frame_parse_piece(&req, &hdr, &piece,
							 2000) :
				  pavo_frame_parse_request(&req, &hdr, &request,
							   1),
			  c.state)
			<< "case " << &c - cases;
	}
}

} // namespace
