/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ticks.h - the kernel's ticks (jiffies), by which it keeps counters for their lifespan. */
#ifndef PAVO_COMMON_TICKS_H
#define PAVO_COMMON_TICKS_H

#include <chrono>
#include <ctime>
#include <thread>

namespace common {

/* How long a tick is: 1 to 10 ms. */
inline std::chrono::nanoseconds tick()
{
	timespec time;

	clock_getres(CLOCK_MONOTONIC_COARSE, &time);
	return std::chrono::nanoseconds(time.tv_nsec);
}

/*
 * Wait until jiffies have moved by @count or more. The coarse clock moves in steps of a tick,
 * too, but not at the same moments: it can be a step ahead.
 */
inline void pass_ticks(unsigned count)
{
	using namespace std::chrono;
	auto now = [] {
		timespec time;

		clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
		return seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
	};
	/* The kernel corrects its steps by far less than half a tick. */
	const auto end = now() + (count + 1) * tick() - tick() / 2;

	while (now() < end)
		std::this_thread::sleep_for(milliseconds(1));
}

} // namespace common

#endif /* PAVO_COMMON_TICKS_H */
