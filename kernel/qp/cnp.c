// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cnp.c - sends congestion notification packets (cnp.h).
 *
 * Called by both sides of a queue pair for packets of the peer that routers have marked.
 */
#include <linux/ktime.h>
#include "net/xmit.h"
#include "qp/cnp.h"
#include "qp/qp.h"

/*
 * Least time between two CNPs of a queue pair, ns. The annex leaves it to the manufacturer; DCQCN
 * (SIGCOMM 2015) has 50 us.
 */
#define PAVO_CNP_PERIOD_NS 50000

/* Both sides may be here at once, and send one each. */
static bool is_cnp_recent(struct pavo_qp *qp)
{
	u64 now = ktime_get_ns();

	if (now - READ_ONCE(qp->cnp_at) < PAVO_CNP_PERIOD_NS)
		return true;
	WRITE_ONCE(qp->cnp_at, now);
	return false;
}

void pavo_cnp_send(struct pavo_qp *qp, struct pavo_tx *tx)
{
	struct pavo_pkt pkt = {
		.opcode = PAVO_OP_CNP,
		.becn = true,
		.pkey = PAVO_PKEY_DEFAULT,
		.dqpn = qp->attr.dest_qpn,
		.npkts = 1,
	};
	struct pavo_xmit x pavo_uncleared;

	if (is_cnp_recent(qp))
		return;
	pavo_xmit_init(&x, tx, &qp->flow, qp->attr.mtu);
	if (!pavo_xmit(&x, &pkt, 0, pavo_xmit_gather_none, NULL))
		pavo_count(qp, np_cnp_sent);
}
