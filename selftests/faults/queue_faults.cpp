// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * queue_faults.cpp - receive queues and completion queues with impossible
 * indices and entries.
 */
#include <atomic>
#include <map>

#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

/* The receiving side, @b of a pair, with its queue laid open. */
struct OpenRq {
	Pair pair;
	pavodv_qp dv = {};

	explicit OpenRq(Hostile &hostile, QpSize size = {})
		: pair(hostile.a, hostile.b, size)
	{
		REQUIRE_EQ(pavodv_query_qp(pair.b.qp(), &dv), 0);
	}

	/* A correct receive WQE, through the provider. */
	void post(uint64_t wr_id = 70)
	{
		pair.b.receive(wr_id, pair.sink, 1024);
	}

	/* Of the first WQE; a QP's own has nothing to say there. */
	pavo_srq_seg *next_seg()
	{
		return static_cast<pavo_srq_seg *>(dv.rq_slots);
	}

	pavo_data_seg *entry(uint32_t number)
	{
		return static_cast<pavo_data_seg *>(dv.rq_slots) + 1 + number;
	}

	void send(uint32_t length = 64)
	{
		pair.source.fill(length);
		RawSq(pair.a).post(0, good_send(pair, length), 80);
	}

	/* The sender hears of it, the receiver is in Error. */
	void expect_refused(Hostile &hostile)
	{
		REQUIRE_EQ(pair.a.sent().status, IBV_WC_REM_OP_ERR);
		REQUIRE_EQ(pair.b.state(), IBV_QPS_ERR);
		hostile.world.witness->testify();
	}
};

void rq_index(Hostile &hostile, uint32_t prod)
{
	OpenRq rq(hostile);
	uint64_t before = hostile.b.counter("rq_index_errors");

	rq.post();
	std::atomic_ref(rq.dv.rq->prod).store(prod);
	rq.send();
	rq.expect_refused(hostile);
	expect_counted(hostile.b, "rq_index_errors", before);
}

/* Entries of a posted WQE, overwritten before the message comes. */
struct EntryFault {
	std::string what;
	std::function<void(OpenRq &)> spoil;
	ibv_wc_status receiver;
	pavo_vendor_err vendor;
};

void rq_entry(Hostile &hostile, const EntryFault &fault)
{
	OpenRq rq(hostile, {.sges = 2});

	rq.post();
	fault.spoil(rq);
	rq.send();

	ibv_wc wc = rq.pair.b.received();

	REQUIRE_EQ(wc.status, fault.receiver);
	REQUIRE_EQ(wc.vendor_err, fault.vendor);
	REQUIRE_EQ(wc.wr_id, 70);
	REQUIRE(rq.pair.a.sent().status != IBV_WC_SUCCESS);
	REQUIRE_EQ(rq.pair.b.state(), IBV_QPS_ERR);
	hostile.world.witness->testify();
}

void add_rq_entries(Faults &faults)
{
	const EntryFault entries[] = {
		{"unknown key", [](OpenRq &q) { q.entry(0)->lkey ^= 0x7700; },
		 IBV_WC_LOC_PROT_ERR, PAVO_VE_LKEY},
		{"key of the sender's memory",
		 [](OpenRq &q) {
			 q.entry(0)->lkey = q.pair.source.lkey() ^ 0x55000000;
		 },
		 IBV_WC_LOC_PROT_ERR, PAVO_VE_LKEY},
		{"beyond the region",
		 [](OpenRq &q) { q.entry(0)->va += q.pair.sink.size(); },
		 IBV_WC_LOC_PROT_ERR, PAVO_VE_LKEY_RANGE},
		{"an address that wraps",
		 [](OpenRq &q) { q.entry(0)->va = ~0ull - 5; },
		 IBV_WC_LOC_PROT_ERR, PAVO_VE_LKEY_RANGE},
		{"too short for the message",
		 [](OpenRq &q) { q.entry(0)->byte_count = 63; },
		 IBV_WC_LOC_LEN_ERR, PAVO_VE_RQ_LENGTH},
		{"no entries", [](OpenRq &q) { *q.entry(0) = {}; },
		 IBV_WC_LOC_LEN_ERR, PAVO_VE_RQ_LENGTH},
	};

	for (const EntryFault &entry : entries)
		faults.add("receive WQE: " + entry.what, rq_entry, entry);
}

/* Not a receive WQE at all. */
void rq_shapeless(Hostile &hostile, std::function<void(OpenRq &)> spoil)
{
	OpenRq rq(hostile, {.sges = 2});
	uint64_t before = hostile.b.counter("rq_index_errors");

	rq.post();
	spoil(rq);
	rq.send();
	rq.expect_refused(hostile);
	expect_counted(hostile.b, "rq_index_errors", before);
}

void no_terminator(OpenRq &rq)
{
	uint32_t entries = rq.dv.rq_wqe_size / 16 - 1;

	for (uint32_t i = 0; i < entries; i++)
		*rq.entry(i) = {.byte_count = 1,
				.lkey = rq.pair.sink.lkey(),
				.va = rq.pair.sink.address()};
}

