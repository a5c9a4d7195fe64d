/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parser.h - the WQE parser (sources.md#engine-2-4-3): what a send WQE says.
 *
 * Pure: works on a private copy of the WQE, knows nothing of memory, QPs or
 * locks, and is built into the unit tests and the fuzzer in user space.
 */
#ifndef PAVO_PARSER_H
#define PAVO_PARSER_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>

/* Largest message of RC and UC (IBA 9.4.3). */
#define PAVO_MAX_MSG 0x7fffffffu

/* Bits of pavo_swqe.flags behind those of NextSeg. */
/*
 * Of a read, from kernel consumers only (IB_WR_RDMA_READ_WITH_INV): before it completes the
 * key in imm ends. In NextSeg as well.
 */
#define PAVO_SWQE_READ_INV 0x04
#define PAVO_SWQE_FENCE 0x80
#define PAVO_SWQE_INLINE 0x40
/* Its local memory is still to be checked (set by the scheduler). */
#define PAVO_SWQE_UNCHECKED 0x20
/* done, and to complete when a walk over keys in use is (local.c) */
#define PAVO_SWQE_WAITS 0x10

/**
 * struct pavo_swqe - private, checked copy of a send WQE.
 * @op:       enum pavo_wqe_op
 * @flags:    PAVO_WQE_* and PAVO_SWQE_*
 * @vendor_err: PAVO_VE_NONE, or why the WQE cannot be executed. It completes
 *            in error when all WQEs before it have completed.
 * @num_sge:  entries at @sge
 * @number:   free-running number of the WQE
 * @length:   bytes of payload (of the answer for reads and atomics)
 * @imm:      as in NextSeg
 * @rkey, @raddr: RaddrSeg
 * @srqn:     XrcSeg
 * @swap_add, @compare: AtomicSeg
 * @next:     doorbell form (without QPN) of the next WQE; size 0: chain ends
 * @first_psn, @npkts: set when it is numbered; reads: of the response packets
 * @av:       UDSeg, in @raw
 * @bind:     BindSeg, in @raw
 * @sge:      DataSegs, in @raw
 * @data:     inline payload, in @raw
 * @raw:      the private copy, as long as a slot of the ring
 */
struct pavo_swqe {
	u8 op;
	u8 flags;
	u8 vendor_err;
	u8 num_sge;
	u32 number;
	u32 length;
	u32 imm;
	u64 raddr;
	u32 rkey;
	u32 srqn;
	u32 first_psn;
	u32 npkts;
	u64 swap_add;
	u64 compare;
	u64 next;
	const struct pavo_ud_seg *av;
	const struct pavo_bind_seg *bind;
	const struct pavo_data_seg *sge;
	const u8 *data;
	u8 raw[] __aligned(16);
};

/**
 * struct pavo_parser_limits - what a QP allows.
 * @ops:     bit n: operation n is allowed for the service
 * @ud:      datagrams: a UDSeg is there, and @max_len is the path MTU
 * @xrc:     XRC initiator: an XrcSeg is there
 * @max_sge: entries of the SGL
 * @max_len: bytes of a message
 * @kernel:  of the kernel, which may set PAVO_SWQE_READ_INV
 */
struct pavo_parser_limits {
	u32 ops;
	bool ud;
	bool xrc;
	u32 max_sge;
	u32 max_len;
	bool kernel;
};

/* Operations on keys, for connected services. */
#define PAVO_OPS_KEYS \
	((u32)1 << PAVO_WQE_LOCAL_INV | (u32)1 << PAVO_WQE_BIND_MW)

/* Operations of the services (sources.md#engine-1-1), and more. */
#define PAVO_OPS_RC                                                           \
	(1u << PAVO_WQE_NOP | 1u << PAVO_WQE_SEND | 1u << PAVO_WQE_SEND_IMM | \
	 1u << PAVO_WQE_SEND_INV | 1u << PAVO_WQE_WRITE |                     \
	 1u << PAVO_WQE_WRITE_IMM | 1u << PAVO_WQE_READ |                     \
	 1u << PAVO_WQE_CMP_SWAP | 1u << PAVO_WQE_FETCH_ADD |                 \
	 1u << PAVO_WQE_ATOMIC_WRITE | PAVO_OPS_KEYS)
#define PAVO_OPS_UC                                                           \
	(1u << PAVO_WQE_NOP | 1u << PAVO_WQE_SEND | 1u << PAVO_WQE_SEND_IMM | \
	 1u << PAVO_WQE_WRITE | 1u << PAVO_WQE_WRITE_IMM | PAVO_OPS_KEYS)
#define PAVO_OPS_UD \
	(1u << PAVO_WQE_NOP | 1u << PAVO_WQE_SEND | 1u << PAVO_WQE_SEND_IMM)

/* Does the answer bring data? */
static inline bool pavo_wqe_is_read(u8 op)
{
	return op == PAVO_WQE_READ || op == PAVO_WQE_CMP_SWAP ||
	       op == PAVO_WQE_FETCH_ADD;
}

static inline bool pavo_wqe_is_atomic(u8 op)
{
	return op == PAVO_WQE_CMP_SWAP || op == PAVO_WQE_FETCH_ADD;
}

/* Is it answered by a response of its own, for which the peer has resources? */
static inline bool pavo_wqe_is_answered(u8 op)
{
	return pavo_wqe_is_read(op) || op == PAVO_WQE_ATOMIC_WRITE;
}

/* Does it send nothing? */
static inline bool pavo_wqe_is_local(u8 op)
{
	return op == PAVO_WQE_NOP || op == PAVO_WQE_LOCAL_INV ||
	       op == PAVO_WQE_BIND_MW || op == PAVO_WQE_REG_MR;
}

/* Fields of a doorbell (without QPN: of a chain link). */
static inline u32 pavo_db_offset(u64 db)
{
	return (u32)db >> PAVO_DB_OFFSET_SHIFT;
}

static inline u32 pavo_db_size(u64 db)
{
	return (db >> PAVO_DB_SIZE_SHIFT) & 0xff;
}

static inline u32 pavo_db_qpn(u64 db)
{
	return db >> PAVO_DB_QPN_SHIFT;
}

/**
 * pavo_parse_wqe - take apart and check the WQE whose copy is in @wqe->raw.
 * @wqe:  every field but @raw, @number and @first_psn is written
 * @db:   the doorbell, or link of a chain, that names it
 * @size: bytes of the copy, a multiple of 16, at least sizeof(NextSeg)
 *
 * @wqe->next is valid whatever is wrong with the rest, so that a chain can be
 * followed (and flushed) beyond a bad WQE. Local keys are not looked at.
 *
 * Return: the same as @wqe->vendor_err.
 */
enum pavo_vendor_err pavo_parse_wqe(struct pavo_swqe *wqe, u64 db, u32 size,
				    const struct pavo_parser_limits *limits);

#endif /* PAVO_PARSER_H */
