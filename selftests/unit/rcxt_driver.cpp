// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rcxt_driver.cpp - see rcxt_driver.h; deeds.c and its callers do the same in the module. */
#include "rcxt_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace rcxt {

using pavo::FrameState;
using pavo::WindowAddress;

/* A frame's header, as a process writes it. */
static pavo_frame_hdr header(pavo_frame_type type, const WindowAddress &peer,
			     size_t length)
{
	return {.node = peer.node,
		.length = uint16_t(length),
		.window = peer.window,
		.type = uint8_t(type),
		.kind = 0,
		.reserved = {},
		.state = 0};
}

void Driver::take(uint32_t id)
{
	auto [at, fresh] = rcxts_.try_emplace(id);
	Rcxt &rcxt = at->second;

	if (!fresh)
		return;
	rcxt.op.id = id;
	rcxt.op.seen = &rcxt.seen;
	pavo_operation_reset(&rcxt.op);
}

void Driver::end(uint32_t id, pavo_frame_state state)
{
	auto found = rcxts_.find(id);
	pavo_step step{};

	if (found == rcxts_.end())
		return;
	pavo_operation_end(&found->second.op, state, &step);
	carry_out(found->second.op, step, nullptr);
}

void Driver::lose_all(pavo_frame_state state)
{
	for (auto &[id, rcxt] : rcxts_)
		end(id, state);
	rcxts_.clear();
}

/* ------------------------------------------------------------------ steps */

pavo_pvo_result Driver::check(uint64_t pvo, uint32_t length) const
{
	bool inside = !length ||
		      (pvo < bytes_.size() && length <= bytes_.size() - pvo);

	return inside ? PAVO_PVO_OK : PAVO_PVO_RANGE;
}

void Driver::kill()
{
	ADD_FAILURE() << "window " << self_.window << " is dead";
}

void Driver::do_effects(const pavo_operation &op, const pavo_step &step)
{
	if (step.effects & PAVO_EFFECT_MARK)
		mark(op.frame, pavo_frame_state(step.mark));
	if (step.effects & PAVO_EFFECT_KILL)
		kill();
}

uint32_t Driver::place(const Packet &packet)
{
	const std::vector<uint8_t> &data = packet.payload;
	pavo_pvo_result result =
		check(packet.rdma().pvo, uint32_t(data.size()));

	if (!result)
		std::ranges::copy(data,
				  bytes_.begin() + long(packet.rdma().pvo));
	return result;
}

uint32_t Driver::do_deed(const pavo_operation &op, const pavo_step &step,
			 const Packet *packet)
{
	switch (step.deed) {
	case PAVO_DEED_PLACE:
		return place(*packet);
	case PAVO_DEED_PIECE:
		return !put_piece(pavo_operation_piece_frame(&op, &step), op,
				  packet->payload);
	case PAVO_DEED_ASK:
		return !put_request(pavo_operation_read_frame(&step));
	case PAVO_DEED_TELL:
		return !put_done(pavo_operation_done_frame(&op, &step));
	case PAVO_DEED_MAPPED:
		return check(step.pvo, step.length);
	case PAVO_DEED_WAY:
	case PAVO_DEED_QUEUE:
	case PAVO_DEED_NONE:
		break;
	}
	return 0;
}

void Driver::carry_out(pavo_operation &op, pavo_step &step,
		       const Packet *packet)
{
	do_effects(op, step);
	for (int deeds = 0; step.deed; deeds++) {
		ASSERT_LT(deeds, 4) << "deeds without an end";
		pavo_step_on(&op, &step, do_deed(op, step, packet));
		do_effects(op, step);
	}
}

/* ---------------------------------------------------------------- packets */

void Driver::send(pavo_window_op opcode, const pavo_rdma_told &told,
		  std::vector<uint8_t> data)
{
	Packet packet;

	packet.pkt.opcode = uint8_t(opcode);
	packet.pkt.dqpn = told.window;
	packet.pkt.payload = uint32_t(data.size());
	packet.pkt.src_node = self_.node;
	packet.pkt.src_window = self_.window;
	packet.pkt.rdma = told.wreth;
	packet.payload = std::move(data);
	send(packet);
}