/* Words of the header that are the module's. */
void rq_module_words(Hostile &hostile)
{
	OpenRq rq(hostile);

	rq.post();
	std::atomic_ref(rq.dv.rq->cons).store(0x12345678);
	std::atomic_ref(rq.dv.rq->flags).store(~0u);
	REQUIRE_EQ(pavodv_kick_recv(rq.pair.b.qp()), 0);
	rq.send();
	REQUIRE_EQ(rq.pair.b.received().status, IBV_WC_SUCCESS);
	REQUIRE_EQ(rq.pair.a.sent().status, IBV_WC_SUCCESS);
	REQUIRE(rq.pair.sink.holds(64, 64));
	hostile.world.witness->testify();
}

/* In Error as well, where the index is read to flush. */
void rq_index_in_error(Hostile &hostile)
{
	OpenRq rq(hostile);
	uint64_t before = hostile.b.counter("rq_index_errors");

	rq.post(71);
	ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	REQUIRE_EQ(ibv_modify_qp(rq.pair.b.qp(), &attr, IBV_QP_STATE), 0);
	ibv_wc wc = rq.pair.b.received();
	REQUIRE_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
	REQUIRE_EQ(wc.wr_id, 71);
	std::atomic_ref(rq.dv.rq->prod).store(0x7fffffff);
	REQUIRE_EQ(pavodv_kick_recv(rq.pair.b.qp()), 0);
	expect_counted(hostile.b, "rq_index_errors", before);
	REQUIRE(!ibv_poll_cq(rq.pair.b.recv_cq(), 1, &wc));
	hostile.world.witness->testify();
}

/* A shared queue of the receiver, with devices of its own, as the event is. */
struct OpenSrq {
	struct Queue {
		ibv_srq *srq;

		explicit Queue(Device &device)
		{
			ibv_srq_init_attr attr = {.attr = {16, 2, 0}};

			srq = ibv_create_srq(device.pd(), &attr);
			REQUIRE(srq, "ibv_create_srq: errno ", errno);
		}
		~Queue() { ibv_destroy_srq(srq); }
	};

	Device a, b;
	Queue queue;
	Pair pair, other;
	pavodv_srq dv = {};

	explicit OpenSrq(Hostile &hostile)
		: a(hostile.world.name_a), b(hostile.world.name_b), queue(b),
		  pair(a, b, {.srq = queue.srq}),
		  other(a, b, {.srq = queue.srq})
	{
		REQUIRE_EQ(pavodv_query_srq(queue.srq, &dv), 0);
	}

	void post() { receive(queue.srq, 70, pair.sink, 1024); }

	void send(Pair &by) { RawSq(by.a).post(0, good_send(by, 64), 80); }

	/* The queue says so once; who takes from it is refused. */
	void expect_dead(Hostile &hostile)
	{
		send(pair);
		REQUIRE_EQ(pair.a.sent().status, IBV_WC_REM_OP_ERR);
		REQUIRE_EQ(pair.b.state(), IBV_QPS_ERR);
		send(other);
		REQUIRE_EQ(other.a.sent().status, IBV_WC_REM_OP_ERR);

		std::map<int, int> events;

		for (int i = 0; i < 5; i++)
			events[b.event()]++;
		REQUIRE_EQ(events[IBV_EVENT_SRQ_ERR], 1);
		REQUIRE_EQ(events[IBV_EVENT_QP_FATAL], 2);
		REQUIRE_EQ(events[IBV_EVENT_QP_LAST_WQE_REACHED], 2);
		hostile.world.witness->testify();
	}
};

void srq_index(Hostile &hostile, uint32_t prod)
{
	OpenSrq srq(hostile);
	uint64_t before = srq.b.counter("rq_index_errors");

	srq.post();
	std::atomic_ref(srq.dv.rq->prod).store(prod);
	srq.expect_dead(hostile);
	expect_counted(srq.b, "rq_index_errors", before + 1);
}

void srq_shapeless(Hostile &hostile)
{
	OpenSrq srq(hostile);

	srq.post();
	memset(srq.dv.slots, 0x11, srq.dv.wqe_size);
	srq.expect_dead(hostile);
}

void srq_reserved(Hostile &hostile)
{
	OpenSrq srq(hostile);

	srq.post();
	static_cast<pavo_srq_seg *>(srq.dv.slots)->reserved = 1;
	srq.expect_dead(hostile);
}

/* The module writes these words and reads none of them. */
void srq_module_words(Hostile &hostile)
{
	OpenSrq srq(hostile);

	for (uint32_t i = 0; i < 40; i++) {
		srq.post();
		std::atomic_ref(srq.dv.rq->flags).store(~i);
		srq.pair.source.fill(i);
		RawSq(srq.pair.a).post(i, good_send(srq.pair, 64), i);
		REQUIRE_EQ(srq.pair.a.sent().status, IBV_WC_SUCCESS);
		REQUIRE_EQ(srq.pair.b.received().wr_id, 70);
		REQUIRE(srq.pair.sink.holds(i, 64));
	}
	hostile.world.witness->testify();
}

