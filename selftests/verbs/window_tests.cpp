// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Memory windows: what a bound window shows and to whom, what it hides, which
 * binds are refused and how, and that no window outlives its region.
 */
#include <cerrno>

#include <rdma/pavo-abi.h>

#include "tap.h"
#include "window.h"

using namespace pv;

namespace {

Mr bindable(Env &env, unsigned access = bindable_access, Handle pd = 0)
{
	return must_reg(env.b, {region_size, 100, access, pd});
}

/* A failed bind costs the queue pair; the window stays what it was. */
void bind_error(Env &env, ibv_mw_type type, BindSpec spec, uint32_t vendor,
		const char *what, Handle window_pd = 0)
{
	Link link = connect(env);
	Window window(env.b, type, window_pd);

	env.expect_async();
	uint64_t id = post_bind(link.b, window, spec);
	Wc wc = expect_send(env, link.b, id, what, IBV_WC_MW_BIND_ERR);
	check_vendor(link.b, wc, vendor, what);
	wait_state(env, link.b, IBV_QPS_ERR);
	must_refuse(env, view_of(window, spec), spec.offset, Op::write, what);
}

} // namespace

PV_TEST_LOCAL("mw.data",
	      "writes, reads and atomics through a window go where they shall")
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		Link link = connect(env);
		Mr local = must_reg(env.a, {region_size, 7}),
		   mr = bindable(env);
		Window window(env.b, type);
		BindSpec spec = {mr, 3, region_size - 5};

		must_bind(env, link.b, window, spec);
		Mr view = view_of(window, spec);

		for (Op op : {Op::write, Op::read, Op::write_imm}) {
			exchange(env, link.a, link.b, op, {local, 1}, {view, 3},
				 region_size - 5);
			exchange(env, link.a, link.b, op, {local, 0},
				 {view, 4095}, 9);
		}
		SendWr wr = make_wr(Op::read, {local, 0}, 8, {view, 4});

		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.compare_add = 5;
		env.b.store(mr.id, 4, 37);
		must_send(env, link.a, wr, "atomic through a window");
		REQUIRE_EQ(env.b.load(mr.id, 4), 42u, "its value");
		REQUIRE_EQ(env.a.load(local.id, 0), 37u, "its result");
	}
}

PV_TEST_LOCAL("mw.bounds", "a byte before and a byte behind a window are not "
			   "in it, although they are in the region")
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		for (int64_t offset : {-1, 1}) {
			Link link = connect(env);
			Window window(env.b, type);
			BindSpec spec = {bindable(env), 5000, 8};

			must_bind(env, link.b, window, spec);
			must_refuse_on(env, link, view_of(window, spec),
				       5000 + offset, Op::write,
				       "one byte out of the window");
		}
	}
}

PV_TEST_LOCAL("mw.rights", "a window grants what the bind named, no more")
{
	for (Op op : {Op::write, Op::read}) {
		Link link = connect(env);
		Window window(env.b, IBV_MW_TYPE_2);
		BindSpec spec = {bindable(env), 0, 64};

		spec.access &= op == Op::write ? ~IBV_ACCESS_REMOTE_WRITE :
						 ~IBV_ACCESS_REMOTE_READ;
		must_bind(env, link.b, window, spec);
		must_refuse_on(env, link, view_of(window, spec), 0, op,
			       name_of(op));
	}
	/* And the region itself grants a peer nothing. */
	must_refuse(env, bindable(env), 0, Op::write, "the region's own key");
}

