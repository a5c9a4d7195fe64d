/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * parser.h - the WQE parser (sources.md#engine-2-4-3): makes a struct pavo_swqe of a send WQE.
 *
 * Pure: works on a private copy of the WQE, touches no memory region, QP or lock, and is
 * built into the unit tests and the fuzzer in user space.
 */
#ifndef PAVO_PARSER_H
#define PAVO_PARSER_H

#include <linux/types.h>
#include <rdma/pavo-abi.h>
#include "ops.h"
#include "status.h"

/* Largest message of RC and UC (IBA 9.4.3). */
#define PAVO_MAX_MSG 0x7fffffffu

/* Bits of pavo_swqe.flags behind those of NextSeg. */
/*
 * A read of a kernel consumer (IB_WR_RDMA_READ_WITH_INV): invalidate the key in imm before it
 * completes. The flag is in NextSeg as well.
 */
#define PAVO_SWQE_READ_INV 0x04
#define PAVO_SWQE_FENCE 0x80
#define PAVO_SWQE_INLINE 0x40
/* The access to local memory is not checked yet (set by the scheduler). */
#define PAVO_SWQE_UNCHECKED 0x20
/* An entry names a region that is claimed (set by the scheduler). */
#define PAVO_SWQE_CLAIMS 0x08
/* Carried out; completes when a walk over keys in use is done (local.c). */
#define PAVO_SWQE_WAITS 0x10

/**
 * struct pavo_swqe - private, checked copy of a send WQE.
 * @op:       enum pavo_wqe_op
 * @flags:    PAVO_WQE_* and PAVO_SWQE_*
 * @status:   enum pavo_status: PAVO_ST_OK, or the reason why the WQE cannot be executed. It
 *            completes in error when all WQEs before it have completed.
 * @num_sge:  entries at @sge
 * @number:   free-running number of the WQE
 * @length:   bytes of payload (reads and atomics: of the response)
 * @imm:      as in NextSeg
 * @dma_len:  RaddrSeg: @length, but for a flush
 * @raddr:    RaddrSeg
 * @rkey:     RaddrSeg
 * @srqn:     XrcSeg
 * @swap_add: AtomicSeg, ExtAtomicSeg
 * @compare:  AtomicSeg, ExtAtomicSeg
 * @swap_add_mask: ExtAtomicSeg
 * @compare_mask: ExtAtomicSeg
 * @next:     doorbell form (without QPN) of the next WQE; size 0: chain ends
 * @first_psn: first PSN, set when PSNs are assigned
 * @npkts:    PSNs, likewise; reads: packets of the response
 * @claimed:  entries from the first on whose regions were claimed (sgl.c)
 * @av:       UDSeg, in @raw
 * @bind:     BindSeg, in @raw
 * @sge:      DataSegs, in @raw
 * @data:     inline payload, or data that the WQE has in a segment, in @raw
 * @raw:      the private copy, as long as a slot of the ring
 */
struct pavo_swqe {
	u8 op;
	u8 flags;
	u8 status;
	u8 num_sge;
	u32 number;
	u32 length;
	u32 imm;
	u64 raddr;
	u32 rkey;
	u32 srqn;
	u32 first_psn;
	u32 npkts;
	u32 claimed;
	u32 dma_len;
	u64 swap_add;
	u64 compare;
	u64 swap_add_mask;
	u64 compare_mask;
	u64 next;
	const struct pavo_ud_seg *av;
	const struct pavo_bind_seg *bind;
	const struct pavo_data_seg *sge;
	const u8 *data;
	u8 raw[] __aligned(16);
};

/**
 * struct pavo_parser_limits - limits of a QP.
 * @service: enum pavo_wqe_service. UD: a WQE has a UDSeg, and @max_len is the path MTU; XRC:
 *           a WQE has an XrcSeg
 * @kernel:  the consumer is in the kernel: it has operations of its own, and
 *           PAVO_SWQE_READ_INV
 * @max_sge: entries of the SGL
 * @max_len: bytes of a message
 */
struct pavo_parser_limits {
	u8 service;
	bool kernel;
	u32 max_sge;
	u32 max_len;
};

/* Fields of a doorbell (without QPN: of a chain link). */
static inline u32 pavo_db_get_offset(u64 db)
{
	return (u32)db >> PAVO_DB_OFFSET_SHIFT;
}

static inline u32 pavo_db_get_size(u64 db)
{
	return (db >> PAVO_DB_SIZE_SHIFT) & 0xff;
}

static inline u32 pavo_db_get_qpn(u64 db)
{
	return db >> PAVO_DB_QPN_SHIFT;
}

/**
 * pavo_parse_wqe - parse and check the WQE whose copy is in @wqe->raw.
 * @wqe:  the WQE; every field but @raw, @number and @first_psn is written
 * @db:   the doorbell, or link of a chain, that names it
 * @size: bytes of the copy, a multiple of 16, at least sizeof(NextSeg)
 * @limits: limits of the QP
 *
 * @wqe->next is valid also after an error, so that a chain can be followed (and flushed)
 * beyond a bad WQE. Local keys are not checked.
 *
 * Return: @wqe->status.
 */
enum pavo_status pavo_parse_wqe(struct pavo_swqe *wqe, u64 db, u32 size,
				const struct pavo_parser_limits *limits);

#endif /* PAVO_PARSER_H */
