/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - the table of operations: a row says how an operation differs from others.
 * docs/datapath.md says how to add one.
 *
 * Pure: constant data, the same in the module, the unit tests and the fuzzer. Included by
 * requester/, and by verbs/ for the opcodes in completions of kernel consumers.
 */
#ifndef PAVO_OPS_H
#define PAVO_OPS_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/* Services that have an operation (struct pavo_op.services; sources.md#engine-1-1, and more). */
enum pavo_op_service {
	PAVO_FOR_RC = 1 << 0,
	PAVO_FOR_UC = 1 << 1,
	PAVO_FOR_UD = 1 << 2,
	PAVO_FOR_XRC = 1 << 3,
};

/* Segments behind NextSeg and UDSeg or XrcSeg, in their order (struct pavo_op.segments). */
enum pavo_op_segment {
	PAVO_SEG_RADDR = 1 << 0,
	PAVO_SEG_ATOMIC = 1 << 1,
	PAVO_SEG_BIND = 1 << 2,
	PAVO_SEG_DATA =
		1 << 3, /* any number; payload, or where the answer goes */
	PAVO_SEG_INLINE = 1 << 4, /* one, in the place of DataSegs */
	PAVO_SEG_EXT_ATOMIC = 1 << 5, /* in the place of PAVO_SEG_ATOMIC */
	PAVO_SEG_IMM64 = 1 << 6,
};

/* How the peer answers (struct pavo_op.answer). READ and those behind it take its resources. */
enum pavo_op_answer {
	PAVO_ANSWER_NONE, /* nothing is sent: the adapter itself carries it out */
	PAVO_ANSWER_ACK,
	PAVO_ANSWER_READ, /* packets of data */
	PAVO_ANSWER_VALUE, /* one packet, with the old value */
	PAVO_ANSWER_EMPTY, /* one packet, a read response without data */
};

/**
 * struct pavo_op - an operation.
 * @services: enum pavo_op_service; 0: no queue takes it
 * @segments: enum pavo_op_segment
 * @answer:   enum pavo_op_answer
 * @length:   bytes that it always has; 0: any number
 * @kernel:   for kernel consumers only
 * @first:    BTH opcode of its first packet, without the service; 0 if it is always one packet
 * @middle:   opcode of the packets in the middle, likewise
 * @last:     opcode of the last packet, likewise
 * @only:     opcode of an only packet
 * @aop:      extended atomics: enum pavo_aop
 * @wc:       opcode of its completion for kernel consumers: enum ib_wc_opcode
 * @capability: what an adapter reports that has the operation: IB_DEVICE_*
 *
 * The last two are for kernel consumers, and 0 in builds for user space.
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
	u8 wc;
	u64 capability;
};

/** The table, by enum pavo_wqe_op; a row for each number that a doorbell can carry. */
extern const struct pavo_op pavo_ops[PAVO_DB_OP_MASK + 1];

/** pavo_op - the row of an operation; any value of a doorbell's operation bits has one. */
static inline const struct pavo_op *pavo_op(u8 op)
{
	return &pavo_ops[op & PAVO_DB_OP_MASK];
}

/** pavo_op_is_local - does the adapter carry it out without sending? */
static inline bool pavo_op_is_local(u8 op)
{
	return pavo_op(op)->answer == PAVO_ANSWER_NONE;
}

/** pavo_op_is_answered - does it get a response of its own, which takes a resource of the peer? */
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

/** pavo_op_of_wr - the operation of a kernel consumer's work request; NOP: unknown. */
u8 pavo_op_of_wr(enum ib_wr_opcode wr);
/** pavo_op_capabilities - what an adapter reports for its operations: IB_DEVICE_*. */
u64 pavo_op_capabilities(void);
#endif

#endif /* PAVO_OPS_H */