PV_TEST_LOCAL("mw.rebind", "type 1: another bind moves the window, the old key "
			   "is dead, a zero length ends it")
{
	Link link = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	Mr local = must_reg(env.a, {region_size});
	BindSpec first = {bindable(env), 0, 4096};
	BindSpec second = {bindable(env), 8192, 4096};

	must_bind(env, link.b, window, first);
	Mr old = view_of(window, first);

	must_bind(env, link.b, window, second);
	REQUIRE(old.rkey != window->rkey, "the key is the same");
	exchange(env, link.a, link.b, Op::write, {local, 0},
		 {view_of(window, second), 8192}, 4096);
	/* The first region has no window any more, the second has. */
	REQUIRE_EQ(env.b.destroy(Kind::mr, second.mr.id), EBUSY, "dereg_mr");
	must_refuse(env, old, 0, Op::write, "the old key, in the old region");
	old.id = second.mr.id;
	old.address = second.mr.address;
	must_refuse(env, old, 8192, Op::write, "the old key, in the new one");

	Mr ended = view_of(window, second);

	must_bind(env, link.b, window, {});
	must_refuse(env, ended, 8192, Op::write, "the key before the unbind");
	ended.rkey = window->rkey;
	must_refuse(env, ended, 8192, Op::write, "the key of nothing");
	REQUIRE_EQ(env.b.destroy(Kind::mr, first.mr.id), 0, "dereg_mr");
	REQUIRE_EQ(env.b.destroy(Kind::mr, second.mr.id), 0, "dereg_mr");
}

PV_TEST_LOCAL("mw.dereg", "a region with a window on it stays; a window may go "
			  "while it is bound")
{
	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		Link link = connect(env);
		Window window(env.b, type), other(env.b, type);
		BindSpec spec = {bindable(env), 0, region_size};
		Mr local = must_reg(env.a, {region_size});

		must_bind(env, link.b, window, spec);
		must_bind(env, link.b, other, spec);
		REQUIRE_EQ(env.b.destroy(Kind::mr, spec.mr.id), EBUSY,
			   "dereg_mr with two windows");
		exchange(env, link.a, link.b, Op::write, {local, 0},
			 {view_of(window, spec), 0}, region_size);
		REQUIRE_EQ(other.free(), 0, "dealloc_mw");
		REQUIRE_EQ(env.b.destroy(Kind::mr, spec.mr.id), EBUSY,
			   "dereg_mr with one window");
		Mr gone = view_of(window, spec);

		REQUIRE_EQ(window.free(), 0, "dealloc_mw");
		must_refuse_on(env, link, gone, 0, Op::write, "a dead window");
		REQUIRE_EQ(env.b.destroy(Kind::mr, spec.mr.id), 0, "dereg_mr");
	}
}

PV_TEST_LOCAL("mw.pd", "a PD with a window in it cannot go")
{
	Pd pd = env.b.alloc_pd();
	Window window(env.b, IBV_MW_TYPE_2, pd.id);

	REQUIRE_EQ(env.b.destroy(Kind::pd, pd.id), EBUSY, "dealloc_pd");
	REQUIRE_EQ(window.free(), 0, "dealloc_mw");
	REQUIRE_EQ(env.b.destroy(Kind::pd, pd.id), 0, "dealloc_pd");
}

PV_TEST_LOCAL("mw.other_qp", "type 2 is for the peer of the queue pair that "
			     "bound it, type 1 for the whole PD")
{
	Link link = connect(env), other = connect(env);
	Mr local = must_reg(env.a, {region_size});
	BindSpec spec = {bindable(env), 0, region_size};
	Window one(env.b, IBV_MW_TYPE_1), two(env.b, IBV_MW_TYPE_2);

	must_bind(env, link.b, one, spec);
	must_bind(env, link.b, two, spec);
	exchange(env, other.a, other.b, Op::write, {local, 0},
		 {view_of(one, spec), 0}, region_size);
	must_refuse_on(env, other, view_of(two, spec), 0, Op::write,
		       "a window of another queue pair");
	exchange(env, link.a, link.b, Op::read, {local, 0},
		 {view_of(two, spec), 0}, region_size);
}

PV_TEST_LOCAL("mw.qp_destroyed", "type 2: with its queue pair a window's "
				 "binding ends, and it can be bound again")
{
	Link link = connect(env);
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable(env), 0, region_size};

	must_bind(env, link.b, window, spec);
	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "destroy_qp");
	must_refuse(env, view_of(window, spec), 0, Op::write,
		    "a window whose queue pair is gone");

	Link next = connect(env);
	Mr local = must_reg(env.a, {region_size});

	must_bind(env, next.b, window, spec);
	exchange(env, next.a, next.b, Op::write, {local, 0},
		 {view_of(window, spec), 0}, region_size);
}

