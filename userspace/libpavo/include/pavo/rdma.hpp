// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma.hpp - RDMA between windows, exactly once (sources.md#windows-write,
 * sources.md#windows-read). Adapters do not retransmit: the library requests lost pieces again,
 * with a higher tid, until their completion arrives.
 */
#ifndef PAVO_RDMA_HPP
#define PAVO_RDMA_HPP

#include <pavo/language.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <pavo/completion.hpp>
#include <pavo/rcxt.hpp>
#include <pavo/transfer.hpp>
#include <pavo/window.hpp>

#pragma GCC visibility push(default)

namespace pavo {

class RdmaEngine;
class RdmaFifo;
class RdmaOnce;
class RdmaPort;
class Striped;

struct RdmaOptions {
	/** Response timeout of a piece's first attempt. */
	std::chrono::microseconds timeout{20'000};
	/** The response timeout doubles with each retry, up to this. */
	std::chrono::microseconds max_timeout{1'000'000};
	/** Attempts before the operation fails with timed_out, up to 65535. */
	unsigned attempts = 64;
	/**
	 * Bytes of a piece, the unit of requests and of retries. As many pieces are under way as
	 * the peer has given contexts. Pieces of more than 4096 packets (5 MiB at an MTU of 1500)
	 * gain nothing, since an attempt gets no further than that beyond its first lost packet:
	 * a longer piece needs more attempts.
	 */
	uint32_t piece = 1 << 18;
	/** The same where one end is a FIFO, whose free frames have to hold the piece. */
	uint32_t half_piece = 1 << 15;
	/**
	 * Operations of fewer bytes go by the FIFOs, in messages, not by RDMA. The peer's process
	 * copies the bytes, in progress(); so its progress() has to be called, and it has to have
	 * mapped the memory itself: else the library goes on by RDMA. 0: all go by RDMA. With
	 * PAVO_JOB_RDMA=0 in the environment none does.
	 */
	uint32_t rdma_from = 0;
};

/** A peer's address and contexts, which it has sent by a message or by other means. */
struct RdmaPeer {
	WindowAddress address;
	/**
	 * Contexts that the peer took for this process alone, by Rdma::take_rcxts(), or for one that
	 * is gone and in whose place this one is.
	 */
	std::vector<uint32_t> rcxts;
};

/** A completed operation of a peer that notifies this process: all its data is visible. */
struct RdmaArrival {
	WindowAddress from;
	/** Context of this end that the operation used; is_no_rcxt(): it came by the FIFOs. */
	uint32_t rcxt;
	uint32_t tag;
	/** Bytes of the operation. */
	uint32_t length;
};

/** Fills @to with the bytes of a FIFO from number @at on. Must not throw. */
using RdmaFill = std::function<void(uint64_t at, std::span<std::byte> to)>;

/** Kind of an end of an operation. */
enum class RdmaEnd { memory, fifo };

/** A value of a counter (Rdma::take_counter()) that an operation waits for. */
struct RdmaCondition {
	uint32_t counter;
	/**
	 * The value that the counter must have; 0: that of all operations begun so far that count in
	 * it, when they are over.
	 */
	uint64_t value = 0;
};

/** An operation: which bytes it moves, and whether the peer is notified. */
struct RdmaMove {
	Pvo local;
	Pvo remote;
	uint32_t length = 0;
	/** Call the peer's on_arrival() with @tag when all data is visible. */
	bool notify = false;
	uint32_t tag = 0;
	/**
	 * Half RDMA (sources.md#windows-half): if the target is a FIFO, its process takes the data
	 * by Rdma::on_piece() as it arrives. The PVO is then the number of the first byte; the
	 * numbers of all bytes are below 2^63.
	 */
	RdmaEnd target = RdmaEnd::memory;
	/**
	 * If the source is a FIFO, its process makes the data when it is sent: progress() of a
	 * put calls @fill, and progress() of a get's peer calls what Rdma::on_feed() returned.
	 * It is called again for bytes that were lost.
	 */
	RdmaEnd source = RdmaEnd::memory;
	RdmaFill fill = {};
	/**
	 * Conditional operations (sources.md#windows-conditional): the counter to which each piece of
	 * the operation (RdmaOptions::piece) adds 1 when it is over.
	 */
	std::optional<uint32_t> counter = {};
	/**
	 * The adapter begins the operation when the condition is met, without this process. Until
	 * then its pieces keep contexts of the peer, which other operations with it lack. It
	 * ends with operation_canceled if an operation that counts fails.
	 */
	std::optional<RdmaCondition> after = {};
};

/** Received data of a half operation. Each byte is delivered once. */
struct RdmaPiece {
	WindowAddress from;
	uint32_t tag;
	/** Number of the first byte: that of RdmaMove plus the offset. */
	uint64_t at;
	/** In the FIFO, valid during the call. Adapters divide data at multiples of 64 bytes. */
	std::span<const std::byte> bytes;
};

/** A peer's request for data of a FIFO, which this process makes. */
struct RdmaReadRequest {
	WindowAddress from;
	uint32_t tag;
	uint64_t at;
	uint32_t length;
};

/**
 * RDMA by one window. Takes over the window's frames: no other object may send or receive by it.
 * For one thread at a time. Operations go on only in progress().
 */
class Rdma {
public:
	using Done = Transfer::Done;
	using Clock = std::chrono::steady_clock;
	/** Index of a peer, as add() returned it. */
	using Peer = size_t;

