// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * packet.c - ReqPktGen (sources.md#engine-3-4-4): one request packet.
 *
 * Called by transmit.c, which decides which packet is sent when. A packet is made
 * from its WQE and its index alone. So only the WQE is kept, and a retransmission makes the
 * packet anew.
 */
#include "requester/recovery_sack.h"
#include "requester_private.h"
#include "pavo_trace.h"

/* Opcode of @span packets from @pkt on, of @n, by their place: First, Middle, Last, Only. */
static u8 get_request_opcode(const struct pavo_swqe *wqe, u32 pkt, u32 span,
			     u32 n)
{
	const struct pavo_op *op = pavo_op_find(wqe->op);

	if (op->only_se && wqe->flags & PAVO_WQE_SOLICITED)
		return op->only_se;
	/* One read request requests many packets of the response. */
	if (span == n || pavo_op_brings(wqe->op))
		return op->only;
	if (pkt + span == n)
		return op->last;
	return pkt ? op->middle : op->first;
}

/* May pages of a request be attached? One that is acknowledged holds them until then. */
static enum pavo_pages get_request_pages(const struct pavo_qp *qp,
					 const struct pavo_swqe *wqe)
{
	/* Pages of a claimed region do not change while a packet has them. */
	if (unlikely(wqe->flags & PAVO_SWQE_CLAIMS))
		return PAVO_PAGES_CONSTANT;
	if (wqe->flags & PAVO_SWQE_INLINE || !pavo_is_reliable(qp))
		return PAVO_PAGES_COPY;
	return PAVO_PAGES_HELD;
}

/* The payload of a request: where it is in the SGL, and the headers in front of it. */
struct payload {
	struct pavo_qp *qp;
	const struct pavo_swqe *wqe;
	const struct pavo_pkt *pkt;
	struct pavo_sgl_pos *pos;
};

/* Inline, so that struct payload is never made. */
static __always_inline enum pavo_status
gather_request(void *source, struct pavo_xmit *x, u32 len)
{
	const struct payload *payload = source;
	struct pavo_sgl_pos pos = *payload->pos;
	enum pavo_status status;

	status = pavo_sgl_gather(payload->qp, payload->wqe, &pos, len, x);
	if (unlikely(status))
		return status;
	*payload->pos = pos;
	trace_pavo_transmit(payload->qp, payload->pkt, len);
	return PAVO_ST_OK;
}

static void fill_atomic(const struct pavo_swqe *wqe, struct pavo_pkt *p)
{
	p->swap_add = wqe->swap_add;
	p->compare = wqe->compare;
	p->swap_add_mask = wqe->swap_add_mask;
	p->compare_mask = wqe->compare_mask;
	p->request_id = wqe->number;
	p->aop = pavo_op_find(wqe->op)->aop;
}

/*
 * Set the headers that a request of a connected QP may have, but for AckReq and pad. @p was not
 * cleared: a field that is not set here would carry bytes of the stack to the peer.
 */
static void fill_request(const struct pavo_qp *qp, const struct pavo_swqe *wqe,
			 u32 pkt, u32 span, struct pavo_pkt *p)
{
	p->opcode = pavo_opcode_make(pavo_qp_get_service(qp),
				     get_request_opcode(wqe, pkt, span,
							wqe->npkts));
	p->npkts = span;
	p->solicited = wqe->flags & PAVO_WQE_SOLICITED &&
		       pkt + span == wqe->npkts;
	p->wants_sack = qp->sacks;
	p->attempt = pavo_recovery_get_attempt(&qp->req.recovery);
	p->fecn = false;
	p->becn = false;
	p->pkey = PAVO_PKEY_DEFAULT;
	p->dqpn = qp->attr.dest_qpn;
	p->psn = pavo_psn_add(wqe->first_psn, pkt);
	p->va = wqe->raddr;
	p->rkey = wqe->rkey;
	p->dma_len = wqe->dma_len;
	p->feth = (u8)wqe->imm;
	p->srqn = wqe->srqn;
	p->imm = (__force __be32)wqe->imm;
	p->inv_rkey = wqe->imm;
	if (unlikely(pavo_op_find(wqe->op)->answer == PAVO_ANSWER_VALUE))
		fill_atomic(wqe, p);
}

/*
 * pavo_request_send - send request packets of a connected QP's WQE.
 * @x:       the packets to send
 * @pkt:     index of the first one in the message (reads: in the response)
 * @pos:     place of its payload; moved behind it
 * @npkts:   number of packets; reads: response packets that are requested
 * @ack_req: set AckReq in the last one
 *
 * Return: as pavo_xmit(); PAVO_ST_WAIT: for pages; or why the WQE's memory may not be read.
 */
enum pavo_status pavo_request_send(struct pavo_qp *qp, struct pavo_swqe *wqe,
				   struct pavo_xmit *x, u32 pkt,
				   struct pavo_sgl_pos *pos, u32 npkts,
				   bool ack_req)
{
	u32 mtu = qp->attr.mtu, done = pkt * mtu;
	bool brings = pavo_op_brings(wqe->op);
	u32 span = brings ? 1 : npkts;
	u32 len = min(span * mtu, wqe->length - done);
	struct pavo_pkt p pavo_uncleared;
	struct payload payload = { qp, wqe, &p, pos };

	fill_request(qp, wqe, pkt, span, &p);
	p.ack_req = ack_req;
	if (brings) {
		len = 0;
		if (wqe->op == PAVO_WQE_READ) {
			p.va += done;
			p.dma_len = min(wqe->length - done, npkts * mtu);
		}
	}
	x->pages = get_request_pages(qp, wqe);
	x->messages = qp->req.head - wqe->number;
	return pavo_xmit(x, &p, len, gather_request, &payload);
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
		.opcode = PAVO_SVC_UD | pavo_op_find(wqe->op)->only,
		.npkts = 1,
		.solicited = wqe->flags & PAVO_WQE_SOLICITED,
		.pkey = PAVO_PKEY_DEFAULT,
		.dqpn = wqe->av->dest_qpn,
		.psn = wqe->first_psn,
		.imm = (__force __be32)wqe->imm,
		.qkey = wqe->av->qkey,
		.sqpn = qp->ib.qp_num,
	};
	struct pavo_xmit x pavo_uncleared;
	struct pavo_sgl_pos pos = {};
	struct payload payload = { qp, wqe, &p, &pos };
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
	pavo_xmit_init(&x, &qp->req.side.tx, &flow, qp->attr.mtu);
	x.pages = get_request_pages(qp, wqe);
	status = pavo_xmit(&x, &p, wqe->length, gather_request, &payload);
	pavo_flow_destroy(&flow);
	return status;
}
