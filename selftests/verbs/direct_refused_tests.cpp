// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Direct windows: their limits, also that of locked memory, the pool, and bytes, calls, mappings
 * and work requests that are refused. Claims are those of sources.md#direct.
 */
#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../common/child.h"
#include "../common/files.h"
#include "../common/pattern.h"
#include "direct.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

int refusal_of(Env &env, const pavodv_direct_attr &attr)
{
	pavodv_direct window = {};
	int err = pavodv_direct_open(local(env.a).raw_pd(0), &attr, &window);

	if (!err)
		pavodv_direct_close(&window);
	if (err == EOPNOTSUPP)
		throw Skip("the device has no direct windows");
	return err;
}

constexpr uint32_t lockable =
	16; /* buffers of 4096 bytes that a user may lock */

uint64_t locked_kib()
{
	return common::number_behind("/proc/self/status", "VmLck:");
}

/* A window of so many buffers, and none. */
int try_buffers(ibv_pd *pd, uint32_t buffers)
{
	const pavodv_direct_attr attr = {0, 1, 4096, buffers};
	pavodv_direct window = {};
	int err = pavodv_direct_open(pd, &attr, &window);

	if (!err)
		err = pavodv_direct_close(&window);
	return err;
}

/* By a user who may lock that many: windows up to there, and none beyond. Throws. */
void lock_to_the_limit(ibv_pd *pd)
{
	const pavodv_direct_attr most = {0, 64, 4096, lockable};
	pavodv_direct window = {};

	REQUIRE_EQ(locked_kib(), 0u, "locked at first");
	REQUIRE_EQ(try_buffers(pd, lockable + 1), ENOMEM, "one more");
	REQUIRE_EQ(locked_kib(), 0u, "of one that was refused");
	REQUIRE_EQ(pavodv_direct_open(pd, &most, &window), 0, "at the limit");
	REQUIRE_EQ(locked_kib(), lockable * 4u, "buffers, and not ranges");
	REQUIRE_EQ(try_buffers(pd, 1), ENOMEM, "another window");
	REQUIRE_EQ(locked_kib(), lockable * 4u, "of the first alone");
	/* The file holds the buffers of a window that is closed. */
	const int fd = dup(window.fd);

	REQUIRE_EQ(pavodv_direct_close(&window), 0, "close");
	REQUIRE_EQ(locked_kib(), lockable * 4u, "while there is a file");
	REQUIRE_EQ(try_buffers(pd, 1), ENOMEM, "while there is a file");
	::close(fd);
	REQUIRE_EQ(locked_kib(), 0u, "of no window");
	for (int round = 0; round < 50; round++) {
		REQUIRE_EQ(try_buffers(pd, lockable), 0, "round ", round);
		REQUIRE_EQ(try_buffers(pd, lockable + 1), ENOMEM, "round ",
			   round);
	}
	REQUIRE_EQ(locked_kib(), 0u, "in the end");
}

} // namespace

PV_TEST_LOCAL("direct.open",
	      "a window tells its base, length and key, and its registers are "
	      "idle (claims 2, 16, 19)")
{
	Direct window(env.a, {0x12345678, 32, 4096, 7});

	REQUIRE_EQ(window.plain.base, 0x12345678u, "base");
	REQUIRE_EQ(window.plain.length, 0x20000u, "length");
	REQUIRE(window.plain.lkey, "key");
	for (uint32_t i = 0; i < 32; i++) {
		pavo_direct_register reg = window.reg(i);

		REQUIRE_EQ(reg.bus_valid + reg.link_valid, 0, "idle");
		REQUIRE_EQ(reg.buffer, PAVO_DIRECT_NO_BUFFER, "no buffer");
		REQUIRE_EQ(reg.uses, 0u, "never used");
	}
	/* Without a base it is the address of the mapping. */
	Direct another(env.a);

	REQUIRE_EQ(another.plain.base,
		   reinterpret_cast<uintptr_t>(another.plain.memory), "base");
	REQUIRE(another.plain.lkey != window.plain.lkey, "keys");
}

