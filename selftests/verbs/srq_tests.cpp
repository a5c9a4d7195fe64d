// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Shared receive queues: several queue pairs take from one, what they get, the
 * limit and last-WQE events, sizes at their edges, what is refused.
 */
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint32_t message_size = 3000; /* of a message and of a receive */

/* Receives number `first` and on, of `message_size` bytes each, one behind the other. */
std::vector<RecvWr> receives(const Mr &in, uint32_t first, uint32_t count)
{
	std::vector<RecvWr> wrs;

	for (uint32_t i = first; i < first + count; i++)
		wrs.push_back({i,
			       {{in.id, int64_t(i) * message_size, message_size,
				 0}}});
	return wrs;
}

/* A pair whose end B takes from `srq`. */
Link connect_srq(Env &env, const Srq &srq, LinkSpec spec = {})
{
	spec.srq_b = srq.id;
	return connect(env, spec);
}

SendWr send_of(const Mr &out, uint32_t index)
{
	return make_wr(Op::send, {out, int64_t(index) * message_size},
		       message_size);
}

/* One empty message across, for pairs whose receives are not looked at. */
void cross(Env &env, Link &link, const Srq &srq, uint64_t id)
{
	SendWr wr = make_wr(Op::send, {}, 0);

	must_post_srq(env.b, srq, {{id, {}}});
	must_send(env, link.a, wr, "send");
	expect_recv(env, link.b, id, "receive");
}

void no_event(Env &env, const char *when)
{
	AsyncEvent event = env.b.async_event(10);

	REQUIRE(event.type < 0, when, ": event ", event.type);
}

void shared_by_three(Env &env, ibv_qp_type type)
{
	constexpr uint32_t rounds = 8, pairs = 3, count = rounds * pairs;
	Srq srq = must_srq(env.b);
	LinkSpec spec = {.type = type, .cq_b = env.b.create_cq(256, false)};

	std::vector<Link> links;
	for (uint32_t i = 0; i < pairs; i++)
		links.push_back(connect_srq(env, srq, spec));
	uint64_t seed = env.seed();
	Mr out = must_reg(env.a, {count * message_size}, seed),
	   in = must_reg(env.b, {count * message_size}, 1);

	must_post_srq(env.b, srq, receives(in, 0, count));
	for (uint32_t i = 0; i < count; i++) {
		Link &link = links[i % pairs];

		must_send(env, link.a, send_of(out, i), "send");
		Wc wc = expect_recv(env, link.b, i, "WQEs are taken in order");
		REQUIRE_EQ(wc.qp_number, link.b.qp.number, "qp_num");
		REQUIRE_EQ(wc.byte_len, message_size, "byte_len");
	}
	must_match(env.b, in, 0, count * message_size, seed, 0, "all messages");
}

} // namespace

PV_TEST("srq.rc", "three RC pairs share a queue: data, wr_id, qp_num")
{
	shared_by_three(env, IBV_QPT_RC);
}

PV_TEST("srq.uc", "three UC pairs share a queue: data, wr_id, qp_num")
{
	shared_by_three(env, IBV_QPT_UC);
}

PV_TEST("srq.write_imm", "a write with immediate takes one of its WQEs")
{
	Srq srq = must_srq(env.b);
	Link link = connect_srq(env, srq);
	Mr out = must_reg(env.a, {message_size}, 5),
	   in = must_reg(env.b, {message_size});
	SendWr wr = make_wr(Op::write_imm, {out, 0}, message_size, {in, 0});

	must_post_srq(env.b, srq, {{0x1234567890abcdef, {}}});
	must_send(env, link.a, wr, "write");
	Wc wc = expect_recv(env, link.b, 0x1234567890abcdef, "receive");
	REQUIRE_EQ(wc.imm, wr.imm, "immediate data");
	must_match(env.b, in, 0, message_size, 5, 0, "data");
}

