// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_world.cpp - see rdma_world.h. */
#include "rdma_world.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "../common/pattern.h"
#include "abi.hpp"

namespace rdma_world {

bool End::full() const
{
	return world.random.below(100) < world.loss;
}

void End::send(const Packet &packet)
{
	world.send(packet);
}

void End::mark(uint32_t frame, pavo_frame_state state)
{
	marks[frame] = FrameState(state);
}

bool End::put_done(const pavo_rdma_done &done)
{
	if (full())
		return false;
	frames.push_back(from_abi(done));
	return true;
}

bool End::put_piece(const pavo_rdma_piece &piece, const pavo_operation &op,
		    std::span<const uint8_t> data)
{
	if (full())
		return false;
	pieces.push_back({piece.local_rcxt,
			  piece.tag,
			  piece.fragment,
			  piece.pvo,
			  op.now.first,
			  {data.begin(), data.end()}});
	return true;
}

bool End::put_request(const pavo_rdma_request &request)
{
	if (full())
		return false;
	requests.push_back(from_abi(request));
	return true;
}

void End::recover()
{
	std::vector<uint32_t> names;

	for (const auto &[id, rcxt] : rcxts())
		names.push_back(id);
	lose_all(PAVO_FRAME_BAD_RCXT);
	for (uint32_t name : names)
		take(name + 1000);
	recoveries++;
}

/* ------------------------------------------------------------------- ports */

std::error_code
Port::piece(WindowAddress peer, const PieceFrame &piece, uint32_t length,
	    const std::function<void(std::span<std::byte>)> &fill)
{
	std::vector<uint8_t> data(length);

	/* Frames are few. */
	if (world.random.below(4) == 0)
		return std::make_error_code(std::errc::no_buffer_space);
	fill(std::as_writable_bytes(std::span(data)));
	end.piece(peer, to_abi(piece), std::move(data));
	return {};
}

std::error_code Port::request(Direction direction, WindowAddress peer,
			      const RequestFrame &request, uint32_t &frame)
{
	auto type = direction == Direction::write ? PAVO_FRAME_RDMA_WRITE :
						    PAVO_FRAME_RDMA_READ;
	auto found = end.rcxts().find(request.local_rcxt);

	if (found != end.rcxts().end()) {
		EXPECT_GT(request.tid, found->second.op.now.tid)
			<< "tids only grow";
		/* A number is no memory, nor is that of no bytes. */
		if (request.length && !(request.flags & rdma_flag::to_fifo) &&
		    request.local_pvo >= refused) {
			refusals++;
			return std::make_error_code(std::errc::message_size);
		}
		if (world.random.below(100) < world.loss)
			return std::make_error_code(std::errc::no_buffer_space);
	}
	frame = next++;
	FrameState state = end.request(type, peer, to_abi(request), frame);

	if (state != FrameState::empty)
		end.marks[frame] = state;
	return {};
}

std::error_code Port::request_third(WindowAddress source,
				    const ThirdFrame &third, uint32_t &frame)
{
	if (world.random.below(100) < world.loss)
		return std::make_error_code(std::errc::no_buffer_space);
	frame = next++;
	FrameState state = end.third(source, to_abi(third), frame);

	EXPECT_NE(state, FrameState::stale) << "tids only grow";
	if (state != FrameState::empty)
		end.marks[frame] = state;
	return {};
}

std::error_code Port::hold(const RdmaCondition &condition,
			   const HeldRequest &held, uint32_t &frame)
{
	if (world.random.below(100) < world.loss)
		return std::make_error_code(std::errc::no_buffer_space);
	frame = next++;
	end.hold(condition.counter, condition.value,
		 held.direction == Direction::write ? PAVO_FRAME_RDMA_WRITE :
						      PAVO_FRAME_RDMA_READ,
		 held.to, to_abi(held.request), frame);
	return {};
}

std::error_code Port::set_counter(uint32_t counter, uint64_t value)
{
	if (world.random.below(100) < world.loss)
		return std::make_error_code(std::errc::no_buffer_space);
	pavo_conditions_set(&end.conditions(), counter, value);
	return {};
}

FrameState Port::result(uint32_t frame)
{
	auto found = end.marks.find(frame);

	return found == end.marks.end() ? FrameState::empty : found->second;
}

void Port::query_context(WindowAddress, uint32_t rcxt)
{
	if (world.random.below(100) >= world.loss)
		queried.push_back(rcxt);
}

void Port::cancel(uint32_t rcxt)
{
	end.cancel(rcxt);
}

/* -------------------------------------------------------------- both ends */

Bench::Bench(unsigned seed, uint32_t piece, unsigned attempts)
	: world(seed), port(world, world.a), port_b(world, world.b),
	  engine(port, {.timeout = std::chrono::microseconds(500),
			.max_timeout = std::chrono::microseconds(8000),
			.attempts = attempts,
			.piece = piece,
			.half_piece = piece}),
	  other(port_b, {})
{
	RdmaPeer to{address_b, {}};
	std::array<uint32_t, 3> locals{};

	for (uint32_t i = 0; i < 3; i++) {
		to.rcxts.push_back(20 + i);
		locals[i] = 10 + i;
		world.a.take(10 + i);
		world.b.take(20 + i);
	}
	once_a.add(locals);
	once_b.add(to.rcxts);
	peer = engine.add(to, locals);
	peer = engine.add(to, locals);
}

bool Bench::run(int steps)
{
	for (; engine.pending() && steps; steps--)
		step();
	return !engine.pending();
}

void Bench::step()
{
	world.step();
	if (recovers && !world.random.below(3000))
		(world.random.coin() ? world.a : world.b).recover();
	renew_a();
	engine.look(world.now);
	other.look(world.now);
	/* Processes look when they like. */
	if (!world.random.below(200))
		take_frames();
}

void Bench::take_frames()
{
	for (auto &done : std::exchange(world.a.frames, {})) {
		done.rcxt = once_a.name(done.rcxt);
		EXPECT_TRUE(engine.done(done, world.now));
	}
	take_notifications();
	if (process)
		process();
	answer();
}

/* Notifications of end b: of operations of one piece, and of many. */
void Bench::take_notifications()
{
	std::vector<Piece> notifications;

	if (!arrived)
		return;
	for (auto &done : std::exchange(world.b.frames, {})) {
		once_b.end(done.rcxt, done.tid - done.attempts);
		arrived({address_a, done.rcxt, done.tag, done.length});
	}
	auto is_notification = [](const Piece &piece) {
		return RdmaNotification::length(piece.at).has_value();
	};
	std::ranges::copy_if(world.b.pieces, std::back_inserter(notifications),
			     is_notification);
	std::erase_if(world.b.pieces, is_notification);
	for (const Piece &piece : notifications) {
		if (!once_b.piece(piece.rcxt, piece.first, piece.fragment))
			continue;
		once_b.end(piece.rcxt, piece.first);
		arrived({address_a, piece.rcxt, piece.tag,
			 *RdmaNotification::length(piece.at)});
	}
}

/*
 * The part of Rdma after recoveries: contexts are taken anew at end a, and at end b when it
 * queries one.
 */
static bool take_anew(const End &end, RdmaOnce &once, uint32_t &known)
{
	auto names = once.names();

	for (uint32_t &name : names)
		name += 1000 * (end.recoveries - known);
	once.rename(names);
	return std::exchange(known, end.recoveries) != end.recoveries;
}

void Bench::renew_a()
{
	auto old = once_a.names();

	if (!take_anew(world.a, once_a, known_a))
		return;
	for (size_t i = 0; i < old.size(); i++)
		engine.renew_local(old[i], once_a.names()[i], world.now);
}

void Bench::answer()
{
	for (uint32_t rcxt : std::exchange(port.queried, {})) {
		take_anew(world.b, once_b, known_b);
		uint32_t name = once_b.name(rcxt);
		engine.renew_remote(address_b, rcxt, name, once_b.ended(name),
				    world.now);
	}
}

void fill(std::vector<uint8_t> &memory, size_t from, size_t n, unsigned seed)
{
	pattern_fill(memory.data() + from, n, seed, 0);
}

} // namespace rdma_world
