// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * opcode.c - the opcode table: what each BTH opcode means and which headers
 * follow it (IBA 9.2.1, tables 38 and 39).
 *
 * Called by everybody who looks at packets. Constant data, nothing else.
 */
#include "layout.h"
#include "wire.h"

#define REQ PAVO_OPF_REQUEST
#define SEND (REQ | PAVO_OPF_SEND | PAVO_OPF_PAYLOAD)
#define WRITE (REQ | PAVO_OPF_WRITE | PAVO_OPF_PAYLOAD)
#define READ PAVO_OPF_READ
#define ATOMIC PAVO_OPF_ATOMIC
#define FIRST PAVO_OPF_FIRST
#define LAST PAVO_OPF_LAST
#define ONLY (FIRST | LAST)
#define PAYLOAD PAVO_OPF_PAYLOAD
#define RETH PAVO_OPF_RETH
#define AETH PAVO_OPF_AETH
#define ATOMICETH PAVO_OPF_ATOMICETH
#define ATOMICACK PAVO_OPF_ATOMICACK
#define IMM PAVO_OPF_IMM
#define IETH PAVO_OPF_IETH
#define DETH PAVO_OPF_DETH

/* The length follows from the flags, so that the two cannot disagree. */
#define HDR_LEN(f)                                                             \
	(PAVO_BTH_LEN + ((f) & RETH ? PAVO_RETH_LEN : 0) +                     \
	 ((f) & ATOMICETH ? PAVO_ATOMICETH_LEN : 0) +                          \
	 ((f) & AETH ? PAVO_AETH_LEN : 0) +                                    \
	 ((f) & ATOMICACK ? PAVO_ATOMICACK_LEN : 0) +                          \
	 ((f) & DETH ? PAVO_DETH_LEN : 0) + ((f) & IMM ? PAVO_IMM_LEN : 0) +   \
	 ((f) & IETH ? PAVO_IETH_LEN : 0))

#define ROW(svc, op, f)                                                        \
	[PAVO_SVC_##svc | PAVO_OP_##op] = {                                    \
		.flags = (f),                                                  \
		.hdr_len = HDR_LEN(f),                                         \
	}

/* What RC and UC have in common */
#define SEND_AND_WRITE(svc)                                                    \
	ROW(svc, SEND_FIRST, SEND | FIRST),                                    \
	ROW(svc, SEND_MIDDLE, SEND),                                           \
	ROW(svc, SEND_LAST, SEND | LAST),                                      \
	ROW(svc, SEND_LAST_IMM, SEND | LAST | IMM),                            \
	ROW(svc, SEND_ONLY, SEND | ONLY),                                      \
	ROW(svc, SEND_ONLY_IMM, SEND | ONLY | IMM),                            \
	ROW(svc, WRITE_FIRST, WRITE | FIRST | RETH),                           \
	ROW(svc, WRITE_MIDDLE, WRITE),                                         \
	ROW(svc, WRITE_LAST, WRITE | LAST),                                    \
	ROW(svc, WRITE_LAST_IMM, WRITE | LAST | IMM),                          \
	ROW(svc, WRITE_ONLY, WRITE | ONLY | RETH),                             \
	ROW(svc, WRITE_ONLY_IMM, WRITE | ONLY | RETH | IMM)

static const struct pavo_op_info pavo_op_table[256] = {
	SEND_AND_WRITE(RC),
	ROW(RC, READ_REQUEST, REQ | READ | ONLY | RETH),
	ROW(RC, READ_RESP_FIRST, READ | FIRST | AETH | PAYLOAD),
	ROW(RC, READ_RESP_MIDDLE, READ | PAYLOAD),
	ROW(RC, READ_RESP_LAST, READ | LAST | AETH | PAYLOAD),
	ROW(RC, READ_RESP_ONLY, READ | ONLY | AETH | PAYLOAD),
	ROW(RC, ACKNOWLEDGE, PAVO_OPF_ACK | ONLY | AETH),
	ROW(RC, ATOMIC_ACK, ATOMIC | ONLY | AETH | ATOMICACK),
	ROW(RC, CMP_SWAP, REQ | ATOMIC | ONLY | ATOMICETH),
	ROW(RC, FETCH_ADD, REQ | ATOMIC | ONLY | ATOMICETH),
	ROW(RC, SEND_LAST_INV, SEND | LAST | IETH),
	ROW(RC, SEND_ONLY_INV, SEND | ONLY | IETH),

	SEND_AND_WRITE(UC),

	ROW(UD, SEND_ONLY, SEND | ONLY | DETH),
	ROW(UD, SEND_ONLY_IMM, SEND | ONLY | DETH | IMM),
};

const struct pavo_op_info *pavo_op_info(u8 opcode)
{
	const struct pavo_op_info *info = &pavo_op_table[opcode];

	return info->hdr_len ? info : NULL;
}
