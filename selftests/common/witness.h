/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * witness.h - a thread that notes for how long it was without a CPU. Used by tests of loops that
 * must not keep a CPU from other tasks.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <unistd.h>

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

} // namespace common
