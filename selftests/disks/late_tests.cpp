// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Controllers that are late: they move bytes of a use that is over. The buffer of that use is
 * in quarantine until then, and no byte comes into another use or out of it.
 */
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "../common/files.h"
#include "../common/pattern.h"
#include "../verbs/direct.h"
#include "../verbs/manager.h"
#include "../verbs/tap.h"
#include "held.h"

using namespace pv;

namespace {

constexpr uint32_t half = direct_size / 2;
constexpr pavodv_direct_attr two_buffers = {0, 2, direct_size, 2};

/* Buffers in quarantine of the only window, as /sys/kernel/debug shows it. */
unsigned quarantined()
{
	return unsigned(common::number_behind("/sys/kernel/debug/pavo/direct",
					      "quarantined"));
}

/* The tool as people see it; guest.sh tells where it is. */
std::string status_of(Env &env)
{
	const char *tool = getenv("PAVO_TOOL");

	if (!tool)
		throw Skip("no PAVO_TOOL");
	const std::string command =
		std::string(tool) + " status " + env.device_a.device;
	FILE *pipe = popen(command.c_str(), "re");
	std::string said;

	REQUIRE(pipe, "popen");
	for (int c; (c = fgetc(pipe)) != EOF;)
		said += char(c);
	pclose(pipe);
	return said;
}

/* The use does not end while the disk is at work: a second passes, and no byte counts. */
void must_stay_open(Direct &window, uint32_t range)
{
	using std::chrono::seconds;
	const auto begin = std::chrono::steady_clock::now();

	REQUIRE_EQ(window.try_count(range, direct_size), EBUSY,
		   "the disk has it");
	const auto waited = std::chrono::steady_clock::now() - begin;

	/* A busy host takes its time, but not for each look at the buffer. */
	REQUIRE(waited >= seconds(1) && waited < seconds(10), "waited for ",
		std::chrono::duration<double>(waited).count(), " s");
	REQUIRE(window.valid(range) == Valid(1, 0),
		"the bus side still owns it");
	REQUIRE_EQ(window.reg(range).count, 0u, "no byte counts");
}

/* The range is given up and armed anew at once, with another buffer. Return: the first. */
uint32_t rearm(Direct &window, uint32_t range)
{
	const uint32_t before = window.reg(range).buffer;

	window.disarm(range);
	window.arm(range, direct_size);
	REQUIRE(window.reg(range).buffer != before,
		"the buffer that the disk has");
	return before;
}

void must_be_quarantined(Env &env, bool is)
{
	REQUIRE(eventually(env, [&] { return quarantined() == unsigned(is); }),
		quarantined(), " in quarantine");
	REQUIRE_EQ(status_of(env).find("1 of them still in use by a device") !=
			   std::string::npos,
		   is, "pavo status");
}

/* The next use of a range while a disk has the buffer of the one before. */
class NextTurn {
public:
	NextTurn(DirectWriting &w, uint32_t range)
		: w_(w), range_(range), seed_(w.env.seed()),
		  behind_(w.window.memory(range, half),
			  w.window.memory(range, half) + half)
	{
		w_.post(range_, direct_size);
		w_.window.store(range_, 0, half, seed_);
	}

	/* The disk is through: all bytes are as they were; the rest follows, and the peer's. */
	void finish()
	{
		REQUIRE(pattern_verify(w_.window.memory(range_), half, seed_,
				       0) < 0,
			"a stray byte in the first half");
		REQUIRE(std::equal(behind_.begin(), behind_.end(),
				   w_.window.memory(range_, half)),
			"a stray byte in the second half");
		none_sent(w_.link.a, 10, "before it is told");
		w_.window.store(range_, half, half, seed_);
		w_.window.count(range_, direct_size);
		w_.expect(range_, "write");
		w_.must_hold(range_, direct_size, seed_, "the next use's");
	}

private:
	DirectWriting &w_;
	uint32_t range_;
	uint64_t seed_;
	std::vector<uint8_t> behind_;
};

/* That buffer, which no use had since, holds what the disk wrote. */
void must_have_written(Env &env, Direct &window, uint32_t buffer, uint64_t seed)
{
	bool seen = false;

	REQUIRE(eventually(env, [&] { return quarantined() == 0; }),
		"quarantine");
	for (uint32_t range : {0u, 1u}) {
		window.arm(range, direct_size);
		if (window.reg(range).buffer != buffer)
			continue;
		seen = true;
		REQUIRE(pattern_verify(window.memory(range), direct_size, seed,
				       0) < 0,
			"the disk wrote elsewhere");
	}
	REQUIRE(seen, "buffer ", buffer);
	window.disarm(0);
	window.disarm(1);
}

} // namespace

