/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * icrc.h - masks the variant fields of headers for the invariant CRC of a RoCEv2 packet (IBA annex
 * A17.3.3).
 *
 * Called by net/packet_icrc.c, which computes the CRC over the result and the rest of the packet.
 * Accesses only its arguments.
 */
#ifndef PAVO_WIRE_ICRC_H
#define PAVO_WIRE_ICRC_H

#include <linux/string.h>
#include <linux/types.h>

/* Length of the local route header. RoCE has none, and the ICRC covers all ones in its place. */
#define PAVO_LRH_LEN 8
#define PAVO_UDP_LEN 8
#define PAVO_UDP_CHECK 6

#define PAVO_IPV4_LEN 20
#define PAVO_IPV4_TOS 1
#define PAVO_IPV4_TTL 8
#define PAVO_IPV4_CHECK 10

#define PAVO_IPV6_LEN 40
#define PAVO_IPV6_HOP_LIMIT 7

/* FECN and BECN of the BTH, and reserved bits. */
#define PAVO_ICRC_BTH_MARKS 4

static inline void pavo_mask_ipv4(u8 *ip)
{
	ip[PAVO_IPV4_TOS] = 0xff;
	ip[PAVO_IPV4_TTL] = 0xff;
	ip[PAVO_IPV4_CHECK] = 0xff;
	ip[PAVO_IPV4_CHECK + 1] = 0xff;
}

/* Mask traffic class, flow label and hop limit, but not the version. */
static inline void pavo_mask_ipv6(u8 *ip)
{
	ip[0] |= 0x0f;
	ip[1] = 0xff;
	ip[2] = 0xff;
	ip[3] = 0xff;
	ip[PAVO_IPV6_HOP_LIMIT] = 0xff;
}

/**
 * pavo_icrc_build_head - write the first bytes that the ICRC covers, with variant fields masked.
 * @out:  PAVO_ICRC_HEAD_MAX bytes
 * @ip:   the IPv4 (20 bytes, no options) or IPv6 header as on the wire
 * @ipv6: which of the two
 * @udp:  the UDP header
 * @bth:  the BTH
 *
 * The ICRC (annex A17.3.3) is CRC-32 over this, over all that follows the BTH
 * to the end of the pad, with all-ones seed and complemented, and is stored
 * least significant byte first.
 *
 * Return: bytes written.
 */
static inline unsigned int pavo_icrc_build_head(u8 *out, const void *ip,
						bool ipv6, const void *udp,
						const void *bth)
{
	u8 *p = out;

	memset(p, 0xff, PAVO_LRH_LEN);
	p += PAVO_LRH_LEN;

	if (ipv6) {
		memcpy(p, ip, PAVO_IPV6_LEN);
		pavo_mask_ipv6(p);
		p += PAVO_IPV6_LEN;
	} else {
		memcpy(p, ip, PAVO_IPV4_LEN);
		pavo_mask_ipv4(p);
		p += PAVO_IPV4_LEN;
	}

	memcpy(p, udp, PAVO_UDP_LEN);
	p[PAVO_UDP_CHECK] = 0xff;
	p[PAVO_UDP_CHECK + 1] = 0xff;
	p += PAVO_UDP_LEN;

	memcpy(p, bth, PAVO_BTH_LEN);
	p[PAVO_ICRC_BTH_MARKS] = 0xff;
	return (unsigned int)(p - out) + PAVO_BTH_LEN;
}

#endif /* PAVO_WIRE_ICRC_H */
