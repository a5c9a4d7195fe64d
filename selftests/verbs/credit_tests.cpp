// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Credits of an adapter: packets and reads that are outstanding of all its queue pairs are never
 * more, every byte arrives, and credits come back from queue pairs however they end.
 */
#include <sstream>

#include "qdisc.h"
#include "share.h"

using namespace pv;

namespace {

/* A pool, as debugfs shows it. */
struct Pool {
	uint64_t used = 0, most = 0, limit = 0, waits = 0;
};

/* @name: sends or reads. Throws Missing. */
Pool pool_of(Host &host, const std::string &name)
{
	const auto lines = common::lines_of("/sys/kernel/debug/pavo/drr");
	bool mine = false;

	for (const std::string &line : lines) {
		std::istringstream words(line);
		std::string first, word;
		Pool pool;

		words >> first;
		if (line[0] != ' ')
			mine = first == device_name(host);
		else if (mine && first == name &&
			 words >> word >> pool.used >> word >> pool.most >>
				 word >> pool.limit >> word >> pool.waits)
			return pool;
	}
	throw common::Missing("pool " + name);
}

void must_be_kept(Host &host, const std::string &name, uint64_t limit)
{
	const Pool pool = pool_of(host, name);

	show(str(name, ": ", pool.most, " of ", pool.limit,
		 " credits at most, waits: ", pool.waits));
	REQUIRE_EQ(pool.limit, limit, name, ": limit");
	/* More would be a fault; fewer, a test that proves nothing. */
	REQUIRE_EQ(pool.most, limit, name, ": most in use");
	REQUIRE(pool.waits > 0, name, ": none has waited");
}

void must_come_back(Env &env, const char *what)
{
	for (const char *name : {"sends", "reads"})
		REQUIRE(eventually(env,
				   [&] { return !pool_of(env.a, name).used; }),
			what, ": ", name,
			" still held: ", pool_of(env.a, name).used);
}

/* A link whose peer is gone, with writes or reads that take all credits there are. */
Link deaf_link(Env &env, const LinkSpec &spec, Op op, const Place &from,
	       const Place &to)
{
	Link link = connect(env, spec);
	const bool reads = op == Op::read;

	REQUIRE_EQ(env.b.destroy(Kind::qp, link.b.qp.id), 0, "destroy");
	must_post(link.a,
		  std::vector<SendWr>(3, make_wr(op, from, 1 << 16, to)));
	REQUIRE(eventually(env,
			   [&] {
				   return pool_of(env.a,
						  reads ? "reads" : "sends")
						  .used == (reads ? 2 : 4);
			   }),
		"no credit is held");
	return link;
}

/* That link ends in some way, or by itself. */
void end_link(Env &env, Link &link, const std::string &way)
{
	if (way == "error")
		to_state(link.a, IBV_QPS_ERR);
	else if (way == "reset")
		to_state(link.a, IBV_QPS_RESET);
	else if (way == "destroy")
		REQUIRE_EQ(env.a.destroy(Kind::qp, link.a.qp.id), 0, "destroy");
}

} // namespace

PV_TEST_LOCAL("credits.kept",
	      "32 queue pairs that write and 32 that read all they can: "
	      "outstanding are as many as there are credits, and every byte "
	      "arrives")
{
	Policy sends(env.a, "send_credits", "8");
	Policy reads(env.a, "read_credits", "4");
	{
		const std::vector<uint8_t> levels(32, 0);
		Saturation writing(env, {}, levels, 40001, 4);
		Saturation reading(env, {}, levels, 40003, 8, Op::read);

		for (int i = 0; i < 20; i++) {
			writing.run(32);
			reading.run(32);
		}
		must_be_kept(env.a, "sends", 8);
		must_be_kept(env.a, "reads", 4);
		writing.drain();
		reading.drain();
	}
	must_be_kept(env.a, "sends", 8);
	must_be_kept(env.a, "reads", 4);
	must_come_back(env, "after the traffic");
}

