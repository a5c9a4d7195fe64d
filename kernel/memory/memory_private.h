/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * translate_private.h - between the files of translate/, which alone include it.
 */
#ifndef PAVO_MEMORY_PRIVATE_H
#define PAVO_MEMORY_PRIVATE_H

#include "memory/memory.h"

/**
 * struct pavo_fast - what a region of fast registration has in addition.
 * @none:  what its key means while it is not registered
 * @pages: listed by the consumer, @count of them, at most @max
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
/* Registration: all but the memory; then, with that and its error, the rest. */
struct pavo_mr *pavo_mr_begin(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 virt_addr, int access);
struct ib_mr *pavo_mr_finish(struct pavo_mr *mr, int err);
void pavo_mr_free(struct pavo_mr *mr);
/* Do these rights go together? */
int pavo_check_access(int access);

/* dmabuf.c: nothing is using it; NULL is nothing; sleeps */
void pavo_dmabuf_release(struct pavo_dmabuf *dmabuf);

/*
 * fast.c: a registered region's key means nothing from now on. Return: what it
 * meant. Keys are locked.
 */
struct pavo_region *pavo_mr_fast_end(struct pavo_region *now);

#endif /* PAVO_MEMORY_PRIVATE_H */
