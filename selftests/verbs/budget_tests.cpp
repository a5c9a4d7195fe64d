// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Loops of the module on behalf of a process: none keeps a CPU from other tasks. A test drives a
 * loop to its bound, while a witness looks how long it is without a CPU; and the module counts
 * how much it did in a row (/sys/kernel/debug/pavo/budgets).
 *
 * A busy host takes the CPU from the guest now and then, so the best of some rounds counts. A loop
 * without a budget fails in each: its work is so much that it takes ten times as long.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <sched.h>
#include <unistd.h>

#include "../common/files.h"
#include "../common/slow_kernel.h"
#include "link.h"
#include "tap.h"
#include "ud.h"

using namespace pv;
using namespace std::chrono;

namespace {

/* kernel/budget.h, and what a loop may do in its last step: one more slice. */
constexpr uint64_t slice_packets = 512, slice_bytes = 4 << 20;

constexpr auto longest_allowed = milliseconds(50);
constexpr int rounds = 5;
constexpr uint64_t long_message = 4 << 20;

/* A thread that sleeps and wakes; it notes the longest time between two wakings. */
class Witness {
public:
	Witness() : thread_([this] { watch(); })
	{
		while (!wakings_)
			usleep(100);
	}

	~Witness()
	{
		if (thread_.joinable())
			end();
	}
	Witness(const Witness &) = delete;

	/* It has woken up once more. */
	nanoseconds end()
	{
		stop_ = true;
		thread_.join();
		return longest_;
	}

private:
	void watch()
	{
		auto last = steady_clock::now();

		for (bool stop = false; !stop; wakings_++) {
			stop = stop_;
			usleep(200);
			const auto now = steady_clock::now();

			longest_ = std::max<nanoseconds>(longest_, now - last);
			last = now;
		}
	}

	std::atomic<bool> stop_ = false;
	std::atomic<uint64_t> wakings_ = 0;
	nanoseconds longest_ = {};
	std::thread thread_; /* last: it uses the others */
};

int64_t ms(nanoseconds time)
{
	return duration_cast<milliseconds>(time).count();
}

/*
 * The witness is never without a CPU for longer, in one round at least. Where the host gives the
 * guest a part of a CPU only, all takes longer: then a twentieth of the whole is allowed.
 */
template <class Drive> void must_share(const char *what, Drive &&drive)
{
	nanoseconds gap, all;
	int left = rounds;

	do {
		Witness witness;
		const auto begin = steady_clock::now();

		drive();
		all = steady_clock::now() - begin;
		gap = witness.end();
	} while (gap >= longest_allowed && gap >= all / 20 && --left);
	note(str(what, ": ", ms(gap), " of ", ms(all), " ms"));
	REQUIRE(left, what, ": a witness had no CPU for ", ms(gap), " of ",
		ms(all), " ms");
}

/* The counts of a kind of loop. */
struct Loop {
	uint64_t used_up, most_packets, most_bytes;
};

Loop loop_of(const std::string &name)
{
	const std::string file = "/sys/kernel/debug/pavo/budgets";
	const auto lines = common::lines_of(file, name + " ");
	Loop loop = {};

	REQUIRE_EQ(lines.size(), 1u, name, " of ", file);
	REQUIRE_EQ(sscanf(lines[0].c_str(),
			  "%*s used_up %lu most_packets %lu most_bytes %lu",
			  &loop.used_up, &loop.most_packets, &loop.most_bytes),
		   3, lines[0]);
	return loop;
}

/* It ended with work left more often than before, and did not do too much in a row. */
void must_have_ended(const std::string &name, const Loop &before)
{
	const Loop now = loop_of(name);

	note(str(name, ": used up ", now.used_up - before.used_up, ", at most ",
		 now.most_packets, " packets, ", now.most_bytes, " bytes"));
	REQUIRE(now.used_up > before.used_up, name, " was not used up");
	REQUIRE(now.most_packets <= 2 * slice_packets, name, ": ",
		now.most_packets, " packets in a row");
	REQUIRE(now.most_bytes <= 2 * slice_bytes, name, ": ", now.most_bytes,
		" bytes in a row");
}

/* Both ends on one adapter: packets between them stay inside. */
struct Inside {
	explicit Inside(Env &env)
		: a(env.device_a), b(env.device_a),
		  env(a, b, env.options, env.device_a, env.device_a)
	{
	}

