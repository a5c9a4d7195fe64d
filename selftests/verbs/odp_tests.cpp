// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * On-demand paging: memory that is not there when it is needed, that goes
 * while it is used, or that cannot be had at all.
 */
#include <cerrno>
#include <cstring>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include "manager.h"
#include "paged.h"
#include "../common/pattern.h"
#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

/* A message that takes a receive, of @srq if that is given, both ends' memory not there. */
void carry_cold(Env &env, Link &link, Paged &a, Paged &b, ibv_wr_opcode opcode,
		size_t length, const Srq *srq = nullptr)
{
	uint64_t seed = env.seed();

	a.fill(seed, 1000, length);
	b.fill(1);
	if (srq)
		post_srq_recv(env.b, *srq, b, 1000, length);
	else
		post_recv(link.b, b, 1000, length);
	must_run(env, link, a, b, opcode, 1000, length);
	Wc wc = expect_recv(env, link.b, 0, "receive");
	REQUIRE_EQ(wc.byte_len, length, "byte_len");
	b.must_hold(seed, 1000, length, "data");
	b.must_hold(1, 0, 1000, "what is before it");
}

} // namespace

PV_TEST_LOCAL("odp.data", "every operation, with both ends' memory not there")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);

	for (size_t length : {size_t(100), 3 * page, paged_size - 1000}) {
		for (auto opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
			bool write = opcode == IBV_WR_RDMA_WRITE;
			uint64_t seed = env.seed();

			(write ? a : b).fill(seed, 1000, length);
			(write ? b : a).fill(1);
			must_run(env, link, a, b, opcode, 1000, length);
			(write ? b : a).must_hold(seed, 1000, length, "data");
		}
		carry_cold(env, link, a, b, IBV_WR_SEND, length);
	}
	must_add(a, b, [&] {
		must_run(env, link, a, b, IBV_WR_ATOMIC_FETCH_AND_ADD, 2 * page,
			 8);
	});
}

/* A responder is told that a write has come by immediate data only. */
PV_TEST_LOCAL("odp.uc", "UC: both ends' memory not there, nothing is lost")
{
	Link link = connect(env, {.type = IBV_QPT_UC});
	Paged a(env.a), b(env.b);
	Moved faults(env.b, "odp_faults");

	for (size_t length : {size_t(100), 3 * page, paged_size - 1000})
		for (auto opcode : {IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM})
			carry_cold(env, link, a, b, opcode, length);
	REQUIRE(faults.by(), "no page was missing");
}

PV_TEST_LOCAL("odp.srq", "shared receives whose memory is not there")
{
	Srq srq = must_srq(env.b);
	LinkSpec spec = {.srq_b = srq.id};
	Link links[] = {connect(env, spec), connect(env, spec)};
	Paged a(env.a), b(env.b);
	Moved faults(env.b, "odp_faults");

	for (size_t length : {size_t(100), 3 * page, paged_size - 1000})
		for (Link &link : links)
			carry_cold(env, link, a, b, IBV_WR_SEND, length, &srq);
	REQUIRE(faults.by(), "no page was missing");
}

PV_TEST_LOCAL("odp.never_touched",
	      "memory that the process never touched, private and anonymous")
{
	Link link = connect(env);
	Paged a(env.a);
	void *map = mmap(nullptr, paged_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(map != MAP_FAILED, "mmap");
	RawMr mr = on_demand(env.b, map, paged_size);
	/* Read first: zeros, of a page that everybody shares; then write. */
	for (auto opcode : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
		a.fill(7);
		uint64_t id = post_to(link.a, a, as_target(mr), opcode);

		expect_send(env, link.a, id, "request");
		if (opcode == IBV_WR_RDMA_READ)
			for (size_t i = 0; i < paged_size; i++)
				REQUIRE(!a.data[i], "byte ", i, " is not 0");
	}
	REQUIRE(pattern_verify(static_cast<uint8_t *>(map), paged_size, 7, 0) <
			0,
		"written data");
	REQUIRE_EQ(ibv_dereg_mr(mr.release()), 0, "dereg_mr");
	munmap(map, paged_size);
}

PV_TEST_LOCAL("odp.remapped", "another mapping at the address is what is "
			      "written to from then on, the old one is not")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	uint64_t first = env.seed(), second = env.seed();

	a.fill(first);
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, paged_size);
	int old = b.replace();

	a.fill(second);
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, paged_size);
	b.must_hold(second, 0, paged_size, "the new mapping");
	auto *was = static_cast<uint8_t *>(
		mmap(nullptr, paged_size, PROT_READ, MAP_SHARED, old, 0));

	REQUIRE(was != MAP_FAILED, "mmap");
	REQUIRE(pattern_verify(was, paged_size, first, 0) < 0,
		"the old mapping");
	munmap(was, paged_size);
	close(old);
}

