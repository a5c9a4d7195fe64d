// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt.hpp - owns contexts of RDMA (rCxts) of the adapter's pool (sources.md#windows-rcxt), and
 * takes them anew after a recovery (sources.md#windows-failover).
 */
#ifndef PAVO_RCXT_HPP
#define PAVO_RCXT_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pavo/window.hpp>

#pragma GCC visibility push(default)

namespace pavo {

/**
 * Number of no context, from a process that uses none (PAVO_JOB_RDMA, pavo_rdma(3)). A peer's
 * operations go by the FIFOs then.
 */
constexpr bool is_no_rcxt(uint32_t rcxt)
{
	return (~rcxt & 0xfffff) == 0;
}

/**
 * Contexts of a window, in a fixed order, which renew() keeps. The destructor gives them back. A
 * moved-from object has none. For the thread that uses the window.
 */
class Rcxts {
public:
	/** Takes @n contexts, which may be 0. @window: has to live longer. Fails as take(). */
	static Result<Rcxts> open(Window &window, size_t n = 0) noexcept;
	/** Aborts their operations, and gives the contexts back. */
	~Rcxts();
	Rcxts(Rcxts &&from) noexcept;
	Rcxts &operator=(Rcxts &&from) noexcept;

	/**
	 * Takes @n more contexts; all or none. Fails with ENOSPC: the adapter has not so many left
	 * (parameter max_rcxts); EDQUOT: this user may not have so many (share_per_user); ENOMEM;
	 * ESHUTDOWN: the window is disabled; EIO: the adapter is gone.
	 */
	Result<void> take(size_t n) noexcept;

	/** Returns their numbers, which a peer needs for its operations. */
	std::span<const uint32_t> numbers() const noexcept { return numbers_; }
	uint32_t operator[](size_t n) const noexcept { return numbers_[n]; }
	size_t size() const noexcept { return numbers_.size(); }
	/** True if a recovery has ended all contexts, and renew() could take no others. */
	bool lost() const noexcept { return size() && gone_ == size(); }

	/**
	 * Aborts their operations: no more of them is sent or placed; those of peers may be tried
	 * again (Window::cancel()). Fails with EINVAL: a recovery of the adapter has taken some of
	 * the contexts, and their operations with them.
	 */
	Result<void> cancel() noexcept;

	/**
	 * Takes as many new contexts if the adapter has recovered, which ends all contexts; else
	 * does nothing. The numbers change. Fails as take(): the numbers then name no context, and
	 * the call may be repeated.
	 */
	Result<void> renew() noexcept;

private:
	explicit Rcxts(Window &window) : window_(&window) {}
	void give_back() noexcept;

	Window *window_;
	std::vector<uint32_t> numbers_;
	/** Number of contexts at the front that have ended. */
	size_t gone_ = 0;
	/** Recoveries of the adapter when the first context was taken. */
	uint32_t recoveries_ = 0;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_RCXT_HPP
