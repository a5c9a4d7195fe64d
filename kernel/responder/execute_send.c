// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute_send.c - carry out a packet of a send.
 */
#include "responder_private.h"

/*
 * Take the receive WQE, and check the key that the request invalidates, before any data is
 * written.
 */
static enum pavo_status begin_send(struct pavo_qp *qp,
				   const struct pavo_pkt *pkt)
{
	enum pavo_status status = pavo_rq_take(qp);

	if (status || !(pkt->info->flags & PAVO_OPF_IETH))
		return status;
	status = pavo_key_check_invalidate(&qp->key_state, pkt->inv_rkey);
	if (status)
		pavo_rq_fail_key(qp, status);
	return status;
}

/* Write the payload to the receive WQE. */
static enum pavo_status write_data(struct pavo_qp *qp, struct pavo_rx *rx)
{
	enum pavo_status status;

	status = pavo_rq_scatter(qp, rx->skb, rx->payload, rx->pkt.payload);
	switch (status) {
	case PAVO_ST_OK:
	case PAVO_ST_RQ_LENGTH:
		return status;
	case PAVO_ST_WAIT:
		return pavo_side_defer_current(&qp->resp.side, PAVO_STAGE_DATA);
	default:
		/* The consumer's WQE is bad: a reason that the peer does not get. */
		pavo_rq_fail(qp, status);
		return PAVO_ST_FAILED;
	}
}

/* Invalidate the key, if the packet names one. */
static enum pavo_status end_key(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_side *side = &qp->resp.side;
	enum pavo_status status;

	if (!(pkt->info->flags & PAVO_OPF_IETH))
		return PAVO_ST_OK;
	status = pavo_key_invalidate(&qp->key_state, pkt->inv_rkey,
				     &side->inval);
	if (status == PAVO_ST_WAIT)
		return pavo_side_defer_current(side, PAVO_STAGE_KEY);
	if (status)
		pavo_rq_fail_key(qp, status);
	return status;
}

static void end_send(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;

	resp->message = PAVO_KIND_SEND;
	if (pkt->info->flags & PAVO_OPF_LAST) {
		pavo_complete_recv(qp, pkt, PAVO_WQE_SEND, resp->wqe->done);
		resp->message = 0;
	}
	pavo_request_done(qp, pkt);
}

enum pavo_status pavo_execute_send(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_side *side = &qp->resp.side;
	enum pavo_status status = PAVO_ST_OK;

	switch (side->stage) {
	case PAVO_STAGE_BEGIN:
		status = begin_send(qp, &rx->pkt);
		if (status)
			break;
		fallthrough;
	case PAVO_STAGE_DATA:
		status = write_data(qp, rx);
		if (!status)
			status = end_key(qp, &rx->pkt);
		break;
	default: /* PAVO_STAGE_KEY: the walk is over */
		pavo_rkm_has_come_back(&side->inval);
	}
	if (!status)
		end_send(qp, &rx->pkt);
	return status;
}
