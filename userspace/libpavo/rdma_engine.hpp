// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_engine.hpp - what Rdma does about loss: pieces of operations on channels, each
 * asked for again until its end is told. Private to the library; time and the adapter
 * come from outside, so that tests can have their own.
 *
 * A channel is an rCxt here and one there, at one piece at a time. Its tids only ever
 * grow, so that at both ends the newest attempt is told from all before it.
 */
#ifndef PAVO_RDMA_ENGINE_HPP
#define PAVO_RDMA_ENGINE_HPP

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <pavo/rdma.hpp>

#include "rdma_feeder.hpp"

namespace pavo {

/** The adapter, as the engine sees it. */
class RdmaPort : public PiecePort {
public:
	/**
	 * Asks for a piece. Return: no_buffer_space: not now. @frame is set to a number
	 * by which result() tells what became of it.
	 */
	virtual std::error_code request(Direction direction, WindowAddress to,
					const RequestFrame &request,
					uint32_t &frame) = 0;
	/** The outcome of a request, FrameState::empty: not known yet. */
	virtual FrameState result(uint32_t frame) = 0;
	/** result() will not be asked for it. */
	virtual void forget(uint32_t frame) = 0;
	/** Nothing more of what this rCxt is at is sent or placed. */
	virtual void cancel(uint32_t rcxt) = 0;
	/**
	 * No answer comes from a peer's context: did a recovery of its adapter take it
	 * away? The answer comes by RdmaEngine::renew_remote().
	 */
	virtual void ask_about(WindowAddress to, uint32_t rcxt) = 0;
};

/**
 * Final notification to the peer: all pieces of an operation are complete. It is a piece for the
 * peer's FIFO, of one byte whose value is not used; its number says how long the operation was, and
 * is above those of all other pieces.
 */
struct RdmaTold {
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

	RdmaEngine(RdmaPort &port, const RdmaOptions &options);

	/** @locals: contexts here, one for each of the peer's. */
	size_t add(const RdmaPeer &peer, std::span<const uint32_t> locals);
	/** Return: invalid_argument: there is no such peer; it cannot be moved so. */
	std::error_code begin(Direction direction, size_t peer,
			      const RdmaMove &move, Done done,
			      Clock::time_point now);
	/** A frame RDMA_DONE. True: it was of an operation of this end. */
	bool done(const DoneFrame &done, Clock::time_point now);
	/**
	 * Data that another end asked for by one of the contexts that were lent, made by
	 * @fill. A later attempt takes the place of an earlier one.
	 */
	void feed(WindowAddress to, const RequestFrame &request, RdmaFill fill);
	/**
	 * A recovery took a context away, here or at a peer, and another is in its
	 * place: what it was at is asked for again by that. None of that name: nothing
	 * happens.
	 */
	void renew_local(uint32_t old, uint32_t now_it_is,
			 Clock::time_point now);
	/**
	 * @ended: first tid of the last write that is over there; 0: none is. The
	 * engine does not believe what cannot be: nothing happens.
	 */
	void renew_remote(WindowAddress peer, uint32_t old, uint32_t now_it_is,
			  uint64_t ended, Clock::time_point now);
	/** Results of frames, and what is late. Return: operations that ended. */
	size_t look(Clock::time_point now);
	/** Ends all without a word. */
	void stop();

	size_t pending() const { return operations_; }
	/** Of the window of a peer; all 0: there is no such peer. */
	WindowAddress address(size_t peer) const noexcept
	{
		return peer < peers_.size() ? peers_[peer].address :
					      WindowAddress();
	}
	Clock::time_point due() const;
	uint64_t repeated() const { return repeated_; }

private:
	struct Operation {
		Direction direction;
		RdmaMove move;
		Done done;
		std::error_code error;
		/** Bytes asked for so far, and pieces that are not here. */
		uint32_t asked = 0;
		uint32_t under_way = 0;
		bool begun = false;
		/** The other end was told, or need not be. */
		bool told = false;
	};
	using Shared = std::shared_ptr<Operation>;

	struct Channel {
		size_t peer;
		uint32_t local;
		uint32_t remote;
		uint64_t tid = 0;
		/** The operation under way on it; null: none. */
		Shared operation;
		Direction direction = Direction::read;
		uint32_t offset = 0;
		uint32_t length = 0;
		uint8_t flags = 0;
		/** Its data is made by this process. */
		bool feeds = false;
		/** It is the word that all pieces are over. */
		bool tells = false;
		uint16_t attempts = 0;
		uint32_t frame = 0;
		bool framed = false;
		/** Why it was not even asked for. */
		std::error_code refused;
		Clock::time_point asked;
		Clock::time_point deadline;
	};

	struct Peer {
		WindowAddress address;
		std::vector<size_t> idle;
		std::deque<Shared> waiting;
	};

	void next_piece(Operation &operation, Channel &channel) const;
	void pump(size_t peer, Clock::time_point now);
	void ask(Channel &channel, Clock::time_point now);
	void again(Channel &channel, Clock::time_point now);
	bool is_to(const Channel &channel, WindowAddress address,
		   uint32_t remote) const;
	void renew_channel(size_t channel, uint32_t now_it_is, uint64_t ended,
			   Clock::time_point now);
	void unframe(Channel &channel);
	bool still_sending(const Channel &channel, FrameState state) const;
	void feed(Channel &channel);
	void pump_feeds();
	uint32_t piece_of(const RdmaMove &move) const;
	void piece_over(size_t channel, std::error_code error,
			Clock::time_point now);
	void look_at(size_t channel, Clock::time_point now);
	void finish(const Shared &operation);
	Clock::duration timeout(const Channel &channel) const;

	RdmaPort &port_;
	RdmaOptions options_;
	RdmaFeeder feeder_;
	std::vector<Peer> peers_;
	std::vector<Channel> channels_;
	std::unordered_map<uint32_t, size_t> by_local_;
	size_t operations_ = 0;
	size_t ended_ = 0;
	uint64_t repeated_ = 0;
};

} // namespace pavo

#endif // PAVO_RDMA_ENGINE_HPP
