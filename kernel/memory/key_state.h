/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * key_state.h - the key state of a queue pair: all that memory/ needs of it.
 */
#ifndef PAVO_KEY_STATE_H
#define PAVO_KEY_STATE_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "adapter.h"
#include "memory/rkm.h"

/**
 * struct pavo_key_state - keys that a queue pair and its peer may use.
 * @dev:     its adapter
 * @number:  QPN, for debugfs
 * @stats:   counters of the queue pair
 * @pd:      whose keys its own requests may name; NULL for XRC targets
 * @peer_pd: whose keys its peer may name: @pd, or on XRC the PD of the SRQ that the request
 *           in progress names (annex A14). Written by the owner of the responder side
 * @windows: memory windows of type 2 bound to it, under the key table's lock
 * @rkm:     slots of the keys that its peer uses
 * @work:    runs both sides in process context, on the CPU that began to send: when softirq
 *           time is used up, and when pages or a walk that they wait for are there
 */
struct pavo_key_state {
	struct pavo_dev *dev;
	u32 number;
	const struct pavo_stats *stats;
	struct pavo_pd *pd;
	struct pavo_pd *peer_pd;
	struct list_head windows;
	struct pavo_rkm_qp rkm;
	struct work_struct work;
};

/**
 * pavo_key_state_continue - queue the work of a queue pair, which continues its sides.
 * @key_state: of the queue pair
 * @cpu:    the CPU that sent the first of them: packets from two CPUs overtake each other
 */
static inline void pavo_key_state_continue(struct pavo_key_state *key_state,
					   int cpu)
{
	queue_work_on(cpu, key_state->dev->wq, &key_state->work);
}

#endif /* PAVO_KEY_STATE_H */
