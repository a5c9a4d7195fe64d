/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * mmap.h - memory that the module and a process share: rings and doorbell pages.
 */
#ifndef PAVO_RINGS_MMAP_H
#define PAVO_RINGS_MMAP_H

#include <linux/refcount.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>

struct vm_area_struct;

/**
 * struct pavo_mmap - a vmalloc'ed area that user space may map.
 * @entry: rdma core's bookkeeping, first
 * @addr:  the area (vmalloc)
 * @refs:  references: that of @entry, and those of pavo_mmap_hold()
 */
struct pavo_mmap {
	struct rdma_user_mmap_entry entry;
	void *addr;
	refcount_t refs;
};

struct pavo_mmap *pavo_mmap_create(struct ib_ucontext *uctx, size_t size,
				   struct pavo_mmap_info *info);
void pavo_mmap_destroy(struct pavo_mmap *mmap);
void pavo_mmap_hold(struct pavo_mmap *mmap);
void pavo_mmap_put(struct pavo_mmap *mmap);

/* ops of rdma core */
int pavo_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void pavo_mmap_free(struct rdma_user_mmap_entry *entry);

#endif /* PAVO_RINGS_MMAP_H */
