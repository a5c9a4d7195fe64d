/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ether.h - Ethernet packets of an interface over windows: the hardware address that names a node
 * and its window, and the check of a packet from a peer. Pure.
 */
#ifndef PAVO_ETHER_H
#define PAVO_ETHER_H

#include <linux/types.h>

#define PAVO_ETHER_ADDRESS 6u
#define PAVO_ETHER_HEADER 14u
/* Bytes of a packet that pavo_ether_check() looks at, if it has that many. */
#define PAVO_ETHER_LOOK (PAVO_ETHER_HEADER + 40u)

/* Where the header has what. */
#define PAVO_ETHER_SOURCE 6u
#define PAVO_ETHER_TYPE 12u

/** pavo_ether_name - write the address of window @window of node @node: a local unicast address. */
void pavo_ether_name(u8 *address, u16 node, u32 window);

/** pavo_ether_parse - get the node and window of @address. Return: 0; -EINVAL: it names none. */
int pavo_ether_parse(const u8 *address, u32 *node, u32 *window);

/** Results of pavo_ether_check(). */
enum pavo_ether_result {
	PAVO_ETHER_OK,
	PAVO_ETHER_SHORT, /* less than a header */
	PAVO_ETHER_SPOOFED, /* the source is not the peer's address */
	PAVO_ETHER_TRUNCATED, /* IP or ARP with less bytes than it says, or a malformed header */
};

/**
 * pavo_ether_check - check the beginning of a packet from a peer.
 * @head:   its first bytes: PAVO_ETHER_LOOK of them, or all if it has less
 * @length: its bytes
 * @peer:   hardware address of the peer
 */
enum pavo_ether_result pavo_ether_check(const u8 *head, u32 length,
					const u8 *peer);

#endif /* PAVO_ETHER_H */
