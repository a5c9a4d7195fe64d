// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * cqe.cpp - see cqe.h. The format is that of uapi/rdma/pavo-abi.h.
 */
#include "cqe.h"

#include "ops.h"

namespace pavo {
namespace {

/* False if a receive queue cannot have completed that. */
bool recv_opcode(uint8_t op, ibv_wc_opcode *opcode)
{
	if (!has_property(op, PAVO_WQE_RECEIVED))
		return false;
	*opcode = op == PAVO_WQE_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM :
					     IBV_WC_RECV;
	return true;
}

unsigned int wc_flags(uint8_t flags)
{
	unsigned int out = 0;

	if (flags & PAVO_CQE_GRH)
		out |= IBV_WC_GRH;
	if (flags & PAVO_CQE_IMM)
		out |= IBV_WC_WITH_IMM;
	if (flags & PAVO_CQE_INV)
		out |= IBV_WC_WITH_INV;
	return out;
}

/*
 * RoCE has no service levels. Adapters in hardware report here the kind of header in the place
 * of the GRH, and UCX drops datagrams over IPv4 without it.
 */
uint8_t service_level(const pavo_cqe &cqe)
{
	if (!(cqe.flags & PAVO_CQE_GRH))
		return cqe.sl;
	switch (cqe.network_hdr_type) {
	case PAVO_NETWORK_IPV4:
		return 2;
	case PAVO_NETWORK_IPV6:
		return 1;
	default:
		return cqe.sl;
	}
}

} // namespace

void spoil_wc(ibv_wc *wc)
{
	wc->status = IBV_WC_GENERAL_ERR;
	wc->vendor_err = PAVO_VE_NONE;
	wc->wr_id = 0;
}

void decode_cqe(const pavo_cqe &cqe, ibv_wc *wc)
{
	bool recv = cqe.flags & PAVO_CQE_RECV;
	bool known;

	*wc = {};
	wc->status = static_cast<ibv_wc_status>(cqe.status);
	known = recv ? recv_opcode(cqe.opcode, &wc->opcode) :
		       find_send_completion(cqe.opcode, &wc->opcode);
	wc->vendor_err = cqe.vendor_err;
	wc->byte_len = cqe.byte_len;
	wc->imm_data = cqe.imm; /* or the key: the same field of wc */
	wc->qp_num = cqe.qpn;
	wc->src_qp = cqe.src_qp;
	wc->wc_flags = wc_flags(cqe.flags);
	wc->pkey_index = cqe.pkey_index;
	wc->sl = service_level(cqe);

	/* A failed request may well have an opcode that does not exist. */
	if (!known && recv)
		wc->opcode = IBV_WC_RECV;
	if (cqe.status > IBV_WC_GENERAL_ERR ||
	    (cqe.status == IBV_WC_SUCCESS && !known))
		spoil_wc(wc);
}

} // namespace pavo
