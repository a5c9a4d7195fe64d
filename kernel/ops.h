/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ops.h - the table of operations: a row has the properties of one operation, those that
 * PAVO_WQE_OPS lists and those that only the module needs. docs/datapath.md describes how to add
 * one.
 *
 * Pure: constant data, the same in the module, the unit tests and the fuzzer. Included by
 * requester/, and by verbs/ for the opcodes in completions of kernel consumers.
 */
#ifndef PAVO_OPS_H
#define PAVO_OPS_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/* The answer of the peer (struct pavo_op.answer). From READ on it takes a responder resource. */
enum pavo_op_answer {
	PAVO_ANSWER_NONE, /* none: the adapter executes the operation, and sends nothing */
	PAVO_ANSWER_ACK,
	PAVO_ANSWER_READ, /* packets of data */
	PAVO_ANSWER_VALUE, /* one packet, with the old value */
	PAVO_ANSWER_EMPTY, /* one packet, a read response without data */
};

/**
 * struct pavo_op - an operation.
 * @services: enum pavo_wqe_service; 0: no queue accepts it
 * @segments: enum pavo_wqe_segment
 * @answer:   enum pavo_op_answer
 * @length:   fixed length, bytes; 0: any length
 * @kernel:   for kernel consumers only
 * @first:    BTH opcode of a first packet, without the service; 0 if it is always one packet
 * @middle:   BTH opcode of a middle packet, likewise
 * @last:     BTH opcode of a last packet, likewise
 * @only:     BTH opcode of an only packet, without the service
 * @only_se:  likewise, of one that requests a solicited event; 0: as @only
 * @aop:      extended atomics: enum pavo_aop
 * @wc:       opcode of its completion for kernel consumers: enum ib_wc_opcode
 * @capability: device capability that stands for the operation: IB_DEVICE_*
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
	u8 only_se;
	u8 aop;
	u8 wc;
	u64 capability;
};

/** The table, by enum pavo_wqe_op; a row for each number that a doorbell can carry. */
extern const struct pavo_op pavo_ops[PAVO_DB_OP_MASK + 1];

/** pavo_op_find - return the row of an operation; all values of a doorbell's bits have one. */
static inline const struct pavo_op *pavo_op_find(u8 op)
{
	return &pavo_ops[op & PAVO_DB_OP_MASK];
}

/** pavo_op_is_local - true if the adapter executes it without sending a packet. */
static inline bool pavo_op_is_local(u8 op)
{
	return pavo_op_find(op)->answer == PAVO_ANSWER_NONE;
}

/** pavo_op_is_answered - true if it gets a response that takes a responder resource. */
static inline bool pavo_op_is_answered(u8 op)
{
	return pavo_op_find(op)->answer >= PAVO_ANSWER_READ;
}

/** pavo_op_brings - true if the answer has data for memory of the requester. */
static inline bool pavo_op_brings(u8 op)
{
	return pavo_op_find(op)->answer == PAVO_ANSWER_READ ||
	       pavo_op_find(op)->answer == PAVO_ANSWER_VALUE;
}

#ifdef __KERNEL__
#include <rdma/ib_verbs.h>

/** pavo_op_of_wr - return the operation of a kernel consumer's work request; NOP: unknown. */
u8 pavo_op_of_wr(enum ib_wr_opcode wr);
/** pavo_op_capabilities - return the device capabilities of all operations: IB_DEVICE_*. */
u64 pavo_op_capabilities(void);
#endif

#endif /* PAVO_OPS_H */
