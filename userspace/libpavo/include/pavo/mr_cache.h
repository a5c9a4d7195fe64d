/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mr_cache.h - a cache of memory regions of verbs, which stay registered after use; see cache.h.
 * C and C++.
 */
#ifndef PAVO_MR_CACHE_H
#define PAVO_MR_CACHE_H

#include <infiniband/verbs.h>

#include <pavo/cache.h>

#pragma GCC visibility push(default)

#ifdef __cplusplus
extern "C" {
#endif

struct pavo_mr_cache;

/** struct pavo_mr_piece - a buffer, or its part in one fragment, and its keys. */
struct pavo_mr_piece {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t entry; /* for the cache */
};

/**
 * pavo_mr_cache_create - make a cache of memory regions.
 * @pd:      protection domain of the regions; has to live longer
 * @access:  access rights of all regions (IBV_ACCESS_*); remote rights imply PAVO_CACHE_EXACT
 * @options: NULL: the defaults
 *
 * Return: the cache, or NULL with errno EPROTONOSUPPORT, EOPNOTSUPP: @pd is not of an adapter of
 * pavo, or the kernel does not report changes of memory (CONFIG_MMU_NOTIFIER); EINVAL: @options;
 * ENOMEM.
 */
struct pavo_mr_cache *
pavo_mr_cache_create(struct ibv_pd *pd, int access,
		     const struct pavo_cache_options *options);

/** pavo_mr_cache_destroy - destroy a cache. All pieces must have been put back. */
void pavo_mr_cache_destroy(struct pavo_mr_cache *cache);

/**
 * pavo_mr_cache_get - get the keys of a buffer. Call pavo_mr_cache_put() after use.
 * @cache:  the cache
 * @addr:   first byte of the buffer
 * @length: its bytes
 * @pieces: set to the pieces of the buffer, in order
 * @max_pieces: number of elements of @pieces; PAVO_CACHE_PIECES(@length) are always enough
 *
 * A hit makes no system call. A miss calls ibv_reg_mr(), which allocates memory; the cache itself
 * allocates none. Threads may call it concurrently.
 *
 * Return: number of pieces; -ECHILD: this process is a child of the one that made the cache;
 * -ENOBUFS: @max_pieces is too small, or all entries are in use; -ENOMEM: more than RLIMIT_MEMLOCK;
 * -EPERM: the process may lock no memory; -EAGAIN: the rdma cgroup is full; -EFAULT: the process
 * may not access all of the memory in that way.
 */
int pavo_mr_cache_get(struct pavo_mr_cache *cache, const void *addr,
		      size_t length, struct pavo_mr_piece *pieces,
		      unsigned int max_pieces);

/** pavo_mr_cache_put - end the use of @count pieces that pavo_mr_cache_get() has set. */
void pavo_mr_cache_put(struct pavo_mr_cache *cache,
		       const struct pavo_mr_piece *pieces, unsigned int count);

/** pavo_mr_cache_tick - end idle registrations. Call it once a second with PAVO_CACHE_NO_TIMER. */
void pavo_mr_cache_tick(struct pavo_mr_cache *cache);

/** pavo_mr_cache_query - set @stats to the counters; to 0 in a child of the owner. */
void pavo_mr_cache_query(struct pavo_mr_cache *cache,
			 struct pavo_cache_stats *stats);

#ifdef __cplusplus
}
#endif

#pragma GCC visibility pop

#endif /* PAVO_MR_CACHE_H */
