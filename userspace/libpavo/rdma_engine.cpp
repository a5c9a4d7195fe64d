// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* rdma_engine.cpp - operations, pieces, attempts; see rdma_engine.hpp. */
#include "rdma_engine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "error.hpp"

namespace pavo {

namespace {

/* Channels of a peer without contexts: transfers that may be under way. */
constexpr size_t fifo_channels = 4;

bool possible(Direction direction, const RdmaMove &move)
{
	bool write = direction == Direction::write;
	uint64_t first = (write ? move.remote : move.local).value;

	/* Higher numbers are final notifications. */
	if (move.target == RdmaEnd::fifo &&
	    first > RdmaNotification::numbers - move.length)
		return false;
	return !write || move.source == RdmaEnd::memory || move.fill;
}

} // namespace

void RdmaEngine::fill_notification(uint64_t, std::span<std::byte> to)
{
	std::ranges::fill(to, std::byte(0));
}

/* Convert the outcome of a request to an error of the piece; none: retry. */
std::error_code RdmaEngine::verdict(FrameState state)
{
	switch (state) {
	case FrameState::sent:
	case FrameState::not_sent:
	case FrameState::busy:
	case FrameState::cancelled:
	/* A recovery: the next attempt has another context. */
	case FrameState::bad_rcxt:
		return {};
	case FrameState::bad_pvo:
	case FrameState::dead:
		return code(std::errc::owner_dead);
	case FrameState::bad_node:
		return code(std::errc::host_unreachable);
	default:
		return code(std::errc::invalid_argument);
	}
}

RdmaEngine::RdmaEngine(RdmaPort &port, const RdmaOptions &options,
		       RdmaFifo *fifo, uint64_t tid)
	: port_(port), options_(options), feeder_(port), fifo_(fifo),
	  first_tid_(tid)
{
	options_.attempts = std::clamp(options_.attempts, 1u, 65535u);
	options_.piece = std::max(options_.piece, 1u);
	options_.half_piece = std::max(options_.half_piece, 1u);
}

size_t RdmaEngine::add(const RdmaPeer &peer, std::span<const uint32_t> locals)
{
	peers_.push_back({peer.address, locals.size(), {}, {}});
	Peer &added = peers_.back();

	for (size_t i = 0; fifo_ && i < fifo_channels; i++) {
		added.fifo.idle.push_back(channels_.size());
		Channel &channel = channels_.emplace_back();
		channel.peer = peers_.size() - 1;
		channel.fifo = true;
	}
	for (size_t i = 0; i < locals.size(); i++) {
		added.rdma.idle.push_back(channels_.size());
		by_local_[locals[i]] = channels_.size();
		Channel &channel = channels_.emplace_back();
		channel.peer = peers_.size() - 1;
		channel.local = locals[i];
		channel.remote = peer.rcxts[i];
		channel.tid = first_tid_;
	}
	return peers_.size() - 1;
}

std::error_code RdmaEngine::begin(Direction direction, size_t peer,
				  const RdmaMove &move, Done done,
				  Clock::time_point now)
{
	auto operation = std::make_shared<Operation>();

	if (peer >= peers_.size() || !possible(direction, move) ||
	    !usable(direction, move))
		return code(std::errc::invalid_argument);
	operation->needs_contexts = move.counter || move.after;
	if (operation->needs_contexts && !peers_[peer].contexts)
		return code(std::errc::operation_not_supported);
	if (move.after)
		operation->awaited =
			move.after->value ?
				move.after->value :
				counters_[move.after->counter].expected;
	begin_counting(move);
	operation->direction = direction;
	operation->move = move;
	operation->done = std::move(done);
	operation->notified = !move.notify;
	way_of(peers_[peer], *operation).waiting.push_back(operation);
	operations_++;
	pump(peer, now);
	return {};
}

/* ------------------------------------------------------------------ pieces */

/* Return the bytes of one request. */
uint32_t RdmaEngine::piece_of(const RdmaMove &move, bool by_fifo) const
{
	return by_fifo || move.target == RdmaEnd::fifo ||
			       move.source == RdmaEnd::fifo ?
		       std::min(options_.piece, options_.half_piece) :
		       options_.piece;
}

/*
 * Prepare the next part of an operation: a piece or, after all pieces, the final notification. It
 * is left out for a write of one piece, whose request notifies the target: pieces may end in any
 * order.
 */
void RdmaEngine::next_piece(const Shared &shared, Channel &channel) const
{
	Operation &operation = *shared;
	const RdmaMove &move = operation.move;
	uint32_t left = move.length - operation.requested;
	uint32_t piece = piece_of(operation.move, operation.by_fifo);
	bool last = operation.begun && !left;
	bool write = operation.direction == Direction::write;
	bool only = write && move.length <= piece;

	static_cast<Piece &>(channel) = {};
	channel.operation = shared;
	channel.direction = write || last ? Direction::write : Direction::read;
	channel.offset = operation.requested;
	channel.length = std::min(left, piece);
	channel.flags = channel.direction == Direction::write ?
				rdma_flag::notify_source :
				rdma_flag::notify_target;
	if (!operation.notified && only)
		channel.flags |= rdma_flag::notify_target;
	if (last || only)
		operation.notified = true;
	if (move.target == RdmaEnd::fifo || last)
		channel.flags |= rdma_flag::to_fifo;
	channel.final = last;
	channel.feeds = last || (move.source == RdmaEnd::fifo && write);
	if (move.source == RdmaEnd::fifo && !write && !last)
		channel.flags |= rdma_flag::from_fifo;
	operation.begun = true;
	operation.requested += channel.length;
	operation.under_way++;
}

/* Send the first request for the piece of a channel. */
void RdmaEngine::start_piece(size_t number, Clock::time_point now)
{
	Channel &channel = channels_[number];

	channel.attempts = 0;
	channel.held = channel.operation->awaited && !channel.final;
	if (channel.fifo)
		send_by_fifo(number, now);
	else
		send_request(channel, now);
}

/* Request no more pieces of an operation that has failed. */
void RdmaEngine::drop_waiting(const Shared &operation, size_t peer)
{
	forget(peers_[peer].rdma, operation);
	forget(peers_[peer].fifo, operation);
	if (!operation->third)
		return;
	forget(peers_[operation->source].rdma, operation);
	forget(peers_[operation->target].rdma, operation);
}

/* Give pieces of waiting operations to idle channels. */
void RdmaEngine::pump(size_t number, Clock::time_point now)
{
	pump(peers_[number].rdma, now);
	pump(peers_[number].fifo, now);
}

void RdmaEngine::pump(Way &way, Clock::time_point now)
{
	while (!way.idle.empty() &&
	       !(way.waiting.empty() && way.redriven.empty())) {
		const bool redriven = !way.redriven.empty();

		if (!redriven && way.waiting.front()->third &&
		    !way.waiting.front()->is_requested()) {
			if (!pump_third(Shared(way.waiting.front()), now))
				return;
			continue;
		}
		const size_t number = way.idle.back();

		way.idle.pop_back();
		if (redriven) {
			static_cast<Piece &>(channels_[number]) =
				std::move(way.redriven.front());
			way.redriven.pop_front();
		} else {
			next_piece(way.waiting.front(), channels_[number]);
			if (way.waiting.front()->is_requested())
				way.waiting.pop_front();
		}
		start_piece(number, now);
	}
}

RdmaEngine::Clock::duration RdmaEngine::timeout(const Channel &channel) const
{
	auto wait = options_.timeout;

	for (unsigned i = 0;
	     i < channel.attempts && wait < options_.max_timeout; i++)
		wait *= 2;
	return std::min(wait, options_.max_timeout);
}

/* Send data that this process makes: pieces at once, without a request. */
void RdmaEngine::feed(Channel &channel)
{
	const Peer &peer = peers_[channel.peer];
	const RdmaMove &move = channel.operation->move;
	bool final = channel.final;

	feeder_.start({
		.to = peer.address,
		.head = {.local_rcxt = channel.local,
			 .remote_rcxt = channel.remote,
			 .tid = channel.tid,
			 .pvo = final ? RdmaNotification::number(move.length) :
					(move.remote + channel.offset).value,
			 .total = final ? 1 : channel.length,
			 .fragment = 0,
			 .tag = move.tag,
			 .attempts = channel.attempts,
			 .flags = channel.flags,
			 .counter = counter_of(channel),
			 .cookie = 0},
		.at = (move.local + channel.offset).value,
		.fill = final ? RdmaFill(fill_notification) : move.fill,
	});
}

void RdmaEngine::feed(WindowAddress to, const RequestFrame &request,
		      RdmaFill fill)
{
	/* A peer must not end an operation of this end. */
	if (by_local_.contains(request.local_rcxt))
		return;
	feeder_.start({
		.to = to,
		.head = {.local_rcxt = request.local_rcxt,
			 .remote_rcxt = request.remote_rcxt,
			 .tid = request.tid,
			 .pvo = request.remote_pvo,
			 .total = request.length,
			 .fragment = 0,
			 .tag = request.tag,
			 .attempts = request.attempts,
			 .flags = uint8_t(request.flags & ~rdma_flag::from_fifo),
			 .counter = 0,
			 .cookie = 0},
		.at = request.local_pvo,
		.fill = std::move(fill),
	});
}

void RdmaEngine::pump_feeds()
{
	feeder_.pump([this](uint32_t rcxt, std::error_code error) {
		auto found = by_local_.find(rcxt);

		/* A peer that requested data retries by itself. */
		if (found != by_local_.end())
			channels_[found->second].refused = error;
	});
}

/* Take the next tid, above those of all contexts that the operation has. */
void RdmaEngine::raise_tid(Channel &channel)
{
	if (channel.target)
		channel.tid =
			std::max(channel.tid, channels_[*channel.target].tid);
	channel.tid++;
	if (channel.target)
		channels_[*channel.target].tid = channel.tid;
}

void RdmaEngine::send_request(Channel &channel, Clock::time_point now)
{
	const Peer &peer = peers_[channel.peer];
	const RdmaMove &move = channel.operation->move;
	raise_tid(channel);
	channel.sent = false;
	channel.requested_at = now;
	channel.deadline = now + timeout(channel);
	if (channel.feeds) {
		feed(channel);
		return;
	}
	RequestFrame request = {
		.local_rcxt = channel.local,
		.remote_rcxt = channel.remote,
		.tid = channel.tid,
		.local_pvo = (move.local + channel.offset).value,
		.remote_pvo = (move.remote + channel.offset).value,
		.length = channel.length,
		.tag = move.tag,
		.flags = channel.flags,
		.counter = counter_of(channel),
		.attempts = channel.attempts,
		.cookie = 0,
	};
	if (channel.held && request_held(channel, request))
		return;
	std::error_code error =
		channel.target ? request_third(channel, request) :
				 port_.request(channel.direction, peer.address,
					       request, channel.frame);

	channel.framed = !error;
	if (error && error != std::errc::no_buffer_space)
		channel.refused = error;
}

void RdmaEngine::unframe(Channel &channel)
{
	if (channel.framed)
		port_.forget(channel.frame);
	channel.framed = false;
	if (channel.feeds && !channel.fifo)
		feeder_.stop(channel.local);
}

void RdmaEngine::query_contexts(const Channel &channel)
{
	port_.query_context(peers_[channel.peer].address, channel.remote);
	if (channel.target)
		query_contexts(channels_[*channel.target]);
}

void RdmaEngine::retry(Channel &channel, Clock::time_point now)
{
	bool give_up = channel.attempts + 1u >= options_.attempts;
	bool idle = channel.feeds ? !feeder_.busy(channel.local) : channel.sent;

	if (channel.deferred)
		return;
	/*
	 * A write may still be sending its last attempt; a read keeps data that has arrived. A cancel
	 * would fail the counter.
	 */
	if ((channel.direction == Direction::write &&
	     !(idle && counts(channel))) ||
	    give_up)
		port_.cancel(channel.local);
	unframe(channel);
	if (give_up) {
		channel.refused = code(std::errc::timed_out);
		return;
	}
	channel.attempts++;
	repeated_++;
	/* After one timeout a lost packet is more likely than a lost context. */
	if (channel.attempts > 1)
		query_contexts(channel);
	send_request(channel, now);
}

/* -------------------------------------------------------------- recovery */

void RdmaEngine::renew_local(uint32_t old, uint32_t now_it_is,
			     Clock::time_point now)
{
	auto found = by_local_.find(old);

	if (found == by_local_.end())
		return;
	size_t number = found->second;
	Channel &channel = channels_[number];

	by_local_.erase(found);
	by_local_[now_it_is] = number;
	/* Before the number changes, by which the feeder knows it. */
	unframe(channel);
	channel.local = now_it_is;
	if (channel.operation)
		retry(channel, now);
}

/* True if the channel is connected to that context of a peer. */
bool RdmaEngine::is_to(const Channel &channel, WindowAddress address,
		       uint32_t remote) const
{
	return !channel.fifo && peers_[channel.peer].address == address &&
	       channel.remote == remote;
}

void RdmaEngine::renew_remote(WindowAddress peer, uint32_t old,
			      uint32_t now_it_is, uint64_t ended,
			      Clock::time_point now)
{
	if (is_no_rcxt(now_it_is)) {
		for (size_t i = 0; fifo_ && i < channels_.size(); i++)
			if (is_to(channels_[i], peer, old))
				lose_channel(i, ended, now);
		return;
	}
	/* A context serves one channel. */
	for (const Channel &channel : channels_)
		if (is_to(channel, peer, now_it_is))
			return;
	for (size_t i = 0; i < channels_.size(); i++)
		if (is_to(channels_[i], peer, old))
			renew_channel(i, now_it_is, ended, now);
}

void RdmaEngine::renew_channel(size_t number, uint32_t now_it_is,
			       uint64_t ended, Clock::time_point now)
{
	Channel &channel = channels_[number];
	uint64_t first = channel.tid - channel.attempts;

	/* No later operation was begun, so none can be complete. */
	if (ended > first)
		return;
	channel.remote = now_it_is;
	if (channel.target_of)
		retry(channels_[*channel.target_of], now);
	if (!channel.operation)
		return;
	if (channel.direction == Direction::read || ended < first) {
		retry(channel, now);
		return;
	}
	/* The process was notified, so its memory must not be written again. */
	port_.cancel(channel.local);
	piece_over(number, {}, now);
}

/* -------------------------------------------------------------------- ends */

void RdmaEngine::finish(const Shared &operation)
{
	operations_--;
	ended_++;
	use_counters(operation->move, -1);
	if (operation->done)
		operation->done(to_result(operation->error));
}

void RdmaEngine::piece_over(size_t number, std::error_code error,
			    Clock::time_point now)
{
	Channel &channel = channels_[number];
	const bool counted = counts(channel);
	size_t peer = channel.peer;
	Way &own_way = channel.fifo ? peers_[peer].fifo : peers_[peer].rdma;

	unframe(channel);
	channel.refused = {};
	if (!channel.lost)
		own_way.idle.push_back(number);
	free_target(channel);
	if (error && redrive(channel, error)) {
		pump(peer, now);
		return;
	}
	Shared operation = std::move(channel.operation);

	if (counted)
		count(*operation->move.counter, bool(error));
	channel.operation = nullptr;
	channel.held = channel.deferred = false;
	operation->under_way--;
	if (error && !operation->error) {
		operation->error = error;
		drop_waiting(operation, peer);
		operation->requested = operation->move.length;
		operation->notified = true;
	}
	bool all = !operation->under_way &&
		   operation->requested == operation->move.length;
	bool finished = all && operation->notified;

	if (all && !finished)
		way_of(peers_[operation->third ? operation->target : peer],
		       *operation)
			.waiting.push_front(operation);
	pump_all(operation, peer, now);
	/* Last, since the callback may throw. */
	if (finished)
		finish(operation);
}

bool RdmaEngine::done(const DoneFrame &done, Clock::time_point now)
{
	auto found = by_local_.find(done.rcxt);

	if (found == by_local_.end())
		return false;
	Channel &channel = channels_[found->second];
	/* Of an older attempt, or a duplicate. */
	if (!channel.operation || done.tid != channel.tid)
		return true;
	piece_over(found->second,
		   done.status == PvoResult::ok ? std::error_code() :
						  code(std::errc::bad_address),
		   now);
	return true;
}

/* True while data of the piece waits to be sent. */
bool RdmaEngine::still_sending(const Channel &channel, FrameState state) const
{
	if (channel.feeds)
		return feeder_.busy(channel.local);
	return channel.direction == Direction::write && channel.framed &&
	       state == FrameState::empty;
}

/* Check a busy channel for an outcome or a response timeout. */
void RdmaEngine::look_at(size_t number, Clock::time_point now)
{
	Channel &channel = channels_[number];
	FrameState state = FrameState::empty;

	if (channel.framed)
		state = port_.result(channel.frame);
	if (channel.held && look_at_held(channel, state, now)) {
		if (channel.refused)
			piece_over(number, channel.refused, now);
		return;
	}
	/* The response timeout begins when all was sent, unless sending is stuck. */
	if (still_sending(channel, state) &&
	    now - channel.requested_at <
		    options_.max_timeout * options_.attempts)
		channel.deadline = now + timeout(channel);
	if (state != FrameState::empty) {
		channel.framed = false;
		channel.sent = state == FrameState::sent;
		channel.refused = verdict(state);
		/* No packet of it has left, and there are no other contexts. */
		if (state == FrameState::bad_rcxt && !use_rdma_ &&
		    !channel.attempts)
			channel.refused = code(std::errc::invalid_argument);
		/* It was not sent, so no answer can come: retry soon. */
		if (state != FrameState::sent)
			channel.deadline = std::min(channel.deadline,
						    now + options_.timeout);
	}
	if (!channel.refused && channel.deadline <= now)
		retry(channel, now);
	if (channel.refused)
		piece_over(number, channel.refused, now);
}

size_t RdmaEngine::look(Clock::time_point now)
{
	size_t before = ended_;

	pump_feeds();
	for (size_t i = 0; i < channels_.size(); i++)
		if (channels_[i].operation && !channels_[i].fifo)
			look_at(i, now);
	if (fifo_)
		fifo_->look(now);
	return ended_ - before;
}

RdmaEngine::Clock::time_point RdmaEngine::due() const
{
	auto due = Clock::time_point::max();

	if (feeder_.busy())
		return Clock::time_point::min();
	if (fifo_)
		due = fifo_->due();
	for (const Channel &channel : channels_)
		if (channel.operation && !channel.fifo)
			due = std::min(due, channel.deadline);
	return due;
}

void RdmaEngine::stop()
{
	for (Channel &channel : channels_) {
		if (!channel.operation)
			continue;
		if (!channel.fifo)
			port_.cancel(channel.local);
		unframe(channel);
		channel.operation = nullptr;
	}
	for (Peer &peer : peers_) {
		peer.rdma.waiting.clear();
		peer.rdma.redriven.clear();
		peer.fifo.waiting.clear();
		peer.fifo.redriven.clear();
	}
	feeder_.stop();
	if (fifo_)
		fifo_->stop();
	operations_ = 0;
}

} // namespace pavo
