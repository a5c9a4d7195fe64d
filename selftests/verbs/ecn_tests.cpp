// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Explicit congestion notification: an interface that would drop packets marks them, the peer echoes
 * that, and nothing has to be sent twice. netem marks those that it would lose.
 */
#include "../common/adapter.h"
#include "../common/parameter.h"
#include "link.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t length = 1 << 16;
constexpr const char *marking = "netem loss 20% ecn";

/* Messages, one after the other, between two regions with every byte checked. */
void move_some(Env &env, Link &link, Op op, int count)
{
	for (int i = 0; i < count; i++) {
		const uint64_t seed = 7000 + uint64_t(i);
		const bool read = op == Op::read;
		const Mr near = must_reg(env.a, {length},
					 read ? std::optional<uint64_t>{} :
						seed),
			 far = must_reg(env.b, {length},
					read ? std::optional<uint64_t>(seed) :
					       std::optional<uint64_t>{});

		must_send(env, link.a, make_wr(op, {near, 0}, length, {far, 0}),
			  name_of(op));
		must_match(read ? env.a : env.b, read ? near : far, 0, length,
			   seed, 0, name_of(op));
		REQUIRE_EQ(env.a.destroy(Kind::mr, near.id), 0, "deregister");
		REQUIRE_EQ(env.b.destroy(Kind::mr, far.id), 0, "deregister");
	}
}

} // namespace

PV_TEST_LOCAL("ecn.requests",
	      "packets of writes that a full queue would drop are marked; the "
	      "peer echoes the marks, and none is sent twice")
{
	Link link = connect(env);

	/* Not before the peer has announced that it echoes marks. */
	move_some(env, link, Op::write, 1);
	Qdisc qdisc(env.a, marking);
	Moved marked(env.b, "np_ecn_marked_roce_packets"),
		echoed(env.a, "rx_ecn_echoes"), twice(env.a, "tx_retransmits");

	move_some(env, link, Op::write, 50);
	REQUIRE(marked.by() > 0, "no packet was marked");
	REQUIRE(echoed.by() > 0, "no mark was echoed");
	REQUIRE_EQ(twice.by(), 0u, "retransmitted");
}

PV_TEST_LOCAL("ecn.responses",
	      "packets of read responses are marked, too, and none is requested "
	      "twice")
{
	Link link = connect(env);

	move_some(env, link, Op::read, 1);
	Qdisc qdisc(env.b, marking);
	Moved marked(env.a, "np_ecn_marked_roce_packets"),
		twice(env.a, "tx_retransmits");

	move_some(env, link, Op::read, 50);
	REQUIRE(marked.by() > 0, "no packet was marked");
	REQUIRE_EQ(twice.by(), 0u, "retransmitted");
}

PV_TEST_LOCAL("ecn.off",
	      "with the parameter ecn=0 a queue pair's packets are not marked "
	      "but dropped, and all arrives")
{
	common::Parameter off("ecn", "0");
	/* A message is few packets, so the loss timer has to find most losses. */
	Link link = connect(env, {.timeout = 10});

	move_some(env, link, Op::write, 1);
	Qdisc qdisc(env.a, marking);
	Moved marked(env.b, "np_ecn_marked_roce_packets"),
		twice(env.a, "tx_retransmits");

	move_some(env, link, Op::write, 50);
	REQUIRE_EQ(marked.by(), 0u, "marked");
	REQUIRE(twice.by() > 0, "nothing was lost");
}
