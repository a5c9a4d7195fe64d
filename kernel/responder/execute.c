// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute.c - ExecutionEngine (sources.md#engine-4-4-1): checks a request and
 * carries it out.
 *
 * Order of checks as IBA 9.7.4: PSN, opcode sequence, opcode, length, rkey.
 * A failed check becomes a NAK; the fatal ones move the QP to Error. Called by
 * responder.c with the side owned, for the reliable services, and by
 * unreliable.c for sends and writes without acknowledgment.
 */
#include "responder_private.h"
#include "translate/atomic.h"

/*
 * Send a NAK that ends the QP. Answers that are due go out first, or the requester would take
 * them for lost.
 */
static void fail(struct pavo_qp *qp, const struct pavo_pkt *pkt, u8 syndrome)
{
	enum ib_event_type event = IB_EVENT_QP_REQ_ERR;

	if (!pavo_is_reliable(qp)) {
		pavo_unreliable_refuse(qp, syndrome);
		return;
	}
	if (syndrome == PAVO_NAK_INV_REQ) {
		pavo_count(qp, rx_nak_sent_invalid_request);
	} else if (syndrome == PAVO_NAK_REM_ACCESS) {
		pavo_count(qp, rx_nak_sent_remote_access);
		event = IB_EVENT_QP_ACCESS_ERR;
	} else {
		pavo_count(qp, rx_nak_sent_remote_operational);
		event = IB_EVENT_QP_FATAL;
	}
	pavo_respond_fatal(qp, pkt->psn, syndrome, event);
}

/* The peer may not touch the memory that the request names. */
static void fail_access(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			enum pavo_xlate status)
{
	fail(qp, pkt, pavo_xlate_code(status)->nak);
}

/* The message is longer than its receive: an error of the sender. */
static void fail_length(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	if (!pavo_is_reliable(qp)) {
		pavo_count(qp, rx_drop_recv_length);
		pavo_message_drop(qp);
		return;
	}
	pavo_rq_fail(qp, IB_WC_LOC_LEN_ERR, PAVO_VE_RQ_LENGTH);
	fail(qp, pkt, PAVO_NAK_INV_REQ);
}

/* The receive WQE is at fault. */
static void fail_recv(struct pavo_qp *qp, const struct pavo_pkt *pkt,
		      enum ib_wc_status status, enum pavo_vendor_err vendor,
		      u8 syndrome)
{
	pavo_rq_fail(qp, status, vendor);
	/* UC tells the peer nothing: it is an error of this end alone. */
	fail(qp, pkt, pavo_is_reliable(qp) ? syndrome : PAVO_NAK_REM_OP);
}

/* No receive is posted: ask the requester to send this PSN again later. */
static void receiver_not_ready(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	if (!pavo_is_reliable(qp)) {
		pavo_count(qp, rx_drop_no_recv_wqe);
		pavo_message_drop(qp);
		return;
	}
	pavo_count(qp, tx_rnr_naks);
	pavo_respond_ack(qp, pkt->psn, PAVO_AETH_RNR | qp->attr.min_rnr_timer);
	/* Packets behind it in flight must not be reported as a gap. */
	qp->resp.nak_sent = true;
}

/* Take a receive WQE. False: there is none, and the request was answered or dropped. */
static bool take_recv_wqe(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	switch (pavo_rq_take(qp)) {
	case PAVO_RQ_OK:
		return true;
	case PAVO_RQ_EMPTY:
		receiver_not_ready(qp, pkt);
		return false;
	default:
		fail(qp, pkt, PAVO_NAK_REM_OP);
		return false;
	}
}

/* Move on behind an executed request, by all of its PSNs. */
static void advance(struct pavo_qp *qp, const struct pavo_pkt *pkt, u32 npkts)
{
	struct pavo_responder *resp = &qp->resp;

	resp->epsn = pavo_psn_add(resp->epsn, npkts);
	if (pkt->info->flags & PAVO_OPF_LAST)
		resp->msn = (resp->msn + 1) & PAVO_PSN_MASK;
}

