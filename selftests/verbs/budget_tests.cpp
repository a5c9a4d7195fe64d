// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Loops of the module on behalf of a process: none keeps a CPU from other tasks (witness.h). A test
 * drives a loop to its bound. Here: packets, their queues and completions; budget_walk_tests.cpp
 * has the loops over objects.
 */
#include <sched.h>

#include "manager.h"
#include "qdisc.h"
#include "ud.h"
#include "witness.h"

using namespace pv;

namespace {

/* Both ends on one adapter: packets between them are looped back. */
struct Loopback {
	explicit Loopback(Env &env)
		: a(env.device_a), b(env.device_a),
		  env(a, b, env.options, env.device_a, env.device_a)
	{
	}

	LocalHost a, b;
	Env env;
};

/* Post @count requests with one call, and wait until the last is done. */
void send_all(Env &env, Link &link, const SendWr &wr, uint32_t count)
{
	must_post(link.a, many(wr, count));
	wait_completions(env, link.a, link.a.send_cq, 1, "the last",
			 uint64_t(count) * long_message);
}

} // namespace

PV_TEST_LOCAL("budget.loopback",
	      "writes and reads of 4 MiB between two queue pairs of one adapter "
	      "leave the CPU to others")
{
	Loopback loopback(env);
	const uint32_t depth = scaled(1024);
	Link link = connect(loopback.env, {.cap = deep(depth)});
	Place at_a = {must_reg(loopback.a, {long_message})},
	      at_b = {must_reg(loopback.b, {long_message})};

	for (Op op : {Op::write, Op::read})
		must_share(name_of(op), [&] {
			send_all(loopback.env, link,
				 make_wr(op, at_a, long_message, at_b), depth);
		});
}

PV_TEST_LOCAL("budget.loopback_counted",
	      "packets of one adapter to itself are executed in slices")
{
	Loopback loopback(env);
	Link link = connect(loopback.env, {.cap = deep(16)});
	Place at_a = {must_reg(loopback.a, {long_message})},
	      at_b = {must_reg(loopback.b, {long_message})};

	for (Op op : {Op::write, Op::read}) {
		const Loop before = loop_of("loopback");

		send_all(loopback.env, link,
			 make_wr(op, at_a, long_message, at_b), 16);
		must_have_ended("loopback", before);
	}
	prove_alive(loopback.env, link);
}

PV_TEST_LOCAL("budget.rings",
	      "full rings of requests of every kind between two queue pairs of "
	      "one adapter leave the CPU to others")
{
	Loopback loopback(env);
	const uint32_t depth = scaled(16384);
	Place at_a = {must_reg(loopback.a, {4096})},
	      at_b = {must_reg(loopback.b, {4096})};

	for (ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
		Link link = connect(loopback.env,
				    {.type = type, .cap = deep(depth)});

		must_share(type == IBV_QPT_RC ? "RC writes" : "UC writes", [&] {
			send_all(loopback.env, link,
				 make_wr(Op::write, at_a, 4096, at_b), depth);
		});
		if (type == IBV_QPT_UC)
			continue;
		SendWr atomic = make_wr(Op::read, at_a, 8, at_b);

		atomic.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		must_share("atomics", [&] {
			send_all(loopback.env, link, atomic, depth);
		});
	}
}

