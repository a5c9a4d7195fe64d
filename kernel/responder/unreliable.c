// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * unreliable.c - receiving on UC queue pairs (IBA 9.8.2).
 *
 * The peer gets no response. If a packet of a message is lost, no receive is posted or the
 * memory may not be written, the rest of the message is
 * dropped and counted, and the next First or Only packet begins another one. A bad
 * posted receive is an error of this end: the QP goes to Error.
 * Called by responder.c with the side owned.
 */
#include "responder_private.h"

/*
 * Give up the message in progress, and end its use of a key. Its receive WQE is kept for the next
 * message.
 */
static void drop_message(struct pavo_qp *qp)
{
	pavo_use_end(&qp->key_state, PAVO_KEY_SLOT_WRITE);
	qp->resp.message = 0;
	pavo_rq_rewind(qp);
}

/* Drop the message whose packet failed, or move the QP to Error if this end is at fault. */
static void refuse_message(struct pavo_qp *qp, enum pavo_status status)
{
	if (status == PAVO_ST_FAILED) {
		pavo_qp_error(qp, IB_EVENT_QP_FATAL);
		return;
	}
	if (status == PAVO_ST_NOT_READY)
		pavo_count(qp, out_of_buffer);
	else if (status == PAVO_ST_RQ_LENGTH)
		pavo_count(qp, rx_drop_recv_length);
	else if (status == PAVO_ST_INVALID)
		pavo_count(qp, rx_drop_invalid_request);
	else
		pavo_count(qp, rx_drop_access);
	drop_message(qp);
}

/* Drop the message in progress if packets of it were lost. */
static void check_sequence(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;
	bool gap = pkt->psn != resp->epsn;

	if (unlikely(pavo_psn_far(pavo_psn_diff(pkt->psn, resp->epsn))))
		resp->far_psns++;
	if (gap)
		pavo_count(qp, out_of_sequence);
	else if (resp->message && pkt->info->flags & PAVO_OPF_FIRST)
		pavo_count(qp, rx_drop_invalid_request);
	else
		return;
	if (resp->message)
		drop_message(qp);
}

/* pavo_execute_unreliable - execute one UC request packet. Return: PAVO_ST_WAIT: it is deferred. */
enum pavo_status pavo_execute_unreliable(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;
	enum pavo_status status = PAVO_ST_OK;

	check_sequence(qp, pkt);
	if (!resp->message && !(pkt->info->flags & PAVO_OPF_FIRST))
		pavo_count(qp, rx_drop_out_of_sequence);
	else if (!pavo_fits_message(qp, pkt))
		status = PAVO_ST_INVALID;
	else
		status = pavo_request_handlers[pkt->info->kind](qp, rx);
	if (unlikely(status == PAVO_ST_WAIT))
		return status;
	if (unlikely(status))
		refuse_message(qp, status);
	/* Also a dropped packet uses up its PSN. */
	resp->epsn = pavo_psn_add(pkt->psn, 1);
	return status;
}