static void done(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	advance(qp, pkt, 1);
	if (pkt->ack_req && pavo_is_reliable(qp))
		pavo_respond_ack(qp, pkt->psn, PAVO_AETH_ACK_UNLIMITED);
}

static void complete_recv(struct pavo_qp *qp, const struct pavo_pkt *pkt, u8 op,
			  u32 len)
{
	struct pavo_cqe cqe = {
		.byte_len = len,
		.status = IB_WC_SUCCESS,
		.opcode = op,
		.src_qp = qp->attr.dest_qpn,
	};

	if (pkt->info->flags & PAVO_OPF_IMM) {
		cqe.imm = (__force u32)pkt->imm;
		cqe.flags = PAVO_CQE_IMM;
	} else if (pkt->info->flags & PAVO_OPF_IETH) {
		cqe.imm = pkt->inv_rkey;
		cqe.flags = PAVO_CQE_INV;
	}
	pavo_rq_complete(qp, &cqe, pkt->solicited);
}

/* The peer may not invalidate the key that its Send names. */
static void fail_invalidate(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			    enum pavo_vendor_err err)
{
	const struct pavo_xlate_codes *codes = pavo_xlate_vendor(err);

	pavo_rq_fail(qp, codes->status, err);
	fail(qp, pkt, codes->nak);
}

static void end_send(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;

	resp->message = PAVO_OPF_SEND;
	if (pkt->info->flags & PAVO_OPF_LAST) {
		complete_recv(qp, pkt, PAVO_WQE_SEND, resp->wqe->done);
		resp->message = 0;
	}
	done(qp, pkt);
}

/* pavo_execute_send - carry out a packet of a send; its opcode and length have been checked. */
void pavo_execute_send(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;
	bool inv = pkt->info->flags & PAVO_OPF_IETH;
	const struct pavo_xlate_codes *codes;
	enum pavo_vendor_err err;

	/*
	 * The walk for the packet's invalidation is done, and so were all steps before it.
	 * Holding the packet has set the receive WQE back: move it on.
	 */
	if (unlikely(pavo_rkm_came_back(&resp->side.inval))) {
		resp->wqe->done += pkt->payload;
		end_send(qp, pkt);
		return;
	}
	if (!take_recv_wqe(qp, pkt))
		return;
	/* Check the key before the data is written; invalidate it afterwards. */
	if (inv) {
		err = pavo_key_check_invalidate(qp, pkt->inv_rkey);
		if (err) {
			fail_invalidate(qp, pkt, err);
			return;
		}
	}
	err = pavo_rq_scatter(qp, rx->skb, rx->payload, pkt->payload);
	if (err == PAVO_VE_RQ_LENGTH) {
		fail_length(qp, pkt);
		return;
	}
	if (err == PAVO_VE_WAIT)
		return;
	if (err) {
		codes = pavo_xlate_vendor(err);
		fail_recv(qp, pkt, codes->status, err, codes->recv);
		return;
	}
	if (inv) {
		err = pavo_key_invalidate(qp, pkt->inv_rkey, &resp->side.inval);
		if (err == PAVO_VE_WAIT) {
			WRITE_ONCE(resp->side.hold, true);
			return;
		}
		if (err) {
			fail_invalidate(qp, pkt, err);
			return;
		}
	}
	end_send(qp, pkt);
}

/*
 * Begin a write: check its whole range, and note the place of its first byte.
 * False: refused.
 */
static bool begin_write(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_write_addr *write = &qp->resp.write;
	enum pavo_xlate status;

	if (!(qp->attr.access & IB_ACCESS_REMOTE_WRITE) ||
	    pkt->dma_len > PAVO_MAX_MSG_SIZE) {
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return false;
	}
	status = pavo_use_begin(qp, PAVO_KEY_SLOT_WRITE, pkt->rkey, pkt->va,
				pkt->dma_len, IB_ACCESS_REMOTE_WRITE);
	if (status) {
		fail_access(qp, pkt, status);
		return false;
	}
	write->va = pkt->va;
	write->rkey = pkt->rkey;
	write->total = pkt->dma_len;
	write->left = pkt->dma_len;
	return true;
}

