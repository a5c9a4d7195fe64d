/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* netdevice.h - the interface below the adapter: it has an MTU and nothing more. */
#ifndef PAVO_SHIM_NETDEVICE_H
#define PAVO_SHIM_NETDEVICE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

struct dst_entry;
struct flowi6;
struct net;
struct sock;

struct net_device {
	unsigned int mtu;
	unsigned int flags;
	int ifindex;
};

/* It is neither a loopback interface nor below another one. */
struct netdev_nested_priv {
	void *data;
};

#define IFF_LOOPBACK (1u << 3)
#define dev_net(ndev) ((void)(ndev), (struct net *)NULL)
#define dev_get_by_index_rcu(net, index) \
	((void)(net), (void)(index), (struct net_device *)NULL)
#define netif_is_l3_master(ndev) ((void)(ndev), false)
#define netdev_walk_all_lower_dev_rcu(ndev, call, priv) \
	((void)(call), (void)(priv))

typedef struct {
	int unused;
} netdevice_tracker;

#endif /* PAVO_SHIM_NETDEVICE_H */
