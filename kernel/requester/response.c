// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * response.c - RequesterRecvControl (sources.md#engine-3-4-5): carries out what a response
 * means for outstanding requests.
 *
 * UPSN is the oldest unacknowledged PSN, RPSN the response's. multiqueue.c says what a response
 * means; this file releases, goes back, scatters read data, or fails. Called by requester.c with
 * the side owned.
 */
#include "requester_private.h"
#include "pavo_trace.h"

/* Release all packets before PSN @until. */
static void release_until(struct pavo_qp *qp, u32 until)
{
	struct pavo_requester *req = &qp->req;

	if (until == req->upsn)
		return;
	pavo_cwnd_acked(&req->cwnd, pavo_psn_diff(until, req->upsn));
	req->upsn = until;
	pavo_mq_release(&req->outstanding.sends, until);
	pavo_mq_release(&req->outstanding.reads, until);
	req->reread = PAVO_PSN_NONE;
	req->ack_requested = PAVO_PSN_NONE;
	req->probing = false;
	req->went_back = false;
	pavo_retransmit_forget(req);
	/* With nothing outstanding the time does not matter: the loss timer stops. */
	pavo_timer_restart(&req->timer,
			   until == req->sent ? 0 : ktime_get_ns());
	if (until == req->sent)
		pavo_timer_stop(&req->timer);

	/* A response to packets sent before the cursor went back: do not retransmit these. */
	if (pavo_psn_diff(until, pavo_cursor_psn(req)) > 0)
		pavo_transmit_seek(qp, until);
	pavo_complete_acked(qp);
}

/*
 * Retransmit from UPSN on (go-back-N), once for a gap: more responses may report the same one.
 * If the retransmission is lost, the loss timer expires; without a set value it
 * runs after a repeated report (pavo_timer_gap_repeated()).
 */
static void go_back(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	if (req->went_back) {
		pavo_timer_gap_repeated(&req->timer, ktime_get_ns());
		return;
	}
	if (pavo_timer_retry(&req->timer, ktime_get_ns())) {
		pavo_count(qp, req_transport_retries_exceeded);
		pavo_complete_fatal(qp, req->upsn, PAVO_ST_RETRY);
		return;
	}
	trace_pavo_retransmit(qp);
	pavo_cwnd_lost(&req->cwnd);
	req->went_back = true;
	req->reads_out = 0;
	pavo_transmit_seek(qp, req->upsn);
}

/*
 * Count a response to no outstanding request. Old ones are normal after a retransmission; those
 * ahead of all requests are not.
 */
static void count_stray_response(struct pavo_qp *qp, u32 rpsn)
{
	if (pavo_psn_diff(rpsn, qp->req.upsn) < 0)
		pavo_count(qp, rx_drop_old_response);
	else
		pavo_count(qp, rx_drop_psn_ghost);
}

/* Act on an ACK of @rpsn. Return: its meaning. */
static enum pavo_ack_verdict acknowledge_psn(struct pavo_qp *qp, u32 rpsn)
{
	struct pavo_requester *req = &qp->req;
	enum pavo_ack_verdict verdict;
	u32 until;

	verdict = pavo_multiqueue_ack(&req->outstanding, req->upsn, req->sent,
				      rpsn, &until);
	switch (verdict) {
	case PAVO_ACK_RELEASE:
		release_until(qp, until);
		break;
	case PAVO_ACK_READ_LOST:
		pavo_count(qp, implied_nak_seq_err);
		release_until(qp, until);
		go_back(qp);
		break;
	default:
		count_stray_response(qp, rpsn);
	}
	return verdict;
}

static void take_rnr_nak(struct pavo_qp *qp, u8 code)
{
	struct pavo_requester *req = &qp->req;

	pavo_count(qp, rnr_nak_retry_err);
	/* The peer may have sent an RNR NAK for more than one packet: wait once. */
	if (req->timer.rnr)
		return;
	if (pavo_timer_rnr(&req->timer, ktime_get_ns(), pavo_rnr_ns(code))) {
		pavo_count(qp, req_rnr_retries_exceeded);
		pavo_complete_fatal(qp, req->upsn, PAVO_ST_RNR_RETRY);
		return;
	}
	trace_pavo_retransmit(qp);
	req->probing = false;
	/*
	 * The peer may report the packets behind that one as a gap, during
	 * the delay or after it: do not go back for that.
	 */
	req->went_back = true;
	req->reads_out = 0;
	pavo_transmit_seek(qp, req->upsn);
}

static void take_nak(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_requester *req = &qp->req;
	enum pavo_status status;

	switch (pkt->syndrome) {
	case PAVO_NAK_PSN_SEQ:
		go_back(qp);
		return;
	case PAVO_NAK_INV_REQ:
		status = PAVO_ST_PEER_INVALID;
		break;
	case PAVO_NAK_REM_ACCESS:
		status = PAVO_ST_PEER_ACCESS;
		break;
	default: /* PAVO_NAK_REM_OP, the last known one */
		status = PAVO_ST_PEER_OPERATION;
	}
	/* Fatal to the request by IBA, but not by sources.md#engine-nak. */
	pavo_complete_fatal(qp, req->upsn, status);
}

