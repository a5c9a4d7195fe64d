// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * flow.c - flows: resolve an address vector into addresses, port and route.
 *
 * Called by control/ (connected QPs), by the requester for datagrams, by window/ for routes to
 * nodes, and by tx.c for the route of each packet. Owns the reference to the source GID and
 * the cached routes.
 */
#include <linux/hash.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/udp.h>
#include <net/inet_dscp.h>
#include <net/ip6_route.h>
#include <net/route.h>
#include <net/sock.h>
#include <rdma/ib_cache.h>
#include <rdma/pavo-abi.h>
#include "compat.h"
#include "net/net.h"
#include "net_private.h"

static bool trust_namespaces;
module_param(trust_namespaces, bool, 0644);
MODULE_PARM_DESC(trust_namespaces,
		 "attach pages to packets to other network namespaces (N)");

/* May packets of this family be sent to @daddr? */
static bool is_valid_daddr(const struct in6_addr *daddr, bool ipv6)
{
	if (ipv6)
		return !ipv6_addr_v4mapped(daddr) && !ipv6_addr_any(daddr);
	return ipv6_addr_v4mapped(daddr) && daddr->s6_addr32[3];
}

/* Set the fields that depend on the source GID; RCU read side. */
static int take_sgid(struct pavo_flow *flow)
{
	const struct ib_gid_attr *sgid = flow->sgid;
	struct net_device *ndev;

	if (sgid->gid_type != IB_GID_TYPE_ROCE_UDP_ENCAP)
		return -EINVAL;
	ndev = rdma_read_gid_attr_ndev_rcu(sgid);
	/* The GID table also has the GIDs of VLANs that were moved to another namespace. */
	if (IS_ERR(ndev) || !pavo_port_owns(flow->port, ndev))
		return -EINVAL;

	memcpy(&flow->saddr, sgid->gid.raw, sizeof(flow->saddr));
	flow->ipv6 = !ipv6_addr_v4mapped(&flow->saddr);
	flow->headroom =
		LL_RESERVED_SPACE(ndev) + sizeof(struct udphdr) +
		(flow->ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	return 0;
}

/*
 * Compute skb->priority: the service level, or, where that is 0, the priority that IP gives the
 * traffic class. Queueing disciplines use it, and VLANs map it to the PCP of a frame.
 */
static u8 choose_priority(const struct rdma_ah_attr *attr)
{
	u8 level = rdma_ah_get_sl(attr);

	return level ?: rt_tos2priority(rdma_ah_read_grh(attr)->traffic_class);
}

int pavo_flow_init(struct pavo_flow *flow, const struct pavo_port *port,
		   const struct rdma_ah_attr *attr, u32 lqpn, u32 rqpn,
		   bool cached)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	int err;

	memset(flow, 0, sizeof(*flow));
	flow->port = port;
	flow->traffic_class = grh->traffic_class;
	flow->hop_limit = grh->hop_limit;
	flow->priority = choose_priority(attr);
	flow->flow_label = grh->flow_label & PAVO_FLOW_LABEL;
	flow->sport = htons(rdma_get_udp_sport(flow->flow_label, lqpn, rqpn));
	memcpy(&flow->daddr, grh->dgid.raw, sizeof(flow->daddr));

	flow->sgid = rdma_get_gid_attr(port->ib, PAVO_PORT, grh->sgid_index);
	if (IS_ERR(flow->sgid)) {
		flow->sgid = NULL;
		return -EINVAL;
	}

	rcu_read_lock();
	err = take_sgid(flow);
	rcu_read_unlock();
	if (!err && !is_valid_daddr(&flow->daddr, flow->ipv6))
		err = -EINVAL;
	if (!err && cached)
		err = dst_cache_init(&flow->cache, GFP_KERNEL_ACCOUNT);
	if (err) {
		rdma_put_gid_attr(flow->sgid);
		flow->sgid = NULL;
		return err;
	}
	flow->cached = cached;
	return 0;
}

void pavo_flow_destroy(struct pavo_flow *flow)
{
	if (flow->cached)
		dst_cache_destroy(&flow->cache);
	flow->cached = false;
	if (flow->sgid)
		rdma_put_gid_attr(flow->sgid);
	flow->sgid = NULL;
}

static struct dst_entry *find_route4(struct pavo_flow *flow,
				     struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct flowi4 fl = {};
	struct rtable *rt;

	flowi4_init_output(&fl, ndev->ifindex, 0,
			   flow->traffic_class & INET_DSCP_MASK,
			   RT_SCOPE_UNIVERSE, IPPROTO_UDP, 0,
			   flow->daddr.s6_addr32[3], flow->saddr.s6_addr32[3],
			   htons(PAVO_UDP_PORT), flow->sport,
			   sock_net_uid(net, NULL));
	rt = ip_route_output_key(net, &fl);
	if (IS_ERR(rt))
		return NULL;
	/* RDMA has no broadcast, and the right of the user to send one was not checked. */
	if (rt->rt_flags & RTCF_BROADCAST) {
		ip_rt_put(rt);
		return NULL;
	}
	return &rt->dst;
}

