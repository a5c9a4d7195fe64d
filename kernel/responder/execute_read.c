// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute_read.c - accept a read request; respond.c answers it.
 */
#include "responder_private.h"

enum pavo_status pavo_execute_read(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_resource *res;
	enum pavo_status status;

	if (!(READ_ONCE(qp->attr.access) & IB_ACCESS_REMOTE_READ) ||
	    !qp->attr.max_dest_rd_atomic || pkt->dma_len > PAVO_MAX_MSG_SIZE)
		return PAVO_ST_INVALID;
	res = pavo_resource_new(qp, pkt);
	if (!res)
		return PAVO_ST_INVALID;
	status = pavo_read_begin(qp, res, pkt);
	if (status)
		return status;
	pavo_read_copy_begin(qp, res);
	pavo_request_answer(qp, pkt, res,
			    max_t(u32, 1,
				  DIV_ROUND_UP(pkt->dma_len, qp->attr.mtu)));
	return PAVO_ST_OK;
}