/*
 * Write the payload to the place of the packet; the remote-key slot is busy. False: refused,
 * or the packet is handled again.
 */
static bool write_payload(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_write_addr *write = &qp->resp.write;
	u32 len = rx->pkt.payload;
	struct pavo_region *region;
	enum pavo_xlate status;

	status = pavo_xlate_remote(qp, write->rkey, write->va, len,
				   IB_ACCESS_REMOTE_WRITE, &region);
	if (unlikely(status)) {
		if (status != PAVO_XLATE_FAULT ||
		    !pavo_fault_hold(qp, region, write->va, len, true))
			fail_access(qp, &rx->pkt, status);
		return false;
	}
	if (pavo_region_from_skb(region, write->va, rx->skb, rx->payload,
				 len)) {
		fail(qp, &rx->pkt, PAVO_NAK_INV_REQ);
		return false;
	}
	write->va += len;
	write->left -= len;
	return true;
}

/* Write the payload, with the slot busy meanwhile; begin_write() did that for a First or Only. */
static bool write_packet(struct pavo_qp *qp, struct pavo_rx *rx)
{
	u32 flags = rx->pkt.info->flags;
	bool good;

	if (!rx->pkt.payload)
		return true;
	if (!(flags & PAVO_OPF_FIRST) &&
	    !pavo_use_enter(qp, PAVO_KEY_SLOT_WRITE)) {
		fail_access(qp, &rx->pkt, PAVO_XLATE_STATE);
		return false;
	}
	good = write_payload(qp, rx);
	if (good ? flags & PAVO_OPF_LAST : flags & PAVO_OPF_FIRST)
		pavo_use_end(qp, PAVO_KEY_SLOT_WRITE);
	else
		pavo_use_leave(qp, PAVO_KEY_SLOT_WRITE);
	return good;
}

/* pavo_execute_write - carry out a packet of a write; its opcode and length have been checked. */
void pavo_execute_write(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;
	bool last = pkt->info->flags & PAVO_OPF_LAST;
	bool imm = pkt->info->flags & PAVO_OPF_IMM;
	u32 left;

	/* Before any effect: after an RNR NAK the whole packet comes again. */
	if (imm && !take_recv_wqe(qp, pkt))
		return;
	if (pkt->info->flags & PAVO_OPF_FIRST && !begin_write(qp, pkt))
		return;
	left = resp->write.left;
	if (last ? pkt->payload != left : pkt->payload >= left) {
		pavo_use_end(qp, PAVO_KEY_SLOT_WRITE);
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return;
	}
	if (!write_packet(qp, rx))
		return;
	resp->message = last ? 0 : PAVO_OPF_WRITE;
	if (imm)
		complete_recv(qp, pkt, PAVO_WQE_WRITE_IMM, resp->write.total);
	done(qp, pkt);
}

static void execute_read(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;
	struct pavo_resource *res;
	enum pavo_xlate status;

	if (!(qp->attr.access & IB_ACCESS_REMOTE_READ) ||
	    !qp->attr.max_dest_rd_atomic || pkt->dma_len > PAVO_MAX_MSG_SIZE) {
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return;
	}
	res = pavo_resource_new(qp);
	if (!res) {
		/* More reads at once than max_dest_rd_atomic (IBA 9.7.4.1.1) */
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return;
	}
	status = pavo_read_begin(qp, res, pkt);
	if (status) {
		fail_access(qp, pkt, status);
		return;
	}
	res->first = pkt->psn;
	res->npkts = max_t(u32, 1, DIV_ROUND_UP(pkt->dma_len, qp->attr.mtu));
	res->atomic = false;
	res->psn = pkt->psn;
	advance(qp, pkt, res->npkts);
	res->msn = resp->msn;
	pavo_resource_send(qp, res);
}

