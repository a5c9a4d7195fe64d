// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * attached.c - memory of a queue pair that is attached to a packet on this machine: may it still be
 * read? Only as long as the request is unacknowledged, and the key is what it was.
 *
 * Called by the responder of the peer, and by net/ before such a packet leaves the machine.
 */
#include "memory/memory.h"
#include "qp/qp.h"

/* True if the request at @psn was posted, and has not completed. */
static bool is_outstanding(const struct pavo_qp *qp, u32 psn)
{
	int state = pavo_qp_get_state(qp);

	if (state != IB_QPS_RTS && state != IB_QPS_SQD)
		return false;
	return pavo_psn_diff(psn, READ_ONCE(qp->req.recovery.upsn)) >= 0;
}

/* Find the sender of a packet; NULL: it was destroyed. */
static struct pavo_qp *find_sender(u32 port, u32 qpn)
{
	struct pavo_port *sender = pavo_port_numbered(port);

	return sender ? pavo_qp_find(pavo_port_to_dev(sender), qpn) : NULL;
}

bool pavo_qp_may_read(u32 port, u32 qpn, u32 psn, u32 lkey, u32 token)
{
	struct pavo_qp *qp = find_sender(port, qpn);

	return qp && is_outstanding(qp, psn) &&
	       pavo_key_means(qp->dev, lkey, token);
}

struct pavo_conn *pavo_qp_conn(u32 port, u32 qpn)
{
	struct pavo_qp *qp = find_sender(port, qpn);

	return qp ? &qp->conn : NULL;
}
