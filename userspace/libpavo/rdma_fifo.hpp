// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma_fifo.hpp - moves bytes through the FIFOs alone, exactly once, for Rdma where it has no
 * contexts, or may not use them. Private to the library. The caller supplies window, memory and
 * time, so that tests can have their own.
 *
 * A transfer is divided into chunks of a message each. The end that requested it sends chunks, or
 * requests for them, until all have been answered. The other end remembers the transfers of a
 * window that are not over there, so that a duplicate places nothing.
 */
#ifndef PAVO_RDMA_FIFO_HPP
#define PAVO_RDMA_FIFO_HPP

#include <deque>
#include <functional>
#include <map>
#include <system_error>

#include <pavo/rdma.hpp>

#include "fifo_message.hpp"

namespace pavo {

/** The window and the process, as a RdmaFifo sees them. */
class FifoPort {
public:
	virtual ~FifoPort() = default;

	/** Bytes of a message. */
	virtual size_t max_message() const = 0;
	/** Write a message to the FIFO. Return: no_buffer_space: not now. */
	virtual std::error_code message(WindowAddress to,
					std::span<const std::byte> bytes) = 0;
	/**
	 * Memory that this process has mapped for the window's job. Return: false: it has not
	 * mapped all of that.
	 */
	virtual bool holds(uint64_t pvo, uint64_t length) = 0;
	virtual bool read(uint64_t pvo, std::span<std::byte> to) = 0;
	virtual bool write(uint64_t pvo, std::span<const std::byte> from) = 0;
	/** A peer's transfer that notifies this process is complete. */
	virtual void arrive(WindowAddress from, uint32_t tag,
			    uint32_t length) = 0;
	/** Data for this process. */
	virtual void take(const RdmaPiece &piece) = 0;
	/** A peer requests data of this process. Return: empty: rejected. */
	virtual RdmaFill feed(const RdmaReadRequest &request) = 0;
};

/** A transfer to be carried out. */
struct FifoTransfer {
	Direction direction;
	WindowAddress peer;
	/** Memory, or number of the first byte, at both ends. */
	uint64_t local;
	uint64_t remote;
	uint32_t length;
	uint32_t tag;
	/** Of FifoMessage. */
	uint8_t flags;
	/** Of a put: makes the data; empty: it is in memory. */
	RdmaFill fill;
};

class RdmaFifo {
public:
	using Clock = Rdma::Clock;
	/** bad_address: one end has not mapped the memory; timed_out. */
	using Done =
		std::function<void(std::error_code error, Clock::time_point)>;

	/** @first: numbers of transfers begin there. */
	RdmaFifo(FifoPort &port, const RdmaOptions &options, uint64_t first);

	/** Begins; look() or take() calls @done. */
	void start(const FifoTransfer &transfer, Done done,
		   Clock::time_point now);
	/** Handle a message. Calls callbacks of the port, and Done. */
	void take(WindowAddress from, std::span<const std::byte> bytes,
		  Clock::time_point now);
	/** Write messages while there is space, and handle response timeouts. */
	void look(Clock::time_point now);
	/** Cancel all transfers; their Done is not called. */
	void stop();

	Clock::time_point due() const;
	uint64_t repeated() const { return repeated_; }

	/** Windows whose transfers are remembered; messages of others are dropped. */
	static constexpr size_t most_peers = 65536;
	/** Transfers of one window that are remembered. */
	static constexpr size_t most_incoming = 1024;
	/** Requests of peers that wait for space in the send FIFO. */
	static constexpr size_t most_wanted = 1024;
	/** Chunks of a transfer that may be unanswered; at most 64. */
	static constexpr uint32_t most_unanswered = 32;

private:
	using Key = std::pair<WindowAddress, uint64_t>;

	/** A transfer of this end. */
	struct Own {
		FifoTransfer what;
		Done done;
		/** As all its messages begin. */
		FifoMessage head;
		/** All chunks below it are done, and those above of which @mask has a bit. */
		uint32_t base = 0;
		uint64_t mask = 0;
		/** Next chunk to be sent. Of a get: end of the chunks that are requested. */
		uint32_t next = 0;
		unsigned attempts = 0;
		Clock::time_point deadline = {};
	};

	/** A put of a peer. */
	struct Incoming {
		FifoMessage head;
		uint32_t base = 0;
		uint64_t mask = 0;
		PvoResult status = PvoResult::ok;
		bool over = false;
		/** It is to be answered. */
		bool due = false;
	};

	struct Sender {
		/** Transfers below it are over. */
		uint64_t oldest = 0;
		std::map<uint64_t, Incoming> incoming = {};
	};

	/** A get of a peer; @head.mask: chunks that are to be sent. */
	struct Wanted {
		WindowAddress to;
		FifoMessage head;
		RdmaFill fill;
	};

	void take_put(WindowAddress from, const FifoMessage &head,
		      std::span<const std::byte> bytes);
	void place(WindowAddress from, Incoming &incoming, uint32_t chunk,
		   std::span<const std::byte> bytes);
	void take_answer(WindowAddress from, const FifoMessage &head,
			 Clock::time_point now);
	void take_get(WindowAddress from, const FifoMessage &head);
	void take_data(WindowAddress from, const FifoMessage &head,
		       std::span<const std::byte> bytes, Clock::time_point now);
	void advance(std::map<Key, Own>::iterator at, Clock::time_point now);
	void finish(std::map<Key, Own>::iterator at, std::error_code error,
		    Clock::time_point now);
	std::error_code send(WindowAddress to, const FifoMessage &head,
			     std::span<const std::byte> bytes);
	std::error_code send_chunk(const Key &key, Own &own, uint32_t chunk);
	std::error_code send_puts(const Key &key, Own &own);
	std::error_code send_get(const Key &key, Own &own);
	bool send_answers();
	bool send_wanted();
	bool send_wanted_chunk(const Wanted &wanted, uint32_t chunk);
	bool send_own(Clock::time_point now);
	bool has_more_to_send(const Own &own) const;
	void retry(std::map<Key, Own>::iterator at, Clock::time_point now);
	Clock::duration timeout(const Own &own) const;
	uint16_t chunk_bytes() const;

	FifoPort &port_;
	RdmaOptions options_;
	uint64_t next_;
	/** By the other end and number. */
	std::map<Key, Own> own_;
	std::map<WindowAddress, Sender> senders_;
	std::deque<Key> answers_;
	std::deque<Wanted> wanted_;
	uint64_t repeated_ = 0;
};

} // namespace pavo

#endif // PAVO_RDMA_FIFO_HPP
