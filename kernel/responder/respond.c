// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * respond.c - RespPktGen (sources.md#engine-4-4-4): the responses, in order.
 *
 * Accepted reads and atomics wait in the send queue. Behind them waits at
 * most one ACK or NAK, the latest: an ACK covers all requests before it, and the response to a
 * read is an ACK, too. A visit sends a bounded burst of responses; the QP's work sends
 * the rest. A response that the interface refuses stays due, and is sent after a
 * pause. Called with the side owned.
 */
#include <linux/module.h>
#include <linux/jiffies.h>
#include "responder_private.h"
#include "pavo_trace.h"

/* Ticks of a period of pavo_expected_note_time(): more than a round trip. */
#define PAVO_REACH_PERIOD (HZ / 8)

static bool copy_reads = true;
module_param(copy_reads, bool, 0644);
MODULE_PARM_DESC(copy_reads,
		 "copy data of READ responses instead of attaching pages (Y)");

/* pavo_read_get_slot - the remote-key slot of a read. */
unsigned int pavo_read_get_slot(const struct pavo_qp *qp,
				const struct pavo_resource *res)
{
	return PAVO_KEY_SLOT_READ(res - qp->resp.resources);
}

/* Give up the answer to a duplicate: take @res out of the send queue. */
static void give_up_replay(struct pavo_qp *qp, struct pavo_resource *res)
{
	struct pavo_responder *resp = &qp->resp;
	u32 from, to = resp->send_head;

	for (from = to; from != resp->send_tail; from++) {
		u8 index = resp->send_queue[from % PAVO_MAX_RD_ATOMIC];

		if (&resp->resources[index] != res)
			resp->send_queue[to++ % PAVO_MAX_RD_ATOMIC] = index;
	}
	resp->send_tail = to;
	if (res->left)
		pavo_use_end(&qp->key_state, pavo_read_get_slot(qp, res));
}

/* pavo_resource_is_free - true if pavo_resource_new() finds a resource. */
bool pavo_resource_is_free(struct pavo_qp *qp)
{
	const struct pavo_responder *resp = &qp->resp;
	const struct pavo_resource *res = &resp->resources[resp->res_head];

	return likely(!res->queued) || res->answered;
}

/*
 * pavo_resource_new - take a resource for one more read or atomic.
 *
 * The oldest may be queued because a duplicate of it came late. The peer has had the answer, or it
 * would not send one more request, so that duplicate is left without.
 *
 * Return: NULL if the oldest of max_dest_rd_atomic is still unanswered (IBA 9.7.4.1.1).
 */
struct pavo_resource *pavo_resource_new(struct pavo_qp *qp,
					const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_resource *res = &resp->resources[resp->res_head];

	if (!pavo_resource_is_free(qp))
		return NULL;
	if (unlikely(res->queued))
		give_up_replay(qp, res);
	*res = (struct pavo_resource){
		.kind = pkt->info->kind,
		.ext = pkt->info->flags & PAVO_OPF_EXTATOMICETH,
		.srqn = pkt->srqn,
		.request_id = pkt->request_id,
		.generation = resp->generation,
		.copy = res->copy,
	};
	if (++resp->res_head == resp->res_count)
		resp->res_head = 0;
	return res;
}

/*
 * pavo_read_begin - check the memory of a read or its duplicate, and note it in @res.
 *
 * Return: PAVO_ST_OK; or why the memory may not be read: @res is unchanged.
 */
enum pavo_status pavo_read_begin(struct pavo_qp *qp, struct pavo_resource *res,
				 const struct pavo_pkt *pkt)
{
	enum pavo_status status;

	/* Check first: a resource that is still queued keeps its remote-key slot on an error. */
	status = pavo_check_remote(&qp->key_state, pkt->rkey, pkt->va,
				   pkt->dma_len, IB_ACCESS_REMOTE_READ);
	if (!status)
		status = pavo_use_begin(&qp->key_state,
					pavo_read_get_slot(qp, res), pkt->rkey,
					pkt->va, pkt->dma_len,
					IB_ACCESS_REMOTE_READ);
	if (status)
		return status;
	pavo_use_leave(&qp->key_state, pavo_read_get_slot(qp, res));
	res->rkey = pkt->rkey;
	res->srqn = pkt->srqn;
	res->va = pkt->va;
	res->left = pkt->dma_len;
	return PAVO_ST_OK;
}

