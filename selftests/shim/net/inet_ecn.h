/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inet_ecn.h - the ECN field of IP headers (RFC 3168). */
#ifndef SHIM_NET_INET_ECN_H
#define SHIM_NET_INET_ECN_H

#include <linux/ipv6.h>
#include <linux/types.h>

enum { INET_ECN_NOT_ECT, INET_ECN_ECT_1, INET_ECN_ECT_0, INET_ECN_CE };

#define INET_ECN_MASK 3

static inline bool INET_ECN_is_ce(u8 dsfield)
{
	return (dsfield & INET_ECN_MASK) == INET_ECN_CE;
}

static inline u8 ipv6_get_dsfield(const struct ipv6hdr *ip)
{
	const u8 *bytes = (const u8 *)ip;

	return (u8)(bytes[0] << 4 | bytes[1] >> 4);
}

#endif /* SHIM_NET_INET_ECN_H */
