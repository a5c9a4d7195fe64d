// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute.c - ExecutionEngine (sources.md#engine-4-4-1): checks a request, calls the handler of
 * its kind, and sends the peer a NAK if that failed.
 *
 * Order of checks as IBA 9.7.4: PSN, opcode sequence, opcode, length, rkey. A handler makes the
 * last ones; its status becomes a NAK here, and a fatal one moves the QP to Error. Called by
 * responder.c with the side owned, for the reliable services; unreliable.c uses the handlers
 * of sends and writes.
 */
#include "qp/cnp.h"
#include "responder/hold_early.h"
#include "responder_private.h"

pavo_request_handler *const pavo_request_handlers[PAVO_KIND_COUNT] = {
#define HANDLER(NAME, name) [PAVO_KIND_##NAME] = pavo_execute_##name,
	PAVO_REQUEST_KINDS(HANDLER)
#undef HANDLER
};

/* ------------------------------------------------- end of a request */

/* Count a request by its operation: once for each message, duplicates not included. */
static void count_request(struct pavo_qp *qp, u8 kind)
{
	switch (kind) {
	case PAVO_KIND_WRITE:
	case PAVO_KIND_ATOMIC_WRITE:
		pavo_count_bh(qp, rx_write_requests);
		break;
	case PAVO_KIND_READ:
		pavo_count_bh(qp, rx_read_requests);
		break;
	case PAVO_KIND_ATOMIC:
		pavo_count_bh(qp, rx_atomic_requests);
		break;
	case PAVO_KIND_FLUSH:
		pavo_count_bh(qp->dev, rx_flush_requests);
		break;
	}
}

/* Move the expected PSN behind executed requests, and count a completed message. */
static void advance_epsn(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			 u32 npkts)
{
	struct pavo_responder *resp = &qp->resp;

	pavo_expected_advance(&resp->expected, npkts);
	if (pkt->info->flags & PAVO_OPF_LAST) {
		resp->msn = (resp->msn + 1) & PAVO_PSN_MASK;
		count_request(qp, pkt->info->kind);
	}
}

/*
 * pavo_request_done - note that the packet was executed, and acknowledge it if it has AckReq or was
 * held: the peer is about to retransmit what it has not seen an ACK of.
 */
void pavo_request_done(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_expected *e = &qp->resp.expected;

	advance_epsn(qp, pkt, pkt->npkts);
	if ((pkt->ack_req || unlikely(qp->resp.side.released) ||
	     pavo_expected_count_unreported(e, pkt->npkts)) &&
	    pavo_is_reliable(qp))
		pavo_expected_ack_all(e);
}

/* pavo_request_answer - likewise, with a response of @npkts packets, whose content is in @res. */
void pavo_request_answer(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			 struct pavo_resource *res, u32 npkts)
{
	res->first = pkt->psn;
	res->npkts = npkts;
	res->psn = pkt->psn;
	advance_epsn(qp, pkt, npkts);
	res->msn = qp->resp.msn;
	pavo_resource_send(qp, res);
}

/* pavo_complete_recv - complete the receive WQE in use; @len bytes were received. */
void pavo_complete_recv(struct pavo_qp *qp, const struct pavo_pkt *pkt, u8 op,
			u32 len)
{
	struct pavo_cqe cqe = {
		.byte_len = len,
		.status = IB_WC_SUCCESS,
		.opcode = op,
		.src_qp = qp->attr.dest_qpn,
	};

	if (pkt->info->flags & PAVO_OPF_IMM) {
		cqe.imm = (__force u32)pkt->imm;
		cqe.flags = PAVO_CQE_IMM;
	} else if (pkt->info->flags & PAVO_OPF_IETH) {
		cqe.imm = pkt->inv_rkey;
		cqe.flags = PAVO_CQE_INV;
	}
	pavo_rq_complete(qp, &cqe, pkt->solicited);
}

/* ------------------------------------------------- NAKs */