/*
 * pavo_resource_find - find the latest read or atomic whose PSNs include @psn. An older
 * resource may match, too, if PSNs have wrapped around since.
 */
struct pavo_resource *pavo_resource_find(struct pavo_qp *qp, u32 psn)
{
	struct pavo_responder *resp = &qp->resp;
	u32 back, at = resp->res_head;

	for (back = 0; back < resp->res_count; back++) {
		struct pavo_resource *res;

		at = (at ?: resp->res_count) - 1;
		res = &resp->resources[at];
		if ((u32)pavo_psn_diff(psn, res->first) < res->npkts)
			return res;
	}
	return NULL;
}

/* pavo_resource_send - queue a response, unless it is queued already. */
void pavo_resource_send(struct pavo_qp *qp, struct pavo_resource *res)
{
	struct pavo_responder *resp = &qp->resp;

	if (res->queued)
		return;
	res->queued = true;
	resp->send_queue[resp->send_tail++ % PAVO_MAX_RD_ATOMIC] =
		res - resp->resources;
}

/* pavo_respond_fatal - send a NAK behind all queued responses, then move the QP to Error. */
void pavo_respond_fatal(struct pavo_qp *qp, u32 psn, u8 syndrome,
			enum ib_event_type event)
{
	pavo_expected_ack(&qp->resp.expected, psn, syndrome);
	qp->resp.failing = true;
	qp->resp.fatal_event = event;
}

/*
 * Set the BTH and AETH of a response of one packet. @pkt was not cleared: a field that is not set
 * here would carry bytes of the stack to the peer.
 */
static void fill_response(const struct pavo_qp *qp, struct pavo_pkt *pkt, u8 op,
			  u32 psn, u32 msn)
{
	pkt->opcode = pavo_opcode_make(pavo_qp_get_service(qp), op);
	pkt->npkts = 1;
	pkt->pad = 0;
	pkt->solicited = false;
	pkt->ack_req = false;
	pkt->wants_sack = qp->sacks;
	pkt->attempt = qp->resp.expected.sacks ? qp->resp.expected.marks : 0;
	pkt->fecn = false;
	pkt->becn = qp->resp.expected.marked;
	pkt->pkey = PAVO_PKEY_DEFAULT;
	pkt->dqpn = qp->attr.dest_qpn;
	pkt->psn = psn;
	pkt->syndrome = PAVO_AETH_ACK_UNLIMITED;
	pkt->msn = msn;
}

static enum hrtimer_restart end_pause(struct hrtimer *timer)
{
	struct pavo_qp *qp = container_of(timer, struct pavo_qp, resp.pause);

	set_bit(PAVO_RESP_SEND, &qp->resp.side.pending);
	if (!pavo_qp_admit_timer(qp))
		pavo_responder_run(qp);
	return HRTIMER_NORESTART;
}

static void run_responder_queue(struct pavo_drr_queue *queue)
{
	struct pavo_qp *qp = container_of(queue, struct pavo_qp, resp.drr);

	pavo_key_state_continue(&qp->key_state, queue->cpu);
}

void pavo_respond_init(struct pavo_qp *qp)
{
	pavo_hrtimer_setup(&qp->resp.pause, end_pause, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_SOFT);
	pavo_drr_queue_init(&qp->resp.drr, PAVO_KIND_RESPONSES,
			    READ_ONCE(qp->dev->drr.quantum));
	qp->resp.drr.run = run_responder_queue;
}

/* Pause: the interface has refused a response, or there is no memory. */
static void pause_responding(struct pavo_qp *qp)
{
	qp->resp.paused = true;
	hrtimer_start(&qp->resp.pause, ns_to_ktime(PAVO_CONGESTED_NS),
		      HRTIMER_MODE_REL_SOFT);
}

static void begin_response(struct pavo_qp *qp, struct pavo_xmit *x)
{
	pavo_xmit_init(x, &qp->resp.side.tx, &qp->flow, qp->attr.mtu);
}

/*
 * Send a response without payload. One without a route counts as lost: the peer's loss timer
 * expires.
 *
 * Return: PAVO_ST_OK; PAVO_ST_BUSY: no memory, or the interface refused. The side pauses.
 */
