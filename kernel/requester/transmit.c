// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * transmit.c - RequesterTransControl (sources.md#engine-3-4-1): decides which packet is sent
 * when.
 *
 * Gives WQEs their PSNs, and moves the cursor, which is the packet of the PSN that loss recovery
 * (recovery.h) sends next. For a retransmission that moves back. Called by requester.c with the
 * side owned.
 */
#include "requester/pacing.h"
#include "requester/recovery_sack.h"
#include "requester/selective_repair.h"
#include "requester_private.h"

static void assign_psns(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_requester *req = &qp->req;

	if (pavo_op_is_local(wqe->op))
		wqe->npkts = 0;
	else if (pavo_is_datagram(qp) || wqe->length <= qp->attr.mtu)
		wqe->npkts = 1;
	else
		wqe->npkts = DIV_ROUND_UP(wqe->length, qp->attr.mtu);
	wqe->first_psn = pavo_recovery_assign(&req->recovery, wqe->npkts);
	req->numbered++;
	if (wqe->npkts && pavo_is_reliable(qp))
		pavo_recovery_expect(&req->recovery, wqe->number,
				     wqe->first_psn, wqe->npkts,
				     pavo_op_is_answered(wqe->op));
}

/* True if a fenced WQE has to wait: for reads and atomics; an invalidation, for all WQEs. */
static bool is_fenced(const struct pavo_requester *req,
		      const struct pavo_swqe *wqe)
{
	if (!(wqe->flags & PAVO_SWQE_FENCE))
		return false;
	if (wqe->op == PAVO_WQE_LOCAL_INV)
		return req->tail != wqe->number;
	return pavo_mq_find_oldest(&req->recovery.outstanding.reads);
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

	if (wqe->status || pavo_qp_get_state(qp) != IB_QPS_RTS ||
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

/* Packets from the cursor on that may be sent at once: new ones that the cwnd admits. */
static u32 send_span(struct pavo_qp *qp, const struct pavo_swqe *wqe,
		     struct pavo_xmit *x)
{
	u32 left = wqe->npkts - qp->req.cursor.pkt;
	u32 space;

	if (wqe->npkts == 1 || !pavo_is_reliable(qp))
		return 1;
	space = pavo_recovery_get_space(&qp->req.recovery);
	if (space == 1)
		return 1;
	return min(min(left, pavo_xmit_most(x)), space);
}

/* PSNs of the request at the cursor; for a read, up to the end of the chunk. */
static u32 get_request_span(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			    struct pavo_xmit *x)
{
	if (wqe->op != PAVO_WQE_READ)
		return send_span(qp, wqe, x);
	return pavo_read_span(&qp->req.recovery, &pavo_selective_repair,
			      qp->req.cursor.pkt, wqe->npkts);
}

static bool may_send_request(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			     u32 span)
{
	const struct pavo_recovery *r = &qp->req.recovery;

	if (!pavo_is_reliable(qp))
		return true;
	if (!pavo_recovery_admits(r, &pavo_selective_repair, span))
		return false;
	return !pavo_op_is_answered(wqe->op) ||
	       pavo_recovery_may_read(r, qp->attr.max_rd_atomic);
}

/* True if no WQE after this one is sure to be acknowledged. */
static bool is_last_acked(struct pavo_requester *req,
			  const struct pavo_swqe *wqe)
{
	const struct pavo_swqe *next = pavo_get_swqe(req, wqe->number + 1);

	return req->head == wqe->number + 1 || next->status ||
	       next->flags & PAVO_SWQE_UNCHECKED || pavo_op_is_local(next->op);
}

/*
 * True if the @span packets from the cursor on need AckReq: at the end of a message that the
 * consumer waits for, or after which no WQE is sure to be acknowledged, and often enough to keep
 * the cwnd open. Reads and atomics are always answered.
 */
static bool needs_ack(struct pavo_qp *qp, const struct pavo_swqe *wqe, u32 span)
{
	struct pavo_requester *req = &qp->req;
	u32 end = req->cursor.pkt + span;

	if (!pavo_is_reliable(qp))
		return false;
	if (end == wqe->npkts &&
	    (wqe->flags & PAVO_WQE_SIGNALED || is_last_acked(req, wqe)))
		return true;
	/* Other queue pairs may wait for the credits of these packets. */
	if (unlikely(req->drr.scarce))
		return true;
	return pavo_recovery_wants_ack(&req->recovery, span);
}

/*
 * Take DRR deficit and credits for the request at the cursor. @span shrinks to the packets that
 * there are credits for.
 *
 * Return: 0; -EAGAIN: the QP has to wait for its next DRR round, or for a credit.
 */
static int take_deficit(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			u32 *span)
{
	struct pavo_drr_queue *queue = &qp->req.drr;
	enum pavo_pool pool = PAVO_POOL_NONE;
	const u8 level = qp->attr.ah.sl;
	u32 taken;

	/* A repair has its credit, though new packets of the QP may wait for one. */
	if (likely(!READ_ONCE(qp->dev->drr.on)) ||
	    pavo_recovery_is_repair(&qp->req.recovery) ||
	    pavo_recovery_is_ack_request(&qp->req.recovery, *span))
		return 0;
	if (pavo_op_is_answered(wqe->op)) {
		taken = pavo_round_take(qp->dev, queue, PAVO_POOL_READS, 1,
					level);
		return taken ? 0 : -EAGAIN;
	}
	if (pavo_is_reliable(qp))
		pool = PAVO_POOL_SENDS;
	*span = pavo_round_take(qp->dev, queue, pool, *span, level);
	return *span ? 0 : -EAGAIN;
}

/* Take DRR deficit for a datagram. Return: as take_deficit(). */
static int take_datagram_deficit(struct pavo_qp *qp,
				 const struct pavo_swqe *wqe)
{
	if (likely(!READ_ONCE(qp->dev->drr.on)) || !wqe->av ||
	    pavo_round_take(qp->dev, &qp->req.drr, PAVO_POOL_NONE, 1,
			    wqe->av->sl))
		return 0;
	return -EAGAIN;
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

	spend_deficit(req, span);
	cur->pkt += span;
	cur->sge = pos->sge;
	cur->sge_off = pos->off;
	if (cur->pkt >= wqe->npkts)
		*cur = (struct pavo_tx_cursor){ .wqe = cur->wqe + 1 };
}

/*
 * When packets leave that are sent now, ns; 0: at once. The PSNs of a read are its responses, which
 * the peer sends.
 */
static u64 find_departure(struct pavo_qp *qp, const struct pavo_swqe *wqe,
			  struct pavo_xmit *x)
{
	struct pavo_requester *req = &qp->req;
	const struct pavo_recovery *r = &req->recovery;

	if (!r->sacks || !r->board->rack.srtt || pavo_op_is_answered(wqe->op) ||
	    likely(!pavo_xmit_is_paced(x)))
		return 0;
	return max(req->departure, pavo_requester_get_time(req));
}

/* Packets leave at @at; the next ones leave later. */
static void note_departure(struct pavo_requester *req, u64 at, u32 packets)
{
	const struct pavo_recovery *r = &req->recovery;
	u64 gap = pavo_pacing_get_gap(&r->cwnd, r->board->rack.srtt);

	req->departure = at + packets * gap;
}

/*
 * Note that the @span packets at the cursor were sent, or leave at @departure, and move the cursor
 * behind them.
 */
static void record_sent(struct pavo_qp *qp, struct pavo_swqe *wqe, u32 span,
			bool ack_req, u64 departure,
			const struct pavo_sgl_pos *pos)
{
	bool answered = pavo_op_is_answered(wqe->op);
	struct pavo_recovery *r = &qp->req.recovery;
	const struct pavo_sent what = {
		.npkts = span,
		.answered = answered,
		.in_chunk = answered && qp->req.cursor.pkt % PAVO_READ_CHUNK,
		.ack_req = ack_req,
	};
	unsigned int todo;
	u64 now = 0;

	if (pavo_recovery_send_needs_time(r))
		now = pavo_requester_get_time(&qp->req);
	if (unlikely(departure)) {
		now = departure;
		note_departure(&qp->req, departure, span);
	}
	/* It may have waited for a credit: its answer has the whole timeout. */
	if (unlikely(qp->req.drr.active) && !pavo_recovery_get_in_flight(r))
		pavo_timer_hold(&r->timer, ktime_get_ns());
	todo = pavo_recovery_sent(r, &pavo_selective_repair, &what, now);
	if (todo & PAVO_REC_COUNT_RETRANSMIT)
		pavo_count(qp, tx_retransmits);
	move_cursor(qp, wqe, span, pos);
	if (todo & PAVO_REC_SEEK)
		pavo_transmit_seek(qp, r->next);
	/* An unreliable peer sends no ACK, so a sent packet is done. */
	if (!pavo_is_reliable(qp))
		pavo_recovery_end_sent(r);
}

/* The interface refused packets, or there is no memory. Some may have counted as sent. */
static void pause_sending(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	u32 psn;

	if (pavo_xmit_take_refused(&req->side.tx, &psn)) {
		pavo_recovery_handle_refusal(&req->recovery,
					     &pavo_selective_repair, psn);
		pavo_transmit_seek(qp, req->recovery.next);
	}
	pavo_recovery_note_congestion(&req->recovery, &pavo_selective_repair);
	req->pause = ktime_get_ns() + PAVO_CONGESTED_NS;
}

/*
 * Send the @span packets at the cursor. A packet without a route counts as lost: the loss timer
 * retransmits it.
 *
 * Return: as transmit_one().
 */
static enum pavo_status send_next_request(struct pavo_qp *qp,
					  struct pavo_swqe *wqe,
					  struct pavo_xmit *x, u32 span)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_tx_cursor *cur = &req->cursor;
	struct pavo_sgl_pos pos = { .sge = cur->sge, .off = cur->sge_off };
	bool answered = pavo_op_is_answered(wqe->op);
	enum pavo_status status;
	bool ack;

	ack = !answered && needs_ack(qp, wqe, span);
	x->departure = find_departure(qp, wqe, x);
	status = pavo_request_send(qp, wqe, x, cur->pkt, &pos, span, ack);
	switch (status) {
	case PAVO_ST_OK:
	case PAVO_ST_LOST:
		break;
	case PAVO_ST_WAIT:
		return status;
	case PAVO_ST_BUSY:
		pause_sending(qp);
		return status;
	default:
		wqe->status = status;
		return status;
	}
	record_sent(qp, wqe, span, ack, x->departure, &pos);
	return PAVO_ST_OK;
}

static enum pavo_status transmit_datagram(struct pavo_qp *qp,
					  struct pavo_swqe *wqe)
{
	struct pavo_requester *req = &qp->req;
	enum pavo_status status = PAVO_ST_OK;

	if (!may_begin(qp, wqe) || take_datagram_deficit(qp, wqe))
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
	pavo_recovery_skip(&req->recovery);
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
	struct pavo_swqe *wqe = pavo_get_swqe(req, req->cursor.wqe);
	struct pavo_xmit x pavo_uncleared;
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
	pavo_xmit_init(&x, &req->side.tx, &qp->flow, qp->attr.mtu);
	x.retransmit = pavo_recovery_is_retransmit(&req->recovery);
	span = get_request_span(qp, wqe, &x);
	if (may_send_request(qp, wqe, span) && !take_deficit(qp, wqe, &span))
		return send_next_request(qp, wqe, &x, span);
	pavo_xmit_drop(&x);
	return PAVO_ST_WAIT;
}

/*
 * PSN up to which all was sent, and behind which nothing is sent before an ACK or the end of a long
 * wait: in front of a bad WQE, or of one that waits for a credit or its regions, and in SQD.
 * PAVO_PSN_NONE: more will be sent.
 */
static u32 find_stop(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	const struct pavo_swqe *wqe = pavo_get_swqe(req, req->cursor.wqe);
	bool begun = req->cursor.wqe != req->numbered, stops;

	if (begun && wqe->status)
		return wqe->first_psn;
	/* One that has begun has its regions. It waits for the cwnd, which has its AckReqs. */
	stops = req->drr.scarce || pavo_qp_get_state(qp) == IB_QPS_SQD ||
		(!begun && req->cursor.wqe != req->head &&
		 wqe->flags & PAVO_SWQE_CLAIMS);
	return stops && !pavo_recovery_is_retransmit(&req->recovery) ?
		       req->recovery.sent :
		       PAVO_PSN_NONE;
}

/*
 * Retransmit the last packet once with AckReq, if it had none and nothing more is sent before its
 * ACK. The peer acknowledges duplicates, too.
 *
 * Return: 0: the cursor moved back to that packet; -EALREADY: none needs that.
 */
static int request_ack(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	struct pavo_recovery *r = &req->recovery;
	struct pavo_tx_cursor cur = req->cursor;
	u32 end, next = r->next;

	if (!pavo_is_reliable(qp))
		return -EALREADY;
	end = find_stop(qp);
	if (end == PAVO_PSN_NONE || pavo_recovery_request_ack(r, end))
		return -EALREADY;
	pavo_transmit_seek(qp, pavo_psn_add(end, -1));
	/* Reads and atomics are answered in any case. */
	if (!pavo_op_is_answered(pavo_get_swqe(req, req->cursor.wqe)->op))
		return 0;
	req->cursor = cur;
	pavo_recovery_seek(r, next);
	return -EALREADY;
}

/*
 * pavo_transmit - send packets as long as that is allowed.
 *
 * Return: the rest of @budget, in packets.
 */
unsigned int pavo_transmit(struct pavo_qp *qp, unsigned int budget)
{
	struct pavo_requester *req = &qp->req;

	if (pavo_recovery_is_delayed(&req->recovery) || req->pause ||
	    pavo_side_waits(&req->side))
		return budget;
	if (unlikely(req->drr.active))
		pavo_qp_drr_settle(qp);
	do {
		while (budget && req->cursor.wqe != req->head &&
		       transmit_one(qp, &budget) == PAVO_ST_OK)
			spend_budget(&budget, 1);
	} while (budget && unlikely(!request_ack(qp)));
	if (unlikely(pavo_xmit_flush(&req->side.tx) == PAVO_ST_BUSY))
		pause_sending(qp);
	return budget;
}

/*
 * Find the last WQE that begins at or before PSN @psn, of those that have PSNs. Only the latest one
 * may not be sent as a whole, so all begin less than PAVO_PSN_WINDOW behind UPSN.
 */
static u32 find_wqe(struct pavo_requester *req, u32 psn)
{
	u32 upsn = req->recovery.upsn, middle, first;
	u32 low = req->tail, high = req->numbered;
	s32 ahead = pavo_psn_diff(psn, upsn);

	while (high - low > 1) {
		middle = low + (high - low) / 2;
		first = pavo_get_swqe(req, middle)->first_psn;
		if (pavo_psn_diff(first, upsn) <= ahead)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * pavo_transmit_seek - send from PSN @psn on, which is between UPSN and Next PSN: move the cursor
 * to its packet.
 */
void pavo_transmit_seek(struct pavo_qp *qp, u32 psn)
{
	struct pavo_requester *req = &qp->req;
	u32 n = find_wqe(req, psn), pkt;
	struct pavo_sgl_pos pos = {};
	struct pavo_swqe *wqe = pavo_get_swqe(req, n);

	pavo_recovery_seek(&req->recovery, psn);
	pkt = pavo_psn_diff(psn, wqe->first_psn);
	if (n == req->numbered || pkt >= wqe->npkts) {
		req->cursor = (struct pavo_tx_cursor){ .wqe = req->numbered };
		return;
	}
	if (!pavo_op_brings(wqe->op))
		pavo_sgl_advance(wqe, &pos, pkt * qp->attr.mtu);
	req->cursor = (struct pavo_tx_cursor){
		.wqe = n,
		.pkt = pkt,
		.sge = pos.sge,
		.sge_off = pos.off,
	};
}
