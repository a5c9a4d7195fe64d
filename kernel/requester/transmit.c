// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * transmit.c - RequesterTransControl (sources.md#engine-3-4-1): decides which packet is sent
 * when.
 *
 * Assigns PSNs to WQEs, admits packets by the cwnd, and moves the cursor, which is the next
 * packet to send. For a retransmission the cursor moves back. Called by requester.c with the
 * side owned.
 */
#include "requester_private.h"

static void assign_psns(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_mq *mq = pavo_op_is_answered(wqe->op) ?
				     &req->outstanding.reads :
				     &req->outstanding.sends;

	wqe->first_psn = req->npsn;
	if (pavo_op_is_local(wqe->op))
		wqe->npkts = 0;
	else if (pavo_is_datagram(qp) || wqe->length <= qp->attr.mtu)
		wqe->npkts = 1;
	else
		wqe->npkts = DIV_ROUND_UP(wqe->length, qp->attr.mtu);
	req->npsn = pavo_psn_add(req->npsn, wqe->npkts);
	req->numbered++;
	if (wqe->npkts && pavo_is_reliable(qp))
		pavo_mq_produce(mq, wqe->number, wqe->first_psn, wqe->npkts);
}

/* True if a fenced WQE has to wait: for reads and atomics; an invalidation, for all WQEs. */
static bool is_fenced(const struct pavo_requester *req,
		      const struct pavo_swqe *wqe)
{
	if (!(wqe->flags & PAVO_SWQE_FENCE))
		return false;
	if (wqe->op == PAVO_WQE_LOCAL_INV)
		return req->tail != wqe->number;
	return pavo_mq_oldest(&req->outstanding.reads);
}

/*
 * Claim the regions that a WQE names, where they are claimed.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: not all could be claimed yet; or @wqe->status: it failed.
 */
static enum pavo_status claim_regions(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	enum pavo_status status = pavo_sgl_claim(qp, wqe);

	if (status == PAVO_ST_OK || status == PAVO_ST_WAIT)
		return status;
	pavo_count(qp, wqe_errors);
	wqe->status = status;
	return status;
}

/*
 * True if the WQE at the cursor may begin. A bad one never begins; it completes in error after
 * all WQEs before it.
 */
static bool may_begin(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_requester *req = &qp->req;

	if (wqe->status || pavo_qp_state(qp) != IB_QPS_RTS ||
	    is_fenced(req, wqe))
		return false;
	if (wqe->flags & PAVO_SWQE_UNCHECKED) {
		wqe->flags &= ~PAVO_SWQE_UNCHECKED;
		wqe->status = pavo_sgl_check(qp, wqe);
		if (wqe->status)
			pavo_count(qp, wqe_errors);
	}
	if (unlikely(wqe->flags & PAVO_SWQE_CLAIMS) && !wqe->status)
		return !claim_regions(qp, wqe);
	return !wqe->status;
}

static void spend_budget(unsigned int *budget, unsigned int packets)
{
	*budget -= min(*budget, packets);
}

/* Carry out a WQE that sends nothing. Return: as transmit_one(). */
static enum pavo_status execute_local(struct pavo_qp *qp, struct pavo_swqe *wqe,
				      unsigned int *budget)
{
	struct pavo_requester *req = &qp->req;
	enum pavo_status status = pavo_local_execute(qp, wqe);

	spend_budget(budget, pavo_rkm_cost(qp->key_state.pd));

	switch (status) {
	case PAVO_ST_OK:
		assign_psns(qp, wqe);
		req->cursor = (struct pavo_tx_cursor){ .wqe = wqe->number + 1 };
		break;
	case PAVO_ST_WAIT:
		break;
	case PAVO_ST_BUSY:
		req->pause = ktime_get_ns() + PAVO_CONGESTED_NS;
		break;
	default:
		pavo_count(qp, wqe_errors);
		wqe->status = status;
	}
	return status;
}

