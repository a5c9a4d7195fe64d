/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * layout.h - offsets and bits of the fields of the BTH (IBA 9.2). Private to wire/ (parse.c,
 * build.c, gso.c). packets.h has the extension headers.
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
	PAVO_BTH_ACK = 8, /* AckReq, 7 bits reserved by IBA */
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
	PAVO_BTH_WANTS_SACK = 0x40,
	PAVO_BTH_ATTEMPT = 0x3f,
};

#endif /* PAVO_WIRE_LAYOUT_H */
