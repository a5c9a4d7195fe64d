// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped_engine.hpp - assigns chunks to paths, and moves chunks of a path that fails to others.
 * Private to the library. The caller supplies the paths and the time, so that tests can have
 * their own.
 *
 * A path that was given up may still have packets on their way to the peer. So the engine sends
 * `close` to the peer until the peer confirms it, and a put that had chunks on the path is not
 * complete before that. Closed paths carry no chunks, but control messages as far as they can.
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

/** A control message to the peer. It may be lost or duplicated. */
struct StripedControl {
	enum Type : uint8_t {
		close = 1, /* the sender has closed @path: close it, too */
		closed = 2, /* answer: @path is closed */
		notify =
			3, /* operation @number, of @length bytes, is complete */
		notified = 4, /* answer: the process was notified */
	};
	Type type = close;
	uint16_t path = 0;
	/** Identifies the receiver's user of the path: see StripedEngine::add(). */
	uint32_t token = 0;
	uint64_t number = 0;
	/** Notifications of lower numbers are all answered. */
	uint64_t oldest = 0;
	uint64_t length = 0;
	uint32_t tag = 0;

	/** Format on the wire: the fields in this order, big-endian. */
	static constexpr size_t size = 36;
	std::array<std::byte, size> encode() const;
	static std::optional<StripedControl>
	decode(std::span<const std::byte> bytes);
};

/** Paths, as the engine sees them. */
class StripedPort {
public:
	virtual ~StripedPort() = default;

	/** Begin to move a chunk by a path. It ends by a later call of over(). */
	virtual void begin(size_t path, uint64_t chunk, Direction direction,
			   const RdmaMove &move) = 0;
	/**
	 * Stop sending and placing data of the path's chunks at this end. over() is not called
	 * for them any more.
	 */
	virtual void close(size_t path) = 0;
	/** Send a control message by a path, closed or not; it may be lost. */
	virtual void send(size_t path, const StripedControl &control) = 0;
};

class StripedEngine {
public:
	using Clock = Rdma::Clock;
	using Done = Rdma::Done;

	StripedEngine(StripedPort &port, const StripedOptions &options)
		: port_(port), options_(options)
	{
	}

	/** Add a path. @token: received control messages with another one are of a former user. */
	size_t add(uint32_t token);
	/** Connect a path. @token: the peer's; @limit: most chunks under way by the path. */
	void connect(size_t path, uint32_t token, size_t limit);

	void begin(Direction direction, const StripedMove &move, Done done,
		   Clock::time_point now);
	void on_arrival(std::function<void(const StripedArrival &)> call)
	{
		arrival_ = std::move(call);
	}

	/** Note an event, for look() to handle. */
	void over(uint64_t chunk, std::error_code error);
	void receive(size_t path, const StripedControl &control);
	void failed(size_t path, std::error_code why);

	/** Handle events. Return: number of operations that ended and of control messages. */
	size_t look(Clock::time_point now);
	Clock::time_point due() const;
	size_t pending() const { return operations_; }
	size_t paths() const { return paths_.size(); }
	StripedPath path(size_t number) const;

private:
	/** Retransmission state of a control message that wants an answer. */
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
		uint64_t requested = 0;
		/** Chunks to move again, since their path was given up. */
		std::vector<Chunk> retries;
		size_t under_way = 0;
		/** Closed paths by which data may still reach the peer. */
		std::set<size_t> closing;
		/** The notification is being sent; the peer has confirmed it. */
		bool notifying = false;
		bool notified = false;
		uint64_t number = 0;
		Call call;

		bool has_work() const
		{
			return !error && (!begun || requested < move.length ||
					  !retries.empty());
		}
	};
	using Shared = std::shared_ptr<Operation>;

	struct Flight {
		Shared operation;
		Chunk chunk;
	};

	struct Path {
		enum State {
			unconnected,
			living,
			closed, /* at this end */
			over, /* at both ends */
		};
		State state = unconnected;
		uint32_t mine;
		uint32_t theirs = 0;
		size_t limit = 0;
		std::map<uint64_t, Flight> flights;
		/** Set: the path is to be given up. */
		std::error_code failure;
		StripedPath account;
		Call call;
	};

	struct Received {
		size_t path;
		StripedControl control;
	};

	Chunk next_chunk(Operation &operation) const;
	std::optional<size_t> choose_path() const;
	bool any_living() const;
	void pump();
	void launch(size_t path, const Shared &operation);
	void enqueue(const Shared &operation);
	void chunk_over(uint64_t chunk, std::error_code error);
	void give_up(size_t path, std::error_code why, Path::State state,
		     Clock::time_point now);
	void strand();

	void handle(const Received &message, Clock::time_point now);
	void handle_close(size_t path, Clock::time_point now);
	void handle_notify(const Received &message);
	void handle_notified(uint64_t number);
	void answer(const Received &message, StripedControl::Type type);

	bool given_up(const Call &call, Clock::time_point now) const;
	bool ready(Operation &operation, Clock::time_point now);
	void take_ended(Clock::time_point now);
	size_t call_ended();
	void send_control(Call &call, StripedControl control,
			  Clock::time_point now);
	void send_due(Clock::time_point now);
	size_t path_for(const Call &call) const;
	uint64_t oldest() const;

	StripedPort &port_;
	StripedOptions options_;
	std::vector<Path> paths_;
	std::unordered_map<uint64_t, size_t> path_of_;
	uint64_t next_chunk_ = 0;
	/** Operations with chunks that no path has yet. */
	std::deque<Shared> waiting_;
	/** Those that have begun. */
	std::vector<Shared> begun_;
	/** Those that are over, but their Done was not called yet. */
	std::deque<Shared> ended_;
	/** All whose Done was not called, these among them. */
	size_t operations_ = 0;
	std::vector<std::pair<uint64_t, std::error_code>> reports_;
	std::deque<Received> received_;
	std::function<void(const StripedArrival &)> arrival_;
	/** Numbers of the next notification to send, and of those received. */
	uint64_t next_number_ = 1;
	uint64_t base_ = 1;
	std::set<uint64_t> known_;
	/** A callback threw in look(), so the next look() is due. */
	bool unfinished_ = false;
};

} // namespace pavo

#endif // PAVO_STRIPED_ENGINE_HPP
