/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * claim.h - regions whose bytes a work request claims before it uses them.
 *
 * The owner of such a region, a part of the module above memory/, decides when its bytes may be
 * sent and where those of a response go. It may replace entries of the region's list of pages. The
 * region has no rights for peers and takes no messages, so only requesters call the owner.
 */
#ifndef PAVO_CLAIM_H
#define PAVO_CLAIM_H

#include <linux/types.h>
#include "status.h"

struct ib_pd;
struct page;
struct pavo_key_state;
struct pavo_missing;
struct pavo_mr;
struct pavo_region;
struct pavo_stats;

/**
 * struct pavo_claim - a work request that names bytes of such a region.
 * @key_state: key state of its queue pair
 * @wqe:     its number
 * @claimed: it has claimed the bytes before. If they have another claimant now, or none, their
 *           owner ended the claim, and they do not belong to the work request any more
 */
struct pavo_claim {
	struct pavo_key_state *key_state;
	u32 wqe;
	bool claimed;
};

/**
 * struct pavo_claim_ops - functions of the owner. Context: RCU read side, any.
 * @kind:    kind of the key, for debugfs
 * @claim:   claim bytes of the region, at least one, for a work request that begins. Return:
 *           PAVO_ST_OK; PAVO_ST_WAIT: they are not ready; the work of the queue pair runs when they
 *           are. PAVO_ST_STATE: the bytes cannot be claimed, or were claimed by another work
 *           request, or the owner ended the claim; PAVO_ST_RANGE: the owner offers other bytes
 * @load_begin: begin to store the next bytes of a read, which are at va in the work request; store
 *           the address to which the caller copies them in to. Return: PAVO_ST_OK: call @load_end
 *           in this RCU section; PAVO_ST_WAIT: the owner has not taken the bytes before, and
 *           continues the side of missing when it has; PAVO_ST_STATE, PAVO_ST_RANGE: as @claim
 * @load_end: end @load_begin: len bytes were copied; 0: it failed
 * @drained: check whether the owner has taken all bytes of a read. Return: as @load_begin
 * @release: release what a work request that completes or is flushed has claimed at va
 * @copied:  count bytes that were copied into a packet, and not attached, in the counters of the
 *           adapter
 */
struct pavo_claim_ops {
	const char *kind;
	enum pavo_status (*claim)(const struct pavo_claim *claim,
				  const struct pavo_region *region, u64 va,
				  u32 len, bool read);
	enum pavo_status (*load_begin)(const struct pavo_claim *claim,
				       const struct pavo_region *region, u64 va,
				       struct pavo_missing *missing, u64 *to);
	void (*load_end)(const struct pavo_region *region, u64 va, u32 len);
	enum pavo_status (*drained)(const struct pavo_claim *claim,
				    const struct pavo_region *region, u64 va,
				    struct pavo_missing *missing);
	void (*release)(const struct pavo_claim *claim,
			const struct pavo_region *region, u64 va);
	void (*copied)(const struct pavo_stats *stats, u32 len);
};

/**
 * pavo_mr_claimed - make the key of a region that is claimed.
 * @ibpd:   its protection domain
 * @base:   address of its first byte
 * @length: bytes
 * @pages:  its pages, which the owner may replace; each of them exists as long as the key
 * @ops:    functions of the owner
 * @owner:  for @ops, as the region's @owner
 *
 * Context: process, sleeps.
 * Return: the region; ERR_PTR(-ENOMEM), or an errno of pavo_key_insert().
 */
struct pavo_mr *pavo_mr_claimed(struct ib_pd *ibpd, u64 base, u64 length,
				struct page **pages,
				const struct pavo_claim_ops *ops, void *owner);
/** pavo_mr_end_claimed - remove and free the key; waits for a grace period. */
void pavo_mr_end_claimed(struct pavo_mr *mr);

#endif /* PAVO_CLAIM_H */
