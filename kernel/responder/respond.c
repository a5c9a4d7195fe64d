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
#include "responder_private.h"
#include "pavo_trace.h"

/*
 * pavo_resource_new - take a resource for one more read or atomic.
 *
 * Return: NULL if the oldest of max_dest_rd_atomic is still unanswered (IBA 9.7.4.1.1).
 */
struct pavo_resource *pavo_resource_new(struct pavo_qp *qp,
					const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_resource *res = &resp->resources[resp->res_head];

	if (res->queued)
		return NULL;
	*res = (struct pavo_resource){
		.kind = pkt->info->kind,
		.ext = pkt->info->flags & PAVO_OPF_EXTATOMICETH,
		.srqn = pkt->srqn,
		.request_id = pkt->request_id,
	};
	if (++resp->res_head == resp->res_count)
		resp->res_head = 0;
	return res;
}

static unsigned int resource_slot(const struct pavo_qp *qp,
				  const struct pavo_resource *res)
{
	return PAVO_KEY_SLOT_READ(res - qp->resp.resources);
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
		status = pavo_use_begin(&qp->key_state, resource_slot(qp, res),
					pkt->rkey, pkt->va, pkt->dma_len,
					IB_ACCESS_REMOTE_READ);
	if (status)
		return status;
	pavo_use_leave(&qp->key_state, resource_slot(qp, res));
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

/*
 * pavo_respond_ack - send an ACK or NAK behind all queued responses.
 *
 * An ACK of a PSN before a waiting NAK is left out: the NAK acknowledges that PSN, too.
 */
void pavo_respond_ack(struct pavo_qp *qp, u32 psn, u8 syndrome)
{
	struct pavo_responder *resp = &qp->resp;

	if (resp->ack_due && (resp->ack_syndrome & PAVO_AETH_CLASS) &&
	    !(syndrome & PAVO_AETH_CLASS) &&
	    pavo_psn_diff(psn, resp->ack_psn) < 0)
		return;
	resp->ack_due = true;
	resp->ack_psn = psn;
	resp->ack_syndrome = syndrome;
}

/* pavo_respond_fatal - send a NAK likewise, then move the QP to Error. */
void pavo_respond_fatal(struct pavo_qp *qp, u32 psn, u8 syndrome,
			enum ib_event_type event)
{
	pavo_respond_ack(qp, psn, syndrome);
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
	pkt->opcode = op;
	pkt->npkts = 1;
	pkt->pad = 0;
	pkt->solicited = false;
	pkt->ack_req = false;
	pkt->fecn = false;
	pkt->becn = false;
	pkt->pkey = PAVO_PKEY_DEFAULT;
	pkt->dqpn = qp->attr.dest_qpn;
	pkt->psn = psn;
	pkt->syndrome = PAVO_AETH_ACK_UNLIMITED;
	pkt->msn = msn;
}

static struct sk_buff *alloc_response(struct pavo_qp *qp, struct pavo_pkt *pkt,
				      u32 copy)
{
	pkt->opcode = pavo_opcode_of(pavo_service(qp), pkt->opcode);
	return pavo_tx_alloc(&qp->stats, &qp->flow, pkt, copy);
}

static enum hrtimer_restart end_pause(struct hrtimer *timer)
{
	struct pavo_qp *qp = container_of(timer, struct pavo_qp, resp.pause);

	set_bit(PAVO_RESP_SEND, &qp->resp.side.pending);
	if (!pavo_qp_defer_timer(qp))
		pavo_responder_run(qp);
	return HRTIMER_NORESTART;
}

void pavo_respond_init(struct pavo_qp *qp)
{
	pavo_hrtimer_setup(&qp->resp.pause, end_pause, CLOCK_MONOTONIC,
			   HRTIMER_MODE_REL_SOFT);
}

static enum pavo_icrc_defer response_icrc_defer(struct pavo_qp *qp)
{
	return pavo_flow_icrc_defer(&qp->flow, &qp->resp.side.backoff,
				    pavo_same_host(qp));
}

/* True if a single packet may have a deferred ICRC. */
static bool may_defer_icrc(struct pavo_qp *qp)
{
	return response_icrc_defer(qp) == PAVO_ICRC_DEFER_ALL;
}

static int send_response(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			 struct sk_buff *skb, bool defer)
{
	struct pavo_meta meta;

	if (defer) {
		meta = pavo_meta_of(qp);
		return pavo_tx_send_deferred(&qp->stats, &qp->flow, skb, pkt,
					     qp->attr.mtu, &meta);
	}
	pavo_pair_sent_plain(qp);
	return pavo_tx_send(&qp->stats, &qp->flow, skb, pkt->pad);
}

/*
 * Send a response; @skb is NULL if there was no memory. A response without a route counts as
 * lost: the peer's loss timer expires.
 *
 * Return: PAVO_ST_OK; PAVO_ST_BUSY: no memory, or the interface refused. The side pauses.
 */
static enum pavo_status transmit_response(struct pavo_qp *qp,
					  const struct pavo_pkt *pkt,
					  struct sk_buff *skb, u32 payload,
					  bool defer)
{
	if (likely(skb)) {
		trace_pavo_transmit(qp, pkt, payload);
		if (likely(send_response(qp, pkt, skb, defer) != -ENOBUFS))
			return PAVO_ST_OK;
	}
	/* A device queue may be too short for any super-packet. */
	if (pkt->npkts > 1)
		pavo_gso_backoff_lost(&qp->resp.side.backoff,
				      pavo_same_host(qp));
	qp->resp.paused = true;
	hrtimer_start(&qp->resp.pause, ns_to_ktime(PAVO_CONGESTED_NS),
		      HRTIMER_MODE_REL_SOFT);
	return PAVO_ST_BUSY;
}

static void send_ack(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_pkt pkt pavo_uncleared;

	fill_response(qp, &pkt, PAVO_OP_ACKNOWLEDGE, resp->ack_psn, resp->msn);
	pkt.syndrome = resp->ack_syndrome;
	if (transmit_response(qp, &pkt, alloc_response(qp, &pkt, 0), 0,
			      may_defer_icrc(qp)))
		return;
	resp->ack_due = false;
	if ((resp->ack_syndrome & PAVO_AETH_CLASS) == PAVO_AETH_ACK)
		pavo_count_bh(qp, tx_acks);
	else if ((resp->ack_syndrome & PAVO_AETH_CLASS) == PAVO_AETH_NAK)
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
	return transmit_response(qp, &pkt, alloc_response(qp, &pkt, 0), 0,
				 may_defer_icrc(qp));
}

static u8 read_opcode(const struct pavo_resource *res, bool last)
{
	if (last)
		return res->begun ? PAVO_OP_READ_RESP_LAST :
				    PAVO_OP_READ_RESP_ONLY;
	return res->begun ? PAVO_OP_READ_RESP_MIDDLE : PAVO_OP_READ_RESP_FIRST;
}

/*
 * Add payload to a read response. A copy has the bytes of the memory as they are now, even if
 * these change while the packet waits in a queue. With pavo_copy_reads off, pages are attached
 * instead. A retransmitted response is always copied: a packet whose page changes on its way is
 * dropped for its ICRC, and that must not happen for ever. So is one with a deferred ICRC.
 *
 * Return: 0; -ENOSPC: the pages cannot be attached; -ENOMEM.
 */
static int add_read_payload(struct pavo_region *region, struct sk_buff *skb,
			    u64 va, u32 len, bool copy)
{
	void *to;
	u32 n;

	if (!copy)
		return pavo_payload_attach(region, va, skb, len) ? 0 : -ENOSPC;
	for (; len; va += n, len -= n) {
		n = min_t(u32, len, PAGE_SIZE);
		to = pavo_tx_put(skb, n);
		if (unlikely(!to))
			return -ENOMEM;
		pavo_region_read(region, va, to, n);
	}
	return 0;
}

/* Make the skb of a read response. Return: NULL without memory (counted). */
static struct sk_buff *make_read_skb(struct pavo_qp *qp,
				     struct pavo_resource *res,
				     struct pavo_pkt *pkt,
				     struct pavo_region *region, u32 len,
				     bool defer)
{
	const u32 head = len <= PAVO_RESPOND_COPYBREAK ? len : 0;
	bool copy = head == len || res->replay || defer ||
		    READ_ONCE(pavo_copy_reads);
	struct sk_buff *skb;

	for (;;) {
		skb = alloc_response(qp, pkt, head);
		if (!skb || !len ||
		    !add_read_payload(region, skb, res->va, len, copy))
			return skb;
		kfree_skb(skb);
		if (unlikely(copy)) {
			pavo_count(qp, tx_drop_no_memory);
			return NULL;
		}
		/* The pages cannot be attached: copy them. */
		copy = true;
	}
}

/*
 * XRC: find the SRQ by whose PD the memory of a read is translated. By now another SRQ, of
 * another PD, may have its number.
 *
 * Return: 0; -ENOENT: it is gone; another errno of pavo_rkm_join().
 */
static int find_read_srq(struct pavo_qp *qp, const struct pavo_resource *res)
{
	if (!pavo_is_xrc_target(qp))
		return 0;
	qp->resp.rq = pavo_xrc_rq(qp, res->srqn);
	if (!qp->resp.rq)
		return -ENOENT;
	return pavo_rkm_join(&qp->key_state, qp->resp.rq->pd);
}

/* Make the next packet of a read response; its remote-key slot is busy meanwhile. */
static enum pavo_status make_read(struct pavo_qp *qp, struct pavo_resource *res,
				  struct pavo_pkt *pkt, struct sk_buff **skb,
				  u32 len, bool defer)
{
	struct pavo_region *region;
	enum pavo_status status;

	status = pavo_xlate_remote(&qp->key_state, res->rkey, res->va, len,
				   IB_ACCESS_REMOTE_READ, &region);
	if (unlikely(status == PAVO_ST_FAULT))
		return pavo_fault_request(&qp->key_state,
					  &qp->resp.side.missing, region,
					  res->va, len, false);
	if (likely(!status))
		*skb = make_read_skb(qp, res, pkt, region, len, defer);
	return status;
}

/* Payload bytes of the next packet of a read, or GSO super-packet; a replay has none of these. */
static u32 next_bytes(const struct pavo_qp *qp, const struct pavo_resource *res,
		      bool defer)
{
	u32 mtu = qp->attr.mtu;

	if (res->left <= mtu || res->replay || !defer)
		return min(res->left, mtu);
	return min(res->left, PAVO_GSO_BYTES / mtu * mtu);
}

/*
 * Send the next packet or GSO super-packet of a read response.
 *
 * Return: PAVO_ST_OK; PAVO_ST_WAIT: for pages; PAVO_ST_BUSY: for the interface; or why the memory
 * may not be read any more.
 */
static enum pavo_status send_read(struct pavo_qp *qp, struct pavo_resource *res)
{
	enum pavo_icrc_defer may = response_icrc_defer(qp);
	u32 len = next_bytes(qp, res, may);
	bool defer = may == PAVO_ICRC_DEFER_ALL || (may && len > qp->attr.mtu);
	struct pavo_pkt pkt pavo_uncleared;
	enum pavo_status status;
	struct sk_buff *skb;

	fill_response(qp, &pkt, read_opcode(res, len == res->left), res->psn,
		      res->msn);
	if (len > qp->attr.mtu)
		pkt.npkts = DIV_ROUND_UP(len, qp->attr.mtu);
	pkt.pad = -len & 3;
	if (find_read_srq(qp, res))
		return PAVO_ST_KEY;
	if (len) {
		status = pavo_use_enter(&qp->key_state, resource_slot(qp, res));
		if (unlikely(status))
			return status;
	}
	status = make_read(qp, res, &pkt, &skb, len, defer);
	/* The packet may stay in a queue, but attached pages that change make its ICRC wrong. */
	if (len)
		pavo_use_leave(&qp->key_state, resource_slot(qp, res));
	if (unlikely(status))
		return status;
	status = transmit_response(qp, &pkt, skb, len, defer);
	if (unlikely(status))
		return status;
	res->begun = true;
	res->psn = pavo_psn_add(res->psn, pkt.npkts);
	res->va += len;
	res->left -= len;
	if (!res->left)
		pavo_use_end(&qp->key_state, resource_slot(qp, res));
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
		pavo_use_end(&qp->key_state, resource_slot(qp, res));
		res->left = 0;
	} else if (unlikely(status)) {
		/* The key ended during the read: a remote access error. */
		pavo_count(qp, rx_nak_sent_remote_access);
		resp->send_head = resp->send_tail;
		pavo_respond_fatal(qp, res->psn, pavo_status_codes(status)->nak,
				   IB_EVENT_QP_ACCESS_ERR);
		return PAVO_ST_OK;
	}
	if (!res->left) {
		res->answered = true;
		res->queued = false;
		resp->send_head++;
	}
	return PAVO_ST_OK;
}

/*
 * Send queued responses.
 *
 * Return: true if the budget is used up; false if all are sent, or have to wait.
 */
static bool send_queued(struct pavo_qp *qp, struct pavo_budget *budget)
{
	struct pavo_responder *resp = &qp->resp;
	const u8 *queue = resp->send_queue;
	const struct pavo_resource *res;
	u32 before;

	while (resp->send_head != resp->send_tail) {
		if (!pavo_budget_left(budget))
			return true;
		res = &resp->resources[queue[resp->send_head %
					     PAVO_MAX_RD_ATOMIC]];
		before = res->left;
		if (send_next_response(qp))
			return false;
		pavo_budget_spend(budget, 1, before - res->left);
	}
	return false;
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
	bool more;

	if (unlikely(resp->paused))
		return false;
	more = send_queued(qp, &budget);
	pavo_budget_spend(slice, most.packets - budget.packets,
			  most.bytes - budget.bytes);
	if (more || resp->send_head != resp->send_tail)
		return more;
	if (resp->ack_due)
		send_ack(qp);
	return false;
}
