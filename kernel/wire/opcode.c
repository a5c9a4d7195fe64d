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

#define F_REQ PAVO_OPF_REQUEST
#define F_SEND (F_REQ | PAVO_OPF_SEND | PAVO_OPF_PAYLOAD)
#define F_WRITE (F_REQ | PAVO_OPF_WRITE | PAVO_OPF_PAYLOAD)
#define F_READ PAVO_OPF_READ
#define F_ATOMIC PAVO_OPF_ATOMIC
#define F_ACK PAVO_OPF_ACK
#define F_PAYLOAD PAVO_OPF_PAYLOAD
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
#define F_ATOMIC_WRITE PAVO_OPF_ATOMIC_WRITE
#define F_WETH (F_REQ | F_ONLY | PAVO_OPF_WETH)
#define F_WRETH (F_WETH | PAVO_OPF_WRETH)
#define F_PVO PAVO_OPF_PVO
#define F_IMM64 (F_REQ | F_PAYLOAD | F_ONLY | PAVO_OPF_IMM64)

/* @ext: bytes of the extension headers that @f names */
#define ROW(svc, op, f, ext)                     \
	[PAVO_SVC_##svc | PAVO_OP_##op] = {      \
		.flags = (f),                    \
		.hdr_len = PAVO_BTH_LEN + (ext), \
	}

#define EXT_ROW(op, bit, f, ext)                 \
	[PAVO_OP_##op | (bit)] = {               \
		.flags = (f),                    \
		.hdr_len = PAVO_BTH_LEN + (ext), \
	}

#define WINDOW_ROW(op, f, ext)                                   \
	[PAVO_OP_WINDOW_##op] = {                                \
		.flags = (f),                                    \
		.hdr_len = PAVO_BTH_LEN + PAVO_WETH_LEN + (ext), \
	}

/*
 * The reliable services have the same operations. @xf, @xl: flag and length of a header that
 * all requests of the service have
 */
#define RELIABLE_ROWS(svc, xf, xl)                                             \
	ROW(svc, SEND_FIRST, F_SEND | F_FIRST | (xf), (xl)),                   \
		ROW(svc, SEND_MIDDLE, F_SEND | (xf), (xl)),                    \
		ROW(svc, SEND_LAST, F_SEND | F_LAST | (xf), (xl)),             \
		ROW(svc, SEND_LAST_IMM, F_SEND | F_LAST | F_IMM | (xf),        \
		    PAVO_IMM_LEN + (xl)),                                      \
		ROW(svc, SEND_ONLY, F_SEND | F_ONLY | (xf), (xl)),             \
		ROW(svc, SEND_ONLY_IMM, F_SEND | F_ONLY | F_IMM | (xf),        \
		    PAVO_IMM_LEN + (xl)),                                      \
		ROW(svc, WRITE_FIRST, F_WRITE | F_FIRST | F_RETH | (xf),       \
		    PAVO_RETH_LEN + (xl)),                                     \
		ROW(svc, WRITE_MIDDLE, F_WRITE | (xf), (xl)),                  \
		ROW(svc, WRITE_LAST, F_WRITE | F_LAST | (xf), (xl)),           \
		ROW(svc, WRITE_LAST_IMM, F_WRITE | F_LAST | F_IMM | (xf),      \
		    PAVO_IMM_LEN + (xl)),                                      \
		ROW(svc, WRITE_ONLY, F_WRITE | F_ONLY | F_RETH | (xf),         \
		    PAVO_RETH_LEN + (xl)),                                     \
		ROW(svc, WRITE_ONLY_IMM,                                       \
		    F_WRITE | F_ONLY | F_RETH | F_IMM | (xf),                  \
		    PAVO_RETH_LEN + PAVO_IMM_LEN + (xl)),                      \
		ROW(svc, READ_REQUEST,                                         \
		    F_REQ | F_READ | F_ONLY | F_RETH | (xf),                   \
		    PAVO_RETH_LEN + (xl)),                                     \
		ROW(svc, READ_RESP_FIRST,                                      \
		    F_READ | F_FIRST | F_AETH | F_PAYLOAD, PAVO_AETH_LEN),     \
		ROW(svc, READ_RESP_MIDDLE, F_READ | F_PAYLOAD, 0),             \
		ROW(svc, READ_RESP_LAST, F_READ | F_LAST | F_AETH | F_PAYLOAD, \
		    PAVO_AETH_LEN),                                            \
		ROW(svc, READ_RESP_ONLY, F_READ | F_ONLY | F_AETH | F_PAYLOAD, \
		    PAVO_AETH_LEN),                                            \
		ROW(svc, ACKNOWLEDGE, F_ACK | F_ONLY | F_AETH, PAVO_AETH_LEN), \
		ROW(svc, ATOMIC_ACK, F_ATOMIC | F_ONLY | F_AETH | F_ATOMICACK, \
		    PAVO_AETH_LEN + PAVO_ATOMICACK_LEN),                       \
		ROW(svc, CMP_SWAP,                                             \
		    F_REQ | F_ATOMIC | F_ONLY | F_ATOMICETH | (xf),            \
		    PAVO_ATOMICETH_LEN + (xl)),                                \
		ROW(svc, FETCH_ADD,                                            \
		    F_REQ | F_ATOMIC | F_ONLY | F_ATOMICETH | (xf),            \
		    PAVO_ATOMICETH_LEN + (xl)),                                \
		ROW(svc, SEND_LAST_INV, F_SEND | F_LAST | F_IETH | (xf),       \
		    PAVO_IETH_LEN + (xl)),                                     \
		ROW(svc, SEND_ONLY_INV, F_SEND | F_ONLY | F_IETH | (xf),       \
		    PAVO_IETH_LEN + (xl)),                                     \
		ROW(svc, ATOMIC_WRITE,                                         \
		    F_REQ | F_ATOMIC_WRITE | F_ONLY | F_RETH | F_PAYLOAD |     \
			    (xf),                                              \
		    PAVO_RETH_LEN + (xl))

