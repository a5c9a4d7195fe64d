// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Packets that look like those which adapters of one machine exchange without an ICRC. A tunnel, tc
 * or BPF of a tenant can give a packet all of this but the authentication of its metadata.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <rdma/ib_cache.h>
#include "kverbs.h"

#define ROCE_PORT 4791
#define RC_WRITE_ONLY 0x0a
#define HEADERS (12 + 16) /* BTH, RETH */
#define PAYLOAD 64
#define ICRC 4
#define METADATA 32

/* The kinds of segmentation that packets without an ICRC have (kernel/net/net_private.h). */
static const unsigned int kinds[] = {
	SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP,
	SKB_GSO_UDP_TUNNEL | SKB_GSO_SCTP | SKB_GSO_ESP,
};

static void put_be(struct sk_buff *skb, u64 value, int bytes)
{
	while (bytes--)
		skb_put_u8(skb, value >> (8 * bytes));
}

/* A write of PAYLOAD bytes to the target's region, with right numbers. */
static void put_write(struct pair *p, struct sk_buff *skb)
{
	put_be(skb, RC_WRITE_ONLY, 1);
	put_be(skb, 0x40, 1);
	put_be(skb, 0xffff, 2);
	put_be(skb, p->b.qp->qp_num, 4);
	put_be(skb, 0, 4); /* the PSN that B expects */
	put_be(skb, p->t.mr->iova, 8);
	put_be(skb, p->t.mr->rkey, 4);
	put_be(skb, PAYLOAD, 4);
	memset(skb_put(skb, PAYLOAD), 0xbd, PAYLOAD);
	skb_put_zero(skb, ICRC + METADATA);
}

static void push_headers(struct pair *p, struct sk_buff *skb,
			 struct net_device *ndev)
{
	struct udphdr *udp = skb_push(skb, sizeof(*udp));
	struct iphdr *ip;
	__be32 address;

	memcpy(&address, p->gid.raw + 12, sizeof(address));
	*udp = (struct udphdr){
		.source = htons(0xc123),
		.dest = htons(ROCE_PORT),
		.len = htons(skb->len),
	};
	skb_reset_transport_header(skb);
	ip = skb_push(skb, sizeof(*ip));
	*ip = (struct iphdr){
		.version = 4,
		.ihl = 5,
		.ttl = 64,
		.protocol = IPPROTO_UDP,
		.tot_len = htons(skb->len),
		.saddr = address,
		.daddr = address,
	};
	ip_send_check(ip);
	skb_reset_network_header(skb);
	eth_header(skb, ndev, ETH_P_IP, ndev->dev_addr, ndev->dev_addr,
		   skb->len);
}

/* Have the interface of the device receive such a packet. */
static int receive_forged(struct pair *p, struct net_device *ndev,
			  unsigned int kind)
{
	struct sk_buff *skb = alloc_skb(512, GFP_KERNEL);

	if (!skb)
		return -ENOMEM;
	skb_reserve(skb, 128);
	skb_set_inner_protocol(skb, htons(ETH_P_IBOE));
	skb->encapsulation = 1;
	put_write(p, skb);
	push_headers(p, skb, ndev);
	skb_shinfo(skb)->gso_type = kind;
	skb_shinfo(skb)->gso_size = PAYLOAD;
	skb_shinfo(skb)->gso_segs = 1;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->dev = ndev;
	skb->protocol = eth_type_trans(skb, ndev);
	local_bh_disable();
	netif_receive_skb(skb);
	local_bh_enable();
	return 0;
}

int test_forged(struct pair *p)
{
	const struct ib_gid_attr *gid =
		rdma_get_gid_attr(p->ib, 1, p->gid_index);
	struct net_device *ndev;
	unsigned int i;
	int err = 0;

	if (IS_ERR(gid))
		return PTR_ERR(gid);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(gid);
	if (!IS_ERR(ndev))
		dev_hold(ndev);
	rcu_read_unlock();
	rdma_put_gid_attr(gid);
	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	TRY(must_reg(p));
	fill_target(&p->t, 5);
	for (i = 0; !err && i < ARRAY_SIZE(kinds); i++)
		err = receive_forged(p, ndev, kinds[i]);
	dev_put(ndev);
	TRY(err);
	CHECK(target_is(&p->t, 5));
	/* The connection is as it was. */
	fill(p->a.buffer, p->t.bytes, 3);
	TRY(post_rdma(p, IB_WR_RDMA_WRITE, 1, p->t.mr->iova, p->t.mr->rkey,
		      p->t.bytes));
	TRY(expect(&p->a, 1, IB_WC_SUCCESS));
	CHECK(target_is(&p->t, 3));
	return 0;
}
