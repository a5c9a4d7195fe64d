// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * binding_test.cpp - RDMA to a group (window/binding.h): which frames and packets are refused, where
 * data goes, and when the process of a member is notified.
 */
#include "operation_env.h"

extern "C" {
#include "window/binding.h"
}

using namespace operation_env;

namespace {

constexpr uint32_t number = PAVO_WINDOW_GROUP | 5;
constexpr uint64_t base = 0x10000, room = 1000;

/* An rCxt of a group, bound to 1000 bytes. */
struct Bound : Machine {
	explicit Bound(const pavo_attempt &now = {}, uint32_t left = 100)
		: Machine(now, left)
	{
		op.group = number;
		op.base = base;
		op.bound_length = room;
		op.flags = target;
	}

	static pavo_pkt data(uint64_t tid, uint32_t fragment, uint32_t length,
			     uint16_t attempts = 0)
	{
		pavo_pkt pkt = Machine::data(tid, fragment, length, attempts);

		pkt.rdma.flags = target;
		return pkt;
	}
};

TEST(GroupRequests, AreWritesThatNotifyTheTarget)
{
	const struct {
		pavo_frame_type type;
		uint8_t flags;
		uint32_t rcxt;
		uint32_t state;
	} cases[] = {
		{PAVO_FRAME_RDMA_WRITE, target, 0, PAVO_FRAME_EMPTY},
		{PAVO_FRAME_RDMA_WRITE, 0, PAVO_GROUP_RCXTS - 1,
		 PAVO_FRAME_EMPTY},
		{PAVO_FRAME_RDMA_WRITE, target, PAVO_GROUP_RCXTS,
		 PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_WRITE, target, ~0u, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_WRITE, source, 0, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_WRITE, target | source, 0,
		 PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_WRITE, to_fifo, 0, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_READ, target, 0, PAVO_FRAME_BAD_REQUEST},
		{PAVO_FRAME_RDMA_READ, 0, 0, PAVO_FRAME_BAD_REQUEST},
	};

	for (auto &c : cases) {
		pavo_frame_hdr hdr{};
		pavo_rdma_request wish{};
		pavo_frame_request req;

		hdr.type = uint8_t(c.type);
		hdr.window = number;
		hdr.length = sizeof(wish);
		wish.flags = c.flags;
		wish.remote_rcxt = c.rcxt;
		EXPECT_EQ(pavo_frame_parse_request(&req, &hdr, &wish, 0),
			  c.state)
			<< "case " << &c - cases;
	}
}

TEST(GroupRequests, AreNoPieces)
{
	pavo_frame_hdr hdr{};
	pavo_rdma_piece piece{};
	pavo_frame_request req;

	hdr.type = PAVO_FRAME_RDMA_PIECE;
	hdr.length = sizeof(piece);
	hdr.window = number;
	EXPECT_EQ(pavo_frame_parse_piece(&req, &hdr, &piece,
					 PAVO_FRAME_PAYLOAD),
		  uint32_t(PAVO_FRAME_BAD_REQUEST));
	hdr.window = 5;
	EXPECT_EQ(pavo_frame_parse_piece(&req, &hdr, &piece,
					 PAVO_FRAME_PAYLOAD),
		  0u);
}

TEST(GroupPackets, OfRdmaAreDataForMemory)
{
	const struct {
		pavo_window_op opcode;
		uint8_t flags;
		uint32_t refused;
	} cases[] = {
		{PAVO_OP_WINDOW_DATA, target, 0},
		{PAVO_OP_WINDOW_DATA, 0, 0},
		{PAVO_OP_WINDOW_DATA, source, PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_DATA, to_fifo, PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_DATA, from_fifo, PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_READ, 0, PAVO_CNT_rx_drop_rdma_invalid},
		{PAVO_OP_WINDOW_DONE, 0, PAVO_CNT_rx_drop_rdma_invalid},
	};

	for (auto &c : cases) {
		pavo_pkt pkt = Machine::packet(c.opcode, 1);

		pkt.rdma.flags = c.flags;
		EXPECT_EQ(pavo_group_check_packet(&pkt), c.refused)
			<< "case " << &c - cases;
	}
}

uint32_t refusal(const pavo_attempt &now, const pavo_pkt &pkt)
{
	Bound bound(now);

	return pavo_binding_check_data(&bound.op, &pkt);
}

TEST(Binding, TakesOneWindowAtATime)
{
	const pavo_attempt placing = {.tid = 4, .first = 4, .placing = true};
	const pavo_attempt over = {.tid = 4};
	pavo_pkt pkt = Bound::data(5, 0, 60);

	EXPECT_EQ(refusal(placing, pkt), 0u);
	pkt.src_window++;
	EXPECT_EQ(refusal(placing, pkt), PAVO_CNT_rx_drop_rcxt_busy);
	EXPECT_EQ(refusal(over, pkt), 0u);
	pkt = Bound::data(5, 0, 60);
	pkt.src_node++;
	EXPECT_EQ(refusal(placing, pkt), PAVO_CNT_rx_drop_rcxt_busy);
	/* Another context of the same window, as after a recovery there. */
	pkt = Bound::data(5, 0, 60);
	pkt.rdma.peer_rcxt++;
	EXPECT_EQ(refusal(placing, pkt), 0u);
}

TEST(Binding, PlacesAtOffsets)
{
	const struct {
		uint64_t at;
		uint32_t length;
		pavo_pvo_result result;
	} cases[] = {
		{0, 1000, PAVO_PVO_OK},	    {999, 1, PAVO_PVO_OK},
		{1000, 0, PAVO_PVO_OK},	    {1, 1000, PAVO_PVO_RANGE},
		{1000, 1, PAVO_PVO_RANGE},  {1001, 0, PAVO_PVO_RANGE},
		{~0ull, 1, PAVO_PVO_RANGE}, {~0ull - 99, 100, PAVO_PVO_RANGE},
	};

	for (auto &c : cases) {
		pavo_pkt pkt = Bound::data(1, 0, c.length);
		u64 pvo = 0;
		Bound bound;
		Machine unbound;

		pkt.rdma.pvo = c.at;
		EXPECT_EQ(pavo_operation_place(&bound.op, &pkt, &pvo), c.result)
			<< c.at << " " << c.length;
		if (!c.result) {
			EXPECT_EQ(pvo, base + c.at);
		}
		/* A packet to a window has a PVO. */
		EXPECT_EQ(pavo_operation_place(&unbound.op, &pkt, &pvo),
			  PAVO_PVO_OK);
		EXPECT_EQ(pvo, c.at);
	}
}

TEST(Binding, NotifiesItsProcessOnly)
{
	Bound bound;

	bound.take(Bound::data(7, 0, 100));
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_PLACE);
	bound.on();
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_PUT_DONE);
	const pavo_group_done done =
		pavo_binding_get_done_frame(&bound.op, &bound.tr);
	EXPECT_EQ(done.group, number);
	EXPECT_EQ(done.rcxt, own_id);
	EXPECT_EQ(done.peer_rcxt, peer_id);
	EXPECT_EQ(done.tid, 7u);
	EXPECT_EQ(done.length, 100u);
	EXPECT_EQ(done.status, PAVO_PVO_OK);
	bound.on();
	EXPECT_EQ(bound.tr.control_opcode, 0u);
	EXPECT_EQ(bound.op.now.complete, 7u);
}

