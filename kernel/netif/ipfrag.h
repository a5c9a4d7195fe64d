/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * ipfrag.h - splits an IP packet into fragments that fit a frame of a window
 * (sources.md#windows-fragmentation). The IP layer of the receiver reassembles them. Pure.
 *
 * IPv4 (RFC 791): fragments carry the options that have the copied bit, and the packet may itself
 * be a fragment. "Don't fragment" concerns routers on the path, not the interface that has the
 * MTU, so such packets are split, too, with the bit cleared and an identification from the caller:
 * senders need none with that bit, and leave it 0 or repeat it. IPv6 (RFC 8200): a fragment header
 * follows the part for each hop; one that is there already is continued.
 *
 * The packet comes from this machine or was forwarded by it, and may be malformed.
 */
#ifndef PAVO_IPFRAG_H
#define PAVO_IPFRAG_H

#include <linux/types.h>

/* Most bytes of a packet that are copied into each of its fragments. */
#define PAVO_IPFRAG_COPIED 248u
/* Bytes of a packet that pavo_ipfrag_begin() looks at, if it has that many. */
#define PAVO_IPFRAG_LOOK (PAVO_IPFRAG_COPIED + 8)
/* Most bytes of a fragment's header. */
#define PAVO_IPFRAG_HEAD (PAVO_IPFRAG_COPIED + 8)

/**
 * struct pavo_ipfrag - a packet that is being split.
 * @ipv6:   else IPv4
 * @more:   the packet is a fragment itself, and not the last one
 * @offset: of its data in the packet that it is a fragment of; else 0
 * @mtu:    most bytes of a fragment
 * @data:   where its data begins
 * @end:    where its data ends; the link may have padded it
 * @at:     bytes of data in the fragments so far
 * @first_len: bytes of @first
 * @later_len: bytes of @later
 * @first:  header of its first fragment
 * @later:  header of the others
 */
struct pavo_ipfrag {
	bool ipv6;
	bool more;
	u32 offset;
	u32 mtu;
	u32 data;
	u32 end;
	u32 at;
	u32 first_len;
	u32 later_len;
	u8 first[PAVO_IPFRAG_HEAD];
	u8 later[PAVO_IPFRAG_HEAD];
};

/**
 * struct pavo_ipfrag_piece - a fragment: its header, and which bytes of the packet follow.
 * @head:     the header
 * @head_len: its bytes
 * @from:     first byte of the packet that follows
 * @len:      number of bytes from there
 */
struct pavo_ipfrag_piece {
	u8 head[PAVO_IPFRAG_HEAD];
	u32 head_len;
	u32 from;
	u32 len;
};

/**
 * pavo_ipfrag_begin - begin to split a packet.
 * @split:  set
 * @head:   its first bytes: PAVO_IPFRAG_LOOK of them, or all if it has less
 * @length: its bytes, with those that the link added
 * @mtu:    most bytes of a fragment
 * @id:     identification, for a packet that has none: IPv6, or "don't fragment" of IPv4
 *
 * Return: 0; -EINVAL: not an IP packet, or malformed; -EMSGSIZE: the part that each fragment
 * carries leaves no space for data.
 */
int pavo_ipfrag_begin(struct pavo_ipfrag *split, const u8 *head, u32 length,
		      u32 mtu, u32 id);

/** pavo_ipfrag_next - set @piece to the next fragment. Return: 0; -ENODATA: there is none. */
int pavo_ipfrag_next(struct pavo_ipfrag *split,
		     struct pavo_ipfrag_piece *piece);

#endif /* PAVO_IPFRAG_H */