/* Send an RNR NAK, since no receive is posted: the requester retransmits this PSN after a delay. */
static void send_rnr_nak(struct pavo_qp *qp)
{
	u8 timer = READ_ONCE(qp->attr.min_rnr_timer);

	pavo_count(qp, tx_rnr_naks);
	pavo_count(qp, out_of_buffer);
	pavo_expected_handle_rnr(&qp->resp.expected, PAVO_AETH_RNR | timer);
}

/*
 * Send the NAK of @status, then move the QP to Error. Responses that are due go out first, or the
 * requester would take them for lost.
 */
static void refuse_request(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			   enum pavo_status status)
{
	enum ib_event_type event = IB_EVENT_QP_REQ_ERR;
	u8 nak = pavo_status_codes(status)->nak;

	if (pkt->info->kind == PAVO_KIND_WRITE)
		pavo_comp_count(qp, PAVO_COMP_REMOTE_WRITE, false);
	else if (pkt->info->kind == PAVO_KIND_READ)
		pavo_comp_count(qp, PAVO_COMP_REMOTE_READ, false);
	/* An error of the sender, but the consumer gets a completion in error as well. */
	if (status == PAVO_ST_RQ_LENGTH)
		pavo_rq_fail(qp, status);
	if (nak == PAVO_NAK_INV_REQ) {
		pavo_count(qp, rx_nak_sent_invalid_request);
	} else if (nak == PAVO_NAK_REM_ACCESS) {
		pavo_count(qp, resp_remote_access_errors);
		event = IB_EVENT_QP_ACCESS_ERR;
	} else {
		pavo_count(qp, rx_nak_sent_remote_operational);
		event = IB_EVENT_QP_FATAL;
	}
	pavo_respond_fatal(qp, pkt->psn, nak, event);
}

/* PSNs that a request has: those of the response to a read, else one for each packet. */
static u32 count_psns(const struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	if (pkt->info->kind != PAVO_KIND_READ)
		return pkt->npkts;
	return max_t(u32, 1, DIV_ROUND_UP(pkt->dma_len, qp->attr.mtu));
}

/* Hold a request behind a gap. Return: as pavo_held_add(). */
static int add_held(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	struct pavo_expected *e = &qp->resp.expected;
	u32 dropped;
	int err;

	if (pavo_psn_diff(rx->pkt.psn, e->psn) >=
	    (s32)pavo_expected_get_reach(e))
		return -ERANGE;
	err = pavo_held_add(qp, &qp->resp.side, rx, e->psn, &dropped);
	if (dropped != PAVO_PSN_NONE)
		pavo_expected_drop(e, dropped);
	if (!err)
		pavo_expected_hold(e, rx->pkt.psn, count_psns(qp, &rx->pkt));
	return err;
}

/*
 * Hold a request behind a gap, or drop it; the first one has a sequence error NAK sent.
 *
 * Return: PAVO_ST_HELD; PAVO_ST_OK: it is dropped.
 */
static enum pavo_status hold_early(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	struct pavo_expected *e = &qp->resp.expected;
	enum pavo_early_verdict verdict;

	verdict = pavo_expected_handle_early(e, &pavo_hold_early, rx->pkt.psn,
					     count_psns(qp, &rx->pkt));
	if (verdict == PAVO_EARLY_REPORT)
		pavo_count(qp, out_of_sequence);
	if (rx->pkt.ack_req && e->sacks)
		pavo_expected_ack_all(e);
	if (!e->far && !add_held(qp, rx))
		return PAVO_ST_HELD;
	if (verdict != PAVO_EARLY_REPORT)
		pavo_count(qp, rx_drop_out_of_sequence);
	return PAVO_ST_OK;
}

/* ------------------------------------------------- checks */

/* True if packets that came as one have the QP's path MTU. */
static bool fits_path(const struct pavo_qp *qp, const struct pavo_rx *rx)
{
	return rx->pkt.npkts == 1 || rx->unit == qp->attr.mtu;
}

/*
 * pavo_fits_message - true if the opcode continues the message in progress, and the payload has
 * the length for its place (IBA 9.7.4.1.2 and 9.7.4.1.4).
 */