PV_TEST_LOCAL("direct.limits", "windows up to the limits, and none beyond")
{
	for (const pavodv_direct_attr &attr :
	     {pavodv_direct_attr{0, 0, 4096, 1},
	      {0, PAVO_DIRECT_RANGES + 1, 4096, 1},
	      {0, UINT32_MAX, 4096, 1},
	      {0, 1, 0, 1},
	      {0, 1, 100, 1},
	      {0, 1, 4097, 1},
	      {0, 1, PAVO_DIRECT_RANGE_SIZE + 4096, 1},
	      {0, 1, UINT32_MAX, 1},
	      {0, 1, 4096, 0},
	      {0, 1, 4096, PAVO_DIRECT_RANGES + 1},
	      {0, 1, 4096, UINT32_MAX},
	      {UINT64_MAX - 4094, 1, 4096, 1}})
		REQUIRE_EQ(refusal_of(env, attr), EINVAL, attr.base, " ",
			   attr.ranges, " ", attr.range_size, " ",
			   attr.buffers);
	REQUIRE_EQ(refusal_of(env, {UINT64_MAX - 4095, 1, 4096, 1}), 0,
		   "at the end of all addresses");
	REQUIRE_EQ(refusal_of(env, {1, PAVO_DIRECT_RANGES, 4096, 1}), 0,
		   "ranges");
	REQUIRE_EQ(refusal_of(env, {1, 1, 4096, PAVO_DIRECT_RANGES}), 0,
		   "buffers");
	REQUIRE_EQ(refusal_of(env, {1, 2, PAVO_DIRECT_RANGE_SIZE, 3}), 0,
		   "largest ranges");
}

PV_TEST_LOCAL("direct.memlock",
	      "the buffers of an ordinary user's windows are bounded by what "
	      "the user may lock, and are given back with the last file")
{
	constexpr rlimit limit = {lockable * 4096, lockable * 4096};
	constexpr uid_t ordinary = 65534;

	REQUIRE_EQ(refusal_of(env, {0, 1, 4096, lockable + 1}), 0,
		   "a user who may lock all");
	common::Child child([&] {
		REQUIRE(!setrlimit(RLIMIT_MEMLOCK, &limit) &&
				!setresuid(ordinary, ordinary, ordinary),
			"an ordinary user");
		LocalHost host(env.device_a);

		lock_to_the_limit(host.raw_pd(0));
	});

	child.must_end_well();
}

PV_TEST_LOCAL("direct.pd_busy",
	      "a protection domain stays as long as a window of it")
{
	ibv_pd *pd = ibv_alloc_pd(local(env.a).context());
	pavodv_direct window = {};
	const pavodv_direct_attr attr = {0, 1, 4096, 1};
	int err = pavodv_direct_open(pd, &attr, &window);

	if (err == EOPNOTSUPP) {
		ibv_dealloc_pd(pd);
		throw Skip("the device has no direct windows");
	}
	REQUIRE_EQ(err, 0, "open");
	REQUIRE_EQ(ibv_dealloc_pd(pd), EBUSY, "with a window");
	REQUIRE_EQ(pavodv_direct_close(&window), 0, "close");
	REQUIRE_EQ(ibv_dealloc_pd(pd), 0, "without one");
}

