// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* ipfrag.c - splits IP packets into fragments; see ipfrag.h. Pure. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "netif/ipfrag.h"
#include "wire/bytes.h"

/* Bytes that the lengths of both families can name. */
#define MOST_BYTES 65535u

/* IPv4, RFC 791 */
#define IP4_LEAST 20u
#define IP4_LENGTH 2
#define IP4_ID 4
#define IP4_FRAGMENT 6
#define IP4_CHECKSUM 10
#define IP4_DONT 0x4000u
#define IP4_MORE 0x2000u
#define IP4_OFFSET 0x1fffu
#define IP4_OPTION_END 0
#define IP4_OPTION_NONE 1
#define IP4_OPTION_COPIED 0x80

/* IPv6, RFC 8200 */
#define IP6_LEAST 40u
#define IP6_LENGTH 4
#define IP6_NEXT 6
#define IP6_HOP 0
#define IP6_ROUTING 43
#define IP6_FRAGMENT 44
#define IP6_OPTIONS 60
#define IP6_FRAGMENT_LEN 8u
#define IP6_MORE 1u
#define IP6_OFFSET 0xfff8u

static u16 sum_header(const u8 *head, u32 length)
{
	u32 sum = 0, i;

	for (i = 0; i < length; i += 2)
		sum += pavo_get_be16(head + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16)) & 0xffff;
}

/*
 * Copy the options that all fragments carry behind the fixed part of @to. Return: bytes of the
 * header, with padding; 0: an option is malformed.
 */
static u32 copy_options(u8 *to, const u8 *head, u32 length)
{
	u32 at = IP4_LEAST, end = IP4_LEAST, option;

	while (at < length && head[at] != IP4_OPTION_END) {
		if (head[at] == IP4_OPTION_NONE) {
			at++;
			continue;
		}
		option = at + 1 < length ? head[at + 1] : 0;
		if (option < 2 || option > length - at)
			return 0;
		if (head[at] & IP4_OPTION_COPIED) {
			memcpy(to + end, head + at, option);
			end += option;
		}
		at += option;
	}
	while (end & 3)
		to[end++] = IP4_OPTION_END;
	return end;
}

/* Does a fragment of the packet hold data, and its data end within a packet of IP? */
static int check_data(const struct pavo_ipfrag *split)
{
	u32 header = split->first_len > split->later_len ? split->first_len :
							   split->later_len;
	u32 bytes = split->end - split->data;

	if (!bytes || (split->more && bytes & 7) ||
	    split->offset + bytes > MOST_BYTES)
		return -EINVAL;
	return split->mtu < header + 8 ? -EMSGSIZE : 0;
}

static int begin_ip4(struct pavo_ipfrag *split, const u8 *head, u32 length,
		     u32 id)
{
	u32 header = (head[0] & 15) * 4, fragment;

	if (length < IP4_LEAST || header < IP4_LEAST || length < header)
		return -EINVAL;
	fragment = pavo_get_be16(head + IP4_FRAGMENT);
	split->end = pavo_get_be16(head + IP4_LENGTH);
	if (split->end < header || split->end > length)
		return -EINVAL;
	split->data = header;
	split->more = fragment & IP4_MORE;
	split->offset = (fragment & IP4_OFFSET) * 8;
	memcpy(split->first, head, header);
	split->first_len = header;
	/* A fragment has the identification by which it is reassembled. */
	if (fragment & IP4_DONT && !split->more && !split->offset)
		pavo_put_be16(split->first + IP4_ID, (u16)id);
	memcpy(split->later, split->first, IP4_LEAST);
	split->later_len = copy_options(split->later, head, header);
	if (!split->later_len)
		return -EINVAL;
	split->later[0] = (u8)(4 << 4 | split->later_len / 4);
	return check_data(split);
}

/**
 * struct unfragmentable - the part of an IPv6 packet that each fragment carries.
 * @length: its bytes
 * @next:   where it names the header behind it
 */
struct unfragmentable {
	u32 length;
	u32 next;
};

/*
 * Find the part that each fragment carries: up to the last header for each hop, which are hop by
 * hop options and routing headers, with options for the latter's hops. If the packet is a fragment,
 * it is all before its fragment header, since Linux puts that behind options of the destination,
 * and receivers drop a packet with two. Return: 0; -EINVAL: malformed, or longer than
 * PAVO_IPFRAG_COPIED.
 */
static int find_unfragmentable(const u8 *head, u32 length,
			       struct unfragmentable *part)
{
	u32 at = IP6_LEAST, next = IP6_NEXT;
	u8 type = head[IP6_NEXT];

