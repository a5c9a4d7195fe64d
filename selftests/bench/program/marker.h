/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Marks the measured part of a run for the instruction counter (../counter).
 *
 * Owns: the two marks. Used by: the tests, around their timed loops. A mark is
 * a no-operation with a number in it that no compiler emits: on a real machine,
 * and in an emulator without the counter, nothing happens.
 */
#pragma once

namespace bench {

/* nopl disp32(%rax,%rax,1); the displacement is 'pav' and 1 or 2 */
inline void mark_begin()
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x70, 0x61, 0x76, 0x01" ::
			     : "memory");
}

inline void mark_end()
{
	asm volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 0x70, 0x61, 0x76, 0x02" ::
			     : "memory");
}

} // namespace bench
