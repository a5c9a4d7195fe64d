// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ops.c - the table of operations; see ops.h. Constant data only.
 */
#include "ops.h"
#include "wire/wire.h"

#ifdef __KERNEL__
#include <linux/kernel.h>
#include "compat.h"
#include "pavo_kernel.h"
#endif

/* clang-format off */

#define LISTED(name, number, services_, segments_, length_, properties)		\
	[number].services = (services_),					\
	[number].segments = (segments_),					\
	[number].length = (length_),						\
	[number].kernel = (properties) & PAVO_WQE_KERNEL,

/* An operation of one packet. */
#define PACKET(name, answer_, only_)						\
	[PAVO_WQE_##name].answer = PAVO_ANSWER_##answer_,			\
	[PAVO_WQE_##name].only = PAVO_OP_##only_,

/* An operation of one packet or many. READ and WRITE are macros of the kernel: only paste them. */
#define PACKETS(name, answer_, first_, middle_, last_, only_)			\
	[PAVO_WQE_##name].answer = PAVO_ANSWER_##answer_,			\
	[PAVO_WQE_##name].only = PAVO_OP_##only_,				\
	[PAVO_WQE_##name].first = PAVO_OP_##first_,				\
	[PAVO_WQE_##name].middle = PAVO_OP_##middle_,				\
	[PAVO_WQE_##name].last = PAVO_OP_##last_,

#define EXT_ATOMIC(name, operation)						\
	PACKET(name, VALUE, EXT_ATOMIC)						\
	[PAVO_WQE_##name].aop = PAVO_AOP_##operation,

/* For kernel consumers: opcode of the completion, and the capability that stands for it. */
#define VERBS(name, wc_, capability_)						\
	[PAVO_WQE_##name].wc = (wc_),						\
	[PAVO_WQE_##name].capability = (capability_),

const struct pavo_op pavo_ops[] = {
	PAVO_WQE_OPS(LISTED)

	PACKETS(SEND, ACK, SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY)
	PACKETS(SEND_IMM, ACK, SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM, SEND_ONLY_IMM)
	PACKETS(SEND_INV, ACK, SEND_FIRST, SEND_MIDDLE, SEND_LAST_INV, SEND_ONLY_INV)
	PACKETS(WRITE, ACK, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY)
	PACKETS(WRITE_IMM, ACK, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM, WRITE_ONLY_IMM)
	PACKET(READ, READ, READ_REQ)
	PACKET(CMP_SWAP, VALUE, CMP_SWAP)
	PACKET(FETCH_ADD, VALUE, FETCH_ADD)
	PACKET(ATOMIC_WRITE, EMPTY, ATOMIC_WRITE)
	PACKET(FLUSH, EMPTY, FLUSH)
	EXT_ATOMIC(EXT_FETCH_ADD, FETCH_ADD)
	EXT_ATOMIC(EXT_SWAP, SWAP)
	EXT_ATOMIC(EXT_CMP_SWAP, CMP_SWAP)
	PACKET(IMM64, ACK, IMM64)
	[PAVO_WQE_IMM64].only_se = PAVO_OP_IMM64_SE,

#ifdef __KERNEL__
	VERBS(SEND, IB_WC_SEND, 0)
	VERBS(SEND_IMM, IB_WC_SEND, 0)
	VERBS(SEND_INV, IB_WC_SEND, 0)
	VERBS(WRITE, IB_WC_RDMA_WRITE, 0)
	VERBS(WRITE_IMM, IB_WC_RDMA_WRITE, 0)
	VERBS(READ, IB_WC_RDMA_READ, 0)
	VERBS(CMP_SWAP, IB_WC_COMP_SWAP, 0)
	VERBS(FETCH_ADD, IB_WC_FETCH_ADD, 0)
	VERBS(LOCAL_INV, IB_WC_LOCAL_INV, 0)
	VERBS(BIND_MW, 0, IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B)
	VERBS(REG_MR, IB_WC_REG_MR, IB_DEVICE_MEM_MGT_EXTENSIONS)
	VERBS(ATOMIC_WRITE, PAVO_WC_ATOMIC_WRITE, PAVO_CAP_ATOMIC_WRITE)
	/* Consumers in the kernel have an opcode for it, but no request with its operands. */
	VERBS(FLUSH, 0, PAVO_CAP_FLUSH)
	VERBS(EXT_FETCH_ADD, IB_WC_MASKED_FETCH_ADD, 0)
	VERBS(EXT_SWAP, PAVO_WC_SWAP, 0)
	VERBS(EXT_CMP_SWAP, IB_WC_MASKED_COMP_SWAP, 0)
	VERBS(IMM64, PAVO_WC_IMM64, 0)
#endif

	/* The table has a row for every value of a doorbell's operation bits. */
	[PAVO_DB_OP_MASK] = {},
};

/* clang-format on */

#ifdef __KERNEL__
u8 pavo_op_of_wr(enum ib_wr_opcode wr)
{
	static const u8 ops[] = {
		[IB_WR_RDMA_WRITE] = PAVO_WQE_WRITE,
		[IB_WR_RDMA_WRITE_WITH_IMM] = PAVO_WQE_WRITE_IMM,
		[IB_WR_SEND] = PAVO_WQE_SEND,
		[IB_WR_SEND_WITH_IMM] = PAVO_WQE_SEND_IMM,
		[IB_WR_RDMA_READ] = PAVO_WQE_READ,
		[IB_WR_RDMA_READ_WITH_INV] = PAVO_WQE_READ,
		[IB_WR_ATOMIC_CMP_AND_SWP] = PAVO_WQE_CMP_SWAP,
		[IB_WR_ATOMIC_FETCH_AND_ADD] = PAVO_WQE_FETCH_ADD,
		[PAVO_WR_ATOMIC_WRITE] = PAVO_WQE_ATOMIC_WRITE,
		[IB_WR_SEND_WITH_INV] = PAVO_WQE_SEND_INV,
		[IB_WR_LOCAL_INV] = PAVO_WQE_LOCAL_INV,
		[IB_WR_REG_MR] = PAVO_WQE_REG_MR,
		[IB_WR_MASKED_ATOMIC_CMP_AND_SWP] = PAVO_WQE_EXT_CMP_SWAP,
		[IB_WR_MASKED_ATOMIC_FETCH_AND_ADD] = PAVO_WQE_EXT_FETCH_ADD,
	};

	if (wr == PAVO_WR_SWAP)
		return PAVO_WQE_EXT_SWAP;
	if (wr == PAVO_WR_IMM64)
		return PAVO_WQE_IMM64;
	return wr < ARRAY_SIZE(ops) ? ops[wr] : PAVO_WQE_NOP;
}

u64 pavo_op_capabilities(void)
{
	u64 all = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(pavo_ops); i++)
		all |= pavo_ops[i].capability;
	return all;
}
#endif
