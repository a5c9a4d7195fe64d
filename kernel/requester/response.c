// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * response.c - RequesterRecvControl (sources.md#engine-3-4-5): carries out what a response
 * means for outstanding requests.
 *
 * Passes responses and expired timers to recovery.h, which says what they mean. Then moves the
 * cursor, completes requests, scatters read data, or fails. Called by requester.c with the side
 * owned.
 */
#include "qp/cnp.h"
#include "requester/recovery_congestion.h"
#include "requester/recovery_sack.h"
#include "requester/selective_repair.h"
#include "requester_private.h"
#include "pavo_trace.h"

/* Count a response to no outstanding request. Old ones are normal after a retransmission. */
static void count_stray_response(struct pavo_qp *qp, unsigned int todo)
{
	if (todo & PAVO_REC_OLD)
		pavo_count(qp, rx_drop_old_response);
	else
		pavo_count(qp, rx_drop_psn_ghost);
}

/* Fail the oldest request: no retry is left. */
static void fail_retries(struct pavo_qp *qp, unsigned int todo)
{
	enum pavo_status status = PAVO_ST_RNR_RETRY;

	if (todo & PAVO_REC_NO_RETRY) {
		pavo_count(qp, req_transport_retries_exceeded);
		status = PAVO_ST_RETRY;
	} else {
		pavo_count(qp, req_rnr_retries_exceeded);
	}
	pavo_complete_fatal(qp, qp->req.recovery.upsn, status);
}

/*
 * The cwnd would be wider than the scoreboard. On loopback there is no path to fill: more packets
 * would only wait at the peer.
 */
static void widen_cwnd(struct pavo_qp *qp)
{
	struct pavo_recovery *r = &qp->req.recovery;

	if (qp->flow.local || pavo_board_double(qp))
		r->cwnd.final = true;
	pavo_cwnd_set_most(&r->cwnd, r->board->size / 2);
}

/* Carry out what an event asks for (enum pavo_recovery_todo), but for data and strays. */
static void carry_out_all(struct pavo_qp *qp, unsigned int todo)
{
	const unsigned int failed = PAVO_REC_NO_RETRY | PAVO_REC_NO_RNR_RETRY;

	if (todo & PAVO_REC_COMPLETE)
		pavo_tx_forget(&qp->req.side.tx);
	if (todo & PAVO_REC_IMPLIED_NAK)
		pavo_count(qp, implied_nak_seq_err);
	if (todo & PAVO_REC_SEEK)
		pavo_transmit_seek(qp, qp->req.recovery.next);
	if (todo & PAVO_REC_COMPLETE)
		pavo_complete_acked(qp);
	if (todo & PAVO_REC_RETRANSMIT)
		trace_pavo_retransmit(qp);
	if (todo & PAVO_REC_WIDEN)
		widen_cwnd(qp);
	if (todo & failed)
		fail_retries(qp, todo);
}

/* Likewise. Most events ask for completions, or for nothing. */
static inline void carry_out(struct pavo_qp *qp, unsigned int todo)
{
	if (likely(todo == PAVO_REC_COMPLETE)) {
		pavo_tx_forget(&qp->req.side.tx);
		pavo_complete_acked(qp);
	} else if (unlikely(todo)) {
		carry_out_all(qp, todo);
	}
}

/* The oldest packet is lost: the peer reports a gap. */
static void handle_gap(struct pavo_qp *qp)
{
	carry_out(qp, pavo_recovery_handle_gap(&qp->req.recovery,
					       &pavo_selective_repair,
					       ktime_get_ns()));
}

static void acknowledge_psn(struct pavo_qp *qp, u32 psn)
{
	struct pavo_recovery *r = &qp->req.recovery;
	u32 end = pavo_psn_add(psn, 1);
	unsigned int todo;
	u64 now = 0;

	if (pavo_recovery_ack_needs_time(r, end))
		now = ktime_get_ns();
	todo = pavo_recovery_ack(r, &pavo_selective_repair, psn, now);
	if (unlikely(todo & (PAVO_REC_OLD | PAVO_REC_STRAY)))
		count_stray_response(qp, todo);
	else
		carry_out(qp, todo);
}

