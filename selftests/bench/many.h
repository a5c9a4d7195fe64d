/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* many.h - common to the sources of pavo-bench-many. */
#pragma once

#include <chrono>
#include <iostream>

#include <infiniband/verbs.h>
#include <nlohmann/json.hpp>

constexpr int repetitions = 5;

inline uint64_t now()
{
	return std::chrono::duration_cast<std::chrono::nanoseconds>(
		       std::chrono::steady_clock::now().time_since_epoch())
		.count();
}

/* A line of the results. */
inline void print(const nlohmann::json &row)
{
	std::cout << row.dump() << '\n' << std::flush;
}

/*
 * Prints what a buffer of 64 KiB costs that is found in a cache, among 1, 100 and 1000
 * fragments, and what one costs that is registered and deregistered: regions of @pd, and
 * mappings of a job on adapter @device.
 */
void cached(ibv_pd *pd, const char *device);
