/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The frame of every measurement: memory with a pattern, a run before it counts, the run
 * that is timed, and every byte compared.
 *
 * Used by: stream.cpp, latency.cpp, windows.cpp, each with loops of its own.
 */
#pragma once

#include <algorithm>

#include "../../common/pattern.h"
#include "marker.h"
#include "tests.h"

namespace bench {

/*
 * @run: so many messages from slots of @source to those of @target. @compare: what came with
 * what was sent, as verify(). Return: nanoseconds of all.
 */
template <class Run, class Compare>
uint64_t timed_stream(const StreamSpec &spec, const uint8_t *source,
		      uint8_t *target, Run &&run, Compare &&compare)
{
	const size_t stride = stride_of(spec.size);

	/* once round all requests: page tables, caches and timers are warm */
	run(spec.window * spec.queue_pairs);
	blank(target, stride * spec.slots());

	uint64_t start = now();

	mark_begin();
	run(spec.messages);
	mark_end();

	uint64_t elapsed = now() - start;

	compare(target, source, std::min(spec.slots(), spec.messages), stride,
		spec.size);
	return elapsed;
}

/* @run: one message at a time between ends, so many. Return: what it returns, of all. */
template <class End, class Run>
std::vector<uint64_t> timed_latency(const LatencySpec &spec, End &a, End &b,
				    Run &&run)
{
	constexpr int warm_up = 16;
	const size_t stride = stride_of(spec.size);

	pattern_fill(a.out, stride, spec.seed, 0);
	pattern_fill(b.out, stride, spec.seed ^ 0x5555, 0);
	run(warm_up);
	blank(a.in, stride);
	blank(b.in, stride);

	mark_begin();
	std::vector<uint64_t> times = run(spec.messages);
	mark_end();

	if (spec.op != Op::read)
		verify(b.in, a.out, 1, stride, spec.size);
	if (spec.op != Op::write)
		verify(a.in, b.out, 1, stride, spec.size);
	return times;
}

/* Nanoseconds of each @trip, or of a half of it, of so many. */
template <class Trip>
std::vector<uint64_t> times_of(int count, int parts, Trip &&trip)
{
	std::vector<uint64_t> times(count);
	uint64_t start = now();

	for (uint64_t &time : times) {
		trip();

		uint64_t end = now();

		time = (end - start) / parts;
		start = end;
	}
	return times;
}

} // namespace bench
