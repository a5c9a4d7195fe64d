/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* netdevice.h - the interface below the adapter: it has an MTU and nothing more. */
#ifndef PAVO_ENGINE_LINUX_NETDEVICE_H
#define PAVO_ENGINE_LINUX_NETDEVICE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

struct dst_entry;
struct flowi6;
struct net;
struct sock;

struct net_device {
	unsigned int mtu;
};

typedef struct {
	int unused;
} netdevice_tracker;

#endif /* PAVO_ENGINE_LINUX_NETDEVICE_H */
