// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Invalidation of keys, by the owner (LOCAL_INV) and by the peer (send with
 * invalidate): what is invalid is refused, nothing else becomes so, and what
 * completed as invalid is not touched any more.
 */
#include <thread>

#include <rdma/pavo-abi.h>

#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

constexpr uint32_t no_key = 0xfffffe11;

Mr bindable_region(Env &env)
{
	return must_reg(env.b, {region_size, 100, bindable_access});
}

void check_inv(const Wc &wc, uint64_t length, uint32_t key)
{
	check_wc(wc, 1, IBV_WC_SUCCESS, "receive");
	REQUIRE_EQ(int(wc.opcode), IBV_WC_RECV, "its opcode");
	REQUIRE_EQ(wc.byte_len, length, "its length");
	REQUIRE_EQ(wc.flags & (IBV_WC_WITH_INV | IBV_WC_WITH_IMM),
		   unsigned(IBV_WC_WITH_INV), "its flags");
	REQUIRE_EQ(key_of(wc), key, "the key in it");
}

/* LOCAL_INV of this key at B: an error with its reason. */
void local_error(Env &env, Link &link, uint32_t key, uint32_t vendor,
		 const char *what)
{
	env.expect_async();
	uint64_t id = post_local_inv(link.b, key);
	Wc wc = wait_send(env, link.b, what);

	REQUIRE(wc.status == IBV_WC_MW_BIND_ERR ||
			wc.status == IBV_WC_LOC_QP_OP_ERR,
		what, ": ", ibv_wc_status_str(wc.status));
	REQUIRE_EQ(wc.id, id, what);
	check_vendor(link.b, wc, vendor, what);
	wait_state(env, link.b, IBV_QPS_ERR);
}

/* A send of A that would invalidate this key at B: refused, as an error of managing memory. */
void remote_error(Env &env, Link &link, uint32_t key, const char *what)
{
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64});
	SendWr wr = send_inv({out, 0}, 64, key);

	env.expect_async();
	must_post(link.b, RecvWr{1, {{in.id, 0, 64, 0}}});
	must_send(env, link.a, wr, what, IBV_WC_REM_ACCESS_ERR);
	expect_recv(env, link.b, 1, what, IBV_WC_MW_BIND_ERR);
	wait_state(env, link.b, IBV_QPS_ERR);
}

} // namespace

PV_TEST_LOCAL("inv.local",
	      "an invalidated window is refused, bound again under "
	      "another key it works, the old key does not")
{
	Link link = connect(env);
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable_region(env), 0, region_size};
	Mr local = must_reg(env.a, {region_size});

	must_bind(env, link.b, window, spec);
	Mr old = view_of(window, spec);

	must_invalidate(env, link.b, old.rkey);
	must_refuse(env, old, 0, Op::write, "an invalidated window");
	must_bind(env, link.b, window, spec);
	exchange(env, link.a, link.b, Op::write, {local, 0},
		 {view_of(window, spec), 0}, region_size);
	must_refuse_on(env, link, old, 0, Op::write, "the key before");
}

PV_TEST_LOCAL("inv.local_errors", "what a queue pair may not invalidate: none, "
				  "a region, type 1, another's, twice")
{
	Link owner = connect(env), other = connect(env);
	Window one(env.b, IBV_MW_TYPE_1), two(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable_region(env), 0, region_size};
	Mr local = must_reg(env.a, {region_size}),
	   mr = must_reg(env.b, {region_size});

	must_bind(env, owner.b, one, spec);
	must_bind(env, owner.b, two, spec);
	local_error(env, other, two->rkey, PAVO_VE_KEY_STATE,
		    "another queue pair's window");

	Link a = connect(env), b = connect(env), c = connect(env),
	     d = connect(env);

	local_error(env, a, no_key, PAVO_VE_LKEY, "no key");
	local_error(env, b, mr.rkey, PAVO_VE_LKEY_ACCESS, "a region");
	local_error(env, c, one->rkey, PAVO_VE_LKEY_ACCESS, "type 1");
	local_error(env, d, two->rkey ^ 1, PAVO_VE_LKEY, "another tag");
	/* All of them still work. */
	for (const Mr &view : {view_of(one, spec), view_of(two, spec), Mr(mr)})
		exchange(env, owner.a, owner.b, Op::write, {local, 0},
			 {view, 0}, region_size);
	must_invalidate(env, owner.b, two->rkey);
	local_error(env, owner, two->rkey, PAVO_VE_KEY_STATE, "twice");
}

PV_TEST_LOCAL("inv.send", "send with invalidate: data and key arrive, the key "
			  "is dead from the completion on")
{
	for (uint64_t length : {uint64_t(0), uint64_t(100), uint64_t(20000)}) {
		Link link = connect(env);
		Window window(env.b, IBV_MW_TYPE_2);
		BindSpec spec = {bindable_region(env), 0, region_size};
		uint64_t seed = env.seed();
		Mr out = must_reg(env.a, {20000}, seed),
		   in = must_reg(env.b, {20000});

		must_bind(env, link.b, window, spec);
		exchange(env, link.a, link.b, Op::write, {out, 0},
			 {view_of(window, spec), 0}, region_size);
		env.a.fill(out.id, 0, 20000, seed, 0);
		must_post(link.b, RecvWr{1, {{in.id, 0, 20000, 0}}});

		must_send(env, link.a, send_inv({out, 0}, length, window->rkey),
			  "send with invalidate");
		check_inv(wait_recv(env, link.b, "receive"), length,
			  window->rkey);
		must_match(env.b, in, 0, length, seed, 0, "its data");
		must_refuse_on(env, link, view_of(window, spec), 0, Op::write,
			       "the invalidated window");
	}
}

