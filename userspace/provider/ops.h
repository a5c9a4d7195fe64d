// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ops.h - the provider's table of operations: a row gives the module's
 * operation for a work request of verbs, and the opcode of its completion. Services, segments
 * and properties are those of PAVO_WQE_OPS (pavo-abi-ops.h), as in the module's own table
 * (kernel/ops.h).
 *
 * Called by wqe.cpp, cqe.cpp and qp.cpp. Constant data, nothing else.
 */
#ifndef PAVO_PROVIDER_OPS_H
#define PAVO_PROVIDER_OPS_H

#include <cstddef>
#include <cstdint>
#include <infiniband/verbs.h>
#include <rdma/pavo-abi.h>

namespace pavo {

/**
 * The opcode for struct ibv_send_wr of a request that verbs have none for (pavo_dv.h); behind those
 * of verbs.
 */
constexpr ibv_wr_opcode own_request(uint8_t op)
{
	return static_cast<ibv_wr_opcode>(16 + op - PAVO_WQE_EXT_FETCH_ADD);
}

/** Of a flush, whose opcodes and flag verbs have since rdma-core 45 */
constexpr auto wr_flush_opcode = static_cast<ibv_wr_opcode>(14);
constexpr auto wc_flush_opcode = static_cast<ibv_wc_opcode>(8);
constexpr uint64_t with_flush = 1 << 11;

/** Longest range of a flush */
constexpr size_t max_flush = 0x7fffffff;

/**
 * @op:         enum pavo_wqe_op
 * @services:   enum pavo_wqe_service; 0: the provider does not support the request
 * @segments:   enum pavo_wqe_segment
 * @length:     fixed length of the data, bytes; 0: any length
 * @properties: enum pavo_wqe_property
 * @wc:         opcode of its completion
 * @flag:       IBV_QP_EX_WITH_*; 0: every queue pair of the service has it
 */
struct Operation {
	uint8_t op;
	uint8_t services;
	uint8_t segments;
	uint8_t length;
	uint8_t properties;
	ibv_wc_opcode wc;
	uint64_t flag;
};

/** The row of @opcode; null if it is no operation of the service. */
const Operation *find_operation(ibv_qp_type service, ibv_wr_opcode opcode);

/** Does a QP of @type support all of @ops (IBV_QP_EX_WITH_*)? */
bool send_ops_supported(ibv_qp_type type, uint64_t ops);

/** Sets @opcode to that of @op's completion; false: @op is no operation. */
bool find_send_completion(uint8_t op, ibv_wc_opcode *opcode);

/** Does it have @property (enum pavo_wqe_property)? */
bool has_property(uint8_t op, pavo_wqe_property property);

} // namespace pavo

#endif /* PAVO_PROVIDER_OPS_H */
