// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Requests put together by calls: ibv_wr_start() .. ibv_wr_complete().
 */
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include <arpa/inet.h>

#include "link.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t rc_ops =
	IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
	IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
	IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;

LinkSpec ex_spec(uint64_t ops = rc_ops)
{
	LinkSpec spec = {.cap = {16, 16, 4, 4, 100}, .send_ops = ops};

	return spec;
}

ibv_qp_ex *ex_of(const Side &side)
{
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(local(*side.host).raw_qp(side.qp.id));

	REQUIRE(ex, "not an extended QP");
	return ex;
}

void start(ibv_qp_ex *ex, uint64_t id, unsigned flags = IBV_SEND_SIGNALED)
{
	ibv_wr_start(ex);
	ex->wr_id = id;
	ex->wr_flags = flags;
}

void set(ibv_qp_ex *ex, const Mr &mr, uint64_t offset, uint32_t length)
{
	ibv_wr_set_sge(ex, mr.lkey, mr.address + offset, length);
}

/* An empty send goes through: the queue works. */
void prove_sending(Env &env, Link &link, uint64_t id)
{
	ibv_qp_ex *ex = ex_of(link.a);

	must_post(link.b, RecvWr{id, {}});
	start(ex, id);
	ibv_wr_send(ex);
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	expect_send(env, link.a, id, "send");
	expect_recv(env, link.b, id, "receive");
}

int error_of(Host &host, ibv_qp_type type, uint64_t ops)
{
	Cq cq = host.create_cq(4, false);
	QpSpec spec;

	spec.send_cq = spec.recv_cq = cq.id;
	spec.cap = {4, 4, 1, 1, 0};
	spec.type = type;
	spec.send_ops = ops;
	Qp qp = host.create_qp(spec);
	if (!qp.error)
		REQUIRE_EQ(host.destroy(Kind::qp, qp.id), 0);
	REQUIRE_EQ(host.destroy(Kind::cq, cq.id), 0);
	return qp.error;
}

/* Seven requests, one of each kind; ids count from 1. */
void post_chain(ibv_qp_ex *ex, const Mr &out, const Mr &in)
{
	start(ex, 1);
	ibv_wr_rdma_write(ex, in.rkey, in.address);
	set(ex, out, 0, 100);
	ex->wr_id = 2;
	ibv_wr_send(ex);
	set(ex, out, 200, 100);
	ex->wr_id = 3;
	ibv_wr_send_imm(ex, htonl(0x11223344));
	set(ex, out, 300, 50);
	ex->wr_id = 4;
	ibv_wr_rdma_write_imm(ex, in.rkey, in.address + 512, htonl(99));
	set(ex, out, 400, 64);
	ex->wr_id = 5;
	ibv_wr_rdma_read(ex, in.rkey, in.address + 3000);
	set(ex, out, 3000, 500);
	ex->wr_id = 6;
	ibv_wr_atomic_cmp_swp(ex, in.rkey, in.address + 2048, 40, 41);
	set(ex, out, 2048, 8);
	ex->wr_id = 7;
	ibv_wr_atomic_fetch_add(ex, in.rkey, in.address + 2056, 5);
	set(ex, out, 2056, 8);
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
}

void chain_completes(Env &env, Link &link)
{
	static const ibv_wc_opcode opcodes[] = {
		IBV_WC_RDMA_WRITE, IBV_WC_SEND,	     IBV_WC_SEND,
		IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP,
		IBV_WC_FETCH_ADD};
	uint64_t id = 1;

	for (const Wc &wc :
	     wait_completions(env, link.a, link.a.send_cq, 7, "the chain")) {
		check_wc(wc, id, IBV_WC_SUCCESS, "of the chain");
		REQUIRE_EQ(int(wc.opcode), int(opcodes[id - 1]), id);
		id++;
	}
}

/* The three of them that take a receive. */
void chain_arrives(Env &env, Link &link)
{
	std::vector<Wc> received =
		wait_completions(env, link.b, link.b.recv_cq, 3, "receives");
	REQUIRE_EQ(received[0].byte_len, 100u);
	REQUIRE_EQ(received[1].byte_len, 50u);
	REQUIRE_EQ(received[1].imm, 0x11223344u);
	REQUIRE_EQ(received[2].imm, 99u);
	REQUIRE_EQ(int(received[2].opcode), int(IBV_WC_RECV_RDMA_WITH_IMM));
}

} // namespace

