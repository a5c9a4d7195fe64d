/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Data patterns whose bytes depend on a seed (which message) and on their
 * position in the message, so that a byte that lands in the wrong place, or
 * comes from another message, or was never written, shows.
 *
 * Owns: the pattern function. Used by: local_host.cpp, thread and process tests.
 * Touches: only the memory it is given.
 */
#pragma once

#include <cstddef>
#include <cstdint>

namespace pv {

void pattern_fill(uint8_t *memory, size_t length, uint64_t seed,
		  uint64_t position);

/* Index of the first byte that differs, or -1. */
int64_t pattern_verify(const uint8_t *memory, size_t length, uint64_t seed,
		       uint64_t position);

} // namespace pv
