// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ring_faults.cpp - several doorbells that one kick brings: of one queue pair and of more
 * (sources.md#engine-2-4-2, figure 2.3), and keys that one walk ends.
 */
#include <sched.h>

#include <array>
#include <memory>
#include <vector>

#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

constexpr uint32_t PIECE = 64;

/* A write of piece @n of the source to the start of the sink: the last one stays. */
Wqe write_piece(Pair &pair, uint32_t n)
{
	return Wqe(PAVO_WQE_WRITE)
		.add(pavo_raddr_seg{.va = pair.sink.address(),
				    .rkey = pair.sink.rkey(),
				    .length = PIECE})
		.add(pavo_data_seg{.byte_count = PIECE,
				   .lkey = pair.source.lkey(),
				   .va = pair.source.address() + n * PIECE});
}

void put_in_ring(End &end, const Doorbell &doorbell, uint32_t count,
		 uint64_t wr_id)
{
	REQUIRE_EQ(pavodv_skip_send(end.qp(), count, wr_id), 0);
	REQUIRE_EQ(pavodv_ring(end.device().context(), doorbell.pack()), 0);
}

/* Bytes @n of what the source was filled with are at the start of the sink. */
void must_end_with(Pair &pair, uint32_t n)
{
	REQUIRE(!memcmp(pair.sink.bytes(), pair.source.bytes() + n * PIECE,
			PIECE),
		"another piece than ", n);
}

/*
 * A chain of three, a single one behind it, and one of another queue pair, in any place of
 * the ring.
 */
void rung_once(Hostile &hostile, unsigned place)
{
	Pair one(hostile.a, hostile.b), two(hostile.a, hostile.b);
	RawSq first(one.a), second(two.a);
	std::array<Wqe, 4> wqes = {write_piece(one, 0), write_piece(one, 1),
				   write_piece(one, 2), write_piece(one, 3)};
	Wqe other = write_piece(two, 5);
	const uint64_t refused = hostile.a.counter("wqe_errors");

	one.source.fill(hostile.world.seed);
	two.source.fill(hostile.world.seed + 1);
	for (uint32_t i = 0; i < 2; i++) {
		Doorbell next = first.doorbell(i + 1, wqes[i + 1]);

		wqes[i].next().next = next.low();
		wqes[i].next().size = next.size;
	}
	for (uint32_t i = 0; i < wqes.size(); i++)
		first.place(i, wqes[i]);
	second.place(0, other);
	for (unsigned i = 0; i < 3; i++) {
		if (i == place)
			put_in_ring(two.a, second.doorbell(0, other), 1, 70);
		else if (i == (place == 0 ? 1 : 0))
			put_in_ring(one.a, first.doorbell(0, wqes[0]), 3, 50);
		else
			put_in_ring(one.a, first.doorbell(3, wqes[3]), 1, 60);
	}
	REQUIRE_EQ(pavodv_kick_send(two.a.qp()), 0);
	for (uint64_t id : {50, 51, 52, 60}) {
		ibv_wc wc = one.a.sent();

		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "vendor ", wc.vendor_err);
		REQUIRE_EQ(wc.wr_id, id);
	}
	ibv_wc wc = two.a.sent();

	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "vendor ", wc.vendor_err);
	REQUIRE_EQ(wc.wr_id, 70u);
	must_end_with(one, 3);
	must_end_with(two, 5);
	REQUIRE_EQ(hostile.a.counter("wqe_errors"), refused);
	hostile.world.witness->testify();
}

/* A window of type 2 that was bound by its queue pair, whose key is to end. */
struct Bound {
	Bound(Device &a, Device &b)
		: pair(a, b), sq(pair.a),
		  memory(a.pd(), 4096,
			 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		  window(ibv_alloc_mw(a.pd(), IBV_MW_TYPE_2), ibv_dealloc_mw)
	{
		REQUIRE(window);
		Wqe bind =
			Wqe(PAVO_WQE_BIND_MW)
				.add(pavo_bind_seg{
					.va = memory.address(),
					.length = 4096,
					.mw_rkey = window->rkey,
					.new_rkey = ibv_inc_rkey(window->rkey),
					.mr_lkey = memory.lkey(),
					.access = IBV_ACCESS_REMOTE_WRITE});

		key = ibv_inc_rkey(window->rkey);
		sq.place(0, bind);
		sq.ring(sq.doorbell(0, bind), 1, 1);
		REQUIRE_EQ(pair.a.sent().status, IBV_WC_SUCCESS);
	}

	void end_key()
	{
		Wqe end(PAVO_WQE_LOCAL_INV);

		end.next().imm = key;
		sq.place(1, end);
		put_in_ring(pair.a, sq.doorbell(1, end), 1, 2);
	}

	Pair pair;
	RawSq sq;
	Memory memory;
	std::unique_ptr<ibv_mw, int (*)(ibv_mw *)> window;
	uint32_t key;
};

/* No worker takes the CPU from this thread. */
class Urgent {
public:
	Urgent() { change(SCHED_FIFO, 10); }
	~Urgent() { change(SCHED_OTHER, 0); }
	Urgent(const Urgent &) = delete;

private:
	static void change(int policy, int priority)
	{
		sched_param param = {.sched_priority = priority};

		REQUIRE_EQ(sched_setscheduler(0, policy, &param), 0);
	}
};

/*
 * The manager's work, which is bound to the CPU of the callers, does not run before both
 * have asked, and finds both requests.
 */
void one_walk(Hostile &hostile)
{
	/* More than those that a walk looks at at once. */
	constexpr size_t many = 40;
	Device a(hostile.world.name_a), b(hostile.world.name_b);
	Bound one(a, b), two(a, b);
	std::vector<std::unique_ptr<End>> ends;

	while (ends.size() < many)
		ends.push_back(std::make_unique<End>(a));
	const uint64_t walks = a.counter("rkm_walks");
	const uint64_t requests = a.counter("rkm_requests");
	const uint64_t qps = a.counter("rkm_qps");

	one.end_key();
	two.end_key();
	{
		Urgent urgent;

		REQUIRE_EQ(pavodv_kick_send(one.pair.a.qp()), 0);
	}
	for (Bound *bound : {&one, &two}) {
		ibv_wc wc = bound->pair.a.sent();

		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "vendor ", wc.vendor_err);
		REQUIRE_EQ(wc.wr_id, 2u);
	}
	expect_counted(a, "rkm_requests", requests + 1);
	REQUIRE_EQ(a.counter("rkm_requests") - requests, 2u);
	REQUIRE_EQ(a.counter("rkm_walks") - walks, 1u, "walks");
	REQUIRE_EQ(a.counter("rkm_qps") - qps, many + 2);
	hostile.world.witness->testify();
}

} // namespace

void add_ring_faults(Faults &faults)
{
	for (unsigned place : {0u, 1u, 2u})
		faults.add("doorbells: three of two queue pairs, rung "
			   "once, the other's is number " +
				   std::to_string(place),
			   rung_once, place);
	faults.add("doorbells: the ends of two keys, in one walk", one_walk);
}

} // namespace faults
