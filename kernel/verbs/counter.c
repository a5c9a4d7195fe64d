// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * counter.c - separate counters for the QPs that an administrator chooses (`rdma statistic qp`).
 *
 * Called by rdma core, which binds QPs by hand or by rule. It adds these counters to the
 * adapter's when it shows those, so a bound QP counts in its own only, at the same cost. rdma
 * core identifies a counter by its id.
 */
#include <linux/slab.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_counter.h>
#include "qp/qp.h"
#include "verbs/verbs.h"

/* Counters of the QPs that are bound to one rdma_counter. */
struct pavo_qp_stats {
	struct pavo_pcpu_stats __percpu *pcpu;
};

static struct rdma_hw_stats *alloc_counter(struct rdma_counter *counter)
{
	return pavo_hw_stats_alloc();
}

static struct pavo_qp_stats *create_qp_stats(struct pavo_dev *dev, u32 *id)
{
	struct pavo_qp_stats *own = kzalloc(sizeof(*own), GFP_KERNEL_ACCOUNT);
	int err;

	if (!own)
		return ERR_PTR(-ENOMEM);
	own->pcpu =
		alloc_percpu_gfp(struct pavo_pcpu_stats, GFP_KERNEL_ACCOUNT);
	if (!own->pcpu) {
		kfree(own);
		return ERR_PTR(-ENOMEM);
	}
	err = xa_alloc(&dev->counters, id, own, xa_limit_31b, GFP_KERNEL);
	if (err) {
		free_percpu(own->pcpu);
		kfree(own);
		return ERR_PTR(err);
	}
	return own;
}

/*
 * Let @ibqp, which has no other counter, count in @counter. A counter without an id is new.
 * rdma core holds the counter's mutex.
 */
static int bind_counter(struct rdma_counter *counter, PAVO_COUNTER_QP)
{
	struct pavo_qp *qp = to_pavo_qp(ibqp);
	struct pavo_qp_stats *own;

	if (counter->id)
		own = xa_load(&qp->dev->counters, counter->id);
	else
		own = create_qp_stats(qp->dev, &counter->id);
	if (IS_ERR(own))
		return PTR_ERR(own);
	WRITE_ONCE(qp->stats.pcpu, own->pcpu);
	ibqp->counter = counter;
	return 0;
}

/*
 * Move @ibqp back to its adapter's counters. A CPU may still be adding to the counters that it
 * leaves.
 */
static int unbind_counter(PAVO_COUNTER_QP)
{
	struct pavo_qp *qp = to_pavo_qp(ibqp);

	WRITE_ONCE(qp->stats.pcpu, qp->dev->stats.pcpu);
	ibqp->counter = NULL;
	return 0;
}

static int update_counter(struct rdma_counter *counter)
{
	struct pavo_dev *dev = to_pavo_dev(counter->device);
	struct pavo_qp_stats *own = xa_load(&dev->counters, counter->id);

	pavo_hw_stats_sum(own->pcpu, 0, PAVO_CNT_OF_PORT,
			  counter->stats->value);
	return 0;
}

/*
 * Free the counters after the last QP was unbound, when rdma core has added them to those of
 * the port. CPUs that were still counting may have added more since: add that to the adapter's
 * counters, so that no count is lost.
 */
static int dealloc_counter(struct rdma_counter *counter)
{
	struct pavo_dev *dev = to_pavo_dev(counter->device);
	struct pavo_qp_stats *own = xa_erase(&dev->counters, counter->id);
	const u64 *one;
	int cpu, i;

	synchronize_rcu();
	/* No QP counts in those of the device. */
	for (i = 0; i < PAVO_CNT_OF_PORT; i++) {
		u64 more = -counter->stats->value[i];

		for_each_possible_cpu(cpu) {
			one = &per_cpu_ptr(own->pcpu, cpu)->counter[i];
			more += *one;
		}
		this_cpu_add(dev->stats.pcpu->counter[i], more);
	}
	free_percpu(own->pcpu);
	kfree(own);
	return 0;
}

const struct ib_device_ops pavo_counter_ops = {
	.counter_alloc_stats = alloc_counter,
	.counter_update_stats = update_counter,
	.counter_bind_qp = bind_counter,
	.counter_unbind_qp = unbind_counter,
	.counter_dealloc = dealloc_counter,

	PAVO_COUNTER_INIT PAVO_COUNTER_OBJ_SIZE
};
