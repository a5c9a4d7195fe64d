// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * build.c - writes the headers of a struct pavo_pkt as bytes (IBA 9.2, 9.3).
 *
 * Called by requester/, responder/ and window/ for every packet sent. Accesses only its arguments;
 * the inverse of parse.c.
 */
#include <linux/string.h>
#include "bytes.h"
#include "layout.h"
#include "wire.h"

static void build_bth(u8 *p, const struct pavo_pkt *pkt)
{
	p[PAVO_BTH_OPCODE] = pkt->opcode;
	p[PAVO_BTH_FLAGS] =
		(u8)((pkt->solicited ? PAVO_BTH_SE : 0) | PAVO_BTH_MIGREQ |
		     (pkt->pad & PAVO_BTH_PAD_MASK) << PAVO_BTH_PAD_SHIFT);
	pavo_put_be16(p + PAVO_BTH_PKEY, pkt->pkey);
	p[PAVO_BTH_MARKS] = (u8)((pkt->fecn ? PAVO_BTH_FECN : 0) |
				 (pkt->becn ? PAVO_BTH_BECN : 0));
	pavo_put_be24(p + PAVO_BTH_DQPN, pkt->dqpn);
	p[PAVO_BTH_ACK] = (u8)((pkt->ack_req ? PAVO_BTH_ACKREQ : 0) |
			       (pkt->wants_sack ? PAVO_BTH_WANTS_SACK : 0) |
			       (pkt->attempt & PAVO_BTH_ATTEMPT));
	pavo_put_be24(p + PAVO_BTH_PSN, pkt->psn);
}

/* clang-format off */

/*
 * build_name() of each header of packets.h: writes its fields from the members of struct pavo_pkt
 * that they name, and zeros where it is reserved. Return: the bytes behind the header.
 */
#define BUILD_NUMBER(bits, used, name, member)				\
	pavo_put_be##bits(p, pkt->member & PAVO_FIELD_MASK(used));	\
	p += (bits) / 8;

#define BUILD_BYTES(bits, name, member)					\
	memcpy(p, &pkt->member, (bits) / 8);				\
	p += (bits) / 8;

#define BUILD_RESERVED(bits)						\
	memset(p, 0, (bits) / 8);					\
	p += (bits) / 8;

#define BUILD_HEADER(NAME, name, more)					\
static u8 *build_##name(u8 *p, const struct pavo_pkt *pkt)		\
{									\
	PAVO_##NAME##_FIELDS(BUILD_NUMBER, BUILD_BYTES, BUILD_RESERVED)	\
	return p;							\
}

PAVO_HEADERS(BUILD_HEADER, 0)

#define BUILD_IF(NAME, name, flags)		\
	if ((flags) & PAVO_OPF_##NAME)		\
		p = build_##name(p, pkt);

static void build_extensions(u8 *p, const struct pavo_pkt *pkt,
			     unsigned int flags)
{
	PAVO_HEADERS(BUILD_IF, flags)
}

/* clang-format on */

unsigned int pavo_build(u8 *hdr, const struct pavo_pkt *pkt)
{
	const struct pavo_op_info *info = pavo_opcode_get_info(pkt->opcode);

	if (!info)
		return 0;

	build_bth(hdr, pkt);
	build_extensions(hdr + PAVO_BTH_LEN, pkt, info->flags);
	return info->hdr_len;
}