	part->length = IP6_LEAST;
	part->next = IP6_NEXT;
	/* Each round adds 8 bytes or more. */
	while (type == IP6_HOP || type == IP6_ROUTING || type == IP6_OPTIONS) {
		if (at + 8 > length || at + 8 > PAVO_IPFRAG_COPIED)
			break;
		next = at;
		at += (head[at + 1] + 1u) * 8;
		if (type != IP6_OPTIONS) {
			part->length = at;
			part->next = next;
		}
		if (at > length || at > PAVO_IPFRAG_COPIED)
			break;
		type = head[next];
	}
	if (type == IP6_FRAGMENT && at + IP6_FRAGMENT_LEN <= length) {
		part->length = at;
		part->next = next;
	}
	return part->length > length || part->length > PAVO_IPFRAG_COPIED ?
		       -EINVAL :
		       0;
}

static int begin_ip6(struct pavo_ipfrag *split, const u8 *head, u32 length,
		     u32 id)
{
	struct unfragmentable part;
	u8 type, *fragment;
	u32 old;

	if (length < IP6_LEAST)
		return -EINVAL;
	/* A length of 0 is that of a jumbogram, for which fragments have no field. */
	split->end = IP6_LEAST + pavo_get_be16(head + IP6_LENGTH);
	if (split->end == IP6_LEAST || split->end > length)
		return -EINVAL;
	if (find_unfragmentable(head, split->end, &part))
		return -EINVAL;
	type = head[part.next];
	memcpy(split->first, head, part.length);
	split->first[part.next] = IP6_FRAGMENT;
	fragment = split->first + part.length;
	split->data = part.length;
	memset(fragment, 0, IP6_FRAGMENT_LEN);
	fragment[0] = type;
	pavo_put_be32(fragment + 4, id);
	if (type == IP6_FRAGMENT) {
		split->data += IP6_FRAGMENT_LEN;
		if (split->data > split->end)
			return -EINVAL;
		memcpy(fragment, head + part.length, IP6_FRAGMENT_LEN);
		old = pavo_get_be16(fragment + 2);
		split->more = old & IP6_MORE;
		split->offset = old & IP6_OFFSET;
	}
	split->first_len = part.length + IP6_FRAGMENT_LEN;
	split->later_len = split->first_len;
	memcpy(split->later, split->first, split->first_len);
	return check_data(split);
}

int pavo_ipfrag_begin(struct pavo_ipfrag *split, const u8 *head, u32 length,
		      u32 mtu, u32 id)
{
	memset(split, 0, sizeof(*split));
	split->mtu = mtu;
	if (!length)
		return -EINVAL;
	split->ipv6 = head[0] >> 4 == 6;
	if (split->ipv6)
		return begin_ip6(split, head, length, id);
	return head[0] >> 4 == 4 ? begin_ip4(split, head, length, id) : -EINVAL;
}

static void finish_ip4(u8 *head, u32 header, u32 length, u32 offset, bool more)
{
	pavo_put_be16(head + IP4_LENGTH, (u16)(header + length));
	pavo_put_be16(head + IP4_FRAGMENT,
		      (u16)(offset / 8 | (more ? IP4_MORE : 0)));
	pavo_put_be16(head + IP4_CHECKSUM, 0);
	pavo_put_be16(head + IP4_CHECKSUM, sum_header(head, header));
}

static void finish_ip6(u8 *head, u32 header, u32 length, u32 offset, bool more)
{
	u8 *fragment = head + header - IP6_FRAGMENT_LEN;

	pavo_put_be16(head + IP6_LENGTH, (u16)(header - IP6_LEAST + length));
	pavo_put_be16(fragment + 2, (u16)(offset | (more ? IP6_MORE : 0)));
}

int pavo_ipfrag_next(struct pavo_ipfrag *split, struct pavo_ipfrag_piece *piece)
{
	u32 left = split->end - split->data - split->at;
	bool first = !split->at, more;

	if (!left)
		return -ENODATA;
	piece->head_len = first ? split->first_len : split->later_len;
	memcpy(piece->head, first ? split->first : split->later,
	       piece->head_len);
	piece->len = split->mtu - piece->head_len;
	more = left > piece->len;
	/* The offset of the next one counts units of 8 bytes. */
	piece->len = more ? piece->len & ~7u : left;
	piece->from = split->data + split->at;
	(split->ipv6 ? finish_ip6 : finish_ip4)(piece->head, piece->head_len,
						piece->len,
						split->offset + split->at,
						more || split->more);
	split->at += piece->len;
	return 0;
}