	LocalHost a, b;
	Env env;
};

/* Requests of which the last one tells its end. */
std::vector<SendWr> many(const SendWr &wr, uint32_t count)
{
	std::vector<SendWr> wrs(count, wr);

	for (SendWr &one : wrs)
		one.flags = 0;
	wrs.back().flags = IBV_SEND_SIGNALED;
	return wrs;
}

ibv_qp_cap deep(uint32_t depth)
{
	return {depth, 64, 1, 1, 0};
}

/* Post @count requests with one call, and wait until the last is done. */
void send_all(Env &env, Link &link, const SendWr &wr, uint32_t count)
{
	must_post(link.a, many(wr, count));
	wait_completions(env, link.a, link.a.send_cq, 1, "the last",
			 uint64_t(count) * long_message);
}

uint32_t scaled(uint32_t count)
{
	return common::slow_kernel() ? count / 16 : count;
}

} // namespace

PV_TEST_LOCAL("budget.inside",
	      "writes and reads of 4 MiB between two queue pairs of one adapter "
	      "leave the CPU to others")
{
	Inside inside(env);
	const uint32_t depth = scaled(1024);
	Link link = connect(inside.env, {.cap = deep(depth)});
	Place at_a = {must_reg(inside.a, {long_message})},
	      at_b = {must_reg(inside.b, {long_message})};

	for (Op op : {Op::write, Op::read})
		must_share(name_of(op), [&] {
			send_all(inside.env, link,
				 make_wr(op, at_a, long_message, at_b), depth);
		});
}

PV_TEST_LOCAL("budget.inside_counted",
	      "packets of one adapter to itself are executed in slices")
{
	Inside inside(env);
	Link link = connect(inside.env, {.cap = deep(16)});
	Place at_a = {must_reg(inside.a, {long_message})},
	      at_b = {must_reg(inside.b, {long_message})};

	for (Op op : {Op::write, Op::read}) {
		const Loop before = loop_of("loopback");

		send_all(inside.env, link,
			 make_wr(op, at_a, long_message, at_b), 16);
		must_have_ended("loopback", before);
	}
	prove_alive(inside.env, link);
}

PV_TEST_LOCAL("budget.rings",
	      "full rings of requests of every kind between two queue pairs of "
	      "one adapter leave the CPU to others")
{
	Inside inside(env);
	const uint32_t depth = scaled(16384);
	Place at_a = {must_reg(inside.a, {4096})},
	      at_b = {must_reg(inside.b, {4096})};

	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
		Link link =
			connect(inside.env, {.type = type, .cap = deep(depth)});

		must_share(type == IBV_QPT_RC ? "RC writes" : "UC writes", [&] {
			send_all(inside.env, link,
				 make_wr(Op::write, at_a, 4096, at_b), depth);
		});
		if (type == IBV_QPT_UC)
			continue;
		SendWr atomic = make_wr(Op::read, at_a, 8, at_b);

		atomic.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		must_share("atomics",
			   [&] { send_all(inside.env, link, atomic, depth); });
	}
}

PV_TEST_LOCAL("budget.long_uc",
	      "UC writes of 4 MiB on one adapter leave the CPU to others, and "
	      "none is lost in the queue")
{
	Inside inside(env);
	const uint32_t depth = scaled(128);
	Link link =
		connect(inside.env, {.type = IBV_QPT_UC, .cap = deep(depth)});
	Place at_a = {must_reg(inside.a, {long_message})},
	      at_b = {must_reg(inside.b, {long_message})};

	must_share("UC", [&] {
		send_all(inside.env, link,
			 make_wr(Op::write, at_a, long_message, at_b), depth);
	});
	exchange(inside.env, link.a, link.b, Op::write_imm, at_a, at_b,
		 long_message);
}