static enum pavo_status send_empty(struct pavo_qp *qp, struct pavo_pkt *pkt)
{
	struct pavo_xmit x pavo_uncleared;

	begin_response(qp, &x);
	trace_pavo_transmit(qp, pkt, 0);
	if (likely(pavo_xmit(&x, pkt, 0, pavo_xmit_gather_none, NULL) !=
		   PAVO_ST_BUSY)) {
		qp->resp.expected.marked = false;
		return PAVO_ST_OK;
	}
	pause_responding(qp);
	return PAVO_ST_BUSY;
}

/* How many more packets may be held, as a SACK says it: most requesters need not know. */
static u8 get_hold_space(struct pavo_qp *qp)
{
	u32 space = pavo_held_get_space(qp, &qp->resp.side);

	return space <= PAVO_SACK_SPACE_MAX ? (u8)(space + 1) : 0;
}

static void send_ack(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_expected *expected = &resp->expected;
	u8 class = expected->ack_syndrome & PAVO_AETH_CLASS;
	bool sack = pavo_expected_is_sack(expected);
	struct pavo_pkt pkt pavo_uncleared;

	fill_response(qp, &pkt, sack ? PAVO_OP_SACK : PAVO_OP_ACK,
		      expected->ack_psn, resp->msn);
	pkt.syndrome = expected->ack_syndrome;
	if (sack) {
		pkt.sack = pavo_expected_get_sack(expected);
		pkt.sack.space = get_hold_space(qp);
	}
	if (send_empty(qp, &pkt))
		return;
	pavo_expected_note_time(expected, (u32)jiffies, PAVO_REACH_PERIOD);
	pavo_expected_ack_sent(expected);
	if (sack)
		pavo_count(qp, tx_sacks);
	if (class == PAVO_AETH_ACK)
		pavo_count_bh(qp, tx_acks);
	else if (class == PAVO_AETH_NAK)
		pavo_count(qp, tx_naks);
	if (resp->failing)
		pavo_qp_error(qp, resp->fatal_event);
}

static enum pavo_status send_atomic(struct pavo_qp *qp,
				    struct pavo_resource *res)
{
	u8 op = res->ext ? PAVO_OP_EXT_ATOMIC_ACK : PAVO_OP_ATOMIC_ACK;
	struct pavo_pkt pkt pavo_uncleared;

	fill_response(qp, &pkt, op, res->psn, res->msn);
	pkt.atomic_orig = res->orig;
	pkt.request_id = res->request_id;
	return send_empty(qp, &pkt);
}

static u8 read_opcode(const struct pavo_resource *res, bool last)
{
	if (last)
		return res->begun ? PAVO_OP_READ_RESP_LAST :
				    PAVO_OP_READ_RESP_ONLY;
	return res->begun ? PAVO_OP_READ_RESP_MIDDLE : PAVO_OP_READ_RESP_FIRST;
}

/*
 * pavo_read_find_srq - XRC: find the SRQ by whose PD the memory of a read is translated. By now
 * another SRQ, of another PD, may have its number.
 *
 * Return: 0; -ENOENT: it is gone; another errno of pavo_rkm_join().
 */
int pavo_read_find_srq(struct pavo_qp *qp, const struct pavo_resource *res)
{
	if (!pavo_is_xrc_target(qp))
		return 0;
	qp->resp.rq = pavo_xrc_rq(qp, res->srqn);
	if (!qp->resp.rq)
		return -ENOENT;
	return pavo_rkm_join(&qp->key_state, qp->resp.rq->pd);
}

/* The payload of a read response. */
struct read_payload {
	struct pavo_qp *qp;
	struct pavo_resource *res;
	const struct pavo_pkt *pkt;
};

/* Attach the memory of a read, or copy it, with its remote-key slot busy. */
static enum pavo_status put_read_memory(struct pavo_qp *qp,
					struct pavo_resource *res,
					struct pavo_xmit *x, u32 len)
{
	struct pavo_region *region;
	enum pavo_status status;

	status = pavo_xlate_remote(&qp->key_state, res->rkey, res->va, len,
				   IB_ACCESS_REMOTE_READ, &region);
	if (unlikely(status == PAVO_ST_FAULT))
		return pavo_fault_request(&qp->key_state,
					  &qp->resp.side.missing, region,
					  res->va, len, false);
	if (unlikely(status))
		return status;
	if (x->attach)
		return pavo_payload_attach(x, region, res->rkey, res->va, len);
	if (unlikely(!pavo_read_copy_fill(qp, res, region, len)))
		return pavo_read_copy_put(res, x, len);
	return pavo_payload_copy(x, region, res->va, len);
}

