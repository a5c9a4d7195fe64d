// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The XRC service (IBA annex A14): initiator and target queue pairs, shared
 * receive queues named by each message, domains, and targets that are shared.
 */
#include <cerrno>
#include <cstring>
#include <map>

#include "link.h"
#include "manager.h"
#include "paged.h"
#include "qdisc.h"
#include "tap.h"
#include "window.h"
#include "xrc.h"

using namespace pv;

namespace {

void alive(Env &env, XrcLink &link)
{
	Place from = {must_reg(env.a, {6000}), 3},
	      to = {must_reg(env.b, {6000}), 5};

	exchange(env, link.a, link.b, Op::send_imm, from, to, 5001);
	exchange(env, link.a, link.b, Op::read, from, to, 5001);
}

void sweep_xrc(Env &env, Op op)
{
	for (int mtu : {256, 1024, 4096}) {
		XrcLink link = connect_xrc(env, {.mtu = mtu});
		uint64_t m = uint64_t(link.mtu);
		Place from = {must_reg(env.a, {8 * m, 4091}), 7},
		      to = {must_reg(env.b, {8 * m, 4091}), 13};

		for (uint64_t length : {uint64_t(0), uint64_t(1), m - 1, m,
					m + 1, 2 * m, 5 * m + 3})
			exchange(env, link.a, link.b, op, from, to, length);
	}
}

struct RegisterXrcSweeps {
	RegisterXrcSweeps()
	{
		add(Op::send, "send", "sends");
		add(Op::send_imm, "send_imm", "sends with immediate");
		add(Op::write, "write", "writes");
		add(Op::write_imm, "write_imm", "writes with immediate");
		add(Op::read, "read", "reads");
	}

	static void add(Op op, const char *name, const char *what)
	{
		Register(str("xrc.", name),
			 str(what, " of every kind of length"), Needs::any,
			 [op](Env &env) { sweep_xrc(env, op); });
	}
} register_xrc_sweeps;

} // namespace

PV_TEST("xrc.atomics", "compare and swap, fetch and add")
{
	XrcLink link = connect_xrc(env);
	Mr result = must_reg(env.a, {8}), word = must_reg(env.b, {64});
	SendWr wr =
		to_srq(link.srq, make_wr(Op::read, {result, 0}, 8, {word, 8}));

	env.b.store(word.id, 8, 1000);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.compare_add = 17;
	must_send(env, link.a, wr, "add");
	REQUIRE_EQ(env.a.load(result.id, 0), 1000u, "old value");
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.compare_add = 1017;
	wr.swap = 5;
	must_send(env, link.a, wr, "swap");
	REQUIRE_EQ(env.a.load(result.id, 0), 1017u, "old value");
	REQUIRE_EQ(env.b.load(word.id, 8), 5u, "new value");
}

PV_TEST("xrc.inline", "inline data fits beside the number of the queue")
{
	XrcLink link = connect_xrc(env, {.cap = inline_cap(200)});
	Mr out = must_reg(env.a, {200}, 4), in = must_reg(env.b, {200});
	SendWr wr = to_srq(link.srq,
			   make_wr(Op::write_imm, {out, 0}, 200, {in, 0}));

	wr.flags |= IBV_SEND_INLINE;
	must_post_srq(env.b, link.srq, {{1, {}}});
	must_post(link.a, wr);
	expect_recv(env, link.b, 1, "receive");
	must_match(env.b, in, 0, 200, 4, 0, "data");
}

PV_TEST("xrc.names_queue",
	"each message takes from the queue it names and completes to that CQ")
{
	constexpr uint32_t size = 5000, count = 12;
	XrcLink link = connect_xrc(env);
	Cq other_cq = env.b.create_cq(64, false);
	Srq other = must_srq(env, link.xrcd, other_cq);
	Mr out = must_reg(env.a, {count * size}, 3),
	   in = must_reg(env.b, {count * size});

	for (uint32_t i = 0; i < count; i++)
		must_post_srq(env.b, i % 3 ? other : link.srq,
			      {{i, {{in.id, int64_t(i) * size, size, 0}}}});
	for (uint32_t i = 0; i < count; i++)
		must_post(link.a,
			  to_srq(i % 3 ? other : link.srq,
				 make_wr(Op::send, {out, int64_t(i) * size},
					 size)));
	wait_completions(env, link.a, link.a.send_cq, count, "sends");
	auto ours = wait_completions(env, link.b, link.b.recv_cq, count / 3,
				     "receives of one queue");
	auto others = wait_completions(env, link.b, other_cq, count * 2 / 3,
				       "receives of the other");
	for (uint32_t i = 0; i < count; i++)
		check_wc(i % 3 ? others[i - i / 3 - 1] : ours[i / 3], i,
			 IBV_WC_SUCCESS, "receive");
	must_match(env.b, in, 0, count * size, 3, 0, "all messages");
}

