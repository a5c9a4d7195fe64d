// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* broadcast_engine.cpp - pieces, acknowledgments, attempts; see broadcast_engine.hpp. */
#include "broadcast_engine.hpp"

#include <algorithm>

#include "error.hpp"

namespace pavo {

namespace {

/* Convert the outcome of a request to an error of the operation; none: go on. */
std::error_code group_verdict(FrameState state)
{
	switch (state) {
	case FrameState::sent:
	case FrameState::not_sent:
	case FrameState::busy:
	case FrameState::cancelled:
	case FrameState::bad_rcxt:
	/* A node without a route is silent, and so the operation times out. */
	case FrameState::bad_node:
		return {};
	case FrameState::bad_pvo:
	case FrameState::dead:
		return code(std::errc::owner_dead);
	default:
		return code(std::errc::invalid_argument);
	}
}

} // namespace

BroadcastEngine::BroadcastEngine(RdmaPort &port,
				 const BroadcastOptions &options,
				 std::span<const uint32_t> locals, uint64_t tid)
	: port_(port), options_(options)
{
	options_.attempts = std::clamp(options_.attempts, 1u, most_attempts);
	options_.piece = std::max(options_.piece, 1u);
	for (uint32_t i = 0; i < locals.size(); i++) {
		Channel &channel = channels_.emplace_back();

		channel.local = locals[i];
		channel.remote = i;
		channel.tid = tid;
	}
}

/* ----------------------------------------------------------------- members */

std::error_code BroadcastEngine::add(WindowAddress member)
{
	if (members_.size() >= most_members)
		return code(std::errc::invalid_argument);
	return members_.insert(member).second ? std::error_code() :
						code(std::errc::file_exists);
}

std::error_code BroadcastEngine::remove(WindowAddress member)
{
	if (!members_.erase(member))
		return code(std::errc::invalid_argument);
	for (Shared &operation : operations_)
		operation->members.erase(member);
	for (Channel &channel : channels_) {
		channel.silent.erase(member);
		if (channel.operation && channel.silent.empty())
			finish_piece(channel);
	}
	return {};
}

void BroadcastEngine::acknowledge(WindowAddress from, const BroadcastAck &ack)
{
	if (ack.group != options_.group.number || ack.rcxt >= channels_.size())
		return;
	Channel &channel = channels_[ack.rcxt];
	if (!channel.operation || ack.tid < channel.first ||
	    ack.tid > channel.tid || !channel.silent.contains(from))
		return;
	if (ack.status != PvoResult::ok) {
		fail(channel.operation, code(std::errc::bad_address));
		return;
	}
	channel.silent.erase(from);
	if (channel.silent.empty())
		finish_piece(channel);
}

/* ------------------------------------------------------------------ pieces */

/* Return the bytes of the last piece, which may be the only one. */
uint32_t BroadcastEngine::last_length(const BroadcastMove &move) const
{
	uint32_t rest = move.length % options_.piece;

	return rest || !move.length ? rest : options_.piece;
}

bool BroadcastEngine::start_piece(const Shared &operation, Channel &channel,
				  uint32_t length, Clock::time_point now)
{
	if (channel.operation)
		return false;
	channel.operation = operation;
	channel.offset = operation->requested;
	channel.length = length;
	channel.silent = operation->members;
	channel.nodes.clear();
	channel.attempts = 1;
	channel.first = channel.tid + 1;
	channel.to_all = true;
	operation->requested += length;
	operation->under_way++;
	drive(channel, now);
	return true;
}

/* Begin pieces of operations, in order, on channels that are idle. */
void BroadcastEngine::start_pieces(Clock::time_point now)
{
	for (Shared &operation : operations_) {
		/* All members were removed. */
		if (operation->members.empty() && !operation->under_way)
			operation->over = true;
		uint32_t last = last_length(operation->move);
		uint32_t before = operation->move.length - last;

		for (size_t i = 0;
		     !operation->over && i + 1 < channels_.size() &&
		     operation->requested < before;
		     i++)
			start_piece(operation, channels_[i], options_.piece,
				    now);
		if (!operation->over && operation->requested < before)
			return;
		if (!operation->over && !operation->last_begun &&
		    !operation->under_way)
			operation->last_begun = start_piece(
				operation, channels_.back(), last, now);
	}
}

void BroadcastEngine::request(Channel &channel, uint16_t node,
			      Clock::time_point now)
{
	const BroadcastMove &move = channel.operation->move;
	const uint64_t tid = channel.tid + 1;
	const RequestFrame request = {
		.local_rcxt = channel.local,
		.remote_rcxt = channel.remote,
		.tid = tid,
		.local_pvo = move.local.value + channel.offset,
		.remote_pvo = move.offset + channel.offset,
		.length = channel.length,
		.tag = move.tag,
		.flags = rdma_flag::notify_target,
		.attempts = uint16_t(tid - channel.first),
		.cookie = 0};

	if (tid - channel.first > UINT16_MAX) {
		silent_.assign(channel.silent.begin(), channel.silent.end());
		fail(channel.operation, code(std::errc::timed_out));
		return;
	}
	auto error = port_.request(Direction::write,
				   {node, options_.group.number}, request,
				   channel.frame);

	if (error == std::errc::no_buffer_space)
		return;
	if (error) {
		fail(channel.operation, error);
		return;
	}
	channel.tid = tid;
	channel.framed = true;
	if (channel.to_all)
		channel.to_all = false;
	else if (channel.nodes.erase(node))
		retries_++;
	auto wait =
		options_.timeout * (1 << std::min(channel.attempts - 1, 10u));
	channel.deadline = now + std::min(wait, options_.max_timeout);
}

/* Return: false: the request under way has no outcome yet, or has failed for good. */
bool BroadcastEngine::take_outcome(Channel &channel)
{
	if (!channel.framed)
		return true;
	FrameState state = port_.result(channel.frame);

	if (state == FrameState::empty)
		return false;
	channel.framed = false;
	lost_ = lost_ || state == FrameState::bad_rcxt;
	auto error = group_verdict(state);
	if (error)
		fail(channel.operation, error);
	return !error;
}

/* The members have had their time: begin the next round, to each node with one that is silent. */
void BroadcastEngine::retry(Channel &channel, Clock::time_point now)
{
	if (channel.attempts >= options_.attempts) {
		silent_.assign(channel.silent.begin(), channel.silent.end());
		fail(channel.operation, code(std::errc::timed_out));
		return;
	}
	channel.attempts++;
	for (const WindowAddress &member : channel.silent)
		channel.nodes.insert(member.node);
	drive(channel, now);
}

/* Make the next request of a channel, when the last one was sent. */
void BroadcastEngine::drive(Channel &channel, Clock::time_point now)
{
	if (!channel.operation || !take_outcome(channel))
		return;
	/* Those that have acknowledged meanwhile need nothing. */
	std::erase_if(channel.nodes, [&](uint16_t node) {
		return std::ranges::none_of(channel.silent,
					    [&](const WindowAddress &member) {
						    return member.node == node;
					    });
	});
	if (channel.to_all)
		request(channel, options_.node, now);
	else if (!channel.nodes.empty())
		request(channel, *channel.nodes.begin(), now);
	else if (now >= channel.deadline)
		retry(channel, now);
}

/* -------------------------------------------------------------------- ends */

void BroadcastEngine::release(Channel &channel)
{
	if (channel.framed)
		port_.forget(channel.frame);
	channel.framed = false;
	channel.to_all = false;
	channel.nodes.clear();
	channel.operation->under_way--;
	channel.operation.reset();
}

void BroadcastEngine::finish_piece(Channel &channel)
{
	Shared operation = channel.operation;

	/* A further attempt may still be sent, which no member needs. */
	if (channel.framed)
		port_.cancel(channel.local);
	release(channel);
	operation->over = operation->over ||
			  (operation->last_begun && !operation->under_way);
}

void BroadcastEngine::fail(const Shared &operation, std::error_code error)
{
	Shared failed = operation;

	failed->error = error;
	failed->over = true;
	for (Channel &channel : channels_) {
		if (channel.operation != failed)
			continue;
		port_.cancel(channel.local);
		release(channel);
	}
}

size_t BroadcastEngine::end_operations()
{
	std::vector<Shared> over;

	std::erase_if(operations_, [&](const Shared &operation) {
		if (operation->over)
			over.push_back(operation);
		return operation->over;
	});
	for (const Shared &operation : over)
		operation->done(to_result(operation->error));
	return over.size();
}

std::error_code BroadcastEngine::begin(const BroadcastMove &move, Done done,
				       Clock::time_point now)
{
	auto operation = std::make_shared<Operation>();

	if (members_.empty())
		return code(std::errc::invalid_argument);
	operation->move = move;
	operation->done = std::move(done);
	operation->members = members_;
	operations_.push_back(std::move(operation));
	start_pieces(now);
	return {};
}

void BroadcastEngine::renew(std::span<const uint32_t> locals)
{
	for (size_t i = 0; i < channels_.size() && i < locals.size(); i++)
		channels_[i].local = locals[i];
}

size_t BroadcastEngine::look(Clock::time_point now)
{
	for (Channel &channel : channels_)
		drive(channel, now);
	start_pieces(now);
	return end_operations();
}

void BroadcastEngine::stop()
{
	for (Channel &channel : channels_) {
		if (!channel.operation)
			continue;
		port_.cancel(channel.local);
		release(channel);
	}
	operations_.clear();
}

BroadcastEngine::Clock::time_point BroadcastEngine::due() const
{
	auto due = Clock::time_point::max();

	for (const Channel &channel : channels_) {
		if (!channel.operation)
			continue;
		if (channel.to_all || !channel.nodes.empty())
			return Clock::time_point::min();
		due = std::min(due, channel.deadline);
	}
	return due;
}

} // namespace pavo