/* Act on a NAK of PSN n, which acknowledges all packets before n. */
static void handle_nak(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_requester *req = &qp->req;

	if (pavo_psn_diff(pkt->psn, req->upsn) < 0 ||
	    pavo_psn_diff(pkt->psn, req->sent) >= 0) {
		count_stray_response(qp, pkt->psn);
		return;
	}
	bool rnr = (pkt->syndrome & PAVO_AETH_CLASS) == PAVO_AETH_RNR;
	bool lost = pkt->psn != req->upsn &&
		    acknowledge_psn(qp, pavo_psn_add(pkt->psn, -1)) !=
			    PAVO_ACK_RELEASE;

	/*
	 * If a read's response was lost and a request behind it got an RNR NAK, both wait for
	 * the delay: otherwise the latter would be retransmitted too early.
	 */
	if (rnr && pavo_qp_state(qp) != IB_QPS_ERR)
		take_rnr_nak(qp, pkt->syndrome & PAVO_AETH_VALUE);
	else if (!lost)
		take_nak(qp, pkt);
}

static void handle_ack(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	trace_pavo_ack(qp, pkt->psn, pkt->syndrome);
	switch (pkt->syndrome & PAVO_AETH_CLASS) {
	case PAVO_AETH_ACK:
		pavo_count_bh(qp, rx_acks);
		acknowledge_psn(qp, pkt->psn);
		break;
	case PAVO_AETH_RNR:
		handle_nak(qp, pkt);
		break;
	case PAVO_AETH_NAK:
		if (pkt->syndrome <= PAVO_NAK_REM_OP) {
			pavo_count(qp, rx_naks);
			if (pkt->syndrome == PAVO_NAK_PSN_SEQ)
				pavo_count(qp, packet_seq_err);
			handle_nak(qp, pkt);
			break;
		}
		fallthrough;
	default:
		/* An unknown NAK, or a reserved class. */
		pavo_count(qp, rx_drop_syndrome);
	}
}

/* Move the scatter cursor to the data of response packet @pkt of @wqe. */
static void scatter_seek(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			 u32 pkt)
{
	struct pavo_tx_cursor *sc = &qp->req.scatter;
	struct pavo_sgl_pos pos = {};

	if (sc->wqe == wqe->number && sc->pkt == pkt)
		return;
	pavo_sgl_advance(wqe, &pos, pkt * qp->attr.mtu);
	*sc = (struct pavo_tx_cursor){
		.wqe = wqe->number,
		.pkt = pkt,
		.sge = pos.sge,
		.sge_off = pos.off,
	};
}

/*
 * True if the packets from @n on of a response to @wqe have the opcode of their place. The
 * response to a chunk is First .. Last or Only. After a request from the middle of a chunk on it
 * begins there, too, unless this is the delayed response to the first request.
 */
static bool in_place(const struct pavo_requester *req,
		     const struct pavo_swqe *wqe, u32 n,
		     const struct pavo_pkt *pkt)
{
	bool first = pkt->info->flags & PAVO_OPF_FIRST;
	bool last = pkt->info->flags & PAVO_OPF_LAST;

	if (last != pavo_read_chunk_ends(wqe, n + pkt->npkts) ||
	    n % PAVO_READ_CHUNK + pkt->npkts > PAVO_READ_CHUNK)
		return false;
	if (n % PAVO_READ_CHUNK)
		return !first || pkt->psn == req->reread;
	return first;
}

static enum pavo_status take_read_data(struct pavo_qp *qp,
				       const struct pavo_swqe *wqe, u32 n,
				       struct pavo_rx *rx)
{
	struct pavo_tx_cursor *sc = &qp->req.scatter;
	u32 mtu = qp->attr.mtu, npkts = rx->pkt.npkts;
	u32 want = min(npkts * mtu, wqe->length - n * mtu);
	enum pavo_status status;
	struct pavo_sgl_pos pos;

	/* An atomic write: the request carried the data, the response is empty. */
	if (pavo_op(wqe->op)->answer == PAVO_ANSWER_EMPTY)
		want = 0;

	if ((npkts > 1 && rx->unit != mtu) || rx->pkt.payload != want ||
	    !in_place(&qp->req, wqe, n, &rx->pkt))
		return PAVO_ST_BAD_RESPONSE;
	if (!want)
		return PAVO_ST_OK;
	scatter_seek(qp, wqe, n);
	pos.sge = sc->sge;
	pos.off = sc->sge_off;
	status = pavo_sgl_scatter(qp, wqe, &pos, rx->skb, rx->payload, want);
	sc->sge = pos.sge;
	sc->sge_off = pos.off;
	if (status != PAVO_ST_WAIT)
		sc->pkt += npkts;
	return status;
}

