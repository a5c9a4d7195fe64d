// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_world.cpp - what adapters in miniature do with packets; see rdma_world.h. */
#include "rdma_world.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "../common/pattern.h"

namespace rdma_world {

void End::put_done(uint32_t rcxt, const Context &c, bool target, uint64_t tid)
{
	/* A FIFO that is full now and then. */
	frames.push_back({.rcxt = rcxt,
			  .peer_rcxt = c.of.rcxt,
			  .tid = tid,
			  .length = c.of.total,
			  .tag = c.of.tag,
			  .cookie = 0,
			  .status = PvoResult::ok,
			  .target = target,
			  .attempts = c.of.attempts});
}

void End::transmit(uint32_t rcxt, Context &c)
{
	uint32_t length = std::min(c.left, fragment_size);
	Packet &packet = c.of;

	packet.kind = Packet::DATA;
	packet.to_b = !is_b;
	packet.peer_rcxt = rcxt;
	packet.payload.clear();
	if (length)
		packet.payload.assign(memory.begin() + long(packet.back_pvo),
				      memory.begin() +
					      long(packet.back_pvo + length));
	world.send(packet);
	packet.pvo += length;
	packet.back_pvo += length;
	packet.fragment++;
	c.left -= length;
	if (c.left)
		return;
	c.now.sending = false;
	if (c.own)
		marks[c.frame] = FrameState::sent;
}

void End::receive_data(Context &c, const Packet &packet)
{
	switch (pavo_tid_data(&c.now, packet.tid, packet.attempts)) {
	case PAVO_TID_RESUME:
		c.now.tid = packet.tid;
		c.of.attempts = packet.attempts;
		c.of.tid = packet.tid;
		c.of.rcxt = packet.peer_rcxt;
		break;
	case PAVO_TID_BEGIN:
		c.now.tid = packet.tid;
		c.now.first = pavo_tid_first(packet.tid, packet.attempts);
		c.now.placing = true;
		c.seen = {};
		c.left = packet.total;
		c.of = packet;
		c.of.rcxt = packet.peer_rcxt;
		break;
	case PAVO_TID_PART:
		break;
	case PAVO_TID_REPEAT:
		if (!packet.fragment && packet.flags & rdma_flag::tell_source) {
			Packet done = packet;

			done.kind = Packet::DONE;
			done.to_b = !is_b;
			done.rcxt = packet.peer_rcxt;
			done.peer_rcxt = packet.rcxt;
			world.send(done);
		}
		return;
	default:
		return;
	}
	switch (pavo_seen_look(&c.seen, packet.fragment)) {
	case PAVO_SEEN_NEW:
		if (!deliver(c, packet))
			return;
		pavo_seen_note(&c.seen, packet.fragment);
		c.left -= uint32_t(packet.payload.size());
		break;
	case PAVO_SEEN_AGAIN:
		break;
	case PAVO_SEEN_FAR:
		return;
	}
	if (!c.left && !end(c, packet))
		return;
	if (c.left)
		return;
	if (c.of.flags & rdma_flag::tell_source) {
		Packet done = c.of;

		done.kind = Packet::DONE;
		done.to_b = !is_b;
		done.peer_rcxt = packet.rcxt;
		world.send(done);
	}
}

/* To memory, or to a FIFO that is full now and then. */
bool End::deliver(const Context &c, const Packet &packet)
{
	if (!(c.of.flags & rdma_flag::to_fifo)) {
		std::copy(packet.payload.begin(), packet.payload.end(),
			  memory.begin() + long(packet.pvo));
		return true;
	}
	if (world.random.below(100) < world.loss)
		return false;
	pieces.push_back({packet.rcxt, c.of.tag, packet.fragment, packet.pvo,
			  c.now.first, packet.payload});
	return true;
}

/* All is here; false: but its process has no room to be told. */
bool End::end(Context &c, const Packet &packet)
{
	if (c.of.flags & rdma_flag::tell_target) {
		if (world.random.below(100) < world.loss)
			return false;
		put_done(packet.rcxt, c, 1, c.now.tid);
	}
	c.now.placing = false;
	c.now.complete = c.now.tid;
	return true;
}

/* The process makes the data. */
void End::ask_process(Context &c, const Packet &packet)
{
	if (world.random.below(100) < world.loss)
		return;
	asked.push_back({.local_rcxt = packet.rcxt,
			 .remote_rcxt = packet.peer_rcxt,
			 .tid = packet.tid,
			 .local_pvo = packet.pvo,
			 .remote_pvo = packet.back_pvo,
			 .length = packet.total,
			 .tag = packet.tag,
			 .flags = packet.flags,
			 .attempts = packet.attempts,
			 .cookie = 0});
	c.now.tid = packet.tid;
	c.now.first = pavo_tid_first(packet.tid, packet.attempts);
	c.now.feeding = true;
}

/* Of a frame; false: it is not sent. */
bool End::begin_piece(const PieceFrame &piece)
{
	auto found = contexts.find(piece.local_rcxt);

	if (found == contexts.end())
		return false;
	Context &c = found->second;

	switch (pavo_tid_piece(&c.now, piece.tid)) {
	case PAVO_TID_PART:
		return true;
	case PAVO_TID_BEGIN:
		c.now.tid = piece.tid;
		c.now.first = pavo_tid_first(piece.tid, piece.attempts);
		c.now.placing = false;
		c.now.feeding = true;
		c.told = piece.flags & rdma_flag::tell_source;
		c.of.total = piece.total;
		c.of.tag = piece.tag;
		return true;
	default:
		return false;
	}
}

void End::receive(const Packet &packet)
{
	auto found = contexts.find(packet.rcxt);

	if (found == contexts.end())
		return;
	Context &c = found->second;

	if (packet.kind == Packet::DATA) {
		receive_data(c, packet);
	} else if (packet.kind == Packet::READ) {
		if (pavo_tid_request(&c.now, packet.tid) != PAVO_TID_BEGIN ||
		    c.now.placing)
			return;
		if (packet.flags & rdma_flag::from_fifo) {
			ask_process(c, packet);
			return;
		}
		c.now.tid = packet.tid;
		c.now.first = packet.tid;
		c.now.sending = true;
		c.own = false;
		c.left = packet.total;
		c.of = packet;
		c.of.rcxt = packet.peer_rcxt;
		/* Where it is at this end, and where it goes. */
		std::swap(c.of.pvo, c.of.back_pvo);
	} else if (packet.tid == c.now.tid && c.told) {
		c.told = false;
		c.now.feeding = false;
		if (c.now.sending && c.own)
			marks[c.frame] = FrameState::sent;
		c.now.sending = false;
		put_done(packet.rcxt, c, 0, packet.tid);
	}
}

/* ------------------------------------------------------------------- ports */

std::error_code
Port::piece(uint16_t, uint32_t, const PieceFrame &piece, uint32_t length,
	    const std::function<void(std::span<std::byte>)> &fill)
{
	/* Frames are few. */
	if (world.random.below(4) == 0)
		return std::make_error_code(std::errc::no_buffer_space);
	if (!end.begin_piece(piece))
		return {};
	Packet packet{.kind = Packet::DATA,
		      .to_b = !end.is_b,
		      .rcxt = piece.remote_rcxt,
		      .peer_rcxt = piece.local_rcxt,
		      .tid = piece.tid,
		      .pvo = piece.pvo,
		      .back_pvo = 0,
		      .total = piece.total,
		      .fragment = piece.fragment,
		      .tag = piece.tag,
		      .attempts = piece.attempts,
		      .flags = piece.flags,
		      .payload = std::vector<uint8_t>(length)};

	fill(std::as_writable_bytes(std::span(packet.payload)));
	world.send(packet);
	return {};
}

std::error_code Port::request(Direction direction, uint16_t, uint32_t,
			      const RequestFrame &request, uint32_t &frame)
{
	auto found = end.contexts.find(request.local_rcxt);

	if (found == end.contexts.end()) {
		frame = next++;
		end.marks[frame] = FrameState::bad_rcxt;
		return {};
	}
	EXPECT_GT(request.tid, found->second.now.tid) << "tids only grow";
	/* A number is no memory, nor is that of no bytes. */
	if (request.length && !(request.flags & rdma_flag::to_fifo) &&
	    request.local_pvo >= refused) {
		refusals++;
		return std::make_error_code(std::errc::message_size);
	}
	if (world.random.below(100) < world.loss)
		return std::make_error_code(std::errc::no_buffer_space);
	frame = next++;
	FrameState state = ask(direction == Direction::write, frame,
			       found->second, request);
	if (state != FrameState::empty)
		end.marks[frame] = state;
	return {};
}

/* Return: what the frame is marked with at once. */
FrameState Port::ask(bool write, uint32_t frame, Context &c,
		     const RequestFrame &request)
{
	if (c.now.sending)
		return FrameState::busy;
	if (!write && pavo_tid_repeats(&c.now, request.tid, request.attempts)) {
		c.now.tid = request.tid;
		c.of.attempts = request.attempts;
		end.put_done(request.local_rcxt, c, 1, request.tid);
		return FrameState::sent;
	}
	bool resume = !write &&
		      pavo_tid_resumes(&c.now, request.tid, request.attempts);

	c.now.tid = request.tid;
	c.now.first = pavo_tid_first(request.tid, request.attempts);
	c.now.placing = !write;
	c.now.feeding = false;
	c.now.sending = write;
	c.told = write && request.flags & rdma_flag::tell_source;
	c.own = write;
	c.frame = frame;
	if (!resume) {
		c.left = request.length;
		c.seen = {};
	}
	c.of = {.kind = write ? Packet::DATA : Packet::READ,
		.to_b = true,
		.rcxt = request.remote_rcxt,
		.peer_rcxt = request.local_rcxt,
		.tid = request.tid,
		.pvo = request.remote_pvo,
		.back_pvo = request.local_pvo,
		.total = request.length,
		.fragment = 0,
		.tag = request.tag,
		.attempts = request.attempts,
		.flags = request.flags,
		.payload = {}};
	if (write)
		return FrameState::empty;
	world.send(c.of);
	return FrameState::sent;
}

FrameState Port::result(uint32_t frame)
{
	auto found = end.marks.find(frame);

	return found == end.marks.end() ? FrameState::empty : found->second;
}

void Port::ask_about(uint16_t, uint32_t, uint32_t rcxt)
{
	if (world.random.below(100) >= world.loss)
		asked.push_back(rcxt);
}

void Port::cancel(uint32_t rcxt)
{
	auto found = end.contexts.find(rcxt);

	if (found == end.contexts.end())
		return;
	Context &c = found->second;

	if (c.now.sending && c.own)
		end.marks[c.frame] = FrameState::cancelled;
	c.now.sending = false;
	c.now.placing = false;
	c.now.feeding = false;
	c.told = false;
}

/* -------------------------------------------------------------- both ends */

Bench::Bench(unsigned seed, uint32_t piece, unsigned attempts)
	: world(seed), port(world, world.a), port_b(world, world.b),
	  engine(port, {.patience = std::chrono::microseconds(500),
			.most_patience = std::chrono::microseconds(8000),
			.attempts = attempts,
			.piece = piece,
			.half_piece = piece}),
	  other(port_b, {})
{
	RdmaPeer to{1, 2, {}};
	std::array<uint32_t, 3> locals{};

	for (uint32_t i = 0; i < 3; i++) {
		to.rcxts.push_back(20 + i);
		locals[i] = 10 + i;
		world.a.contexts[10 + i];
		world.b.contexts[20 + i];
	}
	once_a.add(locals);
	once_b.add(to.rcxts);
	peer = engine.add(to, locals);
	peer = engine.add(to, locals);
}

bool Bench::run(int steps)
{
	for (; engine.pending() && steps; steps--) {
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
	return !engine.pending();
}

void Bench::take_frames()
{
	for (auto &done : std::exchange(world.a.frames, {})) {
		done.rcxt = once_a.name(done.rcxt);
		EXPECT_TRUE(engine.done(done, world.now));
	}
	take_words();
	if (process)
		process();
	answer();
}

/* Ends that are told to end b: of what came whole, and of many pieces. */
void Bench::take_words()
{
	std::vector<Piece> words;

	if (!arrived)
		return;
	for (auto &done : std::exchange(world.b.frames, {})) {
		once_b.end(done.rcxt, done.tid - done.attempts);
		arrived({1, 2, done.rcxt, done.tag, done.length});
	}
	auto is_word = [](const Piece &piece) {
		return RdmaTold::length(piece.at).has_value();
	};
	std::ranges::copy_if(world.b.pieces, std::back_inserter(words),
			     is_word);
	std::erase_if(world.b.pieces, is_word);
	for (const Piece &word : words) {
		if (!once_b.piece(word.rcxt, word.first, word.fragment))
			continue;
		once_b.end(word.rcxt, word.first);
		arrived({1, 2, word.rcxt, word.tag,
			 *RdmaTold::length(word.at)});
	}
}

/*
 * What Rdma does after recoveries: contexts are taken anew at end a, and at end b when it
 * is asked about one.
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
	for (uint32_t rcxt : std::exchange(port.asked, {})) {
		take_anew(world.b, once_b, known_b);
		uint32_t name = once_b.name(rcxt);
		engine.renew_remote(1, 2, rcxt, name, once_b.ended(name),
				    world.now);
	}
}

void fill(std::vector<uint8_t> &memory, size_t from, size_t n, unsigned seed)
{
	pattern_fill(memory.data() + from, n, seed, 0);
}

} // namespace rdma_world
