// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* loop.cpp - a queue pair that is connected to itself; see loop.h. */
#include "loop.h"

#include <stdexcept>

#include "../common/connect.h"
#include "../common/device.h"
#include "domain.h"

namespace world {

using common::must_make;

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

void Loop::connect()
{
	cq_ = must_make(ibv_create_cq(context_, 4, nullptr, nullptr, 0), "CQ");
	ibv_qp_init_attr init = {.send_cq = cq_, .recv_cq = cq_};
	init.cap = {.max_send_wr = 4,
		    .max_recv_wr = 1,
		    .max_send_sge = most_pieces,
		    .max_recv_sge = 1,
		    .max_inline_data = 0};
	init.qp_type = IBV_QPT_RC;
	qp_ = must_make(ibv_create_qp(pd_, &init), "queue pair");

	/* Any of its addresses will do: it speaks to itself. */
	const auto own = common::addresses_of(context_);

	common::must(!own.empty(), "the adapter has no address");
	common::connect(qp_, {.gid = own[0].gid,
			      .gid_index = uint8_t(own[0].gid_index),
			      .qpn = qp_->qp_num,
			      .reads = 1,
			      .dest_reads = 1,
			      .access = IBV_ACCESS_REMOTE_WRITE});
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
