// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * I/Os that the module does by controllers: they access the pages of ranges, and their interrupts
 * send. One that is late finds its buffer in quarantine, whatever has become of the rest.
 */
#include <cerrno>

#include <unistd.h>

#include "../common/child.h"
#include "../common/files.h"
#include "../common/pattern.h"
#include "../verbs/direct_ios.h"
#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "held.h"
#include "stuck_file.h"

using namespace pv;

namespace {

constexpr pavodv_direct_attr small_pool = {0, 2, direct_size, 2};

/* I/Os in flight, of closed windows, too. */
unsigned in_flight()
{
	return unsigned(common::number_behind(
		"/sys/kernel/debug/pavo/direct_ios", "ios"));
}

/* One I/O from a disk that holds it back, for a write that waits. */
void begin_held(DirectWriting &w, const HeldDisk &disk)
{
	Ios one(w);

	one.add(0, direct_size, disk.fd(), 0);
	one.start();
	none_sent(w.link.a, 50, "the disk has not moved a byte");
	REQUIRE_EQ(in_flight(), 1u, "I/Os in flight");
	REQUIRE(raises_sigbus([&] { *w.window.memory(0) = 1; }),
		"a process reaches the range");
	REQUIRE_EQ(w.window.try_put(0, 0, 1, 1), EBADF, "by the file");
}

/* The disk goes on: the buffer returns, and no I/O is left. */
void must_end(Env &env, Suspended &suspended)
{
	REQUIRE_EQ(in_flight(), 1u, "it was not held back");
	suspended.resume();
	REQUIRE(eventually(env, [] { return in_flight() == 0; }),
		"I/Os in flight");
}

/* The I/O ends while the next window is filled, and no byte of that is the I/O's. */
void next_window_is_apart(Env &env, Suspended &suspended)
{
	DirectWriting w(env, {}, small_pool);
	const uint64_t seed = env.seed();

	w.window.arm(0, direct_size);
	w.post(0, direct_size);
	w.window.store(0, 0, direct_size, seed);
	must_end(env, suspended);
	w.window.count(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "the next window's");
	w.window.must_be_whole(env);
}

} // namespace

