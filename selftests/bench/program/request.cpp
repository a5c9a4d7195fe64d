// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Work requests of the tests, posting them, and the clock.
 *
 * Called by: stream.cpp and latency.cpp.
 */
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>

#include "tests.h"

namespace bench {

uint64_t now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return uint64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

void prepare(Request &request, End &end, const End &peer, Op op, size_t at,
	     size_t size)
{
	ibv_sge &sge = request.sge;
	ibv_send_wr &wr = request.wr;

	wr = {};
	sge.addr = uintptr_t(op == Op::read ? end.in : end.out) + at;
	sge.length = size;
	sge.lkey = end.mr->lkey;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.wr.rdma.rkey = peer.mr->rkey;
	switch (op) {
	case Op::write:
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = uintptr_t(peer.in) + at;
		break;
	case Op::read:
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = uintptr_t(peer.out) + at;
		break;
	case Op::send:
		wr.opcode = IBV_WR_SEND;
		if (end.to_peer)
			wr.wr.ud = {end.to_peer, peer.qps[0]->qp_num, qkey};
		break;
	}
}

void post(ibv_qp *qp, ibv_send_wr *wr)
{
	ibv_send_wr *bad;
	int error = ibv_post_send(qp, wr, &bad);

	if (error)
		throw std::runtime_error(std::string("ibv_post_send: ") +
					 strerror(error));
}

void post(ibv_qp *qp, ibv_recv_wr *wr)
{
	ibv_recv_wr *bad;
	int error = ibv_post_recv(qp, wr, &bad);

	if (error)
		throw std::runtime_error(std::string("ibv_post_recv: ") +
					 strerror(error));
}

} // namespace bench
