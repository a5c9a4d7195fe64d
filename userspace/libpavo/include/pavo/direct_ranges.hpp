// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * direct_ranges.hpp - addresses of the ranges of a direct window, and the free ranges
 * (sources.md#direct). A range that is taken has no buffer before it is armed. Pure.
 */
#ifndef PAVO_DIRECT_RANGES_HPP
#define PAVO_DIRECT_RANGES_HPP

#include <pavo/language.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)

namespace pavo {

/** A byte of a window. */
struct DirectPlace {
	uint32_t range = 0;
	uint32_t offset = 0;

	friend bool operator==(const DirectPlace &,
			       const DirectPlace &) = default;
};

/** Addresses of a window in work requests; the first one need not be aligned. */
struct DirectShape {
	uint64_t base = 0;
	uint32_t ranges = 0;
	uint32_t range_size = 0;

	constexpr uint64_t length() const
	{
		return uint64_t(ranges) * range_size;
	}
	/** Returns the address of a byte of a range. */
	constexpr uint64_t address(uint32_t range, uint32_t offset = 0) const
	{
		return base + uint64_t(range) * range_size + offset;
	}
	/** Finds the byte with that address; none: the window has no such address. */
	constexpr std::optional<DirectPlace> find(uint64_t address) const
	{
		uint64_t offset = address - base;

		if (address < base || offset >= length())
			return {};
		return DirectPlace{uint32_t(offset / range_size),
				   uint32_t(offset % range_size)};
	}
};

/**
 * The free ranges of a window. The range that has been free for the longest time is taken first, so
 * that a slow device finds a range that is not armed rather than another operation. Threads may call
 * it concurrently.
 */
class DirectRanges {
public:
	/** Makes @count free ranges. Throws std::bad_alloc. */
	explicit DirectRanges(uint32_t count) : ring_(count), taken_(count)
	{
		for (uint32_t i = 0; i < count; i++)
			ring_[i] = i;
		free_ = count;
	}

	/** Takes a free range; none: all are taken. */
	std::optional<uint32_t> take() noexcept
	{
		std::lock_guard guard(mutex_);

		if (!free_)
			return {};
		uint32_t range = ring_[first_];

		first_ = (first_ + 1) % ring_.size();
		free_--;
		taken_[range] = true;
		return range;
	}

	/** Gives a range back. Return: false if it was not taken. */
	bool give(uint32_t range) noexcept
	{
		std::lock_guard guard(mutex_);

		if (range >= taken_.size() || !taken_[range])
			return false;
		taken_[range] = false;
		ring_[(first_ + free_++) % ring_.size()] = range;
		return true;
	}

	/** Returns the number of free ranges. */
	size_t free() const noexcept
	{
		std::lock_guard guard(mutex_);

		return free_;
	}

private:
	mutable std::mutex mutex_;
	std::vector<uint32_t> ring_; /* free ones from first_ on */
	std::vector<bool> taken_;
	size_t first_ = 0;
	size_t free_ = 0;
};

} // namespace pavo

#pragma GCC visibility pop

#endif // PAVO_DIRECT_RANGES_HPP