PV_TEST_LOCAL("direct.refused_bytes",
	      "bytes for a range that is not armed, or for the other "
	      "direction, and one byte too many are refused and counted "
	      "(claims 9, 21)")
{
	Direct window(env.a);
	Moved refused(env.a, "direct_refused");
	std::vector<uint8_t> bytes;
	uint64_t seed = env.seed(), expected = 0;
	auto refuses = [&](int got, int want, const char *what) {
		REQUIRE_EQ(got, want, what);
		expected++;
	};

	refuses(window.try_put(0, 0, 1, seed), EBADF, "not armed");
	refuses(window.try_count(0, 1), EBADF, "not armed");
	refuses(int(-window.try_take(0, 0, 1, &bytes)), EBADF, "not armed");
	REQUIRE(raises_sigbus([&] { window.memory(0)[0] = 1; }), "store");
	REQUIRE(raises_sigbus([&] {
			static_cast<void>(*static_cast<volatile uint8_t *>(
				window.memory(0)));
		}),
		"load");

	window.arm(1, 100);
	refuses(window.try_put(1, 0, 101, seed), ENOSPC, "one too many");
	refuses(window.try_put(1, 100, 1, seed), ENOSPC, "behind the end");
	refuses(window.try_put(1, 4095, 1, seed), ENOSPC, "far behind it");
	refuses(window.try_count(1, 101), ENOSPC, "one too many");
	refuses(window.try_count(1, UINT32_MAX), ENOSPC, "far too many");
	refuses(int(-window.try_take(1, 0, 1, &bytes)), EBADF, "direction");
	REQUIRE_EQ(window.reg(1).count, 0u, "nothing is in");
	window.put(1, 0, 60, seed);
	refuses(window.try_put(1, 0, 41, seed), ENOSPC, "41 behind 60");
	refuses(window.try_count(1, 41), ENOSPC, "41 behind 60");
	window.put(1, 60, 40, seed);
	refuses(window.try_put(1, 0, 1, seed), EBADF, "it is full");
	refuses(window.try_count(1, 1), EBADF, "it is full");
	REQUIRE(raises_sigbus([&] { window.memory(1)[0] = 1; }), "full");

	window.arm_read(2, 100);
	refuses(window.try_put(2, 0, 1, seed), EBADF, "direction");
	REQUIRE(raises_sigbus([&] { window.memory(2)[0] = 1; }), "read range");
	REQUIRE_EQ(refused.by(), expected, "direct_refused");
	window.disarm(1);
	window.disarm(2);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.bad_calls",
	      "numbers of calls that are out of bounds are refused")
{
	Direct window(env.a);
	uint64_t seed = env.seed();
	std::vector<uint8_t> bytes;
	int fd;

	for (uint32_t range : {32u, UINT32_MAX}) {
		REQUIRE_EQ(window.try_arm(range, 1), EINVAL, "arm ", range);
		REQUIRE_EQ(window.try_count(range, 1), EINVAL, "count");
		REQUIRE_EQ(window.try_disarm(range), EINVAL, "disarm");
		REQUIRE_EQ(pavodv_direct_export(&window.plain, range, &fd),
			   EINVAL, "export");
	}
	REQUIRE_EQ(window.try_arm(0, 0), EINVAL, "no bytes");
	REQUIRE_EQ(window.try_arm(0, 4097), EINVAL, "too many");
	REQUIRE_EQ(window.try_arm(0, UINT32_MAX), EINVAL, "far too many");
	REQUIRE_EQ(window.try_arm(0, 1, 0x20), EINVAL, "flag");
	REQUIRE_EQ(window.try_arm(0, 1, 0x80000000), EINVAL, "flag");
	REQUIRE_EQ(window.try_arm(0, 1, PAVO_DIRECT_WHOLE), EINVAL,
		   "whole writes");
	REQUIRE_EQ(window.try_count(0, 0), EINVAL, "no bytes");
	REQUIRE_EQ(window.try_disarm(0), EBADF, "not armed");
	REQUIRE_EQ(pavodv_direct_export(&window.plain, 0, &fd), EBADF,
		   "not armed");
	window.arm(0, 10);
	REQUIRE_EQ(window.try_arm(0, 10), EBUSY, "armed");
	REQUIRE_EQ(window.try_arm(0, 10, PAVO_DIRECT_READ), EBUSY, "armed");
	/* Behind the last range, and over the border of two. */
	REQUIRE_EQ(window.try_put(32, 0, 1, seed), EINVAL, "behind the end");
	REQUIRE_EQ(window.try_put(0, 4090, 10, seed), EINVAL, "two ranges");
	REQUIRE_EQ(window.try_take(32, 0, 1, &bytes), 0, "behind the end");
	REQUIRE_EQ(pwrite(window.plain.fd, &seed, 8, -8), -1, "before it");
	REQUIRE_EQ(pwrite(window.plain.fd, &seed, 8, INT64_MAX), -1, "far");
	/* No byte is taken from memory that is not there. */
	REQUIRE_EQ(pwrite(window.plain.fd, window.memory(31), 10, 0), -1,
		   "no memory");
	REQUIRE_EQ(errno, EFAULT, "no memory");
	REQUIRE_EQ(window.reg(0).count, 0u, "nothing is in");
	window.put(0, 0, 10, seed);
	window.disarm(0);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.bad_mappings",
	      "mappings beyond the window, private ones, ones to be executed, "
	      "and ones of the registers to be written to are refused")
{
	Direct window(env.a);
	const off_t registers = off_t(window.plain.length);
	auto refused = [&](size_t length, int protection, int flags,
			   off_t offset) {
		void *at = mmap(nullptr, length, protection, flags,
				window.plain.fd, offset);

		if (at == MAP_FAILED)
			return true;
		munmap(at, length);
		return false;
	};
	constexpr int both = PROT_READ | PROT_WRITE;

	REQUIRE(refused(window.plain.length + 4096, both, MAP_SHARED, 0),
		"longer");
	REQUIRE(refused(4096, both, MAP_PRIVATE, 0), "private");
	REQUIRE(refused(4096, PROT_READ | PROT_EXEC, MAP_SHARED, 0), "code");
	REQUIRE(refused(4096, both, MAP_SHARED, registers), "registers");
	REQUIRE(refused(4096, PROT_READ, MAP_SHARED, registers * 2), "far");
	REQUIRE(refused(1 << 20, PROT_READ, MAP_SHARED, registers),
		"longer registers");
	REQUIRE(!refused(4096, both, MAP_SHARED, 4096), "a range");
	/* Nor later. */
	REQUIRE(mprotect(const_cast<pavo_direct_register *>(
				 window.plain.registers),
			 4096, both),
		"registers");
	REQUIRE(mprotect(window.plain.memory, 4096, PROT_READ | PROT_EXEC),
		"code");
}

