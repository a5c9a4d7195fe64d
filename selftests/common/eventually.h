/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* eventually.h - waits for a condition with a deadline; a test never waits for a time. */
#ifndef PAVO_COMMON_EVENTUALLY_H
#define PAVO_COMMON_EVENTUALLY_H

#include <chrono>
#include <thread>

namespace common {

/* Waits until @condition is so. Return: false: it has not become so in that time. */
template <class Condition>
bool eventually(Condition &&condition,
		std::chrono::milliseconds patience = std::chrono::minutes(1))
{
	const auto end = std::chrono::steady_clock::now() + patience;

	/* The last look is behind the end: this thread may not have run meanwhile. */
	for (bool over = false; !condition();) {
		if (over)
			return false;
		over = std::chrono::steady_clock::now() > end;
		std::this_thread::yield();
	}
	return true;
}

} // namespace common

#endif /* PAVO_COMMON_EVENTUALLY_H */