PV_TEST_LOCAL("budget.long_uc",
	      "UC writes of 4 MiB on one adapter leave the CPU to others, and "
	      "none is lost in the queue")
{
	Loopback loopback(env);
	const uint32_t depth = scaled(128);
	Link link =
		connect(loopback.env, {.type = IBV_QPT_UC, .cap = deep(depth)});
	Place at_a = {must_reg(loopback.a, {long_message})},
	      at_b = {must_reg(loopback.b, {long_message})};

	must_share("UC", [&] {
		send_all(loopback.env, link,
			 make_wr(Op::write, at_a, long_message, at_b), depth);
	});
	exchange(loopback.env, link.a, link.b, Op::write_imm, at_a, at_b,
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

	env.expect_async();
	must_share("overrun", [&] {
		const Cq cq = env.a.create_cq(1, false);
		std::vector<Link> links;

		REQUIRE_EQ(cq.error, 0);
		while (links.size() < count)
			links.push_back(
				connect(env, {.cap = deep(1), .cq_a = cq}));
		for (Link &link : links)
			if (state_of(link.a) == IBV_QPS_RTS)
				env.a.post_send(link.a.qp.id,
						{make_wr(Op::write, {}, 0)});
		for (Link &link : links)
			wait_state(env, link.a, IBV_QPS_ERR);
	});
}

PV_TEST_LOCAL("budget.many_reads",
	      "reads of many queue pairs, which arrive at once, are answered "
	      "while others have the CPU")
{
	constexpr uint64_t length = 1 << 20; /* what one visit answers */
	/* kernel/visit_budget.h, and a visit that exceeds it */
	constexpr uint64_t most = 4 * slice_packets;
	/* 32 are more than a visit takes; more of them take an emulated guest many seconds. */
	const uint32_t count = scaled(judges_time() ? 128 : 32);
	Place at_a = {must_reg(env.a, {length})},
	      at_b = {must_reg(env.b, {length})};
	const Loop before = loop_of("visits");
	std::vector<Link> links;

	/* On a busy host answers are late, and each retry would make more of them. */
	for (uint32_t i = 0; i < count; i++)
		links.push_back(
			connect(env, {.timeout = 18, .cap = {4, 4, 1, 1, 0}}));
	/* They wait until all are there. */
	Qdisc delay(env.a, "netem limit 10000 delay 1ms slot 100ms 100ms");

	for (const char *deferred : {"Y", "N"}) {
		Parameter parameter("deferred_icrc", deferred);

		must_share(deferred, [&] {
			for (Link &link : links)
				must_post(link.a, make_wr(Op::read, at_a,
							  length, at_b));
			for (Link &link : links)
				wait_send(env, link.a, "read", length);
		});
	}
	const Loop visits = loop_of("visits");

	note(str("visits: used up ", visits.used_up - before.used_up,
		 ", at most ", visits.most_packets, " packets"));
	REQUIRE(visits.used_up > before.used_up || count < 32,
		"no visit was left to a work");
	REQUIRE(visits.most_packets <= most, visits.most_packets,
		" packets in a row");
}

/* Have timers of many queue pairs expire. */
static void expire_timers(Env &env)
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
	for (Link &link : links)
		must_post(link.a, make_wr(Op::send, {}, 0));
	for (Link &link : links)
		REQUIRE_EQ(int(wait_send(env, link.a, "unanswered").status),
			   IBV_WC_RETRY_EXC_ERR);
}

PV_TEST_LOCAL("budget.timers",
	      "timers of many queue pairs that expire at once are left to works")
{
	const Loop before = loop_of("timers");
	Loop now;

	env.expect_async();
	/* On a busy host the posts take so long that each timer expires in a tick of its own. */
	for (int left = 10; left; left--) {
		expire_timers(env);
		now = loop_of("timers");
		if (now.used_up > before.used_up)
			break;
	}

	note(str("timers: used up ", now.used_up - before.used_up));
	REQUIRE(now.used_up > before.used_up, "no timer was left to a work");
	REQUIRE(now.most_packets <= 16, now.most_packets, " timers in a tick");
}

PV_TEST_LOCAL("budget.full",
	      "where the queue of an adapter's packets to itself is full, its "
	      "queue pairs wait: no message of UC is lost")
{
	constexpr uint32_t senders = 8, messages = 4;
	/* A user's share is a quarter; a slice has as much as all of it. */
	Parameter least("loopback_bytes", 1 << 20);
	Loopback loopback(env);
	Place at_a = {must_reg(loopback.a, {long_message})},
	      at_b = {must_reg(loopback.b, {long_message})};
	std::vector<Link> links;
	Moved refused(loopback.a, "tx_drop_congested");

	while (links.size() < senders)
		links.push_back(connect(
			loopback.env, {.type = IBV_QPT_UC,
				       .cap = {messages, messages, 1, 1, 0}}));
	must_share("full", [&] {
		for (Link &link : links)
			must_post(link.b, numbered_receives(0, messages));
		for (Link &link : links)
			must_post(link.a, many(make_wr(Op::write_imm, at_a,
						       long_message, at_b),
					       messages));
		for (Link &link : links) {
			wait_completions(loopback.env, link.a, link.a.send_cq,
					 1, "writes");
			wait_completions(loopback.env, link.b, link.b.recv_cq,
					 messages, "messages");
		}
	});
	note(str("refused ", refused.by()));
	REQUIRE(refused.by() > 0, "the queue was never full");
	for (Link &link : links)
		exchange(loopback.env, link.a, link.b, Op::write_imm, at_a,
			 at_b, 4096);
}

