/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ah.h - address handles: the destination of a datagram, in work requests of kernel consumers.
 */
#ifndef PAVO_AH_H
#define PAVO_AH_H

#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>
#include <rdma/pavo-abi.h>

/**
 * struct pavo_ah - address handle.
 * @ib:      the object of rdma core, first
 * @charge:  its charge to the memory cgroup, see pavo_charge()
 * @account: user that it counts for
 * @av:      address vector, in the form of a WQE's UDSeg
 */
struct pavo_ah {
	struct ib_ah ib;
	void *charge;
	kuid_t account;
	struct pavo_ud_seg av;
};

static inline struct pavo_ah *to_pavo_ah(struct ib_ah *ib)
{
	return container_of(ib, struct pavo_ah, ib);
}

#endif /* PAVO_AH_H */
