// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * opcode.c - the opcode table: what each BTH opcode means and which headers
 * follow it (IBA 9.2.1, tables 38 and 39).
 *
 * Called by everybody who looks at packets. Constant data, nothing else.
 */
#include <linux/stddef.h>
#include "layout.h"
#include "wire.h"

#define REQ PAVO_OPF_REQUEST
#define SEND (REQ | PAVO_OPF_SEND | PAVO_OPF_PAYLOAD)
#define WRITE (REQ | PAVO_OPF_WRITE | PAVO_OPF_PAYLOAD)
#define READ PAVO_OPF_READ
#define ATOMIC PAVO_OPF_ATOMIC
#define ACK PAVO_OPF_ACK
#define PAYLOAD PAVO_OPF_PAYLOAD
#define FIRST PAVO_OPF_FIRST
#define LAST PAVO_OPF_LAST
#define ONLY (FIRST | LAST)
#define RETH PAVO_OPF_RETH
#define AETH PAVO_OPF_AETH
#define ATOMICETH PAVO_OPF_ATOMICETH
#define ATOMICACK PAVO_OPF_ATOMICACK
#define IMM PAVO_OPF_IMM
#define IETH PAVO_OPF_IETH
#define DETH PAVO_OPF_DETH

/* @ext: bytes of the extension headers that @f names */
#define ROW(svc, op, f, ext)                                                   \
	[PAVO_SVC_##svc | PAVO_OP_##op] = {                                    \
		.flags = (f),                                                  \
		.hdr_len = PAVO_BTH_LEN + (ext),                               \
	}

static const struct pavo_op_info pavo_op_table[256] = {
	ROW(RC, SEND_FIRST, SEND | FIRST, 0),
	ROW(RC, SEND_MIDDLE, SEND, 0),
	ROW(RC, SEND_LAST, SEND | LAST, 0),
	ROW(RC, SEND_LAST_IMM, SEND | LAST | IMM, PAVO_IMM_LEN),
	ROW(RC, SEND_ONLY, SEND | ONLY, 0),
	ROW(RC, SEND_ONLY_IMM, SEND | ONLY | IMM, PAVO_IMM_LEN),
	ROW(RC, WRITE_FIRST, WRITE | FIRST | RETH, PAVO_RETH_LEN),
	ROW(RC, WRITE_MIDDLE, WRITE, 0),
	ROW(RC, WRITE_LAST, WRITE | LAST, 0),
	ROW(RC, WRITE_LAST_IMM, WRITE | LAST | IMM, PAVO_IMM_LEN),
	ROW(RC, WRITE_ONLY, WRITE | ONLY | RETH, PAVO_RETH_LEN),
	ROW(RC, WRITE_ONLY_IMM, WRITE | ONLY | RETH | IMM,
	    PAVO_RETH_LEN + PAVO_IMM_LEN),
	ROW(RC, READ_REQUEST, REQ | READ | ONLY | RETH, PAVO_RETH_LEN),
	ROW(RC, READ_RESP_FIRST, READ | FIRST | AETH | PAYLOAD, PAVO_AETH_LEN),
	ROW(RC, READ_RESP_MIDDLE, READ | PAYLOAD, 0),
	ROW(RC, READ_RESP_LAST, READ | LAST | AETH | PAYLOAD, PAVO_AETH_LEN),
	ROW(RC, READ_RESP_ONLY, READ | ONLY | AETH | PAYLOAD, PAVO_AETH_LEN),
	ROW(RC, ACKNOWLEDGE, ACK | ONLY | AETH, PAVO_AETH_LEN),
	ROW(RC, ATOMIC_ACK, ATOMIC | ONLY | AETH | ATOMICACK,
	    PAVO_AETH_LEN + PAVO_ATOMICACK_LEN),
	ROW(RC, CMP_SWAP, REQ | ATOMIC | ONLY | ATOMICETH, PAVO_ATOMICETH_LEN),
	ROW(RC, FETCH_ADD, REQ | ATOMIC | ONLY | ATOMICETH, PAVO_ATOMICETH_LEN),
	ROW(RC, SEND_LAST_INV, SEND | LAST | IETH, PAVO_IETH_LEN),
	ROW(RC, SEND_ONLY_INV, SEND | ONLY | IETH, PAVO_IETH_LEN),

	ROW(UC, SEND_FIRST, SEND | FIRST, 0),
	ROW(UC, SEND_MIDDLE, SEND, 0),
	ROW(UC, SEND_LAST, SEND | LAST, 0),
	ROW(UC, SEND_LAST_IMM, SEND | LAST | IMM, PAVO_IMM_LEN),
	ROW(UC, SEND_ONLY, SEND | ONLY, 0),
	ROW(UC, SEND_ONLY_IMM, SEND | ONLY | IMM, PAVO_IMM_LEN),
	ROW(UC, WRITE_FIRST, WRITE | FIRST | RETH, PAVO_RETH_LEN),
	ROW(UC, WRITE_MIDDLE, WRITE, 0),
	ROW(UC, WRITE_LAST, WRITE | LAST, 0),
	ROW(UC, WRITE_LAST_IMM, WRITE | LAST | IMM, PAVO_IMM_LEN),
	ROW(UC, WRITE_ONLY, WRITE | ONLY | RETH, PAVO_RETH_LEN),
	ROW(UC, WRITE_ONLY_IMM, WRITE | ONLY | RETH | IMM,
	    PAVO_RETH_LEN + PAVO_IMM_LEN),

	ROW(UD, SEND_ONLY, SEND | ONLY | DETH, PAVO_DETH_LEN),
	ROW(UD, SEND_ONLY_IMM, SEND | ONLY | DETH | IMM,
	    PAVO_DETH_LEN + PAVO_IMM_LEN),
};

const struct pavo_op_info *pavo_op_info(u8 opcode)
{
	const struct pavo_op_info *info = &pavo_op_table[opcode];

	return info->hdr_len ? info : NULL;
}
