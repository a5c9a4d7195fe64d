// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The fifteen rows of the ordering table (sources.md#ext-order), a test each for RC and for XRC: two
 * operations posted in one chain, again and again. Where the table says MAY, either order passes; the
 * data has to be right in both. guest.sh runs them on a good wire and on one that loses,
 * doubles and reorders.
 */
#include "ext.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr uint64_t rounds = 40, rounds_of_two_machines = 8;
constexpr uint64_t size = 3 * 4096 + 5;

/* The objects that both operations of a row work on. */
struct Scene {
	Scene(Env &where, ExtLink connected)
		: env(where), link(std::move(connected)),
		  out(must_reg(where.a, {size})),
		  in(must_reg(where.b, {size})), answer{must_reg(where.a, {8})},
		  seen{must_reg(where.a, {8})}, word{must_reg(where.b, {8})},
		  duplicates(where.b.counter("duplicate_request"))
	{
	}

	/* Requests that B has had more than once since this was made. */
	uint64_t repeated() const
	{
		return env.b.counter("duplicate_request") - duplicates;
	}

	/* A round: new data, receives, the two operations, their ends at A. */
	void run(void (Scene::*first)(), void (Scene::*second)())
	{
		seed = env.seed();
		env.a.fill(out.id, 0, size, seed, 0);
		number++;
		start_ext(link, 1);
		(this->*first)();
		next_ext(link, 2);
		(this->*second)();
		REQUIRE_EQ(end_ext(link), 0, "ibv_wr_complete");
	}

	/* Completions of A come in order, whatever the row says of B. */
	void ends()
	{
		expect_send(env, link.a, 1, "first");
		expect_send(env, link.a, 2, "second");
	}

	void post_receives(int count)
	{
		for (int i = 0; i < count; i++) {
			const RecvWr receive = {
				uint64_t(i), {{in.id, 0, uint32_t(size), 0}}};

			if (link.xrcd)
				must_post_srq(env.b, link.srq, {receive});
			else
				must_post(link.b, receive);
		}
	}

	void immediate() { imm64(link, number); }
	void send()
	{
		ibv_wr_send(link.ex);
		name_queue(link);
		ibv_wr_set_sge(link.ex, out.lkey, out.address, uint32_t(size));
	}
	void write()
	{
		ibv_wr_rdma_write(link.ex, in.rkey, in.address);
		name_queue(link);
		ibv_wr_set_sge(link.ex, out.lkey, out.address, uint32_t(size));
	}
	void read_answer() { read_word(answer); }
	void read_seen() { read_word(seen); }
	/* After a new word. */
	void read_next()
	{
		env.b.store(word.mr.id, 0, number - 1);
		read_answer();
	}
	/* In turn. */
	void send_or_seven()
	{
		sent = !sent;
		sent ? send() : imm64(link, 7);
	}
	void read_word(const Place &to)
	{
		ibv_wr_rdma_read(link.ex, word.mr.rkey, word.mr.address);
		name_queue(link);
		ibv_wr_set_sge(link.ex, to.mr.lkey, to.mr.address, 8);
	}
	void add() { fetch_add(link, answer, word, 1, 1ull << 40); }
	void add_seen() { fetch_add(link, seen, word, 1); }

	Arrival arrival() { return wait_arrival(env, link); }

	uint64_t word_now() { return env.b.load(word.mr.id, 0); }
	uint64_t answer_now() { return env.a.load(answer.mr.id, 0); }
	uint64_t seen_now() { return env.a.load(seen.mr.id, 0); }
	void must_hold_data()
	{
		must_match(env.b, in, 0, size, seed, 0, "data of A");
	}
	void must_be_immediate(const Arrival &arrival)
	{
		REQUIRE(arrival.imm64 == number, "immediate data");
	}
	/* The arrival that is there already; nothing: it should have been. */
	Arrival must_be_there()
	{
		std::optional<Arrival> arrival = poll_arrival(link);

		REQUIRE(arrival, "B has not completed yet");
		REQUIRE_EQ(int(arrival->status), IBV_WC_SUCCESS);
		return *arrival;
	}

	Env &env;
	ExtLink link;
	Mr out, in;
	Place answer, seen, word;
	uint64_t duplicates;
	uint64_t seed = 0, number = 0;
	bool sent = true;
};

void immediate_is_there(Scene &scene, uint64_t)
{
	scene.ends();
	scene.must_be_immediate(scene.must_be_there());
}

/* A row of the table. */
struct Row {
	const char *name;
	const char *what;
	int receives; /* of B, for a round */
	void (Scene::*first)();
	void (Scene::*second)();
	/* @i: the number of the round, from 0 */
	void (*check)(Scene &scene, uint64_t i);
};

