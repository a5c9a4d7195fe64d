/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * I/Os of the module for ranges of a direct window, and the requests that name these. Used by
 * direct_io_tests.cpp, and the group disks.
 */
#pragma once

#include <vector>

#include "direct.h"
#include "local_host.h"

namespace pv {

/* I/Os of one call, and a request for each. */
class Ios {
public:
	explicit Ios(DirectWriting &w) : w_(w) {}

	void add(uint32_t range, uint32_t length, int fd, uint64_t offset,
		 bool read = false)
	{
		ibv_send_wr wr = {};

		ios_.push_back({range, length, read ? PAVO_DIRECT_READ : 0u, fd,
				offset});
		sges_.push_back(w_.window.sge(range, length));
		wr.wr_id = range;
		wr.num_sge = 1;
		wr.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		wr.send_flags = IBV_SEND_SIGNALED;
		wr.wr.rdma.remote_addr =
			w_.at_b.address +
			uint64_t(range) * w_.window.plain.range_size;
		wr.wr.rdma.rkey = w_.at_b.rkey;
		wrs_.push_back(wr);
	}

	/* Return: 0 or errno. */
	int try_start()
	{
		ibv_send_wr *bad = nullptr;

		for (size_t i = 0; i < wrs_.size(); i++) {
			wrs_[i].sg_list = &sges_[i];
			wrs_[i].next = i + 1 < wrs_.size() ? &wrs_[i + 1] :
							     nullptr;
		}
		return pavodv_direct_io(&w_.window.plain, ios_.data(),
					uint32_t(ios_.size()),
					local(w_.env.a).raw_qp(w_.link.a.qp.id),
					wrs_.data(), &bad);
	}

	void start() { REQUIRE_EQ(try_start(), 0, "pavodv_direct_io"); }

private:
	DirectWriting &w_;
	std::vector<pavo_direct_io_args> ios_;
	std::vector<ibv_sge> sges_;
	std::vector<ibv_send_wr> wrs_;
};

} // namespace pv