static struct dst_entry *find_route6(struct pavo_flow *flow,
				     struct net_device *ndev)
{
	struct net *net = dev_net(ndev);
	struct flowi6 fl = {
		.flowi6_oif = ndev->ifindex,
		.flowi6_proto = IPPROTO_UDP,
		.flowi6_uid = sock_net_uid(net, NULL),
		.flowlabel = ip6_make_flowinfo(flow->traffic_class,
					       htonl(flow->flow_label)),
		.saddr = flow->saddr,
		.daddr = flow->daddr,
		.fl6_dport = htons(PAVO_UDP_PORT),
		.fl6_sport = flow->sport,
	};
	struct dst_entry *dst;

	dst = pavo_ip6_find_route(net, &fl);
	return IS_ERR(dst) ? NULL : dst;
}

/* Find the interface of the adapter, or a VLAN of it, with the source address; RCU. */
static struct net_device *find_own(const struct pavo_flow *flow)
{
	struct net_device *own = rcu_dereference(flow->port->ndev), *ndev;

	if (!own)
		return NULL;
	ndev = flow->ipv6 ? pavo_ip6_dev_find(dev_net(own), &flow->saddr) :
			    __ip_dev_find(dev_net(own),
					  flow->saddr.s6_addr32[3], false);
	if (ndev == own ||
	    (ndev && is_vlan_dev(ndev) && vlan_dev_real_dev(ndev) == own))
		return ndev;
	return NULL;
}

static struct dst_entry *find_route(struct pavo_flow *flow)
{
	struct dst_entry *dst = NULL;
	struct net_device *ndev;

	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(flow->sgid);
	/*
	 * The GID entry of an address that was removed stays invalid. If the address is added
	 * again (IPv6 addresses are with the link), it gets a new entry, which to connected QPs is
	 * the same GID.
	 */
	if (IS_ERR(ndev))
		ndev = find_own(flow);
	/* The interface may have been moved to another namespace since. */
	if (ndev && pavo_port_owns(flow->port, ndev))
		dst = flow->ipv6 ? find_route6(flow, ndev) :
				   find_route4(flow, ndev);
	rcu_read_unlock();
	return dst;
}

#if IS_ENABLED(CONFIG_IPV6)
static void cache_route6(struct pavo_flow *flow, struct dst_entry *dst)
{
	dst_cache_set_ip6(&flow->cache, dst, &flow->saddr);
}
#else
static void cache_route6(struct pavo_flow *flow, struct dst_entry *dst)
{
}
#endif

struct dst_entry *pavo_flow_find_route(struct pavo_flow *flow)
{
	struct dst_entry *dst = find_route(flow);

	if (!dst || !flow->cached)
		return dst;
	if (flow->ipv6)
		cache_route6(flow, dst);
	else
		dst_cache_set_ip4(&flow->cache, dst, flow->saddr.s6_addr32[3]);
	return dst;
}

/* True if the destination is an adapter of this namespace. RCU read side. */
static bool has_local_destination(const struct pavo_flow *flow, struct net *net)
{
	const struct net_device *ndev =
		flow->ipv6 ?
			pavo_ip6_dev_find(net, &flow->daddr) :
			__ip_dev_find(net, flow->daddr.s6_addr32[3], false);

	return ndev && pavo_port_find_on(ndev);
}

void pavo_flow_connect(struct pavo_flow *flow, const void *user)
{
	const struct net_device *own;

	rcu_read_lock();
	own = rcu_dereference(flow->port->ndev);
	flow->local = own && has_local_destination(flow, dev_net(own));
	rcu_read_unlock();
	flow->share = hash_ptr(user, ilog2(PAVO_USER_SHARES));
}

bool pavo_flow_loops(const struct dst_entry *dst)
{
	return dst && dst->dev->flags & IFF_LOOPBACK;
}

/* True if @ndev is a veth whose peer is the interface of an adapter of the same namespace. */
static bool leads_to_adapter(const struct net_device *ndev)
{
	const struct net_device_ops *ops = ndev->netdev_ops;
	const struct net_device *peer;

	if (!ops->ndo_get_peer_dev)
		return false;
	peer = ops->ndo_get_peer_dev((struct net_device *)ndev);
	return peer && net_eq(dev_net(peer), dev_net(ndev)) &&
	       pavo_port_find(peer);
}

/* True if packets with attached pages may be sent to @ndev. RCU read side. */
static bool may_have_pages(const struct pavo_flow *flow,
			   const struct net_device *ndev)
{
	if (flow->local && ndev->flags & IFF_LOOPBACK)
		return true;
	if (is_vlan_dev(ndev))
		ndev = vlan_dev_real_dev(ndev);
	/* Only an interface of hardware has a parent: the device on its bus. */
	if (ndev->dev.parent)
		return true;
	return flow->local && leads_to_adapter(ndev);
}

bool pavo_flow_attaches(const struct pavo_flow *flow,
			const struct dst_entry *dst)
{
	bool may;

	if (READ_ONCE(trust_namespaces))
		return true;
	if (!dst)
		return false;
	rcu_read_lock();
	may = may_have_pages(flow, dst->dev);
	rcu_read_unlock();
	return may;
}
