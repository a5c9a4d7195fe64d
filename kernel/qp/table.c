// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table.c - the table of QPs by QPN.
 *
 * Owns dev->qps and its lookup cache. Called by verbs/qp_verbs.c and control/ when QPs are made and
 * destroyed, by demux.c for every packet, and by requester/ for every doorbell.
 *
 * Callers look up and use a QP in one RCU section: it is freed a grace period after its removal.
 */
#include "id_alloc.h"
#include "pavo_trace.h"
#include "qp/qp.h"

/* 0 and 1 are the management QPs (IBA 10.2.4.1); some more QPNs stay unused. */
#define PAVO_GSI_QPN 1
#define PAVO_FIRST_QPN 17
#define PAVO_LAST_QPN 0xfffffe

static int choose_qpn(struct pavo_qp *qp, u32 *qpn)
{
	struct xarray *qps = &qp->dev->qps;

	if (qp->ib.qp_type != IB_QPT_GSI)
		return pavo_id_reserve(qps, PAVO_FIRST_QPN, PAVO_LAST_QPN, qpn);
	*qpn = PAVO_GSI_QPN;
	return xa_insert_bh(qps, *qpn, NULL, GFP_KERNEL);
}

int pavo_qp_reserve_qpn(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;
	u32 qpn;
	int err;

	err = choose_qpn(qp, &qpn);
	if (err)
		return err;
	/* The QPN must be in the QP before the QP is in the table. */
	qp->ib.qp_num = qpn;
	qp->key_state.number = qpn;
	xa_lock_bh(&dev->qps);
	/* The QPN has an entry, so the xarray does not allocate. */
	err = xa_err(__xa_store(&dev->qps, qpn, qp, GFP_ATOMIC));
	if (!err)
		pavo_lookup_cache_add(&dev->qp_cache, qpn, qp);
	xa_unlock_bh(&dev->qps);
	if (!err)
		pavo_rkm_add(&qp->key_state);
	return err;
}

void pavo_qp_forget(struct pavo_qp *qp)
{
	struct pavo_dev *dev = qp->dev;
	u32 qpn = qp->ib.qp_num;

	xa_lock_bh(&dev->qps);
	pavo_lookup_cache_remove(&dev->qp_cache, qpn,
				 __xa_erase(&dev->qps, qpn));
	xa_unlock_bh(&dev->qps);
}
