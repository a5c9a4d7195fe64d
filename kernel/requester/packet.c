// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * packet.c - ReqPktGen (sources.md#engine-3-4-4): one request packet.
 *
 * Called by transmit.c, which decides which packet is sent when. A packet is made
 * from its WQE and its index alone. So only the WQE is kept, and a retransmission makes the
 * packet anew.
 */
#include "requester_private.h"
#include "pavo_trace.h"

/* Opcode of @span packets from @pkt on, of @n, by their place: First, Middle, Last, Only. */
static u8 request_opcode(const struct pavo_swqe *wqe, u32 pkt, u32 span, u32 n)
{
	const struct pavo_op *op = pavo_op(wqe->op);

	if (op->segments & PAVO_SEG_IMM64 && wqe->flags & PAVO_WQE_SOLICITED)
		return PAVO_OP_IMM64_SE;
	/* One read request requests many packets of the response. */
	if (span == n || pavo_op_brings(wqe->op))
		return op->only;
	if (pkt + span == n)
		return op->last;
	return pkt ? op->middle : op->first;
}

/* pavo_retransmit_forget - free the clone, after progress or when the side is reset. */
void pavo_retransmit_forget(struct pavo_requester *req)
{
	if (likely(!req->retransmit))
		return;
	consume_skb(req->retransmit);
	req->retransmit = NULL;
}

/*
 * pavo_retransmit_is_queued - true if the retransmitted packet is still in a queue of this host.
 *
 * As long as it is, it shares its data with the clone. An skb destructor would not do: a packet
 * may be in a queue when the module is gone.
 */
bool pavo_retransmit_is_queued(const struct pavo_requester *req)
{
	return req->retransmit && skb_cloned(req->retransmit);
}

/* Retransmit a packet, and keep a clone of the oldest one that is still queued. */
static int send_retransmit(struct pavo_qp *qp, struct pavo_flow *flow,
			   struct sk_buff *skb, unsigned int pad)
{
	int err = pavo_tx_finish_icrc(&qp->stats, flow, skb, pad);

	if (err)
		return err;
	if (!pavo_retransmit_is_queued(&qp->req)) {
		pavo_retransmit_forget(&qp->req);
		qp->req.retransmit = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	}
	/* The clone must not hold the route, since it may exist for long. */
	if (qp->req.retransmit)
		skb_dst_drop(qp->req.retransmit);
	return pavo_tx_send_finished(&qp->stats, flow, skb);
}

/*
 * pavo_request_icrc_defer - which requests may have a deferred ICRC, and be in GSO super-packets
 * and coalesced packets.
 *
 * A retransmitted request gets its ICRC at once, in case the path drops packets with a deferred
 * one; on loopback there is no path. UC has no super-packets.
 */
enum pavo_icrc_defer pavo_request_icrc_defer(struct pavo_qp *qp,
					     bool retransmit)
{
	enum pavo_icrc_defer defer;

	if (retransmit)
		return pavo_flow_is_loopback(&qp->flow) ? PAVO_ICRC_DEFER_ALL :
							  PAVO_ICRC_DEFER_NONE;
	defer = pavo_flow_icrc_defer(&qp->flow, &qp->req.side.backoff,
				     pavo_same_host(qp));
	if (pavo_is_unreliable(qp) && defer != PAVO_ICRC_DEFER_ALL)
		return PAVO_ICRC_DEFER_NONE;
	return defer;
}

static enum pavo_status status_of_net(int err)
{
	if (likely(!err))
		return PAVO_ST_OK;
	return err == -ENOMEM || err == -ENOBUFS ? PAVO_ST_BUSY : PAVO_ST_LOST;
}

/* True if the payload of a packet is copied when it is sent for the first time. */
static bool is_copied(const struct pavo_swqe *wqe, u32 len)
{
	/* A read request has no payload that could be attached. */
	if (unlikely(wqe->flags & PAVO_SWQE_CLAIMS) && len)
		return false;
	return len <= PAVO_COPYBREAK || wqe->flags & PAVO_SWQE_INLINE;
}

/*
 * True if pages of the process may be attached as payload. The receiver reads them as they are
 * at that time: so only a request that completes after that may have some, on a path where no
 * other process sees a change meanwhile. Pages of a claimed region do not change while a packet
 * has them.
 */
static bool may_attach(struct pavo_qp *qp, struct pavo_flow *flow,
		       const struct pavo_swqe *wqe, u32 len)
{
	if (is_copied(wqe, len))
		return false;
	if (unlikely(wqe->flags & PAVO_SWQE_CLAIMS))
		return true;
	return pavo_is_reliable(qp) && pavo_flow_attaches(flow);
}

