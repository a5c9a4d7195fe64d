/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * translate_private.h - what the files of translate/ share; no other folder includes it.
 */
#ifndef PAVO_TRANSLATE_PRIVATE_H
#define PAVO_TRANSLATE_PRIVATE_H

#include "../device.h"

/**
 * struct pavo_fast - additional state of a region of fast registration.
 * @none:  meaning of its key while it is not registered
 * @max:   room for pages
 * @count: pages in the list
 * @pages: the list that the consumer made
 */
struct pavo_fast {
	struct pavo_region none;
	u32 max;
	u32 count;
	struct page *pages[];
};

/* region.c: life of the verbs object; sleeps */
struct pavo_mr *pavo_mr_alloc(struct ib_pd *ibpd, int access);
struct ib_mr *pavo_mr_publish(struct pavo_mr *mr);
/*
 * Registration in two steps: begin checks and allocates, then the caller sets the memory;
 * finish publishes the region, or frees it if setting the memory failed with @err.
 */
struct pavo_mr *pavo_mr_begin(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 virt_addr, int access);
struct ib_mr *pavo_mr_finish(struct pavo_mr *mr, int err);
void pavo_mr_free(struct pavo_mr *mr);
/* Do these rights go together? */
int pavo_check_access(int access);

/* dmabuf.c: no packet uses it any more; NULL is allowed; sleeps */
void pavo_dmabuf_release(struct pavo_dmabuf *dmabuf);

/*
 * fast.c: take the meaning of a registered region's key away. Return: the old meaning. Keys
 * are locked.
 */
struct pavo_region *pavo_mr_fast_end(struct pavo_region *now);

#endif /* PAVO_TRANSLATE_PRIVATE_H */
