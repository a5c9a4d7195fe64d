// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* striped_engine.cpp - chunks, lanes, words; see striped_engine.hpp. */
#include "striped_engine.hpp"

#include <algorithm>
#include <utility>

#include "error.hpp"
#include "word.hpp"

namespace pavo {

namespace {

/* Messages that may be told of before the oldest of them was heard. */
constexpr uint64_t most_known = 4096;
/* A lane is to have the next chunk when one ends. */
constexpr size_t least_room = 2;

/* Nothing but the other end's memory is the operation's own fault. */
bool of_operation(std::error_code error)
{
	return error == std::errc::bad_address;
}

} // namespace

/* ------------------------------------------------------------------- words */

std::array<std::byte, StripedWord::size> StripedWord::encode() const
{
	WordWriter<size> to;

	to.put(what, 1);
	to.put(0, 1);
	to.put(lane, 2);
	to.put(token, 4);
	to.put(number, 8);
	to.put(oldest, 8);
	to.put(length, 8);
	to.put(tag, 4);
	return to.bytes();
}

std::optional<StripedWord> StripedWord::decode(std::span<const std::byte> bytes)
{
	WordReader from(bytes);
	StripedWord word;

	if (bytes.size() != size)
		return {};
	auto what = from.get(1);
	if (what < close || what > told || from.get(1))
		return {};
	word.what = What(what);
	word.lane = uint16_t(from.get(2));
	word.token = uint32_t(from.get(4));
	word.number = from.get(8);
	word.oldest = from.get(8);
	word.length = from.get(8);
	word.tag = uint32_t(from.get(4));
	return word;
}

/* ------------------------------------------------------------------- lanes */

size_t StripedEngine::add(uint32_t token)
{
	lanes_.emplace_back().mine = token;
	return lanes_.size() - 1;
}

void StripedEngine::connect(size_t number, uint32_t token, size_t room)
{
	Lane &lane = lanes_[number];

	lane.theirs = token;
	lane.room = std::max(room, least_room);
	/* Unless the other end was faster, and has closed it. */
	if (lane.state == Lane::unconnected) {
		lane.state = Lane::living;
		lane.account.alive = true;
	}
}

StripedLane StripedEngine::lane(size_t number) const
{
	StripedLane none;

	none.error = std::errc::invalid_argument;
	return number < lanes_.size() ? lanes_[number].account : none;
}

bool StripedEngine::any_living() const
{
	return std::ranges::any_of(lanes_, [](const Lane &lane) {
		return lane.state == Lane::living;
	});
}

/* The one with the least under way. */
std::optional<size_t> StripedEngine::lane_with_room() const
{
	std::optional<size_t> best;

	for (size_t i = 0; i < lanes_.size(); i++) {
		const Lane &lane = lanes_[i];

		if (lane.state == Lane::living &&
		    lane.flights.size() < lane.room &&
		    (!best ||
		     lane.flights.size() < lanes_[*best].flights.size()))
			best = i;
	}
	return best;
}

void StripedEngine::failed(size_t lane, std::error_code why)
{
	if (lanes_[lane].state == Lane::living && !lanes_[lane].failure)
		lanes_[lane].failure = why;
}

/* Chunks that it had under way go by other lanes. */
void StripedEngine::give_up(size_t number, std::error_code why,
			    Lane::State state, Clock::time_point now)
{
	Lane &lane = lanes_[number];

	port_.close(number);
	lane.state = state;
	lane.failure = {};
	lane.account.alive = false;
	lane.account.error = why;
	lane.call = {.attempts = 0, .due = now};
	for (auto &[chunk, flight] : std::exchange(lane.flights, {})) {
		Operation &operation = *flight.operation;

		lane_of_.erase(chunk);
		operation.under_way--;
		/* Its last packets may yet come to the other end. */
		if (operation.direction == Direction::write &&
		    state == Lane::closed)
			operation.closing.insert(number);
		operation.again.push_back(flight.chunk);
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

/* Once more, before all others. */
void StripedEngine::enqueue(const Shared &operation)
{
	if (std::ranges::find(waiting_, operation) == waiting_.end())
		waiting_.push_front(operation);
}

/* An operation without bytes is one chunk as well: the other end has to be there. */
StripedEngine::Chunk StripedEngine::next_chunk(Operation &operation) const
{
	uint64_t left = operation.move.length - operation.asked;
	Chunk chunk{operation.asked,
		    uint32_t(std::min<uint64_t>(left,
						std::max(options_.chunk, 1u)))};

	operation.begun = true;
	if (!operation.again.empty()) {
		chunk = operation.again.back();
		operation.again.pop_back();
	} else {
		operation.asked += chunk.length;
	}
	return chunk;
}

void StripedEngine::launch(size_t lane, const Shared &operation)
{
	const StripedMove &move = operation->move;
	Chunk chunk = next_chunk(*operation);
	uint64_t number = next_chunk_++;

	operation->under_way++;
	lanes_[lane].flights[number] = {operation, chunk};
	lane_of_[number] = lane;
	port_.begin(lane, number, operation->direction,
		    {.local = move.local + chunk.offset,
		     .remote = move.remote + chunk.offset,
		     .length = chunk.length});
}

/* Lanes with room get chunks of whatever waits longest. */
void StripedEngine::pump()
{
	while (!waiting_.empty()) {
		Shared operation = waiting_.front();

		if (!operation->has_work()) {
			waiting_.pop_front();
			continue;
		}
		auto lane = lane_with_room();
		if (!lane)
			break;
		if (!operation->begun)
			begun_.push_back(operation);
		launch(*lane, operation);
	}
	if (!any_living())
		strand();
}

/* No lane is left, so nothing goes on. */
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
	auto found = lane_of_.find(chunk);

	if (found == lane_of_.end())
		return;
	Lane &lane = lanes_[found->second];
	/* It is still under way until the lane is given up. */
	if (error && !of_operation(error)) {
		failed(found->second, error);
		return;
	}
	Flight flight = std::move(lane.flights.at(chunk));

	lane.flights.erase(chunk);
	lane_of_.erase(found);
	flight.operation->under_way--;
	if (error) {
		flight.operation->error = error;
		return;
	}
	lane.account.chunks++;
	lane.account.bytes += flight.chunk.length;
}

/* --------------------------------------------------------- what is heard */

void StripedEngine::heard(size_t lane, const StripedWord &word)
{
	heard_.push_back({lane, word});
}

/* By the lane that it came by: that one works. */
void StripedEngine::answer(const Heard &heard, StripedWord::What what)
{
	StripedWord word = heard.word;

	word.what = what;
	word.token = lanes_[word.lane].theirs;
	port_.send(heard.lane, word);
}

/* It is closed there, so all that is left to do is here. */
void StripedEngine::hear_close(size_t number, Clock::time_point now)
{
	Lane &lane = lanes_[number];

	if (lane.state == Lane::living || lane.state == Lane::unconnected)
		give_up(number, code(std::errc::connection_aborted), Lane::over,
			now);
	lane.state = Lane::over;
}

/* Answered when it was heard, now or before. */
void StripedEngine::hear_tell(const Heard &heard)
{
	const StripedWord &word = heard.word;

	if (word.oldest > base_ && word.oldest <= word.number) {
		base_ = word.oldest;
		known_.erase(known_.begin(), known_.lower_bound(base_));
	}
	if (word.number < base_ || known_.contains(word.number)) {
		answer(heard, StripedWord::told);
		return;
	}
	if (word.number - base_ >= most_known)
		return;
	known_.insert(word.number);
	while (known_.erase(base_))
		base_++;
	try {
		if (arrival_)
			arrival_({word.tag, word.length});
	} catch (...) {
		/* It was called, so the process has heard. */
		answer(heard, StripedWord::told);
		throw;
	}
	answer(heard, StripedWord::told);
}

void StripedEngine::hear_told(uint64_t number)
{
	for (Shared &operation : begun_)
		if (operation->telling && operation->number == number)
			operation->told = true;
}

void StripedEngine::hear(const Heard &heard, Clock::time_point now)
{
	const StripedWord &word = heard.word;

	/* Of an end that was here before, on the same windows. */
	if (word.lane >= lanes_.size() || word.token != lanes_[word.lane].mine)
		return;
	switch (word.what) {
	case StripedWord::close:
		hear_close(word.lane, now);
		answer(heard, StripedWord::closed);
		break;
	case StripedWord::closed:
		if (lanes_[word.lane].state == Lane::closed)
			lanes_[word.lane].state = Lane::over;
		break;
	case StripedWord::tell:
		hear_tell(heard);
		break;
	case StripedWord::told:
		hear_told(word.number);
		break;
	}
}

/* ------------------------------------------------------------ what is said */

/* A living lane, another each time; or any, for it may be not as dead as it seems. */
size_t StripedEngine::lane_for(const Call &call) const
{
	std::vector<size_t> living;

	for (size_t i = 0; i < lanes_.size(); i++)
		if (lanes_[i].state == Lane::living)
			living.push_back(i);
	if (living.empty())
		return call.attempts % lanes_.size();
	return living[call.attempts % living.size()];
}

void StripedEngine::say(Call &call, StripedWord word, Clock::time_point now)
{
	Clock::duration wait = options_.timeout;

	if (call.due > now)
		return;
	word.token = lanes_[word.lane].theirs;
	port_.send(lane_for(call), word);
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
		if (operation->telling && !operation->told)
			oldest = std::min(oldest, operation->number);
	return oldest;
}

void StripedEngine::say_all(Clock::time_point now)
{
	for (size_t i = 0; i < lanes_.size(); i++)
		if (lanes_[i].state == Lane::closed)
			say(lanes_[i].call,
			    {.what = StripedWord::close, .lane = uint16_t(i)},
			    now);
	for (Shared &operation : begun_)
		if (operation->telling && !operation->told)
			say(operation->call,
			    {.what = StripedWord::tell,
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

	std::erase_if(operation.closing, [&](size_t lane) {
		return lanes_[lane].state == Lane::over;
	});
	for (size_t lane : operation.closing)
		unanswered |= given_up(lanes_[lane].call, now);
	if (operation.under_way || operation.has_work())
		return false;
	if (!operation.closing.empty()) {
		if (unanswered && !operation.error)
			operation.error = code(std::errc::timed_out);
		return unanswered;
	}
	if (operation.error || !operation.move.tell || operation.told)
		return true;
	if (!operation.telling) {
		operation.telling = true;
		operation.number = next_number_++;
		operation.call = {.attempts = 0, .due = now};
	} else if (given_up(operation.call, now)) {
		operation.error = code(std::errc::timed_out);
	}
	return bool(operation.error);
}

/* Those that are over wait for their calls. */
void StripedEngine::take_ended(Clock::time_point now)
{
	auto left = std::stable_partition(
		begun_.begin(), begun_.end(), [&](const Shared &operation) {
			return !ready(*operation, now);
		});

	ended_.insert(ended_.end(), left, begun_.end());
	begun_.erase(left, begun_.end());
}

/* Return: how many. After one that throws the others are the next look()'s. */
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
	size_t words = 0;

	unfinished_ = true;
	for (auto &[chunk, error] : std::exchange(reports_, {}))
		chunk_over(chunk, error);
	for (size_t i = 0; i < lanes_.size(); i++)
		if (lanes_[i].failure)
			give_up(i, lanes_[i].failure, Lane::closed, now);
	for (; !heard_.empty(); words++) {
		Heard heard = heard_.front();

		heard_.pop_front();
		hear(heard, now);
	}
	pump();
	take_ended(now);
	say_all(now);
	unfinished_ = false;
	/* Last: what they call may throw, as what hear() calls. */
	return words + call_ended();
}

StripedEngine::Clock::time_point StripedEngine::due() const
{
	auto due = Clock::time_point::max();

	if (unfinished_ || !reports_.empty() || !heard_.empty() ||
	    !ended_.empty() || (operations_ && !any_living()))
		return Clock::time_point::min();
	for (const Lane &lane : lanes_)
		if (lane.state == Lane::closed)
			due = std::min(due, lane.call.due);
	for (const Shared &operation : begun_)
		if (operation->telling && !operation->told)
			due = std::min(due, operation->call.due);
	return due;
}

} // namespace pavo
