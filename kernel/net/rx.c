// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * rx.c - receive path: checks a UDP datagram and parses it into a packet of an adapter.
 *
 * Called by the network stack for every datagram to the RoCEv2 port, in softirq. The sender chooses
 * every byte, so this file checks each field before it uses it, and passes no packet on before its
 * ICRC is verified. Until then it allocates no memory, takes no lock, and copies only headers
 * that are not contiguous. The stack holds the RCU read lock.
 */
#include <linux/highmem.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/ip.h>
#include <net/route.h>
#include "compat.h"
#include "net_private.h"
#include "stats.h"

/*
 * Find the port by the destination address. Packets that the machine sends to itself arrive by the
 * loopback interface.
 */
static struct pavo_port *find_port_by_address(struct sk_buff *skb, bool ipv6)
{
	struct net *net = dev_net(skb->dev);
	struct net_device *ndev;

	if (ipv6)
		ndev = pavo_ip6_dev_find(net, &ipv6_hdr(skb)->daddr);
	else
		ndev = __ip_dev_find(net, ip_hdr(skb)->daddr, false);
	return ndev ? pavo_port_find_on(ndev) : NULL;
}

#if IS_ENABLED(CONFIG_IPV6)
static bool has_address6(const struct net_device *ndev,
			 const struct in6_addr *addr)
{
	const struct inet6_dev *idev = __in6_dev_get(ndev);
	const struct inet6_ifaddr *ifa;

	if (!idev)
		return false;
	list_for_each_entry_rcu(ifa, &idev->addr_list, if_list)
		if (ipv6_addr_equal(&ifa->addr, addr))
			return true;
	return false;
}
#else
static bool has_address6(const struct net_device *ndev,
			 const struct in6_addr *addr)
{
	return false;
}
#endif

static bool has_address4(const struct net_device *ndev, __be32 addr)
{
	const struct in_device *idev = __in_dev_get_rcu(ndev);
	const struct in_ifaddr *ifa;

	if (!idev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, idev)
		if (ifa->ifa_local == addr)
			return true;
	return false;
}

/* Search below a VRF for the port that a packet is addressed to. */
struct addressed {
	const struct sk_buff *skb;
	struct pavo_port *port;
};

static int find_addressed(struct net_device *ndev,
			  struct netdev_nested_priv *priv)
{
	struct addressed *to = priv->data;
	bool has;

	if (ip_hdr(to->skb)->version == 6)
		has = has_address6(ndev, &ipv6_hdr(to->skb)->daddr);
	else
		has = has_address4(ndev, ip_hdr(to->skb)->daddr);
	if (has)
		to->port = pavo_port_find_on(ndev);
	return !!to->port;
}

/*
 * Find the port below a VRF. skb->dev is the VRF, and the index of the receiving interface is in
 * the skb. A packet that the machine sends to itself has the VRF there: then find the port by
 * address, but only below this VRF, since another VRF may have the same address.
 */
static struct pavo_port *find_port_of_vrf(struct sk_buff *skb, bool ipv6)
{
	int ifindex = ipv6 ? inet6_sdif(skb) : inet_sdif(skb);
	struct addressed to = { .skb = skb };
	struct netdev_nested_priv priv = { .data = &to };
	struct net_device *ndev;

	if (ifindex && ifindex != skb->dev->ifindex) {
		ndev = dev_get_by_index_rcu(dev_net(skb->dev), ifindex);
		return ndev ? pavo_port_find_on(ndev) : NULL;
	}
	netdev_walk_all_lower_dev_rcu(skb->dev, find_addressed, &priv);
	return to.port;
}

static struct pavo_port *find_port(struct sk_buff *skb, bool ipv6)
{
	struct pavo_port *port = pavo_port_find_on(skb->dev);

	if (likely(port))
		return port;
	if (skb->dev->flags & IFF_LOOPBACK)
		return find_port_by_address(skb, ipv6);
	if (netif_is_l3_master(skb->dev))
		return find_port_of_vrf(skb, ipv6);
	return NULL;
}

static bool is_ipv6(const struct sk_buff *skb)
{
	return ip_hdr(skb)->version == 6;
}

static bool is_marked(const struct sk_buff *skb, bool ipv6)
{
	return INET_ECN_is_ce(ipv6 ? ipv6_get_dsfield(ipv6_hdr(skb)) :
				     ip_hdr(skb)->tos);
}

