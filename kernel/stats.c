// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * stats.c - shows the counters of an adapter as port statistics.
 *
 * Called by rdma core (`rdma statistic`, sysfs hw_counters); reads the per-CPU
 * counters that all rooms write.
 */
#include "device.h"

/* in the order of enum pavo_counter: both come from one list */
static const struct rdma_stat_desc pavo_counter_desc[] = {
#define PAVO_CNT_DESC(cnt) { .name = #cnt },
	PAVO_COUNTERS(PAVO_CNT_DESC)
#undef PAVO_CNT_DESC
};

/**
 * pavo_alloc_hw_port_stats - tell rdma core the names of the counters.
 * @ibdev: the adapter
 * @port: 1
 *
 * Return: statistics, freed by rdma core; NULL without memory.
 */
struct rdma_hw_stats *pavo_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port)
{
	return rdma_alloc_hw_stats_struct(pavo_counter_desc,
					  ARRAY_SIZE(pavo_counter_desc),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * pavo_get_hw_stats - sum the counters of all CPUs.
 * @ibdev: the adapter
 * @stats: made by pavo_alloc_hw_port_stats()
 * @port: 1
 * @index: not used, all are brought up to date
 *
 * Return: number of counters, -EINVAL for the device as a whole.
 */
int pavo_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	struct pavo_dev *dev = to_pavo_dev(ibdev);
	int cpu, i;

	BUILD_BUG_ON(ARRAY_SIZE(pavo_counter_desc) != PAVO_CNT_COUNT);
	if (!port || !stats)
		return -EINVAL;

	for (i = 0; i < PAVO_CNT_COUNT; i++) {
		u64 sum = 0, *one;

		for_each_possible_cpu(cpu) {
			one = &per_cpu_ptr(dev->stats, cpu)->counter[i];
			sum += READ_ONCE(*one);
		}
		stats->value[i] = sum;
	}
	return PAVO_CNT_COUNT;
}
