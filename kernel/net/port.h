/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * port.h - the port of an adapter: all that net/ knows of it.
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
 * @stats:        its counters
 * @ndev:         its interface; set to NULL (RCU) when that goes away. From then on @net may be
 *                gone, too
 * @ndev_tracker: of the reference to @ndev
 * @net:          namespace of the interface; the adapter holds its sockets
 * @node:         in the table of ports (port.c)
 * @number:       of the port, in this machine; 0: not published
 */
struct pavo_port {
	struct ib_device *ib;
	const struct pavo_stats *stats;
	struct net_device __rcu *ndev;
	netdevice_tracker ndev_tracker;
	struct net *net;
	struct hlist_node node;
	u32 number;
};

/** pavo_port_find - the port on an interface, NULL if none; RCU read side. */
struct pavo_port *pavo_port_find(const struct net_device *ndev);

/** pavo_port_numbered - the port with a number, NULL if none; RCU read side. */
struct pavo_port *pavo_port_numbered(u32 number);

/**
 * pavo_port_publish - let packets find @port by its interface, and loans by its number. The
 * caller serializes.
 * @port: the port
 * @ndev: its interface
 *
 * Without memory it stays without a number, and makes no loans.
 */
void pavo_port_publish(struct pavo_port *port, const struct net_device *ndev);
/** pavo_port_forget - the opposite; also allowed for a port that was never published. */
void pavo_port_forget(struct pavo_port *port);

/**
 * pavo_port_admin - may the caller manage the network of an adapter? It needs CAP_NET_ADMIN in
 * the namespace of the interface; without an interface, in the initial namespace.
 * @port: the port
 *
 * Context: process.
 */
bool pavo_port_admin(const struct pavo_port *port);

#endif /* PAVO_PORT_H */
