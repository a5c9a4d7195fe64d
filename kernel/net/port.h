/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.h - the port of an adapter, the part of the adapter that net/ accesses.
 */
#ifndef PAVO_PORT_H
#define PAVO_PORT_H

#include <linux/list.h>
#include <linux/netdevice.h>

struct ib_device;
struct pavo_stats;

/**
 * struct pavo_port - the port of an adapter.
 * @ib:           its RDMA device, whose GIDs are the addresses of the port
 * @stats:        counters of the adapter
 * @ndev:         its interface, under RCU; NULL after that was unregistered. @net may have been
 *                freed then
 * @ndev_tracker: tracks the reference to @ndev
 * @net:          namespace of the interface; the adapter has a reference to its sockets
 * @node:         in the table of ports (port.c)
 * @number:       id of the port in this machine; 0: not published
 * @joined:       multicast groups that @ndev is a member of for this adapter (group.c); under RTNL
 */
struct pavo_port {
	struct ib_device *ib;
	const struct pavo_stats *stats;
	struct net_device __rcu *ndev;
	netdevice_tracker ndev_tracker;
	struct net *net;
	struct hlist_node node;
	u32 number;
	struct hlist_head joined;
};

/** pavo_port_find - find the port on an interface; NULL: none. RCU read side. */
struct pavo_port *pavo_port_find(const struct net_device *ndev);

/** pavo_port_numbered - find a port by its number; NULL: none. RCU read side. */
struct pavo_port *pavo_port_numbered(u32 number);

/**
 * pavo_port_publish - enter @port in the tables by interface and by number. The caller serializes.
 * @port: the port
 * @ndev: its interface
 *
 * Without memory the port gets no number, so its packets have no sender in their metadata, and its
 * queue pairs have no same-host peers.
 */
void pavo_port_publish(struct pavo_port *port, const struct net_device *ndev);
/** pavo_port_forget - remove a port from the tables; does nothing if it is not published. */
void pavo_port_forget(struct pavo_port *port);

/**
 * pavo_port_admin - true if the caller has CAP_NET_ADMIN in the namespace of the interface; without
 * an interface, in the initial namespace.
 * @port: the port
 *
 * Context: process.
 */
bool pavo_port_admin(const struct pavo_port *port);

#endif /* PAVO_PORT_H */
