// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * opcode.c - the opcode table: what each BTH opcode means and which headers
 * follow it (IBA 9.2.1, tables 38 and 39; annex A14 for XRC).
 *
 * Called by all folders that handle packets. Constant data only.
 */
#include <linux/stddef.h>
#include "layout.h"
#include "wire.h"

#define K_SEND PAVO_KIND_SEND
#define K_WRITE PAVO_KIND_WRITE
#define K_READ PAVO_KIND_READ
#define K_ATOMIC PAVO_KIND_ATOMIC
#define K_ATOMIC_WRITE PAVO_KIND_ATOMIC_WRITE
#define K_IMM64 PAVO_KIND_IMM64
#define K_ACK PAVO_KIND_ACK

#define F_REQ PAVO_OPF_REQUEST
#define F_PAYLOAD PAVO_OPF_PAYLOAD
#define F_DATA (F_REQ | F_PAYLOAD)
#define F_FIRST PAVO_OPF_FIRST
#define F_LAST PAVO_OPF_LAST
#define F_ONLY (F_FIRST | F_LAST)
#define F_RETH PAVO_OPF_RETH
#define F_AETH PAVO_OPF_AETH
#define F_ATOMICETH PAVO_OPF_ATOMICETH
#define F_ATOMICACK PAVO_OPF_ATOMICACK
#define F_IMM PAVO_OPF_IMM
#define F_IETH PAVO_OPF_IETH
#define F_DETH PAVO_OPF_DETH
#define F_XRCETH PAVO_OPF_XRCETH
#define F_WETH (F_REQ | F_ONLY | PAVO_OPF_WETH)
#define F_WRETH (F_WETH | PAVO_OPF_WRETH)
#define F_PVO PAVO_OPF_PVO

/* @ext: bytes of the extension headers that @f names */
#define ROW_AT(opcode, k, f, ext)                \
	[opcode] = {                             \
		.kind = (k),                     \
		.flags = (f),                    \
		.hdr_len = PAVO_BTH_LEN + (ext), \
	}

#define ROW(svc, op, k, f, ext) ROW_AT(PAVO_SVC_##svc | PAVO_OP_##op, k, f, ext)

#define EXT_ROW(op, bit, k, f, ext) ROW_AT(PAVO_OP_##op | (bit), k, f, ext)

#define WINDOW_ROW(op, f, ext)                             \
	ROW_AT(PAVO_OP_WINDOW_##op, PAVO_KIND_WINDOW, (f), \
	       PAVO_WETH_LEN + (ext))

/*
 * The reliable services have the same operations. @xf, @xl: flag and length of a header that
 * all requests of the service have
 */
#define RELIABLE_ROWS(svc, xf, xl)                                             \
	ROW(svc, SEND_FIRST, K_SEND, F_DATA | F_FIRST | (xf), (xl)),           \
		ROW(svc, SEND_MIDDLE, K_SEND, F_DATA | (xf), (xl)),            \
		ROW(svc, SEND_LAST, K_SEND, F_DATA | F_LAST | (xf), (xl)),     \
		ROW(svc, SEND_LAST_IMM, K_SEND,                                \
		    F_DATA | F_LAST | F_IMM | (xf), PAVO_IMM_LEN + (xl)),      \
		ROW(svc, SEND_ONLY, K_SEND, F_DATA | F_ONLY | (xf), (xl)),     \
		ROW(svc, SEND_ONLY_IMM, K_SEND,                                \
		    F_DATA | F_ONLY | F_IMM | (xf), PAVO_IMM_LEN + (xl)),      \
		ROW(svc, WRITE_FIRST, K_WRITE,                                 \
		    F_DATA | F_FIRST | F_RETH | (xf), PAVO_RETH_LEN + (xl)),   \
		ROW(svc, WRITE_MIDDLE, K_WRITE, F_DATA | (xf), (xl)),          \
		ROW(svc, WRITE_LAST, K_WRITE, F_DATA | F_LAST | (xf), (xl)),   \
		ROW(svc, WRITE_LAST_IMM, K_WRITE,                              \
		    F_DATA | F_LAST | F_IMM | (xf), PAVO_IMM_LEN + (xl)),      \
		ROW(svc, WRITE_ONLY, K_WRITE, F_DATA | F_ONLY | F_RETH | (xf), \
		    PAVO_RETH_LEN + (xl)),                                     \
		ROW(svc, WRITE_ONLY_IMM, K_WRITE,                              \
		    F_DATA | F_ONLY | F_RETH | F_IMM | (xf),                   \
		    PAVO_RETH_LEN + PAVO_IMM_LEN + (xl)),                      \
		ROW(svc, READ_REQUEST, K_READ, F_REQ | F_ONLY | F_RETH | (xf), \
		    PAVO_RETH_LEN + (xl)),                                     \
		ROW(svc, READ_RESP_FIRST, K_READ,                              \
		    F_FIRST | F_AETH | F_PAYLOAD, PAVO_AETH_LEN),              \
		ROW(svc, READ_RESP_MIDDLE, K_READ, F_PAYLOAD, 0),              \
		ROW(svc, READ_RESP_LAST, K_READ, F_LAST | F_AETH | F_PAYLOAD,  \
		    PAVO_AETH_LEN),                                            \
		ROW(svc, READ_RESP_ONLY, K_READ, F_ONLY | F_AETH | F_PAYLOAD,  \
		    PAVO_AETH_LEN),                                            \
		ROW(svc, ACKNOWLEDGE, K_ACK, F_ONLY | F_AETH, PAVO_AETH_LEN),  \
		ROW(svc, ATOMIC_ACK, K_ATOMIC, F_ONLY | F_AETH | F_ATOMICACK,  \
		    PAVO_AETH_LEN + PAVO_ATOMICACK_LEN),                       \
		ROW(svc, CMP_SWAP, K_ATOMIC,                                   \
		    F_REQ | F_ONLY | F_ATOMICETH | (xf),                       \
		    PAVO_ATOMICETH_LEN + (xl)),                                \
		ROW(svc, FETCH_ADD, K_ATOMIC,                                  \
		    F_REQ | F_ONLY | F_ATOMICETH | (xf),                       \
		    PAVO_ATOMICETH_LEN + (xl)),                                \
		ROW(svc, SEND_LAST_INV, K_SEND,                                \
		    F_DATA | F_LAST | F_IETH | (xf), PAVO_IETH_LEN + (xl)),    \
		ROW(svc, SEND_ONLY_INV, K_SEND,                                \
		    F_DATA | F_ONLY | F_IETH | (xf), PAVO_IETH_LEN + (xl)),    \
		ROW(svc, ATOMIC_WRITE, K_ATOMIC_WRITE,                         \
		    F_DATA | F_ONLY | F_RETH | (xf), PAVO_RETH_LEN + (xl))

