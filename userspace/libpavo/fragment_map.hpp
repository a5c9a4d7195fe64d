// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * fragment_map.hpp - the fragments of the address space that have registrations: a bit vector of
 * 256 bits for each segment of 4 GiB, in a hash table of segments (sources.md#windows-lazy).
 * Private to the library.
 */
#ifndef PAVO_FRAGMENT_MAP_HPP
#define PAVO_FRAGMENT_MAP_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace pavo {

/**
 * Maps fragments to numbers of entries. One thread changes it at a time. Any thread may call find()
 * meanwhile and get an older entry or none, so the caller checks the entry.
 */
class FragmentMap {
public:
	static constexpr uint32_t none = ~0u;
	static constexpr unsigned fragment_shift = 24;

	explicit FragmentMap(uint32_t segments)
		: most_(segments),
		  table_(std::make_unique<Segment[]>(size(segments))),
		  mask_(size(segments) - 1)
	{
	}

	uint32_t find(uintptr_t at) const noexcept
	{
		const Segment *segment = lookup(at);

		return segment ? segment->find(fragment(at)) : none;
	}

	/**
	 * As find(), but may miss an entry.
	 * Return: false: @entry was not set
	 */
	bool find_quickly(uintptr_t at, uint32_t &entry) const noexcept
	{
		const Segment &segment = table_[start(at)];
		const size_t n = fragment(at);

		if (segment.base.load(std::memory_order_acquire) != base(at) ||
		    !segment.has(n))
			return false;
		entry = segment.entry[n].load(std::memory_order_relaxed);
		return true;
	}

	/** Set the entry of a fragment. Return: false if no segment is free. */
	bool set(uintptr_t at, uint32_t entry) noexcept
	{
		Segment *segment = lookup(at);

		if (!segment)
			segment = add(at);
		if (!segment)
			return false;
		segment->entry[fragment(at)].store(entry,
						   std::memory_order_relaxed);
		segment->mark(fragment(at), true);
		return true;
	}

	void clear(uintptr_t at) noexcept
	{
		if (Segment *segment = lookup(at))
			segment->mark(fragment(at), false);
	}

private:
	static constexpr unsigned segment_shift = 32;
	static constexpr unsigned fragments =
		1u << (segment_shift - fragment_shift);
	static constexpr unsigned word_bits = 64;

	struct Segment {
		/* Upper 32 bits of its addresses. */
		std::atomic<uint64_t> base = unused;
		std::array<std::atomic<uint64_t>, fragments / word_bits> bits{};
		std::array<std::atomic<uint32_t>, fragments> entry{};

		bool has(size_t n) const noexcept
		{
			return bits[n / word_bits].load(
				       std::memory_order_acquire) >>
				       n % word_bits &
			       1;
		}

		uint32_t find(size_t n) const noexcept
		{
			return has(n) ? entry[n].load(
						std::memory_order_relaxed) :
					none;
		}

		void mark(size_t n, bool on) noexcept
		{
			uint64_t bit = uint64_t(1) << n % word_bits;
			auto &word = bits[n / word_bits];

			if (on)
				word.fetch_or(bit, std::memory_order_release);
			else
				word.fetch_and(~bit, std::memory_order_release);
		}

		bool empty() const noexcept
		{
			for (const auto &word : bits)
				if (word.load(std::memory_order_relaxed))
					return false;
			return true;
		}
	};

	static constexpr uint64_t unused = ~uint64_t(0);

	/* Half of the segments stay unused, so that probing ends soon. */
	static uint32_t size(uint32_t segments)
	{
		return std::bit_ceil(segments * 2);
	}

	static size_t fragment(uintptr_t at)
	{
		return at >> fragment_shift & (fragments - 1);
	}

	static uint64_t base(uintptr_t at) { return at >> segment_shift; }

	/* Return the index at which probing for a segment begins. */
	uint32_t start(uintptr_t at) const noexcept
	{
		constexpr uint32_t golden = 0x9e3779b1;

		return (uint32_t(base(at)) * golden >> 16) & mask_;
	}

	Segment *lookup(uintptr_t at) const noexcept
	{
		for (uint32_t n = 0, i = start(at); n <= mask_;
		     n++, i = (i + 1) & mask_) {
			uint64_t found =
				table_[i].base.load(std::memory_order_acquire);

			if (found == base(at))
				return &table_[i];
			if (found == unused)
				return nullptr;
		}
		return nullptr;
	}

	Segment *add(uintptr_t at) noexcept
	{
		if (count_ == most_)
			drop_empty();
		if (count_ == most_)
			return nullptr;
		Segment &segment = place_for(at);
		segment.base.store(base(at), std::memory_order_release);
		count_++;
		return &segment;
	}

	/* Return the first unused segment. There is one, since half are unused. */
	Segment &place_for(uintptr_t at) noexcept
	{
		uint32_t i = start(at);

		while (table_[i].base.load(std::memory_order_relaxed) != unused)
			i = (i + 1) & mask_;
		return table_[i];
	}

	/*
	 * Remove segments without fragments. A segment behind a gap in its probe sequence moves into
	 * the gap, until there is none: each move shortens a sequence.
	 */
	void drop_empty() noexcept
	{
		for (uint32_t i = 0; i <= mask_; i++)
			if (used(i) && table_[i].empty()) {
				table_[i].base = unused;
				count_--;
			}
		for (bool moved = true; moved;) {
			moved = false;
			for (uint32_t i = 0; i <= mask_; i++)
				if (used(i) && !lookup(address(i))) {
					move(i);
					moved = true;
				}
		}
	}

	bool used(uint32_t i) const noexcept
	{
		return table_[i].base.load(std::memory_order_relaxed) != unused;
	}

	/* Of the first byte. */
	uintptr_t address(uint32_t i) const noexcept
	{
		return table_[i].base.load(std::memory_order_relaxed)
		       << segment_shift;
	}

	void move(uint32_t i) noexcept
	{
		Segment &to = place_for(address(i));

		for (unsigned n = 0; n < fragments; n++)
			to.entry[n].store(table_[i].entry[n].load());
		for (size_t n = 0; n < to.bits.size(); n++)
			to.bits[n].store(table_[i].bits[n].exchange(0));
		to.base.store(table_[i].base, std::memory_order_release);
		table_[i].base = unused;
	}

	uint32_t most_;
	uint32_t count_ = 0;
	std::unique_ptr<Segment[]> table_;
	uint32_t mask_;
};

} // namespace pavo

#endif // PAVO_FRAGMENT_MAP_HPP
