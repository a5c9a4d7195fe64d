/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cache.h - options and statistics of caches that keep memory registered after use
 * (sources.md#windows-lazy): the cache of mappings for windows (mapping_cache.hpp) and that of
 * memory regions for verbs (mr_cache.h). C and C++.
 *
 * A cache divides the address space into fragments of 16 MiB. A buffer that crosses from one
 * fragment to the next consists of several pieces, each with a key or PVO of its own. The
 * registered part of a fragment grows with the requested buffers. The cache ends a registration
 * when it has been idle too long, when its entry is needed, or when the kernel reports a change
 * of the memory: unmapped, replaced, moved, protected, or marked copy-on-write. A process may
 * request the buffer again right after that.
 *
 * A cache belongs to the process that made it. In a child of fork() requests fail with ECHILD and
 * statistics are 0. The child may destroy it; the parent's registrations stay.
 */
#ifndef PAVO_CACHE_H
#define PAVO_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define PAVO_CACHE_FRAGMENT ((size_t)1 << 24)

/** Most pieces of a buffer of @length bytes. */
#define PAVO_CACHE_PIECES(length) ((length) / PAVO_CACHE_FRAGMENT + 2)

/** Flags of struct pavo_cache_options. */
enum pavo_cache_flags {
	/** Start no thread; the program calls pavo_*_tick() once a second. */
	PAVO_CACHE_NO_TIMER = 1,
	/**
	 * Register the pages of requested buffers only. Without it the cache may also register
	 * memory of the process between two buffers of a fragment, or behind one. Buffers that
	 * touch or overlap are registered as one in any case, so a peer that has the key of one
	 * can access the others, too.
	 */
	PAVO_CACHE_EXACT = 2,
};

/** struct pavo_cache_options - options of a cache; 0: the default. */
struct pavo_cache_options {
	uint32_t entries; /* most registrations at a time, up to 65536; 0: 1024 */
	uint32_t segments; /* most segments of 4 GiB that they lie in; 0: 64 */
	uint32_t idle_limit; /* seconds without use; 0: 60 */
	uint32_t flags; /* enum pavo_cache_flags */
};

/** struct pavo_cache_stats - counters since the cache was made. */
struct pavo_cache_stats {
	uint64_t entries; /* registered now */
	uint64_t bytes; /* registered now */
	uint64_t misses; /* requested pieces that had to be registered */
	uint64_t changed; /* registrations that ended since the memory changed */
	uint64_t evicted; /* ... since their entry was needed, or a longer one replaced them */
	uint64_t idle; /* ... since they were idle for idle_limit */
	uint64_t failures; /* pieces that could not be registered */
};

#endif /* PAVO_CACHE_H */
