/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - the table of operations: a row says all that differs between one work request
 * and another. docs/architecture.md has how to add one.
 *
 * Pure: constant data, the same in the module, the unit tests and the fuzzer. Included by
 * requester/ and by verbs/, which gives completions of the kernel's users their opcode.
 */
#ifndef PAVO_OPS_H
#define PAVO_OPS_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/* Services that an operation is of (struct pavo_op.services; sources.md#engine-1-1, and more). */
enum pavo_op_service {
	PAVO_FOR_RC = 1 << 0,
	PAVO_FOR_UC = 1 << 1,
	PAVO_FOR_UD = 1 << 2,
	PAVO_FOR_XRC = 1 << 3,
};

/* Segments behind NextSeg and that of the service, in their order (struct pavo_op.segments). */
enum pavo_op_segment {
	PAVO_SEG_RADDR = 1 << 0,
	PAVO_SEG_ATOMIC = 1 << 1,
	PAVO_SEG_BIND = 1 << 2,
	PAVO_SEG_DATA =
		1 << 3, /* any number; payload, or where the answer goes */
	PAVO_SEG_INLINE = 1 << 4, /* or one of these */
	PAVO_SEG_EXT_ATOMIC = 1 << 5, /* in the place of PAVO_SEG_ATOMIC */
	PAVO_SEG_IMM64 = 1 << 6,
};

/* How the peer answers (struct pavo_op.answer). Those from READ on take its resources. */
enum pavo_op_answer {
	PAVO_ANSWER_NONE, /* nothing is sent: the adapter carries it out */
	PAVO_ANSWER_ACK,
	PAVO_ANSWER_READ, /* packets of data */
	PAVO_ANSWER_VALUE, /* one packet, the value of before */
	PAVO_ANSWER_EMPTY, /* one packet, a read response without data */
};

/**
 * struct pavo_op - an operation.
 * @services: enum pavo_op_service; 0: no queue takes it
 * @segments: enum pavo_op_segment
 * @answer:   enum pavo_op_answer
 * @length:   bytes that it always has; 0: any number
 * @kernel:   for consumers in the kernel only
 * @first, @middle, @last, @only: BTH opcodes of its packets, without the service; an
 *            operation that is always one packet has the last of them only
 * @aop:      extended atomics: enum pavo_aop
 */
struct pavo_op {
	u8 services;
	u8 segments;
	u8 answer;
	u8 length;
	bool kernel;
	u8 first;
	u8 middle;
	u8 last;
	u8 only;
	u8 aop;
};

/** The table, by enum pavo_wqe_op; a row for each number that a doorbell can carry. */
extern const struct pavo_op pavo_ops[PAVO_DB_OP_MASK + 1];

/** pavo_op - the row of an operation; the low bits of a doorbell are always one. */
static inline const struct pavo_op *pavo_op(u8 op)
{
	return &pavo_ops[op & PAVO_DB_OP_MASK];
}

/** pavo_op_is_local - is nothing sent? */
static inline bool pavo_op_is_local(u8 op)
{
	return pavo_op(op)->answer == PAVO_ANSWER_NONE;
}

/** pavo_op_is_answered - by a response of its own, for which the peer has resources? */
static inline bool pavo_op_is_answered(u8 op)
{
	return pavo_op(op)->answer >= PAVO_ANSWER_READ;
}

/** pavo_op_brings - does the answer bring data to memory of the requester? */
static inline bool pavo_op_brings(u8 op)
{
	return pavo_op(op)->answer == PAVO_ANSWER_READ ||
	       pavo_op(op)->answer == PAVO_ANSWER_VALUE;
}

#ifdef __KERNEL__
#include <rdma/ib_verbs.h>

/** pavo_op_of_wr - the operation that a consumer in the kernel asks for; NOP: none. */
u8 pavo_op_of_wr(enum ib_wr_opcode wr);
/** pavo_op_wc - what its completion is called for consumers in the kernel. */
enum ib_wc_opcode pavo_op_wc(u8 op);
#endif

#endif /* PAVO_OPS_H */
