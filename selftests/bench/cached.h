// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* cached.h - part of pavo-bench-keys: what the cache of registrations costs. */
#ifndef PAVO_BENCH_CACHED_H
#define PAVO_BENCH_CACHED_H

#include <infiniband/verbs.h>

/*
 * Prints what a buffer of 64 KiB costs that is found in the cache, among 1, 100 and
 * 1000 fragments, and what one costs that is registered and deregistered.
 */
void cached(ibv_pd *pd);

#endif // PAVO_BENCH_CACHED_H
