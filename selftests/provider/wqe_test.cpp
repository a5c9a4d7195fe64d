// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe_test.cpp - the provider's pure parts: WQE building and CQE decoding,
 * byte by byte against the formats of uapi/rdma/pavo-abi.h. Built with
 * sanitizers; each slot is an allocation of its own, so that a byte too far is
 * seen.
 */
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "../common/cases.h"
#include "cqe.h"
#include "queue.h"
#include "wqe_slot.h"

using namespace pavo;

namespace {

void test_send()
{
	TestSlot slot;
	Wr wr(IBV_WR_SEND, 4, IBV_SEND_SIGNALED | IBV_SEND_FENCE);

	REQUIRE_EQ(slot.send(wr), 0);
	check_next(slot, PAVO_WQE_SIGNALED, 0);
	REQUIRE_EQ(slot.name.word, PAVO_WQE_SEND | PAVO_DB_FENCE);
	REQUIRE_EQ(slot.name.units, 4, "the empty entry takes no room");
	check_data(slot, 1, wr.sge[0]);
	check_data(slot, 2, wr.sge[1]);
	check_data(slot, 3, wr.sge[3]);
}

void test_send_variants()
{
	TestSlot imm, inv, all;
	Wr with_imm(IBV_WR_SEND_WITH_IMM, 0, IBV_SEND_SOLICITED);
	Wr with_inv(IBV_WR_SEND_WITH_INV, 1);

	with_imm.imm_data = 0xcafe1234;
	REQUIRE_EQ(imm.send(with_imm), 0);
	check_next(imm, PAVO_WQE_SOLICITED, 0xcafe1234);
	REQUIRE_EQ(imm.name.word, PAVO_WQE_SEND_IMM);
	REQUIRE_EQ(imm.name.units, 1);

	with_inv.invalidate_rkey = 0xabc;
	REQUIRE_EQ(inv.send(with_inv), 0);
	check_next(inv, 0, 0xabc);
	REQUIRE_EQ(inv.name.word, PAVO_WQE_SEND_INV);

	REQUIRE_EQ(all.send(Wr(IBV_WR_SEND), IBV_QPT_RC, nullptr,
			    PAVO_WQE_SIGNALED),
		   0);
	check_next(all, PAVO_WQE_SIGNALED, 0);
}

void test_rdma()
{
	static constexpr struct {
		ibv_wr_opcode opcode;
		uint32_t op;
		uint32_t imm;
	} cases[] = {
		{IBV_WR_RDMA_WRITE, PAVO_WQE_WRITE, 0},
		{IBV_WR_RDMA_WRITE_WITH_IMM, PAVO_WQE_WRITE_IMM, 0x11223344},
		{IBV_WR_RDMA_READ, PAVO_WQE_READ, 0},
	};

	for (auto &c : cases) {
		TestSlot slot;
		Wr wr(c.opcode, 2);

		wr.imm_data = 0x11223344;
		wr.wr.rdma.remote_addr = 0x123456789abcull;
		wr.wr.rdma.rkey = 77;
		REQUIRE_EQ(slot.send(wr), 0);
		check_next(slot, 0, c.imm);
		REQUIRE_EQ(slot.name.word, c.op);
		REQUIRE_EQ(slot.name.units, 4);
		check_remote(slot, 0x123456789abcull, 77, 300);
		check_data(slot, 2, wr.sge[0]);
		check_data(slot, 3, wr.sge[1]);
	}
}

void test_atomics()
{
	TestSlot cas, add;
	Wr wr(IBV_WR_ATOMIC_CMP_AND_SWP, 1);

	wr.sge[0].length = 8;
	wr.wr.atomic.remote_addr = 0x8000;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 6;
	wr.wr.atomic.rkey = 88;
	REQUIRE_EQ(cas.send(wr), 0);
	check_remote(cas, 0x8000, 88, 8);
	REQUIRE_EQ(cas.at<pavo_atomic_seg>(2).compare, 5);
	REQUIRE_EQ(cas.at<pavo_atomic_seg>(2).swap_add, 6);
	check_data(cas, 3, wr.sge[0]);
	REQUIRE_EQ(cas.name.word, PAVO_WQE_CMP_SWAP);
	check_next(cas, 0, 0);

	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	REQUIRE_EQ(add.send(wr), 0);
	REQUIRE_EQ(add.at<pavo_atomic_seg>(2).compare, 0);
	REQUIRE_EQ(add.at<pavo_atomic_seg>(2).swap_add, 5);
	REQUIRE_EQ(add.name.word, PAVO_WQE_FETCH_ADD);
	REQUIRE_EQ(add.name.units, 4);

	wr.num_sge = 2;
	REQUIRE_EQ(add.send(wr), 0, "the result may be scattered");
	REQUIRE_EQ(add.name.units, 5);
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_INLINE;
	REQUIRE_EQ(add.send(wr), EINVAL);
}

void test_keys()
{
	TestSlot inv, bind;
	Wr wr(IBV_WR_LOCAL_INV);
	ibv_mr mr = {};

	wr.invalidate_rkey = 0x555;
	REQUIRE_EQ(inv.send(wr), 0);
	check_next(inv, 0, 0x555);
	REQUIRE_EQ(inv.name.word, PAVO_WQE_LOCAL_INV);

	ibv_mw mw = {.rkey = 0x700};
	mr.lkey = 0x900;
	wr.opcode = IBV_WR_BIND_MW;
	wr.bind_mw.mw = &mw;
	wr.bind_mw.rkey = 0x701;
	wr.bind_mw.bind_info = {.mr = &mr,
				.addr = 0xa000,
				.length = 4096,
				.mw_access_flags = 3};
	REQUIRE_EQ(bind.send(wr), 0);

	auto segment = bind.at<pavo_bind_seg>(1);

	REQUIRE_EQ(segment.va, 0xa000);
	REQUIRE_EQ(segment.length, 4096);
	REQUIRE_EQ(segment.mw_rkey, 0x700);
	REQUIRE_EQ(segment.new_rkey, 0x701);
	REQUIRE_EQ(segment.mr_lkey, 0x900);
	REQUIRE_EQ(segment.access, 3);
	REQUIRE_EQ(bind.name.units, 3);
	REQUIRE(bind.clean_behind());
	wr.bind_mw.bind_info.mr = nullptr;
	REQUIRE_EQ(bind.send(wr), EINVAL);
	wr.bind_mw.mw = nullptr;
	REQUIRE_EQ(bind.send(wr), EINVAL);
}

void test_datagram()
{
	TestSlot slot;
	Wr wr(IBV_WR_SEND, 1);
	pavo_ud_seg av = {};

	memset(&av, 0x31, sizeof(av));
	wr.wr.ud.remote_qpn = 0xff123456;
	wr.wr.ud.remote_qkey = 0x80000001;
	REQUIRE_EQ(slot.send(wr, IBV_QPT_UD, &av), 0);

	auto ud = slot.at<pavo_ud_seg>(1);

	REQUIRE_EQ(ud.dest_qpn, 0x123456);
	REQUIRE_EQ(ud.qkey, 0x80000001);
	ud.dest_qpn = av.dest_qpn;
	ud.qkey = av.qkey;
	REQUIRE(!memcmp(&ud, &av, sizeof(av)), "the rest is the handle's");
	check_data(slot, 4, wr.sge[0]);
	REQUIRE_EQ(slot.name.units, 5);
	check_next(slot, 0, 0);
	REQUIRE_EQ(slot.send(wr, IBV_QPT_UD, nullptr), EINVAL, "no handle");
}

void test_inline()
{
	char data[100];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = static_cast<char>(i * 7 + 3);
	for (uint32_t length = 0; length <= 101; length++) {
		TestSlot slot;
		Wr wr(IBV_WR_SEND, 2, IBV_SEND_INLINE);
		uint32_t first = length / 3;

		wr.sge[0] = {reinterpret_cast<uintptr_t>(data), first, 0};
		wr.sge[1] = {reinterpret_cast<uintptr_t>(data) + first,
			     length - first, 0};
		if (length > 100) {
			REQUIRE_EQ(slot.send(wr), EINVAL, "max_inline is 100");
			continue;
		}
		REQUIRE_EQ(slot.send(wr), 0);
		if (!length) {
			REQUIRE_EQ(slot.name.units, 1);
			continue;
		}
		REQUIRE_EQ(slot.at<uint32_t>(1), PAVO_INLINE_SEG | length);
		REQUIRE(!memcmp(slot.bytes.get() + PAVO_WQE_UNIT + 4, data,
				length));
		REQUIRE_EQ(slot.name.units, 1 + (4 + length + 15) / 16);
		check_next(slot, 0, 0);
	}

	TestSlot slot;

	REQUIRE_EQ(slot.send(Wr(IBV_WR_RDMA_READ, 1, IBV_SEND_INLINE)), EINVAL);
}

/* Which operation each service has (IBA table of transports). */
void test_services()
{
	static constexpr struct {
		ibv_wr_opcode opcode;
		bool rc, uc, ud;
	} cases[] = {
		{IBV_WR_SEND, true, true, true},
		{IBV_WR_SEND_WITH_IMM, true, true, true},
		{IBV_WR_SEND_WITH_INV, true, false, false},
		{IBV_WR_RDMA_WRITE, true, true, false},
		{IBV_WR_RDMA_WRITE_WITH_IMM, true, true, false},
		{IBV_WR_RDMA_READ, true, false, false},
		{IBV_WR_ATOMIC_CMP_AND_SWP, true, false, false},
		{IBV_WR_ATOMIC_FETCH_AND_ADD, true, false, false},
		{IBV_WR_LOCAL_INV, true, true, false},
		{IBV_WR_TSO, false, false, false},
		{IBV_WR_DRIVER1, false, false, false},
		{static_cast<ibv_wr_opcode>(15), false, false, false},
		{own_request(PAVO_WQE_EXT_FETCH_ADD), false, false, false},
		{own_request(PAVO_WQE_EXT_SWAP), false, false, false},
		{own_request(PAVO_WQE_EXT_CMP_SWAP), false, false, false},
		{own_request(PAVO_WQE_IMM64), false, false, false},
		{static_cast<ibv_wr_opcode>(20), false, false, false},
		{static_cast<ibv_wr_opcode>(-1), false, false, false},
	};
	pavo_ud_seg av = {};

	for (auto &c : cases) {
		TestSlot slot;
		Wr wr(c.opcode, 1);

		REQUIRE_EQ(slot.send(wr, IBV_QPT_RC), c.rc ? 0 : EINVAL,
			   "opcode ", c.opcode);
		REQUIRE_EQ(slot.send(wr, IBV_QPT_UC), c.uc ? 0 : EINVAL,
			   "opcode ", c.opcode);
		REQUIRE_EQ(slot.send(wr, IBV_QPT_UD, &av), c.ud ? 0 : EINVAL,
			   "opcode ", c.opcode);
	}
}

void test_refused()
{
	TestSlot slot;
	Wr wr(IBV_WR_SEND, 5);

	REQUIRE_EQ(slot.send(wr), EINVAL, "max_sge is 4");
	wr.num_sge = -1;
	REQUIRE_EQ(slot.send(wr), EINVAL);
	wr.num_sge = 2;
	wr.sge[0].length = 0x7fffffff;
	wr.sge[1].length = 1;
	REQUIRE_EQ(slot.send(wr), EINVAL, "2 GiB");
	wr.sge[1].length = 0;
	REQUIRE_EQ(slot.send(wr), 0, "2 GiB less one");
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.sge[0].length = wr.sge[1].length = 0x80000000;
	REQUIRE_EQ(slot.send(wr), EINVAL, "a sum of 2^32");
}

void test_slot_end()
{
	WqeLimits tight = TestSlot::limits(IBV_QPT_RC);
	Wr wr(IBV_WR_SEND, 2);

	for (uint32_t size = 0; size <= 64; size += 16) {
		std::unique_ptr<std::byte[]> slot(new std::byte[size]);
		WqeName name;

		tight.slot_size = size;
		REQUIRE_EQ(build_send_wqe(slot.get(), wr, tight, nullptr,
					  nullptr, 0, &name),
			   size < 48 ? EINVAL : 0, size);
	}
}

void test_chain()
{
	TestSlot first, second;

	REQUIRE_EQ(first.send(Wr(IBV_WR_RDMA_READ, 1)), 0);
	REQUIRE_EQ(second.send(Wr(IBV_WR_SEND, 3, IBV_SEND_FENCE)), 0);
	link_wqe(first.bytes.get(), second.name, 5 * SLOT);

	auto next = first.at<pavo_next_seg>(0);

	REQUIRE_EQ(next.next & PAVO_DB_OP_MASK, PAVO_WQE_SEND);
	REQUIRE_EQ(next.next & PAVO_DB_FENCE, PAVO_DB_FENCE);
	REQUIRE_EQ(next.next >> PAVO_DB_OFFSET_SHIFT, 5 * SLOT / 16);
	REQUIRE_EQ(next.size, second.name.units);

	uint64_t db = make_doorbell(0xabcdef, first.name, 4 * SLOT);

	REQUIRE_EQ(db & PAVO_DB_OP_MASK, PAVO_WQE_READ);
	REQUIRE_EQ(db & PAVO_DB_FENCE, 0);
	REQUIRE_EQ(db >> PAVO_DB_OFFSET_SHIFT & PAVO_DB_OFFSET_MAX,
		   4 * SLOT / 16);
	REQUIRE_EQ(db >> PAVO_DB_SIZE_SHIFT & 0xff, first.name.units);
	REQUIRE_EQ(db >> PAVO_DB_QPN_SHIFT, 0xabcdef);
}

void test_recv()
{
	TestSlot slot;
	ibv_sge sge[5] = {{0x1000, 100, 7}, {0, 0, 0}, {0x3000, 9, 9}};
	WqeLimits limits = TestSlot::limits(IBV_QPT_RC);
	ibv_recv_wr wr = {.sg_list = sge, .num_sge = 3};

	REQUIRE_EQ(build_recv_wqe(slot.bytes.get(), wr, limits), 0);
	slot.name.units = 4;
	check_next(slot, 0, 0);
	check_data(slot, 1, sge[0]);
	check_data(slot, 2, sge[2]);
	check_data(slot, 3, sge[1]); /* zeros: the terminator */

	wr.num_sge = 5;
	REQUIRE_EQ(build_recv_wqe(slot.bytes.get(), wr, limits), EINVAL);
	wr.num_sge = 1;
	limits.slot_size = 32;
	REQUIRE_EQ(build_recv_wqe(slot.bytes.get(), wr, limits), EINVAL,
		   "no room for the terminator");
	limits.slot_size = SLOT;
	sge[0].length = 0x80000000;
	REQUIRE_EQ(build_recv_wqe(slot.bytes.get(), wr, limits), EINVAL);
}

pavo_cqe sample_cqe()
{
	pavo_cqe cqe = {.qpn = 0x42,
			.wqe = 3,
			.byte_len = 1234,
			.imm = 0x55667788,
			.src_qp = 0x77,
			.pkey_index = 2,
			.opcode = PAVO_WQE_SEND,
			.sl = 5,
			.flags = PAVO_CQE_RECV | PAVO_CQE_IMM | PAVO_CQE_GRH};

	return cqe;
}

void test_decode()
{
	pavo_cqe cqe = sample_cqe();
	ibv_wc wc;

	memset(&wc, 0xff, sizeof(wc));
	decode_cqe(cqe, &wc);
	REQUIRE_EQ(wc.status, IBV_WC_SUCCESS);
	REQUIRE_EQ(wc.opcode, IBV_WC_RECV);
	REQUIRE_EQ(wc.byte_len, 1234);
	REQUIRE_EQ(wc.imm_data, 0x55667788);
	REQUIRE_EQ(wc.qp_num, 0x42);
	REQUIRE_EQ(wc.src_qp, 0x77);
	REQUIRE_EQ(wc.pkey_index, 2);
	REQUIRE_EQ(wc.sl, 5);
	REQUIRE_EQ(wc.wc_flags, IBV_WC_WITH_IMM | IBV_WC_GRH);
	REQUIRE_EQ(wc.vendor_err, 0);
	/* the kind of IP header, in the place of a level that RoCE has not */
	cqe.network_hdr_type = PAVO_NETWORK_IPV4;
	decode_cqe(cqe, &wc);
	REQUIRE_EQ(wc.sl, 2);
	cqe.network_hdr_type = PAVO_NETWORK_IPV6;
	decode_cqe(cqe, &wc);
	REQUIRE_EQ(wc.sl, 1);
	cqe.flags = PAVO_CQE_RECV | PAVO_CQE_INV;
	decode_cqe(cqe, &wc);
	REQUIRE_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	REQUIRE_EQ(wc.invalidated_rkey, 0x55667788);
}

void test_decode_opcodes()
{
	static constexpr int send[32] = {-1,
					 IBV_WC_SEND,
					 IBV_WC_SEND,
					 IBV_WC_SEND,
					 IBV_WC_RDMA_WRITE,
					 IBV_WC_RDMA_WRITE,
					 IBV_WC_RDMA_READ,
					 IBV_WC_COMP_SWAP,
					 IBV_WC_FETCH_ADD,
					 IBV_WC_LOCAL_INV,
					 IBV_WC_BIND_MW,
					 -1,
					 IBV_WC_ATOMIC_WRITE,
					 wc_flush_opcode,
					 IBV_WC_FETCH_ADD,
					 IBV_WC_COMP_SWAP,
					 IBV_WC_COMP_SWAP,
					 IBV_WC_SEND};

	for (int op = 0; op < 256; op++) {
		pavo_cqe cqe = sample_cqe();
		bool known = op <= PAVO_WQE_IMM64 && send[op] >= 0;
		ibv_wc wc;

		cqe.opcode = static_cast<uint8_t>(op);
		cqe.flags = 0;
		decode_cqe(cqe, &wc);
		REQUIRE_EQ(wc.status,
			   known ? IBV_WC_SUCCESS : IBV_WC_GENERAL_ERR, op);
		if (known)
			REQUIRE_EQ(static_cast<int>(wc.opcode), send[op], op);

		cqe.flags = PAVO_CQE_RECV;
		known = op == PAVO_WQE_SEND || op == PAVO_WQE_WRITE_IMM ||
			op == PAVO_WQE_IMM64;
		decode_cqe(cqe, &wc);
		REQUIRE_EQ(wc.status,
			   known ? IBV_WC_SUCCESS : IBV_WC_GENERAL_ERR, op);
		REQUIRE(wc.opcode & IBV_WC_RECV);
	}
}

void test_decode_status()
{
	for (int status = 0; status < 256; status++) {
		pavo_cqe cqe = sample_cqe();
		bool known = status <= IBV_WC_GENERAL_ERR;
		ibv_wc wc;

		cqe.status = static_cast<uint8_t>(status);
		cqe.vendor_err = PAVO_VE_LKEY;
		decode_cqe(cqe, &wc);
		REQUIRE_EQ(static_cast<int>(wc.status),
			   known ? status : IBV_WC_GENERAL_ERR);
		REQUIRE_EQ(wc.vendor_err, known ? PAVO_VE_LKEY : PAVO_VE_NONE);
		/* A refused WQE may have had any opcode. */
		cqe.opcode = 31;
		decode_cqe(cqe, &wc);
		REQUIRE(status == 0 || !known ||
			static_cast<int>(wc.status) == status);
	}
}

void test_owner()
{
	REQUIRE_EQ(owner_of_pass(0, 4), 1, "zeros are an empty ring");
	REQUIRE_EQ(owner_of_pass(3, 4), 1);
	REQUIRE_EQ(owner_of_pass(4, 4), 0);
	REQUIRE_EQ(owner_of_pass(8, 4), 1);
	REQUIRE_EQ(owner_of_pass(UINT32_MAX, 4), 0);
}

/* Entries that name WQEs that are not outstanding, all along the counts. */
void test_queue_indices()
{
	std::vector<std::byte> slots(8 * SLOT), own(PAVO_QUEUE_OWN_SIZE(8));
	WorkQueue queue(true);
	uint32_t head = 0, tail = 0;
	std::mt19937 random(1);

	REQUIRE(queue.init(slots.data(), own.data(), 8,
			   TestSlot::limits(IBV_QPT_RC)));
	for (int i = 0; i < 100000; i++) {
		uint32_t guess = tail - 20 + random() % 40;
		uint64_t wr_id = 0;

		while (random() % 3 && head - tail < 8) {
			REQUIRE(queue.has_space(head));
			queue.remember(head, 1000 + head);
			queue.set_head(++head);
		}
		REQUIRE_EQ(queue.has_space(head), head - tail < 8);
		if (guess - tail < head - tail) {
			REQUIRE(queue.complete(guess, &wr_id));
			REQUIRE_EQ(wr_id, 1000u + guess);
			tail = guess + 1;
		} else {
			REQUIRE(!queue.complete(guess, &wr_id));
		}
	}
	queue.reset();
	REQUIRE(queue.has_space(0) && !queue.has_space(8));
}

} // namespace

int main()
{
	return common::run({
		{"send", test_send},
		{"send with immediate, invalidate, all signalled",
		 test_send_variants},
		{"RDMA write and read", test_rdma},
		{"atomics", test_atomics},
		{"extended atomics", test_ext_atomics},
		{"immediate data of eight bytes", test_imm64},
		{"flush", test_flush},
		{"extended operations of XRC", test_extended_xrc},
		{"local invalidate and bind", test_keys},
		{"datagram", test_datagram},
		{"inline data of every length", test_inline},
		{"operations of the services", test_services},
		{"requests that are refused", test_refused},
		{"nothing beyond the slot", test_slot_end},
		{"nothing beyond it of extended operations",
		 test_slot_end_extended},
		{"chains and doorbells", test_chain},
		{"receive", test_recv},
		{"completion fields", test_decode},
		{"completion opcodes", test_decode_opcodes},
		{"completion status", test_decode_status},
		{"owner bit", test_owner},
		{"queue indices, believed and not", test_queue_indices},
	});
}
