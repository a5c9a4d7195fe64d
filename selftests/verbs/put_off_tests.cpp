// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests that wait in the sender's own interface for longer than their timeout: no loss,
 * until it has been long enough.
 */
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

/* 16 ms; one attempt more. */
LinkSpec impatient()
{
	LinkSpec spec = {.timeout = 12, .retry_count = 1};

	return spec;
}

} // namespace

PV_TEST_LOCAL("put_off.late",
	      "an interface that sends later than all attempts would take: each "
	      "request is sent once more, and done")
{
	Link link = connect(env, impatient());
	const uint64_t length = 8000, seed = env.seed();
	Place from = {must_reg(env.a, {length}), 0},
	      to = {must_reg(env.b, {length}), 0};
	Moved put_off(env.a, "loss_timer_put_off"),
		again(env.a, "tx_retransmits");
	SendWr wr = make_wr(Op::write, from, length, to);

	env.a.fill(from.mr.id, 0, length, seed, 0);
	{
		Qdisc slow(env.a, "netem limit 1000 delay 300ms");

		must_send(env, link.a, wr, "write");
	}
	must_match(env.b, to.mr, 0, length, seed, 0, "what was written");
	REQUIRE(put_off.by() > 0, "no expiry was put off");
	REQUIRE_EQ(again.by(), 1u, "packets sent again");
}

PV_TEST_LOCAL(
	"put_off.never",
	"an interface that does not send at all: the request is given up in "
	"the end")
{
	constexpr uint64_t most = 32;
	Link link = connect(env, impatient());
	Place from = {must_reg(env.a, {64}), 0},
	      to = {must_reg(env.b, {64}), 0};
	Moved put_off(env.a, "loss_timer_put_off"),
		expired(env.a, "local_ack_timeout_err");
	SendWr wr = make_wr(Op::write, from, 64, to);
	Qdisc never(env.a, "netem limit 1000 delay 200s");

	env.expect_async();
	must_send(env, link.a, wr, "write", IBV_WC_RETRY_EXC_ERR);
	wait_state(env, link.a, IBV_QPS_ERR);
	REQUIRE_EQ(put_off.by(), most, "put off");
	REQUIRE_EQ(expired.by(), 2u, "attempts");
}

PV_TEST_LOCAL("put_off.sealed",
	      "packets with an ICRC that wait for five seconds: the peer, which "
	      "takes such packets for four after the last one, takes them")
{
	Parameter sealed("deferred_icrc", "N");
	Link link = connect(env, {.timeout = 16, .retry_count = 1});
	const uint64_t seed = env.seed();
	Place from = {must_reg(env.a, {64}, seed), 0},
	      to = {must_reg(env.b, {64}), 0};
	Moved refused(env.b, "rx_drop_address");
	SendWr wr = make_wr(Op::write, from, 64, to);
	Qdisc slow(env.a, "netem limit 1000 delay 5s");

	must_send(env, link.a, wr, "write");
	must_match(env.b, to.mr, 0, 64, seed, 0, "what was written");
	REQUIRE_EQ(refused.by(), 0u, "refused");
}
