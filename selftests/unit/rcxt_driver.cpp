// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rcxt_driver.cpp - see rcxt_driver.h; actions.c and its callers do the same in the module. */
#include "rcxt_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
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

/* Slots of the send FIFO. */
constexpr uint32_t slots = 256;

Driver::Driver(const WindowAddress &self, std::vector<uint8_t> &bytes,
	       uint32_t payload)
	: self_(self), bytes_(bytes), payload_(payload),
	  memory_(pavo_conditions_size(slots) / sizeof(uint64_t) + 1),
	  conditions_(reinterpret_cast<pavo_conditions *>(memory_.data()))
{
	pavo_conditions_init(conditions_, slots);
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

void Driver::bind(uint32_t id, uint32_t group, uint64_t base, uint64_t room)
{
	take(id);
	pavo_operation &op = rcxts_[id].op;
	op.group = group;
	op.base = base;
	op.bound_length = room;
}

void Driver::end(uint32_t id, pavo_frame_state state)
{
	auto found = rcxts_.find(id);
	pavo_transition tr{};

	if (found == rcxts_.end())
		return;
	pavo_operation_end(&found->second.op, state, &tr);
	carry_out(found->second.op, tr, nullptr);
}

void Driver::lose_all(pavo_frame_state state)
{
	for (auto &[id, rcxt] : rcxts_)
		end(id, state);
	rcxts_.clear();
	pavo_conditions_fail_all(conditions_);
}

void Driver::cancel(uint32_t id)
{
	end(id, PAVO_FRAME_CANCELLED);
	pavo_conditions_cancel_rcxt(conditions_, id);
}

/* ------------------------------------------------------------- conditions */

void Driver::hold(uint32_t counter, uint64_t target, pavo_frame_type type,
		  const WindowAddress &peer, const pavo_rdma_request &request,
		  uint32_t frame)
{
	pavo_conditional body{counter, 1, target};
	pavo_frame_line first{}, second{};
	uint32_t all = 0;

	while (conditions_->held[slot_ % slots].used ||
	       conditions_->held[(slot_ + 1) % slots].used)
		slot_++;
	first.hdr = header(PAVO_FRAME_CONDITIONAL, {}, sizeof(body));
	memcpy(first.payload, &body, sizeof(body));
	second.hdr = header(type, peer, sizeof(request));
	memcpy(second.payload, &request, sizeof(request));
	EXPECT_EQ(pavo_conditions_begin(conditions_, &first, slot_), 0u);
	held_[slot_ + 1] = frame;
	EXPECT_EQ(pavo_conditions_take(conditions_, &second, slot_ + 1, &all),
		  uint32_t(PAVO_FRAME_HELD));
	EXPECT_EQ(all, slot_);
	mark(frame, PAVO_FRAME_HELD);
	slot_ += 2;
}

void Driver::release()
{
	pavo_held held;
	uint32_t state;

	while (!pavo_conditions_next(conditions_, &held, &state)) {
		const pavo_frame_hdr &hdr = held.line.hdr;
		uint32_t frame = held_.extract(held.number).mapped();
		pavo_rdma_request body;

		memcpy(&body, held.line.payload, sizeof(body));
		if (state && body.counter)
			pavo_conditions_fail(conditions_, body.counter - 1u);
		if (!state)
			state = uint32_t(request(pavo_frame_type(hdr.type),
						 {hdr.node, hdr.window}, body,
						 frame));
		if (state)
			mark(frame, pavo_frame_state(state));
	}
}

/* ------------------------------------------------------------ transitions */

pavo_pvo_result Driver::check(uint64_t pvo, uint32_t length) const
{
	bool in_range = !length ||
			(pvo < bytes_.size() && length <= bytes_.size() - pvo);

	return in_range ? PAVO_PVO_OK : PAVO_PVO_RANGE;
}

void Driver::kill()
{
	ADD_FAILURE() << "window " << self_.window << " is dead";
}

void Driver::do_effects(const pavo_operation &op, const pavo_transition &tr)
{
	if (tr.effects & PAVO_EFFECT_MARK)
		mark(op.frame, pavo_frame_state(tr.mark));
	if (tr.effects & PAVO_EFFECT_KILL)
		kill();
	if (tr.effects & PAVO_EFFECT_COUNT)
		pavo_conditions_count(conditions_, tr.counter);
	if (tr.effects & PAVO_EFFECT_FAIL)
		pavo_conditions_fail(conditions_, tr.counter);
}

uint32_t Driver::place(const pavo_operation &op, const Packet &packet)
{
	const std::vector<uint8_t> &data = packet.payload;
	u64 pvo;
	pavo_pvo_result result = pavo_operation_place(&op, &packet.pkt, &pvo);

	if (!result)
		result = check(pvo, uint32_t(data.size()));
	if (!result)
		std::ranges::copy(data, bytes_.begin() + long(pvo));
	return result;
}

bool Driver::put_group_done(const pavo_group_done &, const pavo_operation &)
{
	ADD_FAILURE() << "it is in no group";
	return true;
}

uint32_t Driver::put_done_frame(const pavo_operation &op,
				const pavo_transition &tr)
{
	if (op.group)
		return !put_group_done(pavo_binding_get_done_frame(&op, &tr),
				       op);
	return !put_done(pavo_operation_done_frame(&op, &tr));
}

uint32_t Driver::do_action(const pavo_operation &op, const pavo_transition &tr,
			   const Packet *packet)
{
	switch (tr.action) {
	case PAVO_ACTION_PLACE:
		return place(op, *packet);
	case PAVO_ACTION_PUT_PIECE:
		return !put_piece(pavo_operation_piece_frame(&op, &tr), op,
				  packet->payload);
	case PAVO_ACTION_PUT_READ:
		return !put_request(pavo_operation_read_frame(&tr));
	case PAVO_ACTION_PUT_DONE:
		return put_done_frame(op, tr);
	case PAVO_ACTION_CHECK_MAPPED:
		return check(tr.pvo, tr.length);
	case PAVO_ACTION_FIND_ROUTE:
	case PAVO_ACTION_QUEUE:
	case PAVO_ACTION_NONE:
		break;
	}
	return 0;
}

void Driver::carry_out(pavo_operation &op, pavo_transition &tr,
		       const Packet *packet)
{
	do_effects(op, tr);
	for (int actions = 0; tr.action; actions++) {
		ASSERT_LT(actions, 4) << "actions without an end";
		pavo_transition_continue(&op, &tr, do_action(op, tr, packet));
		do_effects(op, tr);
	}
}

/* ---------------------------------------------------------------- packets */

void Driver::send(pavo_window_op opcode, const pavo_rdma_control &control,
		  std::vector<uint8_t> data)
{
	Packet packet;

	packet.pkt.opcode = uint8_t(opcode);
	packet.pkt.dqpn = control.window;
	packet.pkt.payload = uint32_t(data.size());
	packet.pkt.src_node = self_.node;
	packet.pkt.src_window = self_.window;
	packet.pkt.rdma = control.wreth;
	packet.payload = std::move(data);
	send(packet);
}

void Driver::send_control(const pavo_transition &tr)
{
	if (tr.control_opcode)
		send(pavo_window_op(tr.control_opcode), tr.control, {});
}

void Driver::receive(const Packet &packet)
{
	const pavo_arrival *arrival = pavo_arrival_of(packet.pkt.opcode);
	auto found = rcxts_.find(packet.rdma().rcxt);
	pavo_transition tr{};

	ASSERT_TRUE(arrival && arrival->take);
	ASSERT_EQ(pavo_arrival_check(arrival, &packet.pkt), 0u);
	if (found == rcxts_.end())
		return;
	tr.pkt = &packet.pkt;
	arrival->take(&found->second.op, &tr);
	carry_out(found->second.op, tr, &packet);
	send_control(tr);
}

bool Driver::would_place(const Packet &packet) const
{
	const pavo_arrival *arrival = pavo_arrival_of(packet.pkt.opcode);
	auto found = rcxts_.find(packet.rdma().rcxt);
	pavo_transition tr{};

	if (found == rcxts_.end())
		return false;
	Rcxt copy = found->second;

	copy.op.seen = &copy.seen;
	tr.pkt = &packet.pkt;
	arrival->take(&copy.op, &tr);
	return tr.action == PAVO_ACTION_PLACE;
}

/* ----------------------------------------------------------------- frames */

FrameState Driver::take_frame(pavo_transition &tr,
			      void (*take)(pavo_operation *, pavo_transition *))
{
	auto found = rcxts_.find(tr.req->rcxt);

	if (found == rcxts_.end())
		return FrameState::bad_rcxt;
	take(&found->second.op, &tr);
	carry_out(found->second.op, tr, nullptr);
	send_control(tr);
	return FrameState(tr.state);
}

FrameState Driver::request(pavo_frame_type type, const WindowAddress &peer,
			   const pavo_rdma_request &request, uint32_t frame)
{
	pavo_frame_hdr hdr = header(type, peer, sizeof(request));
	pavo_transition tr{};
	pavo_frame_request req;
	uint32_t state = pavo_frame_parse_request(&req, &hdr, &request, frame);

	if (state)
		return FrameState(state);
	tr.req = &req;
	state = uint32_t(take_frame(tr, pavo_operation_request));
	if (req.counter && pavo_frame_has_failed(state))
		pavo_conditions_fail(conditions_, req.counter - 1u);
	return tr.control_opcode ? FrameState::sent : FrameState(state);
}

FrameState Driver::third(const WindowAddress &source,
			 const pavo_rdma_third &third, uint32_t frame)
{
	pavo_frame_hdr hdr =
		header(PAVO_FRAME_RDMA_THIRD, source, sizeof(third));
	pavo_transition tr{};
	pavo_frame_request req;
	uint32_t state = pavo_third_parse(&req, &hdr, &third, frame);

	if (state)
		return FrameState(state);
	tr.req = &req;
	state = uint32_t(take_frame(tr, pavo_operation_third));
	return tr.control_opcode ? FrameState::sent : FrameState(state);
}

FrameState Driver::piece(const WindowAddress &peer,
			 const pavo_rdma_piece &piece,
			 std::vector<uint8_t> data)
{
	pavo_frame_hdr hdr = header(PAVO_FRAME_RDMA_PIECE, peer,
				    sizeof(piece) + data.size());
	pavo_transition tr{};
	pavo_frame_request req;
	uint32_t state =
		pavo_frame_parse_piece(&req, &hdr, &piece, PAVO_FRAME_PAYLOAD);

	if (state)
		return FrameState(state);
	tr.req = &req;
	FrameState refused = take_frame(tr, pavo_operation_piece);

	if (refused != FrameState::empty)
		return refused;
	send(PAVO_OP_WINDOW_DATA, req.control, std::move(data));
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
	pavo_transition tr{};

	if (found == rcxts_.end() ||
	    pavo_operation_next(&found->second.op, payload_, &next))
		return;
	pavo_operation &op = found->second.op;
	pavo_pvo_result result = check(next.from, next.length);

	if (result) {
		pavo_operation_no_memory(&op, &next, result, &tr);
	} else {
		send(next.opcode, next.control, bytes(next.from, next.length));
		pavo_operation_sent(&op, &next, &tr);
	}
	carry_out(op, tr, nullptr);
	send_control(tr);
}

} // namespace rcxt
