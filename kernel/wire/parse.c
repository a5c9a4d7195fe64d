// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * parse.c - header parser: bytes of a packet to struct pavo_pkt (IBA 9.2, 9.3).
 *
 * Called by net/ for every received packet, before any other check. Accesses only its arguments,
 * and no byte behind @avail.
 */
#include <linux/string.h>
#include "bytes.h"
#include "layout.h"
#include "wire.h"

u32 pavo_peek_qpn(const u8 *bth)
{
	return pavo_get_be24(bth + PAVO_BTH_DQPN);
}

static void parse_bth(struct pavo_pkt *pkt, const u8 *p)
{
	pkt->solicited = p[PAVO_BTH_FLAGS] & PAVO_BTH_SE;
	pkt->pad = (p[PAVO_BTH_FLAGS] >> PAVO_BTH_PAD_SHIFT) &
		   PAVO_BTH_PAD_MASK;
	pkt->pkey = pavo_get_be16(p + PAVO_BTH_PKEY);
	pkt->fecn = p[PAVO_BTH_MARKS] & PAVO_BTH_FECN;
	pkt->becn = p[PAVO_BTH_MARKS] & PAVO_BTH_BECN;
	pkt->dqpn = pavo_get_be24(p + PAVO_BTH_DQPN);
	pkt->ack_req = p[PAVO_BTH_ACK] & PAVO_BTH_ACKREQ;
	pkt->wants_sack = p[PAVO_BTH_ACK] & PAVO_BTH_WANTS_SACK;
	pkt->attempt = p[PAVO_BTH_ACK] & PAVO_BTH_ATTEMPT;
	pkt->psn = pavo_get_be24(p + PAVO_BTH_PSN);
}

/* clang-format off */

/*
 * parse_name() of each header of packets.h: fills in the members of struct pavo_pkt that its fields
 * name. Return: the bytes behind the header.
 */
#define PARSE_NUMBER(bits, used, name, member)				\
	pkt->member = pavo_get_be##bits(p) & PAVO_FIELD_MASK(used);	\
	p += (bits) / 8;

#define PARSE_BYTES(bits, name, member)					\
	memcpy(&pkt->member, p, (bits) / 8);				\
	p += (bits) / 8;

#define PARSE_RESERVED(bits)						\
	p += (bits) / 8;

#define PARSE_HEADER(NAME, name, more)					\
static const u8 *parse_##name(struct pavo_pkt *pkt, const u8 *p)	\
{									\
	PAVO_##NAME##_FIELDS(PARSE_NUMBER, PARSE_BYTES, PARSE_RESERVED)	\
	return p;							\
}

PAVO_HEADERS(PARSE_HEADER, 0)

#define PARSE_IF(NAME, name, flags)		\
	if ((flags) & PAVO_OPF_##NAME)		\
		p = parse_##name(pkt, p);

static void parse_extensions(struct pavo_pkt *pkt, unsigned int flags,
			     const u8 *p)
{
	PAVO_HEADERS(PARSE_IF, flags)
}

/* clang-format on */

enum pavo_parse_status pavo_parse(struct pavo_pkt *pkt, const u8 *hdr,
				  unsigned int avail, unsigned int len)
{
	const struct pavo_op_info *info;
	unsigned int hdr_len;
	unsigned int rest;

	/*
	 * The pad makes the length of every packet a multiple of four. A packet of
	 * another length ends inside its pad.
	 */
	if (len < PAVO_BTH_LEN + PAVO_ICRC_LEN || len % 4 ||
	    avail < PAVO_BTH_LEN)
		return PAVO_PARSE_SHORT;
	if (hdr[PAVO_BTH_FLAGS] & PAVO_BTH_TVER)
		return PAVO_PARSE_VERSION;

	info = pavo_opcode_get_info(hdr[PAVO_BTH_OPCODE]);
	if (!info)
		return PAVO_PARSE_OPCODE;
	hdr_len = info->hdr_len;
	if (len < hdr_len + PAVO_ICRC_LEN || avail < hdr_len)
		return PAVO_PARSE_SHORT;

	pkt->info = info;
	pkt->opcode = hdr[PAVO_BTH_OPCODE];
	parse_bth(pkt, hdr);
	rest = len - hdr_len - PAVO_ICRC_LEN;
	if (rest < pkt->pad)
		return PAVO_PARSE_SHORT;
	if (rest && !(info->flags & PAVO_OPF_PAYLOAD))
		return PAVO_PARSE_SURPLUS;
	pkt->payload = rest - pkt->pad;
	pkt->npkts = 1;

	parse_extensions(pkt, info->flags, hdr + PAVO_BTH_LEN);
	return PAVO_PARSE_OK;
}
