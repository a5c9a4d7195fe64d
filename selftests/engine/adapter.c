// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * adapter.c - the adapter of the engine: made and unmade as the module's main.c does, and its
 * counters.
 */
#include <linux/percpu.h>
#include <linux/slab.h>

#include "adapter.h"
#include "demux.h"
#include "memory/memory.h"
#include "net/net_private.h"
#include "id_alloc.h"
#include "parameter.h"
#include "runtime.h"

const struct engine_host *engine_host;
struct pavo_dev *engine_dev;

struct engine_policy engine_policy = {
	.seed = 0x7061766f,
	.quantum = PAVO_QUANTUM,
};

/* Its content is not used: all works are in one queue (clock.c). */
static char wq;

void engine_start(const struct engine_host *host)
{
	static struct net_device interface = {.mtu = 9000};
	struct pavo_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	ENGINE_MUST(!engine_dev && dev);
	engine_seed();
	engine_reset_clock();
	engine_host = host;
	engine_dev = dev;
	strcpy(dev->ib.name, "engine");
	dev->port = (struct pavo_port){
		.ib = &dev->ib,
		.stats = &dev->stats,
		.number = 1,
		.ndev = &interface,
	};
	pavo_ports[0].first = &dev->port.node;
	dev->stats.dev = dev;
	dev->stats.pcpu = alloc_percpu(struct pavo_pcpu_stats);
	ENGINE_MUST(dev->stats.pcpu);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->srqs, XA_FLAGS_ALLOC);
	pavo_objects_init(dev);
	ENGINE_MUST(!pavo_key_table_init(&dev->keys));
	pavo_rkm_init(&dev->rkm);
	pavo_demux_prepare(dev);
	spin_lock_init(&dev->drr_lock);
	pavo_drr_init(&dev->drr, engine_policy.quantum, engine_policy.sends,
		      engine_policy.reads);
	dev->wq = (struct workqueue_struct *)&wq;
	dev->end_wq = dev->wq;
	engine_open_management();
}

void engine_stop(void)
{
	struct pavo_dev *dev = engine_dev;
	int i;

	engine_close_management();
	engine_settle();
	engine_check_rest();
	ENGINE_MUST(!engine_credits());
	ENGINE_MUST(!atomic_read(&dev->held_bytes));
	pavo_ids_destroy(&dev->qps);
	pavo_ids_destroy(&dev->srqs);
	pavo_key_table_destroy(&dev->keys);
	for (i = 0; i < PAVO_OBJ_COUNT; i++)
		ENGINE_MUST(!atomic_read(&dev->used[i]));
	pavo_objects_end(dev);
	free_percpu(dev->stats.pcpu);
	kfree(dev);
	engine_dev = NULL;
}

/* Of the machine, and set as one of the module: see atomic64_try_cmpxchg() of the shim. */
unsigned int shim_failing_exchanges;
pavo_range_param(failing_exchanges, shim_failing_exchanges, 0, 1 << 20, 0644);

extern const struct engine_param __start_engine_params[],
	__stop_engine_params[];

int engine_set_parameter(const char *name, int value)
{
	const struct engine_param *at = __start_engine_params;
	const struct pavo_range *range;
	int old;

	while (at < __stop_engine_params && strcmp(at->name, name))
		at++;
	ENGINE_MUST(at < __stop_engine_params);
	range = at->range;
	old = *range->value;
	if (value >= range->least && (unsigned int)value <= range->most)
		*range->value = value;
	return old;
}

__u32 engine_credits(void)
{
	const struct pavo_drr *drr = &engine_dev->drr;

	return drr->pool[PAVO_POOL_SENDS].used +
	       drr->pool[PAVO_POOL_READS].used;
}

bool engine_counter(const char *name, __u64 *value)
{
	static const char *const names[] = {
#define NAME(counter) #counter,
		PAVO_COUNTERS(NAME) PAVO_DEVICE_COUNTERS(NAME)
#undef NAME
	};
	unsigned int i;

	*value = 0;
	if (!strcmp(name, "bad_pkey_cntr"))
		*value = atomic_read(&engine_dev->bad_pkeys);
	else if (!strcmp(name, "qkey_viol_cntr"))
		*value = atomic_read(&engine_dev->bad_qkeys);
	else {
		for (i = 0; i < ARRAY_SIZE(names); i++)
			if (!strcmp(name, names[i]))
				break;
		if (i == ARRAY_SIZE(names))
			return false;
		*value = engine_dev->stats.pcpu->counter[i];
	}
	return true;
}
