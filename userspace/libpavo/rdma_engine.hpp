// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_engine.hpp - loss recovery of Rdma: moves operations in pieces by channels, and requests a
 * piece again until its completion arrives. Private to the library. The caller supplies the
 * adapter and the time, so that tests can have their own.
 *
 * A channel is a pair of rCxts, one here and one of the peer, and moves one piece at a time. Its
 * tids only grow, so that both ends can distinguish the newest attempt from older ones. There are
 * also channels without rCxts, whose pieces go by a RdmaFifo: for small operations, for peers
 * without contexts, and for pieces that RDMA has refused.
 */
#ifndef PAVO_RDMA_ENGINE_HPP
#define PAVO_RDMA_ENGINE_HPP

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <pavo/rdma.hpp>

#include "rdma_feeder.hpp"
#include "rdma_fifo.hpp"

namespace pavo {

/** The engine's interface to the adapter. */
class RdmaPort : public PiecePort {
public:
	/**
	 * Request a piece. Fails with no_buffer_space if no frame is free now.
	 * @frame: set to a number for result()
	 */
	virtual std::error_code request(Direction direction, WindowAddress to,
					const RequestFrame &request,
					uint32_t &frame) = 0;
	/** The same for a piece of a third-party operation, of which @source has the data. */
	virtual std::error_code request_third(WindowAddress source,
					      const ThirdFrame &third,
					      uint32_t &frame) = 0;
	/** The same, for a request that the adapter holds until the condition is met. */
	virtual std::error_code hold(const RdmaCondition &condition,
				     const HeldRequest &request,
				     uint32_t &frame) = 0;
	/** Set a counter. */
	virtual std::error_code set_counter(uint32_t counter,
					    uint64_t value) = 0;
	/**
	 * Return the outcome of a request; FrameState::empty: not known yet; FrameState::held: another
	 * one follows.
	 */
	virtual FrameState result(uint32_t frame) = 0;
	/** Drop the outcome of a request: result() is not called for it. */
	virtual void forget(uint32_t frame) = 0;
	/** Abort this rCxt's operation: none of its data is sent or placed any more. */
	virtual void cancel(uint32_t rcxt) = 0;
	/**
	 * Ask a peer whose context does not answer whether a recovery of its adapter ended the
	 * context. The answer comes by RdmaEngine::renew_remote().
	 */
	virtual void query_context(WindowAddress to, uint32_t rcxt) = 0;
};

/**
 * Final notification to the peer: all pieces of an operation are complete. It is a piece for the
 * peer's FIFO, of one byte whose value is not used; its number says how long the operation was, and
 * is above those of all other pieces.
 */
struct RdmaNotification {
	static constexpr uint64_t numbers = 1ull << 63;

	static uint64_t number(uint32_t length) { return numbers | length; }
	/** Of the operation; none: another piece. */
	static std::optional<uint32_t> length(uint64_t number)
	{
		return number < numbers ? std::nullopt :
					  std::optional(uint32_t(number));
	}
};

class RdmaEngine {
public:
	using Clock = Rdma::Clock;
	using Done = Rdma::Done;

	/**
	 * @fifo: moves pieces without contexts; null: there is no such way.
	 * @tid: all tids are above it: those of a process that used the peers' contexts before
	 */
	RdmaEngine(RdmaPort &port, const RdmaOptions &options,
		   RdmaFifo *fifo = nullptr, uint64_t tid = 0);

