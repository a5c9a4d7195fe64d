// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * doorbell_faults.cpp - doorbells for QPs they are not for, and indices of the
 * doorbell page that cannot be. All of it is dropped and counted by name.
 */
#include <atomic>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

/* A doorbell for @qpn, rung on a pair that is fine, is dropped and counted. */
void expect_dropped(Hostile &hostile, uint32_t qpn, const std::string &counter)
{
	Pair pair(hostile.a, hostile.b);
	RawSq sq(pair.a);
	Wqe wqe = good_write(pair);
	Doorbell doorbell = sq.doorbell(0, wqe);
	uint64_t before = hostile.a.counter(counter);
	ibv_wc wc;

	sq.place(0, wqe);
	doorbell.qpn = qpn;
	sq.ring_bits(doorbell.pack());
	expect_counted(hostile.a, counter, before);
	REQUIRE(!ibv_poll_cq(pair.a.send_cq(), 1, &wc));

	/* The same WQE with its own number works. */
	sq.ring(sq.doorbell(0, wqe), 1, 9);
	REQUIRE_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
	hostile.world.witness->testify();
}

void destroyed(Hostile &hostile)
{
	uint32_t qpn;
	{
		End end(hostile.a);

		qpn = end.qp()->qp_num;
	}
	expect_dropped(hostile, qpn, "db_bad_qpn");
}

/* A QP that another context of this process has. */
void other_context(Hostile &hostile)
{
	Device other(hostile.world.name_a);
	End end(other);

	expect_dropped(hostile, end.qp()->qp_num, "db_foreign_qp");
}

/*
 * A QP of another process, connected and ready. It must not move: its own
 * completion queue stays empty until its owner rings.
 */
[[noreturn]] void owner(const World &world, int tell, int wait)
{
	int bad = 1;

	try {
		Device a(world.name_a), b(world.name_b);
		Pair pair(a, b);
		RawSq sq(pair.a);
		Wqe wqe = good_write(pair);
		uint32_t qpn = pair.a.qp()->qp_num;
		char go;
		ibv_wc wc;

		sq.place(0, wqe);
		if (write(tell, &qpn, sizeof(qpn)) == sizeof(qpn) &&
		    read(wait, &go, 1) == 1 &&
		    !ibv_poll_cq(pair.a.send_cq(), 1, &wc)) {
			sq.ring(sq.doorbell(0, wqe), 1, 3);
			bad = pair.a.sent().status != IBV_WC_SUCCESS;
		}
	} catch (const std::exception &failure) {
		fprintf(stderr, "# other process: %s\n", failure.what());
	}
	_exit(bad);
}

void other_process(Hostile &hostile)
{
	int to_child[2], from_child[2], status;
	uint32_t qpn = 0;

	REQUIRE(!pipe(to_child) && !pipe(from_child));
	pid_t child = fork();
	REQUIRE(child >= 0);
	if (!child)
		owner(hostile.world, from_child[1], to_child[0]);
	close(from_child[1]);
	REQUIRE_EQ(read(from_child[0], &qpn, sizeof(qpn)), sizeof(qpn));
	expect_dropped(hostile, qpn, "db_foreign_qp");
	REQUIRE_EQ(write(to_child[1], "g", 1), 1);
	REQUIRE_EQ(waitpid(child, &status, 0), child);
	REQUIRE(WIFEXITED(status) && !WEXITSTATUS(status),
		"the other process was disturbed");
	for (int fd : {to_child[0], to_child[1], from_child[0]})
		close(fd);
}

void not_ready(Hostile &hostile)
{
	End end(hostile.a);

	expect_dropped(hostile, end.qp()->qp_num, "db_bad_state");
}

/* A context whose doorbell page no other test needs, and a pair on it. */
struct Spoilt {
	Device a, b;
	Pair pair;
	RawSq sq;
	pavo_doorbell_page *page;

	explicit Spoilt(Hostile &hostile, QpSize size = {})
		: a(hostile.world.name_a), b(hostile.world.name_b),
		  pair(a, b, size), sq(pair.a)
	{
		pavodv_context dv = {};

		REQUIRE_EQ(pavodv_query_context(a.context(), &dv), 0);
		page = dv.doorbell;
	}

