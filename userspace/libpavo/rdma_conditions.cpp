// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_conditions.cpp - operations that wait for counters, and what counts; see rdma_engine.hpp.
 *
 * The adapter holds a piece until its counter is at the target, and then requests it without this
 * process. Until its frame has another mark than HELD, the piece has not begun, and has no
 * response timeout. After that the engine requests it again as any other, without a condition.
 *
 * The adapter's counter fails by events that fail no operation: a recovery, or a cancel by which the
 * engine requests a component again. It cancels held pieces then, which wait in the engine (they
 * are deferred): this process knows which components are over.
 */
#include "rdma_engine.hpp"

#include "error.hpp"

namespace pavo {

bool RdmaEngine::usable(Direction direction, const RdmaMove &move) const
{
	if (move.counter && *move.counter >= counter_count)
		return false;
	if (!move.after)
		return true;
	if (move.after->counter >= counter_count ||
	    (counters_[move.after->counter].arrivals && !move.after->value))
		return false;
	/* Its data would be written to frames before the condition is met. */
	return direction == Direction::read || move.source == RdmaEnd::memory;
}

/* Return the pieces of an operation, without the final notification. */
uint32_t RdmaEngine::pieces_of(const RdmaMove &move) const
{
	uint32_t piece = piece_of(move, false);

	return move.length ? (move.length - 1) / piece + 1 : 1;
}

void RdmaEngine::use_counters(const RdmaMove &move, int users)
{
	if (move.counter)
		counters_[*move.counter].users += uint32_t(users);
	if (move.after)
		counters_[move.after->counter].users += uint32_t(users);
}

/* Note an operation that begins: its counter expects the pieces. */
void RdmaEngine::begin_counting(const RdmaMove &move)
{
	use_counters(move, 1);
	if (move.counter)
		counters_[*move.counter].expected += pieces_of(move);
}

/* True for a piece that counts. */
bool RdmaEngine::counts(const Channel &channel) const
{
	return channel.operation && channel.operation->move.counter &&
	       !channel.final;
}

/* Return what a request of the piece has as counter. */
uint8_t RdmaEngine::counter_of(const Channel &channel) const
{
	return counts(channel) ? uint8_t(*channel.operation->move.counter + 1) :
				 uint8_t(0);
}

/* Note the end of a piece that counts. */
void RdmaEngine::count(uint32_t counter, bool failed)
{
	counters_[counter].completed += !failed;
	counters_[counter].failed |= failed;
	restore(counter);
}

/* Give the adapter the value of a counter that it lost. */
void RdmaEngine::restore(uint32_t number)
{
	Counter &counter = counters_[number];

	if (!counter.lost || counter.failed ||
	    counter.completed != counter.expected)
		return;
	if (!port_.set_counter(number, counter.completed))
		counter.lost = false;
}

std::error_code RdmaEngine::reset_counter(uint32_t number)
{
	Counter &counter = counters_[number];

	if (counter.users)
		return code(std::errc::device_or_resource_busy);
	if (std::error_code error = port_.set_counter(number, 0))
		return error;
	counter = {.arrivals = counter.arrivals};
	return {};
}

/* Let the adapter hold the piece; or defer it. Return: true: it waits. */
bool RdmaEngine::request_held(Channel &channel, const RequestFrame &request)
{
	const Operation &operation = *channel.operation;
	const uint32_t number = operation.move.after->counter;
	const Counter &counter = counters_[number];

	channel.framed = false;
	if (counter.failed || counter.lost) {
		channel.deferred = true;
		channel.deadline = Clock::time_point::max();
		return true;
	}
	std::error_code error = port_.hold(
		{number, operation.awaited},
		{channel.direction, peers_[channel.peer].address, request},
		channel.frame);

	channel.framed = !error;
	if (!error)
		channel.deadline = Clock::time_point::max();
	else if (error != std::errc::no_buffer_space)
		channel.refused = error;
	return true;
}

/* Look at a piece that waits. @state: of its frame, if it has one. Return: true: nothing else is due. */
bool RdmaEngine::look_at_held(Channel &channel, FrameState state,
			      Clock::time_point now)
{
	const Operation &operation = *channel.operation;
	const uint32_t number = operation.move.after->counter;
	Counter &counter = counters_[number];

	if (counter.failed) {
		port_.cancel(channel.local);
		channel.refused = code(std::errc::operation_canceled);
		return true;
	}
	if (channel.deferred && counter.completed >= operation.awaited) {
		channel.held = channel.deferred = false;
		send_request(channel, now);
		return true;
	}
	/* No frame was free, or the network stack did not take it. */
	if (!channel.framed && !channel.deferred && channel.deadline <= now)
		send_request(channel, now);
	if (!channel.framed || state == FrameState::empty ||
	    state == FrameState::held)
		return true;
	channel.framed = false;
	switch (state) {
	case FrameState::sent:
		channel.held = false;
		channel.sent = true;
		channel.deadline = now + timeout(channel);
		break;
	case FrameState::cancelled:
	case FrameState::bad_rcxt:
		/* Only the adapter knew what had arrived. */
		if (counter.arrivals) {
			channel.refused = code(std::errc::operation_canceled);
			break;
		}
		channel.deferred = true;
		channel.deadline = Clock::time_point::max();
		counter.lost = true;
		restore(number);
		break;
	default:
		channel.refused = verdict(state);
		channel.deadline = now + options_.timeout;
	}
	return true;
}

} // namespace pavo