PV_TEST_LOCAL("qpex.all_in_a_chain",
	      "one chain with every operation: order, data, completions")
{
	Link link = connect(env, ex_spec());
	Mr out = must_reg(env.a, {4096}, 1), in = must_reg(env.b, {4096}, 2);
	ibv_qp_ex *ex = ex_of(link.a);

	env.b.store(in.id, 2048, 40);
	env.b.store(in.id, 2056, 7);
	must_post(link.b, std::vector<RecvWr>{{20, {{in.id, 1024, 100, 0}}},
					      {21, {{in.id, 1200, 100, 0}}},
					      {22, {}}});
	post_chain(ex, out, in);
	chain_completes(env, link);
	chain_arrives(env, link);
	must_match(env.b, in, 0, 100, 1, 0, "written");
	must_match(env.b, in, 1024, 100, 1, 200, "sent");
	must_match(env.b, in, 1200, 50, 1, 300, "sent with immediate");
	must_match(env.b, in, 512, 64, 1, 400, "written with immediate");
	must_match(env.a, out, 3000, 500, 2, 3000, "read");
	REQUIRE_EQ(env.a.load(out.id, 2048), 40u, "before the swap");
	REQUIRE_EQ(env.b.load(in.id, 2048), 41u, "after the swap");
	REQUIRE_EQ(env.a.load(out.id, 2056), 7u, "before the addition");
	REQUIRE_EQ(env.b.load(in.id, 2056), 12u, "after the addition");
	no_more(link.a, "the chain");
}

PV_TEST_LOCAL("qpex.inline",
	      "inline data is taken during the call, from one place or several")
{
	Link link = connect(env, ex_spec());
	Mr in = must_reg(env.b, {256});
	ibv_qp_ex *ex = ex_of(link.a);
	char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	ibv_data_buf pieces[] = {{text, 3}, {text, 0}, {text + 10, 26}};
	uint8_t *at = local(env.b).memory(in.id);

	memset(at, 0, 256);
	start(ex, 1);
	ibv_wr_rdma_write(ex, in.rkey, in.address);
	ibv_wr_set_inline_data(ex, text, 36);
	ibv_wr_rdma_write(ex, in.rkey, in.address + 100);
	ibv_wr_set_inline_data_list(ex, 3, pieces);
	ibv_wr_rdma_write(ex, in.rkey, in.address + 200);
	ibv_wr_set_inline_data(ex, text, 0);
	memset(text, 'x', sizeof(text));
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	wait_completions(env, link.a, link.a.send_cq, 3, "inline writes");
	REQUIRE(!memcmp(at, "0123456789abcdefghijklmnopqrstuvwxyz\0", 37));
	REQUIRE(!memcmp(at + 100, "012abcdefghijklmnopqrstuvwxyz\0", 30));
	REQUIRE_EQ(int(at[200]), 0, "nothing was to be written there");
}

PV_TEST_LOCAL("qpex.sge_list", "entries are gathered, the last list counts")
{
	Link link = connect(env, ex_spec());
	Mr out = must_reg(env.a, {1000}), in = must_reg(env.b, {1000});
	ibv_qp_ex *ex = ex_of(link.a);
	ibv_sge list[] = {{out.address, 10, out.lkey},
			  {out.address + 500, 0, 0},
			  {out.address + 10, 200, out.lkey},
			  {out.address + 210, 3, out.lkey}};

	env.a.fill(out.id, 0, 1000, 5, 0);
	start(ex, 1);
	ibv_wr_rdma_write(ex, in.rkey, in.address);
	set(ex, out, 700, 20);
	ibv_wr_set_sge_list(ex, 4, list);
	memset(list, 0xff, sizeof(list));
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	expect_send(env, link.a, 1, "write");
	must_match(env.b, in, 0, 213, 5, 0, "gathered");
}

PV_TEST_LOCAL("qpex.abort", "an aborted chain was never there")
{
	Link link = connect(env, ex_spec());
	Mr out = must_reg(env.a, {64}, 1), in = must_reg(env.b, {64}, 2);
	ibv_qp_ex *ex = ex_of(link.a);

	for (uint64_t i = 0; i < 40; i++) {
		start(ex, i);
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		set(ex, out, 0, 64);
		ibv_wr_send(ex);
		ibv_wr_abort(ex);
	}
	start(ex, 0);
	REQUIRE_EQ(ibv_wr_complete(ex), 0, "an empty chain");
	prove_sending(env, link, 77);
	must_match(env.b, in, 0, 64, 2, 0, "what was not written");
	no_more(link.a, "aborted requests");
}

