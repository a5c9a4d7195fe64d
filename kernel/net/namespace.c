// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * namespace.c - the network namespace of an adapter: that of its interface, as long as
 * it has one. Called by rx.c, guard.c and flow.c to find the adapter or namespace of an
 * interface, and by verbs/ to check that the caller is an administrator.
 */
#include <linux/capability.h>
#include <linux/if_vlan.h>
#include <net/net_namespace.h>
#include "device.h"
#include "net_private.h"

struct pavo_dev *pavo_dev_on(const struct net_device *ndev)
{
	struct pavo_dev *dev = pavo_dev_find(ndev);
	struct net_device *below;

	if (dev || !is_vlan_dev(ndev))
		return dev;
	below = vlan_dev_real_dev(ndev);
	/* A VLAN that was moved belongs to another namespace, as its addresses do. */
	if (!net_eq(dev_net(below), dev_net(ndev)))
		return NULL;
	return pavo_dev_find(below);
}

bool pavo_dev_owns(const struct pavo_dev *dev, const struct net_device *ndev)
{
	const struct net_device *own = rcu_dereference(dev->ndev);

	return own && net_eq(dev_net(own), dev_net(ndev));
}

bool pavo_net_admin(const struct pavo_dev *dev)
{
	const struct net_device *ndev;
	struct net *net = NULL;
	bool may;

	rcu_read_lock();
	ndev = rcu_dereference(dev->ndev);
	if (ndev)
		net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	if (!net)
		return capable(CAP_NET_ADMIN);
	may = ns_capable(net->user_ns, CAP_NET_ADMIN);
	put_net(net);
	return may;
}
