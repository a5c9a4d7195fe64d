// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * lazy.hpp - the parts around a FragmentCache: options, the process that owns it, a timer, and the
 * division of buffers into pieces. Private to the library.
 */
#ifndef PAVO_LAZY_HPP
#define PAVO_LAZY_HPP

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include <pavo/cache.h>

#include "fragment_cache.hpp"
#include "watch.hpp"

namespace pavo {

/** Check options and complete them by the defaults. Throws Failure: EINVAL. */
pavo_cache_options completed(const pavo_cache_options &options);

/** Distinguishes the process that made it from a child. */
class Owner {
public:
	/** Throws Failure: ENOMEM. */
	Owner();
	~Owner();
	Owner(const Owner &) = delete;
	Owner &operator=(const Owner &) = delete;

	/** True in the process that made it: the kernel clears the word in a child. */
	bool is_this() const noexcept { return *word_; }

private:
	const volatile uint32_t *word_;
};

/** Calls a function once a second in a thread of its own. */
class Ticker {
public:
	explicit Ticker(std::function<void()> tick);
	~Ticker();
	Ticker(const Ticker &) = delete;
	Ticker &operator=(const Ticker &) = delete;

private:
	std::mutex mutex_; /* stop_ */
	std::condition_variable wake_;
	bool stop_ = false;
	std::thread thread_;
};

/**
 * A cache of one registrar. Refuses requests in a child of the process that made it.
 * @Registrar: see FragmentCache; constructed from (Watch &, arguments)
 */
template <class Registrar> class Lazy {
public:
	using Cache = FragmentCache<Registrar>;

	template <class... Arguments>
	Lazy(const pavo_cache_options &asked, int fd, Arguments &&...arguments)
		: options_(completed(asked)), watch_(fd, options_.entries),
		  registrar_(watch_, std::forward<Arguments>(arguments)...),
		  cache_(registrar_, options_)
	{
		if (!(options_.flags & PAVO_CACHE_NO_TIMER))
			ticker_ = std::make_unique<Ticker>(
				[this] { cache_.tick(); });
	}

	~Lazy()
	{
		if (owner_.is_this())
			return;
		/* A child does not have the thread. */
		(void)ticker_.release();
		watch_.forget();
		cache_.forget();
	}

	Lazy(const Lazy &) = delete;
	Lazy &operator=(const Lazy &) = delete;

	/**
	 * Get the pieces of @all; @make(Entry, number, Range) makes each.
	 * Return: number of pieces in @pieces, or a negative errno.
	 */
	template <class Piece, class Make>
	int get(Range all, std::span<Piece> pieces, Make &&make) noexcept
	{
		return get_quickly(all, pieces, make) ?
			       1 :
			       get_slowly(all, pieces, make);
	}

	/**
	 * As get(), for one piece that is registered. It makes no call, and passes no more than six
	 * arguments on, so that a hit saves no register on the stack.
	 * Return: false if the caller has to call get_slowly(), which puts @pieces[0].entry back.
	 */
	template <class Piece, class Make>
	bool get_quickly(Range all, std::span<Piece> pieces,
			 Make &&make) noexcept
	{
		uint32_t number = Cache::none;

		if (owner_.is_this() && is_one_piece(all) && !pieces.empty())
			[[likely]] {
			const auto *entry = cache_.get_quickly(all, number);

			if (entry) [[likely]] {
				pieces[0] = make(*entry, number, all);
				return true;
			}
		}
		if (!pieces.empty())
			pieces[0].entry = number;
		return false;
	}

	template <class Piece, class Make>
	[[gnu::noinline]] int get_slowly(Range all, std::span<Piece> pieces,
					 Make &&make) noexcept
	{
		int64_t entry = 0;
		size_t n = 0;

		if (!owner_.is_this())
			return -ECHILD;
		if (!pieces.empty() && pieces[0].entry != Cache::none)
			cache_.put(pieces[0].entry);
		if (all.end < all.start)
			return -EFAULT;
		for (Range part = all; part.start < all.end && entry >= 0;
		     part.start = part.end) {
			part.end = std::min(all.end - 1,
					    end_of_fragment(part.start)) +
				   1;
			entry = n < pieces.size() ? cache_.get(part) : -ENOBUFS;
			if (entry >= 0)
				pieces[n++] = make(cache_.entry(entry),
						   uint32_t(entry), part);
		}
		if (entry >= 0)
			return int(n);
		put(std::span<const Piece>(pieces.first(n)));
		return int(entry);
	}

	template <class Piece> void put(std::span<const Piece> pieces) noexcept
	{
		if (!owner_.is_this())
			return;
		for (const Piece &piece : pieces)
			cache_.put(piece.entry);
	}

	void tick() noexcept
	{
		if (owner_.is_this())
			cache_.tick();
	}

	/* All 0 in a child, where a thread of the parent may have held the mutex. */
	pavo_cache_stats stats() noexcept
	{
		return owner_.is_this() ? cache_.stats() : pavo_cache_stats{};
	}

private:
	static bool is_one_piece(const Range &all)
	{
		size_t behind = ~all.start & (PAVO_CACHE_FRAGMENT - 1);

		/* An empty range is none: its length - 1 is the largest number. */
		return all.length() - 1 <= behind;
	}

	static uintptr_t end_of_fragment(uintptr_t at)
	{
		return at | (PAVO_CACHE_FRAGMENT - 1);
	}

	pavo_cache_options options_;
	Owner owner_;
	Watch watch_;
	Registrar registrar_;
	Cache cache_;
	/* Last member, so that it ends first: it uses the cache. */
	std::unique_ptr<Ticker> ticker_;
};

} // namespace pavo

#endif // PAVO_LAZY_HPP
