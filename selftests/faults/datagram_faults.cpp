// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * datagram_faults.cpp - bad sends of datagrams. They stop the send queue (SQE)
 * and nothing else: receiving goes on, and modify_qp brings the queue back.
 */
#include "../common/connect.h"
#include "cases.h"
#include "raw.h"

namespace faults {
namespace {

constexpr uint32_t QKEY = 0x12345;
constexpr uint32_t GRH = 40;

struct AddressHandle {
	ibv_ah *ah;

	AddressHandle(Device &from, Device &to)
	{
		ibv_ah_attr attr =
			common::address_vector(to.gid(), from.gid_index());

		ah = ibv_create_ah(from.pd(), &attr);
		REQUIRE(ah, "ibv_create_ah: errno ", errno);
	}
	~AddressHandle() { ibv_destroy_ah(ah); }
	AddressHandle(const AddressHandle &) = delete;
	AddressHandle &operator=(const AddressHandle &) = delete;
};

/* A datagram QP with memory, and the way to the other one. */
struct Station {
	Station(Device &device, Device &other, uint32_t wrs)
		: end(device, {.wrs = wrs,
			       .cqes = static_cast<int>(4 * wrs),
			       .type = IBV_QPT_UD}),
		  memory(device.pd(), 16384), way(device, other)
	{
		end.ready_datagram(QKEY);
	}

	void post_receive(uint64_t id) { end.receive(id, memory, GRH + 256); }

	/* @count sends in one call; number @bad of them is @spoiled. */
	void post(Station &to, uint64_t id, uint32_t count, uint32_t bad = ~0u,
		  ibv_sge spoiled = {})
	{
		ibv_sge good = memory.part(1024, 200);
		std::vector<ibv_send_wr> wrs(count);
		ibv_send_wr *refused;

		for (uint32_t i = 0; i < count; i++) {
			wrs[i].wr_id = id + i;
			wrs[i].opcode = IBV_WR_SEND;
			wrs[i].send_flags = IBV_SEND_SIGNALED;
			wrs[i].sg_list = i == bad ? &spoiled : &good;
			wrs[i].num_sge = 1;
			wrs[i].wr.ud.ah = way.ah;
			wrs[i].wr.ud.remote_qpn = to.end.qp()->qp_num;
			wrs[i].wr.ud.remote_qkey = QKEY;
			wrs[i].next = i + 1 < count ? &wrs[i + 1] : nullptr;
		}
		REQUIRE_EQ(ibv_post_send(end.qp(), wrs.data(), &refused), 0);
	}

	void expect_sent(uint64_t id, ibv_wc_status status)
	{
		ibv_wc wc = end.sent();

		REQUIRE_EQ(wc.wr_id, id, ibv_wc_status_str(wc.status));
		REQUIRE_EQ(wc.status, status, "send ", id, ", vendor ",
			   wc.vendor_err);
	}

	void back_to_rts()
	{
		ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
				    .cur_qp_state = IBV_QPS_SQE};

		REQUIRE_EQ(ibv_modify_qp(end.qp(), &attr,
					 IBV_QP_STATE | IBV_QP_CUR_STATE),
			   0);
		REQUIRE_EQ(end.state(), IBV_QPS_RTS);
	}

	End end;
	Memory memory;
	AddressHandle way;
};

struct Stations {
	explicit Stations(Hostile &hostile, uint32_t wrs = 16)
		: a(hostile.a, hostile.b, wrs), b(hostile.b, hostile.a, wrs)
	{
	}

	/* One datagram @from, which arrives as it was sent. */
	void pass(Station &from, Station &to, uint64_t id)
	{
		from.memory.fill(static_cast<uint32_t>(id));
		to.post_receive(id);
		from.post(to, id, 1);
		from.expect_sent(id, IBV_WC_SUCCESS);
		expect_arrived(from, to, id);
	}

	void expect_arrived(Station &from, Station &to, uint64_t id)
	{
		ibv_wc wc = to.end.received();

		REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
		REQUIRE_EQ(wc.wr_id, id);
		REQUIRE_EQ(wc.byte_len, GRH + 200);
		REQUIRE(!memcmp(to.memory.bytes() + GRH,
				from.memory.bytes() + 1024, 200),
			"data of ", id);
	}