PV_TEST("xrc.shared_by_targets", "two targets of a domain use one queue")
{
	XrcLink one = connect_xrc(env);
	XrcLink two = connect_xrc(env, {}, one.xrcd);
	SendWr wr = to_srq(one.srq, make_wr(Op::send, {}, 0));

	must_post_srq(env.b, one.srq, {{1, {}}, {2, {}}});
	must_post(two.a, wr);
	Wc wc = expect_recv(env, one.b, 1, "by the second");
	REQUIRE_EQ(wc.qp_number, two.b.qp.number, "qp_num");
	must_post(one.a, wr);
	wc = wait_recv(env, one.b, "by the first");
	check_wc(wc, 2, IBV_WC_SUCCESS, "by the first");
	REQUIRE_EQ(wc.qp_number, one.b.qp.number, "qp_num");
}

PV_TEST("xrc.rnr", "an empty queue: the message waits, one of another passes")
{
	XrcLink waits = connect_xrc(env);
	XrcLink passes = connect_xrc(env, {}, waits.xrcd);
	Mr out = must_reg(env.a, {9000}, 6), in = must_reg(env.b, {9000});
	SendWr wr = to_srq(waits.srq, make_wr(Op::send, {out, 0}, 9000));

	must_post(waits.a, wr);
	alive(env, passes);
	none_sent(waits.a, 20, "completed without a receive");
	must_post_srq(env.b, waits.srq, {{4, {{in.id, 0, 9000, 0}}}});
	expect_send(env, waits.a, wr.id, "send");
	expect_recv(env, waits.b, 4, "receive");
	must_match(env.b, in, 0, 9000, 6, 0, "data");
}

PV_TEST("xrc.unknown_queue", "a number that no queue has is refused")
{
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64}, 2);

	for (Op op : {Op::send, Op::write, Op::read}) {
		XrcLink link = connect_xrc(env);
		SendWr wr = make_wr(op, {out, 0}, 64, {in, 0});

		wr.srqn = 0xfffff0;
		must_refuse_xrc(env, link, wr, IBV_WC_REM_INV_REQ_ERR,
				name_of(op));
	}
	must_match(env.b, in, 0, 64, 2, 0, "memory");
}

PV_TEST("xrc.other_domain", "a queue of another domain is refused")
{
	XrcLink link = connect_xrc(env), other = connect_xrc(env);
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64}, 2);

	must_post_srq(env.b, other.srq, {{1, {{in.id, 0, 64, 0}}}});
	must_refuse_xrc(env, link,
			to_srq(other.srq, make_wr(Op::send, {out, 0}, 64)),
			IBV_WC_REM_INV_REQ_ERR, "send");
	no_more(other.b, "the other's receive");
	must_match(env.b, in, 0, 64, 2, 0, "memory");
	must_post(other.a, to_srq(other.srq, make_wr(Op::send, {}, 0)));
	expect_recv(env, other.b, 1, "the other domain");
}

PV_TEST("xrc.pd", "memory is touched by the protection domain of the queue")
{
	XrcLink link = connect_xrc(env);
	MrSpec spec = {.length = 64, .pd = env.b.alloc_pd().id};
	Srq other = must_srq(env, link.xrcd, link.b.recv_cq, spec.pd);
	Mr out = must_reg(env.a, {64}, 3), in = must_reg(env.b, spec);
	SendWr wr = make_wr(Op::write, {out, 0}, 64, {in, 0});

	must_post(link.a, to_srq(other, wr));
	expect_send(env, link.a, wr.id, "its own");
	must_match(env.b, in, 0, 64, 3, 0, "memory");
	env.b.fill(in.id, 0, 64, 2, 0);
	must_refuse_xrc(env, link, to_srq(link.srq, wr), IBV_WC_REM_ACCESS_ERR,
			"another queue's");
	must_match(env.b, in, 0, 64, 2, 0, "memory");
}

