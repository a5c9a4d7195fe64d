// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Connecting two queue pairs: creation and the three steps to RTS.
 * Messages across the pair are in exchange.cpp.
 *
 * Called by: tests.
 */
#include "link.h"

#include <algorithm>
#include <cstring>

#include "tap.h"

namespace pv {

int common_mtu(const Env &env)
{
	return mtu_bytes(std::min(env.info_a.port.active_mtu,
				  env.info_b.port.active_mtu));
}

ibv_qp_attr init_attr(const LinkSpec &spec)
{
	return common::init_attr({.access = spec.access});
}

ibv_qp_attr rtr_attr(const Link &link, const Side &self, const Side &peer)
{
	const bool fewer = &self == &link.b && link.spec.rd_atomic_b;

	return common::rtr_attr(
		{.gid = peer.info.gid,
		 .gid_index = uint8_t(self.info.gid_index),
		 .qpn = peer.qp.number,
		 .rq_psn = peer.psn,
		 .mtu = common::mtu_code(link.mtu),
		 .dest_reads = fewer ? link.spec.rd_atomic_b : link.rd_atomic,
		 .min_rnr_timer = link.spec.min_rnr_timer,
		 .sl = link.spec.sl,
		 .traffic_class = link.spec.traffic_class});
}

ibv_qp_attr rts_attr(const Link &link, const Side &self)
{
	return common::rts_attr({.sq_psn = self.psn,
				 .reads = link.rd_atomic,
				 .timeout = *link.spec.timeout,
				 .retry_count = link.spec.retry_count,
				 .rnr_retry = link.spec.rnr_retry});
}

void must_modify(Side &side, const ibv_qp_attr &attr, int mask,
		 const char *what)
{
	int error = side.host->modify(side.qp.id, attr, mask);

	REQUIRE(!error, what, ": ", strerror(error));
}

void to_sqd(Side &side)
{
	ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	must_modify(side, attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
		    "to SQD");
}

void to_state(Side &side, ibv_qp_state state)
{
	ibv_qp_attr attr = {.qp_state = state};

	must_modify(side, attr, IBV_QP_STATE, "modify to a state");
}

ibv_qp_state state_of(Side &side)
{
	QpState state = side.host->query(side.qp.id, IBV_QP_STATE);

	REQUIRE_EQ(state.error, 0, "ibv_query_qp");
	return state.attr.qp_state;
}

void wait_state(Env &env, Side &side, ibv_qp_state state)
{
	eventually(env, [&] { return state_of(side) == state; });
	REQUIRE_EQ(int(state_of(side)), state, "the QP did not get there");
}

static Side make_side(Host &host, const HostInfo &info, const LinkSpec &spec,
		      const Cq &shared, Handle pd, Handle srq)
{
	Side side = {.host = &host, .info = info, .type = spec.type};

	if (shared.id) {
		side.send_cq = side.recv_cq = shared;
	} else {
		side.send_cq = host.create_cq(spec.cq_depth, spec.events);
		REQUIRE_EQ(side.send_cq.error, 0, "create_cq");
		side.recv_cq = host.create_cq(spec.cq_depth, spec.events);
		REQUIRE_EQ(side.recv_cq.error, 0, "create_cq");
	}
	side.qp = host.create_qp({.send_cq = side.send_cq.id,
				  .recv_cq = side.recv_cq.id,
				  .pd = pd,
				  .cap = spec.cap,
				  .signal_all = spec.signal_all,
				  .type = spec.type,
				  .send_ops = spec.send_ops,
				  .srq = srq});
	REQUIRE(!side.qp.error, "create_qp: ", strerror(side.qp.error));
	return side;
}

Link make_link(Env &env, const LinkSpec &spec)
{
	Link link;
	int can = std::min({env.info_a.device.max_qp_rd_atom,
			    env.info_a.device.max_qp_init_rd_atom,
			    env.info_b.device.max_qp_rd_atom,
			    env.info_b.device.max_qp_init_rd_atom, 8});

	link.spec = spec;
	link.spec.timeout = spec.timeout.value_or(env.options.loss_timeout);
	link.mtu = spec.mtu ? spec.mtu : common_mtu(env);
	link.rd_atomic = spec.rd_atomic ? spec.rd_atomic : uint8_t(can);
	if (link.mtu > common_mtu(env))
		throw Skip(str("the path has an MTU of ", common_mtu(env)));
	link.a = make_side(env.a, env.info_a, spec, spec.cq_a, spec.pd_a,
			   spec.srq_a);
	link.b = make_side(env.b, env.info_b, spec, spec.cq_b, spec.pd_b,
			   spec.srq_b);
	link.a.psn = spec.psn_a;
	link.b.psn = spec.psn_b;
	return link;
}

static void step(Link &link, Side &side, const ibv_qp_attr &attr, int rc_mask,
		 const char *what)
{
	must_modify(side, attr, mask_for(side.type, rc_mask),
		    str(&side == &link.a ? "A to " : "B to ", what).c_str());
}

void to_init(Link &link, Side &side)
{
	step(link, side, init_attr(link.spec), init_mask, "INIT");
}

void to_rtr(Link &link, Side &side)
{
	const Side &peer = &side == &link.a ? link.b : link.a;

	step(link, side, rtr_attr(link, side, peer), rtr_mask, "RTR");
}

void to_rts(Link &link, Side &side)
{
	step(link, side, rts_attr(link, side), rts_mask, "RTS");
}

void bring_up(Link &link)
{
	for (auto *next : {to_init, to_rtr, to_rts})
		for (Side *side : {&link.a, &link.b})
			next(link, *side);
}

void reconnect(Link &link)
{
	to_state(link.a, IBV_QPS_RESET);
	to_state(link.b, IBV_QPS_RESET);
	bring_up(link);
}

Link connect(Env &env, const LinkSpec &spec)
{
	Link link = make_link(env, spec);

	bring_up(link);
	return link;
}

} // namespace pv
