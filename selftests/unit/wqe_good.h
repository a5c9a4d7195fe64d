/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * wqe_good.h - a correct WQE of every operation, and the verdict of the parser. For
 * wqe_test.cpp and wqe_ext_test.cpp.
 */
#ifndef PAVO_UNIT_WQE_GOOD_H
#define PAVO_UNIT_WQE_GOOD_H

#include <gtest/gtest.h>

#include <numeric>

#include "wqe_env.h"

inline const std::vector<uint32_t> rc_ops = {
	PAVO_WQE_NOP,		PAVO_WQE_SEND,	   PAVO_WQE_SEND_IMM,
	PAVO_WQE_SEND_INV,	PAVO_WQE_WRITE,	   PAVO_WQE_WRITE_IMM,
	PAVO_WQE_READ,		PAVO_WQE_CMP_SWAP, PAVO_WQE_FETCH_ADD,
	PAVO_WQE_LOCAL_INV,	PAVO_WQE_BIND_MW,  PAVO_WQE_ATOMIC_WRITE,
	PAVO_WQE_EXT_FETCH_ADD, PAVO_WQE_EXT_SWAP, PAVO_WQE_EXT_CMP_SWAP,
	PAVO_WQE_IMM64,		PAVO_WQE_FLUSH,
};
inline const std::vector<uint32_t> sends = {PAVO_WQE_SEND, PAVO_WQE_SEND_IMM,
					    PAVO_WQE_SEND_INV};
inline const std::vector<uint32_t> writes = {PAVO_WQE_WRITE,
					     PAVO_WQE_WRITE_IMM};
inline const std::vector<uint32_t> atomics = {PAVO_WQE_CMP_SWAP,
					      PAVO_WQE_FETCH_ADD};
inline const std::vector<uint32_t> ext_atomics = {
	PAVO_WQE_EXT_FETCH_ADD, PAVO_WQE_EXT_SWAP, PAVO_WQE_EXT_CMP_SWAP};
constexpr uint64_t ones = ~0ull;

inline pavo_status rc(const Wqe &wqe, uint64_t db)
{
	ParsedWqe parsed = parse_wqe(wqe, db, rc_limits());

	EXPECT_EQ(parsed.err, parsed->status);
	return parsed.err;
}

inline pavo_status ud(const Wqe &wqe, uint64_t db, uint32_t mtu = 1024)
{
	ParsedWqe parsed = parse_wqe(wqe, db, ud_limits(mtu));

	EXPECT_EQ(parsed.err, parsed->status);
	return parsed.err;
}

/* A correct WQE of any RC operation. */
inline Wqe good(uint32_t op)
{
	switch (op) {
	case PAVO_WQE_NOP:
	case PAVO_WQE_LOCAL_INV:
		return Wqe();
	case PAVO_WQE_BIND_MW:
	case PAVO_WQE_REG_MR:
		return Wqe().bind(0x1000, 0x2000, 3, 4, 5, 6);
	case PAVO_WQE_SEND:
	case PAVO_WQE_SEND_IMM:
	case PAVO_WQE_SEND_INV:
		return Wqe().sge(100, 1, 0x1000).sge(28, 2, 0x2000);
	case PAVO_WQE_CMP_SWAP:
	case PAVO_WQE_FETCH_ADD:
		return Wqe()
			.raddr(0x8000, 7, 8)
			.atomic(11, op == PAVO_WQE_CMP_SWAP ? 12 : 0)
			.sge(8, 1, 0x1000);
	case PAVO_WQE_ATOMIC_WRITE:
		return Wqe().raddr(0x8000, 7, 8).sge(8, 1, 0x1000);
	case PAVO_WQE_FLUSH:
		return Wqe().raddr(0x8000, 7, 128).flush(PAVO_FLUSH_GLOBAL);
	case PAVO_WQE_EXT_FETCH_ADD:
		return Wqe()
			.raddr(0x8000, 7, 8)
			.ext_atomic(11, 12, 0, ones)
			.sge(8, 1, 0x1000);
	case PAVO_WQE_EXT_SWAP:
		return Wqe()
			.raddr(0x8000, 7, 8)
			.ext_atomic(11, ones, 0, ones)
			.sge(8, 1, 0x1000);
	case PAVO_WQE_EXT_CMP_SWAP:
		return Wqe()
			.raddr(0x8000, 7, 8)
			.ext_atomic(11, 12, 13, 14)
			.sge(8, 1, 0x1000);
	case PAVO_WQE_IMM64:
		return Wqe().imm64(0x1122334455667788);
	default:
		return Wqe()
			.raddr(0x8000, 7, 128)
			.sge(100, 1, 0x1000)
			.sge(28, 2, 0x2000);
	}
}

inline std::vector<uint8_t> pattern(size_t size)
{
	std::vector<uint8_t> data(size);

	std::iota(data.begin(), data.end(), uint8_t(1));
	return data;
}

#endif /* PAVO_UNIT_WQE_GOOD_H */
