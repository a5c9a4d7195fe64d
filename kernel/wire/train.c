// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * train.c - trains: packets of one message in a row, under the headers of one.
 *
 * A train has the opcode and the headers that its payload would have as one packet of a longer
 * path MTU. The packets of the path MTU that it stands for follow from that. Called by net/,
 * which cuts trains where a device needs packets. Touches only its arguments.
 */
#include "layout.h"
#include "wire.h"

/* Operations of the packets of a train: its first, those between, and its last. */
struct row {
	u8 first;
	u8 middle;
	u8 last;
	bool valid;
};

#define ROW(op, f, m, l) \
	[PAVO_OP_##op] = { PAVO_OP_##f, PAVO_OP_##m, PAVO_OP_##l, true }

static const struct row rows[32] = {
	ROW(SEND_FIRST, SEND_FIRST, SEND_MIDDLE, SEND_MIDDLE),
	ROW(SEND_MIDDLE, SEND_MIDDLE, SEND_MIDDLE, SEND_MIDDLE),
	ROW(SEND_LAST, SEND_MIDDLE, SEND_MIDDLE, SEND_LAST),
	ROW(SEND_LAST_IMM, SEND_MIDDLE, SEND_MIDDLE, SEND_LAST_IMM),
	ROW(SEND_LAST_INV, SEND_MIDDLE, SEND_MIDDLE, SEND_LAST_INV),
	ROW(SEND_ONLY, SEND_FIRST, SEND_MIDDLE, SEND_LAST),
	ROW(SEND_ONLY_IMM, SEND_FIRST, SEND_MIDDLE, SEND_LAST_IMM),
	ROW(SEND_ONLY_INV, SEND_FIRST, SEND_MIDDLE, SEND_LAST_INV),

	ROW(WRITE_FIRST, WRITE_FIRST, WRITE_MIDDLE, WRITE_MIDDLE),
	ROW(WRITE_MIDDLE, WRITE_MIDDLE, WRITE_MIDDLE, WRITE_MIDDLE),
	ROW(WRITE_LAST, WRITE_MIDDLE, WRITE_MIDDLE, WRITE_LAST),
	ROW(WRITE_LAST_IMM, WRITE_MIDDLE, WRITE_MIDDLE, WRITE_LAST_IMM),
	ROW(WRITE_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST),
	ROW(WRITE_ONLY_IMM, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST_IMM),

	ROW(READ_RESP_FIRST, READ_RESP_FIRST, READ_RESP_MIDDLE,
	    READ_RESP_MIDDLE),
	ROW(READ_RESP_MIDDLE, READ_RESP_MIDDLE, READ_RESP_MIDDLE,
	    READ_RESP_MIDDLE),
	ROW(READ_RESP_LAST, READ_RESP_MIDDLE, READ_RESP_MIDDLE, READ_RESP_LAST),
	ROW(READ_RESP_ONLY, READ_RESP_FIRST, READ_RESP_MIDDLE, READ_RESP_LAST),
};

static const struct row *find_row(u8 opcode)
{
	const struct row *row = &rows[opcode & 0x1f];

	switch (opcode & PAVO_SVC_MASK) {
	case PAVO_SVC_RC:
	case PAVO_SVC_UC:
	case PAVO_SVC_XRC:
		return row->valid && pavo_op_info(opcode) ? row : NULL;
	default: /* datagrams; opcodes that are on no service */
		return NULL;
	}
}

bool pavo_train_may_be(u8 opcode)
{
	return find_row(opcode);
}

static u8 opcode_of(const struct pavo_pkt *train, u32 i)
{
	const struct row *row = find_row(train->opcode);
	u8 service = train->opcode & PAVO_SVC_MASK;

	if (train->npkts == 1 || !row)
		return train->opcode;
	if (i == train->npkts - 1)
		return service | row->last;
	return service | (i ? row->middle : row->first);
}

unsigned int pavo_train_head(u8 *hdr, const struct pavo_pkt *train, u32 i)
{
	struct pavo_pkt pkt = *train;
	bool last = i == train->npkts - 1;

	pkt.opcode = opcode_of(train, i);
	pkt.psn = pavo_psn_add(train->psn, i);
	pkt.solicited = last && train->solicited;
	pkt.ack_req = last && train->ack_req;
	pkt.pad = last ? train->pad : 0;
	return pavo_build(hdr, &pkt);
}

u32 pavo_train_bytes(const struct pavo_pkt *train, u32 payload)
{
	u32 n = train->npkts;
	u32 bytes = payload + train->pad + n * PAVO_ICRC_LEN;

	bytes += pavo_op_info(opcode_of(train, 0))->hdr_len;
	if (n > 2)
		bytes += (n - 2) * pavo_op_info(opcode_of(train, 1))->hdr_len;
	if (n > 1)
		bytes += pavo_op_info(opcode_of(train, n - 1))->hdr_len;
	return bytes;
}