PV_TEST_LOCAL("late.held_fill",
	      "a disk fills a range after its use was given up: the use does "
	      "not end before, the buffer is in quarantine, and the next use "
	      "of the range has no byte of it")
{
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);
	const uint64_t seed = env.seed();

	disk.fill(0, direct_size, seed);
	DirectWriting w(env, {}, two_buffers);
	Transfer transfer;
	Suspended suspended(held);

	w.window.arm(0, direct_size);
	transfer.begin_read(held.fd(), {{w.window.memory(0), direct_size}}, 0);
	must_stay_open(w.window, 0);
	REQUIRE(!transfer.is_over(), "it was not held back");
	const uint32_t buffer = rearm(w.window, 0);

	must_be_quarantined(env, true);
	REQUIRE_EQ(w.window.try_arm(1, direct_size), EAGAIN,
		   "no buffer is left");
	NextTurn next(w, 0);

	REQUIRE(!transfer.is_over(), "it was not held back");
	suspended.resume();
	transfer.wait();
	next.finish();
	must_be_quarantined(env, false);
	must_have_written(env, w.window, buffer, seed);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("late.queue_pair_fails",
	      "a queue pair fails while a disk fills the range of its request: "
	      "the request is flushed at once, and the next use of the range "
	      "has no byte of the disk")
{
	env.expect_async();
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);
	const uint64_t seed = env.seed();

	disk.fill(0, direct_size, seed);
	DirectWriting w(env, {}, two_buffers);
	Transfer transfer;
	Suspended suspended(held);

	w.window.arm(0, direct_size);
	w.post(0, direct_size);
	transfer.begin_read(held.fd(), {{w.window.memory(0), direct_size}}, 0);
	const uint32_t buffer = w.window.reg(0).buffer;

	to_state(w.link.a, IBV_QPS_ERR);
	w.expect(0, "flushed", IBV_WC_WR_FLUSH_ERR);
	reconnect(w.link);
	REQUIRE(eventually(env,
			   [&] { return !w.window.try_arm(0, direct_size); }),
		"the range is not free");
	REQUIRE(w.window.reg(0).buffer != buffer, "the buffer of the disk");
	must_be_quarantined(env, true);
	NextTurn next(w, 0);

	REQUIRE(!transfer.is_over(), "it was not held back");
	suspended.resume();
	transfer.wait();
	next.finish();
	must_be_quarantined(env, false);
	must_have_written(env, w.window, buffer, seed);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("late.window_closed",
	      "a window is closed while a disk fills a range of it: the next "
	      "window has no byte of the disk")
{
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);
	Transfer transfer;
	Suspended suspended(held);
	Direct closed(env.a, two_buffers);

	closed.arm(0, direct_size);
	transfer.begin_read(held.fd(), {{closed.memory(0), direct_size}}, 0);
	closed.close();
	DirectWriting w(env, {}, two_buffers);

	for (uint32_t range : {0u, 1u})
		w.window.arm(range, direct_size);
	NextTurn first(w, 0), second(w, 1);

	REQUIRE(!transfer.is_over(), "it was not held back");
	suspended.resume();
	transfer.wait();
	first.finish();
	second.finish();
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("late.held_drain",
	      "a disk takes a response after its use was given up: it gets "
	      "that response, and no byte of the next use")
{
	env.expect_async();
	const BlockDisk disk(nvme_b);
	const HeldDisk held(disk, 1 << 20);

	disk.fill(0, direct_size, env.seed());
	DirectWriting w(env, {}, two_buffers);
	const uint64_t seed = env.seed(), second = env.seed();
	Mr source = must_reg(env.b, {direct_size}, seed);
	Transfer transfer;
	Suspended suspended(held);

	w.window.arm_read(0, direct_size, PAVO_DIRECT_WHOLE);
	post_direct(w.link.a, IBV_WR_RDMA_READ, w.window.sge(0, direct_size), 0,
		    {source});
	w.window.wait_valid(env, 0, {1, 0}, "response");
	transfer.begin_write(held.fd(), {{w.window.memory(0), direct_size}}, 0);
	must_stay_open(w.window, 0);
	rearm(w.window, 0);
	REQUIRE(wait_send(env, w.link.a, "given up").status != IBV_WC_SUCCESS,
		"a read without its range");
	reconnect(w.link);
	must_be_quarantined(env, true);
	w.window.store(0, 0, direct_size, second);
	w.window.count(0, direct_size);
	w.post(0, direct_size);
	w.expect(0, "write");
	w.must_hold(0, direct_size, second, "the next use's");
	REQUIRE(!transfer.is_over(), "it was not held back");
	suspended.resume();
	transfer.wait();
	disk.must_hold(0, direct_size, seed, 0, "of the first use");
	must_be_quarantined(env, false);
	w.window.must_be_whole(env);
}

PV_TEST_LOCAL("late.controller",
	      "a controller that has been told to fill a range does so a "
	      "second later, when another use of it is under way: no byte of "
	      "that is another")
{
	const BlockDisk disk(late);
	const uint64_t seed = env.seed();
	unsigned in_time = 0;

	disk.fill(0, direct_size, seed);
	DirectWriting w(env, {}, two_buffers);
	Transfer transfer;

	/* On a slow host the next use may begin too late. */
	for (int round = 0; round < 10 && in_time < 2; round++) {
		/* It takes one transfer a second, and this one. */
		disk.get(0, direct_size);
		w.window.arm(0, direct_size);
		transfer.begin_read(disk.fd(),
				    {{w.window.memory(0), direct_size}}, 0);
		const uint32_t buffer = rearm(w.window, 0);
		NextTurn next(w, 0);

		if (!transfer.is_over()) {
			REQUIRE_EQ(quarantined(), 1u, "in quarantine");
			in_time++;
		}
		transfer.wait();
		next.finish();
		must_have_written(env, w.window, buffer, seed);
	}
	REQUIRE(in_time, "the controller was never late");
	w.window.must_be_whole(env);
}