PV_TEST_LOCAL("direct.refused_requests",
	      "work requests for ranges that are not armed for them, or not "
	      "for these bytes, end in error, and so does an atomic")
{
	struct {
		const char *what;
		std::function<void(Direct &)> prepare;
		ibv_wr_opcode opcode;
		uint64_t offset;
		uint32_t length;
	} cases[] = {
		{"not armed", [](Direct &) {}, IBV_WR_RDMA_WRITE, 0, 10},
		{"armed for a read", [](Direct &w) { w.arm_read(0, 10); },
		 IBV_WR_RDMA_WRITE, 0, 10},
		{"armed for a write", [](Direct &w) { w.arm(0, 10); },
		 IBV_WR_RDMA_READ, 0, 10},
		{"a byte more", [](Direct &w) { w.arm(0, 10); },
		 IBV_WR_RDMA_WRITE, 0, 11},
		{"a byte behind", [](Direct &w) { w.arm(0, 10); },
		 IBV_WR_RDMA_WRITE, 10, 1},
		{"two ranges", [](Direct &w) { w.arm(0, 4096); },
		 IBV_WR_RDMA_WRITE, 4095, 2},
		{"behind the end", [](Direct &w) { w.arm(31, 4096); },
		 IBV_WR_RDMA_WRITE, 32 * 4096 - 1, 2},
		{"a read of less", [](Direct &w) { w.arm_read(0, 10); },
		 IBV_WR_RDMA_READ, 0, 9},
		{"a read of more", [](Direct &w) { w.arm_read(0, 10); },
		 IBV_WR_RDMA_READ, 0, 11},
		{"a read not from the start",
		 [](Direct &w) { w.arm_read(0, 10); }, IBV_WR_RDMA_READ, 1, 9},
		{"an atomic", [](Direct &w) { w.arm_read(0, 8); },
		 IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8},
	};

	env.expect_async();
	DirectWriting w(env);

	for (const auto &test : cases) {
		test.prepare(w.window);
		ibv_sge sge = w.window.sge(0, test.length);

		sge.addr += test.offset;
		if (test.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			ibv_send_wr wr = {};

			wr.wr_id = 1;
			wr.opcode = test.opcode;
			wr.send_flags = IBV_SEND_SIGNALED;
			wr.wr.atomic.remote_addr = w.at_b.address;
			wr.wr.atomic.rkey = w.at_b.rkey;
			post_raw_send(w.link.a, wr, sge);
		} else {
			post_direct(w.link.a, test.opcode, sge, 1, {w.at_b});
		}
		Wc wc = wait_send(env, w.link.a, test.what);

		REQUIRE_EQ(wc.id, 1u, test.what);
		REQUIRE(wc.status != IBV_WC_SUCCESS &&
				wc.status != IBV_WC_WR_FLUSH_ERR,
			test.what, ": ", ibv_wc_status_str(wc.status));
		must_match(env.b, w.at_b, 0, 4096, 1, 0, test.what);
		for (uint32_t range : {0u, 31u})
			w.window.try_disarm(range);
		w.window.must_be_whole(env);
		reconnect(w.link);
	}
}

PV_TEST_LOCAL("direct.other_pd",
	      "a work request of another protection domain, and one that names "
	      "a closed window, are refused")
{
	env.expect_async();
	Pd other = env.a.alloc_pd();
	Link link = connect(env);
	Mr at_b = must_reg(env.b, {4096}, 1);
	Direct window(env.a, {0, 4, 4096, 4}, other.id);

	window.arm(0, 100);
	window.put(0, 0, 100, env.seed());
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(0, 100), 1, {at_b});
	expect_send(env, link.a, 1, "another PD", IBV_WC_LOC_PROT_ERR);
	REQUIRE(window.valid(0) == Valid(0, 1), "it has lost nothing");
	reconnect(link);

	ibv_sge gone;
	{
		Direct closed(env.a);

		closed.arm(0, 100);
		gone = closed.sge(0, 100);
	}
	post_direct(link.a, IBV_WR_RDMA_WRITE, gone, 2, {at_b});
	expect_send(env, link.a, 2, "a closed window", IBV_WC_LOC_PROT_ERR);
	must_match(env.b, at_b, 0, 4096, 1, 0, "nothing was written");
}