static void count_malformed(const struct pavo_stats *stats,
			    enum pavo_parse_status status)
{
	switch (status) {
	case PAVO_PARSE_OK:
		break;
	case PAVO_PARSE_SHORT:
		pavo_stats_add(stats, rx_drop_short, 1);
		break;
	case PAVO_PARSE_VERSION:
		pavo_stats_add(stats, rx_drop_version, 1);
		break;
	case PAVO_PARSE_OPCODE:
		pavo_stats_add(stats, rx_drop_opcode, 1);
		break;
	case PAVO_PARSE_SURPLUS:
		pavo_stats_add(stats, rx_drop_surplus, 1);
		break;
	}
}

static const u8 *get_skb_bth(const struct sk_buff *skb)
{
	return skb->data + sizeof(struct udphdr);
}

static bool is_rx_icrc_ok(const struct pavo_rx *rx)
{
	const unsigned int from = sizeof(struct udphdr) + PAVO_BTH_LEN;
	struct sk_buff *skb = rx->skb;
	u32 crc;

	return !pavo_packet_crc(&crc, skb, skb_network_header(skb), rx->ipv6,
				skb->data, get_skb_bth(skb), from,
				skb->len - from) &&
	       crc == PAVO_CRC_GOOD;
}

enum pavo_parse_status pavo_parse_headers(struct pavo_pkt *pkt,
					  struct sk_buff *skb,
					  unsigned int from, unsigned int len)
{
	unsigned int avail = skb_headlen(skb) - from, want;
	enum pavo_parse_status status;

	status = pavo_parse(pkt, skb->data + from, avail, len);
	want = min_t(unsigned int, len, PAVO_MAX_HDR_LEN);
	if (unlikely(status == PAVO_PARSE_SHORT && avail < want)) {
		if (!pskb_may_pull(skb, from + want))
			return PAVO_PARSE_SHORT;
		status = pavo_parse(pkt, skb->data + from, want, len);
	}
	return status;
}

/* Parse the headers of a packet; skb->data is at the UDP header. */
static enum pavo_parse_status parse_rx(struct pavo_rx *rx)
{
	struct sk_buff *skb = rx->skb;
	enum pavo_parse_status status;

	if (skb_headlen(skb) < sizeof(struct udphdr) ||
	    ntohs(((struct udphdr *)skb->data)->len) != skb->len)
		return PAVO_PARSE_SHORT;
	if (rx->unit)
		status = pavo_rx_parse_meta(rx);
	else
		status = pavo_parse_headers(&rx->pkt, skb, rx->at,
					    skb->len - rx->at);
	if (status == PAVO_PARSE_OK)
		rx->payload = rx->at + rx->pkt.info->hdr_len;
	return status;
}

static void set_skb(struct pavo_rx *rx, struct sk_buff *skb)
{
	rx->skb = skb;
	rx->ipv6 = is_ipv6(skb);
	rx->marked = is_marked(skb, rx->ipv6);
	rx->at = sizeof(struct udphdr);
	rx->index = 0;
	pavo_rx_begin_meta(rx);
}

int pavo_rx_take(struct pavo_rx *rx, struct sk_buff *skb, bool local)
{
	enum pavo_parse_status status = PAVO_PARSE_SHORT;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "received outside of RCU");
	set_skb(rx, skb);
	rx->port = find_port(skb, rx->ipv6);
	if (unlikely(!rx->port))
		goto drop;

	if (!rx->unit || !pavo_rx_read_meta(rx))
		status = parse_rx(rx);
	if (unlikely(status != PAVO_PARSE_OK)) {
		count_malformed(rx->port->stats, status);
		goto drop;
	}
	if (unlikely(rx->unit ? !pavo_rx_verify_meta(rx, local) :
				!is_rx_icrc_ok(rx))) {
		pavo_stats_add(rx->port->stats, rx_icrc_encapsulated, 1);
		goto drop;
	}
	return 0;
drop:
	kfree_skb(skb);
	return -EBADMSG;
}

void pavo_rx_skip(struct pavo_rx *rx, u32 psn)
{
	s32 n = pavo_psn_diff(psn, rx->pkt.psn);

	if (likely(n <= 0) || n >= (s32)rx->pkt.npkts)
		return;
	pavo_gso_skip(&rx->pkt, rx->unit, n);
	rx->payload += n * rx->unit;
}