PV_TEST_LOCAL("odp.gone", "memory that is not mapped, or not for writing: an "
			  "access error here and there")
{
	env.expect_async();
	for (bool mapped : {false, true}) {
		Link link = connect(env), back = connect(env);
		Paged a(env.a), b(env.b);

		a.fill(3);
		must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, paged_size);
		if (mapped)
			REQUIRE(!mprotect(b.data + 5 * page, page, PROT_READ),
				"mprotect");
		else
			REQUIRE(!munmap(b.data + 5 * page, page), "munmap");
		uint64_t id =
			post(link.a, a, b, IBV_WR_RDMA_WRITE, 5 * page, 8);

		expect_send(env, link.a, id, "write to what is not there",
			    IBV_WC_REM_ACCESS_ERR);
		id = post(back.b, b, a, IBV_WR_RDMA_READ, 5 * page, 8);
		expect_send(env, back.b, id, "read into what is not there",
			    IBV_WC_LOC_PROT_ERR);
		b.must_hold(3, 0, 5 * page, "memory before it");
		if (mapped)
			continue;
		Link third = connect(env);

		id = post(third.b, b, a, IBV_WR_RDMA_WRITE, 5 * page, 8);
		expect_send(env, third.b, id, "write from what is not there",
			    IBV_WC_LOC_PROT_ERR);
	}
}

PV_TEST_LOCAL("odp.counted", "pages that are brought in, taken back and not "
			     "there are counted, others are not")
{
	env.expect_async();
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	Moved here(env.a, "odp_faults"), there(env.b, "odp_faults"),
		fails(env.b, "odp_fault_errors"),
		gone(env.b, "odp_invalidations");

	a.fill(3);
	b.fill(1);
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, page);
	uint64_t once = here.by(), once_there = there.by(), hidden = gone.by();

	REQUIRE(once && once_there, "faults: ", once, " and ", once_there);
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, page);
	REQUIRE_EQ(here.by(), once, "faults of memory that is there");
	REQUIRE_EQ(there.by(), once_there, "faults of memory that is there");
	REQUIRE_EQ(gone.by(), hidden,
		   "times that the kernel took no pages back");
	b.cool();
	REQUIRE(gone.by() > hidden, "pages were taken back");
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, page);
	REQUIRE(there.by() > once_there, "faults of memory that went");
	REQUIRE_EQ(fails.by(), 0u, "faults that failed");
	REQUIRE(!munmap(b.data + 5 * page, page), "munmap");
	uint64_t id = post(link.a, a, b, IBV_WR_RDMA_WRITE, 5 * page, 8);

	expect_send(env, link.a, id, "write to what is not there",
		    IBV_WC_REM_ACCESS_ERR);
	REQUIRE(fails.by(), "faults that failed");
}

PV_TEST_LOCAL("odp.taken_back",
	      "pages are taken back all the time while messages come and go")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	std::jthread taker([&](const std::stop_token &stop) {
		for (unsigned i = 0; !stop.stop_requested(); i++) {
			(i & 1 ? a : b).cool(i % 60 * page, 4 * page);
			std::this_thread::yield();
		}
	});

	for (int round = 0; round < 40; round++) {
		auto opcode = round & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		Paged &source = round & 1 ? b : a;
		Paged &target = round & 1 ? a : b;
		uint64_t seed = env.seed();

		pattern_fill(source.data, paged_size, seed, 0);
		must_run(env, link, a, b, opcode, 0, paged_size);
		target.must_hold(seed, 0, paged_size, "data");
	}
}

PV_TEST_LOCAL("odp.dereg", "a region goes while its pages are asked for")
{
	env.expect_async();
	for (int round = 0; round < 20; round++) {
		Link link = connect(env);
		Paged a(env.a), b(env.b);

		for (int i = 0; i < 8; i++)
			post(link.a, a, b, IBV_WR_RDMA_WRITE, 0, paged_size);
		b.cool();
		REQUIRE_EQ(ibv_dereg_mr((round & 1 ? a : b).mr), 0, "dereg_mr");
		(round & 1 ? a : b).mr = nullptr;
		wait_completions(env, link.a, link.a.send_cq, 8, "writes");
		env.a.destroy(Kind::qp, link.a.qp.id);
		env.b.destroy(Kind::qp, link.b.qp.id);
	}
}