/* Devices of its own: the event belongs to its context. */
struct OpenCq {
	Device a, b;
	Pair pair;
	pavodv_cq dv = {};

	OpenCq(Hostile &hostile, int cqes)
		: a(hostile.world.name_a), b(hostile.world.name_b),
		  pair(a, b, {.wrs = 64, .cqes = cqes})
	{
		REQUIRE_EQ(pavodv_query_cq(pair.a.send_cq(), &dv), 0);
	}

	/* One signalled write that the test does not poll. */
	void write(uint32_t number)
	{
		RawSq(pair.a).post(number, good_write(pair), number);
	}

	void expect_dead(Hostile &hostile)
	{
		REQUIRE_EQ(a.event(), IBV_EVENT_CQ_ERR);
		REQUIRE_EQ(a.event(), IBV_EVENT_QP_FATAL);
		REQUIRE_EQ(pair.a.state(), IBV_QPS_ERR);
		hostile.world.witness->testify();
	}
};

void cq_index(Hostile &hostile, uint32_t cons)
{
	OpenCq cq(hostile, 16);
	uint64_t before = cq.a.counter("cq_index_errors");

	std::atomic_ref(cq.dv.header->cons).store(cons);
	cq.write(0);
	cq.expect_dead(hostile);
	expect_counted(cq.a, "cq_index_errors", before);
}

void cq_overrun(Hostile &hostile)
{
	OpenCq cq(hostile, 8);
	uint64_t before = cq.a.counter("cq_overruns");

	for (uint32_t i = 0; i <= cq.dv.count; i++)
		cq.write(i);
	cq.expect_dead(hostile);
	expect_counted(cq.a, "cq_overruns", before);
}

/* The module writes entries and its index; it reads neither. */
void cq_module_words(Hostile &hostile)
{
	OpenCq cq(hostile, 16);
	ibv_wc wc;

	for (uint32_t i = 0; i < 40; i++) {
		std::atomic_ref(cq.dv.header->prod).store(i * 0x01010101u);
		cq.write(i);
		wc = cq.pair.a.sent();
		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, i);
		memset(&cq.dv.entries[i % cq.dv.count], i % 2 ? 0xff : 0x00,
		       offsetof(pavo_cqe, flags));
	}
	hostile.world.witness->testify();
}

/* The provider reads entries that the module never wrote. */
void cq_forged(Hostile &hostile)
{
	OpenCq cq(hostile, 16);
	std::mt19937 random(hostile.world.seed);
	ibv_wc wc[16];

	for (int i = 0; i < 2000; i++) {
		for (uint32_t at = 0; at < cq.dv.count; at++) {
			uint32_t words[sizeof(pavo_cqe) / 4];

			for (uint32_t &word : words)
				word = static_cast<uint32_t>(random());
			memcpy(&cq.dv.entries[at], words, sizeof(words));
			if (random() % 2)
				cq.dv.entries[at].qpn = cq.pair.a.qp()->qp_num;
		}

		int n = ibv_poll_cq(cq.pair.a.send_cq(), 16, wc);

		REQUIRE(n >= 0 && n <= 16);
		for (int k = 0; k < n; k++)
			REQUIRE(wc[k].wr_id == 0,
				"a request that was not posted");
	}
	hostile.world.witness->testify();
}

} // namespace

void add_queue_faults(Faults &faults)
{
	for (uint32_t prod : {0xffffffffu, 18u, 1000u, 1u << 31})
		faults.add("receive queue: producer index " +
				   std::to_string(prod),
			   rq_index, prod);
	faults.add("receive queue: producer index in Error", rq_index_in_error);
	faults.add("receive queue: the module's words overwritten",
		   rq_module_words);
	add_rq_entries(faults);
	faults.add("receive WQE: no terminator", rq_shapeless, no_terminator);
	faults.add("receive WQE: an entry beyond 2 GiB", rq_shapeless,
		   [](OpenRq &rq) { rq.entry(0)->byte_count |= 1u << 31; });
	faults.add("receive WQE: a wr_id of a shared queue's", rq_shapeless,
		   [](OpenRq &rq) { rq.next_seg()->wr_id = 1ull << 32; });
	faults.add("receive WQE: reserved bits", rq_shapeless,
		   [](OpenRq &rq) { rq.next_seg()->reserved = 1ull << 63; });
	for (uint32_t prod : {0xffffffffu, 18u, 1u << 31})
		faults.add("shared receive queue: producer index " +
				   std::to_string(prod),
			   srq_index, prod);
	faults.add("shared receive queue: a WQE without an end", srq_shapeless);
	faults.add("shared receive queue: reserved bits", srq_reserved);
	faults.add("shared receive queue: the module's words overwritten",
		   srq_module_words);
	for (uint32_t cons : {1u, 1000u, 1u << 31, ~0u - 100})
		faults.add("completion queue: consumer index " +
				   std::to_string(cons),
			   cq_index, cons);
	faults.add("completion queue: never consumed", cq_overrun);
	faults.add("completion queue: the module's words overwritten",
		   cq_module_words);
	faults.add("completion queue: forged entries", cq_forged);
}

} // namespace faults
