// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* xrc.cpp - see xrc.h. */
#include "xrc.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tap.h"

namespace pv {
namespace {

Side make_side(Host &host, const HostInfo &info, ibv_qp_type type, Handle xrcd,
	       const LinkSpec &spec, const Cq &shared)
{
	Side side = {.host = &host,
		     .info = info,
		     .type = type,
		     .send_cq = host.create_cq(256, spec.events),
		     .recv_cq = shared.id ? shared :
					    host.create_cq(256, spec.events)};

	QpSpec qp = {.send_cq = side.send_cq.id,
		     .recv_cq = side.recv_cq.id,
		     .cap = spec.cap,
		     .type = type,
		     .xrcd = xrcd};
	if (type == IBV_QPT_XRC_SEND)
		qp.send_ops = spec.send_ops;
	side.qp = host.create_qp(qp);
	REQUIRE(!side.qp.error, "create_qp: ", strerror(side.qp.error));
	return side;
}

} // namespace

Handle must_domain(Host &host)
{
	Made xrcd = host.open_xrcd();

	if (xrcd.error == EOPNOTSUPP || xrcd.error == ENOSYS)
		throw Skip("no XRC");
	REQUIRE(!xrcd.error, "open_xrcd: ", strerror(xrcd.error));
	return xrcd.id;
}

Srq must_srq(Env &env, Handle xrcd, const Cq &cq, Handle pd)
{
	return must_srq(env.b, {.pd = pd, .xrcd = xrcd, .cq = cq.id});
}

XrcLink connect_xrc(Env &env, LinkSpec spec, Handle xrcd)
{
	XrcLink link;
	int can = std::min(env.info_a.device.max_qp_rd_atom, 4);

	link.xrcd = xrcd ? xrcd : must_domain(env.b);
	link.spec = spec;
	link.spec.timeout = spec.timeout.value_or(env.options.loss_timeout);
	link.mtu = std::min(spec.mtu ? spec.mtu : 4096, common_mtu(env));
	link.rd_atomic = uint8_t(can);
	link.a = make_side(env.a, env.info_a, IBV_QPT_XRC_SEND, 0, spec,
			   spec.cq_a);
	link.b = make_side(env.b, env.info_b, IBV_QPT_XRC_RECV, link.xrcd, spec,
			   spec.cq_b);
	link.a.psn = spec.psn_a;
	link.b.psn = spec.psn_b;
	link.srq = must_srq(env, link.xrcd, link.b.recv_cq);
	link.a.srqn = link.srq.number;
	link.b.srq = link.srq.id;
	bring_up(link);
	return link;
}

SendWr to_srq(const Srq &srq, SendWr wr)
{
	wr.srqn = srq.number;
	return wr;
}

void must_refuse_xrc(Env &env, XrcLink &link, const SendWr &wr,
		     ibv_wc_status status, const char *what)
{
	env.expect_async();
	must_send(env, link.a, wr, what, status);
	wait_state(env, link.a, IBV_QPS_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
	no_more(link.b, what);
}

} // namespace pv
