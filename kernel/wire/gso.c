// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * gso.c - headers of GSO super-packets: consecutive packets of one message behind one header.
 *
 * A super-packet has the opcode and the headers that its payload would have as one packet of a
 * longer path MTU. The headers of the packets of the path MTU are derived from these. Called by
 * net/, which segments super-packets for devices. Accesses only its arguments.
 */
#include <linux/errno.h>
#include "layout.h"
#include "wire.h"

/* Operations of the packets of a super-packet: first, middle and last ones. */
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
		return row->valid && pavo_opcode_get_info(opcode) ? row : NULL;
	default: /* datagrams; opcodes that are on no service */
		return NULL;
	}
}

bool pavo_gso_is_allowed(u8 opcode)
{
	return find_row(opcode);
}

/* Return the opcode of packet @i. */
static u8 get_segment_opcode(const struct pavo_pkt *gso, u32 i)
{
	const struct row *row = find_row(gso->opcode);
	u8 service = gso->opcode & PAVO_SVC_MASK;

	if (gso->npkts == 1 || !row)
		return gso->opcode;
	if (i == gso->npkts - 1)
		return service | row->last;
	return service | (i ? row->middle : row->first);
}

unsigned int pavo_gso_segment_head(u8 *hdr, const struct pavo_pkt *gso, u32 i)
{
	struct pavo_pkt pkt = *gso;
	bool last = i == gso->npkts - 1;

	pkt.opcode = get_segment_opcode(gso, i);
	pkt.psn = pavo_psn_add(gso->psn, i);
	pkt.solicited = last && gso->solicited;
	pkt.ack_req = last && gso->ack_req;
	pkt.pad = last ? gso->pad : 0;
	return pavo_build(hdr, &pkt);
}

u32 pavo_gso_count_many(const struct pavo_pkt *gso, u32 payload)
{
	u32 n = gso->npkts;
	u32 bytes = payload + gso->pad + n * PAVO_ICRC_LEN;

	bytes += pavo_opcode_get_info(get_segment_opcode(gso, 0))->hdr_len;
	if (n > 2)
		bytes += (n - 2) *
			 pavo_opcode_get_info(get_segment_opcode(gso, 1))
				 ->hdr_len;
	return bytes +
	       pavo_opcode_get_info(get_segment_opcode(gso, n - 1))->hdr_len;
}

/* --------------------------------------------------- merging of received packets */

bool pavo_gso_may_grow(const struct pavo_pkt *gso)
{
	if (gso->pad || gso->ack_req || gso->solicited)
		return false;
	switch (gso->opcode & PAVO_SVC_MASK) {
	case PAVO_SVC_RC:
	case PAVO_SVC_XRC:
		break;
	default: /* the responder handles each packet of the other services separately */
		return false;
	}
	switch (gso->opcode & ~PAVO_SVC_MASK) {
	case PAVO_OP_SEND_FIRST:
	case PAVO_OP_SEND_MIDDLE:
	case PAVO_OP_WRITE_FIRST:
	case PAVO_OP_WRITE_MIDDLE:
	case PAVO_OP_READ_RESP_FIRST:
	case PAVO_OP_READ_RESP_MIDDLE:
		return true;
	default:
		return false;
	}
}

/* Operation of a super-packet after a packet was appended. */
struct merge {
	u8 gso;
	u8 next;
	u8 both;
};

#define MERGE(t, n, b)                                \
	{                                             \
		PAVO_OP_##t, PAVO_OP_##n, PAVO_OP_##b \
	}

static const struct merge merges[] = {
	MERGE(SEND_FIRST, SEND_MIDDLE, SEND_FIRST),
	MERGE(SEND_FIRST, SEND_LAST, SEND_ONLY),
	MERGE(SEND_MIDDLE, SEND_MIDDLE, SEND_MIDDLE),
	MERGE(SEND_MIDDLE, SEND_LAST, SEND_LAST),

	MERGE(WRITE_FIRST, WRITE_MIDDLE, WRITE_FIRST),
	MERGE(WRITE_FIRST, WRITE_LAST, WRITE_ONLY),
	MERGE(WRITE_MIDDLE, WRITE_MIDDLE, WRITE_MIDDLE),
	MERGE(WRITE_MIDDLE, WRITE_LAST, WRITE_LAST),

	MERGE(READ_RESP_FIRST, READ_RESP_MIDDLE, READ_RESP_FIRST),
	MERGE(READ_RESP_FIRST, READ_RESP_LAST, READ_RESP_ONLY),
	MERGE(READ_RESP_MIDDLE, READ_RESP_MIDDLE, READ_RESP_MIDDLE),
};

static const struct merge *find_merge(u8 opcode, u8 next)
{
	const struct merge *end = merges + sizeof(merges) / sizeof(*merges);
	const struct merge *merge;

	for (merge = merges; merge < end; merge++)
		if (merge->gso == (opcode & 0x1f) &&
		    merge->next == (next & 0x1f))
			return merge;
	return NULL;
}

/* True if they have the same receiver, and the same marks. */
static bool has_same_receiver(const struct pavo_pkt *a,
			      const struct pavo_pkt *b)
{
	if ((a->opcode ^ b->opcode) & PAVO_SVC_MASK || a->dqpn != b->dqpn ||
	    a->pkey != b->pkey || a->fecn != b->fecn || a->becn != b->becn ||
	    a->wants_sack != b->wants_sack || a->attempt != b->attempt)
		return false;
	return !(b->info->flags & PAVO_OPF_XRCETH) || a->srqn == b->srqn;
}

int pavo_gso_append(struct pavo_pkt *gso, u32 unit, const struct pavo_pkt *next)
{
	const bool last = next->info->flags & PAVO_OPF_LAST;
	const struct merge *merge;

	if (!pavo_gso_may_grow(gso) || !has_same_receiver(gso, next) ||
	    next->psn != pavo_psn_add(gso->psn, gso->npkts) ||
	    gso->payload != gso->npkts * unit || !next->payload ||
	    next->payload > unit ||
	    (!last && (next->payload < unit || next->pad)))
		return -EINVAL;
	merge = find_merge(gso->opcode, next->opcode);
	if (!merge)
		return -EINVAL;
	gso->opcode = (gso->opcode & PAVO_SVC_MASK) | merge->both;
	gso->info = pavo_opcode_get_info(gso->opcode);
	gso->solicited = next->solicited;
	gso->ack_req = next->ack_req;
	gso->pad = next->pad;
	gso->payload += next->payload;
	gso->npkts++;
	return 0;
}

void pavo_gso_skip(struct pavo_pkt *gso, u32 unit, u32 n)
{
	const struct row *row = find_row(gso->opcode);
	u8 service = gso->opcode & PAVO_SVC_MASK;

	/* The rest has the opcode of a super-packet without its first packet. */
	gso->opcode =
		service |
		(gso->info->flags & PAVO_OPF_LAST ? row->last : row->middle);
	gso->info = pavo_opcode_get_info(gso->opcode);
	gso->psn = pavo_psn_add(gso->psn, n);
	gso->npkts -= n;
	gso->payload -= n * unit;
}
