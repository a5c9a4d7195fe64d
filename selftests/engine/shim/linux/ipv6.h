/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ipv6.h - the header, which user space has, too, and where it is in a packet. */
#ifndef PAVO_ENGINE_LINUX_IPV6_H
#define PAVO_ENGINE_LINUX_IPV6_H

#include <linux/in6.h>
#include_next <linux/ipv6.h>
#include <linux/skbuff.h>

static inline struct ipv6hdr *ipv6_hdr(const struct sk_buff *skb)
{
	return (struct ipv6hdr *)skb_network_header(skb);
}

#endif /* PAVO_ENGINE_LINUX_IPV6_H */
