// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Datagrams that are longer than the receive that they meet: lost, and the receive is there
 * for the next one, also where it is a shared one.
 */
#include "tap.h"
#include "ud.h"

using namespace pv;
using namespace pv::ud;

namespace {

constexpr uint32_t short_room = 139; /* of a receive: the GRH and 99 bytes */
constexpr uint32_t short_load = short_room - grh;

void send_plain(Env &env, Side &a, const Side &b, const Mr &out,
		uint32_t length)
{
	must_send(env, a,
		  datagram(out, length, must_ah(env.a, env.info_b.gid),
			   b.qp.number),
		  "send");
}

/* Two that are too long and one that fits, for one receive of `b`, number 1. */
void check_short(Env &env, Side &a, Side &b, const Mr &in)
{
	Mr out = must_reg(env.a, {short_load + 1}, 3);

	for (uint32_t length : {short_load + 1, short_load + 1, short_load})
		send_plain(env, a, b, out, length);
	Wc wc = expect_recv(env, b, 1, "receive");
	REQUIRE_EQ(wc.byte_len, short_room, "of the one that fits");
	must_match(env.b, in, grh, short_load, 3, 0, "data");
	must_match(env.b, in, short_room, slot - short_room, 4, short_room,
		   "memory behind it");
	REQUIRE_EQ(int(state_of(b)), IBV_QPS_RTS, "the receiver");
}

} // namespace

PV_TEST("ud.receive_too_small",
	"a datagram that is longer than its receive, with its GRH, is lost, and "
	"the receive is there for the next one")
{
	Side a = make_ud(env.a, env.info_a), b = make_ud(env.b, env.info_b);
	Mr in = must_reg(env.b, {slot}, 4);

	must_post(b, RecvWr{1, {{in.id, 0, short_room, 0}}});
	check_short(env, a, b, in);
}

PV_TEST_LOCAL(
	"ud.srq_too_small",
	"the same of a shared receive, which the queue pair keeps; counted")
{
	Srq srq = must_srq(env.b);
	Side a = make_ud(env.a, env.info_a),
	     b = make_ud(env.b, env.info_b, srq.id),
	     other = make_ud(env.b, env.info_b, srq.id);
	Mr in = must_reg(env.b, {slot}, 4), behind = must_reg(env.b, {slot});
	Moved dropped(env.b, "rx_drop_recv_length");

	must_post_srq(env.b, srq, {{1, {{in.id, 0, short_room, 0}}}});
	check_short(env, a, b, in);
	wait_moved(env, dropped, 2);
	REQUIRE_EQ(dropped.by(), 2u, "dropped");
	/* the queue goes on, for both */
	for (Side *to : {&other, &b}) {
		must_post_srq(env.b, srq, {receive(behind, 0)});
		nothing_but_marker(env, a, *to, behind, 0);
	}
}
