// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped.hpp - RDMA over several adapters at once (sources.md#windows-striping). Data is divided
 * into chunks. A path gets the next chunk when one of its chunks is complete, so fast paths carry
 * more than slow ones. If a path fails, its chunks go by the others.
 */
#ifndef PAVO_STRIPED_HPP
#define PAVO_STRIPED_HPP

#include <pavo/language.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <pavo/rdma.hpp>

#pragma GCC visibility push(default)

namespace pavo {

class StripedEngine;

struct StripedOptions {
	/**
	 * Bytes of a chunk, at least 1. It has to be small: all chunks under way by a path have to
	 * arrive within its response timeout.
	 */
	uint32_t chunk = 1 << 16;
	/**
	 * Retries of chunks on a path (its piece is @chunk). A path is given up after that many
	 * attempts at one chunk: by default about 10 s. Shorter times also give up paths that are
	 * only slow.
	 */
	RdmaOptions path{.timeout = std::chrono::microseconds(20'000),
			 .max_timeout = std::chrono::microseconds(500'000),
			 .attempts = 24};
	/**
	 * Response timeout of control messages, which doubles up to max_timeout, and attempts after
	 * which operations that wait for the answer fail with timed_out.
	 */
	std::chrono::microseconds timeout{20'000};
	std::chrono::microseconds max_timeout{1'000'000};
	unsigned attempts = 64;
};

/** An operation between memory, as RdmaMove; it may be longer. */
struct StripedMove {
	Pvo local;
	Pvo remote;
	uint64_t length = 0;
	/** Call the peer's on_arrival() with @tag when all data is visible. */
	bool notify = false;
	uint32_t tag = 0;
};

/** A completed operation of the peer that notifies this process: all its data is visible. */
struct StripedArrival {
	uint32_t tag;
	uint64_t length;
};

/** State of a path. */
struct StripedPath {
	/** True if it carries chunks. */
	bool alive = false;
	/** Why it was given up; connection_aborted: by the peer; no error: it was not. */
	Error error;
	/** Chunks and bytes that it has moved. */
	uint64_t chunks = 0;
	uint64_t bytes = 0;
};

/**
 * RDMA between two processes by several paths. A path is a window at each end, usually of an
 * adapter of its own. All windows are of the same job, whose buffers have the same PVO on all
 * adapters of a machine. A Striped takes over the windows' frames. Both ends add their paths in
 * the same order. For one thread at a time. Operations go on only in progress(). An end that
 * begins no operations has to call it as well, to handle the peer's control messages.
 */
class Striped {
public:
	using Done = Rdma::Done;
	using Clock = Rdma::Clock;

	explicit Striped(const StripedOptions &options = {});
	/** Cancels pending operations of this end; their Done is not called. */
	~Striped();
	Striped(const Striped &) = delete;
	Striped &operator=(const Striped &) = delete;

	/**
	 * Adds the next path, from number 0 on. @window: has routes to the peer, and has to live
	 * longer. @contexts: set to numbers that the program sends to the peer with the window's
	 * address: one for each chunk that the peer may have under way by the path, at least 1; 4
	 * keep a path busy. Fails with EINVAL: @contexts is empty; as Rcxts::take(). No path is
	 * added then.
	 */
	Result<void> add(Window &window, std::span<uint32_t> contexts) noexcept;
	/**
	 * Connects a path with the peer's path of the same number. Fails with EINVAL: there is no
	 * such path, or @peer has no contexts; ENODEV: the path's adapter here is gone; as
	 * Rcxts::take().
	 */
	Result<void> connect(size_t path, const RdmaPeer &peer) noexcept;

	/**
	 * Begin to move bytes from this process to the peer (put) or from the peer to this process
	 * (get). progress() calls @done once, without error when all bytes are visible at the
	 * target, the peer was notified (if it was to be), and no packet under way can write there
	 * any more; or with an error: network_unreachable: no path is left (an invalid local PVO
	 * ends every path that uses it); bad_address: the peer's PVO names no memory; timed_out: a
	 * path failed and the peer does not confirm that it has closed it. After
	 * network_unreachable and timed_out delayed packets may still write to the peer's memory
	 * until its Striped is destroyed.
	 *
	 * Fails with not_enough_memory: the operation was not begun, and @done is not called.
	 */
	Result<void> put(const StripedMove &move, Done done);
	Result<void> get(const StripedMove &move, Done done);
	/** The same, with a @completion that the program polls. */
	Result<void> put(const StripedMove &move,
			 Completion &completion) noexcept;
	Result<void> get(const StripedMove &move,
			 Completion &completion) noexcept;

	/** The same, for co_await. Throws std::bad_alloc. */
	Transfer put(const StripedMove &move);
	Transfer get(const StripedMove &move);

	/** Set the callback for operations of the peer that notify this process: once for each. */
	void on_arrival(std::function<void(const StripedArrival &)> call);

	/**
	 * Receives, retries and calls callbacks on all paths. Does not wait. Return: number of
	 * events, 0: none. path() returns the error of a path that failed.
	 */
	size_t progress();
	/** Returns the number of own operations that are not over. */
	size_t pending() const;
	/** Returns when progress() has to be called even if nothing arrives; max(): never. */
	Clock::time_point due() const;

	/** Returns the number of paths. */
	size_t paths() const;
	/** Returns the state of a path; for one that does not exist not alive, and EINVAL. */
	StripedPath path(size_t number) const;

private:
	class PathPort;

	Result<void> begin(Direction direction, const StripedMove &move,
			   Done done);
	Result<void> begin(Direction direction, const StripedMove &move,
			   Completion &completion) noexcept;

	std::unique_ptr<PathPort> port_;
	std::unique_ptr<StripedEngine> engine_;
	/** When to check next whether the adapters of the paths are there. */
	Clock::time_point probe_{};
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_STRIPED_HPP