PV_TEST("srq.interleaved",
	"long messages of two pairs at once: each keeps to its own WQE")
{
	constexpr uint32_t length = 200000, each = 8;
	Srq srq = must_srq(env.b);
	LinkSpec spec = {.cq_b = env.b.create_cq(256, false)};
	Link one = connect_srq(env, srq, spec),
	     two = connect_srq(env, srq, spec);
	Mr out_one = must_reg(env.a, {length}, 11),
	   out_two = must_reg(env.a, {length}, 22);
	Mr in = must_reg(env.b, {2 * each * length});
	std::vector<RecvWr> recvs;

	for (uint32_t i = 0; i < 2 * each; i++)
		recvs.push_back({i, {{in.id, int64_t(i) * length, length, 0}}});
	must_post_srq(env.b, srq, recvs);
	for (uint32_t i = 0; i < each; i++) {
		must_post(one.a, make_wr(Op::send, {out_one, 0}, length));
		must_post(two.a, make_wr(Op::send, {out_two, 0}, length));
	}
	wait_completions(env, one.a, one.a.send_cq, each, "sends of one");
	wait_completions(env, two.a, two.a.send_cq, each, "sends of two");
	for (const Wc &wc :
	     wait_completions(env, one.b, spec.cq_b, 2 * each, "receives")) {
		REQUIRE_EQ(int(wc.status), IBV_WC_SUCCESS, "receive ", wc.id);
		must_match(env.b, in, int64_t(wc.id) * length, length,
			   wc.qp_number == one.b.qp.number ? 11 : 22, 0,
			   "message");
	}
}

PV_TEST("srq.wraps", "a small queue used 300 times over")
{
	Srq srq = must_srq(env.b, {.max_wr = 4});
	Link link = connect_srq(env, srq);
	Mr out = must_reg(env.a, {message_size}),
	   in = must_reg(env.b, {message_size});

	for (uint32_t i = 0; i < 300; i++) {
		uint64_t seed = env.seed();
		SendWr wr = send_of(out, 0);

		env.a.fill(out.id, 0, message_size, seed, 0);
		must_post_srq(env.b, srq, {{i, {{in.id, 0, message_size, 0}}}});
		must_send(env, link.a, wr, "send");
		expect_recv(env, link.b, i, "receive");
		must_match(env.b, in, 0, message_size, seed, 0, "message");
	}
}

PV_TEST("srq.rnr", "an empty queue: senders wait, and go on when it is filled")
{
	Srq srq = must_srq(env.b);
	LinkSpec spec = {.cq_b = env.b.create_cq(64, false)};
	Link one = connect_srq(env, srq, spec),
	     two = connect_srq(env, srq, spec);
	SendWr wr_one = make_wr(Op::send, {}, 0),
	       wr_two = make_wr(Op::send, {}, 0);

	must_post(one.a, wr_one);
	must_post(two.a, wr_two);
	none_sent(one.a, 20, "nothing posted");
	must_post_srq(env.b, srq, {{1, {}}, {2, {}}});
	expect_send(env, one.a, wr_one.id, "one");
	expect_send(env, two.a, wr_two.id, "two");
	wait_completions(env, one.b, spec.cq_b, 2, "receives");
}

PV_TEST("srq.full", "as many WQEs as it said fit, and not one more")
{
	Srq srq = must_srq(env.b);
	Link link = connect_srq(env, srq);
	std::vector<RecvWr> wrs(srq.max_wr + 1);

	REQUIRE(srq.max_wr >= SrqSpec().max_wr, "max_wr ", srq.max_wr);
	PostResult result = env.b.post_srq(srq.id, wrs);
	REQUIRE_EQ(result.error, ENOMEM, "one more");
	REQUIRE_EQ(result.bad_index, int(srq.max_wr), "bad_wr");
	must_post(link.a, make_wr(Op::send, {}, 0));
	wait_recv(env, link.b, "receive");
	must_post_srq(env.b, srq, {{}});
	REQUIRE_EQ(env.b.post_srq(srq.id, {{}}).error, ENOMEM, "full again");
}