PV_TEST_LOCAL("budget.datagrams",
	      "a ring full of datagrams to the same adapter and to another one "
	      "leaves the CPU to others")
{
	Mr out = must_reg(env.a, {4096});
	Side side = ud::make_ud(env.a, env.info_a, 0, scaled(16384));

	for (const HostInfo &to : {env.info_a, env.info_b}) {
		SendWr wr = ud::datagram(out, 1024, ud::must_ah(env.a, to.gid),
					 side.qp.number);

		must_share("datagrams", [&] {
			must_post(side, many(wr, scaled(16384)));
			wait_completions(env, side, side.send_cq, 1,
					 "the last");
		});
	}
}

PV_TEST_LOCAL("budget.flush",
	      "rings of 16,384 requests and receives are flushed while others "
	      "have the CPU")
{
	const uint32_t depth = scaled(16384);
	Cq cq = env.a.create_cq(int(2 * depth), false);

	REQUIRE_EQ(cq.error, 0);
	Link link = connect(env, {.cap = {depth, depth, 1, 1, 0}, .cq_a = cq});
	Place none = {must_reg(env.a, {8})};

	env.expect_async();
	must_share("flush", [&] {
		to_state(link.a, IBV_QPS_ERR);
		must_post(link.a, numbered_receives(0, depth));
		must_post(link.a, std::vector<SendWr>(depth, make_wr(Op::send,
								     none, 8)));
		wait_completions(env, link.a, cq, 2 * depth, "all flushed");
		reconnect(link);
	});
}

PV_TEST_LOCAL("budget.overrun",
	      "completion queues of many queue pairs overrun while others have "
	      "the CPU")
{
	constexpr uint32_t count = 256;
	Cq cq = env.a.create_cq(1, false);
	std::vector<Link> links;

	REQUIRE_EQ(cq.error, 0);
	env.expect_async();
	for (uint32_t i = 0; i < count; i++)
		links.push_back(connect(env, {.cap = deep(1), .cq_a = cq}));
	must_share("overrun", [&] {
		for (Link &link : links)
			if (state_of(link.a) == IBV_QPS_RTS)
				env.a.post_send(link.a.qp.id,
						{make_wr(Op::write, {}, 0)});
		for (Link &link : links)
			wait_state(env, link.a, IBV_QPS_ERR);
	});
}

PV_TEST_LOCAL("budget.timers",
	      "timers of many queue pairs that expire at once are left to works")
{
	constexpr uint32_t count = 64;
	LinkSpec spec;
	std::vector<Link> links;

	spec.cap = deep(1);
	spec.timeout = 14; /* 67 ms, each a sixteenth later at most */
	spec.retry_count = 1;
	for (uint32_t i = 0; i < count; i++) {
		links.push_back(connect(env, spec));
		to_state(links.back().b, IBV_QPS_RESET);
	}
	env.expect_async();
	const Loop before = loop_of("timers");

	for (Link &link : links)
		must_post(link.a, make_wr(Op::send, {}, 0));
	for (Link &link : links)
		REQUIRE_EQ(int(wait_send(env, link.a, "unanswered").status),
			   IBV_WC_RETRY_EXC_ERR);
	const Loop now = loop_of("timers");

	note(str("timers: used up ", now.used_up - before.used_up));
	REQUIRE(now.used_up > before.used_up, "no timer was left to a work");
	REQUIRE(now.most_packets <= 16, now.most_packets, " timers in a tick");
}

PV_TEST_TWO_CPUS("budget.moves",
		 "a sender of UC that changes its CPU overtakes none of its "
		 "packets on one adapter")
{
	constexpr uint32_t messages = 12, turns = 4; /* more than its slices */
	Inside inside(env);
	Link link = connect(inside.env,
			    {.type = IBV_QPT_UC,
			     .cap = {messages, messages * turns, 1, 1, 0}});
	Place at_a = {must_reg(inside.a, {long_message})},
	      at_b = {must_reg(inside.b, {long_message})};
	cpu_set_t before;

	REQUIRE_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	must_post(link.b, numbered_receives(0, messages * turns));
	for (uint32_t i = 0; i < turns; i++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(i % 2, &one);
		REQUIRE_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
		send_all(inside.env, link,
			 make_wr(Op::write_imm, at_a, long_message, at_b),
			 messages);
	}
	sched_setaffinity(0, sizeof(before), &before);
	wait_completions(inside.env, link.b, link.b.recv_cq, messages * turns,
			 "messages", messages * turns * long_message);
}