/* Bytes of payload that are copied into the head of a packet; the rest is in pages. */
static u32 head_bytes(u32 len, bool attach)
{
	return attach || len > PAVO_COPYBREAK ? 0 : len;
}

/*
 * Make a packet with a deferred ICRC of headers and payload, and send it.
 *
 * Return: as pavo_request_send(); PAVO_ST_FRAGMENTS: the payload does not fit one skb.
 */
static enum pavo_status send_deferred(struct pavo_qp *qp,
				      const struct pavo_swqe *wqe,
				      struct pavo_pkt *pkt,
				      struct pavo_sgl_pos *pos, u32 len)
{
	bool attach = may_attach(qp, &qp->flow, wqe, len);
	struct pavo_meta meta = pavo_meta_of(qp);
	struct pavo_sgl_pos start = *pos;
	enum pavo_status status;
	struct sk_buff *skb;

	pkt->pad = -len & 3;
retry:
	skb = pavo_tx_alloc(&qp->stats, &qp->flow, pkt,
			    head_bytes(len, attach));
	if (!skb)
		return PAVO_ST_BUSY;
	if (attach)
		status = pavo_sgl_attach(qp, wqe, pos, len, skb, &meta);
	else
		status = pavo_sgl_gather(qp, wqe, pos, len, skb, false);
	if (unlikely(status)) {
		kfree_skb(skb);
		*pos = start;
		if (attach && status == PAVO_ST_FRAGMENTS) {
			attach = false;
			meta = pavo_meta_of(qp);
			goto retry;
		}
		return status;
	}
	trace_pavo_transmit(qp, pkt, len);
	return status_of_net(pavo_tx_send_deferred(&qp->stats, &qp->flow, skb,
						   pkt, qp->attr.mtu, &meta));
}

/* True if the packet may be coalesced: it is a short message, and not the only one to send. */
static bool may_coalesce(const struct pavo_qp *qp, const struct pavo_swqe *wqe,
			 const struct pavo_pkt *pkt, u32 len)
{
	const struct pavo_requester *req = &qp->req;

	return wqe->npkts == 1 && len <= PAVO_COPYBREAK &&
	       !(wqe->flags & PAVO_SWQE_CLAIMS) &&
	       (req->coalesced.skb || req->head - wqe->number > 1) &&
	       pavo_coalesced_allowed(pkt->opcode);
}

/*
 * pavo_coalesced_flush - send the coalesced packets.
 *
 * Return: as pavo_request_send(). PAVO_ST_BUSY: the cursor moved back to the first of them.
 */
enum pavo_status pavo_coalesced_flush(struct pavo_qp *qp)
{
	struct pavo_requester *req = &qp->req;
	enum pavo_status status;
	struct pavo_meta meta;
	int err;

	if (likely(!req->coalesced.skb))
		return PAVO_ST_OK;
	if (unlikely(!req->coalesced.count)) {
		kfree_skb(req->coalesced.skb);
		req->coalesced.skb = NULL;
		return PAVO_ST_OK;
	}
	meta = pavo_meta_of(qp);
	err = pavo_coalesced_send(&qp->stats, &qp->flow, &req->coalesced,
				  &meta);
	status = status_of_net(err);
	if (unlikely(status == PAVO_ST_BUSY)) {
		/* A device queue may be too short for any coalesced packets. */
		pavo_gso_backoff_lost(&req->side.backoff, pavo_same_host(qp));
		pavo_transmit_seek(qp, req->coalesced.first);
	}
	return status;
}

/* Have an skb of coalesced packets with @len free bytes: send a full one, begin a new one. */
static enum pavo_status prepare_coalesced(struct pavo_qp *qp,
					  const struct pavo_swqe *wqe, u32 psn,
					  u32 len)
{
	struct pavo_requester *req = &qp->req;
	u32 more = min_t(u32, req->head - wqe->number, PAVO_COALESCED_PACKETS);
	enum pavo_status status;

	if (req->coalesced.skb && !pavo_coalesced_fits(&req->coalesced, len)) {
		status = pavo_coalesced_flush(qp);
		if (status == PAVO_ST_BUSY)
			return status;
	}
	if (req->coalesced.skb)
		return PAVO_ST_OK;
	if (pavo_coalesced_begin(&qp->stats, &qp->flow, &req->coalesced,
				 min_t(u32, more * len, PAVO_COALESCED_BYTES)))
		return PAVO_ST_BUSY;
	req->coalesced.first = psn;
	return PAVO_ST_OK;
}

