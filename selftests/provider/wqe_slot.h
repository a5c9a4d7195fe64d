/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wqe_slot.h - a slot of a ring that is an allocation of its own, and the segments in it.
 * For wqe_test.cpp and wqe_ext_cases.cpp.
 */
#ifndef PAVO_TEST_WQE_SLOT_H
#define PAVO_TEST_WQE_SLOT_H

#include <cstring>
#include <memory>

#include "../common/cases.h"
#include "ops.h"
#include "wqe.h"

using namespace pavo;

constexpr uint32_t SLOT = 256;

struct TestSlot {
	std::unique_ptr<std::byte[]> bytes{new std::byte[SLOT]};
	WqeName name = {};

	TestSlot() { memset(bytes.get(), 0xee, SLOT); }

	int send(const ibv_send_wr &wr, ibv_qp_type type = IBV_QPT_RC,
		 const pavo_ud_seg *av = nullptr, uint32_t flags = 0)
	{
		return build_send_wqe(bytes.get(), wr, limits(type), av,
				      nullptr, flags, &name);
	}

	int send(const ibv_send_wr &wr, const Extension &extension,
		 ibv_qp_type type = IBV_QPT_RC)
	{
		return build_send_wqe(bytes.get(), wr, limits(type), nullptr,
				      &extension, 0, &name);
	}

	static WqeLimits limits(ibv_qp_type type)
	{
		return {.service = type,
			.slot_size = SLOT,
			.max_sge = 4,
			.max_inline = 100};
	}

	/* The segment that begins @units into the slot. */
	template <class Segment> Segment at(unsigned units) const
	{
		Segment segment;

		memcpy(&segment, bytes.get() + units * PAVO_WQE_UNIT,
		       sizeof(segment));
		return segment;
	}

	bool clean_behind() const
	{
		for (uint32_t i = name.units * PAVO_WQE_UNIT; i < SLOT; i++)
			if (bytes[i] != std::byte{0xee})
				return false;
		return true;
	}
};

struct Wr : ibv_send_wr {
	ibv_sge sge[5] = {{0x1000, 100, 7},
			  {0x2000, 200, 8},
			  {0x3000, 0, 9},
			  {0x4000, 1, 10},
			  {0x5000, 1, 11}};

	explicit Wr(ibv_wr_opcode op, int sges = 0, unsigned flags = 0)
		: ibv_send_wr()
	{
		opcode = op;
		sg_list = sge;
		num_sge = sges;
		send_flags = flags;
	}
};

inline void check_next(const TestSlot &slot, uint32_t flags, uint32_t imm)
{
	auto next = slot.at<pavo_next_seg>(0);

	REQUIRE_EQ(next.next, 0, "a WQE is not linked until the next exists");
	REQUIRE_EQ(next.size, 0);
	REQUIRE_EQ(next.flags, flags);
	REQUIRE_EQ(next.imm, imm);
	REQUIRE(slot.clean_behind());
}

inline void check_data(const TestSlot &slot, unsigned units, const ibv_sge &sge)
{
	auto data = slot.at<pavo_data_seg>(units);

	REQUIRE_EQ(data.byte_count, sge.length);
	REQUIRE_EQ(data.lkey, sge.lkey);
	REQUIRE_EQ(data.va, sge.addr);
}

inline void check_remote(const TestSlot &slot, uint64_t va, uint32_t rkey,
			 uint32_t length)
{
	auto remote = slot.at<pavo_raddr_seg>(1);

	REQUIRE_EQ(remote.va, va);
	REQUIRE_EQ(remote.rkey, rkey);
	REQUIRE_EQ(remote.length, length);
}

/* Cases of wqe_ext_cases.cpp. */
void test_ext_atomics();
void test_imm64();
void test_flush();
void test_extended_xrc();
void test_slot_end_extended();

#endif /* PAVO_TEST_WQE_SLOT_H */
