// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The fifteen rows of the ordering table (sources.md#ext-order), a test each: two operations
 * posted in one chain, again and again. Where the table says MAY, either order passes; the
 * data has to be right in both. guest.sh runs them on a good wire and on one that loses,
 * doubles and reorders.
 */
#include <functional>

#include "ext.h"
#include "manager.h"
#include "tap.h"

using namespace pv;

namespace {

constexpr int rounds = 40;
constexpr uint64_t size = 3 * 4096 + 5;

/* The objects that both operations of a row work on. */
struct Scene {
	explicit Scene(Env &where)
		: env(where), link(connect_ext(where)),
		  out(must_reg(where.a, {size})),
		  in(must_reg(where.b, {size})), answer{must_reg(where.a, {8}),
							0},
		  word{must_reg(where.b, {8}), 0}
	{
	}

	/* A round: new data, receives, the two operations, their ends at A. */
	void run(const std::function<void()> &first,
		 const std::function<void()> &second)
	{
		seed = env.seed();
		env.a.fill(out.id, 0, size, seed, 0);
		number++;
		start_ext(link, 1);
		first();
		next_ext(link, 2);
		second();
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
		for (int i = 0; i < count; i++)
			must_post(link.b,
				  RecvWr{uint64_t(i),
					 {{in.id, 0, uint32_t(size), 0}}});
	}

	void immediate() { imm64(link, number); }
	void send()
	{
		ibv_wr_send(link.ex);
		ibv_wr_set_sge(link.ex, out.lkey, out.address, uint32_t(size));
	}
	void write()
	{
		ibv_wr_rdma_write(link.ex, in.rkey, in.address);
		ibv_wr_set_sge(link.ex, out.lkey, out.address, uint32_t(size));
	}
	/* Reads the word to where the answer of an atomic goes. */
	void read_word(const Place &to)
	{
		ibv_wr_rdma_read(link.ex, word.mr.rkey, word.mr.address);
		ibv_wr_set_sge(link.ex, to.mr.lkey, to.mr.address, 8);
	}
	void add() { fetch_add(link, answer, word, 1, 1ull << 40); }

	uint64_t word_now() { return env.b.load(word.mr.id, 0); }
	uint64_t answer_now() { return env.a.load(answer.mr.id, 0); }
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
	Place answer, word;
	uint64_t seed = 0, number = 0;
};

} // namespace

PV_TEST_LOCAL("ext_order.1_immediate_send", "completed in order")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(2);
		scene.run([&] { scene.immediate(); }, [&] { scene.send(); });
		scene.must_be_immediate(wait_arrival(env, scene.link));
		REQUIRE(!wait_arrival(env, scene.link).imm64, "send");
		scene.must_hold_data();
		scene.ends();
	}
}

PV_TEST_LOCAL("ext_order.2_immediate_write", "no guarantee, both are done")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.immediate(); }, [&] { scene.write(); });
		scene.ends();
		scene.must_be_immediate(wait_arrival(env, scene.link));
		scene.must_hold_data();
	}
}

PV_TEST_LOCAL("ext_order.3_immediate_read",
	      "the read's data comes when the immediate data has completed")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.immediate(); },
			  [&] { scene.read_word(scene.answer); });
		scene.ends();
		scene.must_be_immediate(scene.must_be_there());
	}
}

PV_TEST_LOCAL("ext_order.4_immediate_atomic",
	      "the answer comes when the immediate data has completed")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.immediate(); }, [&] { scene.add(); });
		scene.ends();
		scene.must_be_immediate(scene.must_be_there());
	}
}

PV_TEST_LOCAL("ext_order.5_immediate_or_send_immediate", "completed in order")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		bool send = i & 1;

		scene.post_receives(2);
		scene.run([&] { send ? scene.send() : imm64(scene.link, 7); },
			  [&] { scene.immediate(); });
		Arrival first = wait_arrival(env, scene.link);
		REQUIRE(send ? !first.imm64 : first.imm64 == 7u, "the first");
		scene.must_be_immediate(wait_arrival(env, scene.link));
		if (send)
			scene.must_hold_data();
		scene.ends();
	}
}