	/** @window: has to live longer. Fails with EIO: the adapter is gone. */
	static Result<Rdma> open(Window &window,
				 const RdmaOptions &options = {}) noexcept;
	/** Cancels pending operations; their Done is not called. */
	~Rdma();
	/** Returns the window. */
	Window &window() const noexcept { return *window_; }
	/** Must not be moved while a Transfer of it is awaited. */
	Rdma(Rdma &&from) noexcept;
	Rdma &operator=(Rdma &&) = delete;

	/**
	 * Takes contexts of the adapter for one peer's operations. @rcxts: set to as many numbers
	 * as it holds, which the program sends to that peer. Fails as Rcxts::take(). With
	 * PAVO_JOB_RDMA=0 in the environment it takes none, and the numbers say so (is_no_rcxt()).
	 */
	Result<void> take_rcxts(std::span<uint32_t> rcxts) noexcept;
	/**
	 * Adds a peer, and takes as many contexts of this window as the peer has given. If the adapter
	 * or the user has none left, or one of the two ends uses none, operations go by the FIFOs.
	 * Fails with EINVAL: @peer has no contexts; as Rcxts::take(), but for ENOSPC and EDQUOT.
	 */
	Result<Peer> add(const RdmaPeer &peer) noexcept;
	/** Returns the address of a peer's window; all 0 where there is no such peer. */
	WindowAddress address(Peer peer) const noexcept;

	/**
	 * Begin to move bytes from this process to the peer (put) or from the peer to this process
	 * (get). progress() calls @done once, when all bytes are visible at the target, or with an
	 * error: timed_out: no answer to RdmaOptions::attempts; bad_address: the peer's PVO names
	 * no memory; owner_dead: a PVO of this process named no memory, in this or an earlier
	 * operation, and the window is dead; operation_canceled: see RdmaMove::after; or an error of Window::prepare(). Operations end in
	 * any order.
	 *
	 * Fails with invalid_argument: there is no such peer or counter, a put from a FIFO has no
	 * @fill or is to wait for a counter, or the numbers of a FIFO are too high; not_enough_memory. The operation was not begun then,
	 * and @done is not called.
	 */
	Result<void> put(Peer peer, const RdmaMove &move, Done done);
	Result<void> get(Peer peer, const RdmaMove &move, Done done);
	/** The same, with a @completion that the program polls. */
	Result<void> put(Peer peer, const RdmaMove &move,
			 Completion &completion) noexcept;
	Result<void> get(Peer peer, const RdmaMove &move,
			 Completion &completion) noexcept;

	/** The same, for co_await. Throws std::bad_alloc. */
	Transfer put(Peer peer, const RdmaMove &move);
	Transfer get(Peer peer, const RdmaMove &move);

	/**
	 * Third party (sources.md#windows-third-party): have peer @source send bytes of its memory
	 * (move.remote) to memory of peer @target (move.local). This process, the controller, does
	 * not touch the data and is notified of the end, as of a get. With move.notify it then
	 * notifies @target. Each of the peers may be this process itself, as a peer that it added,
	 * and both may be one peer that gave at least two contexts. @source needs a route to
	 * @target.
	 *
	 * Fails, and ends with errors, as put() and get(); invalid_argument also: an end is a FIFO, or
	 * move.after is set.
	 * bad_address: the memory at either of the peers. After timed_out @source may still be
	 * sending: the memory at @target is safe once another operation with that peer has ended,
	 * or is unmapped.
	 */
	Result<void> third_party(Peer source, Peer target, const RdmaMove &move,
				 Done done);
	Result<void> third_party(Peer source, Peer target, const RdmaMove &move,
				 Completion &completion) noexcept;
	Transfer third_party(Peer source, Peer target, const RdmaMove &move);

	/**
	 * Takes a counter of the window. Fails with ENOSPC: all 64 are taken.
	 */
	Result<uint32_t> take_counter() noexcept;
	/**
	 * Lets a counter count the operations that peers end at these contexts of this window, one for
	 * each piece: those of Rdma::take_rcxts(). Operations that wait for it name a value. After a
	 * recovery of this adapter it counts no more: operations that wait for it end with
	 * operation_canceled. Fails with EINVAL: no counter that was taken; ENOBUFS: all frames wait
	 * to be sent; EIO: the adapter is gone.
	 */
	Result<void> count_arrivals(uint32_t counter,
				    std::span<const uint32_t> rcxts) noexcept;
	/**
	 * Sets a counter to 0, also one that has failed. Fails with EBUSY: an operation that counts in
	 * it, or waits for it, is not over; else as count_arrivals().
	 */
	Result<void> reset_counter(uint32_t counter) noexcept;