PV_TEST_LOCAL("qpex.all_or_nothing",
	      "with anything wrong in it a chain is refused and not posted")
{
	Link link = connect(env, ex_spec());
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64});
	ibv_qp_ex *ex = ex_of(link.a);
	ibv_sge list[5] = {};
	uint32_t room = link.a.qp.cap.max_inline_data;
	std::string text(room + 1, 0);
	std::function<void()> wrongs[] = {
		[&] { ibv_wr_set_sge_list(ex, 5, list); },
		[&] { ibv_wr_set_inline_data(ex, text.data(), room + 1); },
		[&] {
			ibv_data_buf two[] = {{text.data(), 60},
					      {text.data(), room - 59}};

			ibv_wr_set_inline_data_list(ex, 2, two);
		},
		[&] {
			ibv_wr_rdma_read(ex, in.rkey, in.address);
			ibv_wr_set_inline_data(ex, text.data(), 8);
		},
		[&] { ibv_wr_set_ud_addr(ex, nullptr, 1, 1); },
		[&] { ibv_wr_set_xrc_srqn(ex, 1); },
	};

	env.b.fill(in.id, 0, 64, 2, 0);
	for (size_t i = 0; i < std::size(wrongs); i++) {
		start(ex, 1);
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		set(ex, out, 0, 64);
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		wrongs[i]();
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		set(ex, out, 0, 64);
		REQUIRE_EQ(ibv_wr_complete(ex), EINVAL, "wrong ", i);
		prove_sending(env, link, i);
	}
	start(ex, 1);
	ibv_wr_set_sge(ex, 0, 0, 0);
	REQUIRE_EQ(ibv_wr_complete(ex), EINVAL, "data of no request");
	must_match(env.b, in, 0, 64, 2, 0, "what was not written");
}

PV_TEST_LOCAL("qpex.full", "a chain longer than the queue is ENOMEM")
{
	Link link = connect(env, ex_spec());
	ibv_qp_ex *ex = ex_of(link.a);
	uint32_t room = link.a.qp.cap.max_send_wr;
	Mr in = must_reg(env.b, {64});

	for (uint32_t count : {room + 1, 1000u}) {
		start(ex, 1);
		for (uint32_t i = 0; i < count; i++)
			ibv_wr_rdma_write(ex, in.rkey, in.address);
		REQUIRE_EQ(ibv_wr_complete(ex), ENOMEM, count);
		no_more(link.a, "a chain that was refused");
	}
	start(ex, 1);
	for (uint32_t i = 0; i < room; i++)
		ibv_wr_rdma_write(ex, in.rkey, in.address);
	REQUIRE_EQ(ibv_wr_complete(ex), 0, "as many as there is room for");
	wait_completions(env, link.a, link.a.send_cq, room, "writes");
}

PV_TEST_LOCAL("qpex.states",
	      "requests are refused where sending is not allowed")
{
	Link link = make_link(env, ex_spec());
	ibv_qp_ex *ex = ex_of(link.a);

	start(ex, 1);
	ibv_wr_send(ex);
	REQUIRE_EQ(ibv_wr_complete(ex), EINVAL, "in RESET");
	bring_up(link);
	prove_sending(env, link, 1);
	env.expect_async();
	to_state(link.a, IBV_QPS_ERR);
	start(ex, 2);
	ibv_wr_send(ex);
	REQUIRE_EQ(ibv_wr_complete(ex), 0, "in Error");
	expect_send(env, link.a, 2, "flushed", IBV_WC_WR_FLUSH_ERR);
}

PV_TEST_LOCAL("qpex.flags",
	      "unsignalled requests complete silently; both ways to post mix")
{
	Link link = connect(env, ex_spec());
	Mr in = must_reg(env.b, {64});
	ibv_qp_ex *ex = ex_of(link.a);

	for (uint64_t round = 0; round < 20; round++) {
		start(ex, 1, 0);
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		ex->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
		ex->wr_id = 100 + round;
		ibv_wr_rdma_write(ex, in.rkey, in.address);
		REQUIRE_EQ(ibv_wr_complete(ex), 0);
		expect_send(env, link.a, 100 + round, "write");

		SendWr wr = make_wr(Op::write, {}, 0, {in, 0});

		wr.id = round;
		must_post(link.a, wr);
		expect_send(env, link.a, round, "ibv_post_send");
	}
	no_more(link.a, "unsignalled ones");
}

