// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * execute_imm64.c - carry out immediate data of eight bytes (sources.md#ext-immediate).
 */
#include "responder_private.h"

/*
 * pavo_execute_imm64 - put eight bytes into a completion. They take a receive WQE, but do not
 * write to its memory. The opcode, not SE, says whether the event is solicited.
 */
enum pavo_status pavo_execute_imm64(struct pavo_qp *qp, struct pavo_rx *rx)
{
	const struct pavo_pkt *pkt = &rx->pkt;
	struct pavo_cqe cqe = {
		.byte_len = sizeof(cqe.imm64),
		.status = IB_WC_SUCCESS,
		.opcode = PAVO_WQE_IMM64,
		.src_qp = qp->attr.dest_qpn,
		.flags = PAVO_CQE_IMM64,
	};
	enum pavo_status status;

	if (pkt->payload != sizeof(cqe.imm64) ||
	    skb_copy_bits(rx->skb, rx->payload, &cqe.imm64, sizeof(cqe.imm64)))
		return PAVO_ST_INVALID;
	status = pavo_rq_take(qp);
	if (status)
		return status;
	pavo_rq_complete(qp, &cqe,
			 (pkt->opcode & ~PAVO_EXT_XRC) == PAVO_OP_IMM64_SE);
	pavo_request_done(qp, pkt);
	return PAVO_ST_OK;
}
