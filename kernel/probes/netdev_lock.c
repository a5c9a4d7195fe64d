/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * NETDEV_LOCK_HEADER: the locks of interfaces have a header of their own
 */
#include <linux/netdevice.h>
#include <net/netdev_lock.h>

void probe(struct net_device *dev)
{
	netdev_lockdep_set_classes(dev);
}