PV_TEST_LOCAL("qpex.refused", "operations that a service has not are refused")
{
	REQUIRE_EQ(error_of(env.a, IBV_QPT_RC, rc_ops), 0);
	REQUIRE_EQ(error_of(env.a, IBV_QPT_RC, 0), 0, "no operation at all");
	REQUIRE_EQ(error_of(env.a, IBV_QPT_UD,
			    IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM),
		   0);
	REQUIRE_EQ(error_of(env.a, IBV_QPT_RC, IBV_QP_EX_WITH_TSO), EOPNOTSUPP);
	REQUIRE_EQ(error_of(env.a, IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE),
		   EOPNOTSUPP);
	REQUIRE_EQ(error_of(env.a, IBV_QPT_UD, IBV_QP_EX_WITH_BIND_MW),
		   EOPNOTSUPP);
	REQUIRE_EQ(error_of(env.a, IBV_QPT_RC, 1ull << 40), EOPNOTSUPP);
	Link plain = make_link(env);
	REQUIRE(!ibv_qp_to_qp_ex(local(env.a).raw_qp(plain.a.qp.id)),
		"a QP that was not made for it");
}

PV_TEST_LOCAL("qpex.window",
	      "a window is bound, used and invalidated by requests of a chain")
{
	LinkSpec spec = ex_spec(rc_ops | IBV_QP_EX_WITH_BIND_MW |
				IBV_QP_EX_WITH_LOCAL_INV |
				IBV_QP_EX_WITH_SEND_WITH_INV);
	Link link = connect(env, spec);
	Mr out = must_reg(env.a, {64}, 3);
	Mr in = must_reg(env.b, {256, 0, all_access | IBV_ACCESS_MW_BIND});
	ibv_mw *mw = ibv_alloc_mw(local(env.b).raw_pd(0), IBV_MW_TYPE_2);
	REQUIRE(mw, "ibv_alloc_mw: ", errno);
	std::unique_ptr<ibv_mw, int (*)(ibv_mw *)> owner(mw, ibv_dealloc_mw);
	uint32_t rkey = ibv_inc_rkey(mw->rkey);
	ibv_qp_ex *a = ex_of(link.a), *b = ex_of(link.b);
	ibv_mr mr = {.lkey = in.lkey};
	ibv_mw_bind_info info = {.mr = &mr,
				 .addr = in.address + 64,
				 .length = 64,
				 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};

	start(b, 1);
	ibv_wr_bind_mw(b, mw, rkey, &info);
	REQUIRE_EQ(ibv_wr_complete(b), 0);
	expect_send(env, link.b, 1, "bind");

	must_post(link.b, RecvWr{9, {}});
	start(a, 2);
	ibv_wr_rdma_write(a, rkey, in.address + 64);
	set(a, out, 0, 64);
	ibv_wr_send_inv(a, rkey);
	REQUIRE_EQ(ibv_wr_complete(a), 0);
	wait_completions(env, link.a, link.a.send_cq, 2, "write and send");
	Wc received = wait_recv(env, link.b, "receive");
	REQUIRE(received.flags & IBV_WC_WITH_INV, "flags ", received.flags);
	must_match(env.b, in, 64, 64, 3, 0, "through the window");

	/* bound anew and taken back at this end */
	uint32_t second = ibv_inc_rkey(rkey);

	start(b, 3);
	ibv_wr_bind_mw(b, mw, second, &info);
	ibv_wr_local_inv(b, second);
	REQUIRE_EQ(ibv_wr_complete(b), 0);
	wait_completions(env, link.b, link.b.send_cq, 2, "bind, invalidate");
	env.expect_async();
	start(a, 4);
	ibv_wr_rdma_write(a, second, in.address + 64);
	set(a, out, 0, 64);
	REQUIRE_EQ(ibv_wr_complete(a), 0);
	expect_send(env, link.a, 4, "through an invalid window",
		    IBV_WC_REM_ACCESS_ERR);
}

