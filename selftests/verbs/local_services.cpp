// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Objects that services beside RC need on the local end: shared receive queues, XRC
 * domains, address handles, multicast groups; and the counters of the device.
 *
 * Called by: tests through Host, the RPC server.
 */
#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "../common/adapter.h"
#include "../common/connect.h"
#include "local_host.h"
#include "tap.h"

namespace pv {

namespace {

int last_error()
{
	return errno ? errno : EIO;
}

} // namespace

uint64_t LocalHost::counter(std::string name)
{
	return common::fresh_counter(ibv_get_device_name(context_->device),
				     name);
}

ibv_srq *LocalHost::raw_srq(Handle id)
{
	return look_up(srqs_, id, "SRQ");
}

ibv_xrcd *LocalHost::raw_xrcd(Handle id)
{
	return look_up(xrcds_, id, "XRC domain");
}

Srq LocalHost::create_srq(SrqSpec spec)
{
	Handle id = next_++;
	uint32_t number = 0;
	ibv_srq_init_attr_ex init = {
		.srq_context = reinterpret_cast<void *>(uintptr_t(id)),
		.attr = {spec.max_wr, spec.max_sge, spec.limit},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = raw_pd(spec.pd)};

	if (spec.xrcd) {
		init.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
		init.srq_type = IBV_SRQT_XRC;
		init.xrcd = raw_xrcd(spec.xrcd);
		init.cq = raw_cq(spec.cq);
	}
	errno = 0;
	ibv_srq *srq = ibv_create_srq_ex(context_, &init);
	if (!srq)
		return {0, 0, 0, 0, last_error()};
	srqs_[id] = srq;
	if (spec.xrcd && ibv_get_srq_num(srq, &number))
		throw std::runtime_error("ibv_get_srq_num failed");
	return {id, number, init.attr.max_wr, init.attr.max_sge, 0};
}

int LocalHost::modify_srq(Handle srq, ibv_srq_attr attr, int mask)
{
	return ibv_modify_srq(raw_srq(srq), &attr, mask);
}

SrqState LocalHost::query_srq(Handle srq)
{
	SrqState state;

	state.error = ibv_query_srq(raw_srq(srq), &state.attr);
	return state;
}

Made LocalHost::open_xrcd()
{
	ibv_xrcd_init_attr init = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
						IBV_XRCD_INIT_ATTR_OFLAGS,
				   .fd = -1,
				   .oflags = O_CREAT};

	errno = 0;
	ibv_xrcd *xrcd = ibv_open_xrcd(context_, &init);
	if (!xrcd)
		return {0, last_error()};
	xrcds_[next_] = xrcd;
	return {next_++, 0};
}

Qp LocalHost::open_qp(Handle xrcd, uint32_t number)
{
	Handle id = next_++;
	ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = number,
		.xrcd = raw_xrcd(xrcd),
		.qp_context = reinterpret_cast<void *>(uintptr_t(id)),
		.qp_type = IBV_QPT_XRC_RECV};

	errno = 0;
	ibv_qp *qp = ibv_open_qp(context_, &open);
	if (!qp)
		return {0, 0, {}, last_error()};
	qps_[id] = qp;
	return {id, qp->qp_num, {}, 0};
}

Made LocalHost::create_ah(ibv_gid gid)
{
	ibv_ah_attr attr = common::address_vector(gid, uint8_t(gid_index_));

	attr.grh.flow_label = ~0u; /* as UCX does; 20 bits of it count */
	set_class(&attr);
	errno = 0;
	ibv_ah *ah = ibv_create_ah(raw_pd(0), &attr);
	if (!ah)
		return {0, last_error()};
	ahs_[next_] = ah;
	return {next_++, 0};
}

int LocalHost::attach(Handle qp, ibv_gid gid)
{
	int error = ibv_attach_mcast(raw_qp(qp), &gid, 0);

	if (!error)
		attached_.push_back({qp, gid});
	return error;
}

int LocalHost::detach(Handle qp, ibv_gid gid)
{
	int error = ibv_detach_mcast(raw_qp(qp), &gid, 0);

	if (!error)
		std::erase_if(attached_, [&](const Attached &one) {
			return one.qp == qp &&
			       !memcmp(&one.gid, &gid, sizeof(gid));
		});
	return error;
}

/* A QP that is in a group is not destroyed. */
std::string LocalHost::leave_groups()
{
	std::string text;

	while (!attached_.empty()) {
		Attached one = attached_.back();
		int error = detach(one.qp, one.gid);

		if (error) {
			text += str("detaching QP ", one.qp, ": ",
				    strerror(error), "\n");
			attached_.pop_back();
		}
	}
	return text;
}

int LocalHost::destroy_service(Kind kind, Handle id)
{
	switch (kind) {
	case Kind::srq:
		return destroy_in(srqs_, id, "SRQ", ibv_destroy_srq);
	case Kind::xrcd:
		return destroy_in(xrcds_, id, "XRC domain", ibv_close_xrcd);
	case Kind::ah:
		return destroy_in(ahs_, id, "address handle", ibv_destroy_ah);
	default:
		return EINVAL;
	}
}

/* Where a request goes: what of the union its service uses. */
void LocalHost::set_remote(const SendWr &from, ibv_send_wr *to)
{
	to->qp_type.xrc.remote_srqn = from.srqn;
	if (from.ah) {
		to->wr.ud.ah = look_up(ahs_, from.ah, "address handle");
		to->wr.ud.remote_qpn = from.remote_qpn;
		to->wr.ud.remote_qkey = from.qkey;
	} else if (from.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		   from.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		to->wr.atomic.remote_addr = from.remote;
		to->wr.atomic.rkey = from.rkey;
		to->wr.atomic.compare_add = from.compare_add;
		to->wr.atomic.swap = from.swap;
	} else {
		to->wr.rdma.remote_addr = from.remote;
		to->wr.rdma.rkey = from.rkey;
	}
}

} // namespace pv