PV_TEST_LOCAL("mw.zero_based",
	      "type 2: a zero-based window is addressed from its own start")
{
	Link link = connect(env);
	Mr local = must_reg(env.a, {region_size}), mr = bindable(env);
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {mr, 5000, 3000, window_access | IBV_ACCESS_ZERO_BASED};

	must_bind(env, link.b, window, spec);
	Mr view = view_of(window, spec);

	view.address -= view.address + 5000; /* offset 5000 is address 0 */
	exchange(env, link.a, link.b, Op::write, {local, 0}, {view, 5000},
		 3000);
	exchange(env, link.a, link.b, Op::read, {local, 0}, {view, 7999}, 1);
	must_refuse_on(env, link, view, 7993, Op::write, "behind its end");
}

PV_TEST_LOCAL("mw.optional", "optional flags of a bind are taken")
{
	Link link = connect(env);
	Mr local = must_reg(env.a, {region_size});

	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		Window window(env.b, type);
		BindSpec spec = {bindable(env), 0, 64,
				 window_access | IBV_ACCESS_OPTIONAL_RANGE};

		must_bind(env, link.b, window, spec);
		exchange(env, link.a, link.b, Op::write, {local, 0},
			 {view_of(window, spec), 0}, 64);
	}
}

PV_TEST_LOCAL("mw.bind_errors",
	      "a bind that may not be is MW_BIND_ERR with its reason")
{
	Mr mr = bindable(env);
	Pd pd = env.b.alloc_pd();
	BindSpec good = {mr, 64, 1000}, bad;

	for (ibv_mw_type type : {IBV_MW_TYPE_1, IBV_MW_TYPE_2}) {
		bad = good;
		bad.offset = -1;
		bind_error(env, type, bad, PAVO_VE_MW_RANGE, "before it");
		bad.offset = int64_t(region_size) - 999;
		bind_error(env, type, bad, PAVO_VE_MW_RANGE, "behind it");
		bad.offset = 0;
		bad.length = UINT64_MAX;
		bind_error(env, type, bad, PAVO_VE_MW_RANGE, "endless");
		bad = good;
		bad.mr = bindable(env, IBV_ACCESS_LOCAL_WRITE);
		bind_error(env, type, bad, PAVO_VE_MW_RANGE, "not bindable");
		bad.mr = bindable(env, IBV_ACCESS_MW_BIND);
		bind_error(env, type, bad, PAVO_VE_MW_RANGE,
			   "to be written to, of a region that is not");
		bad = good;
		bad.access |= IBV_ACCESS_MW_BIND;
		bind_error(env, type, bad, PAVO_VE_MW_RANGE, "unknown right");
	}
	bad = good;
	bad.access |= IBV_ACCESS_ZERO_BASED;
	bind_error(env, IBV_MW_TYPE_1, bad, PAVO_VE_MW_BIND, "type 1 from 0");
	bad = good;
	bad.length = 0;
	bind_error(env, IBV_MW_TYPE_2, bad, PAVO_VE_MW_BIND, "type 2 of 0");
	bad = good;
	bad.mr = bindable(env, bindable_access, pd.id);
	bind_error(env, IBV_MW_TYPE_2, bad, PAVO_VE_MW_BIND, "other PD's MR");
	bind_error(env, IBV_MW_TYPE_2, good, PAVO_VE_MW_BIND,
		   "other PD's window", pd.id);
}

