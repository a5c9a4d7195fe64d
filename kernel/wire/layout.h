/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * layout.h - offsets of the fields of the transport headers (IBA 9.2, 9.3).
 * Private to wire/ (opcode.c, parse.c, build.c).
 *
 * An offset counts from the first byte of its header.
 */
#ifndef PAVO_WIRE_LAYOUT_H
#define PAVO_WIRE_LAYOUT_H

/* Base transport header */
enum pavo_bth_at {
	PAVO_BTH_OPCODE = 0,
	PAVO_BTH_FLAGS = 1, /* SE, MigReq, PadCnt, TVer */
	PAVO_BTH_PKEY = 2,
	PAVO_BTH_MARKS = 4, /* FECN, BECN, 6 bits reserved; not in the ICRC */
	PAVO_BTH_DQPN = 5,
	PAVO_BTH_ACK = 8, /* AckReq, 7 bits reserved */
	PAVO_BTH_PSN = 9,
};

enum pavo_bth_bit {
	/* PAVO_BTH_FLAGS */
	PAVO_BTH_SE = 0x80,
	PAVO_BTH_MIGREQ = 0x40,
	PAVO_BTH_PAD_SHIFT = 4,
	PAVO_BTH_PAD_MASK = 3,
	PAVO_BTH_TVER = 0x0f,
	/* PAVO_BTH_MARKS */
	PAVO_BTH_FECN = 0x80,
	PAVO_BTH_BECN = 0x40,
	/* PAVO_BTH_ACK */
	PAVO_BTH_ACKREQ = 0x80,
};

/* XRC extended transport header */
enum pavo_xrceth_at {
	PAVO_XRCETH_SRQN = 1, /* behind a reserved byte */
	PAVO_XRCETH_LEN = 4,
};

/* RDMA extended transport header */
enum pavo_reth_at {
	PAVO_RETH_VA = 0,
	PAVO_RETH_RKEY = 8,
	PAVO_RETH_DMA_LEN = 12,
	PAVO_RETH_LEN = 16,
};

/* Atomic extended transport header */
enum pavo_atomiceth_at {
	PAVO_ATOMICETH_VA = 0,
	PAVO_ATOMICETH_RKEY = 8,
	PAVO_ATOMICETH_SWAP_ADD = 12,
	PAVO_ATOMICETH_COMPARE = 20,
	PAVO_ATOMICETH_LEN = 28,
};

/* ACK extended transport header */
enum pavo_aeth_at {
	PAVO_AETH_SYNDROME = 0,
	PAVO_AETH_MSN = 1,
	PAVO_AETH_LEN = 4,
};

/* Datagram extended transport header */
enum pavo_deth_at {
	PAVO_DETH_QKEY = 0,
	PAVO_DETH_SQPN = 5, /* behind a reserved byte */
	PAVO_DETH_LEN = 8,
};

/* Window extended transport header, pavo's own */
enum pavo_weth_at {
	PAVO_WETH_KEY = 0,
	PAVO_WETH_NODE = 8,
	PAVO_WETH_KIND = 10,
	PAVO_WETH_WINDOW = 13, /* behind two reserved bytes */
	PAVO_WETH_LEN = 16,
};

/* Window RDMA extended transport header, pavo's own */
enum pavo_wreth_at {
	PAVO_WRETH_RCXT = 0,
	PAVO_WRETH_PEER_RCXT = 4,
	PAVO_WRETH_TID = 8,
	PAVO_WRETH_PVO = 16,
	PAVO_WRETH_TOTAL = 24,
	PAVO_WRETH_FRAGMENT = 28,
	PAVO_WRETH_TAG = 32,
	PAVO_WRETH_ATTEMPTS = 36,
	PAVO_WRETH_FLAGS = 38,
	PAVO_WRETH_STATUS = 39,
	PAVO_WRETH_LEN = 40,
};

/* Atomic request (sources.md#ext-request); AOpCode in the low 4 bits */
enum pavo_extatomiceth_at {
	PAVO_EXTATOMICETH_AOP = 3,
	PAVO_EXTATOMICETH_ID = 4,
	PAVO_EXTATOMICETH_RKEY = 8,
	PAVO_EXTATOMICETH_VA = 12,
	PAVO_EXTATOMICETH_SWAP_ADD = 20,
	PAVO_EXTATOMICETH_SWAP_ADD_MASK = 28,
	PAVO_EXTATOMICETH_COMPARE = 36,
	PAVO_EXTATOMICETH_COMPARE_MASK = 44,
	PAVO_EXTATOMICETH_LEN = 52,
};

/* Atomic response (sources.md#ext-response) */
enum pavo_extatomicack_at {
	PAVO_EXTATOMICACK_ID = 0,
	PAVO_EXTATOMICACK_ORIG = 4,
	PAVO_EXTATOMICACK_LEN = 12,
};

/* Headers of one field */
enum pavo_eth_len {
	PAVO_ATOMICACK_LEN = 8,
	PAVO_IMM_LEN = 4,
	PAVO_IETH_LEN = 4,
	PAVO_PVOETH_LEN = 8,
};

#endif /* PAVO_WIRE_LAYOUT_H */
