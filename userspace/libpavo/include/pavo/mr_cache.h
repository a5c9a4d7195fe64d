/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mr_cache.h - memory regions of verbs, kept after use; see cache.h. C and C++.
 */
#ifndef PAVO_MR_CACHE_H
#define PAVO_MR_CACHE_H

#include <infiniband/verbs.h>

#include <pavo/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pavo_mr_cache;

/** struct pavo_mr_piece - a buffer, or the part of it that is in one fragment. */
struct pavo_mr_piece {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t entry; /* the cache's */
};

/**
 * pavo_mr_cache_create - a cache of regions of @pd, which has to live longer.
 * @access:  of all of them (IBV_ACCESS_*); with rights for others PAVO_CACHE_EXACT is
 *           a matter of course
 * @options: NULL: as it is by default
 *
 * Return: the cache; NULL and errno: EPROTONOSUPPORT, EOPNOTSUPP: not an adapter of
 * pavo, or the kernel cannot tell when memory changes; EINVAL; ENOMEM.
 */
struct pavo_mr_cache *
pavo_mr_cache_create(struct ibv_pd *pd, int access,
		     const struct pavo_cache_options *options);

/** pavo_mr_cache_destroy - nothing may be in use any more. */
void pavo_mr_cache_destroy(struct pavo_mr_cache *cache);

/**
 * pavo_mr_cache_get - keys of a buffer, to be given to pavo_mr_cache_put() after use.
 * @pieces: for PAVO_CACHE_PIECES(@length) of them, @room being how many
 *
 * A piece that is found costs no call of the kernel. For others ibv_reg_mr() allocates
 * memory; the cache itself allocates none. Several threads may call it.
 *
 * Return: how many of @pieces there are, in order, as long as the buffer together;
 * -ECHILD; -ENOBUFS: @room is too small, or all entries are in use; -ENOMEM: more
 * than may be locked; -EPERM: no memory may be locked at all; -EAGAIN: as many
 * objects as the rdma cgroup may have; -EFAULT: not memory that the process may use so.
 */
int pavo_mr_cache_get(struct pavo_mr_cache *cache, const void *addr,
		      size_t length, struct pavo_mr_piece *pieces,
		      unsigned int room);

/** pavo_mr_cache_put - a use of what pavo_mr_cache_get() gave is over. */
void pavo_mr_cache_put(struct pavo_mr_cache *cache,
		       const struct pavo_mr_piece *pieces, unsigned int count);

/** pavo_mr_cache_tick - once in a second; see PAVO_CACHE_NO_TIMER. */
void pavo_mr_cache_tick(struct pavo_mr_cache *cache);

/** pavo_mr_cache_query - what has been counted; in a child of its owner all 0. */
void pavo_mr_cache_query(struct pavo_mr_cache *cache,
			 struct pavo_cache_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* PAVO_MR_CACHE_H */