/* Each attempt at a complete operation notifies the process once more, and places nothing. */
TEST(Binding, NotifiesAgainOfACompleteOperation)
{
	const pavo_attempt complete = {.tid = 4, .first = 4, .complete = 4};
	Bound bound(complete, 0);

	bound.take(Bound::data(5, 0, 60, 1));
	EXPECT_EQ(counted(bound.tr), counts(PAVO_CNT_rdma_repeats));
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_PUT_DONE);
	EXPECT_EQ(bound.tr.control_opcode, 0u);
	/* With the FIFO full, too, that is all. */
	bound.on(1);
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_NONE);
	bound.take(Bound::data(5, 1, 60, 1));
	EXPECT_EQ(counted(bound.tr), counts(PAVO_CNT_rx_drop_rdma_again));
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_NONE);
	/* Its process wants no notification. */
	bound.op.flags = 0;
	bound.take(Bound::data(6, 0, 60, 2));
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_NONE);
}

TEST(Binding, ReportsBytesBeyondIt)
{
	Bound bound;

	bound.take(Bound::data(7, 0, 60));
	bound.on(PAVO_PVO_RANGE);
	EXPECT_EQ(counted(bound.tr), counts(PAVO_CNT_rx_drop_rdma_pvo));
	EXPECT_EQ(bound.tr.action, PAVO_ACTION_PUT_DONE);
	EXPECT_EQ(pavo_binding_get_done_frame(&bound.op, &bound.tr).status,
		  PAVO_PVO_RANGE);
	bound.on();
	EXPECT_FALSE(bound.op.now.placing);
	EXPECT_EQ(bound.op.now.complete, 0u);
	EXPECT_EQ(bound.tr.effects, 0u);
}

} // namespace
