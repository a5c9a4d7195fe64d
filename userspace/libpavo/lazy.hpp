// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * lazy.hpp - what is around a FragmentCache: options, the process it belongs to, the
 * seconds that go by, and buffers in pieces. Private to the library.
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

/** With what is by default; throws std::system_error: EINVAL. */
pavo_cache_options completed(const pavo_cache_options &options);

/** Tells the process that made it from a child. */
class Owner {
public:
	/** Throws std::system_error: ENOMEM. */
	Owner();
	~Owner();
	Owner(const Owner &) = delete;

	/** The kernel wipes the word when it makes a child. */
	bool is_this() const noexcept { return *word_; }

private:
	const volatile uint32_t *word_;
};

/** Calls a function once in a second, from a thread of its own. */
class Ticker {
public:
	explicit Ticker(std::function<void()> tick);
	~Ticker();

private:
	std::mutex mutex_; /* stop_ */
	std::condition_variable wake_;
	bool stop_ = false;
	std::thread thread_;
};

/**
 * A cache of one registrar, as long as the process is the one that made it.
 * @Registrar: see FragmentCache; made of (Watch &, arguments)
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
		/* In a child there is no such thread, and nobody to wait for. */
		(void)ticker_.release();
		watch_.forget();
		cache_.forget();
	}

	/**
	 * Pieces of [@at, @at + @length), made by @make(Entry, number, Range).
	 * Return: how many of @room there are, or -errno and none.
	 */
	template <class Piece, class Make>
	int get(uintptr_t at, size_t length, std::span<Piece> room,
		Make &&make) noexcept
	{
		Range all = {at, at + length};
		uint32_t entry = Cache::none;

		/* All that is not found at once is done elsewhere. */
		if (!owner_.is_this() || !is_one_piece(all) || room.empty() ||
		    !cache_.get_quickly(all, entry)) [[unlikely]]
			return get_slowly(all, room, make, entry);
		room[0] = make(cache_.entry(entry), entry, all);
		return 1;
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

	/* In a child all 0: one of the parent's threads may have held the mutex. */
	pavo_cache_stats stats() noexcept
	{
		return owner_.is_this() ? cache_.stats() : pavo_cache_stats{};
	}

private:
	static bool is_one_piece(const Range &all)
	{
		return all.start < all.end &&
		       (all.start ^ (all.end - 1)) < PAVO_CACHE_FRAGMENT;
	}

	static uintptr_t end_of_fragment(uintptr_t at)
	{
		return at | (PAVO_CACHE_FRAGMENT - 1);
	}

	/* @wrong: is to be put back first, if there is one. */
	template <class Piece, class Make>
	[[gnu::noinline]] int get_slowly(Range all, std::span<Piece> room,
					 Make &&make, uint32_t wrong) noexcept
	{
		int64_t entry = 0;
		size_t n = 0;

		if (!owner_.is_this())
			return -ECHILD;
		if (wrong != Cache::none)
			cache_.put(wrong);
		if (all.end < all.start)
			return -EFAULT;
		for (Range part = all; part.start < all.end && entry >= 0;
		     part.start = part.end) {
			part.end = std::min(all.end - 1,
					    end_of_fragment(part.start)) +
				   1;
			entry = n < room.size() ? cache_.get(part) : -ENOBUFS;
			if (entry >= 0)
				room[n++] = make(cache_.entry(entry),
						 uint32_t(entry), part);
		}
		if (entry >= 0)
			return int(n);
		put(std::span<const Piece>(room.first(n)));
		return int(entry);
	}

	pavo_cache_options options_;
	Owner owner_;
	Watch watch_;
	Registrar registrar_;
	Cache cache_;
	/* Ends first: it uses the cache. */
	std::unique_ptr<Ticker> ticker_;
};

} // namespace pavo

#endif // PAVO_LAZY_HPP