	/* The first request of @a, written past the provider. */
	void post_raw(uint64_t id,
		      const std::function<void(pavo_ud_seg &)> &spoil)
	{
		Wqe wqe = good_datagram(a.end, b.end, QKEY,
					a.memory.address() + 1024, 200,
					a.memory);

		a.memory.fill(static_cast<uint32_t>(id));
		spoil(wqe.at<pavo_ud_seg>(1));
		RawSq(a.end).post(0, wqe, id);
	}

	Station a, b;
};

/* A fault of a send, and its result. */
struct Kind {
	const char *name;
	ibv_sge (*spoil)(Station &station);
	ibv_wc_status status;
};

const Kind kinds[] = {
	{"a key that is none",
	 [](Station &s) {
		 return ibv_sge{s.memory.address(), 64, s.memory.lkey() ^ 0xff};
	 },
	 IBV_WC_LOC_PROT_ERR},
	{"memory beyond the region",
	 [](Station &s) {
		 return ibv_sge{s.memory.address() + s.memory.size() - 63, 64,
				s.memory.lkey()};
	 },
	 IBV_WC_LOC_PROT_ERR},
	{"more than a packet takes",
	 [](Station &s) {
		 return ibv_sge{s.memory.address(), 4097, s.memory.lkey()};
	 },
	 IBV_WC_LOC_LEN_ERR},
};

/* From RTS to SQE and back. */
void stops_sending_only(Hostile &hostile, const Kind &kind)
{
	Stations s(hostile);
	uint64_t errors = hostile.a.counter("sq_errors");

	for (uint64_t round = 0; round < 3; round++) {
		uint64_t id = 100 * round;

		s.b.memory.fill(7);
		s.b.post_receive(id);
		s.a.post(s.b, id, 4, 1, kind.spoil(s.a));
		s.a.expect_sent(id, IBV_WC_SUCCESS);
		s.a.expect_sent(id + 1, kind.status);
		REQUIRE_EQ(s.a.end.state(), IBV_QPS_SQE);
		s.a.expect_sent(id + 2, IBV_WC_WR_FLUSH_ERR);
		s.a.expect_sent(id + 3, IBV_WC_WR_FLUSH_ERR);
		s.expect_arrived(s.a, s.b, id);

		s.a.post(s.b, id + 10, 2);
		s.a.expect_sent(id + 10, IBV_WC_WR_FLUSH_ERR);
		s.a.expect_sent(id + 11, IBV_WC_WR_FLUSH_ERR);
		s.pass(s.b, s.a, id + 20);
		REQUIRE_EQ(s.a.end.state(), IBV_QPS_SQE);

		s.a.back_to_rts();
		s.pass(s.a, s.b, id + 30);
		s.pass(s.b, s.a, id + 40);
	}
	expect_counted(hostile.a, "sq_errors", errors + 2);
	hostile.world.witness->testify();
}

/* A process that goes on as soon as it sees the error gets the whole queue flushed. */
void recovers_with_a_full_queue(Hostile &hostile)
{
	constexpr uint32_t count = 4096;
	Stations s(hostile, count);

	for (uint64_t round = 0; round < 3; round++) {
		s.a.post(s.b, 0, count, 0, kinds[0].spoil(s.a));
		s.a.expect_sent(0, IBV_WC_LOC_PROT_ERR);
		s.a.back_to_rts();
		for (uint32_t i = 1; i < count; i++)
			s.a.expect_sent(i, IBV_WC_WR_FLUSH_ERR);
		s.pass(s.a, s.b, count + round);
	}
	hostile.world.witness->testify();
}

/* The other ways out. */
void leaves_for(Hostile &hostile, ibv_qp_state next)
{
	Stations s(hostile);
	ibv_wc wc;

	s.a.post_receive(50);
	s.a.post(s.b, 0, 2, 0, kinds[0].spoil(s.a));
	s.a.expect_sent(0, IBV_WC_LOC_PROT_ERR);
	s.a.expect_sent(1, IBV_WC_WR_FLUSH_ERR);
	REQUIRE(!ibv_poll_cq(s.a.end.recv_cq(), 1, &wc), "a receive completed");

	ibv_qp_attr attr = {.qp_state = next};
	REQUIRE_EQ(ibv_modify_qp(s.a.end.qp(), &attr, IBV_QP_STATE), 0);
	REQUIRE_EQ(s.a.end.state(), next);
	if (next == IBV_QPS_ERR) {
		wc = s.a.end.received();
		REQUIRE_EQ(wc.wr_id, 50);
		REQUIRE_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		attr.qp_state = IBV_QPS_RESET;
		REQUIRE_EQ(ibv_modify_qp(s.a.end.qp(), &attr, IBV_QP_STATE), 0);
	}
	s.a.end.ready_datagram(QKEY);
	s.pass(s.a, s.b, 60);
	s.pass(s.b, s.a, 61);
	hostile.world.witness->testify();
}

/* States that cannot be reached from SQE, and a wrong idea of where it is. */
void refuses_wrong_ways(Hostile &hostile)
{
	Stations s(hostile);
	ibv_qp_attr attr = {};

	s.a.post(s.b, 0, 1, 0, kinds[0].spoil(s.a));
	s.a.expect_sent(0, IBV_WC_LOC_PROT_ERR);
	for (ibv_qp_state next :
	     {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQD, IBV_QPS_SQE}) {
		attr.qp_state = next;
		REQUIRE(ibv_modify_qp(s.a.end.qp(), &attr, IBV_QP_STATE),
			"SQE to ", int(next), " was allowed");
		REQUIRE_EQ(s.a.end.state(), IBV_QPS_SQE);
	}
	attr.qp_state = IBV_QPS_RTS;
	attr.cur_qp_state = IBV_QPS_SQD;
	REQUIRE(ibv_modify_qp(s.a.end.qp(), &attr,
			      IBV_QP_STATE | IBV_QP_CUR_STATE));
	REQUIRE_EQ(s.a.end.state(), IBV_QPS_SQE);
	s.a.back_to_rts();
	s.pass(s.a, s.b, 1);
	hostile.world.witness->testify();
}

/* A UDSeg that the provider would not write, and what is said of it. */
struct Way {
	std::string what;
	std::function<void(pavo_ud_seg &)> spoil;
	pavo_vendor_err vendor = PAVO_VE_NONE;
};

/* Only the sender knows: the queue stops there, and goes on when told to. */
void refuses_way(Hostile &hostile, const Way &way)
{
	Stations s(hostile);
	uint64_t wqe_errors = hostile.a.counter("wqe_errors");
	uint64_t sq_errors = hostile.a.counter("sq_errors");

	s.b.post_receive(1);
	s.post_raw(10, way.spoil);
	ibv_wc wc = s.a.end.sent();
	REQUIRE_EQ(wc.status, IBV_WC_LOC_QP_OP_ERR, "vendor ", wc.vendor_err);
	REQUIRE_EQ(wc.vendor_err, way.vendor);
	REQUIRE_EQ(wc.wr_id, 10);
	REQUIRE_EQ(s.a.end.state(), IBV_QPS_SQE);
	s.a.post(s.b, 11, 1);
	s.a.expect_sent(11, IBV_WC_WR_FLUSH_ERR);
	expect_counted(hostile.a, "wqe_errors", wqe_errors);
	expect_counted(hostile.a, "sq_errors", sq_errors);

	/* The next one arrives next: nothing of the first was sent. */
	s.a.back_to_rts();
	s.a.memory.fill(12);
	s.a.post(s.b, 12, 1);
	s.a.expect_sent(12, IBV_WC_SUCCESS);
	s.expect_arrived(s.a, s.b, 1);
	s.pass(s.b, s.a, 13);
	REQUIRE(!ibv_poll_cq(s.b.end.recv_cq(), 1, &wc),
		"one too many arrived");
	hostile.world.witness->testify();
}

void takes_way(Hostile &hostile, const Way &way)
{
	Stations s(hostile);

	s.b.post_receive(1);
	s.post_raw(10, way.spoil);
	s.a.expect_sent(10, IBV_WC_SUCCESS);
	s.expect_arrived(s.a, s.b, 1);
	s.pass(s.a, s.b, 11);
	hostile.world.witness->testify();
}

/* It leads nowhere, as ways may do at any time: the datagram is lost. */
void loses_way(Hostile &hostile, const Way &way)
{
	Stations s(hostile);
	uint64_t lost = hostile.a.counter("tx_drop_no_route");

	s.b.post_receive(1);
	s.post_raw(10, way.spoil);
	s.a.expect_sent(10, IBV_WC_SUCCESS);
	REQUIRE_EQ(s.a.end.state(), IBV_QPS_RTS);
	expect_counted(hostile.a, "tx_drop_no_route", lost);
	s.a.memory.fill(11);
	s.a.post(s.b, 11, 1);
	s.a.expect_sent(11, IBV_WC_SUCCESS);
	s.expect_arrived(s.a, s.b, 1);
	hostile.world.witness->testify();
}

std::vector<Way> bad_ways()
{
	std::vector<Way> ways = {
		{"QPN with a 25th bit",
		 [](pavo_ud_seg &seg) { seg.dest_qpn |= 1u << 24; },
		 PAVO_VE_AV},
		{"QPN with the top bit",
		 [](pavo_ud_seg &seg) { seg.dest_qpn |= 1u << 31; },
		 PAVO_VE_AV},
		{"QPN ffffffff", [](pavo_ud_seg &seg) { seg.dest_qpn = ~0u; },
		 PAVO_VE_AV},
	};

	for (uint8_t sl : {16, 255})
		ways.push_back({"service level " + std::to_string(sl),
				[sl](pavo_ud_seg &seg) { seg.sl = sl; },
				PAVO_VE_AV});
	for (uint8_t port : {0, 2, 0x81, 0xff})
		ways.push_back(
			{"port " + std::to_string(port),
			 [port](pavo_ud_seg &seg) { seg.port_num = port; },
			 PAVO_VE_AV});
	for (size_t i = 0; i < sizeof(pavo_ud_seg::reserved); i++)
		ways.push_back({"reserved byte " + std::to_string(i),
				[i](pavo_ud_seg &seg) {
					seg.reserved[i] = 1u << i % 8;
				},
				PAVO_VE_WQE_FLAGS});
	return ways;
}

std::vector<Way> good_ways()
{
	return {
		{"nothing wrong", [](pavo_ud_seg &) {}},
		{"flow label of 32 bits",
		 [](pavo_ud_seg &seg) { seg.flow_label = ~0u; }},
		{"another MAC address",
		 [](pavo_ud_seg &seg) {
			 memset(seg.dmac, 0x5a, sizeof(seg.dmac));
		 }},
		{"hop limit 0", [](pavo_ud_seg &seg) { seg.hop_limit = 0; }},
		{"service level 15", [](pavo_ud_seg &seg) { seg.sl = 15; }},
	};
}

std::vector<Way> lost_ways()
{
	return {
		{"source GID 255",
		 [](pavo_ud_seg &seg) { seg.sgid_index = 255; }},
		{"no destination",
		 [](pavo_ud_seg &seg) {
			 memset(seg.dgid, 0, sizeof(seg.dgid));
		 }},
		{"a destination of the other family",
		 [](pavo_ud_seg &seg) { seg.dgid[0] = 0xfd; }},
		{"everybody",
		 [](pavo_ud_seg &seg) { memset(seg.dgid + 12, 0xff, 4); }},
	};
}

void add_ways(Faults &faults, const std::vector<Way> &ways,
	      void (*test)(Hostile &, const Way &))
{
	for (const Way &way : ways)
		faults.add("UDSeg: " + way.what, test, way);
}

} // namespace

void add_datagram_faults(Faults &faults)
{
	for (const Kind &kind : kinds)
		faults.add(std::string("datagram: ") + kind.name,
			   stops_sending_only, kind);
	faults.add("datagram: a full queue behind a bad send",
		   recovers_with_a_full_queue);
	faults.add("datagram: SQE to ERR", leaves_for, IBV_QPS_ERR);
	faults.add("datagram: SQE to RESET", leaves_for, IBV_QPS_RESET);
	faults.add("datagram: ways that SQE does not have", refuses_wrong_ways);
	add_ways(faults, bad_ways(), refuses_way);
	add_ways(faults, good_ways(), takes_way);
	add_ways(faults, lost_ways(), loses_way);
}

} // namespace faults
