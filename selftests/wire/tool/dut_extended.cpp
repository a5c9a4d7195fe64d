// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The device under test with `extended`: requests by ibv_wr_*(3) and pavo_dv.h, completions
 * by ibv_start_poll(3). See dut.h.
 */
#include "dut.h"

#include <endian.h>

#include <pavo_dv.h>

#include "../../common/errors.h"

namespace pw {

/* The operation of `r` by ibv_wr_*(3); its data comes behind it. */
static void begin_operation(ibv_qp_ex *qp, const SendRequest &r)
{
	const auto &rdma = r.wr.wr.rdma;
	const auto &atomic = r.wr.wr.atomic;

	switch (r.wr.opcode) {
	case IBV_WR_SEND:
		return ibv_wr_send(qp);
	case IBV_WR_SEND_WITH_IMM:
		return ibv_wr_send_imm(qp, r.wr.imm_data);
	case IBV_WR_RDMA_WRITE:
		return ibv_wr_rdma_write(qp, rdma.rkey, rdma.remote_addr);
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return ibv_wr_rdma_write_imm(qp, rdma.rkey, rdma.remote_addr,
					     r.wr.imm_data);
	case IBV_WR_RDMA_READ:
		return ibv_wr_rdma_read(qp, rdma.rkey, rdma.remote_addr);
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return ibv_wr_atomic_fetch_add(qp, atomic.rkey,
					       atomic.remote_addr,
					       atomic.compare_add);
	default:
		common::throw_errno(EOPNOTSUPP,
				    "this operation of an extended queue pair");
	}
}

static void begin_extended(ibv_qp_ex *qp, const SendRequest &r)
{
	const Extended &e = *r.extended;
	const uint32_t rkey = r.wr.wr.atomic.rkey;
	const uint64_t va = r.wr.wr.atomic.remote_addr;

	switch (e.kind) {
	case Extended::fetch_add:
		return pavodv_wr_ext_fetch_add(qp, rkey, va, e.operand, e.mask);
	case Extended::swap:
		return pavodv_wr_ext_swap(qp, rkey, va, e.operand);
	case Extended::cmp_swap:
		return pavodv_wr_ext_cmp_swap(qp, rkey, va, e.compare,
					      e.compare_mask, e.operand,
					      e.mask);
	case Extended::imm64:
		return pavodv_wr_imm64(qp, htobe64(e.operand));
	case Extended::flush:
		return pavodv_wr_flush(qp, rkey, va, e.operand,
				       static_cast<uint32_t>(e.mask));
	}
}

void Dut::post_extended(const std::vector<SendRequest> &requests)
{
	ibv_qp_ex *qp = ibv_qp_to_qp_ex(qp_);

	ibv_wr_start(qp);
	for (const SendRequest &r : requests) {
		qp->wr_id = r.wr.wr_id;
		qp->wr_flags = r.wr.send_flags;
		if (r.extended)
			begin_extended(qp, r);
		else
			begin_operation(qp, r);
		if (!r.sges.empty())
			ibv_wr_set_sge_list(qp, r.sges.size(), r.sges.data());
	}
	common::must_return_0(ibv_wr_complete(qp), "ibv_wr_complete");
}

std::optional<Completion> Dut::poll_extended(ibv_cq_ex *cq)
{
	ibv_poll_cq_attr attr{};
	const int error = ibv_start_poll(cq, &attr);
	Completion wc{};
	__be64 imm;

	if (error == ENOENT)
		return std::nullopt;
	common::must_return_0(error, "ibv_start_poll");
	wc.wr_id = cq->wr_id;
	wc.status = cq->status;
	if (wc.status == IBV_WC_SUCCESS) {
		wc.opcode = ibv_wc_read_opcode(cq);
		wc.wc_flags = ibv_wc_read_wc_flags(cq);
		wc.byte_len = ibv_wc_read_byte_len(cq);
		wc.qp_num = ibv_wc_read_qp_num(cq);
		wc.src_qp = ibv_wc_read_src_qp(cq);
		if (wc.wc_flags & IBV_WC_WITH_IMM)
			wc.imm_data = ibv_wc_read_imm_data(cq);
	}
	if (pavodv_wc_read_imm64(cq, &imm))
		wc.imm64 = be64toh(imm);
	ibv_end_poll(cq);
	return wc;
}

} // namespace pw
