/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * hw_stats.h - rdma core's view of the counters of an adapter (stats.h).
 */
#ifndef PAVO_HW_STATS_H
#define PAVO_HW_STATS_H

#include <linux/types.h>
#include "stats.h"

struct ib_device;
struct rdma_hw_stats;

void pavo_hw_stats_sum(const struct pavo_pcpu_stats __percpu *stats,
		       unsigned int first, unsigned int end, u64 *sum);
struct rdma_hw_stats *pavo_hw_stats_alloc(void);
struct rdma_hw_stats *pavo_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port);
struct rdma_hw_stats *pavo_alloc_hw_device_stats(struct ib_device *ibdev);
int pavo_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index);

#endif /* PAVO_HW_STATS_H */
