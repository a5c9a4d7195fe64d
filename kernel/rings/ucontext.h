/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ucontext.h - an open device of a process, with its page of doorbells.
 */
#ifndef PAVO_RINGS_UCONTEXT_H
#define PAVO_RINGS_UCONTEXT_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>
#include "rings/worker.h"

struct pavo_mmap;

/**
 * struct pavo_ucontext - an open device file.
 * @ib:        the object of rdma core, first
 * @page_mmap: memory of @page
 * @page:      doorbell page, shared with the process
 * @db_lock:   for @db_cons, and for taking doorbells from the page
 * @db_cons:   doorbells taken; page->cons is only a copy for the process
 * @worker:    its doorbell worker, if it has one
 */
struct pavo_ucontext {
	struct ib_ucontext ib;
	struct pavo_mmap *page_mmap;
	struct pavo_doorbell_page *page;
	spinlock_t db_lock; /* db_cons, and taking from the page */
	u32 db_cons;
	struct pavo_worker worker;
};

static inline struct pavo_ucontext *to_pavo_uctx(struct ib_ucontext *ib)
{
	return container_of(ib, struct pavo_ucontext, ib);
}

#endif /* PAVO_RINGS_UCONTEXT_H */