/* True if @pkt is the response to the atomic @wqe, plain or extended (sources.md#ext-response). */
static bool is_value_of(const struct pavo_swqe *wqe, const struct pavo_pkt *pkt)
{
	bool ext = pavo_op(wqe->op)->segments & PAVO_SEG_EXT_ATOMIC;

	if (ext != !!(pkt->info->flags & PAVO_OPF_EXTATOMICACK))
		return false;
	return !ext || pkt->request_id == wqe->number;
}

/* Take the data of the expected response, then release its PSN. */
static enum pavo_status take_response(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_requester *req = &qp->req;
	const struct pavo_mq_entry *read =
		pavo_mq_oldest(&req->outstanding.reads);
	struct pavo_swqe *wqe = pavo_swqe(req, read->wqe);
	u32 n = pavo_psn_diff(rx->pkt.psn, read->first);
	bool atomic = rx->pkt.info->kind == PAVO_KIND_ATOMIC;
	enum pavo_status status;

	if (atomic != (pavo_op(wqe->op)->answer == PAVO_ANSWER_VALUE))
		status = PAVO_ST_BAD_RESPONSE;
	else if (atomic && !is_value_of(wqe, &rx->pkt))
		status = PAVO_ST_BAD_RESPONSE;
	else if (atomic)
		status = pavo_sgl_store(qp, wqe, &rx->pkt.atomic_orig,
					sizeof(rx->pkt.atomic_orig));
	else
		status = take_read_data(qp, wqe, n, rx);
	if (status == PAVO_ST_WAIT)
		return pavo_side_defer_current(&req->side, PAVO_STAGE_DATA);
	if (status) {
		pavo_complete_fatal(qp, rx->pkt.psn, status);
		return status;
	}
	if (req->reads_out && pavo_read_chunk_ends(wqe, n + rx->pkt.npkts))
		req->reads_out--;
	release_until(qp, pavo_psn_add(rx->pkt.psn, rx->pkt.npkts));
	return PAVO_ST_OK;
}

static enum pavo_status handle_response(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_requester *req = &qp->req;
	u32 until;

	switch (pavo_multiqueue_response(&req->outstanding, req->upsn,
					 req->sent, rx->pkt.psn, &until)) {
	case PAVO_ACK_RELEASE:
		/* The response acknowledges the sends and writes before it. */
		release_until(qp, until);
		return take_response(qp, rx);
	case PAVO_ACK_READ_LOST:
		pavo_count(qp, implied_nak_seq_err);
		release_until(qp, until);
		go_back(qp);
		break;
	default:
		if (pavo_psn_diff(rx->pkt.psn, req->upsn) < 0)
			pavo_count(qp, rx_drop_old_response);
		else
			pavo_count(qp, rx_drop_response);
	}
	return PAVO_ST_OK;
}

/*
 * pavo_requester_handle - act on one response packet.
 *
 * A deferred response is still the expected one: other packets wait behind it, and an error of
 * the QP drops it.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: it is deferred until the missing pages of its data are there;
 * or the error that moved the QP to Error.
 */
enum pavo_status pavo_requester_handle(struct pavo_qp *qp, struct pavo_rx *rx)
{
	int state = pavo_qp_state(qp);

	pavo_timer_answered(&qp->req.timer);
	pavo_gso_backoff_seen(&qp->req.side.backoff);
	pavo_rx_skip(rx, qp->req.upsn);
	if (!qp->req.ready || (state != IB_QPS_RTS && state != IB_QPS_SQD))
		pavo_count(qp, rx_drop_state);
	else if (unlikely(qp->req.side.stage != PAVO_STAGE_BEGIN))
		return take_response(qp, rx);
	else if (rx->pkt.info->kind == PAVO_KIND_ACK)
		handle_ack(qp, &rx->pkt);
	else
		return handle_response(qp, rx);
	return PAVO_ST_OK;
}

/*
 * pavo_requester_timeout - the loss timer expired: retransmit the oldest packet, and no other
 * until it is answered. Without a set value the timer ran because the peer reported a gap
 * twice: then retransmit the packets behind the oldest one, too.
 */
void pavo_requester_timeout(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	if (pavo_retransmit_is_queued(req) &&
	    !pavo_timer_put_off(&req->timer, ktime_get_ns())) {
		pavo_count(qp, loss_timer_put_off);
		/* It is still on its way. */
		pavo_pair_sent_plain(qp);
		return;
	}
	pavo_count(qp, local_ack_timeout_err);
	pavo_gso_backoff_lost(&req->side.backoff, pavo_same_host(qp));
	req->went_back = false;
	go_back(qp);
	req->probing = req->went_back && req->timer.timeout;
}
