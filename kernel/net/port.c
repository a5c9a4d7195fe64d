// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * port.c - the table of ports by interface, and the network namespace of a port: that of its
 * interface, as long as it has one.
 *
 * main.c changes the table. rx.c, guard.c and flow.c look up the port or namespace of an interface
 * for each packet, under RCU; verbs/ checks whether the caller is an administrator.
 */
#include <linux/capability.h>
#include <linux/hashtable.h>
#include <linux/if_vlan.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include "net_private.h"

struct hlist_head pavo_ports[1 << PAVO_PORTS_BITS];
static DEFINE_XARRAY_ALLOC1(numbers);

struct pavo_port *pavo_port_find(const struct net_device *ndev)
{
	return pavo_port_lookup(ndev);
}

struct pavo_port *pavo_port_numbered(u32 number)
{
	return xa_load(&numbers, number);
}

void pavo_port_publish(struct pavo_port *port, const struct net_device *ndev)
{
	if (xa_alloc(&numbers, &port->number, port, xa_limit_31b, GFP_KERNEL))
		port->number = 0;
	hash_add_rcu(pavo_ports, &port->node, (unsigned long)ndev);
}

void pavo_port_forget(struct pavo_port *port)
{
	if (!hash_hashed(&port->node))
		return;
	hash_del_rcu(&port->node);
	if (port->number)
		xa_erase(&numbers, port->number);
}

struct pavo_port *pavo_port_below(const struct net_device *vlan)
{
	const struct net_device *below = vlan_dev_real_dev(vlan);

	/* A VLAN that was moved, and its addresses, belong to another namespace. */
	if (!net_eq(dev_net(below), dev_net(vlan)))
		return NULL;
	return pavo_port_find(below);
}

bool pavo_port_owns(const struct pavo_port *port, const struct net_device *ndev)
{
	const struct net_device *own = rcu_dereference(port->ndev);

	return own && net_eq(dev_net(own), dev_net(ndev));
}

bool pavo_port_admin(const struct pavo_port *port)
{
	const struct net_device *ndev;
	struct net *net = NULL;
	bool may;

	rcu_read_lock();
	ndev = rcu_dereference(port->ndev);
	if (ndev)
		net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	if (!net)
		return capable(CAP_NET_ADMIN);
	may = ns_capable(net->user_ns, CAP_NET_ADMIN);
	put_net(net);
	return may;
}
