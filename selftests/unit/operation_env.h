/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * operation_env.h - an rCxt whose actions have the outcomes that a test gives, for
 * operation_test.cpp and operation_send_test.cpp.
 */
#ifndef PAVO_UNIT_OPERATION_ENV_H
#define PAVO_UNIT_OPERATION_ENV_H

#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "window/operation.h"
}

namespace operation_env {

constexpr uint32_t own_id = 0x11, peer_id = 0x22, peer_window = 7, others = 9;
constexpr uint16_t peer_node = 3;
constexpr uint8_t source = PAVO_RDMA_NOTIFY_SOURCE;
constexpr uint8_t target = PAVO_RDMA_NOTIFY_TARGET;
constexpr uint8_t to_fifo = PAVO_RDMA_TO_FIFO;
constexpr uint8_t from_fifo = PAVO_RDMA_FROM_FIFO;

/* A bit, a counter or an opcode where @there, else none. */
constexpr uint32_t only_if(bool there, uint32_t value)
{
	return there ? value : 0;
}

/* The counters that a transition adds to, in order. */
using Counts = std::vector<uint32_t>;

inline Counts counted(const pavo_transition &tr)
{
	return {tr.counts, tr.counts + tr.ncounts};
}

/* The counters that are expected; 0: none. */
inline Counts counts(uint32_t first, uint32_t second = 0)
{
	Counts all;

	for (uint32_t counter : {first, second})
		if (counter)
			all.push_back(counter);
	return all;
}

/* An rCxt and its transition. Actions have the outcome that the test gives. */
struct Machine {
	explicit Machine(const pavo_attempt &now = {}, uint32_t left = 100)
	{
		op.id = own_id;
		op.seen = &seen;
		op.now = now;
		op.peer = {peer_window, peer_id, peer_node};
		op.total = 100;
		op.left = left;
	}

	static pavo_pkt packet(pavo_window_op opcode, uint64_t tid,
			       uint16_t attempts = 0)
	{
		pavo_pkt pkt{};

		pkt.opcode = uint8_t(opcode);
		pkt.src_node = peer_node;
		pkt.src_window = peer_window;
		pkt.rdma.rcxt = own_id;
		pkt.rdma.peer_rcxt = peer_id;
		pkt.rdma.tid = tid;
		pkt.rdma.attempts = attempts;
		pkt.rdma.total = 100;
		return pkt;
	}

	static pavo_pkt data(uint64_t tid, uint32_t fragment, uint32_t length,
			     uint16_t attempts = 0)
	{
		pavo_pkt pkt = packet(PAVO_OP_WINDOW_DATA, tid, attempts);

		pkt.rdma.fragment = fragment;
		pkt.payload = length;
		return pkt;
	}

	pavo_transition &take(const pavo_pkt &packet)
	{
		pkt = packet;
		tr = {};
		tr.pkt = &pkt;
		pavo_arrival_of(pkt.opcode)->take(&op, &tr);
		return tr;
	}

	pavo_transition &request(pavo_frame_type type, uint64_t tid,
				 uint8_t flags, uint16_t attempts = 0,
				 uint8_t counter = 0)
	{
		pavo_frame_hdr hdr{};
		pavo_rdma_request wish{};

		hdr.type = uint8_t(type);
		hdr.node = peer_node;
		hdr.window = peer_window;
		hdr.length = sizeof(wish);
		wish.local_rcxt = own_id;
		wish.remote_rcxt = peer_id;
		wish.tid = tid;
		wish.attempts = attempts;
		wish.local_pvo = 0x1000;
		wish.remote_pvo = 0x2000;
		wish.length = 100;
		wish.tag = 5;
		wish.cookie = 6;
		wish.flags = flags;
		wish.counter = counter;
		EXPECT_EQ(pavo_frame_parse_request(&req, &hdr, &wish, 8), 0u);
		tr = {};
		tr.req = &req;
		pavo_operation_request(&op, &tr);
		return tr;
	}

	pavo_transition &on(uint32_t outcome = 0)
	{
		pavo_transition_continue(&op, &tr, outcome);
		return tr;
	}

	/* A write that is queued to be sent. */
	void write(uint64_t tid, uint8_t flags = 0)
	{
		request(PAVO_FRAME_RDMA_WRITE, tid, flags);
		EXPECT_EQ(tr.action, PAVO_ACTION_QUEUE);
		on();
	}

	void read(uint64_t tid, uint8_t flags, uint16_t attempts = 0)
	{
		request(PAVO_FRAME_RDMA_READ, tid, flags, attempts);
		if (tr.action == PAVO_ACTION_CHECK_MAPPED)
			on();
	}

	pavo_seen seen{};
	pavo_operation op{};
	pavo_pkt pkt{};
	pavo_frame_request req{};
	pavo_transition tr{};
};

} // namespace operation_env

#endif // PAVO_UNIT_OPERATION_ENV_H
