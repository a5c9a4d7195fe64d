// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_ways.cpp - the way of each operation, by contexts or by the FIFOs; see rdma_engine.hpp. A
 * piece that one way refuses goes the other, if no packet of it can still arrive.
 */
#include "rdma_engine.hpp"

#include <iterator>
#include <utility>

#include "error.hpp"

namespace pavo {

/*
 * Choose the way of an operation. A half operation is for the FIFO anyway, and its contexts find
 * duplicates.
 */
bool RdmaEngine::goes_by_fifo(const Peer &peer,
			      const Operation &operation) const
{
	const RdmaMove &move = operation.move;

	if (!fifo_ || operation.needs_contexts)
		return false;
	return !use_rdma_ || !peer.contexts ||
	       (move.length < options_.rdma_from &&
		move.target == RdmaEnd::memory &&
		move.source == RdmaEnd::memory);
}

/* Once an operation goes by the FIFOs, all of its rest does. */
RdmaEngine::Way &RdmaEngine::way_of(Peer &peer, Operation &operation) const
{
	operation.by_fifo = operation.by_fifo || goes_by_fifo(peer, operation);
	return operation.by_fifo ? peer.fifo : peer.rdma;
}

void RdmaEngine::send_by_fifo(size_t number, Clock::time_point now)
{
	const Channel &channel = channels_[number];
	const RdmaMove &move = channel.operation->move;
	const uint64_t remote = channel.final ?
					RdmaNotification::number(move.length) :
					(move.remote + channel.offset).value;
	FifoTransfer transfer = {.direction = channel.direction,
				 .peer = peers_[channel.peer].address,
				 .local = (move.local + channel.offset).value,
				 .remote = remote,
				 .length = channel.final ? 1 : channel.length,
				 .tag = move.tag,
				 .flags = uint8_t(channel.flags &
						  FifoMessage::known_flags),
				 .fill = {}};

	/* The target of a read is this end, which knows the end without a flag. */
	if (channel.direction == Direction::read)
		transfer.flags &= uint8_t(~rdma_flag::notify_target);
	if (channel.feeds)
		transfer.fill = channel.final ? RdmaFill(fill_notification) :
						move.fill;
	fifo_->start(
		transfer,
		[this, number](std::error_code error, Clock::time_point end) {
			piece_over(number, error, end);
		},
		now);
}

/*
 * Let a refused piece go the other way. By the FIFOs, if RDMA has refused its first attempt, of which
 * no packet has left; by RDMA, if one end has not mapped the memory itself, though another process of
 * the job may have. Return: false: it has failed.
 */
bool RdmaEngine::redrive(Channel &channel, std::error_code error)
{
	Peer &peer = peers_[channel.peer];
	const bool to_rdma = channel.fifo && peer.contexts && use_rdma_ &&
			     error == std::errc::bad_address;
	const bool to_fifo = fifo_ && !channel.fifo && !channel.attempts &&
			     !channel.operation->needs_contexts &&
			     error == std::errc::invalid_argument;

	if (channel.redriven || !(to_rdma || to_fifo))
		return false;
	move_piece(channel, to_rdma ? peer.rdma : peer.fifo);
	return true;
}

void RdmaEngine::move_piece(Channel &channel, Way &way)
{
	channel.redriven = true;
	way.redriven.push_back(
		std::exchange(static_cast<Piece &>(channel), {}));
}

/* Let operations that wait for a channel go by the FIFOs. */
void RdmaEngine::move_to_fifo(Peer &peer)
{
	std::deque<Shared> stay;

	for (Shared &operation : peer.rdma.waiting) {
		if (operation->needs_contexts) {
			stay.push_back(std::move(operation));
			continue;
		}
		operation->by_fifo = true;
		peer.fifo.waiting.push_back(std::move(operation));
	}
	peer.rdma.waiting = std::move(stay);
	std::ranges::move(peer.rdma.redriven,
			  std::back_inserter(peer.fifo.redriven));
	peer.rdma.redriven.clear();
}

void RdmaEngine::use_rdma(bool use, Clock::time_point now)
{
	if (!fifo_ || use == use_rdma_)
		return;
	use_rdma_ = use;
	for (size_t i = 0; i < peers_.size(); i++) {
		if (!use)
			move_to_fifo(peers_[i]);
		pump(i, now);
	}
}

void RdmaEngine::forget(Way &way, const Shared &operation)
{
	std::erase(way.waiting, operation);
	operation->under_way -=
		uint32_t(std::erase_if(way.redriven, [&](const Piece &piece) {
			return piece.operation == operation;
		}));
}

/* The peer has no context for it any more, and none of its packets is placed. */
void RdmaEngine::lose_channel(size_t number, uint64_t ended,
			      Clock::time_point now)
{
	Channel &channel = channels_[number];
	Peer &peer = peers_[channel.peer];
	const uint64_t first = channel.tid - channel.attempts;

	if (channel.lost || ended > first)
		return;
	channel.lost = true;
	std::erase(peer.rdma.idle, number);
	if (!--peer.contexts)
		move_to_fifo(peer);
	if (channel.target_of)
		piece_over(*channel.target_of,
			   code(std::errc::operation_canceled), now);
	if (channel.operation) {
		port_.cancel(channel.local);
		unframe(channel);
		if (channel.direction == Direction::write && ended == first)
			piece_over(number, {}, now);
		else if (channel.operation->needs_contexts)
			piece_over(number, code(std::errc::operation_canceled),
				   now);
		else
			move_piece(channel, peer.fifo);
	}
	if (!peer.contexts)
		fail_waiting(peer, now);
	pump(channel.peer, now);
}

/* Operations that need contexts wait for a peer that has none any more. */
void RdmaEngine::fail_waiting(Peer &peer, Clock::time_point now)
{
	while (!peer.rdma.waiting.empty()) {
		const Shared operation = peer.rdma.waiting.front();

		operation->error = code(std::errc::operation_canceled);
		operation->requested = operation->move.length;
		operation->begun = operation->notified = true;
		/* Its pieces that were not begun are counted no more. */
		if (operation->move.counter)
			count(*operation->move.counter, true);
		drop_waiting(operation, size_t(&peer - peers_.data()));
		pump_all(operation, size_t(&peer - peers_.data()), now);
		if (!operation->under_way)
			finish(operation);
	}
}

} // namespace pavo
