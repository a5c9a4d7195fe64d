// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * table.c - the QP table: numbers to QPs.
 *
 * Owns dev->qps and its front. Called by verbs/qp_verbs.c and control/ when QPs come and go, by demux.c
 * with every packet and by requester/ with every doorbell.
 *
 * Callers look a QP up and use it in one RCU section: it is freed a grace period after its
 * removal.
 */
#include "id_alloc.h"
#include "pavo_trace.h"
#include "qp/qp.h"

/* 0 and 1 are the management QPs (IBA 10.2.4.1); some more numbers stay unused */
#define PAVO_GSI_QPN 1
#define PAVO_FIRST_QPN 17
#define PAVO_LAST_QPN 0xfffffe

struct pavo_qp *pavo_qp_find(struct pavo_dev *dev, u32 qpn)
{
	struct pavo_qp *qp = pavo_lookup_cache_find(&dev->qp_cache, qpn);

	return likely(qp && qp->key_state.number == qpn) ?
		       qp :
		       xa_load(&dev->qps, qpn);
}

static int reserve_qpn(struct pavo_qp *qp, u32 *qpn)
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

	err = reserve_qpn(qp, &qpn);
	if (err)
		return err;
	/* The number must be in the QP before the QP is in the table. */
	qp->ib.qp_num = qpn;
	qp->key_state.number = qpn;
	xa_lock_bh(&dev->qps);
	/* The number has an entry, so the xarray allocates nothing. */
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
