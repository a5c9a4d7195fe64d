/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * holder.h - a holder of keys: all that memory/ needs of a queue pair.
 */
#ifndef PAVO_HOLDER_H
#define PAVO_HOLDER_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include "adapter.h"
#include "memory/rkm.h"

/**
 * struct pavo_holder - a queue pair, as its keys see it.
 * @dev:     its adapter
 * @number:  QPN, for people
 * @tally:   counters of the queue pair
 * @pd:      whose keys its own requests may name; NULL for XRC targets
 * @peer_pd: whose keys its peer may name: @pd, or on XRC the PD of the SRQ that the request
 *           at hand names (annex A14). The responder's
 * @windows: memory windows of type 2 bound to it, under the key table's lock
 * @rkm:     slots of the keys that its peer uses
 * @work:    runs both sides in process context, on the CPU that began to send: when softirq
 *           time is used up, and when what they waited for is there
 */
struct pavo_holder {
	struct pavo_dev *dev;
	u32 number;
	const struct pavo_tally *tally;
	struct pavo_pd *pd;
	struct pavo_pd *peer_pd;
	struct list_head windows;
	struct pavo_rkm_qp rkm;
	struct work_struct work;
};

/**
 * pavo_holder_continue - let the work of a queue pair go on with the packets of a side.
 * @holder: the queue pair
 * @cpu:    the CPU that sent the first of them: packets from two CPUs overtake each other
 */
static inline void pavo_holder_continue(struct pavo_holder *holder, int cpu)
{
	queue_work_on(cpu, holder->dev->wq, &holder->work);
}

#endif /* PAVO_HOLDER_H */
