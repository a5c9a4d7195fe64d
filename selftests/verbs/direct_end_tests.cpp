// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Ends of direct windows, and of operations in them, in each state: queue pairs that fail, windows
 * that are closed, processes that are killed, devices that are still at work. All buffers come
 * back, and none is another operation's before its device is done with it.
 */
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../common/child.h"
#include "../common/files.h"
#include "../common/pattern.h"
#include "direct_states.h"
#include "manager.h"
#include "qdisc.h"
#include "tap.h"

using namespace pv;

namespace {

/* Windows of all adapters, as people see them. */
unsigned windows_shown()
{
	std::ifstream file("/sys/kernel/debug/pavo/direct");
	unsigned count = 0;

	if (!file)
		throw Skip("no /sys/kernel/debug/pavo/direct");
	for (std::string line; std::getline(file, line);)
		count += line.find(" window ") != line.npos;
	return count;
}

/* Has a work request the range with that number, of the only window? */
bool has_request(uint32_t range)
{
	const auto lines = common::lines_of("/sys/kernel/debug/pavo/direct",
					    str("  range ", range, " "));

	return !lines.empty() && lines[0].find(" qp ") != std::string::npos;
}

/*
 * Close it at a priority above that of the kernel's threads. The work of a queue pair that waited
 * comes to the CPU of the process that closes, and so runs when the key is gone.
 */
void close_unhindered(Direct &window)
{
	const sched_param first = {.sched_priority = 50}, usual = {};

	REQUIRE_EQ(sched_setscheduler(0, SCHED_FIFO, &first), 0, "SCHED_FIFO");
	window.close();
	REQUIRE_EQ(sched_setscheduler(0, SCHED_OTHER, &usual), 0,
		   "SCHED_OTHER");
}

/* A turn of range 0 that is given up while its request is under way, and the next one. */
struct Successor {
	explicit Successor(Env &env)
		: env(env), first(connect(env, patient_link)),
		  second(connect(env)), window(env.a),
		  at_b(must_reg(env.b, {4096}, 1))
	{
	}

	void begin(bool read)
	{
		window.arm(0, 4096, read ? PAVO_DIRECT_READ : 0);
		post_direct(first.a,
			    read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			    window.sge(0, 4096), 0, {at_b});
		REQUIRE(eventually(env, [] { return has_request(0); }),
			"the request has the range");
		window.disarm(0);
		window.arm(0, 4096);
		window.store(0, 0, 2048, seed);
	}

	/* The next turn is as it was, and goes on by another queue pair. */
	void finish()
	{
		REQUIRE(window.valid(0) == Valid(1, 0),
			"the bus side still owns it");
		window.store(0, 2048, 2048, seed);
		window.count(0, 4096);
		post_direct(second.a, IBV_WR_RDMA_WRITE, window.sge(0, 4096), 1,
			    {at_b});
		expect_send(env, second.a, 1, "the next turn's");
		must_match(env.b, at_b, 0, 4096, seed, 0, "the next turn's");
		window.must_be_whole(env);
	}

	Env &env;
	const uint64_t seed = env.seed();
	Link first, second;
	Direct window;
	Mr at_b;
};

} // namespace