PV_TEST("srq.sizes", "sizes at the limits of the device and beyond")
{
	const ibv_device_attr &can = env.info_b.device;
	SrqSpec spec = {.max_wr = uint32_t(can.max_srq_wr),
			.max_sge = uint32_t(can.max_srq_sge)};
	Srq srq = must_srq(env.b, spec);
	REQUIRE(srq.max_wr >= spec.max_wr && srq.max_sge >= spec.max_sge,
		"less than was asked for");
	SrqState state = env.b.query_srq(srq.id);
	REQUIRE_EQ(state.error, 0, "query");
	REQUIRE_EQ(state.attr.max_wr, srq.max_wr, "query: max_wr");
	REQUIRE_EQ(state.attr.max_sge, srq.max_sge, "query: max_sge");
	REQUIRE_EQ(state.attr.srq_limit, 0, "query: limit");

	spec.max_wr++;
	REQUIRE_EQ(env.b.create_srq(spec).error, EINVAL, "max_wr + 1");
	spec.max_wr = 4;
	spec.max_sge++;
	REQUIRE_EQ(env.b.create_srq(spec).error, EINVAL, "max_sge + 1");
	spec.max_wr = 0;
	spec.max_sge = 1;
	REQUIRE_EQ(env.b.create_srq(spec).error, EINVAL, "no WQE at all");
}

PV_TEST("srq.scatter", "as many entries as it has, one too many is refused")
{
	Srq srq = must_srq(env.b, {.max_sge = 7});
	Link link = connect_srq(env, srq);
	Mr out = must_reg(env.a, {message_size}, 5),
	   in = must_reg(env.b, {2 * message_size}, 6);
	RecvWr recv;

	/* from the back to the front, with holes */
	for (uint32_t i = 0; i < srq.max_sge; i++)
		recv.sges.push_back({in.id, 5500 - int64_t(i) * 800, 450, 0});
	must_post_srq(env.b, srq, {recv});
	recv.sges.push_back({in.id, 0, 1, 0});
	REQUIRE_EQ(env.b.post_srq(srq.id, {recv}).error, EINVAL, "one more");
	must_post(link.a, send_of(out, 0));
	REQUIRE_EQ(wait_recv(env, link.b, "receive").byte_len, message_size,
		   "length");
	for (uint32_t i = 0; i < 7; i++) {
		uint32_t part = std::min(450u, message_size - i * 450);

		must_match(env.b, in, 5500 - int64_t(i) * 800, part, 5, i * 450,
			   "part");
		must_match(env.b, in, 5500 - int64_t(i) * 800 + part, 1, 6,
			   5500 - i * 800 + part, "hole");
	}
}

PV_TEST("srq.limit", "the limit event: once, when fewer are left, and anew")
{
	Srq srq = must_srq(env.b);
	Link link = connect_srq(env, srq);
	ibv_srq_attr attr = {};

	must_post_srq(env.b, srq, std::vector<RecvWr>(10));
	for (int round = 0; round < 2; round++) {
		attr.srq_limit = 8 - uint32_t(round) * 4;
		REQUIRE_EQ(env.b.modify_srq(srq.id, attr, IBV_SRQ_LIMIT), 0,
			   "arm");
		REQUIRE_EQ(env.b.query_srq(srq.id).attr.srq_limit,
			   attr.srq_limit, "query");
		for (int i = 0; i < 4; i++) {
			must_post(link.a, make_wr(Op::send, {}, 0));
			wait_recv(env, link.b, "receive");
			if (i == 1)
				no_event(env, "as many as the limit are left");
			if (i == 2)
				must_event(env, env.b,
					   IBV_EVENT_SRQ_LIMIT_REACHED, srq.id);
		}
		no_event(env, "told once");
		REQUIRE_EQ(env.b.query_srq(srq.id).attr.srq_limit, 0,
			   "not armed any more");
	}
}