/* Add a packet to the coalesced ones. */
static enum pavo_status coalesce_request(struct pavo_qp *qp,
					 const struct pavo_swqe *wqe,
					 struct pavo_pkt *pkt,
					 struct pavo_sgl_pos *pos, u32 len)
{
	struct pavo_coalesced *coalesced = &qp->req.coalesced;
	unsigned int hdr_len = pavo_op_info(pkt->opcode)->hdr_len;
	enum pavo_status status;
	unsigned int begin;

	pkt->pad = -len & 3;
	status = prepare_coalesced(qp, wqe, pkt->psn, hdr_len + len + pkt->pad);
	if (unlikely(status))
		return status;
	begin = coalesced->skb->len;
	pavo_build(skb_put(coalesced->skb, hdr_len), pkt);
	status = pavo_sgl_gather(qp, wqe, pos, len, coalesced->skb, false);
	if (unlikely(status)) {
		*pos = (struct pavo_sgl_pos){};
		skb_trim(coalesced->skb, begin);
		return status;
	}
	skb_put_zero(coalesced->skb, pkt->pad);
	coalesced->len[coalesced->count++] = coalesced->skb->len - begin;
	trace_pavo_transmit(qp, pkt, len);
	return PAVO_ST_OK;
}

/*
 * Make an skb of headers and payload, and send it. Payload is copied if pages must not be attached,
 * if there are more than an skb takes, or in a retransmission: the process may reuse its memory by
 * now, and a page that changes between ICRC and wire would have the packet dropped once more.
 */
static enum pavo_status send_payload(struct pavo_qp *qp, struct pavo_flow *flow,
				     const struct pavo_swqe *wqe,
				     struct pavo_pkt *pkt,
				     struct pavo_sgl_pos *pos, u32 len,
				     bool retransmit)
{
	struct pavo_sgl_pos start = *pos;
	enum pavo_status status;
	struct sk_buff *skb;
	bool attach;
	int err;

	attach = !retransmit && may_attach(qp, flow, wqe, len);
	pkt->pad = -len & 3;
retry:
	skb = pavo_tx_alloc(&qp->stats, flow, pkt, head_bytes(len, attach));
	if (!skb)
		return PAVO_ST_BUSY;
	status = pavo_sgl_gather(qp, wqe, pos, len, skb, attach);
	if (unlikely(status)) {
		kfree_skb(skb);
		*pos = start;
		if (attach && status == PAVO_ST_FRAGMENTS) {
			attach = false;
			goto retry;
		}
		return status == PAVO_ST_FRAGMENTS ? PAVO_ST_BUSY : status;
	}
	trace_pavo_transmit(qp, pkt, len);
	pavo_pair_sent_plain(qp);
	if (unlikely(retransmit))
		err = send_retransmit(qp, flow, skb, pkt->pad);
	else
		err = pavo_tx_send(&qp->stats, flow, skb, pkt->pad);
	return status_of_net(err);
}

static void fill_atomic(const struct pavo_swqe *wqe, struct pavo_pkt *p)
{
	p->swap_add = wqe->swap_add;
	p->compare = wqe->compare;
	p->swap_add_mask = wqe->swap_add_mask;
	p->compare_mask = wqe->compare_mask;
	p->request_id = wqe->number;
	p->aop = pavo_op(wqe->op)->aop;
}

/*
 * Set the headers that a request of a connected QP may have, but for AckReq and pad. @p was not
 * cleared: a field that is not set here would carry bytes of the stack to the peer.
 */
static void fill_request(const struct pavo_qp *qp, const struct pavo_swqe *wqe,
			 u32 pkt, u32 span, struct pavo_pkt *p)
{
	const u32 atomic = PAVO_SEG_ATOMIC | PAVO_SEG_EXT_ATOMIC;

	p->opcode = pavo_opcode_of(pavo_service(qp),
				   request_opcode(wqe, pkt, span, wqe->npkts));
	p->npkts = span;
	p->solicited = wqe->flags & PAVO_WQE_SOLICITED &&
		       pkt + span == wqe->npkts;
	p->fecn = false;
	p->becn = false;
	p->pkey = PAVO_PKEY_DEFAULT;
	p->dqpn = qp->attr.dest_qpn;
	p->psn = pavo_psn_add(wqe->first_psn, pkt);
	p->va = wqe->raddr;
	p->rkey = wqe->rkey;
	p->dma_len = wqe->length;
	p->srqn = wqe->srqn;
	p->imm = (__force __be32)wqe->imm;
	p->inv_rkey = wqe->imm;
	if (unlikely(pavo_op(wqe->op)->segments & atomic))
		fill_atomic(wqe, p);
}

