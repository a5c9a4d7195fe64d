// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * local.c - WQEs that send nothing: bind, register, invalidate.
 *
 * Called by transmit.c when such a WQE's turn has come: everything posted
 * before it has been sent (with a fence: answered), nothing behind it. Each
 * is carried out once; it completes when everything before it has. Touches
 * keys, through translate/.
 */
#include "internal.h"

/*
 * pavo_local_execute - carry out a WQE that sends nothing.
 *
 * Return: 0, a positive enum pavo_vendor_err, or -ENOMEM: try again.
 */
int pavo_local_execute(struct pavo_qp *qp, const struct pavo_swqe *wqe)
{
	switch (wqe->op) {
	case PAVO_WQE_LOCAL_INV:
		return pavo_key_invalidate(qp, wqe->imm);
	case PAVO_WQE_BIND_MW:
		return pavo_mw_bind(qp, wqe->bind);
	case PAVO_WQE_REG_MR:
		return pavo_mr_fast_reg(qp, wqe->bind);
	default:
		return 0;
	}
}
