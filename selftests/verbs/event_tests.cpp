// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Completion events, solicited and not, CQ overrun, resize.
 */
#include <algorithm>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

/*
 * How long to look for an event that must not come. It would be raised before
 * the completion that has been polled already, so this only covers delivery.
 */
constexpr uint32_t quiet_ms = 30;

Link event_link(Env &env)
{
	return connect(env, {.events = true});
}

void send_one(Env &env, Link &link, unsigned flags)
{
	SendWr wr = make_wr(Op::send, {}, 0);

	wr.flags |= flags;
	must_post(link.b, RecvWr{});
	must_send(env, link.a, wr, "send");
	expect_recv(env, link.b, 0, "receive");
}

void must_arm(Host &host, Cq cq, bool solicited)
{
	REQUIRE_EQ(host.arm(cq.id, solicited), 0, "ibv_req_notify_cq");
}

} // namespace

PV_TEST("event.once",
	"an armed CQ raises one event for the next completion, then none")
{
	Link link = event_link(env);

	send_one(env, link, 0);
	REQUIRE(!env.b.wait_event(link.b.recv_cq.id, quiet_ms),
		"event of a CQ never armed");
	must_arm(env.b, link.b.recv_cq, false);
	must_arm(env.a, link.a.send_cq, false);
	send_one(env, link, 0);
	must_wake(env, env.b, link.b.recv_cq, "no event for the receive");
	must_wake(env, env.a, link.a.send_cq, "no event for the send");
	send_one(env, link, 0);
	REQUIRE(!env.b.wait_event(link.b.recv_cq.id, quiet_ms),
		"second event without arming again");
}

PV_TEST("event.sleep_until",
	"arm, find the CQ empty, sleep on the channel: the completion wakes it")
{
	Link link = event_link(env);

	for (int i = 0; i < 20; i++) {
		must_arm(env.b, link.b.recv_cq, false);
		no_more(link.b, "CQ before the send");
		must_post(link.b, RecvWr{});
		must_post(link.a, make_wr(Op::send, {}, 0));
		must_wake(env, env.b, link.b.recv_cq, "no event");
		/* The event promises that the completion is there. */
		auto wcs = env.b.poll(link.b.recv_cq.id, 1, 0);
		REQUIRE_EQ(wcs.size(), 1u, "event without completion");
		wait_send(env, link.a, "send");
	}
}

PV_TEST("event.solicited_only",
	"a CQ armed for solicited completions ignores the others")
{
	Link link = event_link(env);
	Cq cq = link.b.recv_cq;

	must_arm(env.b, cq, true);
	send_one(env, link, 0);
	REQUIRE(!env.b.wait_event(cq.id, quiet_ms), "event, not solicited");
	send_one(env, link, IBV_SEND_SOLICITED);
	must_wake(env, env.b, cq, "no event, solicited");
}

PV_TEST("event.solicited_kinds",
	"solicited events of send with immediate, write with immediate and a "
	"message of several packets")
{
	Link link = event_link(env);
	uint64_t size = uint64_t(link.mtu) * 3;
	Place local = {must_reg(env.a, {size}), 0};
	Place remote = {must_reg(env.b, {size}), 0};

	for (Op op : {Op::send, Op::send_imm, Op::write_imm}) {
		for (uint64_t length : {uint64_t(1), size}) {
			must_arm(env.b, link.b.recv_cq, true);
			exchange(env, link.a, link.b, op, local, remote,
				 length);
			REQUIRE(!env.b.wait_event(link.b.recv_cq.id, quiet_ms),
				name_of(op), " of ", length, ": not solicited");
			exchange(env, link.a, link.b, op, local, remote, length,
				 IBV_SEND_SOLICITED);
			REQUIRE(env.b.wait_event(link.b.recv_cq.id,
						 env.options.patience_ms),
				name_of(op), " of ", length, ": no event");
		}
	}
}

PV_TEST("event.error_is_solicited",
	"an unsuccessful completion wakes a CQ armed for solicited ones")
{
	Link link = event_link(env);

	env.expect_async();
	must_post(link.b, RecvWr{});
	must_arm(env.b, link.b.recv_cq, true);
	to_state(link.b, IBV_QPS_ERR);
	expect_recv(env, link.b, 0, "flushed receive", IBV_WC_WR_FLUSH_ERR);
	/* It comes with the completion; a peer that raises none is known. */
	REQUIRE(env.b.wait_event(link.b.recv_cq.id,
				 std::min(env.options.patience_ms, 5000u)),
		"no event for the flushed receive");
}

