/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The measurements: a stream of messages, and one message at a time, over queue pairs or
 * windows.
 *
 * Owns: what is asked for and what is found, and the frame of a measurement. Used by: main.cpp,
 * verbs.cpp, windows.cpp, each with loops of its own.
 */
#pragma once

#include <algorithm>

#include "../../common/pattern.h"
#include "pair.h"

namespace bench {

enum class Op { write, read, send };

/* A stream: bandwidth and message rate. */
struct StreamSpec {
	Op op;
	size_t size;
	int messages; /* of all queue pairs */
	int queue_pairs = 1;
	int window; /* outstanding work requests at most, of each queue pair */
	/* for messages of each queue pair, which take turns; 0: one for each of the window */
	int places = 0;
	int chain; /* work requests per post */
	int signal; /* every so many is signalled */
	uint64_t seed;

	int slots_each() const { return places ? places : window; }
	/* Places for messages at each end. */
	int slots() const { return slots_each() * queue_pairs; }
};

/* One at a time. Write and read: until its completion. Send: ping-pong. */
struct LatencySpec {
	Op op;
	size_t size;
	int messages;
	uint64_t seed;
};

/* Two ends, made for one test. */
class Transport {
public:
	virtual ~Transport() = default;

	/* Whether there is such a message. */
	virtual bool takes(Op op, size_t size) const = 0;
	/* Nanoseconds for all messages of the stream. */
	virtual uint64_t stream(const StreamSpec &spec) = 0;
	/* Nanoseconds of each: a whole trip, for a send half of there and back. */
	virtual std::vector<uint64_t> latency(const LatencySpec &spec) = 0;
};

/* Queue pairs; verbs.cpp. */
class Verbs : public Transport {
public:
	Verbs(Device &a, Device &b, const PairSpec &spec) : pair_(a, b, spec) {}

	bool takes(Op op, size_t size) const override
	{
		return !pair_.a.to_peer ||
		       (op == Op::send &&
			size <= size_t(128) << pair_.a.device.mtu);
	}
	uint64_t stream(const StreamSpec &spec) override;
	std::vector<uint64_t> latency(const LatencySpec &spec) override;

private:
	Pair pair_;
};

/*
 * Opens windows that do nothing, and prints how much memory each takes and how long it takes to
 * open another, several times. They live as long as the result. @count: with that of a sender.
 */
std::shared_ptr<void> open_idle(const Device &device, size_t count);

/* Windows between devices of pavo; windows.cpp. */
std::unique_ptr<Transport> make_windows(const Device &a, const Device &b,
					Wait wait);

/*
 * The frame of every measurement: memory with a pattern, a run before it counts, the run
 * that is timed, and every byte compared.
 */

/*
 * @run: so many messages from slots of @source to those of each of @targets. @compare: what came
 * with what was sent, as verify(). Return: nanoseconds of all.
 */
template <class Run, class Compare>
uint64_t timed_stream(const StreamSpec &spec, const uint8_t *source,
		      const std::vector<uint8_t *> &targets, Run &&run,
		      Compare &&compare)
{
	const size_t stride = stride_of(spec.size);

	/* once round all requests: page tables, caches and timers are warm */
	run(spec.window * spec.queue_pairs);
	for (uint8_t *target : targets)
		blank(target, stride * spec.slots());

	uint64_t start = now();

	mark_begin();
	run(spec.messages);
	mark_end();

	uint64_t elapsed = now() - start;

	for (uint8_t *target : targets)
		compare(target, source, std::min(spec.slots(), spec.messages),
			stride, spec.size);
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