PV_TEST_LOCAL("ext_order.6_write_immediate",
	      "the immediate data completes when the write's data is there")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.write(); }, [&] { scene.immediate(); });
		scene.must_be_immediate(wait_arrival(env, scene.link));
		scene.must_hold_data();
		scene.ends();
	}
}

PV_TEST_LOCAL("ext_order.7_read_immediate", "the immediate data may be first")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		env.b.store(scene.word.mr.id, 0, uint64_t(i));
		scene.post_receives(1);
		scene.run([&] { scene.read_word(scene.answer); },
			  [&] { scene.immediate(); });
		scene.must_be_immediate(wait_arrival(env, scene.link));
		scene.ends();
		REQUIRE_EQ(scene.answer_now(), uint64_t(i), "read");
	}
}

PV_TEST_LOCAL("ext_order.8_atomic_immediate", "the immediate data may be first")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.add(); }, [&] { scene.immediate(); });
		scene.must_be_immediate(wait_arrival(env, scene.link));
		scene.ends();
		REQUIRE_EQ(scene.word_now(), uint64_t(i) + 1, "word");
	}
}

PV_TEST_LOCAL("ext_order.9_atomic_send", "the send may be first")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.add(); }, [&] { scene.send(); });
		wait_arrival(env, scene.link);
		scene.must_hold_data();
		scene.ends();
		REQUIRE_EQ(scene.answer_now(), uint64_t(i), "answer");
	}
}

PV_TEST_LOCAL("ext_order.10_atomic_write", "the write may be first")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.run([&] { scene.add(); }, [&] { scene.write(); });
		scene.ends();
		scene.must_hold_data();
		REQUIRE_EQ(scene.answer_now(), uint64_t(i), "answer");
	}
}

PV_TEST_LOCAL("ext_order.11_atomic_read",
	      "the read is answered when the atomic is done")
{
	Scene scene(env);
	Place seen = {must_reg(env.a, {8}), 0};

	for (int i = 0; i < rounds; i++) {
		scene.run([&] { scene.add(); }, [&] { scene.read_word(seen); });
		scene.ends();
		REQUIRE_EQ(scene.answer_now(), uint64_t(i), "answer");
		REQUIRE_EQ(env.a.load(seen.mr.id, 0), uint64_t(i) + 1, "read");
	}
}

PV_TEST_LOCAL("ext_order.12_atomic_atomic",
	      "the second is answered when the first is done")
{
	Scene scene(env);
	Place seen = {must_reg(env.a, {8}), 0};

	for (int i = 0; i < rounds; i++) {
		scene.run([&] { scene.add(); },
			  [&] { fetch_add(scene.link, seen, scene.word, 1); });
		scene.ends();
		REQUIRE_EQ(scene.answer_now(), 2 * uint64_t(i), "first");
		REQUIRE_EQ(env.a.load(seen.mr.id, 0), 2 * uint64_t(i) + 1,
			   "second");
	}
}

PV_TEST_LOCAL("ext_order.13_send_atomic",
	      "the answer comes when the send has completed")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.post_receives(1);
		scene.run([&] { scene.send(); }, [&] { scene.add(); });
		scene.ends();
		scene.must_hold_data();
		scene.must_be_there();
	}
}

/* The table says "Send Payload" in this row; read as: that of the write. */
PV_TEST_LOCAL("ext_order.14_write_atomic",
	      "the answer comes when the write's data is there")
{
	Scene scene(env);

	for (int i = 0; i < rounds; i++) {
		scene.run([&] { scene.write(); }, [&] { scene.add(); });
		scene.ends();
		scene.must_hold_data();
	}
}

/* A response that was lost is made anew, of memory as it is by then. */
PV_TEST_LOCAL("ext_order.15_read_atomic",
	      "the atomic is answered when the read was")
{
	Scene scene(env);
	Place seen = {must_reg(env.a, {8}), 0};

	Moved again(env.b, "rx_duplicate_requests");

	for (int i = 0; i < rounds; i++) {
		scene.run([&] { scene.read_word(seen); }, [&] { scene.add(); });
		scene.ends();
		const uint64_t read = env.a.load(seen.mr.id, 0) - uint64_t(i);
		REQUIRE(read <= again.by(), "read ", read, " too late");
		REQUIRE_EQ(scene.answer_now(), uint64_t(i), "answer");
	}
}
