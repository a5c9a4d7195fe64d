// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table.c - the QP table: numbers to QPs.
 *
 * Owns dev->qps. Called by verbs/qp.c and control/ when QPs come and go, by demux.c
 * with every packet and by requester/ with every doorbell.
 *
 * Callers look a QP up and use it in one RCU section: it is freed a grace period after its
 * removal.
 */
#include "number.h"
#include "pavo_trace.h"
#include "qp/qp.h"

/* 0 and 1 are the management QPs (IBA 10.2.4.1); some more numbers stay unused */
#define PAVO_GSI_QPN 1
#define PAVO_FIRST_QPN 17
#define PAVO_LAST_QPN 0xfffffe

struct pavo_qp *pavo_qp_find(struct pavo_dev *dev, u32 qpn)
{
	return xa_load(&dev->qps, qpn);
}

static int give_number(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;
	u32 qpn = PAVO_GSI_QPN;
	int err;

	if (qp->ib.qp_type == IB_QPT_GSI) {
		qp->ib.qp_num = qpn;
		return xa_insert(&dev->qps, qpn, qp, GFP_KERNEL);
	}

	/* The number must be in the QP before the QP is in the table. */
	err = pavo_number_reserve(&dev->qps, PAVO_FIRST_QPN, PAVO_LAST_QPN,
				  &qpn);
	if (err)
		return err;
	qp->ib.qp_num = qpn;
	return xa_err(xa_store(&dev->qps, qpn, qp, GFP_KERNEL));
}

int pavo_qp_number(struct pavo_qp *qp)
{
	int err = give_number(qp);

	if (err)
		return err;
	qp->holder.number = qp->ib.qp_num;
	pavo_rkm_add(&qp->holder);
	return 0;
}

void pavo_qp_forget(struct pavo_qp *qp)
{
	xa_erase(&qp->dev->qps, qp->ib.qp_num);
}