	/**
	 * Add a peer. @locals: contexts of this end, as many as the peer has, or none: its operations
	 * go by the FIFOs.
	 */
	size_t add(const RdmaPeer &peer, std::span<const uint32_t> locals);
	/** Begin an operation. Fails with invalid_argument: no such peer, or an invalid move. */
	std::error_code begin(Direction direction, size_t peer,
			      const RdmaMove &move, Done done,
			      Clock::time_point now);
	/**
	 * Begin a third-party operation, with a channel of each of two peers: @source sends to
	 * @target. move.local is memory of @target. Fails as begin().
	 */
	std::error_code begin_third(size_t source, size_t target,
				    const RdmaMove &move, Done done,
				    Clock::time_point now);
	/** Handle a frame RDMA_DONE. Return: whether it was of an operation of this end. */
	bool done(const DoneFrame &done, Clock::time_point now);
	/**
	 * Send data that a peer requested from a FIFO; @fill makes it. A later attempt replaces an
	 * earlier one.
	 */
	void feed(WindowAddress to, const RequestFrame &request, RdmaFill fill);
	/**
	 * Replace a context that a recovery of this adapter or of a peer's has ended, and request
	 * its piece again by the new one. Does nothing if no channel has context @old.
	 */
	void renew_local(uint32_t old, uint32_t now_it_is,
			 Clock::time_point now);
	/**
	 * @now_it_is: is_no_rcxt(): the peer has no contexts any more, so nothing is placed by @old
	 * @ended: first tid of the last write that is complete at the peer; 0: none is. The engine
	 * ignores values that cannot be true.
	 */
	void renew_remote(WindowAddress peer, uint32_t old, uint32_t now_it_is,
			  uint64_t ended, Clock::time_point now);
	/**
	 * This end has no contexts any more, or has them again: operations that were not begun go by
	 * the FIFOs meanwhile. Those under way wait, since packets of them may still arrive.
	 */
	void use_rdma(bool use, Clock::time_point now);
	/** Handle outcomes of frames and response timeouts. Return: operations that ended. */
	size_t look(Clock::time_point now);
	/** Cancel all operations; their Done is not called. */
	void stop();
	/** The counter counts operations of peers; only the adapter knows its value. */
	void count_arrivals(uint32_t counter)
	{
		counters_[counter].arrivals = true;
	}
	/** Set a counter to 0. Fails with device_or_resource_busy: an operation uses it. */
	std::error_code reset_counter(uint32_t counter);

	size_t pending() const { return operations_; }
	/** Return the address of a peer's window; all 0 where there is no such peer. */
	WindowAddress address(size_t peer) const noexcept
	{
		return peer < peers_.size() ? peers_[peer].address :
					      WindowAddress();
	}
	Clock::time_point due() const;
	uint64_t repeated() const
	{
		return repeated_ + (fifo_ ? fifo_->repeated() : 0);
	}

private:
	struct Operation {
		Direction direction;
		RdmaMove move;
		Done done;
		std::error_code error;
		/** Value of the counter of @move.after that it waits for. */
		uint64_t awaited = 0;
		/** Bytes requested so far, and pieces under way. */
		uint32_t requested = 0;
		uint32_t under_way = 0;
		bool begun = false;
		/** The peer was notified, or need not be. */
		bool notified = false;
		/** Of a third-party operation. It waits at both of these peers. */
		bool third = false;
		size_t source = 0;
		size_t target = 0;
		/** Only adapters carry it out: it has three ends, or a counter. */
		bool needs_contexts = false;
		/** Its pieces go by the FIFOs. */
		bool by_fifo = false;

		/** All pieces were requested: what is left is the final notification. */
		bool is_requested() const
		{
			return begun && requested == move.length;
		}
	};
	using Shared = std::shared_ptr<Operation>;

	/**
	 * A counter of the window, as this process knows it: by completions, each of which it takes
	 * once.
	 */
	struct Counter {
		/** Pieces that count, begun and over. */
		uint64_t expected = 0;
		uint64_t completed = 0;
		/** Operations that count in it or wait for it. */
		uint32_t users = 0;
		bool arrivals = false;
		/** An operation that counts has failed. */
		bool failed = false;
		/**
		 * The adapter's value is lost, by a recovery or a cancel: operations wait in the
		 * engine, until all that counts is over, and the adapter gets the value anew.
		 */
		bool lost = false;
	};

	struct Piece {
		/** The operation under way; null: none. */
		Shared operation;
		Direction direction = Direction::read;
		uint32_t offset = 0;
		uint32_t length = 0;
		uint8_t flags = 0;
		/** This process makes its data. */
		bool feeds = false;
		/** It carries the final notification, RdmaNotification. */
		bool final = false;
		/** It was refused by RDMA, or by the FIFOs. */
		bool redriven = false;
	};

