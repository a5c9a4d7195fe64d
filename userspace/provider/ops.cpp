// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ops.cpp - see ops.h. */
#include "ops.h"

#include <array>
#include <cstddef>
#include <iterator>

namespace pavo {
namespace {

/* The operations by enum pavo_wqe_op, without what verbs say of them. */
constexpr Operation listed[] = {
#define LISTED(name, number, services, segments, length, properties) \
	{number, services, segments, length, properties, {}, 0},
	PAVO_WQE_OPS(LISTED)
#undef LISTED
};
static_assert(std::size(listed) == PAVO_WQE_OP_COUNT);
#if PAVO_VERBS_FLUSH
static_assert(wr_flush_opcode == IBV_WR_FLUSH);
static_assert(wc_flush_opcode == IBV_WC_FLUSH);
static_assert(with_flush == IBV_QP_EX_WITH_FLUSH);
static_assert(PAVO_FLUSH_GLOBAL == IBV_FLUSH_GLOBAL);
static_assert(PAVO_FLUSH_PERSISTENT == IBV_FLUSH_PERSISTENT);
static_assert(PAVO_FLUSH_REGION == IBV_FLUSH_MR << 4);
#endif

/* A request of verbs: its operation, and what they say of it. */
struct Row {
	ibv_wr_opcode opcode;
	pavo_wqe_op op;
	ibv_wc_opcode wc;
	uint64_t flag;
};

// clang-format off
#define VERBS(wr, op, wc) {IBV_WR_##wr, PAVO_WQE_##op, IBV_WC_##wc, IBV_QP_EX_WITH_##wr}
#define OWN(op, wc) {own_request(PAVO_WQE_##op), PAVO_WQE_##op, IBV_WC_##wc, 0}

constexpr Row rows[] = {
	VERBS(SEND,                 SEND,         SEND),
	VERBS(SEND_WITH_IMM,        SEND_IMM,     SEND),
	VERBS(SEND_WITH_INV,        SEND_INV,     SEND),
	VERBS(RDMA_WRITE,           WRITE,        RDMA_WRITE),
	VERBS(RDMA_WRITE_WITH_IMM,  WRITE_IMM,    RDMA_WRITE),
	VERBS(RDMA_READ,            READ,         RDMA_READ),
	VERBS(ATOMIC_CMP_AND_SWP,   CMP_SWAP,     COMP_SWAP),
	VERBS(ATOMIC_FETCH_AND_ADD, FETCH_ADD,    FETCH_ADD),
#if PAVO_VERBS_ATOMIC_WRITE
	VERBS(ATOMIC_WRITE,         ATOMIC_WRITE, ATOMIC_WRITE),
#endif
	{wr_flush_opcode, PAVO_WQE_FLUSH, wc_flush_opcode, with_flush},
	VERBS(LOCAL_INV,            LOCAL_INV,    LOCAL_INV),
	VERBS(BIND_MW,              BIND_MW,      BIND_MW),
	OWN(EXT_FETCH_ADD, FETCH_ADD),
	OWN(EXT_SWAP,      COMP_SWAP),
	OWN(EXT_CMP_SWAP,  COMP_SWAP),
	OWN(IMM64,         SEND),
};
// clang-format on

constexpr Operation complete(const Row &row)
{
	Operation operation = listed[row.op];

	operation.wc = row.wc;
	operation.flag = row.flag;
	return operation;
}

/* The operations by opcode of verbs; no services: the provider does not support the opcode. */
constexpr auto by_opcode = [] {
	std::array<Operation, own_request(PAVO_WQE_OP_COUNT)> of = {};

	for (const Row &row : rows)
		of[row.opcode] = complete(row);
	return of;
}();

/* The operations that the provider supports, by enum pavo_wqe_op. */
constexpr auto by_number = [] {
	std::array<Operation, PAVO_WQE_OP_COUNT> of = {};

	for (const Row &row : rows)
		of[row.op] = complete(row);
	return of;
}();

uint8_t service_bit(ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return PAVO_FOR_RC;
	case IBV_QPT_UC:
		return PAVO_FOR_UC;
	case IBV_QPT_UD:
		return PAVO_FOR_UD;
	case IBV_QPT_XRC_SEND:
		return PAVO_FOR_XRC;
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
	for (const Operation &operation : by_number)
		if (operation.services & service_bit(type))
			ops &= ~operation.flag;
	return !ops;
}

bool find_send_completion(uint8_t op, ibv_wc_opcode *opcode)
{
	if (op >= by_number.size() || !by_number[op].services)
		return false;
	*opcode = by_number[op].wc;
	return true;
}

bool has_property(uint8_t op, pavo_wqe_property property)
{
	return op < by_number.size() && by_number[op].properties & property;
}

} // namespace pavo
