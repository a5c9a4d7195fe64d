// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * RDMA FLUSH between two adapters (IBA 1.6), by pavodv_wr_flush(), and by ibv_wr_flush() where
 * libibverbs has it. Kernels without the right to flush a region have no test but the refusal.
 */
#include <cerrno>

#include <pavo/extended.hpp>

#include "ext.h"
#include "pavo_dv.h"
#include "tap.h"

using namespace pv;

namespace {

/* Newer verbs have names for these. */
constexpr unsigned flush_global = PAVODV_ACCESS_FLUSH_GLOBAL;
constexpr unsigned flush_persistent = PAVODV_ACCESS_FLUSH_PERSISTENT;
constexpr uint64_t can_flush_global = 1ull << 38;

constexpr unsigned reads_and_writes = IBV_ACCESS_LOCAL_WRITE |
				      IBV_ACCESS_REMOTE_WRITE |
				      IBV_ACCESS_REMOTE_READ;

uint64_t capabilities(Host &host)
{
	ibv_device_attr_ex attr = {};

	REQUIRE_EQ(ibv_query_device_ex(local(host).context(), nullptr, &attr),
		   0, "query_device_ex");
	return attr.device_cap_flags_ex;
}

/* A link whose queue pairs allow to flush, and a region at B that allows @more. */
struct Flushed {
	explicit Flushed(Env &env, unsigned qp = flush_global,
			 unsigned more = flush_global)
	{
		if (!env.a.knows_ext())
			throw Skip("about pavo");
		if (!(capabilities(env.b) & can_flush_global))
			throw Skip("the kernel has no flush");
		link = connect_ext(env, {.access = reads_and_writes | qp});
		out = must_reg(env.a, {4096});
		in = must_reg(env.b, {4096, 0, reads_and_writes | more}, 2);
	}

	void flush(uint64_t at, size_t length, uint32_t flags)
	{
		pavodv_wr_flush(link.ex, in.rkey, at, length, flags);
	}

	ExtLink link;
	Mr out, in;
};

void must_be_refused(Env &env, unsigned qp, unsigned region, uint32_t flags,
		     ibv_wc_status status, const char *what)
{
	Flushed f(env, qp, region);

	env.expect_async();
	start_ext(f.link, 1);
	f.flush(f.in.address, 64, flags);
	REQUIRE_EQ(end_ext(f.link), 0, what);
	expect_send(env, f.link.a, 1, what, status);
}

} // namespace

PV_TEST_LOCAL("ext.flush", "of a range and of a region, in order")
{
	Flushed f(env);

	for (uint64_t i = 0; i < 50; i++) {
		const uint64_t value = 0x0102030405060708 * (i + 1);

		env.a.store(f.out.id, 0, value);
		start_ext(f.link, i, 0);
		ibv_wr_rdma_write(f.link.ex, f.in.rkey, f.in.address + 8);
		ibv_wr_set_sge(f.link.ex, f.out.lkey, f.out.address, 8);
		next_ext(f.link, i);
		f.flush(f.in.address + 8, 8, PAVO_FLUSH_GLOBAL);
		REQUIRE_EQ(end_ext(f.link), 0);
		Wc wc = expect_send(env, f.link.a, i, "flush of a range");
		REQUIRE_EQ(int(wc.opcode), int(PAVODV_WC_FLUSH), "opcode");
		REQUIRE_EQ(env.b.load(f.in.id, 8), value, "written before");
	}
	start_ext(f.link, 1);
	f.flush(0, 0, PAVO_FLUSH_GLOBAL | PAVO_FLUSH_REGION);
	next_ext(f.link, 2);
	f.flush(f.in.address + 4096, 0, PAVO_FLUSH_GLOBAL);
	next_ext(f.link, 3);
	ibv_wr_rdma_read(f.link.ex, f.in.rkey, f.in.address + 8);
	ibv_wr_set_sge(f.link.ex, f.out.lkey, f.out.address + 16, 8);
	REQUIRE_EQ(end_ext(f.link), 0);
	expect_send(env, f.link.a, 1, "flush of the region");
	expect_send(env, f.link.a, 2, "flush of nothing");
	expect_send(env, f.link.a, 3, "read behind them");
	must_match(env.b, f.in, 0, 8, 2, 0, "before the range");
	must_match(env.b, f.in, 16, 4080, 2, 16, "behind the range");
}