PV_TEST_LOCAL("inv.send_inline", "send with invalidate, its data in the WQE")
{
	Link link = connect(env, {.cap = inline_cap(64)});
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable_region(env), 0, region_size};
	Mr out = must_reg(env.a, {64}), in = must_reg(env.b, {64});

	for (int round = 0; round < 8; round++) {
		uint64_t seed = env.seed();

		must_bind(env, link.b, window, spec);
		must_post(link.b, RecvWr{1, {{in.id, 0, 64, 0}}});
		env.a.fill(out.id, 0, 64, seed, 0);
		SendWr wr = send_inv({out, 0}, 51, window->rkey);

		wr.flags |= IBV_SEND_INLINE;
		must_post(link.a, wr);
		check_inv(wait_recv(env, link.b, "receive"), 51, window->rkey);
		expect_send(env, link.a, wr.id, "send");
		must_match(env.b, in, 0, 51, seed, 0, "its data");
	}
}

PV_TEST_LOCAL("inv.send_errors", "what a peer may not invalidate: none, a "
				 "region, type 1, another queue pair's")
{
	Link owner = connect(env);
	Window one(env.b, IBV_MW_TYPE_1), two(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable_region(env), 0, region_size};
	Mr local = must_reg(env.a, {region_size}),
	   mr = must_reg(env.b, {region_size});

	must_bind(env, owner.b, one, spec);
	must_bind(env, owner.b, two, spec);
	struct {
		uint32_t key;
		const char *what;
	} cases[] = {
		{no_key, "no key"},
		{mr.rkey, "a region"},
		{one->rkey, "type 1"},
		{two->rkey, "another queue pair's window"},
		{two->rkey ^ 1, "another tag"},
	};
	for (auto &c : cases) {
		Link link = connect(env);

		remote_error(env, link, c.key, c.what);
	}
	for (const Mr &view : {view_of(one, spec), view_of(two, spec), Mr(mr)})
		exchange(env, owner.a, owner.b, Op::write, {local, 0},
			 {view, 0}, region_size);
}

PV_TEST_LOCAL("inv.canary", "once LOCAL_INV has completed no byte changes, "
			    "whatever was under way")
{
	constexpr uint64_t size = 1 << 20;
	constexpr int wanted = 8, most = 64;
	Mr out = must_reg(env.a, {size});
	Mr in = must_reg(env.b, {size, 0, bindable_access});
	int caught = 0;

	env.expect_async();
	for (int round = 0; round < most && caught < wanted; round++) {
		Link link = connect(env);
		Window window(env.b, IBV_MW_TYPE_2);
		BindSpec spec = {in, 0, size};
		uint64_t canary = env.seed();

		must_bind(env, link.b, window, spec);
		std::vector<SendWr> wrs(4, make_wr(Op::write, {out, 0}, size,
						   {view_of(window, spec), 0}));
		std::thread writer([&] { must_post(link.a, wrs); });

		must_invalidate(env, link.b, window->rkey);
		env.b.fill(in.id, 0, size, canary, 0);
		writer.join();
		auto wcs = wait_completions(env, link.a, link.a.send_cq, 4,
					    "writes");
		must_match(env.b, in, 0, size, canary, 0,
			   "memory after the invalidation");
		/* All writes may be over before the invalidation begins. */
		if (wcs[3].status == IBV_WC_SUCCESS)
			continue;
		caught++;
		REQUIRE(wcs[3].status == IBV_WC_WR_FLUSH_ERR ||
				wcs[3].status == IBV_WC_REM_ACCESS_ERR,
			"the last write: ", ibv_wc_status_str(wcs[3].status));
	}
	REQUIRE(caught, "the writes were over too early, again and again");
}

PV_TEST_LOCAL("inv.fence", "a fenced invalidation waits for what was posted "
			   "before it, and completes behind it")
{
	Link link = connect(env);
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable_region(env), 0, region_size};
	Mr here = must_reg(env.b, {1 << 20}),
	   there = must_reg(env.a, {1 << 20});

	for (int round = 0; round < 8; round++) {
		must_bind(env, link.b, window, spec);
		SendWr read = make_wr(Op::read, {here, 0}, 1 << 20, {there, 0});
		SendWr write = make_wr(Op::write, {here, 0}, 4, {there, 0});
		uint64_t seed = env.seed();

		write.flags = 0;
		env.a.fill(there.id, 0, 1 << 20, seed, 0);
		must_post(link.b, std::vector<SendWr>{read, write});
		uint64_t id =
			post_local_inv(link.b, window->rkey,
				       IBV_SEND_SIGNALED | IBV_SEND_FENCE);

		expect_send(env, link.b, read.id, "read");
		must_match(env.b, here, 0, 1 << 20, seed, 0, "its data");
		expect_send(env, link.b, id, "invalidate");
	}
	no_more(link.b, "fence");
}
