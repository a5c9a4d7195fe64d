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

#include <unistd.h>

#include "../common/files.h"
#include "../common/slow_kernel.h"
#include "link.h"
#include "tap.h"

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

/* The witness is never without a CPU for longer, in one round at least. */
template <class Drive> void must_share(const char *what, Drive &&drive)
{
	auto best = nanoseconds::max();

	for (int i = 0; i < rounds && best >= longest_allowed; i++) {
		Witness witness;

		drive();
		best = std::min(best, witness.end());
	}
	note(str(what, ": ", duration_cast<microseconds>(best).count(), " us"));
	REQUIRE(best < longest_allowed, what, ": a witness had no CPU for ",
		duration_cast<milliseconds>(best).count(), " ms");
}

/* What the module counted of a kind of loop. */
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
	const uint32_t depth = scaled(512);
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
		const Loop before = loop_of("inside");

		send_all(inside.env, link,
			 make_wr(op, at_a, long_message, at_b), 16);
		must_have_ended("inside", before);
	}
	prove_alive(inside.env, link);
}