PV_TEST("event.solicited_then_all",
	"arming for all completions after arming for solicited ones counts")
{
	Link link = event_link(env);

	must_arm(env.b, link.b.recv_cq, true);
	must_arm(env.b, link.b.recv_cq, false);
	send_one(env, link, 0);
	must_wake(env, env.b, link.b.recv_cq, "no event");

	/* And the weaker wish does not replace the stronger one. */
	must_arm(env.b, link.b.recv_cq, false);
	must_arm(env.b, link.b.recv_cq, true);
	send_one(env, link, 0);
	must_wake(env, env.b, link.b.recv_cq,
		  "no event: IBA keeps the request for the next completion");
}

PV_TEST("event.unsignalled_is_silent",
	"an unsignalled send raises no event on its own CQ")
{
	Link link = event_link(env);
	SendWr quiet = make_wr(Op::send, {}, 0),
	       loud = make_wr(Op::send, {}, 0);

	quiet.flags = 0;
	must_arm(env.a, link.a.send_cq, false);
	must_post(link.b, std::vector<RecvWr>{{}, {}});
	must_post(link.a, quiet);
	wait_recv(env, link.b, "receive");
	REQUIRE(!env.a.wait_event(link.a.send_cq.id, quiet_ms), "event");
	must_post(link.a, loud);
	must_wake(env, env.a, link.a.send_cq, "no event of the signalled one");
	expect_send(env, link.a, loud.id, "the only completion");
}

PV_TEST("event.communication_established",
	"a message to a QP in RTR arrives, and the program is told so")
{
	Link link = make_link(env);
	Mr in = must_reg(env.b, {64}), out = must_reg(env.a, {64}, 6);

	for (auto *step : {to_init, to_rtr})
		for (Side *side : {&link.a, &link.b})
			step(link, *side);
	to_rts(link, link.a);
	must_post(link.b, RecvWr{1, {{in.id, 0, 64, 0}}});
	must_send(env, link.a, make_wr(Op::send, {out, 0}, 64),
		  "send to a QP in RTR");
	expect_recv(env, link.b, 1, "receive in RTR");
	must_match(env.b, in, 0, 64, 6, 0, "data");
	/* It was raised before the message completed; a peer that raises none is known. */
	AsyncEvent event =
		env.b.async_event(std::min(env.options.patience_ms, 5000u));
	REQUIRE_EQ(event.type, int(IBV_EVENT_COMM_EST), "async event");
	REQUIRE_EQ(event.object, link.b.qp.id, "the event's QP");
}

PV_TEST("event.cq_overrun",
	"a CQ with no room left raises CQ_ERR; what was in it stays good")
{
	env.expect_async();
	LinkSpec spec = {.cq_b = env.b.create_cq(1, false)};
	REQUIRE_EQ(spec.cq_b.error, 0, "create_cq");
	uint32_t room = uint32_t(spec.cq_b.depth);
	spec.cap.max_recv_wr = room + 8;
	Link link = connect(env, spec);

	must_post(link.b, numbered_receives(0, room + 4));
	/* The test does not poll B's CQ: it overflows. */
	for (uint32_t i = 0; i < room + 1; i++) {
		SendWr wr = make_wr(Op::send, {}, 0);

		wr.id = i;
		must_post(link.a, wr);
		if (i < room)
			expect_send(env, link.a, i, "send while there is room");
	}
	AsyncEvent event = env.b.async_event(env.options.patience_ms);
	while (event.type >= 0 && event.type != IBV_EVENT_CQ_ERR)
		event = env.b.async_event(env.options.patience_ms);
	REQUIRE_EQ(event.type, int(IBV_EVENT_CQ_ERR), "async event");
	REQUIRE_EQ(event.object, spec.cq_b.id, "the event's CQ");

	std::vector<Wc> wcs;

	try {
		wcs = env.b.poll(spec.cq_b.id, room, 0);
	} catch (const std::runtime_error &) {
		return; /* refusing to be polled is allowed too */
	}
	for (size_t i = 0; i < wcs.size(); i++)
		check_wc(wcs[i], i, IBV_WC_SUCCESS,
			 "completion before overrun");
}

PV_TEST("event.cq_exactly_full",
	"as many completions as the CQ says it holds fit, many times over")
{
	LinkSpec spec = {.cq_b = env.b.create_cq(5, false)};

	REQUIRE(spec.cq_b.depth >= 5, "depth ", spec.cq_b.depth);
	uint32_t room = uint32_t(spec.cq_b.depth);
	spec.cap.max_recv_wr = room;
	Link link = connect(env, spec);
	uint64_t id = 0;

	for (int round = 0; round < 6; round++) {
		must_post(link.b, numbered_receives(id, room));
		for (uint32_t i = 0; i < room; i++) {
			must_send(env, link.a, make_wr(Op::send, {}, 0),
				  "send");
		}
		expect_all(env, link.b, spec.cq_b, numbers(id, room),
			   "full CQ");
		id += room;
		no_more(link.b, "full CQ");
	}
}
