// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The application's side: see world.h. Here: queue pairs and their states.
 */
#include <algorithm>

#include "../../common/connect.h"
#include "world.h"

namespace wf {

namespace {

constexpr uint32_t queue_depth = 64, inline_bytes = 64;
constexpr unsigned usual_access = IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_ATOMIC;

uint8_t small(const Step &step, const char *key, uint64_t otherwise)
{
	return static_cast<uint8_t>(step.number(key, otherwise));
}

} // namespace

void World::make_qp(Target &target)
{
	const bool receiver = target.type == IBV_QPT_XRC_RECV;
	ibv_qp_init_attr_ex attr = {.qp_type = target.type};

	attr.send_cq = attr.recv_cq = cq_;
	attr.cap = {queue_depth, queue_depth, 4, 4, inline_bytes};
	attr.comp_mask = receiver ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
	attr.pd = pd_;
	if (receiver)
		attr.xrcd = xrcd_;
	if (target.type == IBV_QPT_XRC_SEND) {
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
		attr.recv_cq = nullptr;
	}
	if (target.shared) {
		attr.srq = shared_.back().srq;
		if (!attr.srq)
			return;
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	}
	/* For extended operations; those of verbs are posted as ever. */
	if (target.type == IBV_QPT_RC || target.type == IBV_QPT_XRC_SEND) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
	}
	target.qp = ibv_create_qp_ex(context_, &attr);
}

/* Completions from before are taken; other requests have no completion any more. */
void World::forget(Target &target)
{
	poll([](const ibv_wc &) {});
	target.posted.clear();
	regions_->end_owner(target.name);
}

void World::destroy(Target &target)
{
	take_events();
	if (!target.qp || ibv_destroy_qp(target.qp))
		return;
	target.qp = nullptr;
	target.begun = false;
	forget(target);
}

void World::reset(Target &target)
{
	if (!target.qp)
		return;
	ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	if (ibv_modify_qp(target.qp, &attr, IBV_QP_STATE))
		destroy(target);
	else
		forget(target);
}

void World::begin(Target &target, const Step &step)
{
	if (!target.qp)
		make_qp(target);
	target.begun = true;
	target.rq = step.number("rq", 0) & 0xffffff;
	target.sq = step.number("sq", 0) & 0xffffff;
	target.mtu = 128u << std::clamp<uint64_t>(step.number("mtu", 3), 1, 5);
	target.msn = 0;
	if (!target.qp || to_init(target, step) || to_rtr(target, step))
		return;
	to_rts(target, step);
}

int World::to_init(Target &target, const Step &step)
{
	return common::modify(
		target.qp,
		common::init_attr({.qkey = datagram_qkey,
				   .access = unsigned(
					   step.number("access", usual_access) &
					   usual_access)}),
		common::init_mask);
}

int World::to_rtr(Target &target, const Step &step)
{
	ibv_qp_attr attr = common::rtr_attr(
		{.qpn = target.remote_qpn,
		 .rq_psn = target.rq,
		 .mtu = ibv_mtu(
			 std::clamp<uint64_t>(step.number("mtu", 3), 1, 5)),
		 .dest_reads = small(step, "dest_rd", 4),
		 .min_rnr_timer = uint8_t(small(step, "min_rnr", 1) & 31)});

	attr.ah_attr = peer_attr(target.ipv6);
	return common::modify(target.qp, attr, common::rtr_mask);
}

int World::to_rts(Target &target, const Step &step)
{
	return common::modify(
		target.qp,
		common::rts_attr(
			{.sq_psn = target.sq,
			 .reads = small(step, "rd", 4),
			 .timeout = uint8_t(small(step, "timeout", 8) & 31),
			 .retry_count = uint8_t(small(step, "retry", 2) & 7),
			 .rnr_retry = uint8_t(small(step, "rnr", 3) & 7)}),
		common::rts_mask);
}

void World::set_state(Target &target, ibv_qp_state state, const Step &step)
{
	ibv_qp_attr attr{};

	if (!target.qp)
		return;
	switch (state) {
	case IBV_QPS_INIT:
		to_init(target, step);
		return;
	case IBV_QPS_RTR:
		to_rtr(target, step);
		return;
	case IBV_QPS_RTS:
		/* From SQD and SQE without attributes. */
		attr.qp_state = state;
		if (to_rts(target, step))
			ibv_modify_qp(target.qp, &attr, IBV_QP_STATE);
		return;
	default:
		attr.qp_state = state;
		if (!ibv_modify_qp(target.qp, &attr, IBV_QP_STATE) &&
		    state == IBV_QPS_RESET)
			forget(target);
	}
}

ibv_qp_state World::state(Target &target)
{
	ibv_qp_attr attr{};
	ibv_qp_init_attr init{};

	if (!target.qp || ibv_query_qp(target.qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return attr.qp_state;
}

void World::attach(Target &target, bool on)
{
	const pw::Address address = pw::parse_address("239.9.0.1");
	ibv_gid group;

	if (!target.qp)
		return;
	std::copy(address.begin(), address.end(), group.raw);
	if (on)
		ibv_attach_mcast(target.qp, &group, 0);
	else
		ibv_detach_mcast(target.qp, &group, 0);
}

} // namespace wf
