/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * witness.h - a thread that notes for how long it was without a CPU. Used by tests of loops that
 * must not keep a CPU from other tasks.
 *
 * A busy host takes the CPU from the guest now and then, so the best of some rounds counts, and a
 * round that fails is compared with a thread that computes as long. A loop without a budget fails
 * in each: its work is so much that it takes ten times as long.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <sys/utsname.h>
#include <unistd.h>

#include "slow_kernel.h"

namespace common {

/*
 * A thread that sleeps and wakes; it notes the longest time between two wakings. It sleeps long
 * enough that a native guest on a busy CPU, which loses that CPU at each waking, gets on.
 */
class Witness {
public:
	Witness() : thread_([this] { watch(); })
	{
		while (!wakings_)
			usleep(100);
	}

	~Witness()
	{
		if (thread_.joinable())
			end();
	}
	Witness(const Witness &) = delete;

	/* It has woken up once more. */
	std::chrono::nanoseconds end()
	{
		stop_ = true;
		thread_.join();
		return longest_;
	}

private:
	void watch()
	{
		auto last = std::chrono::steady_clock::now();

		for (bool stop = false; !stop; wakings_++) {
			stop = stop_;
			usleep(1000);
			const auto now = std::chrono::steady_clock::now();

			longest_ = std::max<std::chrono::nanoseconds>(
				longest_, now - last);
			last = now;
		}
	}

	std::atomic<bool> stop_ = false;
	std::atomic<uint64_t> wakings_ = 0;
	std::chrono::nanoseconds longest_ = {};
	std::thread thread_; /* last: it uses the others */
};

/* No loop of the module keeps a CPU from other tasks for so long. */
constexpr auto longest_without_cpu = std::chrono::milliseconds(50);
constexpr int witness_rounds = 10;
/* So long a thread computes for comparison, at most. */
constexpr std::chrono::nanoseconds longest_control = std::chrono::seconds(2);

/*
 * Can a time be judged? In an emulated guest the host's other tasks decide on it, and checkers make
 * a kernel several times slower.
 */
inline bool judges_time()
{
	utsname kernel = {};

	return !uname(&kernel) && strstr(kernel.release, "-native") &&
	       !slow_kernel();
}

/* The longest time that a witness had no CPU, of how much. */
struct WithoutCpu {
	std::chrono::nanoseconds longest, all;
	/* beside a thread that computes as long */
	std::chrono::nanoseconds computing = {};

	/*
	 * A host that is several times slower takes longer for all: a fiftieth of that is allowed.
	 * A guest whose time is not judged passes: its tests look at the module's counts.
	 */
	bool allowed() const
	{
		return !judges_time() ||
		       longest < longest_without_cpu + computing ||
		       longest < all / 50;
	}
};

/* How long a witness has no CPU beside a thread that computes. */
inline std::chrono::nanoseconds
compute_beside_witness(std::chrono::nanoseconds time)
{
	Witness witness;
	const auto end = std::chrono::steady_clock::now() + time;

	while (std::chrono::steady_clock::now() < end)
		;
	return witness.end();
}

/* Drive a loop beside a witness until it has the CPU in time, or the last round ends. */
template <class Drive> WithoutCpu drive_beside_witness(Drive &&drive)
{
	WithoutCpu without;
	int left = witness_rounds;

	do {
		Witness witness;
		const auto begin = std::chrono::steady_clock::now();

		drive();
		without.all = std::chrono::steady_clock::now() - begin;
		without.longest = witness.end();
		without.computing = {};
		if (!without.allowed())
			without.computing = compute_beside_witness(
				std::min(without.all, longest_control));
	} while (!without.allowed() && --left);
	return without;
}

} // namespace common
