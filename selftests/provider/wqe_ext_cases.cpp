// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * wqe_ext_cases.cpp - WQEs of extended operations, byte by byte against the formats of
 * uapi/rdma/pavo-abi.h. Cases of wqe_test.cpp.
 */
#include <cerrno>

#include "wqe_slot.h"

static void check_ext_atomic(uint32_t op, const pavo_ext_atomic_seg &operands)
{
	TestSlot slot;
	Wr wr(own_request(op), 1, IBV_SEND_SIGNALED);
	const Extension extension(operands);

	wr.sge[0].length = 8;
	wr.wr.atomic.remote_addr = 0x123456789abcull;
	wr.wr.atomic.rkey = 88;
	REQUIRE_EQ(slot.send(wr, extension), 0);
	REQUIRE_EQ(slot.name.word, op);
	REQUIRE_EQ(slot.name.units, 5);
	check_next(slot, PAVO_WQE_SIGNALED, 0);
	check_remote(slot, 0x123456789abcull, 88, 8);

	auto segment = slot.at<pavo_ext_atomic_seg>(2);

	REQUIRE_EQ(segment.swap_add, operands.swap_add);
	REQUIRE_EQ(segment.swap_add_mask, operands.swap_add_mask);
	REQUIRE_EQ(segment.compare, operands.compare);
	REQUIRE_EQ(segment.compare_mask, operands.compare_mask);
	check_data(slot, 4, wr.sge[0]);

	wr.send_flags = IBV_SEND_FENCE;
	wr.num_sge = 2;
	REQUIRE_EQ(slot.send(wr, extension), 0, "the result may be scattered");
	REQUIRE_EQ(slot.name.word, op | PAVO_DB_FENCE);
	REQUIRE_EQ(slot.name.units, 6);
	wr.send_flags = IBV_SEND_INLINE;
	REQUIRE_EQ(slot.send(wr, extension), EINVAL);
	wr.send_flags = 0;
	REQUIRE_EQ(slot.send(wr), EINVAL, "verbs cannot ask for it");
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD})
		REQUIRE_EQ(slot.send(wr, extension, type), EINVAL, type);
}

void test_ext_atomics()
{
	check_ext_atomic(PAVO_WQE_EXT_FETCH_ADD,
			 {0x1111, 0x2222, 0, UINT64_MAX});
	check_ext_atomic(PAVO_WQE_EXT_SWAP,
			 {0x1111, UINT64_MAX, 0, UINT64_MAX});
	check_ext_atomic(PAVO_WQE_EXT_CMP_SWAP,
			 {0x1111, 0x2222, 0x3333, 0x4444});
}

void test_imm64()
{
	TestSlot slot;
	Wr wr(own_request(PAVO_WQE_IMM64), 0, IBV_SEND_SOLICITED);
	const Extension extension(
		pavo_imm64_seg{.imm = 0x0123456789abcdef, .reserved = 0});

	REQUIRE_EQ(slot.send(wr, extension), 0);
	REQUIRE_EQ(slot.name.word, PAVO_WQE_IMM64);
	REQUIRE_EQ(slot.name.units, 2);
	check_next(slot, PAVO_WQE_SOLICITED, 0);
	REQUIRE_EQ(slot.at<pavo_imm64_seg>(1).imm, 0x0123456789abcdef);
	REQUIRE_EQ(slot.at<pavo_imm64_seg>(1).reserved, 0);
	REQUIRE_EQ(slot.send(wr), EINVAL, "verbs cannot ask for it");
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD})
		REQUIRE_EQ(slot.send(wr, extension, type), EINVAL, type);
	wr.num_sge = 1;
	REQUIRE_EQ(slot.send(wr, extension), EINVAL, "it has no entries");
	wr.num_sge = 0;
	wr.send_flags = IBV_SEND_INLINE;
	REQUIRE_EQ(slot.send(wr, extension), EINVAL);
}

