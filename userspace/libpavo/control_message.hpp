// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * word.hpp - how words are written that libraries say to each other (docs/protocol.md):
 * numbers in their order, the first byte first, the same on all machines. Private to the
 * library.
 */
#ifndef PAVO_WORD_HPP
#define PAVO_WORD_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pavo {

template <size_t size> class WordWriter {
public:
	/** A number of @n bytes. All together they are @size. */
	void put(uint64_t value, size_t n)
	{
		while (n--)
			bytes_.at(at_++) = std::byte(value >> 8 * n);
	}

	const std::array<std::byte, size> &bytes() const { return bytes_; }

private:
	std::array<std::byte, size> bytes_{};
	size_t at_ = 0;
};

/** Of bytes that are as many as will be asked for. */
class WordReader {
public:
	explicit WordReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

	uint64_t get(size_t n)
	{
		uint64_t value = 0;

		for (std::byte byte : bytes_.first(n))
			value = value << 8 | uint8_t(byte);
		bytes_ = bytes_.subspan(n);
		return value;
	}

private:
	std::span<const std::byte> bytes_;
};

} // namespace pavo

#endif // PAVO_WORD_HPP
