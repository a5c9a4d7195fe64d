/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pavo-abi-ops.h - the list of operations of work requests. Included by pavo-abi.h.
 *
 * Derived from the list: enum pavo_wqe_op, the module's table of operations (kernel/ops.c), by
 * which WQEs are parsed and executed, and the provider's (userspace/provider/ops.cpp), by which
 * they are built.
 */
#ifndef PAVO_ABI_OPS_H
#define PAVO_ABI_OPS_H

/* Services that have an operation (sources.md#engine-1-1, and more). */
enum pavo_wqe_service {
	PAVO_FOR_RC = 1 << 0,
	PAVO_FOR_UC = 1 << 1,
	PAVO_FOR_UD = 1 << 2,
	PAVO_FOR_XRC = 1 << 3, /* initiators */
	PAVO_FOR_RELIABLE = PAVO_FOR_RC | PAVO_FOR_XRC,
	PAVO_FOR_CONNECTED = PAVO_FOR_RELIABLE | PAVO_FOR_UC,
	PAVO_FOR_ALL = PAVO_FOR_CONNECTED | PAVO_FOR_UD,
};

/*
 * Segments behind NextSeg and UdSeg or XrcSeg, in their order. UdSeg is in every WQE of UD, and
 * XrcSeg in every one of an XRC initiator that sends a packet.
 */
enum pavo_wqe_segment {
	PAVO_SEG_RADDR = 1 << 0,
	PAVO_SEG_ATOMIC = 1 << 1,
	PAVO_SEG_BIND = 1 << 2,
	PAVO_SEG_DATA =
		1 << 3, /* any number; payload, or memory for the answer */
	PAVO_SEG_INLINE = 1 << 4, /* one, in the place of DataSegs */
	PAVO_SEG_EXT_ATOMIC = 1 << 5, /* in the place of PAVO_SEG_ATOMIC */
	PAVO_SEG_IMM64 = 1 << 6,
	PAVO_SEG_PAYLOAD = PAVO_SEG_DATA | PAVO_SEG_INLINE,
};

/* Properties of an operation. */
enum pavo_wqe_property {
	PAVO_WQE_HAS_IMM = 1 << 0, /* pavo_next_seg.imm is immediate data */
	PAVO_WQE_HAS_KEY = 1 << 1, /* pavo_next_seg.imm is a key */
	PAVO_WQE_RECEIVED = 1 << 2, /* the opcode of receive completions, too */
	PAVO_WQE_EXTENDED =
		1 << 3, /* a peer may not support it (sources.md#ext) */
	PAVO_WQE_KERNEL = 1 << 4, /* kernel consumers only */
	PAVO_WQE_HAS_FETH = 1 << 5, /* pavo_next_seg.imm is PAVO_FLUSH_* */
};

/* clang-format off */

/*
 * PAVO_WQE_OPS - the operations (the 5-bit opcode of doorbell and NextSeg). They are not BTH
 * opcodes: those follow from the operation, the service and the segmentation.
 * @O: O(NAME, number, services, segments, length, properties)
 *
 * services: enum pavo_wqe_service; 0: reserved, no queue accepts it. segments: enum
 * pavo_wqe_segment. length: fixed length of the data, bytes; 0: any length. properties: enum
 * pavo_wqe_property. Numbers stand in order and without gaps.
 */
#define PAVO_WQE_OPS(O)									\
	O(NOP,            0, PAVO_FOR_ALL,       0, 0, 0)				\
	O(SEND,           1, PAVO_FOR_ALL,       PAVO_SEG_PAYLOAD, 0,			\
	  PAVO_WQE_RECEIVED)								\
	O(SEND_IMM,       2, PAVO_FOR_ALL,       PAVO_SEG_PAYLOAD, 0,			\
	  PAVO_WQE_HAS_IMM)								\
	O(SEND_INV,       3, PAVO_FOR_RELIABLE,  PAVO_SEG_PAYLOAD, 0,			\
	  PAVO_WQE_HAS_KEY)								\
	O(WRITE,          4, PAVO_FOR_CONNECTED, PAVO_SEG_RADDR | PAVO_SEG_PAYLOAD, 0, 0)	\
	O(WRITE_IMM,      5, PAVO_FOR_CONNECTED, PAVO_SEG_RADDR | PAVO_SEG_PAYLOAD, 0,	\
	  PAVO_WQE_HAS_IMM | PAVO_WQE_RECEIVED)						\
	O(READ,           6, PAVO_FOR_RELIABLE,  PAVO_SEG_RADDR | PAVO_SEG_DATA, 0, 0)	\
	O(CMP_SWAP,       7, PAVO_FOR_RELIABLE,						\
	  PAVO_SEG_RADDR | PAVO_SEG_ATOMIC | PAVO_SEG_DATA, 8, 0)			\
	O(FETCH_ADD,      8, PAVO_FOR_RELIABLE,						\
	  PAVO_SEG_RADDR | PAVO_SEG_ATOMIC | PAVO_SEG_DATA, 8, 0)			\
	O(LOCAL_INV,      9, PAVO_FOR_CONNECTED, 0, 0, PAVO_WQE_HAS_KEY)		\
	O(BIND_MW,       10, PAVO_FOR_CONNECTED, PAVO_SEG_BIND, 0, 0)			\
	O(REG_MR,        11, PAVO_FOR_CONNECTED, PAVO_SEG_BIND, 0, PAVO_WQE_KERNEL)	\
	O(ATOMIC_WRITE,  12, PAVO_FOR_RELIABLE,  PAVO_SEG_RADDR | PAVO_SEG_PAYLOAD, 8, 0)	\
	O(FLUSH,         13, PAVO_FOR_RELIABLE,  PAVO_SEG_RADDR, 0, PAVO_WQE_HAS_FETH)	\
	O(EXT_FETCH_ADD, 14, PAVO_FOR_RELIABLE,						\
	  PAVO_SEG_RADDR | PAVO_SEG_EXT_ATOMIC | PAVO_SEG_DATA, 8, PAVO_WQE_EXTENDED)	\
	O(EXT_SWAP,      15, PAVO_FOR_RELIABLE,						\
	  PAVO_SEG_RADDR | PAVO_SEG_EXT_ATOMIC | PAVO_SEG_DATA, 8, PAVO_WQE_EXTENDED)	\
	O(EXT_CMP_SWAP,  16, PAVO_FOR_RELIABLE,						\
	  PAVO_SEG_RADDR | PAVO_SEG_EXT_ATOMIC | PAVO_SEG_DATA, 8, PAVO_WQE_EXTENDED)	\
	O(IMM64,         17, PAVO_FOR_RELIABLE,  PAVO_SEG_IMM64, 8,			\
	  PAVO_WQE_RECEIVED | PAVO_WQE_EXTENDED)

/* The operations: PAVO_WQE_NAME. */
enum pavo_wqe_op {
#define PAVO_WQE_OP(name, number, services, segments, length, properties) \
	PAVO_WQE_##name = (number),
	PAVO_WQE_OPS(PAVO_WQE_OP)
#undef PAVO_WQE_OP
	PAVO_WQE_OP_COUNT,
};

/* clang-format on */

#endif /* PAVO_ABI_OPS_H */