/*
 * Put the next bytes of a read into a packet. A copy has the bytes of the memory as they are now,
 * even if these change while the packet waits in a queue.
 */
static enum pavo_status gather_read(void *source, struct pavo_xmit *x, u32 len)
{
	const struct read_payload *payload = source;
	struct pavo_resource *res = payload->res;
	struct pavo_qp *qp = payload->qp;
	enum pavo_status status;

	if (len) {
		status = pavo_use_enter(&qp->key_state,
					pavo_read_get_slot(qp, res));
		if (unlikely(status))
			return status;
	}
	if (unlikely(pavo_read_copy_has(res, len)))
		status = pavo_read_copy_put(res, x, len);
	else
		status = put_read_memory(qp, res, x, len);
	/* The packet may stay in a queue, but attached pages that change make its ICRC wrong. */
	if (len)
		pavo_use_leave(&qp->key_state, pavo_read_get_slot(qp, res));
	if (likely(!status))
		trace_pavo_transmit(qp, payload->pkt, len);
	return status;
}

/* Payload bytes of the next packets of a read; a replay goes packet by packet. */
static u32 get_next_bytes(const struct pavo_resource *res, struct pavo_xmit *x)
{
	u32 mtu = x->mtu;

	if (res->left <= mtu || res->replay)
		return min(res->left, mtu);
	return min(res->left, pavo_xmit_most(x) * mtu);
}

/*
 * Which pages of a read may be attached. By default none. With copy_reads off, pages are
 * attached, but not to a retransmitted response: a packet whose page changes on its way is dropped
 * for its ICRC, and that must not happen for ever.
 */
static enum pavo_pages read_pages(const struct pavo_resource *res)
{
	return res->replay || READ_ONCE(copy_reads) ? PAVO_PAGES_COPY :
						      PAVO_PAGES_LOOSE;
}

/*
 * Send the next packets of a read response. One without a route counts as lost: the peer's loss
 * timer expires.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: for pages; PAVO_ST_BUSY: for the interface; or why the memory
 * may not be read any more.
 */
static enum pavo_status send_read(struct pavo_qp *qp, struct pavo_resource *res)
{
	struct pavo_pkt pkt pavo_uncleared;
	struct read_payload payload = { qp, res, &pkt };
	struct pavo_xmit x pavo_uncleared;
	enum pavo_status status;
	u32 len;

	if (pavo_read_find_srq(qp, res))
		return PAVO_ST_KEY;
	begin_response(qp, &x);
	x.pages = read_pages(res);
	len = get_next_bytes(res, &x);
	fill_response(qp, &pkt, read_opcode(res, len == res->left), res->psn,
		      res->msn);
	if (len > qp->attr.mtu)
		pkt.npkts = DIV_ROUND_UP(len, qp->attr.mtu);
	if (unlikely(res->replay) && !res->renewed)
		pavo_read_copy_renew(qp, res);
	pkt.attempt = qp->resp.expected.sacks ? res->generation : 0;
	status = pavo_xmit(&x, &pkt, len, gather_read, &payload);
	if (unlikely(status == PAVO_ST_BUSY))
		pause_responding(qp);
	if (unlikely(status && status != PAVO_ST_LOST))
		return status;
	qp->resp.expected.marked = false;
	pavo_read_copy_sent(res, len);
	res->begun = true;
	res->psn = pavo_psn_add(res->psn, pkt.npkts);
	res->va += len;
	res->left -= len;
	if (!res->left)
		pavo_use_end(&qp->key_state, pavo_read_get_slot(qp, res));
	return PAVO_ST_OK;
}

/*
 * Send the next packet of the oldest queued response.
 *
 * Return: PAVO_ST_OK: sent, or the response was given up; PAVO_ST_WAIT, PAVO_ST_BUSY: as
 * send_read().
 */