PV_TEST("srq.limit_edges", "limits that cannot be, or are undercut already")
{
	Srq srq = must_srq(env.b);
	ibv_srq_attr attr = {.srq_limit = srq.max_wr + 1};

	REQUIRE_EQ(env.b.modify_srq(srq.id, attr, IBV_SRQ_LIMIT), EINVAL,
		   "more than it holds");
	no_event(env, "nothing armed");
	must_post_srq(env.b, srq, std::vector<RecvWr>(3));
	attr.srq_limit = 3;
	REQUIRE_EQ(env.b.modify_srq(srq.id, attr, IBV_SRQ_LIMIT), 0, "arm");
	no_event(env, "three are there");
	attr.srq_limit = 0;
	REQUIRE_EQ(env.b.modify_srq(srq.id, attr, IBV_SRQ_LIMIT), 0, "disarm");
	no_event(env, "disarmed");
}

PV_TEST("srq.last_wqe",
	"a pair in Error says that it takes nothing more; others go on")
{
	Srq srq = must_srq(env.b);
	Link gone = connect_srq(env, srq), stays = connect_srq(env, srq);

	cross(env, gone, srq, 1);
	must_post_srq(env.b, srq, {{2, {}}});
	to_state(gone.b, IBV_QPS_ERR);
	must_event(env, env.b, IBV_EVENT_QP_LAST_WQE_REACHED, gone.b.qp.id);
	no_event(env, "told once");
	no_more(gone.b, "its WQEs are not flushed");
	must_post(stays.a, make_wr(Op::send, {}, 0));
	expect_recv(env, stays.b, 2, "the other pair");
	wait_send(env, stays.a, "send");
	cross(env, stays, srq, 3);
}

PV_TEST("srq.bad_wqe", "a bad key in a WQE harms the pair that took it alone")
{
	Srq srq = must_srq(env.b);
	Link hit = connect_srq(env, srq), other = connect_srq(env, srq);
	Mr out = must_reg(env.a, {message_size}),
	   in = must_reg(env.b, {message_size});

	env.expect_async();
	must_post_srq(env.b, srq, {{7, {{in.id, 0, message_size, 0x100}}}});
	must_post(hit.a, send_of(out, 0));
	expect_recv(env, hit.b, 7, "receive", IBV_WC_LOC_PROT_ERR);
	REQUIRE_EQ(wait_send(env, hit.a, "send").status, IBV_WC_REM_OP_ERR,
		   "send");
	wait_state(env, hit.b, IBV_QPS_ERR);
	cross(env, other, srq, 8);
}

PV_TEST("srq.too_small", "a WQE that is too small fails the message")
{
	Srq srq = must_srq(env.b);
	Link link = connect_srq(env, srq);
	Mr out = must_reg(env.a, {message_size}),
	   in = must_reg(env.b, {message_size});

	env.expect_async();
	must_post_srq(env.b, srq, {{7, {{in.id, 0, message_size - 1, 0}}}});
	must_post(link.a, send_of(out, 0));
	expect_recv(env, link.b, 7, "receive", IBV_WC_LOC_LEN_ERR);
	REQUIRE_EQ(wait_send(env, link.a, "send").status,
		   IBV_WC_REM_INV_REQ_ERR, "send");
}

PV_TEST_LOCAL(
	"srq.too_small_uc",
	"without acknowledgments the message is dropped, the pair keeps the WQE")
{
	constexpr uint32_t room = message_size - 1;
	Srq srq = must_srq(env.b);
	LinkSpec spec = {.type = IBV_QPT_UC};
	Link hit = connect_srq(env, srq, spec),
	     other = connect_srq(env, srq, spec);
	Mr out = must_reg(env.a, {message_size}, 5),
	   in = must_reg(env.b, {2 * message_size}, 1);
	SendWr fits = make_wr(Op::send, {out, 1}, room);

	must_post_srq(env.b, srq, {{7, {{in.id, 0, room, 0}}}});
	for (int i = 0; i < 2; i++)
		must_send(env, hit.a, send_of(out, 0), "long send");
	must_send(env, hit.a, fits, "short send");
	expect_recv(env, hit.b, 7, "receive");
	must_match(env.b, in, 0, room, 5, 1, "message that fits");
	must_match(env.b, in, room, 2 * message_size - room, 1, room,
		   "memory behind it");
	cross(env, other, srq, 8);
	cross(env, hit, srq, 9);
}

