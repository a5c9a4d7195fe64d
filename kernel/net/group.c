// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group.c - multicast groups of the IP layer. The interface of an adapter joins the groups of the
 * adapter's QPs and windows, so that routers and switches forward the packets to this machine and
 * the network stack accepts them.
 *
 * Called by qp/mcast.c and window/window_group.c under RTNL. The interface itself joins: a socket's
 * groups are bounded by its option memory, and all adapters of a namespace have one socket.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/addrconf.h>
#include <net/route.h>
#include "net/net.h"
#include "net_private.h"

/**
 * struct joined_group - a group that the interface of a port has joined.
 * @node:  in the port's list
 * @gid:   the group
 * @users: pavo_net_join() without pavo_net_leave()
 */
struct joined_group {
	struct hlist_node node;
	struct in6_addr gid;
	u32 users;
};

static struct net_device *find_own_ndev(const struct pavo_port *port)
{
	return rcu_dereference_protected(port->ndev, lockdep_rtnl_is_held());
}

static bool is_joined(const struct in_device *in_dev, __be32 group)
{
	const struct ip_mc_list *list = rtnl_dereference(in_dev->mc_list);

	while (list && list->multiaddr != group)
		list = rtnl_dereference(list->next_rcu);
	return list;
}

#if IS_ENABLED(CONFIG_IPV6)
static int join_ip6(struct net_device *ndev, const struct in6_addr *gid)
{
	if (!__in6_dev_get(ndev))
		return -EADDRNOTAVAIL;
	return ipv6_dev_mc_inc(ndev, gid);
}

static void leave_ip6(struct net_device *ndev, const struct in6_addr *gid)
{
	ipv6_dev_mc_dec(ndev, gid);
}
#else
static int join_ip6(struct net_device *ndev, const struct in6_addr *gid)
{
	return -EAFNOSUPPORT;
}

static void leave_ip6(struct net_device *ndev, const struct in6_addr *gid)
{
}
#endif

static int join_ip(struct net_device *ndev, const struct in6_addr *gid)
{
	struct in_device *in_dev;

	if (!ipv6_addr_v4mapped(gid))
		return join_ip6(ndev, gid);
	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -EADDRNOTAVAIL;
	/* ip_mc_inc_group() does not report a failed allocation. */
	ip_mc_inc_group(in_dev, gid->s6_addr32[3]);
	return is_joined(in_dev, gid->s6_addr32[3]) ? 0 : -ENOMEM;
}

static void leave_ip(struct net_device *ndev, const struct in6_addr *gid)
{
	struct in_device *in_dev;

	if (!ipv6_addr_v4mapped(gid)) {
		leave_ip6(ndev, gid);
		return;
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (in_dev)
		ip_mc_dec_group(in_dev, gid->s6_addr32[3]);
}

static struct joined_group *find_joined(const struct pavo_port *port,
					const struct in6_addr *gid)
{
	struct joined_group *group;

	ASSERT_RTNL();
	hlist_for_each_entry(group, &port->joined, node) {
		if (ipv6_addr_equal(&group->gid, gid))
			return group;
	}
	return NULL;
}

static void forget_joined(struct pavo_port *port, struct joined_group *group)
{
	struct net_device *ndev = find_own_ndev(port);

	if (ndev)
		leave_ip(ndev, &group->gid);
	hlist_del(&group->node);
	kfree(group);
}

int pavo_net_join(struct pavo_port *port, const struct in6_addr *gid)
{
	struct joined_group *group = find_joined(port, gid);
	struct net_device *ndev = find_own_ndev(port);
	int err;

	if (group) {
		group->users++;
		return 0;
	}
	if (!ndev)
		return -ENODEV;
	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return -ENOMEM;
	err = join_ip(ndev, gid);
	if (err) {
		kfree(group);
		return err;
	}
	group->gid = *gid;
	group->users = 1;
	hlist_add_head(&group->node, &port->joined);
	return 0;
}

void pavo_net_leave(struct pavo_port *port, const struct in6_addr *gid)
{
	struct joined_group *group = find_joined(port, gid);

	if (group && !--group->users)
		forget_joined(port, group);
}

void pavo_net_leave_all(struct pavo_port *port)
{
	struct joined_group *group;
	struct hlist_node *next;

	ASSERT_RTNL();
	hlist_for_each_entry_safe(group, next, &port->joined, node)
		forget_joined(port, group);
}

bool pavo_net_is_broadcast(const struct pavo_port *port,
			   const struct in6_addr *gid)
{
	const struct net_device *ndev;
	bool broadcast = false;

	if (!ipv6_addr_v4mapped(gid))
		return false;
	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	if (ndev)
		broadcast = inet_addr_type(dev_net(ndev), gid->s6_addr32[3]) ==
			    RTN_BROADCAST;
	rcu_read_unlock();
	return broadcast;
}
