/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ipv6.h - the header, which user space has, too, and where it is in a packet. */
#ifndef PAVO_SHIM_IPV6_H
#define PAVO_SHIM_IPV6_H

#include <linux/in6.h>
#include_next <linux/ipv6.h>
#include <linux/ip.h>
#include <linux/skbuff.h>

static inline struct ipv6hdr *ipv6_hdr(const struct sk_buff *skb)
{
	return (struct ipv6hdr *)skb_network_header(skb);
}

static inline bool ipv6_addr_is_multicast(const struct in6_addr *address)
{
	return address->s6_addr[0] == 0xff;
}

static inline bool ipv6_addr_v4mapped(const struct in6_addr *address)
{
	static const u8 prefix[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address->s6_addr, prefix, sizeof(prefix));
}

static inline void ipv6_addr_set_v4mapped(__be32 ip4, struct in6_addr *address)
{
	*address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	address->s6_addr32[3] = ip4;
}

#define inet6_sdif(skb) 0

#endif /* PAVO_SHIM_IPV6_H */