	struct Channel : Piece {
		size_t peer;
		uint32_t local;
		uint32_t remote;
		uint64_t tid = 0;
		/** It has no contexts: its pieces go by the FIFOs. */
		bool fifo = false;
		/** Its peer has no context any more. */
		bool lost = false;
		uint16_t attempts = 0;
		uint32_t frame = 0;
		bool framed = false;
		/** The adapter has sent all of the latest request. */
		bool sent = false;
		/** It waits for its condition: in the adapter, or if it is deferred in the engine. */
		bool held = false;
		bool deferred = false;
		/** Error that ends the piece, if set. */
		std::error_code refused;
		Clock::time_point requested_at;
		Clock::time_point deadline;
		/** Of a third-party piece: the channel of the target, which it uses, too. */
		std::optional<size_t> target;
		/** The channel whose piece uses this one. */
		std::optional<size_t> target_of;
	};

	/** Channels of a kind, and operations for them. */
	struct Way {
		std::vector<size_t> idle;
		std::deque<Shared> waiting;
		/** Pieces that the other way has refused. */
		std::deque<Piece> redriven;
	};

	struct Peer {
		WindowAddress address;
		/** Channels with contexts. */
		size_t contexts;
		Way rdma;
		Way fifo;
	};

	/** Make the data of a final notification. */
	static void fill_notification(uint64_t at, std::span<std::byte> to);
	static std::error_code verdict(FrameState state);
	void next_piece(const Shared &operation, Channel &channel) const;
	void pump(size_t peer, Clock::time_point now);
	void pump(Way &way, Clock::time_point now);
	bool goes_by_fifo(const Peer &peer, const Operation &operation) const;
	Way &way_of(Peer &peer, Operation &operation) const;
	void send_by_fifo(size_t channel, Clock::time_point now);
	bool redrive(Channel &channel, std::error_code error);
	void move_piece(Channel &channel, Way &way);
	void move_to_fifo(Peer &peer);
	void lose_channel(size_t channel, uint64_t ended,
			  Clock::time_point now);
	void forget(Way &way, const Shared &operation);
	bool pump_third(const Shared &operation, Clock::time_point now);
	void start_piece(size_t channel, Clock::time_point now);
	void fail_waiting(Peer &peer, Clock::time_point now);
	void free_target(Channel &channel);
	void raise_tid(Channel &channel);
	void drop_waiting(const Shared &operation, size_t peer);
	void pump_all(const Shared &operation, size_t peer,
		      Clock::time_point now);
	std::error_code request_third(Channel &channel,
				      const RequestFrame &request);
	void send_request(Channel &channel, Clock::time_point now);
	void query_contexts(const Channel &channel);
	void retry(Channel &channel, Clock::time_point now);
	bool is_to(const Channel &channel, WindowAddress address,
		   uint32_t remote) const;
	void renew_channel(size_t channel, uint32_t now_it_is, uint64_t ended,
			   Clock::time_point now);
	void unframe(Channel &channel);
	bool still_sending(const Channel &channel, FrameState state) const;
	void feed(Channel &channel);
	void pump_feeds();
	uint32_t piece_of(const RdmaMove &move, bool by_fifo) const;
	void piece_over(size_t channel, std::error_code error,
			Clock::time_point now);
	void look_at(size_t channel, Clock::time_point now);
	bool usable(Direction direction, const RdmaMove &move) const;
	uint32_t pieces_of(const RdmaMove &move) const;
	void use_counters(const RdmaMove &move, int users);
	void begin_counting(const RdmaMove &move);
	bool counts(const Channel &channel) const;
	uint8_t counter_of(const Channel &channel) const;
	void count(uint32_t counter, bool failed);
	void restore(uint32_t counter);
	bool request_held(Channel &channel, const RequestFrame &request);
	bool look_at_held(Channel &channel, FrameState state,
			  Clock::time_point now);
	void finish(const Shared &operation);
	Clock::duration timeout(const Channel &channel) const;

	RdmaPort &port_;
	RdmaOptions options_;
	RdmaFeeder feeder_;
	RdmaFifo *fifo_;
	uint64_t first_tid_;
	bool use_rdma_ = true;
	std::vector<Peer> peers_;
	std::vector<Channel> channels_;
	std::unordered_map<uint32_t, size_t> by_local_;
	std::array<Counter, counter_count> counters_;
	size_t operations_ = 0;
	size_t ended_ = 0;
	uint64_t repeated_ = 0;
};

} // namespace pavo

#endif // PAVO_RDMA_ENGINE_HPP