/* Let one packet answer an executed operation, now and if the request comes again. */
static void answer_once(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			struct pavo_resource *res)
{
	res->first = pkt->psn;
	res->npkts = 1;
	res->srqn = pkt->srqn;
	res->psn = pkt->psn;
	advance(qp, pkt, 1);
	res->msn = qp->resp.msn;
	pavo_resource_send(qp, res);
}

/*
 * Begin an operation on eight bytes: find its region, with the slot of writes busy, and a
 * resource for its answer. The slot is free, since no write is in progress.
 * NULL: refused, or the packet is handled again.
 */
static struct pavo_resource *eight_bytes(struct pavo_qp *qp,
					 const struct pavo_pkt *pkt, int access,
					 struct pavo_region **region)
{
	struct pavo_resource *res;
	enum pavo_xlate status;

	status = pavo_use_begin(qp, PAVO_KEY_SLOT_WRITE, pkt->rkey, pkt->va,
				sizeof(u64), access);
	if (unlikely(status)) {
		fail_access(qp, pkt, status);
		return NULL;
	}
	status = pavo_xlate_remote(qp, pkt->rkey, pkt->va, sizeof(u64), access,
				   region);
	if (unlikely(status)) {
		if (status != PAVO_XLATE_FAULT ||
		    !pavo_fault_hold(qp, *region, pkt->va, sizeof(u64), true))
			fail_access(qp, pkt, status);
		pavo_use_end(qp, PAVO_KEY_SLOT_WRITE);
		return NULL;
	}
	res = pavo_resource_new(qp);
	if (!res) {
		pavo_use_end(qp, PAVO_KEY_SLOT_WRITE);
		fail(qp, pkt, PAVO_NAK_INV_REQ);
	}
	return res;
}

/* End an operation on eight bytes, and answer it. @err: it could not be done. */
static void eight_bytes_done(struct pavo_qp *qp, const struct pavo_pkt *pkt,
			     struct pavo_resource *res, int err)
{
	pavo_use_end(qp, PAVO_KEY_SLOT_WRITE);
	if (err)
		fail(qp, pkt,
		     err == -EINVAL ? PAVO_NAK_INV_REQ : PAVO_NAK_REM_OP);
	else
		answer_once(qp, pkt, res);
}

/* Set @op to the atomic that the packet asks for. False: an unknown AOpCode. */
static bool read_atomic(const struct pavo_pkt *pkt, struct pavo_atomic *op)
{
	bool ext = pkt->info->flags & PAVO_OPF_EXTATOMICETH;

	*op = (struct pavo_atomic){
		.aop = PAVO_AOP_FETCH_ADD,
		.swap_add = pkt->swap_add,
		.compare = pkt->compare,
	};
	if (ext) {
		op->aop = pkt->aop;
		op->swap_add_mask = pkt->swap_add_mask;
		op->compare_mask = pkt->compare_mask;
	} else if ((pkt->opcode & ~PAVO_SVC_MASK) == PAVO_OP_CMP_SWAP) {
		op->aop = PAVO_AOP_CMP_SWAP;
		op->swap_add_mask = ~0ull;
		op->compare_mask = ~0ull;
	}
	return op->aop <= PAVO_AOP_CMP_SWAP;
}

/*
 * Carry out an atomic. The memory must be aligned. For IBA's own operations the address must be
 * aligned, too (IBA 9.7.4.1.6); for extended ones it need not be, since it may be an offset from
 * the beginning of the region (sources.md#ext-errors).
 */