PV_TEST_LOCAL(
	"mw.low_byte",
	"type 2: a bind takes the low byte of its key and leaves the index "
	"as it is, and the window shows the key once it was posted")
{
	Link link = connect(env);
	Mr local = must_reg(env.a, {region_size});
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable(env), 0, region_size};
	const uint32_t index = window->rkey & ~0xffu;

	for (uint32_t foreign : {0x100u, 0xabcdef00u, ~0xffu,
				 (spec.mr.lkey ^ window->rkey) & ~0xffu}) {
		const auto tag = uint8_t(window->rkey + 1);

		spec.key_xor = foreign;
		uint64_t id = post_bind(link.b, window, spec);

		REQUIRE_EQ(window->rkey, index | tag, "the key as posted");
		expect_send(env, link.b, id, "bind");
		exchange(env, link.a, link.b, Op::write, {local, 0},
			 {view_of(window, spec), 0}, region_size);
		must_invalidate(env, link.b, window->rkey);
	}
	/* A wrong key of the invalidated window shows nothing. */
	must_refuse_on(env, link, view_of(window, spec), 0, Op::write,
		       "the last key");
}

PV_TEST_LOCAL("mw.zero_region",
	      "type 1: a window of a region without bytes shows none")
{
	Link link = connect(env);
	Window window(env.b, IBV_MW_TYPE_1);
	BindSpec spec = {must_reg(env.b, {0, 100, bindable_access})};

	must_bind(env, link.b, window, spec);
	must_refuse_on(env, link, view_of(window, spec), 0, Op::write,
		       "a byte behind nothing");
	REQUIRE_EQ(env.b.destroy(Kind::mr, spec.mr.id), 0, "dereg_mr");
}

PV_TEST_LOCAL("mw.bound_twice",
	      "type 2: a bound window is not bound again, it stays as it is")
{
	Link link = connect(env), other = connect(env);
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable(env), 0, 4096};
	Mr local = must_reg(env.a, {region_size});

	must_bind(env, link.b, window, spec);
	Mr view = view_of(window, spec);

	env.expect_async();
	spec.length = 100;
	uint64_t id = post_bind(other.b, window, spec);

	expect_send(env, other.b, id, "second bind", IBV_WC_MW_BIND_ERR);
	exchange(env, link.a, link.b, Op::write, {local, 0}, {view, 0}, 4096);
}

PV_TEST_LOCAL("mw.in_order", "a bind takes its place among sends: complete "
			     "when they are, in effect for what follows")
{
	Link link = connect(env);
	Mr at_b = must_reg(env.b, {1 << 20}), at_a = must_reg(env.a, {1 << 20});
	Window window(env.b, IBV_MW_TYPE_2);
	BindSpec spec = {bindable(env), 0, region_size};

	for (int round = 0; round < 20; round++) {
		SendWr first = make_wr(Op::write, {at_b, 0}, 300000, {at_a, 0});
		SendWr told = make_wr(Op::send, {at_b, 0}, 4);

		first.flags = 0; /* not signalled: no request asks for an ACK */
		must_post(link.a, RecvWr{9, {{at_a.id, 500000, 4, 0}}});
		must_post(link.b, first);
		uint64_t id = post_bind(link.b, window, spec);

		must_post(link.b, told);
		expect_recv(env, link.a, 9, "the message");
		/* A peer that was told of the key may use it at once. */
		SendWr use = make_wr(Op::write, {at_a, 0}, region_size,
				     {view_of(window, spec), 0});
		uint64_t seed = env.seed();

		env.a.fill(at_a.id, 0, region_size, seed, 0);
		must_send(env, link.a, use, "use of the key");
		must_match(env.b, spec.mr, 0, region_size, seed, 0, "its data");
		expect_send(env, link.b, id, "bind");
		expect_send(env, link.b, told.id, "message");
		must_invalidate(env, link.b, window->rkey);
	}
}

PV_TEST_LOCAL("mw.limits", "the device says that it has windows, and how many")
{
	const ibv_device_attr &dev = env.info_b.device;
	Window window(env.b, IBV_MW_TYPE_1);

	REQUIRE(dev.max_mw > 0, "max_mw ", dev.max_mw);
	REQUIRE(dev.device_cap_flags & IBV_DEVICE_MEM_WINDOW, "MEM_WINDOW");
	REQUIRE(dev.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B,
		"MEM_WINDOW_TYPE_2B");
	REQUIRE(!(dev.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A),
		"MEM_WINDOW_TYPE_2A");
}
