// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * chain_faults.cpp - chains of WQEs that lead nowhere, or round in circles;
 * and a bad WQE behind good ones.
 */
#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

struct Link {
	std::string what;
	/* Where the first of two WQEs says that the second is. */
	std::function<Doorbell(RawSq &, Doorbell second)> to;
	pavo_vendor_err vendor;
};

/* The first WQE is executed, the link's error is the second's. */
void run_link(Hostile &hostile, const Link &link)
{
	Pair pair(hostile.a, hostile.b);
	RawSq sq(pair.a);
	Wqe first = good_write(pair), second = good_write(pair);
	Doorbell next = link.to(sq, sq.doorbell(1, second));
	uint32_t seed = hostile.world.seed;

	pair.source.fill(seed);
	first.next().next = next.low();
	first.next().size = next.size;
	sq.place(0, first);
	sq.place(1, second);
	sq.ring(sq.doorbell(0, first), 2, 50);

	ibv_wc wc = pair.a.sent();
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "the good one, vendor ",
		   wc.vendor_err);
	REQUIRE_EQ(wc.wr_id, 50);
	REQUIRE(pair.sink.holds(seed, 64));
	wc = pair.a.sent();
	REQUIRE_EQ(wc.vendor_err, link.vendor);
	REQUIRE_EQ(wc.wr_id, 51);
	REQUIRE_EQ(wc.status, IBV_WC_LOC_QP_OP_ERR);
	REQUIRE_EQ(pair.a.state(), IBV_QPS_ERR);
	hostile.world.witness->testify();
}

void add_links(Faults &faults)
{
	const Link links[] = {
		{"to itself",
		 [](RawSq &, Doorbell d) {
			 d.units = 0;
			 return d;
		 },
		 PAVO_VE_WQE_OFFSET},
		{"to the slot after the next",
		 [](RawSq &sq, Doorbell d) {
			 d.units += sq.stride_units();
			 return d;
		 },
		 PAVO_VE_WQE_OFFSET},
		{"into the middle of a slot",
		 [](RawSq &, Doorbell d) {
			 d.units++;
			 return d;
		 },
		 PAVO_VE_WQE_OFFSET},
		{"out of the queue",
		 [](RawSq &, Doorbell d) {
			 d.units = PAVO_DB_OFFSET_MAX;
			 return d;
		 },
		 PAVO_VE_WQE_OFFSET},
		{"to a WQE larger than its slot",
		 [](RawSq &, Doorbell d) {
			 d.size = 255;
			 return d;
		 },
		 PAVO_VE_WQE_SIZE},
		{"to an operation that does not exist",
		 [](RawSq &, Doorbell d) {
			 d.op = 31;
			 return d;
		 },
		 PAVO_VE_WQE_OPCODE},
	};

	for (const Link &link : links)
		faults.add("chain: " + link.what, run_link, link);
}

/* In a queue of two slots the circle is made of correct links. */
void circle(Hostile &hostile)
{
	Pair pair(hostile.a, hostile.b, {.wrs = 2});
	RawSq sq(pair.a);
	Wqe wqe[2] = {good_write(pair), good_write(pair)};
	ibv_wc wc;

	REQUIRE_EQ(sq.count(), 2);
	for (uint32_t i = 0; i < 2; i++) {
		Doorbell other = sq.doorbell(1 - i, wqe[1 - i]);

		wqe[i].next().next = other.low();
		wqe[i].next().size = other.size;
	}
	sq.place(0, wqe[0]);
	sq.place(1, wqe[1]);
	sq.ring(sq.doorbell(0, wqe[0]), 2, 0);
	for (uint64_t i = 0; i < 2; i++) {
		wc = pair.a.sent();
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, i);
	}
	REQUIRE(!ibv_poll_cq(pair.a.send_cq(), 1, &wc),
		"a chain is no longer than the queue");
	hostile.world.witness->testify();
}

/* Good ones complete, the bad one fails, what is behind it is flushed. */
void bad_in_the_middle(Hostile &hostile)
{
	Pair pair(hostile.a, hostile.b);
	RawSq sq(pair.a);
	constexpr uint32_t COUNT = 8, BAD = 4;
	std::vector<Wqe> wqes;

	for (uint32_t i = 0; i < COUNT; i++) {
		wqes.push_back(i % 2 ? good_read(pair, 3000) :
				       good_write(pair, 3000));
		if (i == BAD)
			wqes[i].at<pavo_data_seg>(2).lkey ^= 0x777700;
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		if (i + 1 < COUNT) {
			Doorbell next = sq.doorbell(i + 1, wqes[i + 1]);

			wqes[i].next().next = next.low();
			wqes[i].next().size = next.size;
		}
		sq.place(i, wqes[i]);
	}
	sq.ring(sq.doorbell(0, wqes[0]), COUNT, 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		ibv_wc wc = pair.a.sent();

		REQUIRE_EQ(wc.wr_id, i);
		REQUIRE_EQ(wc.status,
			   i < BAD ? IBV_WC_SUCCESS :
			   i > BAD ? IBV_WC_WR_FLUSH_ERR :
				     IBV_WC_LOC_PROT_ERR,
			   "request ", i);
	}
	REQUIRE_EQ(pair.a.state(), IBV_QPS_ERR);
	hostile.world.witness->testify();
}

/* Slots are rewritten while the module reads them. */
void rewritten(Hostile &hostile)
{
	Pair pair(hostile.a, hostile.b);
	RawSq sq(pair.a);
	Wqe good = good_write(pair), bad = good_write(pair);
	pavodv_qp dv = {};

	bad.at<pavo_data_seg>(
		2) = {.byte_count = 0x7fffffff, .lkey = ~0u, .va = ~0ull};
	bad.remote().length = 0x7fffffff;
	REQUIRE_EQ(pavodv_query_qp(pair.a.qp(), &dv), 0);
	for (uint32_t i = 0; i < 200; i++) {
		sq.place(i, i % 2 ? good : bad);
		pair.source.fill(i);
		sq.place(i, good);
		sq.ring(sq.doorbell(i, good), 1, i);
		/* Taken already, or in use for sending: a copy, either way. */
		sq.place(i, bad);

		ibv_wc wc = pair.a.sent();

		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS, "request ", i);
		REQUIRE(pair.sink.holds(i, 64), "request ", i);
	}
	hostile.world.witness->testify();
}

} // namespace

void add_chain_faults(Faults &faults)
{
	add_links(faults);
	faults.add("chain: a circle in a queue of two", circle);
	faults.add("chain: a bad WQE among good ones", bad_in_the_middle);
	faults.add("chain: slots overwritten behind the doorbell", rewritten);
}

} // namespace faults
