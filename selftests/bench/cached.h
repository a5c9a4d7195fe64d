// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cached.h - part of pavo-bench-keys: what the cache of registrations costs. */
#ifndef PAVO_BENCH_CACHED_H
#define PAVO_BENCH_CACHED_H

#include <infiniband/verbs.h>

/*
 * Prints what a buffer of 64 KiB costs that is found in a cache, among 1, 100 and 1000
 * fragments, and what one costs that is registered and deregistered: regions of @pd, and
 * mappings of a job on adapter @device.
 */
void cached(ibv_pd *pd, const char *device);

#endif // PAVO_BENCH_CACHED_H
