// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_third.cpp - operations of three ends: this process is the controller; see rdma_engine.hpp. */
#include "rdma_engine.hpp"

#include "error.hpp"

namespace pavo {

std::error_code RdmaEngine::begin_third(size_t source, size_t target,
					const RdmaMove &move, Done done,
					Clock::time_point now)
{
	auto operation = std::make_shared<Operation>();

	if (source >= peers_.size() || target >= peers_.size() ||
	    move.source != RdmaEnd::memory || move.target != RdmaEnd::memory ||
	    move.after || !usable(Direction::read, move))
		return code(std::errc::invalid_argument);
	if (!peers_[source].contexts || !peers_[target].contexts)
		return code(std::errc::operation_not_supported);
	if (source == target && peers_[source].contexts < 2)
		return code(std::errc::invalid_argument);
	begin_counting(move);
	operation->direction = Direction::read;
	operation->move = move;
	operation->done = std::move(done);
	operation->notified = !move.notify;
	operation->third = operation->needs_contexts = true;
	operation->source = source;
	operation->target = target;
	/*
	 * It begins when it is the first of both queues. Every queue has the operations in the
	 * order in which they were begun, so one of them is always first wherever it waits.
	 */
	peers_[source].rdma.waiting.push_back(operation);
	if (target != source)
		peers_[target].rdma.waiting.push_back(operation);
	operations_++;
	pump(source, now);
	return {};
}

/*
 * Give the next piece of a third-party operation to a channel of each of its peers, if it is the
 * first there, and they have idle ones. Return: false: it waits.
 */
bool RdmaEngine::pump_third(const Shared &operation, Clock::time_point now)
{
	Way &source = peers_[operation->source].rdma;
	Way &target = peers_[operation->target].rdma;

	if (source.waiting.front() != operation ||
	    target.waiting.front() != operation || source.idle.empty() ||
	    target.idle.size() < 1u + (&source == &target))
		return false;
	size_t number = source.idle.back();
	source.idle.pop_back();
	size_t other = target.idle.back();
	target.idle.pop_back();
	Channel &channel = channels_[number];

	channel.target = other;
	channels_[other].target_of = number;
	next_piece(operation, channel);
	const bool requested = operation->is_requested();

	if (requested) {
		source.waiting.pop_front();
		if (&source != &target)
			target.waiting.pop_front();
	}
	start_piece(number, now);
	if (requested) {
		/* Others had to wait for it there. */
		pump(operation->source, now);
		pump(operation->target, now);
	}
	return true;
}

/* Pump all peers at which the operation may have waited, or has freed a channel. */
void RdmaEngine::pump_all(const Shared &operation, size_t peer,
			  Clock::time_point now)
{
	pump(peer, now);
	if (!operation->third)
		return;
	pump(operation->source, now);
	pump(operation->target, now);
}

void RdmaEngine::free_target(Channel &channel)
{
	if (!channel.target)
		return;
	Channel &target = channels_[*channel.target];

	if (!target.lost)
		peers_[target.peer].rdma.idle.push_back(*channel.target);
	target.target_of.reset();
	channel.target.reset();
}

std::error_code RdmaEngine::request_third(Channel &channel,
					  const RequestFrame &request)
{
	const Channel &target = channels_[*channel.target];
	ThirdFrame third{.request = request,
			 .target = peers_[target.peer].address,
			 .target_rcxt = target.remote};

	third.request.flags = 0;
	return port_.request_third(peers_[channel.peer].address, third,
				   channel.frame);
}

} // namespace pavo
