/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * memory_private.h - declarations for the files of memory/; no other folder includes it.
 */
#ifndef PAVO_MEMORY_PRIVATE_H
#define PAVO_MEMORY_PRIVATE_H

#include "memory/memory.h"

/**
 * struct pavo_fast - additional state of a region of fast registration.
 * @none:  meaning of its key while it is not registered
 * @max:   entries of @pages
 * @count: pages in the list
 * @pages: the list that the consumer made
 */
struct pavo_fast {
	struct pavo_region none;
	u32 max;
	u32 count;
	struct page *pages[];
};

/* region.c: creation and end of the verbs object; sleeps */
struct pavo_mr *pavo_mr_alloc(struct ib_pd *ibpd, int access);
struct ib_mr *pavo_mr_publish(struct pavo_mr *mr);
/*
 * Registration: begin checks and allocates, then the caller sets the memory;
 * finish publishes the region, or frees it if setting the memory failed with @err.
 */
struct pavo_mr *pavo_mr_begin(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 virt_addr, int access);
struct ib_mr *pavo_mr_finish(struct pavo_mr *mr, int err);
void pavo_mr_free(struct pavo_mr *mr);
/* Check a combination of rights: 0 or -EINVAL. */
int pavo_check_access(int access);

/* dmabuf.c: free the memory of a region that no packet uses any more; NULL is allowed; sleeps */
void pavo_dmabuf_release(struct pavo_dmabuf *dmabuf);

/*
 * fast.c: invalidate the key of a registered region. Return: the old meaning. Keys
 * are locked.
 */
struct pavo_region *pavo_mr_fast_end(struct pavo_region *now);

#endif /* PAVO_MEMORY_PRIVATE_H */
