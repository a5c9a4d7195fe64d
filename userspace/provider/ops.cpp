// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ops.cpp - see ops.h. */
#include "ops.h"

#include <array>
#include <cstddef>

namespace pavo {
namespace {

constexpr uint8_t rc = 1 << 0;
constexpr uint8_t uc = 1 << 1;
constexpr uint8_t ud = 1 << 2;
constexpr uint8_t xrc = 1 << 3;
constexpr uint8_t reliable = rc | xrc;
constexpr uint8_t connected = reliable | uc;
constexpr uint8_t all = connected | ud;

struct Row {
	ibv_wr_opcode opcode;
	Operation operation;
};

// clang-format off
#define ROW(wr, number, services, shape, word, inlined, wc) \
	{IBV_WR_##wr, {PAVO_WQE_##number, services, Shape::shape, Word::word, inlined, \
		       IBV_WC_##wc, IBV_QP_EX_WITH_##wr}}

#define EXT(name, shape, wc) \
	{WR_##name, {PAVO_WQE_##name, reliable, Shape::shape, Word::none, false, IBV_WC_##wc, 0}}

constexpr Row rows[] = {
	ROW(SEND,                 SEND,         all,       message, none,      true,  SEND),
	ROW(SEND_WITH_IMM,        SEND_IMM,     all,       message, immediate, true,  SEND),
	ROW(SEND_WITH_INV,        SEND_INV,     reliable,  message, key,       true,  SEND),
	ROW(RDMA_WRITE,           WRITE,        connected, remote,  none,      true,  RDMA_WRITE),
	ROW(RDMA_WRITE_WITH_IMM,  WRITE_IMM,    connected, remote,  immediate, true,  RDMA_WRITE),
	ROW(RDMA_READ,            READ,         reliable,  remote,  none,      false, RDMA_READ),
	ROW(ATOMIC_CMP_AND_SWP,   CMP_SWAP,     reliable,  atomic,  none,      false, COMP_SWAP),
	ROW(ATOMIC_FETCH_AND_ADD, FETCH_ADD,    reliable,  atomic,  none,      false, FETCH_ADD),
	ROW(ATOMIC_WRITE,         ATOMIC_WRITE, reliable,  remote,  none,      true,  ATOMIC_WRITE),
	ROW(LOCAL_INV,            LOCAL_INV,    connected, key,     key,       false, LOCAL_INV),
	ROW(BIND_MW,              BIND_MW,      connected, bind,    none,      false, BIND_MW),
	EXT(EXT_FETCH_ADD, ext_atomic, FETCH_ADD),
	EXT(EXT_SWAP,      ext_atomic, COMP_SWAP),
	EXT(EXT_CMP_SWAP,  ext_atomic, COMP_SWAP),
	EXT(IMM64,         imm64,      SEND),
};
// clang-format on

/* The rows by opcode of verbs; no services: the provider does not support the opcode. */
constexpr auto by_opcode = [] {
	std::array<Operation, 20> of = {};

	for (const Row &row : rows)
		of[row.opcode] = row.operation;
	return of;
}();

/* The rows by enum pavo_wqe_op. */
constexpr auto by_number = [] {
	std::array<Operation, PAVO_WQE_OP_COUNT> of = {};

	for (const Row &row : rows)
		of[row.operation.op] = row.operation;
	return of;
}();

uint8_t service_bit(ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return rc;
	case IBV_QPT_UC:
		return uc;
	case IBV_QPT_UD:
		return ud;
	case IBV_QPT_XRC_SEND:
		return xrc;
	default:
		return 0;
	}
}

} // namespace

const Operation *find_operation(ibv_qp_type service, ibv_wr_opcode opcode)
{
	auto index = static_cast<size_t>(opcode);

	if (index >= by_opcode.size() ||
	    !(by_opcode[index].services & service_bit(service)))
		return nullptr;
	return &by_opcode[index];
}

bool send_ops_supported(ibv_qp_type type, uint64_t ops)
{
	for (const Row &row : rows)
		if (row.operation.services & service_bit(type))
			ops &= ~row.operation.flag;
	return !ops;
}

bool find_send_completion(uint8_t op, ibv_wc_opcode *opcode)
{
	if (op >= by_number.size() || !by_number[op].services)
		return false;
	*opcode = by_number[op].wc;
	return true;
}

bool is_extended(uint8_t op)
{
	return op >= PAVO_WQE_EXT_FETCH_ADD && op <= PAVO_WQE_IMM64;
}

} // namespace pavo
