// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * unreliable.c - receiving on UC queue pairs (IBA 9.8.2).
 *
 * The peer gets no answer. If a packet of a message is lost, no receive is posted or the
 * memory may not be written, the rest of the message is
 * dropped and counted, and the next First or Only packet begins anew. A bad
 * posted receive is an error of this end: the QP goes to Error.
 * Called by responder.c with the side owned.
 */
#include "responder_private.h"

/*
 * pavo_message_drop - give up the message in progress. Its receive WQE is kept for the next
 * message; its use of a key ends.
 */
void pavo_message_drop(struct pavo_qp *qp)
{
	pavo_use_end(qp, PAVO_KEY_SLOT_WRITE);
	qp->resp.message = 0;
	pavo_rq_rewind(qp);
}

/*
 * pavo_unreliable_refuse - refuse a packet for which a reliable service sends a fatal NAK.
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

/* Drop the message in progress if packets of it were lost. */
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
	/* Also a dropped packet uses up its PSN; one that is handled again does not. */
	if (likely(!resp->side.hold))
		resp->epsn = pavo_psn_add(pkt->psn, 1);
}