static enum pavo_status send_next_response(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;
	u8 index = resp->send_queue[resp->send_head % PAVO_MAX_RD_ATOMIC];
	struct pavo_resource *res = &resp->resources[index];
	enum pavo_status status;

	if (res->kind == PAVO_KIND_ATOMIC)
		status = send_atomic(qp, res);
	else
		status = send_read(qp, res);
	if (unlikely(status == PAVO_ST_WAIT || status == PAVO_ST_BUSY))
		return status;
	if (unlikely(status && res->answered)) {
		/* All of it was sent once; after that the end of the key is no error. */
		pavo_count(qp, rx_drop_duplicate_read);
		pavo_use_end(&qp->key_state, pavo_read_get_slot(qp, res));
		res->left = 0;
	} else if (unlikely(status)) {
		/* The key ended during the read: a remote access error. */
		pavo_count(qp, resp_remote_access_errors);
		pavo_comp_count(qp, PAVO_COMP_REMOTE_READ, false);
		resp->send_head = resp->send_tail;
		pavo_respond_fatal(qp, res->psn, pavo_status_codes(status)->nak,
				   IB_EVENT_QP_ACCESS_ERR);
		return PAVO_ST_OK;
	}
	if (!res->left) {
		if (res->kind == PAVO_KIND_READ && !res->answered)
			pavo_comp_count(qp, PAVO_COMP_REMOTE_READ, true);
		res->answered = true;
		res->queued = false;
		resp->send_head++;
	}
	return PAVO_ST_OK;
}

/* True if DRR lets the next response go; else the QP's work goes on in the next round. */
static bool may_send_response(struct pavo_qp *qp)
{
	return likely(!READ_ONCE(qp->dev->drr.on)) ||
	       pavo_round_take(qp->dev, &qp->resp.drr, PAVO_POOL_NONE, 1,
			       qp->attr.ah.sl);
}

/* Subtract the packets of @bytes that were sent from the deficit. */
static void spend_deficit_on(struct pavo_qp *qp, u32 bytes)
{
	if (unlikely(qp->resp.drr.active))
		qp->resp.drr.spent +=
			max_t(u32, 1, DIV_ROUND_UP(bytes, qp->attr.mtu));
}

/*
 * Send queued responses.
 *
 * Return: 0: all are sent, or have to wait; -EAGAIN: the budget is used up.
 */
static int send_queued(struct pavo_qp *qp, struct pavo_budget *budget)
{
	struct pavo_responder *resp = &qp->resp;
	const u8 *queue = resp->send_queue;
	const struct pavo_resource *res;
	u32 before;

	while (resp->send_head != resp->send_tail) {
		if (!pavo_budget_remains(budget))
			return -EAGAIN;
		res = &resp->resources[queue[resp->send_head %
					     PAVO_MAX_RD_ATOMIC]];
		before = res->left;
		if (!may_send_response(qp) || send_next_response(qp))
			return 0;
		spend_deficit_on(qp, before - res->left);
		pavo_budget_spend(budget, 1, before - res->left);
	}
	return 0;
}

/*
 * pavo_respond - send responses that are due, as many as a visit may and @slice has left.
 *
 * Return: true if more is due.
 */
bool pavo_respond(struct pavo_qp *qp, struct pavo_budget *slice)
{
	const struct pavo_budget most = {
		.packets = min(slice->packets, PAVO_RESPOND_PACKETS),
		.bytes = min(slice->bytes, PAVO_RESPOND_BYTES),
	};
	struct pavo_responder *resp = &qp->resp;
	struct pavo_budget budget = most;
	const struct sk_buff *released;
	bool more;

	if (unlikely(resp->paused))
		return false;
	more = send_queued(qp, &budget) == -EAGAIN;
	pavo_budget_spend(slice, most.packets - budget.packets,
			  most.bytes - budget.bytes);
	if (more || resp->send_head != resp->send_tail)
		return more;
	released = resp->side.released;
	pavo_side_close_gap(qp, &resp->side, resp->expected.psn);
	/* One ACK is for what was held, too. */
	if (unlikely(resp->side.released != released))
		return false;
	if (resp->expected.ack_due)
		send_ack(qp);
	return false;
}

/*
 * pavo_respond_now - send the ACK or NAK that is due before the QP forgets it, unless responses are
 * before it. A consumer that has polled the completion of a message may end the QP at once, and the
 * peer's request would fail if its ACK did not come any more.
 */
void pavo_respond_now(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	if (resp->expected.ack_due && !resp->failing &&
	    resp->send_head == resp->send_tail)
		send_ack(qp);
}
