// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * striped.hpp - one message over several adapters (sources.md#windows-striping). It
 * goes in chunks, each to be told the end of; a lane gets the next one when it has room, so
 * fast lanes carry more than slow ones. If a lane fails, its chunks that are not finished go
 * over the others.
 */
#ifndef PAVO_STRIPED_HPP
#define PAVO_STRIPED_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include <pavo/rdma.hpp>

namespace pavo {

class StripedEngine;

struct StripedOptions {
	/**
	 * Bytes of a chunk, at least 1. All chunks that a lane has under way have to go
	 * through it in the time of an attempt, so a chunk is small.
	 */
	uint32_t chunk = 1 << 16;
	/**
	 * How operations go on a lane (piece is @chunk). A lane is given up after so many
	 * attempts at one chunk: by these, when its end was not told for 10 s. Less is
	 * sooner, but a lane that is only slow is gone, too.
	 */
	RdmaOptions lane{.timeout = std::chrono::microseconds(20'000),
			 .max_timeout = std::chrono::microseconds(500'000),
			 .attempts = 24};
	/**
	 * Time until a control message to the peer is repeated, which doubles up to max_timeout, and
	 * attempts before operations that wait for the answer fail with timed_out.
	 */
	std::chrono::microseconds timeout{20'000};
	std::chrono::microseconds max_timeout{1'000'000};
	unsigned attempts = 64;
};

/** An operation, as RdmaMove, but longer. */
struct StripedMove {
	Pvo local;
	Pvo remote;
	uint64_t length = 0;
	/** The peer's on_arrival() is called, with @tag, when all data can be seen. */
	bool tell = false;
	uint32_t tag = 0;
};

/** An operation that the other end began, to this end or from it: all can be seen. */
struct StripedArrival {
	uint32_t tag;
	uint64_t length;
};

/** State of a lane. */
struct StripedLane {
	/** It carries chunks. */
	bool alive = false;
	/** Why it was given up; connection_aborted: the peer gave it up; none: it was not. */
	Error error;
	/** Chunks, and bytes of them, that it has moved. */
	uint64_t chunks = 0;
	uint64_t bytes = 0;
};

/**
 * Operations between two processes by several lanes. A lane is a window at each end, best
 * of an adapter of its own; all are of the same job, whose buffers have one PVO for all
 * adapters of a machine. It takes over the windows' frames. Both ends add their lanes in
 * the same order. For one thread at a time; nothing happens but in progress(), which the
 * end that begins no operations has to call as well: it is told to give up what failed.
 */
class Striped {
public:
	using Done = Rdma::Done;
	using Clock = Rdma::Clock;

	explicit Striped(const StripedOptions &options = {});
	/** Operations that are not over are cancelled here; their Done is not called. */
	~Striped();
	Striped(const Striped &) = delete;
	Striped &operator=(const Striped &) = delete;

	/**
	 * The next lane, from 0 on, by a window that has routes to the other end.
	 * @contexts: gets those that the other end needs, with the window's address: one for
	 * each chunk that it may have under way on it, at least 1; 4 keep a lane busy.
	 * Fails with EINVAL: there is room for none; as Rcxts::take(). There is no lane then.
	 */
	Result<void> add(Window &window, std::span<uint32_t> contexts) noexcept;
	/**
	 * Address of the other end's lane of that number. Fails with EINVAL: there is none, or
	 * it has no contexts; ENODEV: its adapter here is gone; as Rcxts::take().
	 */
	Result<void> connect(size_t lane, const RdmaPeer &peer) noexcept;

	/**
	 * Bytes from here to there, and from there to here. @done is called in progress(),
	 * once: all bytes can be seen at their target, the other end has heard of it if it
	 * was to, and nothing that any lane still carries will be written there. Or with:
	 * network_unreachable: no lane is left (or local is not mapped, which ends every
	 * window that looks there); bad_address: the other end's memory is not
	 * what the PVO says; timed_out: a lane failed and the other end does not say that
	 * it will take nothing more from it. After the first and the last of these late
	 * packets may still be written to the other end's memory, until its Striped ends.
	 * Fails with not_enough_memory: it was not begun, and @done is not called.
	 */
	Result<void> put(const StripedMove &move, Done done);
	Result<void> get(const StripedMove &move, Done done);
	/** The same; @completion is looked at, in place of a call. */
	Result<void> put(const StripedMove &move,
			 Completion &completion) noexcept;
	Result<void> get(const StripedMove &move,
			 Completion &completion) noexcept;

	/** The same, to be awaited. Throws std::bad_alloc. */
	Transfer put(const StripedMove &move);
	Transfer get(const StripedMove &move);

	/** Called in progress() for what the other end moved and told of, once for each. */
	void on_arrival(std::function<void(const StripedArrival &)> call);

	/** Return: how much there was to do. lane() tells by which error a lane failed. */
	size_t progress();
	/** Operations that are not over. */
	size_t pending() const;
	/** When progress() has to be called though nothing arrives; max(): never. */
	Clock::time_point due() const;

	size_t lanes() const;
	/** State of a lane; of one that does not exist: not alive, error invalid_argument. */
	StripedLane lane(size_t number) const;

private:
	class LanePort;

	Result<void> begin(Direction direction, const StripedMove &move,
			   Done done);
	Result<void> begin(Direction direction, const StripedMove &move,
			   Completion &completion) noexcept;

	std::unique_ptr<LanePort> port_;
	std::unique_ptr<StripedEngine> engine_;
	/** When lanes are asked next whether their adapters are there. */
	Clock::time_point probe_{};
};

} // namespace pavo

#endif // PAVO_STRIPED_HPP