const Row rows[] = {
	{"1_immediate_send", "completed in order", 2, &Scene::immediate,
	 &Scene::send,
	 [](Scene &scene, uint64_t) {
		 scene.must_be_immediate(scene.arrival());
		 REQUIRE(!scene.arrival().imm64, "send");
		 scene.must_hold_data();
		 scene.ends();
	 }},
	{"2_immediate_write", "no guarantee, both are done", 1,
	 &Scene::immediate, &Scene::write,
	 [](Scene &scene, uint64_t) {
		 scene.ends();
		 scene.must_be_immediate(scene.arrival());
		 scene.must_hold_data();
	 }},
	{"3_immediate_read",
	 "the read's data comes when the immediate data has completed", 1,
	 &Scene::immediate, &Scene::read_answer, immediate_is_there},
	{"4_immediate_atomic",
	 "the answer comes when the immediate data has completed", 1,
	 &Scene::immediate, &Scene::add, immediate_is_there},
	{"5_immediate_or_send_immediate", "completed in order", 2,
	 &Scene::send_or_seven, &Scene::immediate,
	 [](Scene &scene, uint64_t) {
		 Arrival first = scene.arrival();

		 REQUIRE(scene.sent ? !first.imm64 : first.imm64 == 7u,
			 "the first");
		 scene.must_be_immediate(scene.arrival());
		 if (scene.sent)
			 scene.must_hold_data();
		 scene.ends();
	 }},
	{"6_write_immediate",
	 "the immediate data completes when the write's data is there", 1,
	 &Scene::write, &Scene::immediate,
	 [](Scene &scene, uint64_t) {
		 scene.must_be_immediate(scene.arrival());
		 scene.must_hold_data();
		 scene.ends();
	 }},
	{"7_read_immediate", "the immediate data may be first", 1,
	 &Scene::read_next, &Scene::immediate,
	 [](Scene &scene, uint64_t i) {
		 scene.must_be_immediate(scene.arrival());
		 scene.ends();
		 REQUIRE_EQ(scene.answer_now(), i, "read");
	 }},
	{"8_atomic_immediate", "the immediate data may be first", 1,
	 &Scene::add, &Scene::immediate,
	 [](Scene &scene, uint64_t i) {
		 scene.must_be_immediate(scene.arrival());
		 scene.ends();
		 REQUIRE_EQ(scene.word_now(), i + 1, "word");
	 }},
	{"9_atomic_send", "the send may be first", 1, &Scene::add, &Scene::send,
	 [](Scene &scene, uint64_t i) {
		 scene.arrival();
		 scene.must_hold_data();
		 scene.ends();
		 REQUIRE_EQ(scene.answer_now(), i, "answer");
	 }},
	{"10_atomic_write", "the write may be first", 0, &Scene::add,
	 &Scene::write,
	 [](Scene &scene, uint64_t i) {
		 scene.ends();
		 scene.must_hold_data();
		 REQUIRE_EQ(scene.answer_now(), i, "answer");
	 }},
	{"11_atomic_read", "the read is answered when the atomic is done", 0,
	 &Scene::add, &Scene::read_seen,
	 [](Scene &scene, uint64_t i) {
		 scene.ends();
		 REQUIRE_EQ(scene.answer_now(), i, "answer");
		 REQUIRE_EQ(scene.seen_now(), i + 1, "read");
	 }},
	{"12_atomic_atomic", "the second is answered when the first is done", 0,
	 &Scene::add, &Scene::add_seen,
	 [](Scene &scene, uint64_t i) {
		 scene.ends();
		 REQUIRE_EQ(scene.answer_now(), 2 * i, "first");
		 REQUIRE_EQ(scene.seen_now(), 2 * i + 1, "second");
	 }},
	{"13_send_atomic", "the answer comes when the send has completed", 1,
	 &Scene::send, &Scene::add,
	 [](Scene &scene, uint64_t) {
		 scene.ends();
		 scene.must_hold_data();
		 scene.must_be_there();
	 }},
	/* The table says "Send Payload" in this row; read as: that of the write. */
	{"14_write_atomic", "the answer comes when the write's data is there",
	 0, &Scene::write, &Scene::add,
	 [](Scene &scene, uint64_t) {
		 scene.ends();
		 scene.must_hold_data();
	 }},
	/* A response that was lost is made anew, of memory as it is by then. */
	{"15_read_atomic", "the atomic is answered when the read was", 0,
	 &Scene::read_seen, &Scene::add,
	 [](Scene &scene, uint64_t i) {
		 scene.ends();
		 const uint64_t late = scene.seen_now() - i;
		 REQUIRE(late <= scene.repeated(), "read ", late, " too late");
		 REQUIRE_EQ(scene.answer_now(), i, "answer");
	 }},
};

/* The rows are about both ends. */
void need_both(Env &env)
{
	if (!env.a.knows_ext() || !env.b.knows_ext())
		throw Skip("an end has no extended operations");
}

void run_row(Env &env, const Row &row, ExtLink connected)
{
	Scene scene(env, std::move(connected));

	const uint64_t count =
		env.options.two_machines ? rounds_of_two_machines : rounds;

	for (uint64_t i = 0; i < count; i++) {
		scene.post_receives(row.receives);
		scene.run(row.first, row.second);
		row.check(scene, i);
	}
}

struct RegisterRows {
	RegisterRows()
	{
		for (const Row &row : rows) {
			Register(str("ext_order.", row.name), row.what,
				 Needs::local_a, [&row](Env &env) {
					 need_both(env);
					 run_row(env, row, connect_ext(env));
				 });
			Register(str("ext_order.xrc_", row.name),
				 str("XRC: ", row.what), Needs::local_a,
				 [&row](Env &env) {
					 need_both(env);
					 run_row(env, row,
						 connect_ext_xrc(env));
				 });
		}
	}
} register_rows;

} // namespace