PV_TEST_LOCAL("direct.qp_error",
	      "a queue pair goes to ERR with ranges in every state: those of "
	      "its work requests are free, and all buffers are back")
{
	env.expect_async();
	DirectStates all(env);
	Qdisc cut(env.a, silence);

	all.begin_silent();
	for (Link &link : all.links)
		to_state(link.a, IBV_QPS_ERR);
	for (uint32_t i = 0; i < 5; i++) {
		const uint32_t ranges[] = {all.filling, all.loaded, all.halved,
					   all.sending, all.asked};

		expect_send(env, all.links[i].a, ranges[i], "flushed",
			    IBV_WC_WR_FLUSH_ERR);
		all.window.wait_valid(env, ranges[i], {0, 0}, "given up");
	}
	all.disarm_rest();
	all.window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.qp_reset",
	      "the same by RESET, and by the end of the queue pair")
{
	env.expect_async();
	for (bool destroy : {false, true}) {
		DirectStates all(env);
		Qdisc cut(env.a, silence);

		all.begin_silent();
		for (Link &link : all.links) {
			if (destroy)
				REQUIRE_EQ(env.a.destroy(Kind::qp,
							 link.a.qp.id),
					   0, "destroy_qp");
			else
				to_state(link.a, IBV_QPS_RESET);
		}
		all.disarm_rest();
		all.window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("direct.qp_gives_up",
	      "a peer that is gone ends the write, and its range is free")
{
	env.expect_async();
	Link link = connect(env, {.timeout = 8, .retry_count = 1});
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096});

	to_state(link.b, IBV_QPS_RESET);
	window.arm(1, 4096);
	window.put(1, 0, 4096, env.seed());
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(1, 4096), 1, {at_b});
	expect_send(env, link.a, 1, "write", IBV_WC_RETRY_EXC_ERR);
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.remote_error",
	      "a peer that refuses the bytes ends the write or the read, and "
	      "the range is free")
{
	env.expect_async();
	Direct window(env.a);

	for (bool read : {false, true}) {
		Link link = connect(env);
		Mr at_b = must_reg(env.b, {4096});

		at_b.rkey ^= 0xff00;
		window.arm(1, 4096, read ? PAVO_DIRECT_READ : 0);
		if (!read)
			window.put(1, 0, 4096, env.seed());
		post_direct(link.a, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
			    window.sge(1, 4096), 1, {at_b});
		expect_send(env, link.a, 1, "refused", IBV_WC_REM_ACCESS_ERR);
		window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("direct.disarm",
	      "ranges are given up in each state, but not while they are sent; "
	      "requests that wait for them end in error")
{
	env.expect_async();
	DirectStates all(env);

	for (uint32_t range : {all.filling, all.unposted, all.full, all.unasked,
			       all.loaded, all.halved})
		all.window.disarm(range);
	for (uint32_t i : {0u, 1u, 2u}) {
		Wc wc = wait_send(env, all.links[i].a, "given up");

		REQUIRE(wc.status != IBV_WC_SUCCESS, "link ", i);
	}
	all.window.must_be_whole(env);
	REQUIRE_EQ(all.window.try_disarm(all.filling), EBADF, "again");
}

PV_TEST_LOCAL("direct.next_turn",
	      "a range is given up and armed anew while its request is under "
	      "way: the request ends in error, and the next turn goes on")
{
	env.expect_async();
	for (bool read : {false, true}) {
		Successor turn(env);
		{
			Qdisc cut(env.a, silence);

			turn.begin(read);
			/* Nothing else tells of the end of a read without a response. */
			if (read)
				to_state(turn.first.a, IBV_QPS_ERR);
			REQUIRE(wait_send(env, turn.first.a, "given up")
						.status != IBV_WC_SUCCESS,
				"a request of a range that it does not own");
		}
		turn.finish();
	}
}

PV_TEST_LOCAL("direct.next_read",
	      "the response to a read whose range was given up does not come "
	      "into the next read of the range")
{
	env.expect_async();
	Direct window(env.a);
	Link link = connect(env, patient_link);
	Mr at_b = must_reg(env.b, {8192}, 1);
	Qdisc delay(env.b, "netem delay 500ms");
	Moved loaded(env.a, "direct_copied");

	for (uint32_t i : {0u, 1u}) {
		window.arm_read(0, 4096);
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(0, 4096), i,
			    {at_b, int64_t(i) * 4096});
		REQUIRE(eventually(env, [] { return has_request(0); }),
			"the request has the range");
		if (!i)
			window.disarm(0);
	}
	for (uint32_t i : {0u, 1u}) {
		const Wc wc = wait_send(env, link.a, "given up");

		REQUIRE(wc.status != IBV_WC_SUCCESS, "read ", i);
		REQUIRE_EQ(wc.id, i, "order");
	}
	REQUIRE_EQ(loaded.by(), 0u, "bytes of a response came into it");
	window.must_be_whole(env);
}

PV_TEST_LOCAL("direct.close",
	      "a window is closed with ranges in every state: what waits for "
	      "it ends, its mapping raises SIGBUS, its registers can be read")
{
	env.expect_async();
	const unsigned before = windows_shown();
	auto all = std::make_unique<DirectStates>(env);
	Qdisc cut(env.a, silence);
	int fd = dup(all->window.plain.fd);
	auto *ranges = static_cast<uint8_t *>(
		mmap(nullptr, all->window.plain.length, PROT_READ | PROT_WRITE,
		     MAP_SHARED, fd, 0));
	auto *registers = static_cast<const pavo_direct_register *>(
		mmap(nullptr, all->window.plain.registers_size, PROT_READ,
		     MAP_SHARED, fd, off_t(all->window.plain.length)));

	REQUIRE(ranges != MAP_FAILED && registers != MAP_FAILED, "mmap");
	all->begin_silent();
	REQUIRE_EQ(windows_shown(), before + 1, "a line for it");
	ranges[0] = 1;
	all->window.close();
	REQUIRE_EQ(windows_shown(), before, "no line");
	for (uint32_t range = 0; range < 8; range++)
		REQUIRE(raises_sigbus([&] { ranges[range * 4096] = 1; }),
			"range ", range);
	REQUIRE(!raises_sigbus([&] {
		static_cast<void>(*static_cast<const volatile uint32_t *>(
			&registers[0].uses));
	}),
		"registers");
	for (Link &link : all->links) {
		to_state(link.a, IBV_QPS_ERR);
		Wc wc = wait_send(env, link.a, "of a closed window");

		REQUIRE(wc.status != IBV_WC_SUCCESS, "it is closed");
	}
	munmap(ranges, 32 * 4096);
	::close(fd);
}

PV_TEST_LOCAL("direct.close_undrained",
	      "a read whose bytes lie in a window that is closed before they "
	      "are drained fails, also if its queue pair goes on later")
{
	env.expect_async();
	for (uint32_t drained : {0u, 100u}) {
		Link link = connect(env);
		Direct window(env.a);
		Mr at_b = must_reg(env.b, {4096}, 1);

		window.arm_read(0, 4096);
		post_direct(link.a, IBV_WR_RDMA_READ, window.sge(0, 4096), 0,
			    {at_b});
		window.wait_valid(env, 0, {1, 0}, "response");
		if (drained)
			window.count(0, drained);
		close_unhindered(window);
		REQUIRE(wait_send(env, link.a, "undrained").status !=
				IBV_WC_SUCCESS,
			drained, " bytes drained, ", 4096 - drained, " lost");
	}
}

PV_TEST_LOCAL("direct.killed",
	      "a process is killed with ranges in every state: nothing of its "
	      "window is left")
{
	const unsigned before = windows_shown();
	int down[2], up[2];
	char what = 0;

	REQUIRE(!pipe2(down, O_CLOEXEC) && !pipe2(up, O_CLOEXEC), "pipe");
	common::Child child([&] {
		LocalHost a(env.device_a), b(env.device_b);
		Env mine(a, b, env.options, env.device_a, env.device_b);
		DirectStates all(mine);

		(void)!write(up[1], "a", 1);
		if (read(down[0], &what, 1) == 1) {
			all.begin_silent();
			(void)!write(up[1], "b", 1);
			pause();
		}
	});
	::close(up[1]);
	REQUIRE_EQ(read(up[0], &what, 1), 1, "the child");
	{
		Qdisc cut(env.a, silence);

		(void)!write(down[1], "a", 1);
		REQUIRE_EQ(read(up[0], &what, 1), 1, "the child");
		REQUIRE_EQ(what, 'b', "the child");
		REQUIRE_EQ(windows_shown(), before + 1, "its window");
		child.kill_now();
	}
	for (int end : {down[0], down[1], up[0]})
		::close(end);
	REQUIRE(eventually(env, [&] { return windows_shown() == before; }),
		"its window is still there");
	Link link = connect(env);

	prove_alive(env, link);
}

PV_TEST_LOCAL("direct.file_outlives",
	      "the file of a window that is closed holds its memory and says "
	      "that it is closed; the last to go ends it")
{
	Direct window(env.a);
	int fd = dup(window.plain.fd);
	char byte = 1;

	window.arm(0, 1);
	window.close();
	REQUIRE_EQ(pwrite(fd, &byte, 1, 0), -1, "pwrite");
	REQUIRE_EQ(errno, EIO, "pwrite");
	REQUIRE_EQ(pread(fd, &byte, 1, 0), -1, "pread");
	REQUIRE_EQ(errno, EIO, "pread");
	pollfd look = {fd, POLLIN | POLLOUT, 0};

	REQUIRE_EQ(poll(&look, 1, 0), 1, "poll");
	REQUIRE(look.revents & POLLHUP, "POLLHUP");
	REQUIRE(!(look.revents & POLLOUT), "POLLOUT");
	::close(fd);
}

PV_TEST_LOCAL("direct.fork",
	      "a child has the file, and may be a writer of a range, but no "
	      "mapping")
{
	Link link = connect(env);
	Direct window(env.a);
	Mr at_b = must_reg(env.b, {4096}, 1);
	uint64_t seed = env.seed();

	window.arm(2, 4096);
	post_direct(link.a, IBV_WR_RDMA_WRITE, window.sge(2, 4096), 2, {at_b});
	window.store(2, 0, 2048, seed);
	window.count(2, 2048);
	common::Child child([&] {
		REQUIRE(msync(window.memory(2), 4096, MS_ASYNC), "mapped");
		REQUIRE_EQ(window.try_put(2, 2048, 2048, seed), 0, "put");
	});

	child.must_end_well();
	expect_send(env, link.a, 2, "write");
	must_match(env.b, at_b, 0, 4096, seed, 0, "of two processes");
}
