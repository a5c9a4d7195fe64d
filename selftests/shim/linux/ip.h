/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* ip.h - the header, which user space has, too, and where it is in a packet. */
#ifndef PAVO_SHIM_IP_H
#define PAVO_SHIM_IP_H

#include_next <linux/ip.h>
#include <linux/in.h>
#include <linux/skbuff.h>

static inline struct iphdr *ip_hdr(const struct sk_buff *skb)
{
	return (struct iphdr *)skb_network_header(skb);
}

/* No packet comes by a VRF. */
#define inet_sdif(skb) 0

#endif /* PAVO_SHIM_IP_H */
