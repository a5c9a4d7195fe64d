// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ends.cpp - see ends.h.
 */
#include "ends.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <poll.h>

#include "../common/adapter.h"
#include "../common/check.h"
#include "../common/connect.h"
#include "../common/device.h"
#include "../common/pattern.h"

namespace faults {

unsigned patience = 20;

namespace {

constexpr size_t BUFFER = 64 << 10;
using Clock = std::chrono::steady_clock;

} // namespace

/* ----------------------------------------------------------------- Device */

Device::Device(const std::string &name)
	: name_(name), context_(common::open_device(name))
{
	REQUIRE(pavodv_is_supported(context_), name, " is not pavo's");
	pd_ = ibv_alloc_pd(context_);
	REQUIRE(pd_, "errno ", errno);

	auto entry = common::ipv4_address_of(context_);

	REQUIRE(entry, name, " has no RoCE v2 GID of IPv4");
	gid_ = entry->gid;
	gid_index_ = static_cast<uint8_t>(entry->gid_index);
}

Device::~Device()
{
	if (pd_)
		ibv_dealloc_pd(pd_);
	if (context_)
		ibv_close_device(context_);
}

uint64_t Device::counter(const std::string &name) const
{
	return common::fresh_counter(name_, name);
}

int Device::event()
{
	pollfd fd = {.fd = context_->async_fd, .events = POLLIN, .revents = 0};
	ibv_async_event event;

	if (::poll(&fd, 1, static_cast<int>(patience * 1000)) != 1 ||
	    ibv_get_async_event(context_, &event))
		return -1;
	ibv_ack_async_event(&event);
	return event.event_type;
}

/* ----------------------------------------------------------------- Memory */

Memory::Memory(ibv_pd *pd, size_t size, int access)
	: bytes_(size), mr_(ibv_reg_mr(pd, bytes_.data(), size, access))
{
	REQUIRE(mr_, "ibv_reg_mr: errno ", errno);
}

Memory::~Memory()
{
	ibv_dereg_mr(mr_);
}

void Memory::fill(uint32_t seed)
{
	pattern_fill(bytes_.data(), bytes_.size(), seed, 0);
}

bool Memory::holds(uint32_t seed, size_t size) const
{
	return pattern_verify(bytes_.data(), size, seed, 0) < 0;
}

/* -------------------------------------------------------------------- End */

End::End(Device &device, QpSize size) : device_(device)
{
	ibv_context *context = device.context();

	send_cq_ = ibv_create_cq(context, size.cqes, nullptr, nullptr, 0);
	recv_cq_ = ibv_create_cq(context, size.cqes, nullptr, nullptr, 0);
	REQUIRE(send_cq_ && recv_cq_, "ibv_create_cq: errno ", errno);
	create(size);
	REQUIRE(qp_, "ibv_create_qp: errno ", errno);
}

void End::create(const QpSize &size)
{
	ibv_qp_init_attr_ex attr = {.qp_type = size.type};

	if (size.type == IBV_QPT_XRC_RECV) {
		attr.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		attr.xrcd = size.xrcd;
		qp_ = ibv_create_qp_ex(device_.context(), &attr);
		return;
	}
	attr.comp_mask = IBV_QP_INIT_ATTR_PD;
	attr.pd = device_.pd();
	attr.send_cq = send_cq_;
	attr.cap = {.max_send_wr = size.wrs,
		    .max_recv_wr = size.wrs,
		    .max_send_sge = size.sges,
		    .max_recv_sge = size.sges,
		    .max_inline_data = size.inline_data};
	if (size.type == IBV_QPT_XRC_SEND) {
		attr.cap.max_recv_wr = 0;
		attr.cap.max_recv_sge = 0;
	} else {
		attr.recv_cq = recv_cq_;
		attr.srq = size.srq;
	}
	qp_ = ibv_create_qp_ex(device_.context(), &attr);
}

End::~End()
{
	if (qp_)
		ibv_destroy_qp(qp_);
	if (send_cq_)
		ibv_destroy_cq(send_cq_);
	if (recv_cq_)
		ibv_destroy_cq(recv_cq_);
}

void End::connect(const End &peer, uint32_t psn)
{
	common::connect(qp_, {.gid = peer.device_.gid(),
			      .gid_index = device_.gid_index(),
			      .qpn = peer.qp_->qp_num,
			      .rq_psn = psn,
			      .sq_psn = psn,
			      .min_rnr_timer = 1,
			      .timeout = 17 /* half a second */});
}

void End::ready_datagram(uint32_t qkey)
{
	common::connect(qp_, {.qkey = qkey});
}

ibv_qp_state End::state()
{
	ibv_qp_init_attr init;
	ibv_qp_attr attr;

	REQUIRE_EQ(ibv_query_qp(qp_, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

ibv_wc End::completion(ibv_cq *cq)
{
	auto end = Clock::now() + std::chrono::seconds(patience);
	ibv_wc wc;

	do {
		int n = ibv_poll_cq(cq, 1, &wc);

		REQUIRE(n >= 0);
		if (n)
			return wc;
	} while (Clock::now() < end);
	REQUIRE(false, "no completion within ", patience, " s");
	return wc;
}

void End::receive(uint64_t wr_id, const Memory &memory, uint32_t length)
{
	ibv_sge sge = memory.part(0, length);
	ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	REQUIRE_EQ(ibv_post_recv(qp_, &wr, &bad), 0);
}

void receive(ibv_srq *srq, uint64_t wr_id, const Memory &memory,
	     uint32_t length)
{
	ibv_sge sge = memory.part(0, length);
	ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	REQUIRE_EQ(ibv_post_srq_recv(srq, &wr, &bad), 0);
}

/* ---------------------------------------------------------- Pair, Witness */

static QpSize without_srq(QpSize size)
{
	size.srq = nullptr;
	return size;
}

Pair::Pair(Device &device_a, Device &device_b, QpSize size)
	: a(device_a, without_srq(size)), b(device_b, size),
	  source(device_a.pd(), BUFFER), sink(device_b.pd(), BUFFER)
{
	a.connect(b, 1000);
	b.connect(a, 1000);
}

Witness::Witness(const std::string &name_a, const std::string &name_b)
	: device_a_(name_a), device_b_(name_b), pair_(device_a_, device_b_)
{
}

void Witness::move(End &from, Memory &source, End &to, Memory &sink)
{
	ibv_sge into = sink.part(BUFFER / 2, 3000);
	ibv_sge out = source.part(0, BUFFER / 2);
	ibv_recv_wr recv = {}, *bad_recv;
	ibv_send_wr wr[2] = {}, *bad;
	uint32_t seed = ++round_;

	source.fill(seed);
	memset(sink.bytes(), 0, sink.size());
	recv.sg_list = &into;
	recv.num_sge = 1;
	REQUIRE_EQ(ibv_post_recv(to.qp(), &recv, &bad_recv), 0);

	ibv_sge message = source.part(BUFFER / 2, 3000);

	wr[0].opcode = IBV_WR_RDMA_WRITE;
	wr[0].sg_list = &out;
	wr[0].num_sge = 1;
	wr[0].wr.rdma.remote_addr = sink.address();
	wr[0].wr.rdma.rkey = sink.rkey();
	wr[0].next = &wr[1];
	wr[1].opcode = IBV_WR_SEND;
	wr[1].sg_list = &message;
	wr[1].num_sge = 1;
	wr[1].wr_id = seed;
	wr[1].send_flags = IBV_SEND_SIGNALED;
	REQUIRE_EQ(ibv_post_send(from.qp(), wr, &bad), 0);

	ibv_wc wc = from.sent();

	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "witness: vendor ",
		   wc.vendor_err);
	REQUIRE_EQ(wc.wr_id, seed, "witness");
	wc = to.received();
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "witness");
	REQUIRE_EQ(wc.byte_len, 3000, "witness");
	REQUIRE(sink.holds(seed, BUFFER / 2 + 3000), "witness: data");
}

void Witness::testify()
{
	move(pair_.a, pair_.source, pair_.b, pair_.sink);
	move(pair_.b, pair_.sink, pair_.a, pair_.source);
}

} // namespace faults