/* Packets from the cursor on that one GSO super-packet may hold: new ones that the cwnd admits. */
static u32 gso_span(struct pavo_qp *qp, const struct pavo_swqe *wqe)
{
	const struct pavo_requester *req = &qp->req;
	u32 pkt = req->cursor.pkt;
	u32 psn = pavo_psn_add(wqe->first_psn, pkt);
	u32 in_flight = pavo_psn_diff(psn, req->upsn);
	bool retransmit = pavo_psn_diff(psn, req->sent) < 0;

	if (wqe->npkts == 1 || retransmit || !pavo_is_reliable(qp) ||
	    in_flight + 1 >= req->cwnd.size ||
	    !pavo_request_icrc_defer(qp, retransmit))
		return 1;
	return min(min(wqe->npkts - pkt, PAVO_GSO_BYTES / qp->attr.mtu),
		   min(req->cwnd.size - in_flight,
		       pavo_cwnd_ack_req(&req->cwnd)));
}

/* PSNs of the request at the cursor; for a read, up to the end of the chunk. */
static u32 request_span(struct pavo_qp *qp, const struct pavo_swqe *wqe)
{
	u32 pkt = qp->req.cursor.pkt;

	if (wqe->op != PAVO_WQE_READ)
		return gso_span(qp, wqe);
	return min(wqe->npkts,
		   round_down(pkt, PAVO_READ_CHUNK) + PAVO_READ_CHUNK) -
	       pkt;
}

static bool may_send_request(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			     u32 psn, u32 span)
{
	struct pavo_requester *req = &qp->req;
	u32 in_flight = pavo_psn_diff(psn, req->upsn);

	if (!pavo_is_reliable(qp))
		return true;
	if (req->probing && in_flight)
		return false;
	if (!pavo_cwnd_admits(&req->cwnd, in_flight, span))
		return false;
	return !pavo_op_is_answered(wqe->op) ||
	       req->reads_out < qp->attr.max_rd_atomic;
}

/* True if no WQE after this one is sure to be acknowledged. */
static bool is_last_acked(struct pavo_requester *req,
			  const struct pavo_swqe *wqe)
{
	const struct pavo_swqe *next = pavo_swqe(req, wqe->number + 1);

	return req->head == wqe->number + 1 || next->status ||
	       next->flags & PAVO_SWQE_UNCHECKED || pavo_op_is_local(next->op);
}

/*
 * True if the @span packets from the cursor on need AckReq: at the end of a message that the
 * consumer waits for, or after which no WQE is sure to be acknowledged, and often enough to keep
 * the cwnd open. Reads and atomics are always answered.
 */
static bool want_ack(struct pavo_qp *qp, const struct pavo_swqe *wqe, u32 span,
		     bool retransmit)
{
	struct pavo_requester *req = &qp->req;
	u32 end = req->cursor.pkt + span;

	if (!pavo_is_reliable(qp))
		return false;
	if (end == wqe->npkts &&
	    (wqe->flags & PAVO_WQE_SIGNALED || is_last_acked(req, wqe)))
		return true;
	if (pavo_psn_add(wqe->first_psn, end) == req->ack_requested)
		return true;
	/* Other queue pairs may wait for the credits of these packets. */
	if (unlikely(req->drr.scarce))
		return true;
	/* Only the last packet of a super-packet can have AckReq: set it one early. */
	if (span > 1 &&
	    req->no_ack_req + 2 * span > pavo_cwnd_ack_req(&req->cwnd))
		return true;
	return req->no_ack_req + span >= pavo_cwnd_ack_req(&req->cwnd) ||
	       (retransmit && req->probing);
}

/*
 * Take DRR deficit and credits for the request at the cursor. @span shrinks to the packets that
 * there are credits for.
 *
 * Return: false: the QP has to wait for its next DRR round, or for a credit.
 */
static bool take_deficit(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			 u32 *span)
{
	enum pavo_pool pool = PAVO_POOL_NONE;
	const u8 level = qp->attr.ah.sl;

	if (likely(!READ_ONCE(qp->dev->drr.on)))
		return true;
	if (pavo_op_is_answered(wqe->op))
		return pavo_qp_drr_take(qp, PAVO_POOL_READS, 1, level);
	if (pavo_is_reliable(qp))
		pool = PAVO_POOL_SENDS;
	*span = pavo_qp_drr_take(qp, pool, *span, level);
	return *span;
}

/* Take DRR deficit for a datagram. Return: as take_deficit(). */
static bool take_datagram_deficit(struct pavo_qp *qp,
				  const struct pavo_swqe *wqe)
{
	return likely(!READ_ONCE(qp->dev->drr.on)) || !wqe->av ||
	       pavo_qp_drr_take(qp, PAVO_POOL_NONE, 1, wqe->av->sl);
}

