// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * loan.c - the end of loans: late packets with attached memory of a process (net/net.h).
 *
 * A packet with an ICRC is dropped by its receiver if the process changed the memory meanwhile.
 * A late packet has no ICRC before it meets a device. So the receiver, or the device's cut, asks
 * here instead: the process must still owe the bytes to its peer.
 *
 * Called by the responder and, through net/, for a device. Reads the sender's QP without its lock.
 */
#include "memory/memory.h"
#include "qp/qp.h"

/* Has the request at @psn been posted and not completed? */
static bool is_owed(const struct pavo_qp *qp, u32 psn)
{
	int state = pavo_qp_state(qp);

	if (state != IB_QPS_RTS && state != IB_QPS_SQD)
		return false;
	return pavo_psn_diff(psn, READ_ONCE(qp->req.upsn)) >= 0;
}

bool pavo_loan_stands(const struct pavo_loan *loan, u32 psn)
{
	struct pavo_port *port;
	struct pavo_dev *dev;
	struct pavo_qp *qp;

	if (!loan->port)
		return true;
	port = pavo_port_numbered(loan->port);
	if (!port)
		return false;
	dev = pavo_dev_of(port);
	qp = pavo_qp_find(dev, loan->qpn);
	return qp && is_owed(qp, psn) &&
	       pavo_key_means(dev, loan->lkey, loan->token);
}
