/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * comp_cntr.h - completion counters: how many operations of the QPs that one is attached to have
 * completed, and how many of them in error (ibv_qp_attach_comp_cntr(3)).
 *
 * A process attaches counters before the QP receives packets, and they stay until the QP is
 * destroyed (verbs/comp_cntr.c). requester/ and responder/ count, with their side locked.
 */
#ifndef PAVO_COMP_CNTR_H
#define PAVO_COMP_CNTR_H

#include <linux/atomic.h>
#include "qp/qp.h"

/**
 * struct pavo_comp_cntr - completion counter.
 * @ib:      the object of rdma core, first
 * @charge:  charge to the memory cgroup, see pavo_charge()
 * @account: user to whom it is accounted
 * @values:  operations that completed, by enum ib_comp_cntr_entry: in success, in error. They wrap
 *           after U64_MAX
 */
struct pavo_comp_cntr {
	struct ib_comp_cntr ib;
	void *charge;
	kuid_t account;
	atomic64_t values[2];
};

static inline struct pavo_comp_cntr *to_pavo_comp_cntr(struct ib_comp_cntr *ib)
{
	return container_of(ib, struct pavo_comp_cntr, ib);
}

/**
 * pavo_comp_count - count an operation that has completed, if a counter is attached for it.
 * @qp: the QP
 * @op: the operation
 * @ok: it completed in success
 */
static inline void pavo_comp_count(struct pavo_qp *qp, enum pavo_comp_op op,
				   bool ok)
{
	/* Pairs with the release in pavo_qp_attach_comp_cntr(). */
	struct pavo_comp_cntr *cntr = READ_ONCE(qp->comp_cntrs[op]);

	if (unlikely(cntr))
		atomic64_inc(&cntr->values[ok ? IB_COMP_CNTR_ENTRY_COMP :
						IB_COMP_CNTR_ENTRY_ERR]);
}

#endif /* PAVO_COMP_CNTR_H */
