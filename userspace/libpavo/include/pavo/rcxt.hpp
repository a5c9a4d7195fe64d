// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rcxt.hpp - contexts of RDMA (rCxts) that are given back by themselves: the pool of them
 * (sources.md#windows-rcxt), and recovery (sources.md#windows-failover).
 */
#ifndef PAVO_RCXT_HPP
#define PAVO_RCXT_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <pavo/window.hpp>

namespace pavo {

/**
 * Contexts of a window, as long as this lives, and in a fixed order, so that the n-th is
 * the n-th also after renew(). It can be moved; what it was moved from has none. For the
 * thread that uses the window.
 */
class Rcxts {
public:
	/** @n of them; 0: none so far. @window: has to live as long. Fails as take(). */
	static Result<Rcxts> open(Window &window, size_t n = 0) noexcept;
	/** Aborts their operations, and gives them back. */
	~Rcxts();
	Rcxts(Rcxts &&from) noexcept;
	Rcxts &operator=(Rcxts &&from) noexcept;

	/**
	 * @n more, behind those that there are; all or none. Fails with ENOSPC: the adapter
	 * has not so many left (parameter max_rcxts); EDQUOT: nor may this user have so
	 * many (share_per_user); ENOMEM; ESHUTDOWN: the window was disabled; EIO: the
	 * adapter is gone.
	 */
	Result<void> take(size_t n) noexcept;

	/** Their numbers, by which the other end knows them. */
	std::span<const uint32_t> numbers() const noexcept { return numbers_; }
	uint32_t operator[](size_t n) const noexcept { return numbers_[n]; }
	size_t size() const noexcept { return numbers_.size(); }

	/**
	 * Aborts their operations: no more of them is sent or placed; those of peers may be tried
	 * again (Window::cancel()). Fails with EINVAL: a recovery of the adapter has taken some of
	 * the contexts, and their operations with them.
	 */
	Result<void> cancel() noexcept;

	/**
	 * Takes as many contexts anew, with other numbers, if the adapter has recovered, which ends
	 * all contexts; else does nothing. Fails as take(); the numbers name no context then, and it
	 * may be called again.
	 */
	Result<void> renew() noexcept;

private:
	explicit Rcxts(Window &window) : window_(&window) {}
	void give_back() noexcept;

	Window *window_;
	std::vector<uint32_t> numbers_;
	/** So many of the first are not there any more. */
	size_t gone_ = 0;
	/** Of the adapter, when the first was taken. */
	uint32_t recoveries_ = 0;
};

} // namespace pavo

#endif // PAVO_RCXT_HPP
