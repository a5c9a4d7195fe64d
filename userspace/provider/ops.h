// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ops.h - the provider's table of operations: a row gives the module's
 * operation for a work request of verbs, and the opcode of its completion. The
 * module's own table is kernel/ops.h.
 *
 * Called by wqe.cpp, cqe.cpp and qp.cpp. Constant data, nothing else.
 */
#ifndef PAVO_PROVIDER_OPS_H
#define PAVO_PROVIDER_OPS_H

#include <cstdint>
#include <infiniband/verbs.h>
#include <rdma/pavo-abi.h>

namespace pavo {

/** Segments that follow NextSeg and that of the service. */
enum class Shape : uint8_t {
	message,
	remote,
	atomic,
	key,
	bind,
	ext_atomic,
	imm64
};

/* Requests that verbs have no opcode for; see pavo_dv.h. */
constexpr auto WR_EXT_FETCH_ADD = static_cast<ibv_wr_opcode>(16);
constexpr auto WR_EXT_SWAP = static_cast<ibv_wr_opcode>(17);
constexpr auto WR_EXT_CMP_SWAP = static_cast<ibv_wr_opcode>(18);
constexpr auto WR_IMM64 = static_cast<ibv_wr_opcode>(19);

/** Meaning of pavo_next_seg.imm, which depends on the operation. */
enum class Word : uint8_t { none, immediate, key };

/**
 * @op:         enum pavo_wqe_op
 * @services:   bits of its services; 0: the provider does not support the request
 * @shape:      segments
 * @word:       meaning of pavo_next_seg.imm
 * @may_inline: its payload may be in the WQE
 * @wc:         opcode of its completion
 * @flag:       IBV_QP_EX_WITH_*; 0: every queue pair of the service has it
 */
struct Operation {
	uint8_t op;
	uint8_t services;
	Shape shape;
	Word word;
	bool may_inline;
	ibv_wc_opcode wc;
	uint64_t flag;
};

/** The row of @opcode; null if it is no operation of the service. */
const Operation *find_operation(ibv_qp_type service, ibv_wr_opcode opcode);

/** Does a QP of @type support all of @ops (IBV_QP_EX_WITH_*)? */
bool send_ops_supported(ibv_qp_type type, uint64_t ops);

/** Sets @opcode to that of @op's completion; false: @op is no operation. */
bool find_send_completion(uint8_t op, ibv_wc_opcode *opcode);

/** Is it one that a peer may not support? */
bool is_extended(uint8_t op);

} // namespace pavo

#endif /* PAVO_PROVIDER_OPS_H */
