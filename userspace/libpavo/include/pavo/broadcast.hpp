// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * broadcast.hpp - RDMA from one window to the memory of many (sources.md#windows-broadcast,
 * sources.md#windows-multicast): each packet is sent once. Members acknowledge by messages, and the
 * library sends what is missing to those that are silent, each by itself.
 */
#ifndef PAVO_BROADCAST_HPP
#define PAVO_BROADCAST_HPP

#include <pavo/language.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <pavo/completion.hpp>
#include <pavo/rdma.hpp>

#pragma GCC visibility push(default)

namespace pavo {

class BroadcastEngine;

/** A group, on which all of its windows have agreed. */
struct BroadcastGroup {
	/** Multicast address. */
	Gid gid = {};
	/** Number, with the bit window_group. */
	uint32_t number = window_group;
	/**
	 * Group contexts, one for each piece under way and one for the last piece of an operation:
	 * 2 to group_rcxts.
	 */
	uint32_t contexts = 5;
};

struct BroadcastOptions {
	BroadcastGroup group = {};
	/** Number of no machine, by which the window sends to the group. */
	uint16_t node = 0;
	/**
	 * Bytes of a piece, the unit of requests and of retries. open() makes it a multiple of
	 * Window::rdma_payload(), so that only the last packet of an operation is not full.
	 */
	uint32_t piece = 1 << 16;
	/** Response timeout of a piece's first attempt, and up to which it doubles. */
	std::chrono::microseconds timeout{20'000};
	std::chrono::microseconds max_timeout{1'000'000};
	/** Attempts before the operation fails with timed_out, up to 512. */
	unsigned attempts = 64;
};

/** An operation: bytes that go to the same place of each member's memory. */
struct BroadcastMove {
	Pvo local;
	/** Of the first byte in the memory that each member has bound. */
	uint64_t offset = 0;
	uint32_t length = 0;
	/** Of BroadcastArrival at each member. */
	uint32_t tag = 0;
};

/**
 * The source of RDMA to a group. Sends by the window of an Rdma, which goes on to do its own work.
 * One for each Rdma. Windows that send to a group take turns: the next one begins when all
 * operations of the last one are over. For one thread at a time.
 */
class Broadcast {
public:
	using Done = Transfer::Done;
	using Clock = Rdma::Clock;

	/**
	 * @rdma: has to live longer, and must not be moved; its window was opened with
	 * WindowOptions::broadcast. Fails with EINVAL: @options, or as Window::set_node();
	 * EOPNOTSUPP: @rdma does no RDMA (PAVO_JOB_RDMA=0); as Rcxts::take().
	 */
	static Result<Broadcast> open(Rdma &rdma,
				      const BroadcastOptions &options) noexcept;
	/** Cancels pending operations; their Done is not called. */
	~Broadcast();
	Broadcast(Broadcast &&from) noexcept;
	Broadcast &operator=(Broadcast &&) = delete;

	/**
	 * Adds a member, which has a BroadcastTarget: operations that begin from now on wait for its
	 * acknowledgment. Its window has to know this window's node, and this window the node of the
	 * member. Fails with EEXIST: it was added; EINVAL: there are 4096 members; ENOMEM.
	 */
	Result<void> add(WindowAddress member) noexcept;
	/** Waits for a member no more, also in operations under way. Fails with EINVAL: no member. */
	Result<void> remove(WindowAddress member) noexcept;

	/**
	 * Begins to move bytes to all members. progress() calls @done once: without error when all
	 * bytes are visible at each member; or with an error: timed_out: a member is silent, see
	 * silent(); bad_address: the bytes are not in the memory that a member has bound;
	 * owner_dead: a PVO of this process named no memory, and the window is dead; or an error of
	 * Window::prepare(). After an error other members may have the bytes.
	 *
	 * Fails with invalid_argument: there is no member; not_enough_memory.
	 */
	Result<void> put(const BroadcastMove &move, Done done);
	/** The same, with a @completion that the program polls. */
	Result<void> put(const BroadcastMove &move,
			 Completion &completion) noexcept;

	/** Calls Rdma::progress(), retries, and calls callbacks. Does not wait. Fails as that. */
	Result<size_t> progress();
	/** Calls progress() until the operation of @completion is over, and returns its result. */
	Result<void> wait(const Completion &completion);
	/** Returns the number of operations that are not over. */
	size_t pending() const;
	/** Returns when progress() has to be called even if nothing arrives; max(): never. */
	Clock::time_point due() const;
	/** Returns the members for which the last operation that timed out has waited. */
	std::vector<WindowAddress> silent() const;
	/** Returns the number of retries, each to one node. */
	uint64_t retries() const;

private:
	Broadcast(Rdma &rdma, Rcxts &&rcxts, const BroadcastOptions &options);

	Rdma *rdma_;
	std::unique_ptr<Rcxts> rcxts_;
	std::unique_ptr<BroadcastEngine> engine_;
};

/** An operation of the group that is complete at this member: all its data is visible. */
struct BroadcastArrival {
	WindowAddress from;
	uint32_t tag;
};

/**
 * A member of a group: binds memory, to which the source writes, and acknowledges. For one thread
 * at a time. Goes on in Rdma::progress().
 */
class BroadcastTarget {
public:
	/**
	 * Joins @group, and binds @length bytes at @memory. @rdma: has to live longer, and must not
	 * be moved. Fails with EINVAL: @group; EOPNOTSUPP: as Broadcast::open(); as Window::join()
	 * and Window::bind().
	 */
	static Result<BroadcastTarget> open(Rdma &rdma,
					    const BroadcastGroup &group,
					    Pvo memory,
					    uint64_t length) noexcept;
	/** Leaves the group: nothing is written to the memory any more. */
	~BroadcastTarget();
	BroadcastTarget(BroadcastTarget &&from) noexcept;
	BroadcastTarget &operator=(BroadcastTarget &&) = delete;

	/**
	 * Sets the callback for complete operations: called once for each. This member acknowledges
	 * the operation when it has returned: the source's put() is not over before that.
	 */
	void on_arrival(std::function<void(const BroadcastArrival &)> call);

private:
	struct State;
	explicit BroadcastTarget(std::unique_ptr<State> state);

	std::unique_ptr<State> state_;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_BROADCAST_HPP