PV_TEST("xrc.bad_receive", "a receive with a bad key fails on its queue's CQ")
{
	XrcLink link = connect_xrc(env);
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64});
	SendWr wr = to_srq(link.srq, make_wr(Op::send, {out, 0}, 64));

	env.expect_async();
	must_post_srq(env.b, link.srq, {{1, {{in.id, 0, 64, 0x100}}}});
	must_post(link.a, wr);
	expect_recv(env, link.b, 1, "receive", IBV_WC_LOC_PROT_ERR);
	expect_send(env, link.a, wr.id, "send", IBV_WC_REM_OP_ERR);
}

PV_TEST("xrc.limit", "the limit event of its queue")
{
	XrcLink link = connect_xrc(env);

	must_post_srq(env.b, link.srq, std::vector<RecvWr>(2));
	ibv_srq_attr attr = {.srq_limit = 2};
	REQUIRE_EQ(env.b.modify_srq(link.srq.id, attr, IBV_SRQ_LIMIT), 0,
		   "arm");
	must_post(link.a, to_srq(link.srq, make_wr(Op::send, {}, 0)));
	wait_recv(env, link.b, "receive");
	must_event(env, env.b, IBV_EVENT_SRQ_LIMIT_REACHED, link.srq.id);
}

PV_TEST("xrc.completion_event", "an armed CQ of a queue tells of a message")
{
	XrcLink link = connect_xrc(env, {.events = true});

	must_post_srq(env.b, link.srq, std::vector<RecvWr>(2));
	REQUIRE_EQ(env.b.arm(link.b.recv_cq.id, false), 0, "arm");
	must_post(link.a, to_srq(link.srq, make_wr(Op::send, {}, 0)));
	must_wake(env, env.b, link.b.recv_cq);
	wait_recv(env, link.b, "receive");
}

PV_TEST("xrc.cq_overrun",
	"a queue whose CQ has overrun says so and gives nothing")
{
	XrcLink link = connect_xrc(env);
	Cq small = env.b.create_cq(4, false);
	Srq srq = must_srq(env, link.xrcd, small);
	SendWr wr = to_srq(srq, make_wr(Op::send, {}, 0));
	int count = small.depth + 1;
	std::map<int, int> events;

	env.expect_async();
	must_post_srq(env.b, srq, std::vector<RecvWr>(size_t(count) + 1));
	for (int i = 0; i < count; i++) {
		must_post(link.a, wr);
		wait_send(env, link.a, "send");
	}
	while (!events[IBV_EVENT_CQ_ERR] || !events[IBV_EVENT_SRQ_ERR]) {
		AsyncEvent event = env.b.async_event(env.options.patience_ms);

		REQUIRE(event.type >= 0, "an event is missing");
		events[event.type]++;
		if (event.type == IBV_EVENT_SRQ_ERR)
			REQUIRE_EQ(event.object, srq.id, "what it is about");
	}
	must_refuse_xrc(env, link, wr, IBV_WC_REM_OP_ERR, "from a dead queue");
}

PV_TEST("xrc.queue_goes", "a queue may go while targets could use it")
{
	XrcLink link = connect_xrc(env);
	Srq gone = must_srq(env, link.xrcd, link.b.recv_cq);

	must_post_srq(env.b, gone, {{1, {}}});
	REQUIRE_EQ(env.b.destroy(Kind::srq, gone.id), 0, "destroy");
	alive(env, link);
	must_refuse_xrc(env, link, to_srq(gone, make_wr(Op::send, {}, 0)),
			IBV_WC_REM_INV_REQ_ERR, "to what is gone");
}

