// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * guard.c - drops packets that user sockets of this machine send to the RoCEv2 port.
 *
 * A receiver trusts an RDMA packet by its addresses, PSN and keys, so a process that may send any
 * packet by sendto() could write into connections of others. While the machine has an adapter,
 * packets of user sockets to that port are dropped on output, in every namespace and after all
 * other rules. Called by netfilter for each packet that this machine sends.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/ratelimit.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include "compat.h"
#include "stats.h"
#include "net/net.h"
#include "net_private.h"

#if IS_ENABLED(CONFIG_NETFILTER)

#define REFUSAL \
	"dropped a packet of uid %u to RDMA's UDP port %u; parameter allow_user_packets lets it pass\n"

static bool allow_user_packets;
module_param(allow_user_packets, bool, 0644);
MODULE_PARM_DESC(allow_user_packets,
		 "processes may send to UDP port 4791, for tests (N)");

/* True for a socket of a process. Kernel senders, such as rdma_rxe, have kernel sockets or none. */
static bool is_user_socket(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && !sk->sk_kern_sock;
}

/* Return the offset of the UDP header; -1: another protocol, or not the first fragment. */
static int find_udp4(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);

	if (ip->protocol != IPPROTO_UDP || ip->frag_off & htons(IP_OFFSET))
		return -1;
	return skb_network_offset(skb) + ip_hdrlen(skb);
}

#if IS_ENABLED(CONFIG_IPV6)
static int find_udp6(const struct sk_buff *skb)
{
	unsigned short fragment = 0;
	unsigned int offset = 0;

	if (ipv6_find_hdr(skb, &offset, IPPROTO_UDP, &fragment, NULL) < 0 ||
	    fragment)
		return -1;
	return offset;
}
#else
static int find_udp6(const struct sk_buff *skb)
{
	return -1;
}
#endif

static bool is_to_port(const struct sk_buff *skb, bool ipv6)
{
	int offset = ipv6 ? find_udp6(skb) : find_udp4(skb);
	const struct udphdr *udp;
	struct udphdr copy;

	if (offset < 0)
		return false;
	udp = skb_header_pointer(skb, offset, sizeof(copy), &copy);
	return udp && udp->dest == htons(PAVO_UDP_PORT);
}

static unsigned int check_user_packet(void *priv, struct sk_buff *skb,
				      const struct nf_hook_state *state)
{
	const struct pavo_port *port;
	uid_t uid;

	if (!is_user_socket(skb->sk) ||
	    !is_to_port(skb, state->pf == NFPROTO_IPV6) ||
	    !pavo_net_guarded() || READ_ONCE(allow_user_packets))
		return NF_ACCEPT;
	rcu_read_lock();
	port = state->out ? pavo_port_find_on(state->out) : NULL;
	if (port)
		pavo_stats_add(port->stats, tx_drop_user_socket, 1);
	rcu_read_unlock();
	uid = from_kuid(&init_user_ns, sock_net_uid(state->net, skb->sk));
	pr_notice_ratelimited(REFUSAL, uid, PAVO_UDP_PORT);
	return NF_DROP;
}

static const struct nf_hook_ops hooks[] = {
	{
		.hook = check_user_packet,
		.pf = NFPROTO_IPV4,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP_PRI_LAST,
	},
	{
		.hook = check_user_packet,
		.pf = NFPROTO_IPV6,
		.hooknum = NF_INET_LOCAL_OUT,
		.priority = NF_IP6_PRI_LAST,
	},
};

int pavo_guard_begin(struct net *net)
{
	return nf_register_net_hooks(net, hooks, ARRAY_SIZE(hooks));
}

void pavo_guard_end(struct net *net)
{
	nf_unregister_net_hooks(net, hooks, ARRAY_SIZE(hooks));
}

#else /* a kernel without netfilter */

int pavo_guard_begin(struct net *net)
{
	return 0;
}

void pavo_guard_end(struct net *net)
{
}

#endif