PV_TEST_LOCAL("direct.not_remote",
	      "the key of a window is worth nothing to a peer, and no receive "
	      "goes into a range")
{
	env.expect_async();
	Link link = connect(env);
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096}, 3);
	SendWr wr = make_wr(Op::write, {at_b}, 100);

	window.arm(0, 4096);
	window.arm_read(1, 4096);
	for (uint32_t range : {0u, 1u})
		for (Op op : {Op::write, Op::read}) {
			wr = make_wr(op, {at_b}, 100);
			wr.remote = window.address(range);
			wr.rkey = window.plain.lkey;
			must_send(env, link.b, wr, "by a peer",
				  IBV_WC_REM_ACCESS_ERR);
			reconnect(link);
		}
	window.disarm(0);
	window.disarm(1);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.pool",
	      "a pool without buffers says so, counts who waits and who does "
	      "without, and tells when it has one (claim 11)")
{
	DirectWriting w(env, {}, {0, 32, 4096, 3});
	Moved waits(env.a, "direct_waits"), without(env.a, "direct_bounced");

	REQUIRE(w.window.events() & POLLOUT, "there are buffers");
	for (uint32_t i : {5u, 17u, 30u})
		w.window.arm(i, 100);
	REQUIRE(!(w.window.events() & POLLOUT), "there are none");
	REQUIRE_EQ(w.window.try_arm(0, 100), EAGAIN, "none");
	REQUIRE_EQ(w.window.try_arm(0, 100, PAVO_DIRECT_READ), EAGAIN, "none");
	REQUIRE(w.window.valid(0) == Valid(0, 0), "it is not armed");
	REQUIRE_EQ(waits.by() + without.by(), 0u, "counters");
	REQUIRE_EQ(w.window.try_arm(0, 100, PAVO_DIRECT_WAIT), EAGAIN, "none");
	REQUIRE_EQ(waits.by(), 1u, "direct_waits");
	REQUIRE_EQ(w.window.try_arm(0, 100, PAVO_DIRECT_FALLBACK), EAGAIN,
		   "none");
	REQUIRE_EQ(without.by(), 1u, "direct_bounced");
	REQUIRE_EQ(waits.by(), 1u, "direct_waits");

	/* One comes back at its completion, which wakes the process that waits. */
	uint64_t seed = env.seed();
	bool woken = false;
	{
		std::jthread waiter([&] {
			pollfd look = {w.window.plain.fd, POLLOUT, 0};

			woken = poll(&look, 1, int(env.options.patience_ms)) ==
					1 &&
				look.revents & POLLOUT;
		});

		w.post(17, 100);
		w.window.put(17, 0, 100, seed);
		w.expect(17, "write");
	}
	REQUIRE(woken, "poll");
	w.must_hold(17, 100, seed, "written");
	w.window.arm(0, 100);
	REQUIRE_EQ(w.window.try_arm(1, 100), EAGAIN, "none again");
	for (uint32_t i : {5u, 30u, 0u})
		w.window.disarm(i);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.late_store",
	      "a store behind the last byte raises SIGBUS, and changes nothing "
	      "that is sent, or sent again")
{
	DirectWriting w(env, {.timeout = 17});
	uint64_t seed = env.seed();

	/* The page is in the page table, and a thread goes on to write there. */
	w.window.arm(3, 4096);
	w.window.store(3, 0, 4096, seed);
	w.window.count(3, 4096);
	REQUIRE(raises_sigbus([&] { w.window.memory(3)[100] ^= 0xff; }),
		"full");
	{
		Qdisc cut(env.a, "netem loss 100%");
		Moved again(env.a, "tx_retransmits");

		w.post(3, 4096);
		REQUIRE(raises_sigbus([&] { w.window.memory(3)[200] ^= 0xff; }),
			"under way");
		REQUIRE(eventually(env, [&] { return again.by() > 0; }),
			"sent again");
		REQUIRE(raises_sigbus([&] { w.window.memory(3)[300] ^= 0xff; }),
			"sent again");
		REQUIRE_EQ(w.window.try_put(3, 0, 1, seed), EBADF, "pwrite");
		REQUIRE_EQ(w.window.try_disarm(3), EBUSY, "it is being sent");
		REQUIRE_EQ(w.window.try_arm(3, 1), EBUSY, "it is being sent");
	}
	w.expect(3, "write");
	w.must_hold(3, 4096, seed, "written");
	REQUIRE(raises_sigbus([&] { w.window.memory(3)[0] ^= 0xff; }), "idle");
	w.window.must_be_whole(env);
}