PV_TEST("xrc.open", "a target that is opened again lives until both are closed")
{
	XrcLink link = connect_xrc(env);
	Qp again = env.b.open_qp(link.xrcd, link.b.qp.number);

	REQUIRE(!again.error, "open_qp: ", strerror(again.error));
	REQUIRE_EQ(again.number, link.b.qp.number, "number");
	QpState state = env.b.query(again.id, IBV_QP_STATE);
	REQUIRE_EQ(int(state.attr.qp_state), IBV_QPS_RTS, "its state");
	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "the first");
	link.b.qp = again;
	alive(env, link);
	REQUIRE_EQ(env.b.destroy(Kind::xrcd, link.xrcd), EBUSY,
		   "domain in use");
	REQUIRE_EQ(env.b.destroy(Kind::qp, again.id), 0, "the second");
	REQUIRE_EQ(env.b.open_qp(link.xrcd, again.number).error, EINVAL,
		   "it is gone");
}

PV_TEST("xrc.not_for_posting", "targets do not send, initiators do not receive")
{
	XrcLink link = connect_xrc(env);
	SendWr wr = to_srq(link.srq, make_wr(Op::send, {}, 0));

	REQUIRE(env.b.post_send(link.b.qp.id, {wr}).error, "target");
	REQUIRE(env.b.post_recv(link.b.qp.id, {{}}).error, "target");
	REQUIRE(env.a.post_recv(link.a.qp.id, {{}}).error, "initiator");
	alive(env, link);
}

PV_TEST_LOCAL("xrc.sizes",
	      "sizes of queues that an end does not have are ignored")
{
	Handle xrcd = must_domain(env.b);
	Cq cq = env.b.create_cq(16, false);
	QpSpec spec = {.send_cq = cq.id,
		       .recv_cq = cq.id,
		       .cap = {4, 0xffffffff, 1, 0xffffffff, 0},
		       .type = IBV_QPT_XRC_SEND};
	Qp qp = env.b.create_qp(spec);

	REQUIRE_EQ(qp.error, 0, "an initiator has no receives");
	REQUIRE_EQ(qp.cap.max_recv_wr, 0, "max_recv_wr");
	REQUIRE_EQ(qp.cap.max_recv_sge, 0, "max_recv_sge");
	spec.cap.max_send_wr = 0xffffffff;
	REQUIRE_EQ(env.b.create_qp(spec).error, EINVAL, "but it has sends");
	spec.cap = {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff};
	spec.type = IBV_QPT_XRC_RECV;
	spec.xrcd = xrcd;
	REQUIRE_EQ(env.b.create_qp(spec).error, 0, "a target has no queue");
}

PV_TEST("xrc.flush", "an initiator in Error flushes; a target has no receives")
{
	XrcLink link = connect_xrc(env);
	SendWr wr = to_srq(link.srq, make_wr(Op::send, {}, 0));

	must_post_srq(env.b, link.srq, {{1, {}}});
	to_state(link.a, IBV_QPS_ERR);
	to_state(link.b, IBV_QPS_ERR);
	must_send(env, link.a, wr, "flush", IBV_WC_WR_FLUSH_ERR);
	no_more(link.b, "the queue keeps its receives");
}

/* A target is in the list of a PD from its first use of a queue of that. */
PV_TEST_LOCAL("odp.xrc", "XRC: both ends' memory not there")
{
	XrcLink link = connect_xrc(env);
	Paged a(env.a), b(env.b);
	Moved faults(env.b, "odp_faults");
	const auto run = [&](ibv_wr_opcode opcode, size_t offset,
			     size_t length) {
		uint64_t id = post_xrc(link.a, link.srq.number, a, b, opcode,
				       offset, length);

		expect_send(env, link.a, id, "on demand");
	};

	for (size_t length : {size_t(100), 3 * page, paged_size - 1000})
		for (auto opcode :
		     {IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
			bool read = opcode == IBV_WR_RDMA_READ;
			uint64_t seed = env.seed();

			(read ? b : a).fill(seed, 1000, length);
			(read ? a : b).fill(1);
			if (opcode == IBV_WR_SEND)
				post_srq_recv(env.b, link.srq, b, 1000, length);
			run(opcode, 1000, length);
			if (opcode == IBV_WR_SEND)
				expect_recv(env, link.b, 0, "receive");
			(read ? a : b).must_hold(seed, 1000, length, "data");
			(read ? a : b).must_hold(1, 0, 1000, "before it");
		}
	must_add(a, b, [&] { run(IBV_WR_ATOMIC_FETCH_AND_ADD, 2 * page, 8); });
	REQUIRE(faults.by(), "no page was missing");
}
