// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fragment_cache.hpp - lazy deregistration; cache.h describes its behaviour. Private to the
 * library.
 *
 * A hit takes no lock: it counts a use of the entry first, and then checks whether the entry is
 * still the wanted one. Entries are not freed while the cache lives, so they may be read at any
 * time. An entry that is `gone` is not used any more, and is reused only when it has no uses. The
 * rest runs under the mutex.
 */
#ifndef PAVO_FRAGMENT_CACHE_HPP
#define PAVO_FRAGMENT_CACHE_HPP

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include <pavo/cache.h>

#include "fragment_map.hpp"

namespace pavo {

/** A part of the address space. */
struct Range {
	uintptr_t start;
	uintptr_t end;

	static Range of(const void *at, size_t length)
	{
		auto start = reinterpret_cast<uintptr_t>(at);

		return {start, start + length};
	}

	bool covers(const Range &other) const
	{
		return start <= other.start && other.end <= end;
	}
	/** True if the ranges touch or overlap. */
	bool touches(const Range &other) const
	{
		return start <= other.end && other.start <= end;
	}
	size_t length() const { return end - start; }
};

/**
 * @Registrar: registers memory. It has
 *   Registration: its data of a registration;
 *   int enter(uint32_t entry, Range, Registration &): let the kernel watch the memory, then
 *     register it; return: 0 or an errno;
 *   void leave(uint32_t entry, Registration &): deregister it, and stop watching;
 *   bool changed(uint32_t entry): true if the kernel has reported a change since enter().
 */
template <class Registrar> class FragmentCache {
public:
	using Registration = typename Registrar::Registration;

	static constexpr size_t page = 4096;
	static constexpr uint32_t none = FragmentMap::none;

	/** One registration. Its users may read all but the private members. */
	class alignas(64) Entry {
	public:
		Range range{};
		Registration registration{};

	private:
		friend FragmentCache;
		enum State { free, live, ending };

		std::atomic<uint32_t> uses = gone;
		std::atomic<uint32_t> next = none;
		std::atomic<uint64_t> used = 0;
		uint32_t idle = 0;
		State state = free;
	};

	/** Throws std::bad_alloc. Options are checked and complete. */
	FragmentCache(Registrar &registrar, const pavo_cache_options &options)
		: registrar_(registrar), options_(options),
		  map_(options.segments),
		  entries_(std::make_unique<Entry[]>(options.entries))
	{
		for (uint32_t i = options_.entries; i--;)
			push_free(i);
	}

	/** Ends all registrations, used or not. */
	~FragmentCache()
	{
		for (uint32_t i = 0; i < options_.entries; i++)
			if (entries_[i].state != Entry::free)
				registrar_.leave(i, entries_[i].registration);
	}

	FragmentCache(const FragmentCache &) = delete;
	FragmentCache &operator=(const FragmentCache &) = delete;

	/** Forget all registrations, in a child: they belong to the parent. */
	void forget() noexcept
	{
		for (uint32_t i = 0; i < options_.entries; i++)
			entries_[i].state = Entry::free;
	}

	const Entry &entry(uint32_t i) const noexcept { return entries_[i]; }

	/**
	 * Take a use of an entry that covers @wanted, which is not empty and lies in one fragment.
	 * Return: the number of the entry, or a negative errno.
	 */
	int64_t get(Range wanted) noexcept
	{
		uint32_t i = map_.find(wanted.start);

		for (unsigned n = 0; i != none && n < most_of_fragment; n++) {
			if (take(entries_[i], i, wanted))
				return i;
			uint32_t next = entries_[i].next.load(
				std::memory_order_relaxed);
			put(i);
			i = next;
		}
		return miss(wanted);
	}

	/**
	 * As get(), without a lock or a call. @i: set to the number of the entry
	 * Return: the entry; null if it does not cover @wanted: put() it if @i was set.
	 */
	const Entry *get_quickly(Range wanted, uint32_t &i) noexcept
	{
		if (!map_.find_quickly(wanted.start, i))
			return nullptr;
		Entry *entry = &entries_[i];
		return take(*entry, i, wanted) ? entry : nullptr;
	}

	void put(uint32_t i) noexcept
	{
		uint32_t before = entries_[i].uses.fetch_sub(
			1, std::memory_order_acq_rel);

		if (before == (gone | 1)) [[unlikely]]
			last_put(i);
	}

	/** Advance the clock by a second, and end idle registrations. */
	void tick() noexcept
	{
		std::lock_guard lock(mutex_);

		for (uint32_t i = 0; i < options_.entries; i++) {
			Entry &entry = entries_[i];

			if (entry.state != Entry::live)
				continue;
			if (registrar_.changed(i)) {
				retire(i, stats_.changed);
				continue;
			}
			if (entry.used.load(std::memory_order_relaxed) >=
				    last_tick_ ||
			    count(entry))
				entry.idle = 0;
			else if (++entry.idle >= options_.idle_limit)
				retire(i, stats_.idle);
		}
		last_tick_ = clock_.fetch_add(1) + 1;
	}

	pavo_cache_stats stats() noexcept
	{
		std::lock_guard lock(mutex_);

		return stats_;
	}

private:
	/* Bit of Entry::uses: the entry must not be used any more. */
	static constexpr uint32_t gone = 1u << 31;
	/* Registrations of one fragment at a time. */
	static constexpr unsigned most_of_fragment = 4;

	static uint32_t count(const Entry &entry) noexcept
	{
		return entry.uses.load(std::memory_order_acquire) & ~gone;
	}

	/* Take a use of @entry, number @i. Return: false if it does not cover the range any more. */
	bool take(Entry &entry, uint32_t i, const Range &wanted) noexcept
	{
		uint32_t before =
			entry.uses.fetch_add(1, std::memory_order_acquire);

		if (before & gone || !entry.range.covers(wanted) ||
		    registrar_.changed(i)) [[unlikely]]
			return false;
		entry.used.store(clock_.load(std::memory_order_relaxed),
				 std::memory_order_relaxed);
		return true;
	}

	[[gnu::noinline]] void last_put(uint32_t i) noexcept
	{
		std::lock_guard lock(mutex_);

		end_if_unused(i);
	}

	int64_t miss(Range wanted) noexcept
	{
		std::lock_guard lock(mutex_);
		uint32_t i;
		int err;

		drop_changed(wanted.start);
		i = hit_locked(wanted);
		if (i != none)
			return i;
		stats_.misses++;
		clock_.fetch_add(1, std::memory_order_relaxed);
		Range asked = {wanted.start / page * page,
			       (wanted.end + page - 1) / page * page};
		Range more = widened(asked);
		err = more.covers(asked) && asked.covers(more) ? EAGAIN :
								 make(more, i);
		if (err)
			err = make_space_for(asked, i);
		if (err)
			stats_.failures++;
		return err ? -err : int64_t(i);
	}

	/* As get(), with the mutex held, which put() would take. */
	uint32_t hit_locked(const Range &wanted) noexcept
	{
		uint32_t i = map_.find(wanted.start);

		for (; i != none; i = entries_[i].next.load()) {
			Entry &entry = entries_[i];

			if (entry.range.covers(wanted)) {
				entry.uses.fetch_add(1);
				entry.used.store(clock_.load());
				return i;
			}
		}
		return none;
	}

	/* ------------------------------- all below: under the mutex */

	/* Register @range, and evict others if a limit is reached. */
	int make_space_for(const Range &range, uint32_t &entry) noexcept
	{
		int err;

		do
			err = make(range, entry);
		while (is_limit(err) && evict());
		return err;
	}

	/* True for an error of a limit: the call may succeed when another registration has ended. */
	static bool is_limit(int err) noexcept
	{
		switch (err) {
		case ENOMEM: /* of locked memory */
		case EDQUOT: /* of a job */
		case ENOSPC: /* tables of a job */
		case EAGAIN: /* objects of the rdma cgroup */
		case ENOBUFS: /* our own */
			return true;
		default:
			return false;
		}
	}

	/* Make an entry for @range, with one use. */
	int make(const Range &range, uint32_t &made) noexcept
	{
		uint32_t i = free_;
		int err;

		if (i == none ||
		    !map_.set(range.start, first_of(range.start, i)))
			return ENOBUFS;
		Entry &entry = entries_[i];
		err = registrar_.enter(i, range, entry.registration);
		if (err) {
			if (map_.find(range.start) == i)
				map_.clear(range.start);
			return err;
		}
		free_ = entry.next;
		entry.range = range;
		entry.idle = 0;
		entry.used = clock_.load();
		entry.state = Entry::live;
		stats_.entries++;
		stats_.bytes += range.length();
		link(i);
		entry.uses.fetch_add(1);
		entry.uses.fetch_and(~gone, std::memory_order_release);
		made = i;
		return 0;
	}

	/* Return the first entry of a fragment, or @otherwise. */
	uint32_t first_of(uintptr_t at, uint32_t otherwise) const noexcept
	{
		uint32_t i = map_.find(at);

		return i == none ? otherwise : i;
	}

	/* Put @i in front of its fragment's entries, and retire entries that it covers. */
	void link(uint32_t i) noexcept
	{
		Entry &entry = entries_[i];
		uint32_t other = first_of(entry.range.start, i), next;
		unsigned n = 1;

		entry.next = other == i ? none : other;
		map_.set(entry.range.start, i);
		for (other = entry.next; other != none; other = next) {
			next = entries_[other].next;
			if (entry.range.covers(entries_[other].range) ||
			    ++n > most_of_fragment)
				retire(other, stats_.evicted);
		}
	}

	void unlink(uint32_t i) noexcept
	{
		uintptr_t at = entries_[i].range.start;
		uint32_t next = entries_[i].next;
		uint32_t first = map_.find(at);

		if (first == i) {
			if (next == none)
				map_.clear(at);
			else
				map_.set(at, next);
			return;
		}
		while (entries_[first].next != i)
			first = entries_[first].next;
		entries_[first].next = next;
	}

	/* Retire an entry: no caller gets it any more, and it ends with its last use. */
	void retire(uint32_t i, uint64_t &counter) noexcept
	{
		Entry &entry = entries_[i];

		counter++;
		unlink(i);
		entry.state = Entry::ending;
		entry.uses.fetch_or(gone, std::memory_order_acq_rel);
		end_if_unused(i);
	}

	void end_if_unused(uint32_t i) noexcept
	{
		Entry &entry = entries_[i];

		if (entry.state != Entry::ending || count(entry))
			return;
		registrar_.leave(i, entry.registration);
		entry.state = Entry::free;
		stats_.entries--;
		stats_.bytes -= entry.range.length();
		push_free(i);
	}

	void push_free(uint32_t i) noexcept
	{
		entries_[i].next = free_;
		free_ = i;
	}

	void drop_changed(uintptr_t at) noexcept
	{
		for (uint32_t i = map_.find(at), next; i != none; i = next) {
			next = entries_[i].next;
			if (registrar_.changed(i))
				retire(i, stats_.changed);
		}
	}

	/* Evict the least recently used entry. */
	bool evict() noexcept
	{
		uint32_t oldest = none;

		for (uint32_t i = 0; i < options_.entries; i++) {
			const Entry &entry = entries_[i];

			if (entry.state == Entry::live && !count(entry) &&
			    (oldest == none ||
			     entry.used.load() < entries_[oldest].used.load()))
				oldest = i;
		}
		if (oldest == none)
			return false;
		retire(oldest, stats_.evicted);
		return true;
	}

	/*
	 * Return the range to register for @asked: one range with the registered part of the
	 * fragment, at least twice as long each time, so that a process that goes through a fragment
	 * in small steps registers it a few times only.
	 */
	Range widened(const Range &asked) const noexcept
	{
		bool exact = options_.flags & PAVO_CACHE_EXACT;
		uint32_t i = map_.find(asked.start);
		Range all = asked;
		size_t had = 0;

		for (; i != none; i = entries_[i].next) {
			const Range &other = entries_[i].range;

			if (exact && !other.touches(all))
				continue;
			had += other.length();
			all = {std::min(all.start, other.start),
			       std::max(all.end, other.end)};
		}
		if (!had || exact)
			return all;
		uintptr_t first = asked.start & ~(PAVO_CACHE_FRAGMENT - 1);
		if (asked.end == all.end)
			all.end = std::max(all.end,
					   std::min(first + PAVO_CACHE_FRAGMENT,
						    all.start + 2 * had));
		else if (asked.start == all.start)
			all.start = std::min(all.start,
					     all.end - std::min(all.end - first,
								2 * had));
		return all;
	}

	Registrar &registrar_;
	const pavo_cache_options options_;
	std::mutex mutex_; /* all below but clock_, and entries but `uses` */
	FragmentMap map_;
	std::unique_ptr<Entry[]> entries_;
	uint32_t free_ = none;
	/* Counts misses and seconds: the entry with the lowest value is the least recently used. */
	std::atomic<uint64_t> clock_ = 1;
	uint64_t last_tick_ = 0;
	pavo_cache_stats stats_{};
};

} // namespace pavo

#endif // PAVO_FRAGMENT_CACHE_HPP
