// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * datagram.c - receiving on UD queue pairs and on that of the GSI.
 *
 * A datagram that cannot be delivered is dropped and counted, without an error at either end
 * (IBA 9.8.3). A posted receive whose memory cannot be written is an error
 * of this end. Called with the side owned.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include "responder_private.h"

/* Bytes of a GRH in front of the payload (IBA 11.4.2.1). */
#define PAVO_GRH_LEN 40

/*
 * Write the GRH, which is the IP header on RoCEv2: an IPv6 one as it is, an IPv4 one in
 * the last 20 of the 40 bytes (annex A17.4.5.1).
 */
static enum pavo_status write_grh(struct pavo_qp *qp, struct pavo_rx *rx)
{
	u8 grh[PAVO_GRH_LEN] = {};

	if (rx->ipv6)
		memcpy(grh, ipv6_hdr(rx->skb), sizeof(struct ipv6hdr));
	else
		memcpy(grh + PAVO_GRH_LEN - sizeof(struct iphdr),
		       ip_hdr(rx->skb), sizeof(struct iphdr));
	return pavo_rq_write(qp, grh, sizeof(grh));
}

/* Write GRH and payload to the receive WQE in use. */
static enum pavo_status write_datagram(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_side *side = &qp->resp.side;
	enum pavo_status status;

	if (side->stage != PAVO_STAGE_DATA) {
		status = write_grh(qp, rx);
		if (status == PAVO_ST_WAIT)
			return pavo_side_defer_current(side, PAVO_STAGE_GRH);
		if (status)
			return status;
		side->done = 0;
	}
	status = pavo_rq_scatter(qp, rx->skb, rx->payload, rx->pkt.payload);
	if (status == PAVO_ST_WAIT)
		return pavo_side_defer_current(side, PAVO_STAGE_DATA);
	return status;
}

static enum pavo_status deliver_datagram(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_cqe cqe = {
		.byte_len = PAVO_GRH_LEN + pkt->payload,
		.status = IB_WC_SUCCESS,
		.opcode = PAVO_WQE_SEND,
		.src_qp = pkt->sqpn,
		.flags = PAVO_CQE_GRH,
		.network_hdr_type = rx->ipv6 ? PAVO_NETWORK_IPV6 :
					       PAVO_NETWORK_IPV4,
	};
	enum pavo_status status;

	/* Kernel consumers get the value unchanged. */
	BUILD_BUG_ON(RDMA_NETWORK_IPV4 - PAVO_NETWORK_IPV4);
	BUILD_BUG_ON(RDMA_NETWORK_IPV6 - PAVO_NETWORK_IPV6);
	/* The datagram was sent to a GID of that VLAN; see qp/table.c. */
	if (skb_vlan_tag_present(rx->skb))
		cqe.vlan = skb_vlan_tag_get_id(rx->skb);
	/*
	 * The sender chose the length, so it is no error of this end: the datagram
	 * is dropped, and the receive stays for the next one.
	 */
	if (cqe.byte_len > qp->resp.wqe->length) {
		pavo_count(qp, rx_drop_recv_length);
		return PAVO_ST_OK;
	}
	status = write_datagram(qp, rx);
	if (status == PAVO_ST_WAIT)
		return status;
	if (status) {
		pavo_rq_fail(qp, status);
		/* The GSI's QP serves all processes: it must not fail. */
		if (qp->ib.qp_type != IB_QPT_GSI)
			pavo_qp_error(qp, IB_EVENT_QP_FATAL);
		return status;
	}
	if (pkt->info->flags & PAVO_OPF_IMM) {
		cqe.imm = (__force u32)pkt->imm;
		cqe.flags |= PAVO_CQE_IMM;
	}
	pavo_rq_complete(qp, &cqe, pkt->solicited);
	return PAVO_ST_OK;
}

/* pavo_datagram - receive one UD packet. Return: PAVO_ST_WAIT: it is deferred. */
enum pavo_status pavo_datagram(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;

	if (unlikely(qp->resp.side.stage != PAVO_STAGE_BEGIN))
		return deliver_datagram(qp, rx);
	if (pkt->qkey != READ_ONCE(qp->attr.qkey)) {
		pavo_count(qp, rx_drop_qkey);
		pavo_count_violation(&qp->dev->bad_qkeys);
	} else if (pkt->payload > PAVO_MAX_DATAGRAM) {
		pavo_count(qp, rx_drop_too_long);
	} else if (pavo_rq_take(qp)) {
		pavo_count(qp, out_of_buffer);
	} else {
		return deliver_datagram(qp, rx);
	}
	return PAVO_ST_OK;
}