	/* Rings by hand, as the provider's own count is not ours to know. */
	void ring_at(uint32_t prod, uint64_t bits)
	{
		page->ring[(prod - 1) % PAVO_DB_RING_ENTRIES] = bits;
		std::atomic_ref(page->prod).store(prod);
		REQUIRE_EQ(pavodv_kick_send(pair.a.qp()), 0);
	}
};

void index_jump(Hostile &hostile, uint32_t prod)
{
	Spoilt spoilt(hostile);
	uint64_t before = spoilt.a.counter("db_ring_index");
	Wqe wqe = good_write(spoilt.pair);

	spoilt.ring_at(prod, 0);
	expect_counted(spoilt.a, "db_ring_index", before);

	/* The ring goes on from there. */
	spoilt.sq.place(0, wqe);
	REQUIRE_EQ(pavodv_skip_send(spoilt.pair.a.qp(), 1, 4), 0);
	spoilt.ring_at(prod + 1, spoilt.sq.doorbell(0, wqe).pack());
	REQUIRE_EQ(spoilt.pair.a.sent().status, IBV_WC_SUCCESS);
	hostile.world.witness->testify();
}

/* The module writes words there for the process to read; it never reads them back. */
void module_words(Hostile &hostile)
{
	Spoilt spoilt(hostile);
	Wqe wqe = good_write(spoilt.pair);

	for (uint32_t i = 0; i < 20; i++) {
		spoilt.page->flags = i * 0x11111111u;
		std::atomic_ref(spoilt.page->cons).store(~i);
		memset(spoilt.page->pad0, 0xff, sizeof(spoilt.page->pad0));
		spoilt.sq.place(i, wqe);
		REQUIRE_EQ(pavodv_skip_send(spoilt.pair.a.qp(), 1, i), 0);
		spoilt.ring_at(i + 1, spoilt.sq.doorbell(i, wqe).pack());

		ibv_wc wc = spoilt.pair.a.sent();

		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, i);
	}
	hostile.world.witness->testify();
}

/* A whole ring of doorbells for a queue of four. */
void overflow(Hostile &hostile)
{
	Spoilt spoilt(hostile, {.wrs = 4});
	uint64_t before = spoilt.a.counter("db_overflow");
	Wqe wqe = good_write(spoilt.pair);

	spoilt.sq.place(0, wqe);
	REQUIRE_EQ(pavodv_skip_send(spoilt.pair.a.qp(), 4, 0), 0);
	for (uint32_t i = 0; i < PAVO_DB_RING_ENTRIES - 1; i++)
		spoilt.page->ring[i] = spoilt.sq.doorbell(0, wqe).pack();
	spoilt.ring_at(PAVO_DB_RING_ENTRIES, spoilt.sq.doorbell(0, wqe).pack());
	REQUIRE_EQ(spoilt.pair.a.sent().status, IBV_WC_SUCCESS);
	REQUIRE_EQ(spoilt.pair.a.sent().vendor_err, PAVO_VE_WQE_OFFSET);
	expect_counted(spoilt.a, "db_overflow", before);
	hostile.world.witness->testify();
}

} // namespace

void add_doorbell_faults(Faults &faults)
{
	for (uint32_t qpn : {0u, 2u, 0x800000u, 0xffffffu})
		faults.add("doorbell: QP " + std::to_string(qpn),
			   expect_dropped, qpn, "db_bad_qpn");
	faults.add("doorbell: the kernel's QP 1", expect_dropped, 1,
		   "db_foreign_qp");
	faults.add("doorbell: a QP that is gone", destroyed);
	faults.add("doorbell: a QP of another context", other_context);
	faults.add("doorbell: a QP of another process", other_process);
	faults.add("doorbell: a QP in RESET", not_ready);
	for (uint32_t prod : {257u, 1000u, 1u << 31, ~0u, ~0u - 300})
		faults.add("doorbell page: producer index jumps to " +
				   std::to_string(prod),
			   index_jump, prod);
	faults.add("doorbell page: the module's words overwritten",
		   module_words);
	faults.add("doorbell page: more doorbells than WQEs", overflow);
}

} // namespace faults