bool pavo_fits_message(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	u32 flags = pkt->info->flags;
	u8 kind = pkt->info->kind;
	bool message = kind == PAVO_KIND_SEND || kind == PAVO_KIND_WRITE;
	u32 most = pkt->npkts * qp->attr.mtu;

	if (flags & PAVO_OPF_FIRST || !message) {
		if (qp->resp.message)
			return false;
	} else if (qp->resp.message != kind) {
		return false;
	}
	if (!message)
		return true;
	if (!(flags & PAVO_OPF_LAST))
		return pkt->payload == most;
	if (!(flags & PAVO_OPF_FIRST) && !pkt->payload)
		return false;
	return pkt->payload <= most;
}

/* Find the resource of a duplicate that has an answer; NULL: the original was another request. */
static struct pavo_resource *find_original(struct pavo_qp *qp,
					   const struct pavo_pkt *pkt)
{
	struct pavo_resource *res = pavo_resource_find(qp, pkt->psn);

	if (!qp->resp.rq || !res || res->kind != pkt->info->kind ||
	    res->ext != !!(pkt->info->flags & PAVO_OPF_EXTATOMICETH))
		return NULL;
	return res;
}

/*
 * Merge the duplicate of a read with a response of it that is being sent: the peer may repair more
 * than one part. The response to the merged request has all bytes that are still to be sent.
 *
 * Return: 0; -EALREADY: these have the bytes of @pkt, too.
 */
static int merge_replay(const struct pavo_resource *res, struct pavo_pkt *pkt)
{
	u64 end = pkt->va + pkt->dma_len, old_end = res->va + res->left;
	bool later = pavo_psn_diff(pkt->psn, res->psn) >= 0;

	if (later && end <= old_end)
		return -EALREADY;
	if (later) {
		pkt->psn = res->psn;
		pkt->va = res->va;
	}
	pkt->dma_len = max(end, old_end) - pkt->va;
	return 0;
}

/*
 * Prepare the resource of a read for another response: what the original covered, and the peer
 * still may read.
 *
 * Return: 0; -EALREADY: the response that is being sent has these bytes; -EINVAL: they may not be
 * read.
 */
static int prepare_replay(struct pavo_qp *qp, struct pavo_resource *res,
			  struct pavo_pkt *pkt)
{
	u32 skipped, n;

	if (res->queued && res->left && merge_replay(res, pkt))
		return -EALREADY;
	skipped = pavo_psn_diff(pkt->psn, res->first);
	n = max_t(u32, 1, DIV_ROUND_UP(pkt->dma_len, qp->attr.mtu));
	if (pkt->dma_len > PAVO_MAX_MSG_SIZE || n > res->npkts - skipped ||
	    pavo_read_begin(qp, res, pkt))
		return -EINVAL;
	return 0;
}

/* Answer a request that was executed before, without executing it once more. */
static void answer_duplicate(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_resource *res;
	struct pavo_pkt request;
	int err = -EINVAL;

	pavo_count(qp, duplicate_request);
	pavo_tx_lost(&qp->resp.side.tx);
	switch (pkt->info->kind) {
	case PAVO_KIND_READ:
	case PAVO_KIND_ATOMIC:
	case PAVO_KIND_ATOMIC_WRITE:
	case PAVO_KIND_FLUSH:
		break;
	default:
		pavo_expected_note_duplicate(&qp->resp.expected);
		return;
	}
	if (pkt->attempt && pkt->info->kind == PAVO_KIND_READ)
		pavo_read_copy_start(qp);
	request = *pkt;
	res = find_original(qp, pkt);
	if (res)
		err = res->kind == PAVO_KIND_READ ?
			      prepare_replay(qp, res, &request) :
			      0;
	if (err == -EALREADY)
		return;
	if (err) {
		pavo_count(qp, rx_drop_duplicate_read);
		return;
	}
	res->psn = request.psn;
	res->replay = true;
	res->renewed = false;
	res->begun = false;
	pavo_resource_send(qp, res);
}

