/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Byte strings and big-endian reading and writing of them.
 *
 * Owns: nothing but these helpers. Used by: packet.cpp, frame.cpp, icrc.cpp.
 */
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace pw {

using Bytes = std::vector<uint8_t>;
using View = std::span<const uint8_t>;

/* A packet that is not what it claims to be; the text says why. */
struct Malformed : std::runtime_error {
	using std::runtime_error::runtime_error;
};

inline void put(Bytes &out, uint64_t value, unsigned octets)
{
	while (octets--)
		out.push_back(static_cast<uint8_t>(value >> (8 * octets)));
}

/* Reads `octets` from the front of `in` and takes them off. */
inline uint64_t take(View &in, unsigned octets, const char *what)
{
	uint64_t value = 0;

	if (in.size() < octets)
		throw Malformed(std::string("ends inside ") + what);
	for (unsigned i = 0; i < octets; i++)
		value = value << 8 | in[i];
	in = in.subspan(octets);
	return value;
}

/* The Internet checksum's sum of 16-bit words, to be folded by fold(). */
inline uint64_t sum16(View data, uint64_t sum = 0)
{
	for (size_t i = 0; i < data.size(); i++)
		sum += static_cast<uint64_t>(data[i]) << (i % 2 ? 0 : 8);
	return sum;
}

inline uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

} // namespace pw