/* @bit: bit of the opcodes that names the service; @xf, @xl: as above */
#define EXT_ROWS(bit, xf, xl)                                               \
	EXT_ROW(EXT_ATOMIC, bit,                                            \
		F_REQ | F_ATOMIC | F_ONLY | PAVO_OPF_EXTATOMICETH | (xf),   \
		PAVO_EXTATOMICETH_LEN + (xl)),                              \
		EXT_ROW(EXT_ATOMIC_ACK, bit,                                \
			F_ATOMIC | F_ONLY | F_AETH | PAVO_OPF_EXTATOMICACK, \
			PAVO_AETH_LEN + PAVO_EXTATOMICACK_LEN),             \
		EXT_ROW(IMM64, bit, F_IMM64 | (xf), (xl)),                  \
		EXT_ROW(IMM64_SE, bit, F_IMM64 | (xf), (xl))

static const struct pavo_op_info pavo_op_table[256] = {
	RELIABLE_ROWS(RC, 0, 0),
	RELIABLE_ROWS(XRC, F_XRCETH, PAVO_XRCETH_LEN),

	ROW(UC, SEND_FIRST, F_SEND | F_FIRST, 0),
	ROW(UC, SEND_MIDDLE, F_SEND, 0),
	ROW(UC, SEND_LAST, F_SEND | F_LAST, 0),
	ROW(UC, SEND_LAST_IMM, F_SEND | F_LAST | F_IMM, PAVO_IMM_LEN),
	ROW(UC, SEND_ONLY, F_SEND | F_ONLY, 0),
	ROW(UC, SEND_ONLY_IMM, F_SEND | F_ONLY | F_IMM, PAVO_IMM_LEN),
	ROW(UC, WRITE_FIRST, F_WRITE | F_FIRST | F_RETH, PAVO_RETH_LEN),
	ROW(UC, WRITE_MIDDLE, F_WRITE, 0),
	ROW(UC, WRITE_LAST, F_WRITE | F_LAST, 0),
	ROW(UC, WRITE_LAST_IMM, F_WRITE | F_LAST | F_IMM, PAVO_IMM_LEN),
	ROW(UC, WRITE_ONLY, F_WRITE | F_ONLY | F_RETH, PAVO_RETH_LEN),
	ROW(UC, WRITE_ONLY_IMM, F_WRITE | F_ONLY | F_RETH | F_IMM,
	    PAVO_RETH_LEN + PAVO_IMM_LEN),

	ROW(UD, SEND_ONLY, F_SEND | F_ONLY | F_DETH, PAVO_DETH_LEN),
	ROW(UD, SEND_ONLY_IMM, F_SEND | F_ONLY | F_DETH | F_IMM,
	    PAVO_DETH_LEN + PAVO_IMM_LEN),

	/* IBA leaves the opcodes from here on to manufacturers */
	WINDOW_ROW(MESSAGE, F_WETH | F_PAYLOAD, 0),
	WINDOW_ROW(DATA, F_WRETH | F_PAYLOAD, PAVO_WRETH_LEN),
	WINDOW_ROW(READ, F_WRETH | F_PVO, PAVO_WRETH_LEN + PAVO_PVOETH_LEN),
	WINDOW_ROW(DONE, F_WRETH, PAVO_WRETH_LEN),

	EXT_ROWS(0, 0, 0),
	EXT_ROWS(PAVO_EXT_XRC, F_XRCETH, PAVO_XRCETH_LEN),
};

const struct pavo_op_info *pavo_op_info(u8 opcode)
{
	const struct pavo_op_info *info = &pavo_op_table[opcode];

	return info->hdr_len ? info : NULL;
}
