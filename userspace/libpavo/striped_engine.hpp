// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped_engine.hpp - which chunk goes by which lane, and what becomes of those of a lane
 * that fails. Private to the library; lanes and time come from outside, so that tests can
 * have their own.
 *
 * A lane that was given up may still have packets on their way to the other end. So the
 * other end is told to close it, again and again until it says that it did, and a put of
 * which chunks were on it is not over before that. Closed lanes carry no chunks but, as far
 * as they still can, words.
 */
#ifndef PAVO_STRIPED_ENGINE_HPP
#define PAVO_STRIPED_ENGINE_HPP

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include <pavo/striped.hpp>

namespace pavo {

/** A word of one end to the other; it may be lost, or come twice. */
struct StripedWord {
	enum What : uint8_t {
		close = 1, /* @lane is closed here: close it, too */
		closed = 2, /* it is */
		tell = 3, /* message @number, of @length, is all there */
		told = 4, /* its process has heard of it */
	};
	What what = close;
	uint16_t lane = 0;
	/** Of the lane at who hears this: see StripedEngine::add(). */
	uint32_t token = 0;
	uint64_t number = 0;
	/** Messages before that will not be told of any more. */
	uint64_t oldest = 0;
	uint64_t length = 0;
	uint32_t tag = 0;

	/** As it is on the wire: fields in their order, the first byte first. */
	static constexpr size_t size = 36;
	std::array<std::byte, size> encode() const;
	static std::optional<StripedWord>
	decode(std::span<const std::byte> bytes);
};

/** Lanes, as the engine sees them. */
class StripedPort {
public:
	virtual ~StripedPort() = default;

	/** A chunk by a lane; over() is told of its end, but not at once. */
	virtual void begin(size_t lane, uint64_t chunk, Direction direction,
			   const RdmaMove &move) = 0;
	/**
	 * From now on nothing is sent or placed at this end for chunks of the lane, and
	 * over() will not be told of them.
	 */
	virtual void close(size_t lane) = 0;
	/** A word by a lane, closed or not; it may be lost. */
	virtual void send(size_t lane, const StripedWord &word) = 0;
};

class StripedEngine {
public:
	using Clock = Rdma::Clock;
	using Done = Rdma::Done;

	StripedEngine(StripedPort &port, const StripedOptions &options)
		: port_(port), options_(options)
	{
	}

	/** A lane. @token: a number by which this end knows words for it are of now. */
	size_t add(uint32_t token);
	/** @token: the other end's; @room: chunks that it may have under way. */
	void connect(size_t lane, uint32_t token, size_t room);

	void begin(Direction direction, const StripedMove &move, Done done,
		   Clock::time_point now);
	void on_arrival(std::function<void(const StripedArrival &)> call)
	{
		arrival_ = std::move(call);
	}

	/** To be noted; look() deals with it. */
	void over(uint64_t chunk, std::error_code error);
	void heard(size_t lane, const StripedWord &word);
	void failed(size_t lane, std::error_code why);

	/** Return: operations that ended, and words that were heard. */
	size_t look(Clock::time_point now);
	Clock::time_point due() const;
	size_t pending() const { return operations_; }
	size_t lanes() const { return lanes_.size(); }
	StripedLane lane(size_t number) const;

private:
	/** Something that is said until it is answered. */
	struct Call {
		unsigned attempts = 0;
		Clock::time_point due{};
	};

	struct Chunk {
		uint64_t offset;
		uint32_t length;
	};

	struct Operation {
		Direction direction;
		StripedMove move;
		Done done;
		std::error_code error;
		bool begun = false;
		uint64_t asked = 0;
		/** Chunks of lanes that were given up. */
		std::vector<Chunk> again;
		size_t under_way = 0;
		/** Lanes by which the other end may still be written to. */
		std::set<size_t> closing;
		/** The other end is to be told; was. */
		bool telling = false;
		bool told = false;
		uint64_t number = 0;
		Call call;

		bool has_work() const
		{
			return !error && (!begun || asked < move.length ||
					  !again.empty());
		}
	};
	using Shared = std::shared_ptr<Operation>;

	struct Flight {
		Shared operation;
		Chunk chunk;
	};

	struct Lane {
		enum State {
			unconnected,
			living,
			closed, /* here */
			over, /* at both ends */
		};
		State state = unconnected;
		uint32_t mine;
		uint32_t theirs = 0;
		size_t room = 0;
		std::map<uint64_t, Flight> flights;
		/** It is to be given up. */
		std::error_code failure;
		StripedLane account;
		Call call;
	};

	struct Heard {
		size_t lane;
		StripedWord word;
	};

	Chunk next_chunk(Operation &operation) const;
	std::optional<size_t> lane_with_room() const;
	bool any_living() const;
	void pump();
	void launch(size_t lane, const Shared &operation);
	void enqueue(const Shared &operation);
	void chunk_over(uint64_t chunk, std::error_code error);
	void give_up(size_t lane, std::error_code why, Lane::State state,
		     Clock::time_point now);
	void strand();

	void hear(const Heard &heard, Clock::time_point now);
	void hear_close(size_t lane, Clock::time_point now);
	void hear_tell(const Heard &heard);
	void hear_told(uint64_t number);
	void answer(const Heard &heard, StripedWord::What what);

	bool given_up(const Call &call, Clock::time_point now) const;
	bool ready(Operation &operation, Clock::time_point now);
	void take_ended(Clock::time_point now);
	size_t call_ended();
	void say(Call &call, StripedWord word, Clock::time_point now);
	void say_all(Clock::time_point now);
	size_t lane_for(const Call &call) const;
	uint64_t oldest() const;

	StripedPort &port_;
	StripedOptions options_;
	std::vector<Lane> lanes_;
	std::unordered_map<uint64_t, size_t> lane_of_;
	uint64_t next_chunk_ = 0;
	/** Operations with chunks that no lane has yet. */
	std::deque<Shared> waiting_;
	/** Those that have begun. */
	std::vector<Shared> begun_;
	/** Those that are over, but their Done was not called yet. */
	std::deque<Shared> ended_;
	/** All whose Done was not called, these among them. */
	size_t operations_ = 0;
	std::vector<std::pair<uint64_t, std::error_code>> reports_;
	std::deque<Heard> heard_;
	std::function<void(const StripedArrival &)> arrival_;
	/** Messages that the other end is told of, and that this one was. */
	uint64_t next_number_ = 1;
	uint64_t base_ = 1;
	std::set<uint64_t> known_;
	/** A program's call threw in look(), so the next one is due. */
	bool unfinished_ = false;
};

} // namespace pavo

#endif // PAVO_STRIPED_ENGINE_HPP
