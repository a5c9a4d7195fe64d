// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * broadcast_engine.hpp - loss recovery of Broadcast: moves operations in pieces by channels, to all
 * members at once, and then again to each node with a member that has not acknowledged. Private to
 * the library. The caller supplies the adapter and the time, so that tests can have their own.
 *
 * A channel is an rCxt of this end and a group context, which is bound at each member. Its tids only
 * grow. The last piece of an operation is sent by the last channel, when all members have the
 * others: its completion at a member is that of the operation.
 */
#ifndef PAVO_BROADCAST_ENGINE_HPP
#define PAVO_BROADCAST_ENGINE_HPP

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include <pavo/broadcast.hpp>

#include "broadcast_ack.hpp"
#include "rdma_engine.hpp"

namespace pavo {

class BroadcastEngine {
public:
	using Clock = Broadcast::Clock;
	using Done = Broadcast::Done;

	static constexpr size_t most_members = 4096;
	/** Attempts at a piece, each with a tid for each node: their number has 16 bits. */
	static constexpr unsigned most_attempts = 512;

	/**
	 * @locals: contexts of this end, as many as the group has.
	 * @tid: all tids are above it
	 */
	BroadcastEngine(RdmaPort &port, const BroadcastOptions &options,
			std::span<const uint32_t> locals, uint64_t tid);

	std::error_code add(WindowAddress member);
	std::error_code remove(WindowAddress member);
	/** Fails with invalid_argument: there is no member. */
	std::error_code begin(const BroadcastMove &move, Done done,
			      Clock::time_point now);
	/** Handle an acknowledgment. */
	void acknowledge(WindowAddress from, const BroadcastAck &ack);
	/** Replace the contexts of this end, which a recovery of the adapter has ended. */
	void renew(std::span<const uint32_t> locals);
	/** A frame failed since its context is not this window's any more; then reset. */
	bool lost_contexts() { return std::exchange(lost_, false); }
	/** Handle outcomes of frames and response timeouts. Return: operations that ended. */
	size_t look(Clock::time_point now);
	/** Cancel all operations; their Done is not called. */
	void stop();

	size_t pending() const { return operations_.size(); }
	Clock::time_point due() const;
	uint64_t retries() const { return retries_; }
	const std::vector<WindowAddress> &silent() const { return silent_; }

private:
	struct Operation {
		BroadcastMove move;
		Done done;
		std::error_code error;
		/** Members that were there when it began. */
		std::set<WindowAddress> members;
		/** Bytes of pieces that were begun, and pieces under way. */
		uint32_t requested = 0;
		uint32_t under_way = 0;
		bool last_begun = false;
		bool over = false;
	};
	using Shared = std::shared_ptr<Operation>;

	struct Channel {
		uint32_t local;
		uint32_t remote;
		uint64_t tid;
		/** Of the first attempt at the piece. */
		uint64_t first = 0;
		Shared operation;
		uint32_t offset = 0;
		uint32_t length = 0;
		/** Members that have not acknowledged, and nodes to which it goes again. */
		std::set<WindowAddress> silent;
		std::set<uint16_t> nodes;
		/** The request under way: its frame has no outcome yet. */
		bool framed = false;
		uint32_t frame = 0;
		/** A request is to be made as soon as a frame is free; else of @nodes. */
		bool to_all = false;
		unsigned attempts = 0;
		Clock::time_point deadline;
	};

	uint32_t last_length(const BroadcastMove &move) const;
	void start_pieces(Clock::time_point now);
	bool start_piece(const Shared &operation, Channel &channel,
			 uint32_t length, Clock::time_point now);
	void drive(Channel &channel, Clock::time_point now);
	bool take_outcome(Channel &channel);
	void request(Channel &channel, uint16_t node, Clock::time_point now);
	void retry(Channel &channel, Clock::time_point now);
	void finish_piece(Channel &channel);
	void release(Channel &channel);
	void fail(const Shared &operation, std::error_code error);
	size_t end_operations();

	RdmaPort &port_;
	BroadcastOptions options_;
	std::vector<Channel> channels_;
	std::set<WindowAddress> members_;
	std::deque<Shared> operations_;
	std::vector<WindowAddress> silent_;
	uint64_t retries_ = 0;
	bool lost_ = false;
};

} // namespace pavo

#endif // PAVO_BROADCAST_ENGINE_HPP
