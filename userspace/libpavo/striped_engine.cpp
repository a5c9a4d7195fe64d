// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped_engine.cpp - chunks, paths, control messages; see striped_engine.hpp. */
#include "striped_engine.hpp"

#include <algorithm>
#include <utility>

#include "error.hpp"
#include "control_message.hpp"

namespace pavo {

namespace {

/* Most notifications that may overtake the oldest one that is missing. */
constexpr uint64_t most_known = 4096;
/* At least two, so that a path has the next chunk when one ends. */
constexpr size_t least_chunks = 2;

/* Only a wrong PVO at the peer is the operation's fault; other errors are the path's. */
bool of_operation(std::error_code error)
{
	return error == std::errc::bad_address;
}

} // namespace

/* -------------------------------------------------------- control messages */

std::array<std::byte, StripedControl::size> StripedControl::encode() const
{
	ControlWriter<size> to;

	to.put(type, 1);
	to.put(0, 1);
	to.put(path, 2);
	to.put(token, 4);
	to.put(number, 8);
	to.put(oldest, 8);
	to.put(length, 8);
	to.put(tag, 4);
	return to.bytes();
}

std::optional<StripedControl>
StripedControl::decode(std::span<const std::byte> bytes)
{
	ControlReader from(bytes);
	StripedControl control;

	if (bytes.size() != size)
		return {};
	auto type = from.get(1);
	if (type < close || type > notified || from.get(1))
		return {};
	control.type = Type(type);
	control.path = uint16_t(from.get(2));
	control.token = uint32_t(from.get(4));
	control.number = from.get(8);
	control.oldest = from.get(8);
	control.length = from.get(8);
	control.tag = uint32_t(from.get(4));
	return control;
}

/* ------------------------------------------------------------------- paths */

size_t StripedEngine::add(uint32_t token)
{
	paths_.emplace_back().mine = token;
	return paths_.size() - 1;
}

void StripedEngine::connect(size_t number, uint32_t token, size_t limit)
{
	Path &path = paths_[number];

	path.theirs = token;
	path.limit = std::max(limit, least_chunks);
	/* The peer may have closed it already. */
	if (path.state == Path::unconnected) {
		path.state = Path::living;
		path.account.alive = true;
	}
}

StripedPath StripedEngine::path(size_t number) const
{
	StripedPath none;

	none.error = std::errc::invalid_argument;
	return number < paths_.size() ? paths_[number].account : none;
}

bool StripedEngine::any_living() const
{
	return std::ranges::any_of(paths_, [](const Path &path) {
		return path.state == Path::living;
	});
}

/* Find the path with the fewest chunks under way. */
std::optional<size_t> StripedEngine::choose_path() const
{
	std::optional<size_t> best;

	for (size_t i = 0; i < paths_.size(); i++) {
		const Path &path = paths_[i];

		if (path.state == Path::living &&
		    path.flights.size() < path.limit &&
		    (!best ||
		     path.flights.size() < paths_[*best].flights.size()))
			best = i;
	}
	return best;
}

void StripedEngine::failed(size_t path, std::error_code why)
{
	if (paths_[path].state == Path::living && !paths_[path].failure)
		paths_[path].failure = why;
}

/* Close a path, and queue its chunks for other paths. */
void StripedEngine::give_up(size_t number, std::error_code why,
			    Path::State state, Clock::time_point now)
{
	Path &path = paths_[number];

	port_.close(number);
	path.state = state;
	path.failure = {};
	path.account.alive = false;
	path.account.error = why;
	path.call = {.attempts = 0, .due = now};
	for (auto &[chunk, flight] : std::exchange(path.flights, {})) {
		Operation &operation = *flight.operation;

		path_of_.erase(chunk);
		operation.under_way--;
		/* Its last packets may still reach the peer. */
		if (operation.direction == Direction::write &&
		    state == Path::closed)
			operation.closing.insert(number);
		operation.retries.push_back(flight.chunk);
		if (!operation.error)
			enqueue(flight.operation);
	}
}

/* ------------------------------------------------------------------ chunks */

void StripedEngine::begin(Direction direction, const StripedMove &move,
			  Done done, Clock::time_point now)
{
	auto operation = std::make_shared<Operation>();

	operation->direction = direction;
	operation->move = move;
	operation->done = std::move(done);
	operation->call.due = now;
	waiting_.push_back(std::move(operation));
	operations_++;
	pump();
}

/* Queue an operation again, ahead of the others. */
void StripedEngine::enqueue(const Shared &operation)
{
	if (std::ranges::find(waiting_, operation) == waiting_.end())
		waiting_.push_front(operation);
}

/* An operation of no bytes is one empty chunk, which shows that the peer is alive. */
StripedEngine::Chunk StripedEngine::next_chunk(Operation &operation) const
{
	uint64_t left = operation.move.length - operation.requested;
	Chunk chunk{operation.requested,
		    uint32_t(std::min<uint64_t>(left,
						std::max(options_.chunk, 1u)))};

	operation.begun = true;
	if (!operation.retries.empty()) {
		chunk = operation.retries.back();
		operation.retries.pop_back();
	} else {
		operation.requested += chunk.length;
	}
	return chunk;
}

void StripedEngine::launch(size_t path, const Shared &operation)
{
	const StripedMove &move = operation->move;
	Chunk chunk = next_chunk(*operation);
	uint64_t number = next_chunk_++;

	operation->under_way++;
	paths_[path].flights[number] = {operation, chunk};
	path_of_[number] = path;
	port_.begin(path, number, operation->direction,
		    {.local = move.local + chunk.offset,
		     .remote = move.remote + chunk.offset,
		     .length = chunk.length});
}

/* Give chunks of the longest waiting operations to paths below their limit. */
void StripedEngine::pump()
{
	while (!waiting_.empty()) {
		Shared operation = waiting_.front();

		if (!operation->has_work()) {
			waiting_.pop_front();
			continue;
		}
		auto path = choose_path();
		if (!path)
			break;
		if (!operation->begun)
			begun_.push_back(operation);
		launch(*path, operation);
	}
	if (!any_living())
		strand();
}

/* Fail all operations: no path is left. */
void StripedEngine::strand()
{
	for (Shared &operation : waiting_)
		if (!operation->begun)
			begun_.push_back(operation);
	waiting_.clear();
	for (Shared &operation : begun_) {
		if (!operation->error)
			operation->error = code(std::errc::network_unreachable);
		operation->closing.clear();
	}
}

void StripedEngine::over(uint64_t chunk, std::error_code error)
{
	reports_.emplace_back(chunk, error);
}

void StripedEngine::chunk_over(uint64_t chunk, std::error_code error)
{
	auto found = path_of_.find(chunk);

	if (found == path_of_.end())
		return;
	Path &path = paths_[found->second];
	/* The chunk stays under way until the path is given up. */
	if (error && !of_operation(error)) {
		failed(found->second, error);
		return;
	}
	Flight flight = std::move(path.flights.at(chunk));

	path.flights.erase(chunk);
	path_of_.erase(found);
	flight.operation->under_way--;
	if (error) {
		flight.operation->error = error;
		return;
	}
	path.account.chunks++;
	path.account.bytes += flight.chunk.length;
}

/* ------------------------------------------------------- received messages */

void StripedEngine::receive(size_t path, const StripedControl &control)
{
	received_.push_back({path, control});
}

/* Answer by the path that the message arrived by: that one works. */
void StripedEngine::answer(const Received &message, StripedControl::Type type)
{
	StripedControl control = message.control;

	control.type = type;
	control.token = paths_[control.path].theirs;
	port_.send(message.path, control);
}

/* The peer has closed the path, so only this end is left to close. */
void StripedEngine::handle_close(size_t number, Clock::time_point now)
{
	Path &path = paths_[number];

	if (path.state == Path::living || path.state == Path::unconnected)
		give_up(number, code(std::errc::connection_aborted), Path::over,
			now);
	path.state = Path::over;
}

/* Notify the process once, and answer every copy. */
void StripedEngine::handle_notify(const Received &message)
{
	const StripedControl &control = message.control;

	if (control.oldest > base_ && control.oldest <= control.number) {
		base_ = control.oldest;
		known_.erase(known_.begin(), known_.lower_bound(base_));
	}
	if (control.number < base_ || known_.contains(control.number)) {
		answer(message, StripedControl::notified);
		return;
	}
	if (control.number - base_ >= most_known)
		return;
	known_.insert(control.number);
	while (known_.erase(base_))
		base_++;
	try {
		if (arrival_)
			arrival_({control.tag, control.length});
	} catch (...) {
		/* It was called, so the process has message. */
		answer(message, StripedControl::notified);
		throw;
	}
	answer(message, StripedControl::notified);
}

void StripedEngine::handle_notified(uint64_t number)
{
	for (Shared &operation : begun_)
		if (operation->notifying && operation->number == number)
			operation->notified = true;
}

void StripedEngine::handle(const Received &message, Clock::time_point now)
{
	const StripedControl &control = message.control;

	/* For a former user of this window. */
	if (control.path >= paths_.size() ||
	    control.token != paths_[control.path].mine)
		return;
	switch (control.type) {
	case StripedControl::close:
		handle_close(control.path, now);
		answer(message, StripedControl::closed);
		break;
	case StripedControl::closed:
		if (paths_[control.path].state == Path::closed)
			paths_[control.path].state = Path::over;
		break;
	case StripedControl::notify:
		handle_notify(message);
		break;
	case StripedControl::notified:
		handle_notified(control.number);
		break;
	}
}

/* ----------------------------------------------------------- sent messages */

/* Choose a path, another for each attempt: a living one, or any where none is left. */
size_t StripedEngine::path_for(const Call &call) const
{
	std::vector<size_t> living;

	for (size_t i = 0; i < paths_.size(); i++)
		if (paths_[i].state == Path::living)
			living.push_back(i);
	if (living.empty())
		return call.attempts % paths_.size();
	return living[call.attempts % living.size()];
}

void StripedEngine::send_control(Call &call, StripedControl control,
				 Clock::time_point now)
{
	Clock::duration wait = options_.timeout;

	if (call.due > now)
		return;
	control.token = paths_[control.path].theirs;
	port_.send(path_for(call), control);
	for (unsigned i = 0; i < call.attempts && wait < options_.max_timeout;
	     i++)
		wait *= 2;
	call.attempts++;
	call.due = now + std::min<Clock::duration>(wait, options_.max_timeout);
}

uint64_t StripedEngine::oldest() const
{
	uint64_t oldest = next_number_;

	for (const Shared &operation : begun_)
		if (operation->notifying && !operation->notified)
			oldest = std::min(oldest, operation->number);
	return oldest;
}

void StripedEngine::send_due(Clock::time_point now)
{
	for (size_t i = 0; i < paths_.size(); i++)
		if (paths_[i].state == Path::closed)
			send_control(paths_[i].call,
				     {.type = StripedControl::close,
				      .path = uint16_t(i)},
				     now);
	for (Shared &operation : begun_)
		if (operation->notifying && !operation->notified)
			send_control(operation->call,
				     {.type = StripedControl::notify,
				      .number = operation->number,
				      .oldest = oldest(),
				      .length = operation->move.length,
				      .tag = operation->move.tag},
				     now);
}

/* -------------------------------------------------------------------- ends */

bool StripedEngine::given_up(const Call &call, Clock::time_point now) const
{
	return call.attempts >= options_.attempts && call.due <= now;
}

bool StripedEngine::ready(Operation &operation, Clock::time_point now)
{
	bool unanswered = false;

	std::erase_if(operation.closing, [&](size_t path) {
		return paths_[path].state == Path::over;
	});
	for (size_t path : operation.closing)
		unanswered |= given_up(paths_[path].call, now);
	if (operation.under_way || operation.has_work())
		return false;
	if (!operation.closing.empty()) {
		if (unanswered && !operation.error)
			operation.error = code(std::errc::timed_out);
		return unanswered;
	}
	if (operation.error || !operation.move.notify || operation.notified)
		return true;
	if (!operation.notifying) {
		operation.notifying = true;
		operation.number = next_number_++;
		operation.call = {.attempts = 0, .due = now};
	} else if (given_up(operation.call, now)) {
		operation.error = code(std::errc::timed_out);
	}
	return bool(operation.error);
}

/* Move operations that are complete to the queue of those whose Done is to be called. */
void StripedEngine::take_ended(Clock::time_point now)
{
	auto left = std::stable_partition(
		begun_.begin(), begun_.end(), [&](const Shared &operation) {
			return !ready(*operation, now);
		});

	ended_.insert(ended_.end(), left, begun_.end());
	begun_.erase(left, begun_.end());
}

/* Call Done of ended operations. After one throws, the next look() calls the others. */
size_t StripedEngine::call_ended()
{
	size_t calls = 0;

	for (; !ended_.empty(); calls++) {
		Shared operation = std::move(ended_.front());

		ended_.pop_front();
		operations_--;
		if (operation->done)
			operation->done(to_result(operation->error));
	}
	return calls;
}

size_t StripedEngine::look(Clock::time_point now)
{
	size_t messages = 0;

	unfinished_ = true;
	for (auto &[chunk, error] : std::exchange(reports_, {}))
		chunk_over(chunk, error);
	for (size_t i = 0; i < paths_.size(); i++)
		if (paths_[i].failure)
			give_up(i, paths_[i].failure, Path::closed, now);
	for (; !received_.empty(); messages++) {
		Received message = received_.front();

		received_.pop_front();
		handle(message, now);
	}
	pump();
	take_ended(now);
	send_due(now);
	unfinished_ = false;
	/* Last, since callbacks may throw, as in handle(). */
	return messages + call_ended();
}

StripedEngine::Clock::time_point StripedEngine::due() const
{
	auto due = Clock::time_point::max();

	if (unfinished_ || !reports_.empty() || !received_.empty() ||
	    !ended_.empty() || (operations_ && !any_living()))
		return Clock::time_point::min();
	for (const Path &path : paths_)
		if (path.state == Path::closed)
			due = std::min(due, path.call.due);
	for (const Shared &operation : begun_)
		if (operation->notifying && !operation->notified)
			due = std::min(due, operation->call.due);
	return due;
}

} // namespace pavo
