// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * control_message.hpp - write and read control messages between libraries (docs/protocol.md):
 * big-endian numbers one behind the other. Private to the library.
 */
#ifndef PAVO_CONTROL_MESSAGE_HPP
#define PAVO_CONTROL_MESSAGE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pavo {

template <size_t size> class ControlWriter {
public:
	/** Append a number of @n bytes. All together have @size bytes. */
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

/** Reads no more bytes than there are: the caller checks the length first. */
class ControlReader {
public:
	explicit ControlReader(std::span<const std::byte> bytes) : bytes_(bytes)
	{
	}

	/** Take the next @n bytes as a number. */
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

#endif // PAVO_CONTROL_MESSAGE_HPP
