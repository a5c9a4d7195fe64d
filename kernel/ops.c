// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * ops.c - the table of operations; see ops.h. Constant data only.
 */
#include "ops.h"
#include "wire/wire.h"

/* Constants of kernel verbs, which user space does not have. */
#ifdef __KERNEL__
#include <linux/kernel.h>
#include "compat.h"
#define VERBS(name) (name)
#else
#define VERBS(...) 0
#endif

#define RELIABLE (PAVO_FOR_RC | PAVO_FOR_XRC)
#define CONNECTED (RELIABLE | PAVO_FOR_UC)
#define ALL (CONNECTED | PAVO_FOR_UD)

#define PAYLOAD (PAVO_SEG_DATA | PAVO_SEG_INLINE)

#define EXT_ATOMIC(operation, completion)                                \
	{                                                                \
		.services = RELIABLE,                                    \
		.segments = PAVO_SEG_RADDR | PAVO_SEG_EXT_ATOMIC |       \
			    PAVO_SEG_DATA,                               \
		.answer = PAVO_ANSWER_VALUE, .length = sizeof(u64),      \
		.only = PAVO_OP_EXT_ATOMIC, .aop = PAVO_AOP_##operation, \
		.wc = VERBS(completion),                                 \
	}

const struct pavo_op pavo_ops[] = {
	[PAVO_WQE_NOP] = {
		.services = ALL,
	},
	[PAVO_WQE_SEND] = {
		.services = ALL,
		.segments = PAYLOAD,
		.answer = PAVO_ANSWER_ACK,
		.first = PAVO_OP_SEND_FIRST,
		.middle = PAVO_OP_SEND_MIDDLE,
		.last = PAVO_OP_SEND_LAST,
		.only = PAVO_OP_SEND_ONLY,
		.wc = VERBS(IB_WC_SEND),
	},
	[PAVO_WQE_SEND_IMM] = {
		.services = ALL,
		.segments = PAYLOAD,
		.answer = PAVO_ANSWER_ACK,
		.first = PAVO_OP_SEND_FIRST,
		.middle = PAVO_OP_SEND_MIDDLE,
		.last = PAVO_OP_SEND_LAST_IMM,
		.only = PAVO_OP_SEND_ONLY_IMM,
		.wc = VERBS(IB_WC_SEND),
	},
	[PAVO_WQE_SEND_INV] = {
		.services = RELIABLE,
		.segments = PAYLOAD,
		.answer = PAVO_ANSWER_ACK,
		.first = PAVO_OP_SEND_FIRST,
		.middle = PAVO_OP_SEND_MIDDLE,
		.last = PAVO_OP_SEND_LAST_INV,
		.only = PAVO_OP_SEND_ONLY_INV,
		.wc = VERBS(IB_WC_SEND),
	},
	[PAVO_WQE_WRITE] = {
		.services = CONNECTED,
		.segments = PAVO_SEG_RADDR | PAYLOAD,
		.answer = PAVO_ANSWER_ACK,
		.first = PAVO_OP_WRITE_FIRST,
		.middle = PAVO_OP_WRITE_MIDDLE,
		.last = PAVO_OP_WRITE_LAST,
		.only = PAVO_OP_WRITE_ONLY,
		.wc = VERBS(IB_WC_RDMA_WRITE),
	},
	[PAVO_WQE_WRITE_IMM] = {
		.services = CONNECTED,
		.segments = PAVO_SEG_RADDR | PAYLOAD,
		.answer = PAVO_ANSWER_ACK,
		.first = PAVO_OP_WRITE_FIRST,
		.middle = PAVO_OP_WRITE_MIDDLE,
		.last = PAVO_OP_WRITE_LAST_IMM,
		.only = PAVO_OP_WRITE_ONLY_IMM,
		.wc = VERBS(IB_WC_RDMA_WRITE),
	},
	[PAVO_WQE_READ] = {
		.services = RELIABLE,
		.segments = PAVO_SEG_RADDR | PAVO_SEG_DATA,
		.answer = PAVO_ANSWER_READ,
		.only = PAVO_OP_READ_REQ,
		.wc = VERBS(IB_WC_RDMA_READ),
	},
	[PAVO_WQE_CMP_SWAP] = {
		.services = RELIABLE,
		.segments = PAVO_SEG_RADDR | PAVO_SEG_ATOMIC | PAVO_SEG_DATA,
		.answer = PAVO_ANSWER_VALUE,
		.length = sizeof(u64),
		.only = PAVO_OP_CMP_SWAP,
		.wc = VERBS(IB_WC_COMP_SWAP),
	},
	[PAVO_WQE_FETCH_ADD] = {
		.services = RELIABLE,
		.segments = PAVO_SEG_RADDR | PAVO_SEG_ATOMIC | PAVO_SEG_DATA,
		.answer = PAVO_ANSWER_VALUE,
		.length = sizeof(u64),
		.only = PAVO_OP_FETCH_ADD,
		.wc = VERBS(IB_WC_FETCH_ADD),
	},
	[PAVO_WQE_LOCAL_INV] = {
		.services = CONNECTED,
		.wc = VERBS(IB_WC_LOCAL_INV),
	},
	[PAVO_WQE_BIND_MW] = {
		.services = CONNECTED,
		.segments = PAVO_SEG_BIND,
		.capability = VERBS(IB_DEVICE_MEM_WINDOW |
				    IB_DEVICE_MEM_WINDOW_TYPE_2B),
	},
	[PAVO_WQE_REG_MR] = {
		.services = CONNECTED,
		.segments = PAVO_SEG_BIND,
		.kernel = true,
		.wc = VERBS(IB_WC_REG_MR),
		.capability = VERBS(IB_DEVICE_MEM_MGT_EXTENSIONS),
	},
	[PAVO_WQE_ATOMIC_WRITE] = {
		.services = RELIABLE,
		.segments = PAVO_SEG_RADDR | PAYLOAD,
		.answer = PAVO_ANSWER_EMPTY,
		.length = sizeof(u64),
		.only = PAVO_OP_ATOMIC_WRITE,
		.wc = VERBS(PAVO_WC_ATOMIC_WRITE),
		.capability = VERBS(PAVO_CAP_ATOMIC_WRITE),
	},
	[PAVO_WQE_EXT_FETCH_ADD] = EXT_ATOMIC(FETCH_ADD, IB_WC_MASKED_FETCH_ADD),
	[PAVO_WQE_EXT_SWAP] = EXT_ATOMIC(SWAP, IB_WC_SEND),
	[PAVO_WQE_EXT_CMP_SWAP] = EXT_ATOMIC(CMP_SWAP, IB_WC_MASKED_COMP_SWAP),
	[PAVO_WQE_IMM64] = {
		.services = RELIABLE,
		.segments = PAVO_SEG_IMM64,
		.answer = PAVO_ANSWER_ACK,
		.length = sizeof(u64),
		.only = PAVO_OP_IMM64,
	},
	/* The table has a row for every value of a doorbell's operation bits. */
	[PAVO_DB_OP_MASK] = {},
};

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
