/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pattern.h - bytes that depend on a seed (the message) and on their place in it: a byte
 * shows that lands in the wrong place, belongs to another message or was never written.
 * For C and C++.
 */
#ifndef PAVO_COMMON_PATTERN_H
#define PAVO_COMMON_PATTERN_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Two multiply-xorshift rounds: neighbours in index look unrelated. The seed's low byte is
 * added last: no byte is the same under two seeds that differ in that alone.
 */
static inline uint64_t pattern_word(uint64_t seed, uint64_t index)
{
	uint64_t x = ((seed >> 8) + 1) * 0xd1342543de82ef95ull + index;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	x ^= x >> 32;
	return x ^ (seed & 0xff) * 0x0101010101010101ull;
}

static inline uint8_t pattern_byte(uint64_t seed, uint64_t position)
{
	return (uint8_t)(pattern_word(seed, position / 8) >>
			 (8 * (position % 8)));
}

/* @position: the place of the first byte in the message */
static inline void pattern_fill(void *memory, size_t length, uint64_t seed,
				uint64_t position)
{
	uint8_t *to = (uint8_t *)memory;

	for (; length && position % 8; length--)
		*to++ = pattern_byte(seed, position++);
	for (; length >= 8; to += 8, position += 8, length -= 8) {
		/* As pattern_byte() has its bytes. */
		const uint64_t word = htole64(pattern_word(seed, position / 8));

		memcpy(to, &word, 8);
	}
	while (length--)
		*to++ = pattern_byte(seed, position++);
}

/* Index of the first byte that differs, or -1. */
static inline int64_t pattern_verify(const void *memory, size_t length,
				     uint64_t seed, uint64_t position)
{
	const uint8_t *got = (const uint8_t *)memory;
	size_t at = 0;

	while (at < length) {
		const uint64_t place = position + at;

		if (place % 8 == 0 && length - at >= 8) {
			const uint64_t want =
				htole64(pattern_word(seed, place / 8));

			if (!memcmp(got + at, &want, 8)) {
				at += 8;
				continue;
			}
		}
		if (got[at] != pattern_byte(seed, place))
			return (int64_t)at;
		at++;
	}
	return -1;
}

#ifdef __cplusplus

#include <span>
#include <vector>

namespace common {

template <class Byte = std::byte>
std::vector<Byte> pattern(uint64_t seed, size_t length)
{
	std::vector<Byte> bytes(length);

	pattern_fill(bytes.data(), length, seed, 0);
	return bytes;
}

inline void fill(std::span<std::byte> memory, uint64_t seed,
		 uint64_t position = 0)
{
	pattern_fill(memory.data(), memory.size(), seed, position);
}

inline bool holds(std::span<const std::byte> memory, uint64_t seed,
		  uint64_t position = 0)
{
	return pattern_verify(memory.data(), memory.size(), seed, position) < 0;
}

} // namespace common

#endif /* __cplusplus */

#endif /* PAVO_COMMON_PATTERN_H */
