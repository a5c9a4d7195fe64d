/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * odp.h - interface of on-demand paging; included by memory.h.
 * Kernels without MMU notifiers, which notify the adapter that the kernel takes pages back, have
 * no on-demand regions.
 */
#ifndef PAVO_ODP_H
#define PAVO_ODP_H

#include <linux/kconfig.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include "status.h"

struct page;
struct pavo_fault;
struct pavo_dev;
struct pavo_memory;
struct pavo_odp;
struct pavo_key_state;
struct pavo_region;

/* State of pages that a side waits for (memory/odp.c). */
enum pavo_missing_state {
	PAVO_MISSING_NONE,
	PAVO_MISSING_WAITING, /* a pager thread brings them in, then runs the QP's work */
	PAVO_MISSING_FAILED, /* it failed; the side's next attempt finds that and fails, too */
};

/**
 * struct pavo_missing - pages that a side needs.
 * @state: enum pavo_missing_state; the side sets WAITING, and a pager thread or
 *         pavo_fault_detach() ends it
 * @id:    id of the memory, with which the side compares that of its next attempt after FAILED
 * @first: first page, likewise
 * @fault: set while WAITING; under the lock of memory/pager.c
 */
struct pavo_missing {
	int state;
	u64 id;
	unsigned long first;
	struct pavo_fault *fault;
};

#if IS_ENABLED(CONFIG_MMU_NOTIFIER)
#define PAVO_HAS_ODP true

/**
 * pavo_odp_is_present - check whether all pages of a translated range are there.
 * @region: an on-demand region
 * @va:     first byte
 * @len:    bytes
 * @write:  they must be writable, too
 *
 * Context: RCU read side; pages that are there stay until it ends.
 * Return: true if they are.
 */
bool pavo_odp_is_present(const struct pavo_region *region, u64 va, u64 len,
			 bool write);
struct page *pavo_odp_find_page(const struct pavo_odp *odp,
				unsigned long index);

/**
 * pavo_fault_request - have a pager bring in a range that is not there (PAVO_ST_FAULT). The
 * QP's work runs the side afterwards.
 * @key_state: of the QP
 * @missing: of the side that needs the pages
 * @region: the region
 * @va:     first byte
 * @len:    bytes
 * @write:  they are needed for writing
 *
 * Return: PAVO_ST_WAIT, or PAVO_ST_RANGE if the pager has failed to bring the range in.
 *
 * Context: the side is locked; RCU read side.
 */
enum pavo_status pavo_fault_request(struct pavo_key_state *key_state,
				    struct pavo_missing *missing,
				    const struct pavo_region *region, u64 va,
				    u64 len, bool write);

/**
 * pavo_fault_detach - end the wait of a side whose QP is in RESET, and forget an earlier
 * failure. A pager that serves the fault may continue, but runs no side afterwards.
 * @missing: of the side that needs the pages
 *
 * Context: process; no side is locked.
 */
void pavo_fault_detach(struct pavo_missing *missing);

int pavo_pager_init(void);
void pavo_pager_exit(void);

/* region.c. @persistent: pages that are not persistent memory fail as missing ones do. */
int pavo_odp_get(struct pavo_memory *memory, struct pavo_dev *dev, u64 start,
		 u64 length, bool persistent);
/*
 * Bring in all pages of a new region. From now on each has to lie in a PCI device: other memory
 * that the process maps there later was not registered.
 *
 * Return: 0; -EFAULT: a page lies in no device, or lacks rights; another errno of bring_in().
 */
int pavo_odp_fill_device(struct pavo_odp *odp, bool writable);
void pavo_odp_release(struct pavo_odp *odp);
void pavo_odp_set(struct pavo_region *region, const struct pavo_memory *memory);

/* verbs/ */
int pavo_advise_mr(struct ib_pd *ibpd, enum ib_uverbs_advise_mr_advice advice,
		   u32 flags, struct ib_sge *sg_list, u32 num_sge,
		   struct uverbs_attr_bundle *attrs);
#else
#define PAVO_HAS_ODP false
#define pavo_advise_mr NULL

static inline bool pavo_odp_is_present(const struct pavo_region *region, u64 va,
				       u64 len, bool write)
{
	return false;
}

static inline struct page *pavo_odp_find_page(const struct pavo_odp *odp,
					      unsigned long index)
{
	return NULL;
}

static inline enum pavo_status
pavo_fault_request(struct pavo_key_state *state, struct pavo_missing *missing,
		   const struct pavo_region *region, u64 va, u64 len,
		   bool write)
{
	return PAVO_ST_RANGE;
}

static inline void pavo_fault_detach(struct pavo_missing *missing)
{
}

static inline int pavo_pager_init(void)
{
	return 0;
}

static inline void pavo_pager_exit(void)
{
}

static inline int pavo_odp_get(struct pavo_memory *memory, struct pavo_dev *dev,
			       u64 start, u64 length, bool persistent)
{
	return -EOPNOTSUPP;
}

static inline int pavo_odp_fill_device(struct pavo_odp *odp, bool writable)
{
	return -EOPNOTSUPP;
}

static inline void pavo_odp_release(struct pavo_odp *odp)
{
}

static inline void pavo_odp_set(struct pavo_region *region,
				const struct pavo_memory *memory)
{
}
#endif

#endif /* PAVO_ODP_H */
