// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * unreliable.c - receiving on UC queue pairs (IBA 9.8.2).
 *
 * The peer gets no answer. Whatever is wrong with a message - a packet of it is
 * lost, nothing is posted, its memory may not be written - the rest of it is
 * dropped and counted, and the next First or Only packet begins anew. What is
 * wrong with a posted receive is an error of this end: the QP goes to Error.
 * Called by responder.c with the side owned.
 */
#include "responder_private.h"

/*
 * pavo_message_drop - give up the message in progress. Its receive WQE was not
 * completed and serves the next message; the key that it used is out of use.
 */
void pavo_message_drop(struct pavo_qp *qp)
{
	pavo_use_end(&qp->holder, PAVO_KEY_SLOT_WRITE);
	qp->resp.message = 0;
	pavo_rq_rewind(qp);
}

/*
 * pavo_unreliable_refuse - what would be a fatal NAK of a reliable service.
 * @syndrome: that of the NAK
 */
void pavo_unreliable_refuse(struct pavo_qp *qp, u8 syndrome)
{
	if (syndrome == PAVO_NAK_REM_OP) {
		pavo_qp_error(qp, IB_EVENT_QP_FATAL);
		return;
	}
	if (syndrome == PAVO_NAK_REM_ACCESS)
		pavo_count(qp, rx_drop_access);
	else
		pavo_count(qp, rx_drop_invalid_request);
	pavo_message_drop(qp);
}

/* A packet was lost, or one that should have followed never came. */
static void check_sequence(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;
	bool gap = pkt->psn != resp->epsn;

	if (gap)
		pavo_count(qp, rx_out_of_sequence);
	else if (resp->message && pkt->info->flags & PAVO_OPF_FIRST)
		pavo_count(qp, rx_drop_invalid_request);
	else
		return;
	if (resp->message)
		pavo_message_drop(qp);
}

/* pavo_execute_unreliable - carry out one UC request packet. */
void pavo_execute_unreliable(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;

	check_sequence(qp, pkt);
	if (!resp->message && !(pkt->info->flags & PAVO_OPF_FIRST))
		pavo_count(qp, rx_drop_out_of_sequence);
	else if (!pavo_fits_message(qp, pkt))
		pavo_unreliable_refuse(qp, PAVO_NAK_INV_REQ);
	else if (pkt->info->flags & PAVO_OPF_SEND)
		pavo_execute_send(qp, rx);
	else
		pavo_execute_write(qp, rx);
	/* Whatever became of it, its PSN is used up; unless it comes again. */
	if (likely(!resp->side.hold))
		resp->epsn = pavo_psn_add(pkt->psn, 1);
}
