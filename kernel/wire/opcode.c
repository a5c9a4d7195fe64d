// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * opcode.c - the opcode table, made of the lists of packets.h.
 *
 * Called by all folders that handle packets. Constant data only.
 */
#include "wire.h"

/* clang-format off */

#define ROW(svc, base, name, code, k, f)		\
	[(base) | (code)] = {				\
		.kind = PAVO_KIND_##k,			\
		.flags = (f),				\
		.hdr_len = PAVO_HEADERS_LEN(f),		\
	},

const struct pavo_op_info pavo_op_table[256] = {
	PAVO_QP_OPCODES(ROW)
	PAVO_OPCODES_WINDOW(ROW, 0, 0, 0)
};