namespace {

const char online[] = "/sys/devices/system/cpu/cpu1/online";

/* CPU 1 is offline while this lives. */
class Offline {
public:
	Offline() { REQUIRE(common::write_word(online, 0), online); }
	~Offline() { common::write_word(online, 1); }
	Offline(const Offline &) = delete;
};

void stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	REQUIRE_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Reads of all links begin on CPU 1, which goes offline after the first of them. */
void read_while_it_goes(Env &env, std::vector<Link> &links, const SendWr &read,
			uint32_t reads)
{
	std::jthread sender([&] {
		stay_on(1);
		for (Link &link : links)
			must_post(link.a, std::vector<SendWr>(reads, read));
	});

	wait_completions(env, links[0].a, links[0].a.send_cq, 1, "the first");
	const Offline cpu;

	sender.join();
	for (Link &link : links)
		wait_completions(env, link.a, link.a.send_cq,
				 reads - (&link == &links[0]), "reads");
}

} // namespace

PV_TEST_TWO_CPUS("budget.moves",
		 "a sender of UC that changes its CPU overtakes none of its "
		 "packets on one adapter")
{
	constexpr uint32_t messages = 12, turns = 4; /* more than its slices */
	Loopback loopback(env);
	Link link = connect(loopback.env,
			    {.type = IBV_QPT_UC,
			     .cap = {messages, messages * turns, 1, 1, 0}});
	Place at_a = {must_reg(loopback.a, {long_message})},
	      at_b = {must_reg(loopback.b, {long_message})};
	cpu_set_t before;

	REQUIRE_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
	must_post(link.b, numbered_receives(0, messages * turns));
	for (uint32_t i = 0; i < turns; i++) {
		stay_on(int(i % 2));
		send_all(loopback.env, link,
			 make_wr(Op::write_imm, at_a, long_message, at_b),
			 messages);
	}
	sched_setaffinity(0, sizeof(before), &before);
	wait_completions(loopback.env, link.b, link.b.recv_cq, messages * turns,
			 "messages", messages * turns * long_message);
}

PV_TEST_TWO_CPUS("budget.offline",
		 "a CPU goes offline while an adapter's packets to itself wait "
		 "on it: another one takes them, and none is lost")
{
	constexpr uint32_t readers = 8, reads = 12, most_turns = 6;
	/* Nothing that is lost is sent again. */
	const LinkSpec spec = {.timeout = 0, .cap = deep(reads)};
	Loopback loopback(env);
	Place at_a = {must_reg(loopback.a, {long_message})},
	      at_b = {must_reg(loopback.b, {long_message})};
	const Loop before = loop_of("offline");
	std::vector<Link> links;
	uint32_t turns = 0;
	cpu_set_t all;

	if (access(online, W_OK))
		throw Skip("CPU 1 cannot go offline");
	REQUIRE_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	stay_on(0);
	while (links.size() < readers)
		links.push_back(connect(loopback.env, spec));
	do {
		read_while_it_goes(loopback.env, links,
				   make_wr(Op::read, at_a, long_message, at_b),
				   reads);
	} while (loop_of("offline").used_up == before.used_up &&
		 ++turns < most_turns);
	sched_setaffinity(0, sizeof(all), &all);
	const Loop now = loop_of("offline");

	note(str(turns + 1, " turns, ", now.most_packets, " packets taken"));
	REQUIRE(now.used_up > before.used_up, "no packet waited");
	REQUIRE(now.most_bytes <= 32 << 20, now.most_bytes, " bytes waited");
}