PV_TEST("srq.pd", "keys in its WQEs are those of its own protection domain")
{
	MrSpec mr = {.length = message_size, .pd = env.b.alloc_pd().id};
	Srq srq = must_srq(env.b, {.pd = mr.pd});
	Link link = connect_srq(env, srq);
	Mr out = must_reg(env.a, {message_size}, 5), ours = must_reg(env.b, mr),
	   of_qp = must_reg(env.b, {message_size});

	env.expect_async();
	must_post_srq(env.b, srq,
		      {{1, {{ours.id, 0, message_size, 0}}},
		       {2, {{of_qp.id, 0, message_size, 0}}}});
	must_post(link.a, send_of(out, 0));
	expect_recv(env, link.b, 1, "first");
	must_match(env.b, ours, 0, message_size, 5, 0, "message");
	must_post(link.a, send_of(out, 0));
	expect_recv(env, link.b, 2, "a key of the QP's domain",
		    IBV_WC_LOC_PROT_ERR);
}

PV_TEST_LOCAL("srq.own_size",
	      "the size of a receive queue that a pair does not have is ignored")
{
	Srq srq = must_srq(env.b);
	Cq cq = env.b.create_cq(16, false);
	const uint32_t most = env.info_b.device.max_qp_wr;
	const ibv_qp_cap caps[] = {{4, most + 1, 1, 1, 0},
				   {4, 1, 1, 0xffffffff, 0},
				   {4, 0xffffffff, 1, 0xffffffff, 0}};

	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD})
		for (const ibv_qp_cap &cap : caps) {
			Qp qp = env.b.create_qp({.send_cq = cq.id,
						 .recv_cq = cq.id,
						 .cap = cap,
						 .type = type,
						 .srq = srq.id});
			REQUIRE_EQ(qp.error, 0, "receives ", cap.max_recv_wr,
				   " of ", cap.max_recv_sge);
			REQUIRE_EQ(qp.cap.max_recv_wr, 0, "max_recv_wr");
			REQUIRE_EQ(qp.cap.max_recv_sge, 0, "max_recv_sge");
			QpState state = env.b.query(qp.id, IBV_QP_CAP);
			REQUIRE_EQ(state.cap.max_recv_wr, 0, "query");
		}
}

PV_TEST("srq.refused",
	"what a pair with a shared queue does not take, and more")
{
	Srq srq = must_srq(env.b);
	Link link = connect_srq(env, srq);
	ibv_srq_attr attr = {};

	REQUIRE(env.b.post_recv(link.b.qp.id, {{}}).error,
		"a receive posted to the pair itself");
	REQUIRE_EQ(env.b.destroy(Kind::srq, srq.id), EBUSY, "in use");
	if (!(env.info_b.device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE)) {
		attr.max_wr = srq.max_wr * 2;
		REQUIRE(env.b.modify_srq(srq.id, attr, IBV_SRQ_MAX_WR),
			"resized without the capability");
		REQUIRE_EQ(env.b.query_srq(srq.id).attr.max_wr, srq.max_wr,
			   "max_wr");
	}
	cross(env, link, srq, 4);
	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "QP");
	REQUIRE_EQ(env.b.destroy(Kind::srq, srq.id), 0, "then the SRQ");
}

PV_TEST("srq.reset", "a pair that is reset and connected again goes on")
{
	Srq srq = must_srq(env.b);
	Link link = connect_srq(env, srq);

	for (uint64_t i = 0; i < 3; i++) {
		cross(env, link, srq, i);
		reconnect(link);
	}
}
