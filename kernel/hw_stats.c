// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * hw_stats.c - reports the counters of an adapter as statistics of its port and of its device.
 *
 * Called by rdma core (`rdma statistic`, sysfs hw_counters); reads the per-CPU counters of
 * stats.h. rdma core adds those of verbs/counter.c to the port's.
 */
#include "adapter.h"

/* in the order of enum pavo_counter: both come from one list */
static const struct rdma_stat_desc pavo_counter_desc[] = {
#define PAVO_CNT_DESC(cnt) { .name = #cnt },
	PAVO_COUNTERS(PAVO_CNT_DESC) PAVO_DEVICE_COUNTERS(PAVO_CNT_DESC)
#undef PAVO_CNT_DESC
};

void pavo_stats_count(const struct pavo_stats *stats, enum pavo_counter counter)
{
	pavo_stats_check(stats);
	this_cpu_add(READ_ONCE(stats->pcpu)->counter[counter], 1);
	if (tracepoint_enabled(pavo_count))
		pavo_count_traced(stats->dev, pavo_counter_desc[counter].name);
}

/**
 * pavo_hw_stats_sum - add up counters of all CPUs.
 * @stats: per CPU
 * @first: enum pavo_counter
 * @end:   behind the last
 * @sum:   a value for each of them, overwritten
 */
void pavo_hw_stats_sum(const struct pavo_pcpu_stats __percpu *stats,
		       unsigned int first, unsigned int end, u64 *sum)
{
	const u64 *one;
	unsigned int i;
	int cpu;

	memset(sum, 0, (end - first) * sizeof(*sum));
	for_each_possible_cpu(cpu) {
		one = per_cpu_ptr(stats, cpu)->counter;
		for (i = first; i < end; i++)
			sum[i - first] += READ_ONCE(one[i]);
	}
}

/**
 * pavo_hw_stats_alloc - allocate rdma core's description of the port's counters.
 *
 * Return: the description, which rdma core frees; NULL: no memory.
 */
struct rdma_hw_stats *pavo_hw_stats_alloc(void)
{
	BUILD_BUG_ON(ARRAY_SIZE(pavo_counter_desc) != PAVO_CNT_COUNT);
	return rdma_alloc_hw_stats_struct(pavo_counter_desc, PAVO_CNT_OF_PORT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

struct rdma_hw_stats *pavo_alloc_hw_device_stats(struct ib_device *ibdev)
{
	return rdma_alloc_hw_stats_struct(pavo_counter_desc + PAVO_CNT_OF_PORT,
					  PAVO_CNT_COUNT - PAVO_CNT_OF_PORT,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

struct rdma_hw_stats *pavo_alloc_hw_port_stats(struct ib_device *ibdev,
					       u32 port)
{
	return pavo_hw_stats_alloc();
}

/**
 * pavo_get_hw_stats - sum the counters of all CPUs.
 * @ibdev: the adapter
 * @stats: of port or device; filled in
 * @port: 1, or 0 for the device
 * @index: not used, all counters are updated
 *
 * Return: number of counters; -EINVAL: no @stats.
 */
int pavo_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		      u32 port, int index)
{
	const unsigned int first = port ? 0 : PAVO_CNT_OF_PORT;
	const unsigned int end = port ? PAVO_CNT_OF_PORT : PAVO_CNT_COUNT;

	if (!stats)
		return -EINVAL;
	pavo_hw_stats_sum(to_pavo_dev(ibdev)->stats.pcpu, first, end,
			  stats->value);
	return end - first;
}
