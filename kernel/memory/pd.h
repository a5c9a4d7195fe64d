/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pd.h - protection domains: a queue pair uses keys of its own one only.
 */
#ifndef PAVO_PD_H
#define PAVO_PD_H

#include <linux/uidgid.h>
#include <rdma/ib_verbs.h>
#include "memory/rkm.h"

/**
 * struct pavo_pd - protection domain.
 * @ib:     the object of rdma core, first
 * @charge: its charge to the process's memory cgroup, as in other objects: see pavo_charge()
 * @account: user that it counts for
 * @rkm:    its QPs, for the remote key manager
 */
struct pavo_pd {
	struct ib_pd ib;
	void *charge;
	kuid_t account;
	struct pavo_rkm_list rkm;
};

static inline struct pavo_pd *to_pavo_pd(struct ib_pd *ib)
{
	return container_of(ib, struct pavo_pd, ib);
}

#endif /* PAVO_PD_H */
