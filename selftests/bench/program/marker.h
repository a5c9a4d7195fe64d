/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Marks the measured part of a run for the two profilers: the instruction counter (../counter)
 * sees the marks, and the sampler of the host needs the time of the first one.
 *
 * Owns: the two marks. Used by: the tests, around their timed loops. A mark is
 * a no-operation with a number in it that no compiler emits: on a real machine,
 * and in an emulator without the counter, nothing happens.
 */
#pragma once

#include <cstdint>
#include <ctime>

namespace bench {

inline uint64_t began_ns; /* by the clock that host and guest share */

/* nopl disp32(%rax,%rax,1); the displacement is 'pav' and 1 or 2 */
inline void mark_begin()
{
	timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	began_ns = uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x70, 0x61, 0x76, 0x01" ::
			     : "memory");
}

inline void mark_end()
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x70, 0x61, 0x76, 0x02" ::
			     : "memory");
}

} // namespace bench