void Driver::tell(const pavo_step &step)
{
	if (step.tell)
		send(pavo_window_op(step.tell), step.told, {});
}

void Driver::receive(const Packet &packet)
{
	const pavo_arrival *arrival = pavo_arrival_of(packet.pkt.opcode);
	auto found = rcxts_.find(packet.rdma().rcxt);
	pavo_step step{};

	ASSERT_TRUE(arrival && arrival->take);
	ASSERT_EQ(pavo_arrival_check(arrival, &packet.pkt), 0u);
	if (found == rcxts_.end())
		return;
	step.pkt = &packet.pkt;
	arrival->take(&found->second.op, &step);
	carry_out(found->second.op, step, &packet);
	tell(step);
}

bool Driver::would_place(const Packet &packet) const
{
	const pavo_arrival *arrival = pavo_arrival_of(packet.pkt.opcode);
	auto found = rcxts_.find(packet.rdma().rcxt);
	pavo_step step{};

	if (found == rcxts_.end())
		return false;
	Rcxt copy = found->second;

	copy.op.seen = &copy.seen;
	step.pkt = &packet.pkt;
	arrival->take(&copy.op, &step);
	return step.deed == PAVO_DEED_PLACE;
}

/* ----------------------------------------------------------------- frames */

FrameState Driver::take_frame(pavo_step &step,
			      void (*take)(pavo_operation *, pavo_step *))
{
	auto found = rcxts_.find(step.ask->rcxt);

	if (found == rcxts_.end())
		return FrameState::bad_rcxt;
	take(&found->second.op, &step);
	carry_out(found->second.op, step, nullptr);
	tell(step);
	return FrameState(step.state);
}

FrameState Driver::request(pavo_frame_type type, const WindowAddress &peer,
			   const pavo_rdma_request &request, uint32_t frame)
{
	pavo_frame_hdr hdr = header(type, peer, sizeof(request));
	pavo_step step{};
	pavo_ask ask;
	uint32_t state = pavo_ask_request(&ask, &hdr, &request, frame);

	if (state)
		return FrameState(state);
	step.ask = &ask;
	state = uint32_t(take_frame(step, pavo_operation_request));
	return step.tell ? FrameState::sent : FrameState(state);
}

FrameState Driver::piece(const WindowAddress &peer,
			 const pavo_rdma_piece &piece,
			 std::vector<uint8_t> data)
{
	pavo_frame_hdr hdr = header(PAVO_FRAME_RDMA_PIECE, peer,
				    sizeof(piece) + data.size());
	pavo_step step{};
	pavo_ask ask;
	uint32_t state = pavo_ask_piece(&ask, &hdr, &piece, PAVO_FRAME_PAYLOAD);

	if (state)
		return FrameState(state);
	step.ask = &ask;
	FrameState refused = take_frame(step, pavo_operation_piece);

	if (refused != FrameState::empty)
		return refused;
	send(PAVO_OP_WINDOW_DATA, ask.told, std::move(data));
	return FrameState::sent;
}

/* ---------------------------------------------------------------- sending */

bool Driver::sending(uint32_t id) const
{
	auto found = rcxts_.find(id);

	return found != rcxts_.end() && found->second.op.now.sending;
}

/* A copy of bytes that there are; those of no length are anywhere. */
std::vector<uint8_t> Driver::bytes(uint64_t pvo, uint32_t length) const
{
	if (!length)
		return {};
	auto from = bytes_.begin() + long(pvo);

	return {from, from + length};
}

void Driver::transmit(uint32_t id)
{
	auto found = rcxts_.find(id);
	pavo_fragment next;
	pavo_step step{};

	if (found == rcxts_.end() ||
	    !pavo_operation_next(&found->second.op, room_, &next))
		return;
	pavo_operation &op = found->second.op;
	pavo_pvo_result result = check(next.from, next.length);

	if (result) {
		pavo_operation_no_memory(&op, &next, result, &step);
	} else {
		send(PAVO_OP_WINDOW_DATA, next.told,
		     bytes(next.from, next.length));
		pavo_operation_sent(&op, &next, &step);
	}
	carry_out(op, step, nullptr);
	tell(step);
}

} // namespace rcxt