PV_TEST_LOCAL("io.fill",
	      "controllers read into ranges, and their completions send: each "
	      "byte is the disk's, and the adapter copies none")
{
	for (const char *serial : {nvme_a, virtio}) {
		const BlockDisk disk(serial);
		const uint64_t seed = env.seed();
		DirectWriting w(env, {.mtu = 0}, {0, 8, 65536, 8});
		Moved copied(env.a, "direct_copied");
		Ios all(w);

		disk.fill(0, 8 * 65536, seed);
		for (uint32_t range = 0; range < 8; range++)
			all.add(range, 65536 - range * block, disk.fd(),
				range * 65536);
		all.start();
		for (uint32_t range = 0; range < 8; range++) {
			w.expect(range, "write");
			must_match(env.b, w.at_b, int64_t(range) * 65536,
				   65536 - range * block, seed, range * 65536,
				   serial);
		}
		REQUIRE_EQ(copied.by(), 0u, "copied bytes");
		w.window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("io.drain",
	      "controllers write responses to their disks, and the read ends "
	      "when they have")
{
	for (const char *serial : {nvme_a, virtio}) {
		const BlockDisk disk(serial);
		const uint64_t seed = env.seed();
		DirectWriting w(env, {}, {0, 4, 65536, 4});
		Mr source = must_reg(env.b, {4 * 65536}, seed);

		w.at_b = source;
		disk.fill(0, 4 * 65536, env.seed());
		Ios all(w);

		for (uint32_t range = 0; range < 4; range++)
			all.add(range, 65536, disk.fd(), range * 65536, true);
		all.start();
		for (uint32_t range = 0; range < 4; range++)
			w.expect(range, "read");
		disk.must_hold(0, 4 * 65536, seed, 0, serial);
		w.window.must_be_whole(env);
	}
}

PV_TEST_LOCAL("io.refused_by_disk",
	      "a length that the disk does not take fails the request, and "
	      "nothing is sent")
{
	env.expect_async();
	const BlockDisk disk(nvme_a);
	DirectWriting w(env);
	Ios odd(w);

	odd.add(0, 1000, disk.fd(), 0);
	odd.start();
	w.expect(0, "not of whole blocks", IBV_WC_LOC_QP_OP_ERR);
	REQUIRE_EQ(w.window.reg(0).error, EINVAL, "of the disk");
	must_match(env.b, w.at_b, 0, 4096, 1, 0, "nothing was written");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("io.held",
	      "a disk holds an I/O back: the request waits, no process "
	      "reaches the range, and the last byte sends")
{
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);
	const uint64_t seed = env.seed();
	DirectWriting w(env, {}, small_pool);

	disk.fill(0, direct_size, seed);
	Suspended suspended(held);

	begin_held(w, held);
	must_end(env, suspended);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "read and sent");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("io.queue_pair_fails",
	      "a queue pair fails while a disk holds its I/O back: the "
	      "request is flushed at once, the buffer is in quarantine, and "
	      "the next use of the range has no byte of it")
{
	env.expect_async();
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);
	DirectWriting w(env, {}, small_pool);

	disk.fill(0, direct_size, env.seed());
	Suspended suspended(held);

	begin_held(w, held);
	const uint32_t buffer = w.window.reg(0).buffer;

	to_state(w.link.a, IBV_QPS_ERR);
	w.expect(0, "flushed", IBV_WC_WR_FLUSH_ERR);
	reconnect(w.link);
	REQUIRE(eventually(env,
			   [&] { return !w.window.try_arm(0, direct_size); }),
		"the range is not free");
	REQUIRE(w.window.reg(0).buffer != buffer, "the buffer of the disk");
	REQUIRE_EQ(w.window.try_arm(1, 1), EAGAIN, "it is in quarantine");
	const uint64_t seed = env.seed();

	w.post(0, direct_size);
	w.window.store(0, 0, direct_size, seed);
	must_end(env, suspended);
	w.window.count(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, seed, "the next use's");
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("io.window_closed",
	      "a window is closed while a disk holds its I/O back: the I/O is "
	      "seen until it ends, and the next window has no byte of it")
{
	env.expect_async();
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);

	disk.fill(0, direct_size, env.seed());
	Suspended suspended(held);
	{
		DirectWriting closed(env, {}, small_pool);

		begin_held(closed, held);
		closed.window.close();
	}
	next_window_is_apart(env, suspended);
}

PV_TEST_LOCAL("io.process_killed",
	      "a process is killed while a disk holds its I/O back: its "
	      "adapter's objects are gone, the I/O is seen until it ends, and "
	      "the next window has no byte of it")
{
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);
	int ready[2];

	disk.fill(0, direct_size, env.seed());
	Suspended suspended(held);

	REQUIRE(!pipe(ready), "pipe");
	common::Child child([&] {
		LocalHost a(env.device_a), b(env.device_b);
		Env own(a, b, env.options, env.device_a, env.device_b);
		DirectWriting killed(own, {}, small_pool);

		begin_held(killed, held);
		if (write(ready[1], "", 1) == 1)
			pause();
	});
	char byte;

	close(ready[1]);
	REQUIRE_EQ(read(ready[0], &byte, 1), 1, "the process has begun");
	close(ready[0]);
	child.kill_now();
	REQUIRE(eventually(
			env,
			[] {
				return common::lines_of(
					       "/sys/kernel/debug/pavo/direct",
					       "")
					.empty();
			}),
		"its window");
	next_window_is_apart(env, suspended);
}

PV_TEST_LOCAL("io.never_answered",
	      "a file system never answers: the queue pair fails and the file "
	      "is closed at once, the range gets another buffer, and the I/O "
	      "is seen until the file system ends")
{
	env.expect_async();
	StuckFile file(1 << 20);
	DirectWriting w(env, {}, small_pool);
	Ios one(w);

	one.add(0, direct_size, file.fd(), 0);
	one.start();
	REQUIRE(eventually(env, [&] { return file.reads() > 0; }), "a read");
	const uint32_t buffer = w.window.reg(0).buffer;

	none_sent(w.link.a, 50, "the file system has not answered");
	to_state(w.link.a, IBV_QPS_ERR);
	w.expect(0, "flushed", IBV_WC_WR_FLUSH_ERR);
	reconnect(w.link);
	file.close_file();
	REQUIRE(eventually(env, [&] { return !w.window.try_arm(0, 1); }),
		"the range is not free");
	REQUIRE(w.window.reg(0).buffer != buffer, "the buffer of the I/O");
	w.window.disarm(0);
	w.write(0, direct_size);
	REQUIRE_EQ(in_flight(), 1u, "I/Os in flight");
	file.end_server();
	REQUIRE(eventually(env, [] { return in_flight() == 0; }),
		"I/Os in flight");
	w.window.must_be_whole(env);
}