/* @bit: bit of the opcodes that names the service; @xf, @xl: as above */
#define EXT_ROWS(bit, xf, xl)                                               \
	EXT_ROW(EXT_ATOMIC, bit, K_ATOMIC,                                  \
		F_REQ | F_ONLY | PAVO_OPF_EXTATOMICETH | (xf),              \
		PAVO_EXTATOMICETH_LEN + (xl)),                              \
		EXT_ROW(EXT_ATOMIC_ACK, bit, K_ATOMIC,                      \
			F_ONLY | F_AETH | PAVO_OPF_EXTATOMICACK,            \
			PAVO_AETH_LEN + PAVO_EXTATOMICACK_LEN),             \
		EXT_ROW(IMM64, bit, K_IMM64, F_DATA | F_ONLY | (xf), (xl)), \
		EXT_ROW(IMM64_SE, bit, K_IMM64, F_DATA | F_ONLY | (xf), (xl))

const struct pavo_op_info pavo_op_table[256] = {
	RELIABLE_ROWS(RC, 0, 0),
	RELIABLE_ROWS(XRC, F_XRCETH, PAVO_XRCETH_LEN),

	ROW(UC, SEND_FIRST, K_SEND, F_DATA | F_FIRST, 0),
	ROW(UC, SEND_MIDDLE, K_SEND, F_DATA, 0),
	ROW(UC, SEND_LAST, K_SEND, F_DATA | F_LAST, 0),
	ROW(UC, SEND_LAST_IMM, K_SEND, F_DATA | F_LAST | F_IMM, PAVO_IMM_LEN),
	ROW(UC, SEND_ONLY, K_SEND, F_DATA | F_ONLY, 0),
	ROW(UC, SEND_ONLY_IMM, K_SEND, F_DATA | F_ONLY | F_IMM, PAVO_IMM_LEN),
	ROW(UC, WRITE_FIRST, K_WRITE, F_DATA | F_FIRST | F_RETH, PAVO_RETH_LEN),
	ROW(UC, WRITE_MIDDLE, K_WRITE, F_DATA, 0),
	ROW(UC, WRITE_LAST, K_WRITE, F_DATA | F_LAST, 0),
	ROW(UC, WRITE_LAST_IMM, K_WRITE, F_DATA | F_LAST | F_IMM, PAVO_IMM_LEN),
	ROW(UC, WRITE_ONLY, K_WRITE, F_DATA | F_ONLY | F_RETH, PAVO_RETH_LEN),
	ROW(UC, WRITE_ONLY_IMM, K_WRITE, F_DATA | F_ONLY | F_RETH | F_IMM,
	    PAVO_RETH_LEN + PAVO_IMM_LEN),

	ROW(UD, SEND_ONLY, K_SEND, F_DATA | F_ONLY | F_DETH, PAVO_DETH_LEN),
	ROW(UD, SEND_ONLY_IMM, K_SEND, F_DATA | F_ONLY | F_DETH | F_IMM,
	    PAVO_DETH_LEN + PAVO_IMM_LEN),

	/* IBA leaves the opcodes from here on to manufacturers */
	WINDOW_ROW(MESSAGE, F_WETH | F_PAYLOAD, 0),
	WINDOW_ROW(DATA, F_WRETH | F_PAYLOAD, PAVO_WRETH_LEN),
	WINDOW_ROW(READ, F_WRETH | F_PVO, PAVO_WRETH_LEN + PAVO_PVOETH_LEN),
	WINDOW_ROW(DONE, F_WRETH, PAVO_WRETH_LEN),

	EXT_ROWS(0, 0, 0),
	EXT_ROWS(PAVO_EXT_XRC, F_XRCETH, PAVO_XRCETH_LEN),
};