static void spend_deficit(struct pavo_requester *req, u32 packets)
{
	if (unlikely(req->drr.active))
		req->drr.spent += packets;
}

/* Move the cursor behind the @span packets that were sent. */
static void move_cursor(struct pavo_qp *qp, struct pavo_swqe *wqe, u32 span,
			const struct pavo_sgl_pos *pos)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_tx_cursor *cur = &req->cursor;
	u32 end = pavo_psn_add(wqe->first_psn, cur->pkt + span);

	if (pavo_psn_diff(end, req->sent) > 0)
		req->sent = end;
	else
		pavo_count(qp, tx_retransmits);
	if (pavo_op_is_answered(wqe->op)) {
		req->reads_out++;
		if (cur->pkt % PAVO_READ_CHUNK)
			req->reread = pavo_psn_add(wqe->first_psn, cur->pkt);
	}
	spend_deficit(req, span);
	cur->pkt += span;
	cur->sge = pos->sge;
	cur->sge_off = pos->off;
	if (cur->pkt >= wqe->npkts)
		*cur = (struct pavo_tx_cursor){ .wqe = cur->wqe + 1 };
	/* An unreliable peer sends no ACK, so a sent packet is done. */
	if (!pavo_is_reliable(qp))
		req->upsn = req->sent;
	if (!req->timer.loss && req->timer.timeout)
		pavo_timer_set(&req->timer, ktime_get_ns());
}

/*
 * Send the @span packets at the cursor. A packet without a route counts as lost: the loss timer
 * retransmits it.
 *
 * Return: as transmit_one().
 */
static enum pavo_status send_next_request(struct pavo_qp *qp,
					  struct pavo_swqe *wqe, u32 span)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_tx_cursor *cur = &req->cursor;
	struct pavo_sgl_pos pos = { .sge = cur->sge, .off = cur->sge_off };
	u32 psn = pavo_psn_add(wqe->first_psn, cur->pkt);
	bool retransmit = pavo_psn_diff(psn, req->sent) < 0;
	bool answered = pavo_op_is_answered(wqe->op);
	enum pavo_status status;
	bool ack;

	ack = !answered && want_ack(qp, wqe, span, retransmit);
	status = pavo_request_send(qp, wqe, cur->pkt, &pos, span, ack,
				   retransmit);
	if (unlikely(status == PAVO_ST_FRAGMENTS)) {
		span = 1;
		ack = want_ack(qp, wqe, span, retransmit);
		status = pavo_request_send(qp, wqe, cur->pkt, &pos, span, ack,
					   retransmit);
	}
	switch (status) {
	case PAVO_ST_OK:
	case PAVO_ST_LOST:
		break;
	case PAVO_ST_WAIT:
		return status;
	case PAVO_ST_BUSY:
		/* A device queue may be too short for any super-packet. */
		if (span > 1 && !answered)
			pavo_gso_backoff_lost(&req->side.backoff,
					      pavo_same_host(qp));
		req->pause = ktime_get_ns() + PAVO_CONGESTED_NS;
		return status;
	default:
		wqe->status = status;
		return status;
	}
	if (ack || answered)
		req->no_ack_req = 0;
	else
		req->no_ack_req += span;
	move_cursor(qp, wqe, span, &pos);
	return PAVO_ST_OK;
}

static enum pavo_status transmit_datagram(struct pavo_qp *qp,
					  struct pavo_swqe *wqe)
{
	struct pavo_requester *req = &qp->req;
	enum pavo_status status = PAVO_ST_OK;

	if (!may_begin(qp, wqe) || !take_datagram_deficit(qp, wqe))
		return PAVO_ST_WAIT;
	assign_psns(qp, wqe);
	if (wqe->npkts)
		status = pavo_datagram_send(qp, wqe);
	switch (status) {
	case PAVO_ST_OK:
	case PAVO_ST_LOST:
	case PAVO_ST_BUSY:
		break;
	case PAVO_ST_WAIT:
		req->numbered--;
		return status;
	default:
		req->numbered--;
		wqe->status = status;
		return status;
	}
	spend_deficit(req, 1);
	/* The peer sends no ACK, so a sent packet is done, and so is a lost one. */
	req->cursor = (struct pavo_tx_cursor){ .wqe = wqe->number + 1 };
	req->sent = req->npsn;
	req->upsn = req->npsn;
	return PAVO_ST_OK;
}

