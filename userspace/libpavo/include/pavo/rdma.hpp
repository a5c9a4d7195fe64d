// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rdma.hpp - RDMA between windows that happens exactly once (sources.md#windows-write,
 * sources.md#windows-read). The adapter repeats nothing; what was lost is asked for again
 * here, with a higher tid, until its end is told.
 */
#ifndef PAVO_RDMA_HPP
#define PAVO_RDMA_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <pavo/completion.hpp>
#include <pavo/rcxt.hpp>
#include <pavo/transfer.hpp>
#include <pavo/window.hpp>

namespace pavo {

class RdmaEngine;
class RdmaOnce;
class Striped;

struct RdmaOptions {
	/** Time until the first retry of a piece. */
	std::chrono::microseconds timeout{20'000};
	/** The time doubles from retry to retry, up to this. */
	std::chrono::microseconds max_timeout{1'000'000};
	/** Attempts before the operation fails with timed_out, up to 65535. */
	unsigned attempts = 64;
	/**
	 * Bytes of a piece, which is asked for at a time. A piece with a lost packet is
	 * asked for again whole, and as many pieces are under way as a peer has given
	 * contexts. Pieces of more than 4096 packets (5 MiB at an MTU of 1500) gain nothing:
	 * an attempt gets no further than that beyond the first packet that it misses.
	 * Longer pieces come, by more attempts, of which there have to be enough.
	 */
	uint32_t piece = 1 << 18;
	/** ... where one end is a FIFO, whose frames have to have room for all. */
	uint32_t half_piece = 1 << 15;
};

/** The other end, as it told (by a message, or any other way). */
struct RdmaPeer {
	WindowAddress address;
	/** Contexts that it lends to no other peer: of Rdma::lend(). */
	std::vector<uint32_t> rcxts;
};

/** An operation that the other end began, to this end or from it: all its data can be seen. */
struct RdmaArrival {
	WindowAddress from;
	/** Of this end, by which its end was told. */
	uint32_t rcxt;
	uint32_t tag;
	/** Bytes of the operation, all its pieces. */
	uint32_t length;
};

/** Writes bytes number @at and those behind it to @to, all of them; throws nothing. */
using RdmaFill = std::function<void(uint64_t at, std::span<std::byte> to)>;

/** Kind of an end of an operation. */
enum class RdmaEnd { memory, fifo };

/** An operation: which bytes it moves, and whether the peer is notified. */
struct RdmaMove {
	Pvo local;
	Pvo remote;
	uint32_t length = 0;
	/** The peer's on_arrival() is called, with @tag, when all data can be seen. */
	bool tell = false;
	uint32_t tag = 0;
	/**
	 * Half RDMA (sources.md#windows-half): where the target is a FIFO its process
	 * takes the data in pieces (Rdma::on_piece()) as they come. In place of its PVO
	 * there is a number of the first byte; those of all bytes are below 2^63.
	 */
	RdmaEnd target = RdmaEnd::memory;
	/**
	 * Where the source is a FIFO its process makes the data when it is sent. Here
	 * @fill is called for it in progress(), there what Rdma::on_feed() returns;
	 * several times for the same bytes, if some are lost.
	 */
	RdmaEnd source = RdmaEnd::memory;
	RdmaFill fill = {};
};

/** Some of the data of a half operation; each byte comes once. */
struct RdmaPiece {
	WindowAddress from;
	uint32_t tag;
	/** Number of the first byte: that of RdmaMove and what comes before it. */
	uint64_t at;
	/** Cut by adapters at multiples of 64; in the FIFO, valid during the call. */
	std::span<const std::byte> bytes;
};

/** Data that another end asks for and this process makes. */
struct RdmaAsked {
	WindowAddress from;
	uint32_t tag;
	uint64_t at;
	uint32_t length;
};

/**
 * Operations by one window. It takes over the window's frames: no other object sends or
 * receives by it. For one thread at a time; nothing happens but in progress().
 */
class Rdma {
public:
	using Done = Transfer::Done;
	using Clock = std::chrono::steady_clock;
	/** Which peer: what add() returned. */
	using Peer = size_t;

	/** @window: has to live as long. Fails with EIO: the adapter is gone. */
	static Result<Rdma> open(Window &window,
				 const RdmaOptions &options = {}) noexcept;
	/** Operations that are not over are cancelled; their Done is not called. */
	~Rdma();
	/** The window that it works by. */
	Window &window() const noexcept { return *window_; }
	/** Not while a Transfer of it is awaited. */
	Rdma(Rdma &&from) noexcept;
	Rdma &operator=(Rdma &&) = delete;

	/**
	 * Contexts for one peer's operations on this window, to be told to it: as many as
	 * @rcxts has room for. Fails as Rcxts::take().
	 */
	Result<void> lend(std::span<uint32_t> rcxts) noexcept;
	/**
	 * A peer, and as many contexts of this window. Fails with EINVAL: it lends none; as
	 * Rcxts::take().
	 */
	Result<Peer> add(const RdmaPeer &peer) noexcept;
	/** Address of the window of a peer; all 0 where there is no such peer. */
	WindowAddress address(Peer peer) const noexcept;

