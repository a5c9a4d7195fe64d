// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * auth.c - authentication of packets with deferred ICRC, by a secret key of this module.
 *
 * Between two adapters of one machine a packet crosses network namespaces of tenants. These can
 * send packets that look the same (tunnels, tc, BPF, packet sockets). So the metadata of each
 * packet with deferred ICRC has a MAC: SipHash-2-4 with a key drawn at load. It covers addresses,
 * source port, transport headers, lengths, sender, and the lkey and token of attached memory. It
 * does not cover payload: a namespace on the path can change that in any packet (docs/protocol.md).
 *
 * lkey and token of attached memory are encrypted by a mask derived from the MAC, which is a
 * synthetic initialization vector (RFC 5297), so equal keys have different ciphertexts.
 *
 * Called by deferred_icrc.c and coalesced.c through tx.c, rx.c and gro.c, BH disabled.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/percpu.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/udp.h>
#include <net/ipv6.h>
#include "net_private.h"

static siphash_key_t mac_key __read_mostly;
static siphash_key_t mask_key __read_mostly;

/* 64-bit words in front of the headers: addresses, lengths, sender, memory. */
#define FIXED_WORDS (4 + 1 + 1 + 1)

/*
 * The bytes that a MAC covers: the words in front, and the headers behind them; of a coalesced
 * packet headers and length of each packet. One array, since fewer words than FIXED_WORDS may be
 * in front.
 */
struct covered {
	u64 words[FIXED_WORDS +
		  DIV_ROUND_UP(PAVO_COALESCED_PACKETS *
				       (PAVO_MAX_HDR_LEN + sizeof(u16)),
			       sizeof(u64))];
};

static DEFINE_PER_CPU(struct covered, covered);

void pavo_auth_init(void)
{
	get_random_bytes(&mac_key, sizeof(mac_key));
	get_random_bytes(&mask_key, sizeof(mask_key));
}

/* Copy the headers of one packet, whose BTH is at @from. Return: bytes; 0: they are incomplete. */
static unsigned int add_header(u8 *to, const struct sk_buff *skb,
			       unsigned int from)
{
	const struct pavo_op_info *op;

	if (from + PAVO_BTH_LEN > skb_headlen(skb))
		return 0;
	op = pavo_opcode_get_info(skb->data[from]);
	if (!op || from + op->hdr_len > skb_headlen(skb))
		return 0;
	memcpy(to, skb->data + from, op->hdr_len);
	return op->hdr_len;
}

/* Copy headers and lengths of all packets of a coalesced packet. Return: bytes; 0: wrong length. */
static unsigned int add_coalesced(u8 *to, const struct sk_buff *skb,
				  unsigned int from,
				  const struct pavo_meta *meta)
{
	unsigned int done = 0, n;
	u32 i;
	u16 len;

	for (i = 0; i < meta->packets; i++) {
		len = pavo_coalesced_len(skb, meta, i);
		n = add_header(to + done, skb, from);
		if (!n || len < n)
			return 0;
		done += n;
		memcpy(to + done, &len, sizeof(len));
		done += sizeof(len);
		from += len;
	}
	return done;
}

/* Write the words in front of the headers. Return: bytes. */
static unsigned int add_fixed(u64 *to, const void *ip, const struct udphdr *udp,
			      const struct sk_buff *skb, unsigned int len,
			      const struct pavo_meta *meta)
{
	const struct ipv6hdr *ip6 = ip;
	const struct iphdr *ip4 = ip;
	u64 *at = to;

	if (meta->flags & PAVO_META_IPV6) {
		memcpy(at, &ip6->saddr, sizeof(ip6->saddr));
		memcpy(at + 2, &ip6->daddr, sizeof(ip6->daddr));
		at += 4;
	} else {
		*at++ = (u64)(__force u32)ip4->saddr << 32 |
			(__force u32)ip4->daddr;
	}
	*at++ = (u64)(__force u16)udp->source << 48 |
		(u64)skb_shinfo(skb)->gso_size << 32 | len << 16 |
		meta->flags << 8 | meta->packets;
	*at++ = (u64)meta->port << 32 | meta->qpn;
	if (meta->flags & PAVO_META_ATTACHED)
		*at++ = (u64)meta->lkey << 32 | meta->token;
	return (u8 *)at - (u8 *)to;
}

/* Compute the MAC of a packet and its plain metadata. -EINVAL: @meta does not fit the packet. */
static int make_mac(u64 *mac, const struct sk_buff *skb, unsigned int from,
		    const void *ip, const struct pavo_meta *meta)
{
	const struct udphdr *udp =
		(const void *)(skb->data + from - sizeof(*udp));
	struct covered *buffer = this_cpu_ptr(&covered);
	unsigned int fixed, n;
	u8 *headers;

	fixed = add_fixed(buffer->words, ip, udp, skb, skb->len - from, meta);
	headers = (u8 *)buffer->words + fixed;
	n = meta->packets ? add_coalesced(headers, skb, from, meta) :
			    add_header(headers, skb, from);
	if (!n)
		return -EINVAL;
	*mac = siphash(buffer->words, fixed + n, &mac_key);
	return 0;
}

/* Encrypt or decrypt lkey and token. */
static void mask_memory(struct pavo_meta *meta)
{
	u64 mask;

	if (!(meta->flags & PAVO_META_ATTACHED))
		return;
	mask = siphash_1u64(meta->mac, &mask_key);
	meta->lkey ^= mask >> 32;
	meta->token ^= mask;
}

int pavo_auth_sign(struct pavo_meta *meta, const struct sk_buff *skb,
		   unsigned int from, const void *ip)
{
	int err = make_mac(&meta->mac, skb, from, ip, meta);

	if (!err)
		mask_memory(meta);
	return err;
}

bool pavo_auth_verify(struct pavo_meta *meta, const struct sk_buff *skb,
		      unsigned int from, const void *ip)
{
	u64 mac;

	if (meta->flags >> 8 || meta->packets > PAVO_COALESCED_PACKETS ||
	    skb->len - from > U16_MAX)
		return false;
	mask_memory(meta);
	return !make_mac(&mac, skb, from, ip, meta) && mac == meta->mac;
}