static void take_rnr_nak(struct pavo_qp *qp, u32 psn, u8 code)
{
	struct pavo_recovery *r = &qp->req.recovery;
	unsigned int todo;

	pavo_count(qp, rnr_nak_retry_err);
	todo = pavo_recovery_handle_rnr(r, &pavo_selective_repair, psn,
					pavo_rnr_ns(code), ktime_get_ns());
	carry_out(qp, todo);
}

static void take_nak(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	enum pavo_status status;

	switch (pkt->syndrome) {
	case PAVO_NAK_PSN_SEQ:
		handle_gap(qp);
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
	pavo_complete_fatal(qp, qp->req.recovery.upsn, status);
}

/* The peer holds packets behind a gap, or had a request twice. */
static void handle_sack(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_recovery *r = &qp->req.recovery;
	u32 expected = pavo_psn_add(pkt->psn, 1);
	struct pavo_sack_news news pavo_uncleared;
	unsigned int todo;

	pavo_count(qp, rx_sacks);
	if (pavo_psn_diff(expected, r->upsn) < 0 ||
	    pavo_psn_diff(expected, r->sent) > 0) {
		count_stray_response(qp,
				     pavo_recovery_handle_stray(r, pkt->psn));
		return;
	}
	pavo_sack_news_load(&news, expected, &pkt->sack);
	if (r->sacks)
		pavo_recovery_take_map(r, &pavo_selective_repair, &news);
	if (expected != r->upsn)
		acknowledge_psn(qp, pkt->psn);
	if (!r->sacks || pavo_qp_get_state(qp) == IB_QPS_ERR)
		return;
	todo = pavo_recovery_handle_sack(r, &pavo_selective_repair, &pkt->sack,
					 &news, ktime_get_ns());
	carry_out(qp, todo);
}

/* Act on a NAK of PSN n, which acknowledges all packets before n. */
static void handle_nak(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	bool rnr = (pkt->syndrome & PAVO_AETH_CLASS) == PAVO_AETH_RNR;
	unsigned int todo;

	todo = pavo_recovery_nak(&qp->req.recovery, &pavo_selective_repair,
				 pkt->psn, ktime_get_ns());
	if (todo & (PAVO_REC_OLD | PAVO_REC_STRAY)) {
		count_stray_response(qp, todo);
		return;
	}
	carry_out(qp, todo);
	/*
	 * If a read's response was lost and a request behind it got an RNR NAK, both wait for
	 * the delay: otherwise the latter would be retransmitted too early.
	 */
	if (rnr && pavo_qp_get_state(qp) != IB_QPS_ERR)
		take_rnr_nak(qp, pkt->psn, pkt->syndrome & PAVO_AETH_VALUE);
	else if (!(todo & PAVO_REC_IMPLIED_NAK))
		take_nak(qp, pkt);
}

static void handle_ack(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	trace_pavo_ack(qp, pkt->psn, pkt->syndrome);
	if (unlikely(pkt->info->flags & PAVO_OPF_SACKETH)) {
		handle_sack(qp, pkt);
		return;
	}
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

/* True if the packets from @n on of the response to @wqe have the opcode of their place. */
static bool is_in_place(const struct pavo_requester *req,
			const struct pavo_swqe *wqe, u32 n,
			const struct pavo_pkt *pkt)
{
	return pavo_recovery_is_in_place(&req->recovery, pkt->psn, n,
					 pkt->npkts, wqe->npkts,
					 pkt->info->flags & PAVO_OPF_FIRST,
					 pkt->info->flags & PAVO_OPF_LAST);
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

	/* An atomic write or a flush: the response is empty. */
	if (pavo_op_find(wqe->op)->answer == PAVO_ANSWER_EMPTY)
		want = 0;

	if ((npkts > 1 && rx->unit != mtu) || rx->pkt.payload != want ||
	    !is_in_place(&qp->req, wqe, n, &rx->pkt))
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
	bool ext = pavo_op_find(wqe->op)->segments & PAVO_SEG_EXT_ATOMIC;

	if (ext != !!(pkt->info->flags & PAVO_OPF_EXTATOMICACK))
		return false;
	return !ext || pkt->request_id == wqe->number;
}

/*
 * The peer has read the memory of the read that ends before @end once more, so the responses that
 * are held behind it are older than its data. Drop them, and request them once more.
 */
static void drop_older_responses(struct pavo_qp *qp, u32 end)
{
	struct pavo_recovery *r = &qp->req.recovery;

	pavo_held_drop_from(qp, &qp->req.side, end);
	carry_out(qp, pavo_recovery_drop_older(r, &pavo_selective_repair, end));
}

/* Data of a read is taken: if it is of a newer generation, what is held behind is older. */
static void take_generation(struct pavo_qp *qp,
			    const struct pavo_mq_entry *read, u8 generation)
{
	u32 end = pavo_psn_add(read->first, read->npkts);

	if (unlikely(pavo_recovery_take_generation(&qp->req.recovery, end,
						   generation)))
		drop_older_responses(qp, end);
}

/* Take the data of the expected response, then release its PSN. */
static enum pavo_status take_response(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_recovery *r = &qp->req.recovery;
	const struct pavo_mq_entry *read =
		pavo_mq_find_oldest(&r->outstanding.reads);
	struct pavo_swqe *wqe = pavo_get_swqe(&qp->req, read->wqe);
	u32 n = pavo_psn_diff(rx->pkt.psn, read->first);
	const struct pavo_answer what = {
		.end = pavo_psn_add(rx->pkt.psn, rx->pkt.npkts),
		.ends = pavo_read_chunk_ends(wqe->npkts, n + rx->pkt.npkts),
		.held = qp->req.side.released == rx->skb,
	};
	bool atomic = rx->pkt.info->kind == PAVO_KIND_ATOMIC;
	enum pavo_status status;
	u64 now = 0;

	if (atomic != (pavo_op_find(wqe->op)->answer == PAVO_ANSWER_VALUE))
		status = PAVO_ST_BAD_RESPONSE;
	else if (atomic && !is_value_of(wqe, &rx->pkt))
		status = PAVO_ST_BAD_RESPONSE;
	else if (atomic)
		status = pavo_sgl_store(qp, wqe, &rx->pkt.atomic_orig,
					sizeof(rx->pkt.atomic_orig));
	else
		status = take_read_data(qp, wqe, n, rx);
	if (status == PAVO_ST_WAIT)
		return pavo_side_defer_current(&qp->req.side, PAVO_STAGE_DATA);
	if (status) {
		pavo_complete_fatal(qp, rx->pkt.psn, status);
		return status;
	}
	if (!atomic)
		take_generation(qp, read, rx->pkt.attempt);
	if (pavo_recovery_release_needs_time(r, what.end))
		now = ktime_get_ns();
	carry_out(qp, pavo_recovery_answered(r, &pavo_selective_repair, &what,
					     now));
	return PAVO_ST_OK;
}

/*
 * True if a response of @psn may be held behind a missing one. A read sees memory at least as new
 * as the reads before it (IBA 9.5), and a peer without SACKs executes the missing read once more:
 * what is behind that has to come again.
 */
static bool may_hold_response(struct pavo_qp *qp, u32 psn)
{
	const struct pavo_recovery *r = &qp->req.recovery;
	const struct pavo_mq *reads = &r->outstanding.reads;
	const struct pavo_mq_entry *entry;
	u32 at;

	for (at = reads->head; at != reads->tail; at++) {
		entry = &reads->ring[at & reads->mask];
		if ((u32)pavo_psn_diff(psn, entry->first) < entry->npkts)
			return true;
		if (!r->sacks &&
		    pavo_op_find(pavo_get_swqe(&qp->req, entry->wqe)->op)
				    ->answer == PAVO_ANSWER_READ)
			return false;
	}
	return false;
}

/*
 * Hold a response behind one that is missing, which is requested again.
 *
 * Return: PAVO_ST_HELD; PAVO_ST_OK: it is dropped, and comes again.
 */
static enum pavo_status hold_response(struct pavo_qp *qp,
				      const struct pavo_rx *rx)
{
	struct pavo_recovery *r = &qp->req.recovery;
	int state = pavo_qp_get_state(qp);
	unsigned int todo;
	u32 dropped;
	int err;

	if ((state != IB_QPS_RTS && state != IB_QPS_SQD) || qp->req.far ||
	    !may_hold_response(qp, rx->pkt.psn))
		return PAVO_ST_OK;
	err = pavo_held_add(qp, &qp->req.side, rx, r->upsn, &dropped);
	if (dropped != PAVO_PSN_NONE)
		pavo_recovery_drop_here(r, dropped);
	if (err == -EEXIST)
		pavo_recovery_note_needless(r, &pavo_selective_repair);
	if (err)
		return PAVO_ST_OK;
	if (!r->sacks)
		return PAVO_ST_HELD;
	todo = pavo_recovery_hold_here(r, &pavo_selective_repair, rx->pkt.psn,
				       rx->pkt.npkts, ktime_get_ns());
	carry_out(qp, todo);
	return PAVO_ST_HELD;
}

static void drop_old_response(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	pavo_count(qp, rx_drop_old_response);
	if (pkt->info->flags & PAVO_OPF_LAST)
		pavo_recovery_answered_twice(&qp->req.recovery);
	pavo_recovery_note_needless(&qp->req.recovery, &pavo_selective_repair);
}

/* The data of a read is older than that of a read before it (responder/read_copy.h): drop it. */
static void refuse_stale(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	pavo_count(qp, rx_drop_old_response);
	carry_out(qp, pavo_recovery_refuse(&qp->req.recovery,
					   &pavo_selective_repair, pkt->psn,
					   pkt->npkts));
}

static enum pavo_status handle_response(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_recovery *r = &qp->req.recovery;
	u64 now = rx->pkt.psn == r->upsn ? 0 : ktime_get_ns();
	unsigned int todo;

	todo = pavo_recovery_handle_response(r, &pavo_selective_repair,
					     rx->pkt.psn, now);
	carry_out(qp, todo & ~PAVO_REC_TAKE);
	if (unlikely(rx->pkt.info->kind == PAVO_KIND_READ &&
		     !(todo & (PAVO_REC_OLD | PAVO_REC_STRAY)) &&
		     pavo_recovery_is_stale(r, rx->pkt.psn, rx->pkt.attempt))) {
		refuse_stale(qp, &rx->pkt);
		return PAVO_ST_OK;
	}
	if (likely(todo & PAVO_REC_TAKE))
		return take_response(qp, rx);
	if (pavo_psn_is_far(pavo_psn_diff(rx->pkt.psn, r->upsn)))
		qp->req.far = true;
	if (todo & PAVO_REC_OLD)
		drop_old_response(qp, &rx->pkt);
	else if (todo & PAVO_REC_STRAY)
		pavo_count(qp, rx_drop_response);
	else
		return hold_response(qp, rx);
	return PAVO_ST_OK;
}

/*
 * The peer has begun or ended to announce SACKs. One packet of a stranger that has guessed a PSN
 * can say so, too; the next packet of the peer corrects that.
 */
static void change_sacks(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_recovery *r = &qp->req.recovery;

	if (pavo_psn_is_far(pavo_psn_diff(pkt->psn, r->upsn)))
		return;
	pavo_flow_set_ecn(&qp->flow, pkt->wants_sack && qp->ecn);
	if (pkt->wants_sack) {
		pavo_recovery_begin_sacks(r, ktime_get_ns());
		return;
	}
	/* All is requested again, and what is held would be older. */
	pavo_held_drop_from(qp, &qp->req.side, r->upsn);
	carry_out(qp, pavo_recovery_end_sacks(r));
}

/*
 * A peer that sends SACKs echoes marks of requests (BECN), and marks of responses are seen here.
 * For another one there are CNPs in both directions.
 */
static void note_marks(struct pavo_qp *qp, const struct pavo_rx *rx)
{
	bool marked = rx->marked;

	if (unlikely(marked))
		pavo_count(qp, np_ecn_marked_roce_packets);
	if (!qp->req.recovery.sacks) {
		if (unlikely(marked))
			pavo_cnp_send(qp, &qp->req.side.tx);
		return;
	}
	if (unlikely(rx->pkt.becn))
		pavo_count(qp, rx_ecn_echoes);
	if (qp->ecn)
		pavo_recovery_note_marks(&qp->req.recovery,
					 &pavo_selective_repair, &rx->pkt,
					 marked);
}

/* Where nothing is in flight, or the peer should have echoed the mark, a CNP says nothing. */
static void handle_cnp(struct pavo_qp *qp)
{
	int err = -EOPNOTSUPP;

	if (qp->ecn)
		err = pavo_recovery_handle_cnp(&qp->req.recovery,
					       &pavo_selective_repair);
	if (err && err != -EALREADY)
		pavo_count(qp, rp_cnp_ignored);
	else
		pavo_count(qp, rp_cnp_handled);
}

/* PSN from which the next response is expected. */
static u32 get_next_answered(struct pavo_recovery *r)
{
	const struct pavo_mq_entry *read =
		pavo_mq_find_oldest(&r->outstanding.reads);

	if (!read)
		return r->sent;
	return pavo_psn_diff(read->first, r->upsn) > 0 ? read->first : r->upsn;
}

/*
 * pavo_requester_handle - act on one response packet.
 *
 * A deferred response is still the expected one: other packets wait behind it, and an error of
 * the QP drops it.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: it is deferred until the missing pages of its data are there;
 * PAVO_ST_HELD: it is held until responses before it are there; or the error that moved the QP to
 * Error.
 */
enum pavo_status pavo_requester_handle(struct pavo_qp *qp, struct pavo_rx *rx)
{
	enum pavo_status status = PAVO_ST_OK;
	int state = pavo_qp_get_state(qp);

	if (unlikely(rx->pkt.info->kind == PAVO_KIND_CNP)) {
		handle_cnp(qp);
		return PAVO_ST_OK;
	}
	pavo_timer_answered(&qp->req.recovery.timer);
	pavo_tx_seen(&qp->req.side.tx);
	pavo_rx_skip(rx, qp->req.recovery.upsn);
	if (!qp->req.ready || (state != IB_QPS_RTS && state != IB_QPS_SQD)) {
		pavo_count(qp, rx_drop_state);
		return PAVO_ST_OK;
	}
	if (unlikely(qp->sacks && rx->pkt.wants_sack != qp->req.recovery.sacks))
		change_sacks(qp, &rx->pkt);
	note_marks(qp, rx);
	if (rx->pkt.info->kind == PAVO_KIND_ACK)
		handle_ack(qp, &rx->pkt);
	else if (likely(qp->req.side.stage == PAVO_STAGE_BEGIN))
		status = handle_response(qp, rx);
	else
		status = take_response(qp, rx);
	trace_pavo_cwnd(qp);
	/* Any of these may have closed a gap, and what was held may turn out to be old. */
	if (unlikely(pavo_side_has_held(&qp->req.side)) &&
	    (status == PAVO_ST_OK || status == PAVO_ST_HELD))
		pavo_held_release(qp, &qp->req.side,
				  get_next_answered(&qp->req.recovery));
	return status;
}

/*
 * True if the packet that is retransmitted waits for a credit, or for its DRR round: the loss timer
 * has not begun for it.
 */
static bool waits_in_drr(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;

	return unlikely(req->drr.active) &&
	       !pavo_recovery_get_in_flight(&req->recovery) &&
	       pavo_round_waits(qp->dev, &req->drr);
}

/*
 * Put off an expiry of the loss timer, if the packet that is retransmitted has not left this host.
 * DRR ends a wait; a queue of the host may be stuck, so that is bounded.
 */
static bool put_off_loss(struct pavo_qp *qp, u64 now)
{
	struct pavo_timer_state *timer = &qp->req.recovery.timer;

	if (waits_in_drr(qp)) {
		pavo_timer_hold(timer, now);
		return true;
	}
	return pavo_tx_is_queued(&qp->req.side.tx) &&
	       !pavo_timer_put_off(timer, now);
}

/* pavo_requester_repair - the repair timer expired (selective_repair.h). */
void pavo_requester_repair(struct pavo_qp *qp)
{
	struct pavo_recovery *r = &qp->req.recovery;
	unsigned int todo;

	todo = pavo_recovery_repair(r, &pavo_selective_repair, ktime_get_ns());
	if (todo & PAVO_REC_PROBE)
		pavo_count(qp, tail_loss_probes);
	carry_out(qp, todo);
}

/*
 * pavo_requester_timeout - the loss timer expired. As long as the retransmitted packet has not
 * left this host, another one would only wait behind it, and no retry is used up.
 */
void pavo_requester_timeout(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	u64 now = ktime_get_ns();

	if (put_off_loss(qp, now)) {
		pavo_count(qp, loss_timer_put_off);
		return;
	}
	pavo_count(qp, local_ack_timeout_err);
	pavo_tx_lost(&req->side.tx);
	carry_out(qp, pavo_recovery_expired(&req->recovery,
					    &pavo_selective_repair, now));
}
