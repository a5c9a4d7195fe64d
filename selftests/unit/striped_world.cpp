// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped_world.cpp - see striped_world.h. */
#include "striped_world.h"

#include <cstring>

#include "../common/pattern.h"

namespace striped {

/* Windows of end a have numbers from 100 on, and those of end b from 200 on. */
static WindowAddress address_of(size_t path, bool b)
{
	return {.node = uint16_t(b ? 2 : 1),
		.window = uint32_t((b ? 200 : 100) + path)};
}

/* ----------------------------------------------------------------- windows */

PathWindow::PathWindow(End &end, size_t path, bool b)
	: Driver(address_of(path, b), end.memory, packet_size), end_(end),
	  path_(path)
{
}

void PathWindow::send(const rcxt::Packet &packet)
{
	end_.world.send({.kind = Packet::RDMA,
			 .path = path_,
			 .to_b = !end_.is_b,
			 .rdma = packet});
}

bool PathWindow::put_done(const pavo_rdma_done &done)
{
	end_.chunk_over(path_, done);
	return true;
}

bool PathWindow::put_piece(const pavo_rdma_piece &, const pavo_operation &,
			   std::span<const uint8_t>)
{
	ADD_FAILURE() << "no chunk goes to a FIFO";
	return false;
}

bool PathWindow::put_request(const pavo_rdma_request &)
{
	ADD_FAILURE() << "no chunk comes from a FIFO";
	return false;
}

pavo_pvo_result PathWindow::check(uint64_t pvo, uint32_t length) const
{
	return pvo == end_.wrong ? PAVO_PVO_KEY : Driver::check(pvo, length);
}

/* -------------------------------------------------------------------- ends */

void End::send(size_t path, const StripedControl &control)
{
	auto copy = StripedControl::decode(control.encode());

	ASSERT_TRUE(copy);
	world.send({.kind = Packet::WORD,
		    .path = path,
		    .to_b = !is_b,
		    .control = *copy});
}

void End::move(bool write, const StripedMove &move)
{
	auto done = [this, write, move](const Result<void> &how) {
		ended[move.tag]++;
		errors[move.tag] = how.error_or({}).code();
		EXPECT_TRUE(!how.has_value() || !may_write(write, move))
			<< move.tag;
	};

	engine.begin(common::direction_of(write), move, done, world.now);
}

void End::put(uint64_t from, uint64_t to, uint64_t length, bool notify,
	      uint32_t tag)
{
	move(true, {.local = {from},
		    .remote = {to},
		    .length = length,
		    .notify = notify,
		    .tag = tag});
}

void End::get(uint64_t from, uint64_t to, uint64_t length, bool notify,
	      uint32_t tag)
{
	move(false, {.local = {to},
		     .remote = {from},
		     .length = length,
		     .notify = notify,
		     .tag = tag});
}

/* An attempt at a chunk: all of its packets, or the request of a read. */
void End::send_request(size_t path, uint64_t chunk, const Flight &flight)
{
	const uint32_t rcxt = rcxt_of(chunk, is_b);
	PathWindow &window = *paths[path].window;
	const pavo_rdma_request request = {
		.local_rcxt = rcxt,
		.remote_rcxt = rcxt,
		.tid = flight.attempts,
		.local_pvo = flight.move.local.value,
		.remote_pvo = flight.move.remote.value,
		.length = flight.move.length,
		.tag = flight.move.tag,
		.flags = flight.write ? PAVO_RDMA_NOTIFY_SOURCE :
					PAVO_RDMA_NOTIFY_TARGET,
		.counter = 0,
		.attempts = uint16_t(flight.attempts - 1),
		.cookie = 0};

	window.take(rcxt);
	window.request(flight.write ? PAVO_FRAME_RDMA_WRITE :
				      PAVO_FRAME_RDMA_READ,
		       address_of(path, !is_b), request, 0);
	send_all(path, rcxt);
}

void End::send_all(size_t path, uint32_t rcxt)
{
	while (paths[path].window->sending(rcxt))
		paths[path].window->transmit(rcxt);
}

/* A chunk that took too long is sent again, some times. */
void End::attempt()
{
	for (size_t i = 0; i < paths.size(); i++)
		for (auto at = paths[i].flights.begin();
		     at != paths[i].flights.end();) {
			auto &[chunk, flight] = *at++;

			if (flight.due > world.now)
				continue;
			if (flight.attempts == 13) {
				engine.over(chunk,
					    std::make_error_code(
						    std::errc::timed_out));
				paths[i].window->end(rcxt_of(chunk, is_b),
						     PAVO_FRAME_CANCELLED);
				paths[i].flights.erase(chunk);
				continue;
			}
			flight.due = world.now + std::chrono::microseconds(400);
			flight.attempts++;
			send_request(i, chunk, flight);
		}
}

/* A chunk that this end began is over. */
void End::chunk_over(size_t path, const pavo_rdma_done &done)
{
	uint64_t chunk = done.rcxt / 2;

	if (paths[path].flights.erase(chunk))
		engine.over(chunk, done.status ?
					   std::make_error_code(
						   std::errc::bad_address) :
					   std::error_code());
}

void End::receive(const Packet &packet)
{
	const uint32_t rcxt = packet.rdma.rdma().rcxt;
	PathWindow &window = *paths[packet.path].window;

	/* An end that does not look has a full FIFO soon. */
	if (packet.kind == Packet::WORD) {
		if (asleep)
			return;
		if (packet.control.type == StripedControl::notify)
			oldest = std::max(oldest, packet.control.oldest);
		engine.receive(packet.path, packet.control);
		return;
	}
	/* The other end's chunks have rCxts here as long as the path is open. */
	if (paths[packet.path].open)
		window.take(rcxt);
	window.receive(packet.rdma);
	send_all(packet.path, rcxt);
}

void fill(std::vector<uint8_t> &memory, unsigned seed)
{
	pattern_fill(memory.data(), memory.size(), seed, 0);
}

/* Would any packet that is under way still be placed for that operation? */
bool End::may_write(bool write, const StripedMove &move) const
{
	const End &target = world.end(is_b != write);

	for (const Packet &packet : world.network) {
		const uint32_t rcxt = packet.rdma.rdma().rcxt;
		auto chunk = chunks.find(rcxt);
		const End::Path &path = target.paths[packet.path];

		if (packet.kind != Packet::RDMA ||
		    packet.rdma.pkt.opcode != PAVO_OP_WINDOW_DATA ||
		    packet.to_b != target.is_b || chunk == chunks.end() ||
		    chunk->second.write != write || !path.open)
			continue;
		uint64_t at = chunk->second.move.local.value;

		if (at < move.local.value ||
		    at >= move.local.value + move.length)
			continue;
		if (!path.window->rcxts().contains(rcxt) ||
		    path.window->would_place(packet.rdma))
			return true;
	}
	return false;
}

bool equal(const End &a, uint64_t from, const End &b, uint64_t to, size_t n)
{
	return !memcmp(&a.memory[from], &b.memory[to], n);
}

} // namespace striped