/*
 * pavo_request_send - send one request packet, or a GSO super-packet, of a connected QP's WQE.
 * @pkt:     its index in the message (reads: in the response)
 * @pos:     place of its payload; moved behind it
 * @npkts:   packets of the super-packet, or 1; reads: response packets that are requested
 * @ack_req: set AckReq in the last one
 * @retransmit: it was sent before
 *
 * Return: PAVO_ST_OK; PAVO_ST_LOST: no route; PAVO_ST_BUSY: no memory, or the interface refused;
 * PAVO_ST_WAIT: for pages; PAVO_ST_FRAGMENTS: send these packets one by one; or why the WQE's
 * memory may not be read.
 */
enum pavo_status pavo_request_send(struct pavo_qp *qp, struct pavo_swqe *wqe,
				   u32 pkt, struct pavo_sgl_pos *pos, u32 npkts,
				   bool ack_req, bool retransmit)
{
	u32 mtu = qp->attr.mtu, done = pkt * mtu;
	bool brings = pavo_op_brings(wqe->op);
	u32 span = brings ? 1 : npkts;
	u32 len = min(span * mtu, wqe->length - done);
	struct pavo_pkt p pavo_uncleared;
	enum pavo_status status;
	enum pavo_icrc_defer defer;

	fill_request(qp, wqe, pkt, span, &p);
	p.ack_req = ack_req;
	if (brings) {
		len = 0;
		if (wqe->op == PAVO_WQE_READ) {
			p.va += done;
			p.dma_len = min(wqe->length - done, npkts * mtu);
		}
	}
	defer = pavo_request_icrc_defer(qp, retransmit);
	if (defer && may_coalesce(qp, wqe, &p, len))
		return coalesce_request(qp, wqe, &p, pos, len);
	status = pavo_coalesced_flush(qp);
	if (unlikely(status == PAVO_ST_BUSY))
		return status;
	if (defer == PAVO_ICRC_DEFER_ALL || (defer && span > 1))
		return send_deferred(qp, wqe, &p, pos, len);
	if (span > 1)
		return PAVO_ST_FRAGMENTS;
	return send_payload(qp, &qp->flow, wqe, &p, pos, len, retransmit);
}

static void fill_ah(const struct pavo_ud_seg *av, struct rdma_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	ah->type = RDMA_AH_ATTR_TYPE_ROCE;
	ah->ah_flags = IB_AH_GRH;
	ah->port_num = PAVO_PORT;
	ah->sl = av->sl;
	ah->grh.sgid_index = av->sgid_index;
	ah->grh.hop_limit = av->hop_limit;
	ah->grh.traffic_class = av->traffic_class;
	ah->grh.flow_label = av->flow_label & PAVO_FLOW_LABEL;
	memcpy(ah->grh.dgid.raw, av->dgid, sizeof(av->dgid));
}

/*
 * pavo_datagram_send - send a UD WQE, which is one packet.
 *
 * A datagram without a route is lost, as on any network: counted, but no error of the WQE.
 *
 * Return: as pavo_request_send().
 */
enum pavo_status pavo_datagram_send(struct pavo_qp *qp, struct pavo_swqe *wqe)
{
	struct pavo_pkt p = {
		.opcode = PAVO_SVC_UD | pavo_op(wqe->op)->only,
		.solicited = wqe->flags & PAVO_WQE_SOLICITED,
		.pkey = PAVO_PKEY_DEFAULT,
		.dqpn = wqe->av->dest_qpn,
		.psn = wqe->first_psn,
		.imm = (__force __be32)wqe->imm,
		.qkey = wqe->av->qkey,
		.sqpn = qp->ib.qp_num,
	};
	struct pavo_sgl_pos pos = {};
	struct pavo_flow flow;
	struct rdma_ah_attr ah;
	enum pavo_status status;

	/* IBA 10.2.5: with the top bit set the QP's own Q_Key is sent. */
	if (p.qkey & BIT(31))
		p.qkey = READ_ONCE(qp->attr.qkey);
	fill_ah(wqe->av, &ah);
	if (pavo_flow_init(&flow, &qp->dev->port, &ah, qp->ib.qp_num, p.dqpn,
			   false)) {
		pavo_count(qp, tx_drop_no_route);
		return PAVO_ST_LOST;
	}
	status = send_payload(qp, &flow, wqe, &p, &pos, wqe->length, false);
	pavo_flow_destroy(&flow);
	return status;
}