static void execute_atomic(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	bool ext = pkt->info->flags & PAVO_OPF_EXTATOMICETH;
	struct pavo_resource *res;
	struct pavo_region *region;
	struct pavo_atomic op;
	int err;

	if (!(qp->attr.access & IB_ACCESS_REMOTE_ATOMIC) ||
	    !qp->attr.max_dest_rd_atomic || (!ext && pkt->va & 7) ||
	    !read_atomic(pkt, &op)) {
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return;
	}
	res = eight_bytes(qp, pkt, IB_ACCESS_REMOTE_ATOMIC, &region);
	if (!res)
		return;
	err = pavo_region_atomic(region, pkt->va, &op, &res->orig);
	res->atomic = true;
	res->ext = ext;
	res->request_id = pkt->request_id;
	eight_bytes_done(qp, pkt, res, err);
}

/* Write eight bytes in one store, behind all earlier writes. */
static void execute_atomic_write(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_resource *res;
	struct pavo_region *region;
	u64 value;
	int err;

	if (!(qp->attr.access & IB_ACCESS_REMOTE_WRITE) ||
	    !qp->attr.max_dest_rd_atomic || pkt->va & 7 ||
	    pkt->dma_len != sizeof(value) || pkt->payload != sizeof(value) ||
	    skb_copy_bits(rx->skb, rx->payload, &value, sizeof(value))) {
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return;
	}
	res = eight_bytes(qp, pkt, IB_ACCESS_REMOTE_WRITE, &region);
	if (!res)
		return;
	err = pavo_region_store(region, pkt->va, value);
	res->store = true;
	eight_bytes_done(qp, pkt, res, err);
}

/*
 * Put eight bytes into a completion (sources.md#ext-immediate). They take a receive WQE and
 * leave its memory alone. The opcode, not SE, says whether the event is solicited.
 */
static void execute_imm64(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_cqe cqe = {
		.byte_len = sizeof(cqe.imm64),
		.status = IB_WC_SUCCESS,
		.opcode = PAVO_WQE_IMM64,
		.src_qp = qp->attr.dest_qpn,
		.flags = PAVO_CQE_IMM64,
	};

	if (pkt->payload != sizeof(cqe.imm64) ||
	    skb_copy_bits(rx->skb, rx->payload, &cqe.imm64,
			  sizeof(cqe.imm64))) {
		fail(qp, pkt, PAVO_NAK_INV_REQ);
		return;
	}
	if (!take_recv_wqe(qp, pkt))
		return;
	pavo_rq_complete(qp, &cqe,
			 (pkt->opcode & ~PAVO_EXT_XRC) == PAVO_OP_IMM64_SE);
	done(qp, pkt);
}

/*
 * pavo_fits_message - does the opcode continue the message in progress, and has the payload the
 * length for its place (IBA 9.7.4.1.2 and 9.7.4.1.4)?
 */
bool pavo_fits_message(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	u32 flags = pkt->info->flags;
	u32 kind = flags & (PAVO_OPF_SEND | PAVO_OPF_WRITE);
	u32 mtu = qp->attr.mtu;

	if (flags & PAVO_OPF_FIRST || !kind) {
		if (qp->resp.message)
			return false;
	} else if (qp->resp.message != kind) {
		return false;
	}
	if (!kind)
		return true;
	if (!(flags & PAVO_OPF_LAST))
		return pkt->payload == mtu;
	if (!(flags & PAVO_OPF_FIRST) && !pkt->payload)
		return false;
	if (pkt->payload > mtu)
		return false;
	return true;
}