/* Verbs have it, but only by a call: ibv_post_send() has no place for what it is for. */
void test_flush()
{
	TestSlot slot, xrc;
	Wr wr(wr_flush_opcode, 0, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	const Extension range(pavo_raddr_seg{
		.va = 0x123456789abcull, .rkey = 88, .length = 0x7fffffff});

	wr.imm_data = PAVO_FLUSH_GLOBAL | PAVO_FLUSH_REGION;
	REQUIRE_EQ(slot.send(wr, range), 0);
	REQUIRE_EQ(slot.name.word, PAVO_WQE_FLUSH | PAVO_DB_FENCE);
	REQUIRE_EQ(slot.name.units, 2);
	check_next(slot, PAVO_WQE_SIGNALED, 0x11);
	check_remote(slot, 0x123456789abcull, 88, 0x7fffffff);
	REQUIRE_EQ(slot.send(wr), EINVAL, "by ibv_post_send()");
	for (ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD})
		REQUIRE_EQ(slot.send(wr, range, type), EINVAL, type);
	wr.qp_type.xrc.remote_srqn = 0xabcdef;
	REQUIRE_EQ(xrc.send(wr, range, IBV_QPT_XRC_SEND), 0);
	REQUIRE_EQ(xrc.name.units, 3);
	REQUIRE_EQ(xrc.at<pavo_xrc_seg>(1).srqn, 0xabcdefu);
	REQUIRE_EQ(xrc.at<pavo_raddr_seg>(2).rkey, 88u);
	wr.num_sge = 1;
	REQUIRE_EQ(slot.send(wr, range), EINVAL, "it has no entries");
	wr.num_sge = 0;
	wr.send_flags = IBV_SEND_INLINE;
	REQUIRE_EQ(slot.send(wr, range), EINVAL);
}

/* Of XRC: the queue that takes the message is named behind NextSeg. */
void test_extended_xrc()
{
	const Extension atomic(
		pavo_ext_atomic_seg{0x1111, UINT64_MAX, 0, UINT64_MAX});
	const Extension immediate(pavo_imm64_seg{.imm = 7, .reserved = 0});
	TestSlot slot;
	Wr swap(own_request(PAVO_WQE_EXT_SWAP), 1),
		imm(own_request(PAVO_WQE_IMM64), 0);

	swap.sge[0].length = 8;
	swap.wr.atomic.remote_addr = 0x123456789abcull;
	swap.wr.atomic.rkey = 88;
	swap.qp_type.xrc.remote_srqn = 0xabcdef;
	REQUIRE_EQ(slot.send(swap, atomic, IBV_QPT_XRC_SEND), 0);
	REQUIRE_EQ(slot.name.units, 6);
	REQUIRE_EQ(slot.at<pavo_xrc_seg>(1).srqn, 0xabcdefu);
	REQUIRE_EQ(slot.at<pavo_raddr_seg>(2).va, 0x123456789abcull);
	REQUIRE_EQ(slot.at<pavo_raddr_seg>(2).rkey, 88u);
	REQUIRE_EQ(slot.at<pavo_ext_atomic_seg>(3).swap_add, 0x1111u);
	check_data(slot, 5, swap.sge[0]);
	imm.qp_type.xrc.remote_srqn = 0xabcdef;
	REQUIRE_EQ(slot.send(imm, immediate, IBV_QPT_XRC_SEND), 0);
	REQUIRE_EQ(slot.name.units, 3);
	REQUIRE_EQ(slot.at<pavo_xrc_seg>(1).srqn, 0xabcdefu);
	REQUIRE_EQ(slot.at<pavo_imm64_seg>(2).imm, 7u);
	imm.qp_type.xrc.remote_srqn = 1 << 24;
	REQUIRE_EQ(slot.send(imm, immediate, IBV_QPT_XRC_SEND), EINVAL);
}

/* The same of requests that are longest. */
void test_slot_end_extended()
{
	const struct {
		uint8_t op;
		Extension extension;
		int entries;
		uint32_t needs;
	} cases[] = {
		{PAVO_WQE_EXT_CMP_SWAP, Extension(pavo_ext_atomic_seg{}), 1,
		 80},
		{PAVO_WQE_IMM64, Extension(pavo_imm64_seg{}), 0, 32},
	};

	for (auto &c : cases) {
		WqeLimits tight = TestSlot::limits(IBV_QPT_RC);
		Wr wr(own_request(c.op), c.entries);

		for (uint32_t size = 0; size <= 96; size += 16) {
			std::unique_ptr<std::byte[]> slot(new std::byte[size]);
			WqeName name;

			tight.slot_size = size;
			REQUIRE_EQ(build_send_wqe(slot.get(), wr, tight,
						  nullptr, &c.extension, 0,
						  &name),
				   size < c.needs ? EINVAL : 0, size);
		}
	}
}