PV_TEST_LOCAL("qpex.threads", "chains of two threads do not mix")
{
	LinkSpec spec = ex_spec();

	spec.cap.max_send_wr = 64;
	Link link = connect(env, spec);
	Mr in = must_reg(env.b, {64});
	ibv_qp_ex *ex = ex_of(link.a);
	constexpr uint64_t chains = 300, length = 3;
	std::atomic<int> error = 0;
	auto post = [&](uint64_t base) {
		for (uint64_t i = 0; i < chains && !error;) {
			start(ex, base + i * length);
			for (uint64_t j = 0; j < length; j++) {
				ex->wr_id = base + i * length + j;
				ibv_wr_rdma_write(ex, in.rkey, in.address);
			}
			int result = ibv_wr_complete(ex);

			if (!result)
				i++;
			else if (result != ENOMEM)
				error = result;
			else
				std::this_thread::yield();
		}
	};
	std::thread first(post, 0), second(post, 1000000);
	uint64_t next[2] = {0, 1000000}, in_chain = 0, last = 0;
	std::string what;

	try {
		for (uint64_t seen = 0; seen < 2 * chains * length; seen++) {
			Wc wc = wait_send(env, link.a, "write");
			uint64_t &want = next[wc.id >= 1000000];

			REQUIRE_EQ(wc.id, want, "order");
			REQUIRE(in_chain % length == 0 || wc.id == last + 1,
				"two chains are mixed");
			last = wc.id;
			in_chain++;
			want++;
		}
	} catch (const std::exception &failure) {
		what = failure.what();
		error = EIO;
	}
	first.join();
	second.join();
	REQUIRE(what.empty(), what);
	REQUIRE_EQ(error.load(), 0, "ibv_wr_complete");
}

PV_TEST_LOCAL("qpex.atomic_write",
	      "eight bytes at once, in order with reads, writes and atomics")
{
	LinkSpec spec = ex_spec(rc_ops | IBV_QP_EX_WITH_ATOMIC_WRITE);
	Link link = connect(env, spec);
	Mr out = must_reg(env.a, {64});
	Mr in = must_reg(env.b,
			 {64, 0,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ},
			 2);
	ibv_qp_ex *ex = ex_of(link.a);

	for (uint64_t i = 0; i < 50; i++) {
		uint64_t value = 0x0102030405060708 * (i + 1);
		uint64_t second = ~value;

		start(ex, i, 0);
		ibv_wr_atomic_write(ex, in.rkey, in.address + 8, &value);
		ibv_wr_rdma_read(ex, in.rkey, in.address + 8);
		set(ex, out, 0, 8);
		ibv_wr_atomic_write(ex, in.rkey, in.address + 8, &second);
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(ex, in.rkey, in.address + 24);
		ibv_wr_set_inline_data(ex, &value, 8);
		value = 0;
		REQUIRE_EQ(ibv_wr_complete(ex), 0);
		expect_send(env, link.a, i, "write");
		value = 0x0102030405060708 * (i + 1);
		REQUIRE_EQ(env.a.load(out.id, 0), value, "read in between");
		REQUIRE_EQ(env.b.load(in.id, 8), second, "written last");
		REQUIRE_EQ(env.b.load(in.id, 24), value);
	}
	must_match(env.b, in, 0, 8, 2, 0, "before it");
	must_match(env.b, in, 16, 8, 2, 16, "behind it");
	start(ex, 1);
	ibv_wr_atomic_write(ex, in.rkey, in.address + 8, "12345678");
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	Wc wc = expect_send(env, link.a, 1, "atomic write");
	REQUIRE_EQ(int(wc.opcode), int(IBV_WC_ATOMIC_WRITE));

	/* only whole words, and only with the right to write */
	start(ex, 2);
	ibv_wr_atomic_write(ex, in.rkey, in.address, "12345678");
	ibv_wr_set_inline_data(ex, &wc, 4);
	REQUIRE_EQ(ibv_wr_complete(ex), EINVAL, "half a word");
	env.expect_async();
	start(ex, 3);
	ibv_wr_atomic_write(ex, in.rkey, in.address + 4, "12345678");
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	expect_send(env, link.a, 3, "not aligned", IBV_WC_REM_INV_REQ_ERR);
	must_match(env.b, in, 0, 8, 2, 0, "after the refused one");
}

PV_TEST_LOCAL("qpex.atomic_write_rights",
	      "an atomic write needs the right to write remotely")
{
	LinkSpec spec = ex_spec(rc_ops | IBV_QP_EX_WITH_ATOMIC_WRITE);
	Link link = connect(env, spec);
	Mr in = must_reg(env.b,
			 {64, 0,
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				  IBV_ACCESS_REMOTE_ATOMIC},
			 2);
	ibv_qp_ex *ex = ex_of(link.a);

	env.expect_async();
	start(ex, 3);
	ibv_wr_atomic_write(ex, in.rkey, in.address, "12345678");
	REQUIRE_EQ(ibv_wr_complete(ex), 0);
	expect_send(env, link.a, 3, "refused", IBV_WC_REM_ACCESS_ERR);
	must_match(env.b, in, 0, 64, 2, 0, "refused");
}