/* Answer a request that was executed before, without executing it again. */
static void duplicate(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	u32 flags = pkt->info->flags;
	struct pavo_resource *res;

	pavo_count(qp, rx_duplicate_requests);
	if (!(flags &
	      (PAVO_OPF_READ | PAVO_OPF_ATOMIC | PAVO_OPF_ATOMIC_WRITE))) {
		pavo_respond_ack(qp, pavo_psn_add(qp->resp.epsn, -1),
				 PAVO_AETH_ACK_UNLIMITED);
		return;
	}
	res = pavo_resource_find(qp, pkt->psn);
	if (!qp->resp.rq || !res ||
	    res->atomic != !!(flags & PAVO_OPF_ATOMIC) ||
	    res->ext != !!(flags & PAVO_OPF_EXTATOMICETH) ||
	    res->store != !!(flags & PAVO_OPF_ATOMIC_WRITE)) {
		pavo_count(qp, rx_drop_duplicate_read);
		return;
	}
	if (!res->atomic && !res->store) {
		u32 skipped = pavo_psn_diff(pkt->psn, res->first);
		u32 n = max_t(u32, 1, DIV_ROUND_UP(pkt->dma_len, qp->attr.mtu));

		/* Answer only what the original covered and the peer still may read. */
		if (pkt->dma_len > PAVO_MAX_MSG_SIZE ||
		    n > res->npkts - skipped || pavo_read_begin(qp, res, pkt)) {
			pavo_count(qp, rx_drop_duplicate_read);
			return;
		}
	}
	res->psn = pkt->psn;
	res->replay = true;
	res->begun = false;
	pavo_resource_send(qp, res);
}

/* Report a gap once, then drop packets until the expected one comes. */
static void out_of_sequence(struct pavo_qp *qp)
{
	struct pavo_responder *resp = &qp->resp;

	if (resp->nak_sent) {
		pavo_count(qp, rx_drop_out_of_sequence);
		return;
	}
	pavo_count(qp, rx_out_of_sequence);
	resp->nak_sent = true;
	pavo_respond_ack(qp, resp->epsn, PAVO_NAK_PSN_SEQ);
}

/*
 * XRC: find the SRQ that a request names; @rq is NULL if it does not exist, or the target has
 * used SRQs of too many PDs. False: no memory to join the SRQ's PD, and the packet is lost.
 */
static bool find_srq(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;

	resp->rq = pavo_xrc_rq(qp, pkt->srqn);
	if (!resp->rq)
		return true;
	switch (pavo_rkm_join(qp, resp->rq->pd)) {
	case -ENOMEM:
		pavo_count(qp, rx_drop_no_memory);
		return false;
	case -ENOSPC:
		resp->rq = NULL;
	}
	return true;
}

/*
 * XRC: take the SRQ that find_srq() found for the request. All packets of a message must name
 * the same one. False: the target's domain does not have it, or the message began with another.
 */
static bool take_srq(struct pavo_qp *qp, const struct pavo_pkt *pkt)
{
	struct pavo_responder *resp = &qp->resp;

	if (!resp->rq || (resp->message && pkt->srqn != resp->srqn))
		return false;
	resp->srqn = pkt->srqn;
	return true;
}

/* pavo_execute - carry out one request packet of a reliable service. */
void pavo_execute(struct pavo_qp *qp, struct pavo_rx *rx)
{
	struct pavo_responder *resp = &qp->resp;
	const struct pavo_pkt *pkt = &rx->pkt;
	s32 ahead = pavo_psn_diff(pkt->psn, resp->epsn);
	bool xrc = pavo_is_xrc_target(qp);

	if (xrc && !find_srq(qp, pkt))
		return;
	if (ahead > 0) {
		out_of_sequence(qp);
		return;
	}
	if (ahead < 0) {
		duplicate(qp, pkt);
		return;
	}
	resp->nak_sent = false;
	if ((xrc && !take_srq(qp, pkt)) || !pavo_fits_message(qp, pkt))
		fail(qp, pkt, PAVO_NAK_INV_REQ);
	else if (pkt->info->flags & PAVO_OPF_SEND)
		pavo_execute_send(qp, rx);
	else if (pkt->info->flags & PAVO_OPF_WRITE)
		pavo_execute_write(qp, rx);
	else if (pkt->info->flags & PAVO_OPF_READ)
		execute_read(qp, pkt);
	else if (pkt->info->flags & PAVO_OPF_ATOMIC_WRITE)
		execute_atomic_write(qp, rx);
	else if (pkt->info->flags & PAVO_OPF_IMM64)
		execute_imm64(qp, rx);
	else
		execute_atomic(qp, pkt);
}