PV_TEST_LOCAL("ext.flush_library", "by the class of libpavo")
{
	Flushed f(env);
	auto posts = pavo::Extended::open(local(env.a).raw_qp(f.link.a.qp.id));

	REQUIRE(posts.has_value(), "open");
	REQUIRE(posts->flush({f.in.address, f.in.rkey, 64}, 1).has_value());
	expect_send(env, f.link.a, 1, "flush of a range");
	REQUIRE(posts->flush({0, f.in.rkey, 0}, 2, IBV_SEND_SIGNALED,
			     PAVO_FLUSH_GLOBAL | PAVO_FLUSH_REGION)
			.has_value());
	expect_send(env, f.link.a, 2, "flush of the region");
}

PV_TEST_LOCAL("ext.flush_rights",
	      "the right of the queue pair, and that of the region")
{
	must_be_refused(env, 0, flush_global, PAVO_FLUSH_GLOBAL,
			IBV_WC_REM_INV_REQ_ERR, "a queue pair without it");
	must_be_refused(env, flush_global, 0, PAVO_FLUSH_GLOBAL,
			IBV_WC_REM_ACCESS_ERR, "a region without it");
	must_be_refused(env, flush_global | flush_persistent, flush_global,
			PAVO_FLUSH_GLOBAL | PAVO_FLUSH_PERSISTENT,
			IBV_WC_REM_ACCESS_ERR, "for persistence");
}

PV_TEST_LOCAL("ext.flush_refused", "at post, and by the adapter")
{
	if (!env.a.knows_ext())
		throw Skip("about pavo");
	ExtLink link = connect_ext(env);

	start_ext(link, 1);
	pavodv_wr_flush(link.ex, 1, 0, 1ull << 31, PAVO_FLUSH_GLOBAL);
	REQUIRE_EQ(end_ext(link), EINVAL, "a range of 2 GiB");
	start_ext(link, 1);
	pavodv_wr_flush(link.ex, 1, 0, 8, 0);
	REQUIRE_EQ(end_ext(link), 0);
	expect_send(env, link.a, 1, "for nothing", IBV_WC_LOC_QP_OP_ERR);
}

PV_TEST_LOCAL("ext.flush_persistent",
	      "no region promises that ordinary memory is persistent, "
	      "whatever the kernel can do")
{
	if (!env.b.knows_ext())
		throw Skip("about pavo");
	REQUIRE(env.b.reg_mr({64, 0, reads_and_writes | flush_persistent}).error,
		"a region with the right was made");
}

#if PAVO_VERBS_FLUSH
PV_TEST_LOCAL("ext.flush_verbs", "by the call of verbs")
{
	Flushed f(env);
	LinkSpec spec = {.access = reads_and_writes | flush_global,
			 .send_ops = IBV_QP_EX_WITH_RDMA_WRITE |
				     IBV_QP_EX_WITH_FLUSH};
	Link link = connect(env, spec);
	ibv_qp_ex *ex = ibv_qp_to_qp_ex(local(env.a).raw_qp(link.a.qp.id));
	uint64_t id = 0;

	for (uint8_t level : {IBV_FLUSH_RANGE, IBV_FLUSH_MR}) {
		ibv_wr_start(ex);
		ex->wr_id = ++id;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_flush(ex, f.in.rkey, f.in.address, 64, IBV_FLUSH_GLOBAL,
			     level);
		REQUIRE_EQ(ibv_wr_complete(ex), 0);
		Wc wc = expect_send(env, link.a, id, "flush");
		REQUIRE_EQ(int(wc.opcode), int(IBV_WC_FLUSH), "opcode");
	}
}
#endif