	/** Sends a message, as Window::send(). */
	Result<void> send(WindowAddress to,
			  std::span<const std::byte> payload) noexcept;
	/**
	 * Sends a message of another kind, at least message_kind::first_own. Fails with EINVAL: a
	 * lower kind, which are reserved for libraries.
	 */
	Result<void> send_control(uint8_t kind, WindowAddress to,
				  std::span<const std::byte> payload) noexcept;
	/** Set the callback for messages. progress() calls it. An empty function: none. */
	void on_message(std::function<void(const Message &)> call);
	/** Set the callback for messages of that kind, in place of on_message(). */
	void on_control(uint8_t kind,
			std::function<void(const Message &)> call);
	/** Set the callback for operations of peers that notify this process. */
	void on_arrival(std::function<void(const RdmaArrival &)> call);
	/** Set the callback for data that peers put to a FIFO. Pieces arrive in any order. */
	void on_piece(std::function<void(const RdmaPiece &)> call);
	/**
	 * Set the callback for requests of peers that get data from a FIFO. It returns the function
	 * that makes the data, or an empty one to reject the request (the peer times out).
	 */
	void on_feed(std::function<RdmaFill(const RdmaReadRequest &)> call);
	/**
	 * Set the callback for recoveries of this adapter, with Window::recoveries(). progress()
	 * calls it when it has taken new contexts. A program need not do anything then.
	 */
	void on_recovery(std::function<void(uint32_t recoveries)> call);

	/**
	 * Receives frames, retries what has timed out, and calls callbacks. Does not wait. After a
	 * recovery of this adapter, which raises the window's event, it takes new contexts at once,
	 * and answers peers that ask for their numbers.
	 *
	 * Return: number of frames, and of operations that ended without one. Fails with
	 * no_space_on_device, not_enough_memory: no contexts could be taken after a recovery;
	 * io_error: the adapter is gone, which shows when there is something to send. Operations
	 * that can go on have gone on; the others are retried by the next call, and end with
	 * timed_out. A program that looks at the end of its operations may ignore the error.
	 */
	Result<size_t> progress();
	/**
	 * Calls progress() until the operation of @completion is over, and returns its result. Fails
	 * with EINVAL: nothing is pending, so it could wait for ever. Throws as progress().
	 */
	Result<void> wait(const Completion &completion);
	/** Begins an operation, waits for it, and returns its result: wait(put(peer, move)). */
	Result<void> wait(const Transfer &transfer);
	/** Returns the number of own operations that are not over. */
	size_t pending() const;
	/** Returns when progress() has to be called even if nothing arrives; max(): never. */
	Clock::time_point due() const;
	/** Returns the number of retries since it was opened. */
	uint64_t retries() const;

private:
	/** They send control messages of a kind below message_kind::first_own. */
	friend class Striped;
	friend class Broadcast;
	friend class BroadcastTarget;
	class WindowPort;
	/** The port of @rdma, by which a Broadcast sends, too. */
	static RdmaPort &port_of(Rdma &rdma) noexcept;

	Rdma(Window &window, Rcxts &&rcxts, const RdmaOptions &options);

	/** Writes a message, to be sent at the end of progress(), or by Window::start(). */
	Result<void> prepare_kind(uint8_t kind, WindowAddress to,
				  std::span<const std::byte> payload) noexcept;
	Result<void> send_kind(uint8_t kind, WindowAddress to,
			       std::span<const std::byte> payload) noexcept;
	Result<void> begin(Direction direction, Peer peer, const RdmaMove &move,
			   Done done);
	Result<void> begin(Direction direction, Peer peer, const RdmaMove &move,
			   Completion &completion) noexcept;
	void take(const Message &message, Clock::time_point now);
	void take_done(const Message &message, Clock::time_point now);
	void take_piece(const Message &message);
	void take_read_request(const Message &message);
	void take_group_done(const Message &message);
	void take_control(const Message &message, Clock::time_point now);
	void arrive(const RdmaArrival &arrival, uint64_t first);
	Result<void> answer(Clock::time_point now);
	Result<void> renew(Clock::time_point now);
	Result<void> look_for_recovery(Clock::time_point now);

	Window *window_;
	/** All contexts, for its own operations and for peers'. */
	Rcxts rcxts_;
	std::unique_ptr<RdmaOnce> once_;
	std::unique_ptr<WindowPort> port_;
	std::unique_ptr<RdmaFifo> fifo_;
	std::unique_ptr<RdmaEngine> engine_;
	/** Peers' queries for the present number of a context. */
	struct Query {
		WindowAddress from;
		uint32_t rcxt;
	};
	std::vector<Query> queries_;
	/** Counters that were taken. */
	uint32_t counters_ = 0;
	/** Recoveries of the adapter after which the contexts were taken anew. */
	uint32_t recoveries_;
	/** By their kind. */
	std::map<uint8_t, std::function<void(const Message &)>> message_;
	/** Completions of operations of a group, by its number. */
	std::map<uint32_t, std::function<void(const Message &)>> group_;
	std::function<void(uint32_t)> recovery_;
	/** The environment has PAVO_JOB_RDMA=0. */
	bool off_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_RDMA_HPP
