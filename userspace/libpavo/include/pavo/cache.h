/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cache.h - memory that stays registered after use (sources.md#windows-lazy): what
 * caches for windows (mapping_cache.hpp) and for verbs (mr_cache.h) have in common. C and C++.
 *
 * The cache looks at the address space in fragments of 16 MiB. A buffer that crosses from
 * one to the next is given as several pieces, each with a name of its own. The
 * registered part of a fragment grows with what is asked for. It stays registered until it
 * has been idle too long, until room is needed, or until the kernel tells that the
 * memory there is not what it was: unmapped, replaced, moved, protected, or marked
 * copy-on-write. A process may ask for it again right after that.
 *
 * A cache belongs to the process that made it: after fork(), the child is refused
 * (ECHILD), sees statistics that are all 0, and may destroy it, which leaves the parent's registrations alone.
 */
#ifndef PAVO_CACHE_H
#define PAVO_CACHE_H

#include <stddef.h>
#include <stdint.h>

#define PAVO_CACHE_FRAGMENT ((size_t)1 << 24)

/** Most pieces that a buffer of that many bytes can have. */
#define PAVO_CACHE_PIECES(length) ((length) / PAVO_CACHE_FRAGMENT + 2)

/** Flags of struct pavo_cache_options. */
enum pavo_cache_flags {
	/** No thread; pavo_*_tick() is to be called once in a second. */
	PAVO_CACHE_NO_TIMER = 1,
	/**
	 * Nothing is registered that was not asked for, but to the ends of its
	 * pages. Without it what is between two buffers of a fragment may be
	 * registered, too, or what follows, if it is memory of the process.
	 * Buffers that touch or overlap are registered as one all the same, and
	 * one that lies in another has the other's name: who knows the name of a
	 * buffer may reach those beside it that were asked for, too.
	 */
	PAVO_CACHE_EXACT = 2,
};

/** struct pavo_cache_options - all 0: as it is by default. */
struct pavo_cache_options {
	uint32_t entries; /* registrations at a time, up to 65536; 0: 1024 */
	uint32_t segments; /* 4 GiB each, in which they may be; 0: 64 */
	uint32_t idle_limit; /* seconds without use; 0: 60 */
	uint32_t flags; /* enum pavo_cache_flags */
};

/** struct pavo_cache_stats - counted since the cache was made. */
struct pavo_cache_stats {
	uint64_t entries; /* registered now */
	uint64_t bytes; /* registered now */
	uint64_t misses; /* pieces that had to be registered */
	uint64_t changed; /* ended: the memory is not what it was */
	uint64_t evicted; /* ended: room was needed, or a longer one is there */
	uint64_t idle; /* ended: not used for long */
	uint64_t failures; /* pieces that could not be registered */
};

#endif /* PAVO_CACHE_H */
