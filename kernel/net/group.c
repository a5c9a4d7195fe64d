// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * group.c - multicast groups of the IP layer. The interface of an adapter joins the groups that its
 * QPs are attached to, so that routers and switches forward the packets to this machine and the
 * network stack accepts them.
 *
 * Called by qp/mcast.c under RTNL.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/rtnetlink.h>
#include "compat.h"
#include "net/net.h"
#include "net_private.h"

static struct net_device *own_ndev(const struct pavo_port *port)
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

int pavo_net_join(const struct pavo_port *port, const struct in6_addr *gid)
{
	struct net_device *ndev = own_ndev(port);
	struct in_device *in_dev;

	if (!ndev)
		return -ENODEV;
	if (!ipv6_addr_v4mapped(gid))
		return pavo_net_group6(port->net, ndev, gid, true);
	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -EADDRNOTAVAIL;
	/* ip_mc_inc_group() does not report a failed allocation. */
	ip_mc_inc_group(in_dev, gid->s6_addr32[3]);
	return is_joined(in_dev, gid->s6_addr32[3]) ? 0 : -ENOMEM;
}

void pavo_net_leave(const struct pavo_port *port, const struct in6_addr *gid)
{
	struct net_device *ndev = own_ndev(port);
	struct in_device *in_dev;

	if (!ndev)
		return;
	if (!ipv6_addr_v4mapped(gid)) {
		pavo_net_group6(port->net, ndev, gid, false);
		return;
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (in_dev)
		ip_mc_dec_group(in_dev, gid->s6_addr32[3]);
}
