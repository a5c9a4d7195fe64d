// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* loop.cpp - a queue pair that is connected to itself; see loop.h. */
#include "loop.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "../common/errors.h"
#include "domain.h"

namespace world {

using common::must_make;

namespace {

/* Any of its addresses will do: it speaks to itself. */
ibv_gid_entry own_address(ibv_context *context)
{
	ibv_gid_entry entry;

	for (uint32_t i = 0; !ibv_query_gid_ex(context, 1, i, &entry, 0); i++)
		if (entry.gid_type == IBV_GID_TYPE_ROCE_V2)
			return entry;
	throw std::runtime_error("the adapter has no address");
}

} // namespace

Loop::Loop(const char *variable)
	: owner_(true), context_(open_adapter(variable)),
	  pd_(must_make(ibv_alloc_pd(context_), "protection domain"))
{
	connect();
}

Loop::Loop(const Loop *like)
	: owner_(false), context_(like->context_), pd_(like->pd_)
{
	connect();
}

Loop::~Loop()
{
	ibv_destroy_qp(qp_);
	ibv_destroy_cq(cq_);
	if (owner_) {
		ibv_dealloc_pd(pd_);
		ibv_close_device(context_);
	}
}

void Loop::modify(ibv_qp_attr &attr, int mask)
{
	common::must_return_0(ibv_modify_qp(qp_, &attr, mask), "ibv_modify_qp");
}

void Loop::connect()
{
	cq_ = must_make(ibv_create_cq(context_, 4, nullptr, nullptr, 0), "CQ");
	ibv_qp_init_attr init{};
	init.send_cq = cq_;
	init.recv_cq = cq_;
	init.cap = {.max_send_wr = 4,
		    .max_recv_wr = 1,
		    .max_send_sge = most_pieces,
		    .max_recv_sge = 1,
		    .max_inline_data = 0};
	init.qp_type = IBV_QPT_RC;
	qp_ = must_make(ibv_create_qp(pd_, &init), "queue pair");

	ibv_gid_entry own = own_address(context_);
	ibv_qp_attr attr{};
	attr.qp_state = IBV_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	modify(attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
			     IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp_->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = own.gid;
	attr.ah_attr.grh.sgid_index = own.gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	modify(attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	modify(attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			     IBV_QP_MAX_QP_RD_ATOMIC);
}

std::vector<std::byte> Loop::read(std::span<const pavo_mr_piece> pieces)
{
	ibv_sge sge[most_pieces];
	size_t length = 0;

	for (size_t i = 0; i < pieces.size(); i++) {
		sge[i] = {.addr = pieces[i].addr,
			  .length = pieces[i].length,
			  .lkey = pieces[i].lkey};
		length += pieces[i].length;
	}
	std::vector<std::byte> seen(length);
	ibv_mr *target = must_make(ibv_reg_mr(pd_, seen.data(), length,
					      IBV_ACCESS_LOCAL_WRITE |
						      IBV_ACCESS_REMOTE_WRITE),
				   "region");
	ibv_send_wr wr{}, *bad;
	wr.sg_list = sge;
	wr.num_sge = int(pieces.size());
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = reinterpret_cast<uintptr_t>(seen.data());
	wr.wr.rdma.rkey = target->rkey;
	int err = ibv_post_send(qp_, &wr, &bad);
	ibv_wc wc{};
	while (!err && !ibv_poll_cq(cq_, 1, &wc))
		;
	ibv_dereg_mr(target);
	if (err || wc.status)
		throw std::runtime_error(
			std::string("RDMA write: ") +
			(err ? "not posted" : ibv_wc_status_str(wc.status)));
	return seen;
}

} // namespace world