PV_TEST_LOCAL("odp.window", "a window on memory that is not there")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b, bindable_access);
	Window window(env.b, IBV_MW_TYPE_1);
	ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED,
			    .bind_info = {b.mr, uintptr_t(b.data) + page,
					  8 * page, window_access}};

	REQUIRE_EQ(ibv_bind_mw(local(env.b).raw_qp(link.b.qp.id), window.get(),
			       &bind),
		   0, "bind");
	REQUIRE_EQ(int(wait_send(env, link.b, "bind").status), IBV_WC_SUCCESS,
		   "bind");
	a.fill(9);
	b.fill(1);
	uint32_t own = b.mr->rkey;

	b.mr->rkey = window->rkey;
	uint64_t id = post(link.a, a, b, IBV_WR_RDMA_WRITE, page, 8 * page);

	b.mr->rkey = own;
	expect_send(env, link.a, id, "write");
	REQUIRE(!memcmp(a.data + page, b.data + page, 8 * page), "its data");
	REQUIRE_EQ(window.free(), 0, "dealloc_mw");
}

PV_TEST_LOCAL("odp.prefetch", "pages asked for beforehand; what cannot be "
			      "prefetched is refused")
{
	Link link = connect(env);
	Paged a(env.a), b(env.b);
	ibv_pd *pd = local(env.b).raw_pd(0);
	Mr pinned = must_reg(env.b, {page});
	ibv_sge sges[2] = {{uintptr_t(b.data) + 100, 5 * page, b.mr->lkey},
			   {uintptr_t(b.data) + 9 * page, page, b.mr->lkey}};

	a.fill(11);
	b.fill(1);
	for (auto advice : {IBV_ADVISE_MR_ADVICE_PREFETCH,
			    IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
			    IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT})
		for (uint32_t flags : {0u, uint32_t(IBV_ADVISE_MR_FLAG_FLUSH)})
			REQUIRE_EQ(ibv_advise_mr(pd, advice, flags, sges, 2), 0,
				   "advice ", int(advice));
	must_run(env, link, a, b, IBV_WR_RDMA_WRITE, 0, paged_size);
	b.must_hold(11, 0, paged_size, "data");

	auto refused = [&](ibv_sge sge) {
		return ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge,
				     1);
	};

	REQUIRE_EQ(refused({uintptr_t(b.data), paged_size + 1, b.mr->lkey}),
		   EFAULT, "beyond the region");
	REQUIRE_EQ(refused({uintptr_t(b.data), page, b.mr->lkey ^ 0x100}),
		   EINVAL, "no such key");
	REQUIRE_EQ(refused({pinned.address, 8, pinned.lkey}), EINVAL,
		   "a region that is always there");
}

PV_TEST_LOCAL("odp.caps",
	      "the device says that it can what the tests here see, no more")
{
	ibv_device_attr_ex attr = {};

	REQUIRE_EQ(ibv_query_device_ex(local(env.b).context(), nullptr, &attr),
		   0, "query_device_ex");
	if (!(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		throw Skip("the device has no on-demand paging");
	const uint32_t ud = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
			    IBV_ODP_SUPPORT_SRQ_RECV,
		       uc = ud | IBV_ODP_SUPPORT_WRITE,
		       rc = uc | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	/* Flushes and atomic writes, for which newer kernels have names. */
	const uint32_t newer = 1 << 6 | 1 << 7;
	const auto &caps = attr.odp_caps.per_transport_caps;

	REQUIRE_EQ(caps.rc_odp_caps & ~newer, rc, "RC");
	if (caps.rc_odp_caps & newer)
		REQUIRE_EQ(caps.rc_odp_caps & newer, newer, "newer ones");
	REQUIRE_EQ(caps.uc_odp_caps, uc, "UC");
	REQUIRE_EQ(caps.ud_odp_caps, ud, "UD");
	REQUIRE_EQ(attr.xrc_odp_caps, caps.rc_odp_caps, "XRC");
	if (attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT)
		return;
	REQUIRE(!ibv_reg_mr(local(env.b).raw_pd(0), nullptr, SIZE_MAX,
			    IBV_ACCESS_ON_DEMAND),
		"a region of everything");
}