/*
 * Send the packets, or carry out the local WQE, at the cursor.
 *
 * Return: PAVO_ST_OK: the cursor moved on; PAVO_ST_WAIT: nothing may be sent for now;
 * PAVO_ST_BUSY: nothing until req->pause; or the status of the WQE: it failed.
 */
static enum pavo_status transmit_one(struct pavo_qp *qp, unsigned int *budget)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_swqe *wqe = pavo_swqe(req, req->cursor.wqe);
	u32 span;

	if (pavo_is_datagram(qp))
		return transmit_datagram(qp, wqe);
	if (req->cursor.wqe == req->numbered) {
		if (!may_begin(qp, wqe))
			return PAVO_ST_WAIT;
		if (pavo_op_is_local(wqe->op))
			return execute_local(qp, wqe, budget);
		assign_psns(qp, wqe);
	} else if (wqe->status) {
		return wqe->status;
	}
	if (!wqe->npkts) {
		req->cursor = (struct pavo_tx_cursor){ .wqe = wqe->number + 1 };
		return PAVO_ST_OK;
	}
	span = request_span(qp, wqe);
	if (!may_send_request(qp, wqe,
			      pavo_psn_add(wqe->first_psn, req->cursor.pkt),
			      span) ||
	    !take_deficit(qp, wqe, &span))
		return PAVO_ST_WAIT;
	return send_next_request(qp, wqe, span);
}

/*
 * Retransmit the last packet once with AckReq, if it had none and nothing more is sent before its
 * ACK: in SQD, and in front of a bad WQE. The peer acknowledges duplicates, too.
 *
 * Return: true if the cursor moved back to that packet.
 */
static bool request_ack(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_tx_cursor cur = req->cursor;
	u32 end = req->sent;

	if (cur.wqe != req->numbered) {
		if (!pavo_swqe(req, cur.wqe)->status)
			return false;
		end = pavo_swqe(req, cur.wqe)->first_psn;
	} else if (pavo_qp_state(qp) != IB_QPS_SQD) {
		return false;
	}
	if (!req->no_ack_req || !pavo_is_reliable(qp) ||
	    end == req->ack_requested || pavo_psn_diff(end, req->upsn) <= 0)
		return false;
	req->ack_requested = end;
	pavo_transmit_seek(qp, pavo_psn_add(end, -1));
	/* Reads and atomics are answered in any case. */
	if (!pavo_op_is_answered(pavo_swqe(req, req->cursor.wqe)->op))
		return true;
	req->cursor = cur;
	return false;
}

/*
 * pavo_transmit - send packets as long as that is allowed.
 *
 * Return: the rest of @budget, in packets.
 */
unsigned int pavo_transmit(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_requester *req = &qp->req;

	if (req->timer.rnr || req->pause || pavo_side_waits(&req->side))
		return budget;
	if (unlikely(req->drr.active))
		pavo_qp_drr_settle(qp);
	do {
		while (budget && req->cursor.wqe != req->head &&
		       transmit_one(qp, &budget) == PAVO_ST_OK)
			spend_budget(&budget, 1);
	} while (budget && unlikely(request_ack(qp)));
	if (unlikely(pavo_coalesced_flush(qp) == PAVO_ST_BUSY))
		req->pause = ktime_get_ns() + PAVO_CONGESTED_NS;
	return budget;
}

/*
 * pavo_transmit_seek - move the cursor to PSN @psn, which is between UPSN and
 * Next PSN.
 */
void pavo_transmit_seek(struct pavo_qp *qp, u32 psn)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_sgl_pos pos = {};
	struct pavo_swqe *wqe;
	u32 n, pkt;

	for (n = req->tail; n != req->numbered; n++) {
		wqe = pavo_swqe(req, n);
		pkt = pavo_psn_diff(psn, wqe->first_psn);
		if (pkt >= wqe->npkts)
			continue;
		if (!pavo_op_brings(wqe->op))
			pavo_sgl_advance(wqe, &pos, pkt * qp->attr.mtu);
		req->cursor = (struct pavo_tx_cursor){
			.wqe = n,
			.pkt = pkt,
			.sge = pos.sge,
			.sge_off = pos.off,
		};
		return;
	}
	req->cursor = (struct pavo_tx_cursor){ .wqe = req->numbered };
}
