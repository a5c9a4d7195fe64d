// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ops.cpp - see ops.h. */
#include "ops.h"

#include <array>
#include <cstddef>

namespace pavo {
namespace {

constexpr uint8_t RC = 1 << 0;
constexpr uint8_t UC = 1 << 1;
constexpr uint8_t UD = 1 << 2;
constexpr uint8_t XRC = 1 << 3;
constexpr uint8_t RELIABLE = RC | XRC;
constexpr uint8_t CONNECTED = RELIABLE | UC;
constexpr uint8_t ALL = CONNECTED | UD;

struct Row {
	ibv_wr_opcode opcode;
	Operation operation;
};

// clang-format off
#define ROW(wr, number, services, shape, word, inlined, wc) \
	{IBV_WR_##wr, {PAVO_WQE_##number, services, Shape::shape, Word::word, inlined, \
		       IBV_WC_##wc, IBV_QP_EX_WITH_##wr}}

#define EXT(name, shape, wc) \
	{WR_##name, {PAVO_WQE_##name, RELIABLE, Shape::shape, Word::NONE, false, IBV_WC_##wc, 0}}

constexpr Row ROWS[] = {
	ROW(SEND,                 SEND,         ALL,       MESSAGE, NONE,      true,  SEND),
	ROW(SEND_WITH_IMM,        SEND_IMM,     ALL,       MESSAGE, IMMEDIATE, true,  SEND),
	ROW(SEND_WITH_INV,        SEND_INV,     RELIABLE,  MESSAGE, KEY,       true,  SEND),
	ROW(RDMA_WRITE,           WRITE,        CONNECTED, REMOTE,  NONE,      true,  RDMA_WRITE),
	ROW(RDMA_WRITE_WITH_IMM,  WRITE_IMM,    CONNECTED, REMOTE,  IMMEDIATE, true,  RDMA_WRITE),
	ROW(RDMA_READ,            READ,         RELIABLE,  REMOTE,  NONE,      false, RDMA_READ),
	ROW(ATOMIC_CMP_AND_SWP,   CMP_SWAP,     RELIABLE,  ATOMIC,  NONE,      false, COMP_SWAP),
	ROW(ATOMIC_FETCH_AND_ADD, FETCH_ADD,    RELIABLE,  ATOMIC,  NONE,      false, FETCH_ADD),
	ROW(ATOMIC_WRITE,         ATOMIC_WRITE, RELIABLE,  REMOTE,  NONE,      true,  ATOMIC_WRITE),
	ROW(LOCAL_INV,            LOCAL_INV,    CONNECTED, KEY,     KEY,       false, LOCAL_INV),
	ROW(BIND_MW,              BIND_MW,      CONNECTED, BIND,    NONE,      false, BIND_MW),
	EXT(EXT_FETCH_ADD, EXT_ATOMIC, FETCH_ADD),
	EXT(EXT_SWAP,      EXT_ATOMIC, COMP_SWAP),
	EXT(EXT_CMP_SWAP,  EXT_ATOMIC, COMP_SWAP),
	EXT(IMM64,         IMM64,      SEND),
};
// clang-format on

/* The rows by opcode of verbs; no services: the provider does not know the opcode. */
constexpr auto BY_OPCODE = [] {
	std::array<Operation, 20> of = {};

	for (const Row &row : ROWS)
		of[row.opcode] = row.operation;
	return of;
}();

/* By number of the module. */
constexpr auto BY_NUMBER = [] {
	std::array<Operation, PAVO_WQE_OP_COUNT> of = {};

	for (const Row &row : ROWS)
		of[row.operation.op] = row.operation;
	return of;
}();

uint8_t service_bit(ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_UC:
		return UC;
	case IBV_QPT_UD:
		return UD;
	case IBV_QPT_XRC_SEND:
		return XRC;
	default:
		return 0;
	}
}

} // namespace

const Operation *find_operation(ibv_qp_type service, ibv_wr_opcode opcode)
{
	auto index = static_cast<size_t>(opcode);

	if (index >= BY_OPCODE.size() ||
	    !(BY_OPCODE[index].services & service_bit(service)))
		return nullptr;
	return &BY_OPCODE[index];
}

bool send_ops_supported(ibv_qp_type type, uint64_t ops)
{
	for (const Row &row : ROWS)
		if (row.operation.services & service_bit(type))
			ops &= ~row.operation.flag;
	return !ops;
}

bool find_send_completion(uint8_t op, ibv_wc_opcode *opcode)
{
	if (op >= BY_NUMBER.size() || !BY_NUMBER[op].services)
		return false;
	*opcode = BY_NUMBER[op].wc;
	return true;
}

bool is_extended(uint8_t op)
{
	return op >= PAVO_WQE_EXT_FETCH_ADD && op <= PAVO_WQE_IMM64;
}

} // namespace pavo
