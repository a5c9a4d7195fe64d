// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute_write.c - carry out a packet of a write.
 */
#include "responder_private.h"

/* Begin a write: check its whole range, and note where its first byte goes. */
static enum pavo_status begin_write_request(struct pavo_qp *qp,
					    const struct pavo_pkt *pkt)
{
	struct pavo_write_addr *write = &qp->resp.write;
	enum pavo_status status;

	if (!(READ_ONCE(qp->attr.access) & IB_ACCESS_REMOTE_WRITE) ||
	    pkt->dma_len > PAVO_MAX_MSG_SIZE)
		return PAVO_ST_INVALID;
	status = pavo_use_begin(&qp->key_state, PAVO_KEY_SLOT_WRITE, pkt->rkey,
				pkt->va, pkt->dma_len, IB_ACCESS_REMOTE_WRITE);
	if (status)
		return status;
	write->va = pkt->va;
	write->rkey = pkt->rkey;
	write->total = pkt->dma_len;
	write->left = pkt->dma_len;
	return PAVO_ST_OK;
}

/* Write the payload to the place of the packet; the remote-key slot is busy. */
static enum pavo_status write_payload(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_write_addr *write = &qp->resp.write;
	struct pavo_side *side = &qp->resp.side;
	u32 len = rx->pkt.payload;
	struct pavo_region *region;
	enum pavo_status status;

	status = pavo_xlate_remote(&qp->key_state, write->rkey, write->va, len,
				   IB_ACCESS_REMOTE_WRITE, &region);
	if (unlikely(status == PAVO_ST_FAULT))
		status = pavo_fault_request(&qp->key_state, &side->missing,
					    region, write->va, len, true);
	if (unlikely(status == PAVO_ST_WAIT))
		return pavo_side_defer_current(side, PAVO_STAGE_DATA);
	if (unlikely(status))
		return status;
	if (pavo_payload_take(region, write->va, rx->skb, rx->payload, len))
		return PAVO_ST_INVALID;
	write->va += len;
	write->left -= len;
	return PAVO_ST_OK;
}

/*
 * Write the payload, with the remote-key slot busy meanwhile. For a First or Only that was not
 * deferred, begin_write_request() has made it busy.
 */
static enum pavo_status write_packet(struct pavo_qp *qp, struct pavo_rx *rx)
{
	u32 flags = rx->pkt.info->flags;
	enum pavo_status status;

	if (!rx->pkt.payload)
		return PAVO_ST_OK;
	if ((!(flags & PAVO_OPF_FIRST) ||
	     qp->resp.side.stage != PAVO_STAGE_BEGIN) &&
	    pavo_use_enter(&qp->key_state, PAVO_KEY_SLOT_WRITE))
		return PAVO_ST_STATE;
	status = write_payload(qp, rx);
	if (status != PAVO_ST_WAIT &&
	    flags & (status ? PAVO_OPF_FIRST : PAVO_OPF_LAST))
		pavo_use_end(&qp->key_state, PAVO_KEY_SLOT_WRITE);
	else
		pavo_use_leave(&qp->key_state, PAVO_KEY_SLOT_WRITE);
	return status;
}

/* Check the packet against the length of the write, before any of its bytes are written. */
static enum pavo_status check_write_packet(struct pavo_qp *qp,
					   const struct pavo_pkt *pkt)
{
	u32 left, flags = pkt->info->flags;
	enum pavo_status status;

	if (flags & PAVO_OPF_FIRST) {
		status = begin_write_request(qp, pkt);
		if (status)
			return status;
	}
	left = qp->resp.write.left;
	if (flags & PAVO_OPF_LAST ? pkt->payload == left : pkt->payload < left)
		return PAVO_ST_OK;
	pavo_use_end(&qp->key_state, PAVO_KEY_SLOT_WRITE);
	return PAVO_ST_INVALID;
}

enum pavo_status pavo_execute_write(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;
	bool imm = pkt->info->flags & PAVO_OPF_IMM;
	enum pavo_status status = PAVO_ST_OK;

	if (likely(resp->side.stage == PAVO_STAGE_BEGIN)) {
		/* Before any effect: after an RNR NAK the peer retransmits the whole packet. */
		if (imm)
			status = pavo_rq_take(qp);
		if (!status)
			status = check_write_packet(qp, pkt);
	}
	if (!status)
		status = write_packet(qp, rx);
	if (status)
		return status;
	resp->message = PAVO_KIND_WRITE;
	if (pkt->info->flags & PAVO_OPF_LAST) {
		resp->message = 0;
		pavo_comp_count(qp, PAVO_COMP_REMOTE_WRITE, true);
	}
	if (imm)
		pavo_complete_recv(qp, pkt, PAVO_WQE_WRITE_IMM,
				   resp->write.total);
	pavo_request_done(qp, pkt);
	return PAVO_ST_OK;
}
