// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The pattern function: 64-bit words mixed from seed and word index.
 *
 * Owns: the mixing. Called by: whoever fills or checks a buffer.
 */
#include "pattern.h"

#include <cstring>

namespace pv {

namespace {

/* Two multiply-xorshift rounds: neighbours in seed or index look unrelated. */
uint64_t word_at(uint64_t seed, uint64_t index)
{
	uint64_t x = (seed + 1) * 0xd1342543de82ef95ull + index;

	x ^= x >> 31;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 29;
	x *= 0x94d049bb133111ebull;
	x ^= x >> 32;
	return x;
}

uint8_t byte_at(uint64_t seed, uint64_t position)
{
	return word_at(seed, position / 8) >> (8 * (position % 8));
}

} // namespace

void pattern_fill(uint8_t *memory, size_t length, uint64_t seed,
		  uint64_t position)
{
	while (length && position % 8) {
		*memory++ = byte_at(seed, position++);
		length--;
	}
	for (; length >= 8; memory += 8, position += 8, length -= 8) {
		uint64_t word = word_at(seed, position / 8);

		memcpy(memory, &word, 8);
	}
	while (length--)
		*memory++ = byte_at(seed, position++);
}

int64_t pattern_verify(const uint8_t *memory, size_t length, uint64_t seed,
		       uint64_t position)
{
	size_t at = 0;

	while (at < length) {
		if (position % 8 == 0 && length - at >= 8) {
			uint64_t want = word_at(seed, position / 8), got;

			memcpy(&got, memory + at, 8);
			if (got == want) {
				at += 8;
				position += 8;
				continue;
			}
		}
		if (memory[at] != byte_at(seed, position))
			return at;
		at++;
		position++;
	}
	return -1;
}

} // namespace pv