	/**
	 * Bytes from here to there, and from there to here. @done is called in
	 * progress() when all of them can be seen at their target, once, with:
	 * timed_out: no answer to RdmaOptions::attempts; bad_address: the peer's memory
	 * is not what the PVO says; owner_dead: this window is dead after a PVO of its own
	 * that was none, of a put or of a get; what Window::prepare() refuses.
	 * Operations end in any order.
	 * Fails with invalid_argument: there is no such peer; a put from a FIFO without
	 * @fill; to a FIFO with numbers that are too high. not_enough_memory. It was not
	 * begun then, and @done is not called.
	 */
	Result<void> put(Peer peer, const RdmaMove &move, Done done);
	Result<void> get(Peer peer, const RdmaMove &move, Done done);
	/** The same; @completion is looked at, in place of a call. */
	Result<void> put(Peer peer, const RdmaMove &move,
			 Completion &completion) noexcept;
	Result<void> get(Peer peer, const RdmaMove &move,
			 Completion &completion) noexcept;

	/** The same, to be awaited. Throws std::bad_alloc. */
	Transfer put(Peer peer, const RdmaMove &move);
	Transfer get(Peer peer, const RdmaMove &move);

	/** A message of the window, see Window::send(). */
	Result<void> send(WindowAddress to,
			  std::span<const std::byte> payload) noexcept;
	/**
	 * The same, of a kind of its own, from message_kind::first_own on. Fails
	 * with EINVAL: a kind below that; those are for libraries.
	 */
	Result<void> send_control(uint8_t kind, WindowAddress to,
				  std::span<const std::byte> payload) noexcept;
	/** Called in progress() for messages, and for what others moved. */
	void on_message(std::function<void(const Message &)> call);
	/** ... and for messages of that kind, which on_message() is not called for. */
	void on_control(uint8_t kind,
			std::function<void(const Message &)> call);
	void on_arrival(std::function<void(const RdmaArrival &)> call);
	/** Called in progress() for data that is not for memory; comes in any order. */
	void on_piece(std::function<void(const RdmaPiece &)> call);
	/**
	 * Called in progress() for data that others get from a FIFO. Returns what makes
	 * it; none: they do not get it, and time out.
	 */
	void on_feed(std::function<RdmaFill(const RdmaAsked &)> call);

	/**
	 * Looks at what came and asks again for what did not; after a recovery of the
	 * adapter, or of a peer's, with contexts that were taken anew, of which peers
	 * are told when they ask. Return: how many frames there were, and operations
	 * that ended without one.
	 * Fails with no_space_on_device, not_enough_memory: no contexts are left after a
	 * recovery; io_error: the adapter is gone, which is seen when there is something
	 * to send. All that can go on has gone on, and the next call tries again; what
	 * waits for contexts, or has no adapter, ends with timed_out some time. A caller for
	 * whom it is enough how operations end need not look at the Result.
	 */
	Result<size_t> progress();
	/**
	 * Calls progress() until the operation of @completion is over. Return: how it ended. Fails
	 * with EINVAL: nothing is pending, so that it will never be over. Throws as progress().
	 */
	Result<void> wait(const Completion &completion);
	/** Operations that are not over. */
	size_t pending() const;
	/** When progress() has to be called though nothing arrives; max(): never. */
	Clock::time_point due() const;
	/** Attempts that were retries, since it was opened. */
	uint64_t retries() const;

private:
	/** Its lanes have words of a kind of their own. */
	friend class Striped;
	class WindowPort;

	Rdma(Window &window, Rcxts &&rcxts, const RdmaOptions &options);

	Result<void> send_kind(uint8_t kind, WindowAddress to,
			       std::span<const std::byte> payload) noexcept;
	Result<void> begin(Direction direction, Peer peer, const RdmaMove &move,
			   Done done);
	Result<void> begin(Direction direction, Peer peer, const RdmaMove &move,
			   Completion &completion) noexcept;
	void take(const Message &message, Clock::time_point now);
	void take_done(const Message &message, Clock::time_point now);
	void take_piece(const Message &message);
	void take_asked(const Message &message);
	void take_word(const Message &message, Clock::time_point now);
	void arrive(const RdmaArrival &arrival, uint64_t first);
	Result<void> answer(Clock::time_point now);
	Result<void> renew(Clock::time_point now);

	Window *window_;
	/** All contexts, for its own operations and for others', and what came by them. */
	Rcxts rcxts_;
	std::unique_ptr<RdmaOnce> once_;
	std::unique_ptr<WindowPort> port_;
	std::unique_ptr<RdmaEngine> engine_;
	/** Peers that want to know about a context. */
	struct Asked {
		WindowAddress from;
		uint32_t rcxt;
	};
	std::vector<Asked> asked_;
	/** By their kind. */
	std::map<uint8_t, std::function<void(const Message &)>> message_;
	std::function<void(const RdmaArrival &)> arrival_;
	std::function<void(const RdmaPiece &)> piece_;
	std::function<RdmaFill(const RdmaAsked &)> feed_;
};

} // namespace pavo

#endif // PAVO_RDMA_HPP
