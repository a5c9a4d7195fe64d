// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_world.cpp - what adapters in miniature do with packets; see rdma_world.h. */
#include "rdma_world.h"

#include <algorithm>
#include <utility>

namespace rdma_world {

void End::put_done(uint32_t rcxt, const Context &c, uint8_t target,
		   uint64_t tid)
{
	/* A FIFO that is full now and then. */
	frames.push_back({.rcxt = rcxt,
			  .peer_rcxt = c.of.rcxt,
			  .tid = tid,
			  .length = c.of.total,
			  .tag = c.of.tag,
			  .cookie = 0,
			  .status = 0,
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
		marks[c.frame] = PAVO_FRAME_SENT;
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
		if (!packet.fragment && packet.flags & PAVO_RDMA_TELL_SOURCE) {
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
	if (c.of.flags & PAVO_RDMA_TELL_SOURCE) {
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
	if (!(c.of.flags & PAVO_RDMA_TO_FIFO)) {
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
	if (c.of.flags & PAVO_RDMA_TELL_TARGET) {
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
			 .reserved = 0,
			 .attempts = packet.attempts,
			 .cookie = 0});
	c.now.tid = packet.tid;
	c.now.first = pavo_tid_first(packet.tid, packet.attempts);
	c.now.feeding = true;
}

/* Of a frame; false: it is not sent. */
bool End::begin_piece(const pavo_rdma_piece &piece)
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
		c.told = piece.flags & PAVO_RDMA_TELL_SOURCE;
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
		if (packet.flags & PAVO_RDMA_FROM_FIFO) {
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
			marks[c.frame] = PAVO_FRAME_SENT;
		c.now.sending = false;
		put_done(packet.rcxt, c, 0, packet.tid);
	}
}

} // namespace rdma_world
