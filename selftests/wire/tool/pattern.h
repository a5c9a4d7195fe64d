/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Streams: endless byte sequences, one per name, whose every 4 bytes depend on
 * their position, so that a byte of another place or another stream shows.
 *
 * Owns: the function. Used by: memory regions (initial contents), packets built
 * and packets and memory compared. Pure.
 */
#pragma once

#include <cstdint>
#include <string_view>

#include "bytes.h"

namespace pw {

inline uint32_t stream_seed(std::string_view name)
{
	uint32_t seed = 2166136261u;

	for (char c : name)
		seed = (seed ^ static_cast<uint8_t>(c)) * 16777619u;
	return seed;
}

/* The 4 bytes of a stream at 4 * `word`, first byte lowest. */
inline uint32_t stream_word(uint32_t seed, uint64_t word)
{
	uint64_t x = word + (static_cast<uint64_t>(seed) << 32);

	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return static_cast<uint32_t>(x >> 32);
}

inline Bytes stream(std::string_view name, uint64_t position, size_t length)
{
	const uint32_t seed = stream_seed(name);
	Bytes bytes(length);
	uint32_t word = stream_word(seed, position / 4);

	for (size_t i = 0; i < length; i++, position++) {
		if (position % 4 == 0)
			word = stream_word(seed, position / 4);
		bytes[i] = static_cast<uint8_t>(word >> (8 * (position % 4)));
	}
	return bytes;
}

} // namespace pw