PV_TEST_LOCAL("credits.weighted",
	      "of two that share few credits one has four times as many by its "
	      "weight, on an interface that is slower than both")
{
	Policy quantum(env.a, "quantum", "32");
	Policy weights(env.a, "weights", "1:1 2:4");
	Policy sends(env.a, "send_credits", "16");
	/* Slower than a kernel with checkers. */
	Qdisc slow(env.a, "tbf rate 100mbit burst 200000 limit 20000000");
	/* Each has posted more than is counted, whenever the process comes to look. */
	Saturation load(env, {}, {1, 2}, 1 << 14, 512);

	load.run(40);
	const auto count = load.run(300);
	const double ratio = double(count[1]) / double(count[0] + !count[0]);

	show(str("weights 1 and 4 on a slow wire: ", count[0], " and ",
		 count[1], " messages, 1:", ratio));
	REQUIRE(ratio > 3.2 && ratio < 4.8, "1:", ratio);
	load.drain();
}

PV_TEST_LOCAL("credits.changed",
	      "credits come and go under traffic; nothing is lost or stuck")
{
	Policy sends(env.a, "send_credits", "0");
	Saturation load(env, {}, std::vector<uint8_t>(8, 0), 40001, 4);

	for (const char *limit : {"64", "8", "1", "0", "3", "4096", "2", "0"}) {
		sends.set(limit);
		load.run(100);
	}
	load.drain();
	must_come_back(env, "after the traffic");
}

PV_TEST_LOCAL("credits.asked",
	      "an unsignaled write is acknowledged, though the read "
	      "behind it waits for a credit: the write's may be needed")
{
	Policy sends(env.a, "send_credits", "4");
	Policy reads(env.a, "read_credits", "2");
	Place from = {must_reg(env.a, {1 << 16}), 0},
	      to = {must_reg(env.b, {1 << 16}), 0};
	SendWr write = make_wr(Op::write, from, 100, to);
	const SendWr read = make_wr(Op::read, from, 100, to);
	Link other = connect(env, {.timeout = 0, .retry_count = 0});

	env.expect_async();
	{
		Link deaf = deaf_link(env, {.timeout = 0}, Op::read, from, to);

		write.flags &= ~IBV_SEND_SIGNALED;
		must_post(other.a, {write, read});
		REQUIRE(eventually(env,
				   [&] {
					   return pool_of(env.a, "reads").waits;
				   }),
			"the read has a credit");
		REQUIRE(eventually(env,
				   [&] {
					   return !pool_of(env.a, "sends").used;
				   }),
			"the write is not acknowledged");
		end_link(env, deaf, "destroy");
	}
	expect_send(env, other.a, read.id, "the read");
	must_come_back(env, "after both");
}

PV_TEST_LOCAL("credits.given_back",
	      "credits of queue pairs whose peer is gone come back when they "
	      "fail, are reset, or are destroyed; others go on then")
{
	Policy sends(env.a, "send_credits", "4");
	Policy reads(env.a, "read_credits", "2");
	Place from = {must_reg(env.a, {1 << 16}), 0},
	      to = {must_reg(env.b, {1 << 16}), 0};
	/* Patient; and one that gives up after twice 268 ms, when it was seen to hold some. */
	const LinkSpec patient = {.timeout = 20},
		       brief = {.timeout = 16, .retry_count = 1};
	Link other = connect(env);

	env.expect_async();
	for (const char *end : {"error", "reset", "destroy", "retry"})
		for (Op op : {Op::write, Op::read}) {
			const bool itself = std::string(end) == "retry";
			Link link = deaf_link(env, itself ? brief : patient, op,
					      from, to);

			end_link(env, link, end);
			must_come_back(env, end);
			must_send(env, other.a, make_wr(op, from, 1 << 16, to),
				  end);
		}
}
