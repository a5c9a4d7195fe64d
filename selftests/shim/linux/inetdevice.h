/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* inetdevice.h - addresses of interfaces, by which the engine finds nothing. */
#ifndef PAVO_SHIM_INETDEVICE_H
#define PAVO_SHIM_INETDEVICE_H

#include <linux/netdevice.h>

struct in_device;

struct in_ifaddr {
	__be32 ifa_local;
};

#define __ip_dev_find(net, address, reference) \
	((void)(net), (struct net_device *)NULL)
#define __in_dev_get_rcu(ndev) ((void)(ndev), (struct in_device *)NULL)
#define in_dev_for_each_ifa_rcu(address, idev) \
	for ((address) = NULL; (address);)

#endif /* PAVO_SHIM_INETDEVICE_H */
