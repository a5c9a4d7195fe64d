// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * icrc.c - masks the variant fields of headers for the invariant CRC of a RoCEv2 packet (IBA annex
 * A17.3.3).
 *
 * Called by net/packet_icrc.c, which computes the CRC over the result and the rest of the packet.
 * Accesses only its arguments.
 */
#include <linux/string.h>
#include "layout.h"
#include "wire.h"

/* Length of the local route header. RoCE has none, and the ICRC covers all ones in its place. */
#define LRH_LEN 8
#define UDP_LEN 8
#define UDP_CHECK 6

#define IPV4_LEN 20
#define IPV4_TOS 1
#define IPV4_TTL 8
#define IPV4_CHECK 10

#define IPV6_LEN 40
#define IPV6_HOP_LIMIT 7

static void mask_ipv4(u8 *ip)
{
	ip[IPV4_TOS] = 0xff;
	ip[IPV4_TTL] = 0xff;
	ip[IPV4_CHECK] = 0xff;
	ip[IPV4_CHECK + 1] = 0xff;
}

/* Mask traffic class, flow label and hop limit, but not the version. */
static void mask_ipv6(u8 *ip)
{
	ip[0] |= 0x0f;
	ip[1] = 0xff;
	ip[2] = 0xff;
	ip[3] = 0xff;
	ip[IPV6_HOP_LIMIT] = 0xff;
}

unsigned int pavo_icrc_head(u8 *out, const void *ip, bool ipv6, const void *udp,
			    const void *bth)
{
	u8 *p = out;

	memset(p, 0xff, LRH_LEN);
	p += LRH_LEN;

	if (ipv6) {
		memcpy(p, ip, IPV6_LEN);
		mask_ipv6(p);
		p += IPV6_LEN;
	} else {
		memcpy(p, ip, IPV4_LEN);
		mask_ipv4(p);
		p += IPV4_LEN;
	}

	memcpy(p, udp, UDP_LEN);
	p[UDP_CHECK] = 0xff;
	p[UDP_CHECK + 1] = 0xff;
	p += UDP_LEN;

	memcpy(p, bth, PAVO_BTH_LEN);
	p[PAVO_BTH_MARKS] = 0xff;
	return (unsigned int)(p - out) + PAVO_BTH_LEN;
}