void pavo_rx_dgid(const struct pavo_rx *rx, struct in6_addr *gid)
{
	if (rx->ipv6)
		*gid = ipv6_hdr(rx->skb)->daddr;
	else
		ipv6_addr_set_v4mapped(ip_hdr(rx->skb)->daddr, gid);
}

bool pavo_rx_multicast(const struct pavo_rx *rx)
{
	return rx->ipv6 ? ipv6_addr_is_multicast(&ipv6_hdr(rx->skb)->daddr) :
			  ipv4_is_multicast(ip_hdr(rx->skb)->daddr);
}

bool pavo_rx_to_many(const struct pavo_rx *rx)
{
	const struct rtable *route = rx->ipv6 ? NULL : skb_rtable(rx->skb);

	return pavo_rx_multicast(rx) ||
	       (route && route->rt_flags & RTCF_BROADCAST);
}

void pavo_rx_parse(struct pavo_rx *rx, struct pavo_port *port,
		   struct sk_buff *skb)
{
	rx->port = port;
	set_skb(rx, skb);
	if (rx->unit)
		pavo_rx_restore_meta(rx);
	WARN_ON_ONCE(parse_rx(rx) != PAVO_PARSE_OK);
}

/*
 * The one copy of the receive path: from the fragments of a packet to pages, page by page. A cursor
 * remembers the fragment of the next byte, so the fragments of a super-packet are walked once.
 */

/* Copy @n bytes of one fragment, from its byte @off on. -EFAULT: it is memory of a device. */
static int copy_frag(u8 *to, const skb_frag_t *frag, unsigned int off,
		     unsigned int n)
{
	struct page *page = skb_frag_page(frag);
	unsigned int len;
	const u8 *from;

	if (unlikely(!page))
		return -EFAULT;
	for (off += skb_frag_off(frag); n; to += len, off += len, n -= len) {
		len = min_t(unsigned int, n, PAGE_SIZE - offset_in_page(off));
		from = kmap_local_page(pavo_nth_page(page, off >> PAGE_SHIFT));
		memcpy(to, from + offset_in_page(off), len);
		kunmap_local(from);
	}
	return 0;
}

/* Copy bytes of the linear part, if the cursor is there. Return: how many. */
static unsigned int copy_head(u8 *to, const struct pavo_rx_bytes *bytes,
			      unsigned int n)
{
	unsigned int head = skb_headlen(bytes->skb);

	if (bytes->at >= head)
		return 0;
	n = min(n, head - bytes->at);
	memcpy(to, bytes->skb->data + bytes->at, n);
	return n;
}

static int copy_bytes(struct pavo_rx_bytes *bytes, u8 *to, unsigned int n)
{
	const struct skb_shared_info *info = skb_shinfo(bytes->skb);
	unsigned int len, off;

	len = copy_head(to, bytes, n);
	for (;;) {
		bytes->at += len;
		to += len;
		n -= len;
		if (!n)
			return 0;
		if (bytes->frag == info->nr_frags)
			return -EFAULT;
		off = bytes->at - bytes->start;
		len = min(n, skb_frag_size(&info->frags[bytes->frag]) - off);
		if (copy_frag(to, &info->frags[bytes->frag], off, len))
			return -EFAULT;
		if (off + len == skb_frag_size(&info->frags[bytes->frag]))
			bytes->start +=
				skb_frag_size(&info->frags[bytes->frag++]);
	}
}

struct pavo_rx_bytes pavo_rx_bytes_at(const struct sk_buff *skb,
				      unsigned int from)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	struct pavo_rx_bytes bytes = {
		.skb = skb,
		.at = from,
		.start = skb_headlen(skb),
	};

	while (bytes.frag < info->nr_frags &&
	       from >= bytes.start + skb_frag_size(&info->frags[bytes.frag]))
		bytes.start += skb_frag_size(&info->frags[bytes.frag++]);
	return bytes;
}

int pavo_rx_copy(struct pavo_rx_bytes *bytes, struct page *page,
		 unsigned int offset, unsigned int n)
{
	u8 *to = kmap_local_page(page);
	int err;

	if (unlikely(skb_has_frag_list(bytes->skb))) {
		err = skb_copy_bits(bytes->skb, bytes->at, to + offset, n);
		bytes->at += n;
	} else {
		err = copy_bytes(bytes, to + offset, n);
	}
	kunmap_local(to);
	flush_dcache_page(page);
	return err;
}
