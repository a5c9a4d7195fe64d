// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ether.c - hardware addresses and packets of an interface over windows; see ether.h. Pure. */
#include <linux/errno.h>
#include <linux/string.h>
#include "netif/ether.h"
#include "wire/bytes.h"

/* First byte of an address: locally administered, of one station. */
#define LOCAL_UNICAST 0x02

#define TYPE_IP4 0x0800
#define TYPE_ARP 0x0806
#define TYPE_IP6 0x86dd
#define IP4_LEAST 20u
#define IP6_LEAST 40u
/* ARP for IPv4 over Ethernet. */
#define ARP_BYTES 28u

void pavo_ether_name(u8 *address, u16 node, u32 window)
{
	address[0] = LOCAL_UNICAST;
	pavo_put_be16(address + 1, node);
	pavo_put_be24(address + 3, window);
}

int pavo_ether_parse(const u8 *address, u32 *node, u32 *window)
{
	*node = pavo_get_be16(address + 1);
	*window = pavo_get_be24(address + 3);
	return address[0] == LOCAL_UNICAST ? 0 : -EINVAL;
}

static bool is_ip4_whole(const u8 *head, u32 length)
{
	u32 header, total;

	if (length < IP4_LEAST)
		return false;
	header = (head[0] & 15) * 4;
	total = pavo_get_be16(head + 2);
	return head[0] >> 4 == 4 && header >= IP4_LEAST && total >= header &&
	       total <= length;
}

static bool is_ip6_whole(const u8 *head, u32 length)
{
	return length >= IP6_LEAST && head[0] >> 4 == 6 &&
	       IP6_LEAST + pavo_get_be16(head + 4) <= length;
}

/* Other protocols check their packets themselves. */
static bool is_whole(const u8 *head, u32 length, u32 type)
{
	switch (type) {
	case TYPE_IP4:
		return is_ip4_whole(head, length);
	case TYPE_IP6:
		return is_ip6_whole(head, length);
	case TYPE_ARP:
		return length >= ARP_BYTES;
	default:
		return true;
	}
}

enum pavo_ether_result pavo_ether_check(const u8 *head, u32 length,
					const u8 *peer)
{
	if (length < PAVO_ETHER_HEADER)
		return PAVO_ETHER_SHORT;
	if (memcmp(head + PAVO_ETHER_SOURCE, peer, PAVO_ETHER_ADDRESS))
		return PAVO_ETHER_SPOOFED;
	return is_whole(head + PAVO_ETHER_HEADER, length - PAVO_ETHER_HEADER,
			pavo_get_be16(head + PAVO_ETHER_TYPE)) ?
		       PAVO_ETHER_OK :
		       PAVO_ETHER_TRUNCATED;
}