/*
 * XRC: find the SRQ that a request names; resp->rq is NULL if it does not exist, or the target
 * has used SRQs of too many PDs.
 *
 * Return: 0; -ENOMEM: no memory to join the SRQ's PD.
 */
static int find_srq(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;

	resp->rq = pavo_xrc_rq(qp, pkt->srqn);
	if (!resp->rq)
		return 0;
	switch (pavo_rkm_join(&qp->key_state, resp->rq->pd)) {
	case -ENOMEM:
		return -ENOMEM;
	case -ENOSPC:
		resp->rq = NULL;
	}
	return 0;
}

/*
 * XRC: take the SRQ that find_srq() found for the request. All packets of a message must name
 * the same one.
 *
 * Return: 0; -EINVAL: the target's domain does not have it, or the message began with another.
 */
static int take_srq(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;

	if (!resp->rq || (resp->message && pkt->srqn != resp->srqn))
		return -EINVAL;
	resp->srqn = pkt->srqn;
	return 0;
}

/* Drop a request for which there is no memory. One that was begun waits instead. */
static enum pavo_status drop_request(struct pavo_qp *qp)
{
	if (unlikely(qp->resp.side.stage != PAVO_STAGE_BEGIN))
		return PAVO_ST_WAIT;
	pavo_count(qp, rx_drop_no_memory);
	return PAVO_ST_LOST;
}

/*
 * Note a router's mark, and send the requester a CNP. One that understands SACKs understands an
 * echo in answers, too.
 */
static void note_congestion(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	struct pavo_expected *e = &qp->resp.expected;
	bool echoes = rx->pkt.wants_sack;

	if (unlikely(e->sacks != echoes))
		pavo_flow_set_ecn(&qp->flow, echoes && qp->sacks && qp->ecn);
	if (likely(!rx->marked))
		return;
	pavo_count(qp, np_ecn_marked_roce_packets);
	e->marked = echoes;
	if (echoes)
		e->marks = (e->marks + rx->pkt.npkts) & PAVO_ATTEMPT_MASK;
	else
		pavo_cnp_send(qp, &qp->resp.side.tx);
}

/* pavo_execute - carry out one request packet of a reliable service. */
enum pavo_status pavo_execute(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;
	bool xrc = pavo_is_xrc_target(qp);
	enum pavo_status status = PAVO_ST_INVALID;
	enum pavo_psn_verdict verdict;

	pavo_rx_skip(rx, resp->expected.psn);
	verdict = pavo_expected_find(&resp->expected, pkt->psn);
	if (likely(!resp->expected.far && resp->side.released != rx->skb)) {
		if (unlikely(pavo_expected_outgrows_map(&resp->expected,
							pkt->psn)))
			pavo_respond_now(qp);
		note_congestion(qp, rx);
		pavo_expected_note_arrival(&resp->expected,
					   pkt->psn + pkt->npkts - 1, pkt);
	}
	if (xrc && find_srq(qp, pkt))
		return drop_request(qp);
	if (verdict == PAVO_PSN_EARLY)
		return hold_early(qp, rx);
	if (verdict == PAVO_PSN_DUPLICATE) {
		answer_duplicate(qp, pkt);
		return PAVO_ST_OK;
	}
	pavo_expected_begin(&resp->expected, pkt->npkts);
	if ((!xrc || !take_srq(qp, pkt)) && fits_path(qp, rx) &&
	    pavo_fits_message(qp, pkt))
		status = pavo_request_handlers[pkt->info->kind](qp, rx);
	switch (status) {
	case PAVO_ST_OK:
		/* A read sees no memory of what comes behind it. */
		if (likely(resp->send_head == resp->send_tail))
			pavo_side_close_gap(qp, &resp->side,
					    resp->expected.psn);
		break;
	case PAVO_ST_WAIT:
		break;
	case PAVO_ST_NOT_READY:
		send_rnr_nak(qp);
		break;
	default:
		refuse_request(qp, pkt, status);
	}
	return status;
}
