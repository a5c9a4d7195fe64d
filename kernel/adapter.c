// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * adapter.c - the table of adapters by their interfaces.
 *
 * Read by net/ for each packet, under RCU; changed by main.c.
 */
#include <linux/hashtable.h>
#include "adapter.h"

static DEFINE_HASHTABLE(adapters, 6);

struct pavo_dev *pavo_dev_find(const struct net_device *ndev)
{
	struct pavo_dev *dev;

	hash_for_each_possible_rcu(adapters, dev, node, (unsigned long)ndev) {
		if (rcu_access_pointer(dev->ndev) == ndev)
			return dev;
	}
	return NULL;
}

void pavo_dev_publish(struct pavo_dev *dev, const struct net_device *ndev)
{
	hash_add_rcu(adapters, &dev->node, (unsigned long)ndev);
}

void pavo_dev_forget(struct pavo_dev *dev)
{
	if (hash_hashed(&dev->node))
		hash_del_rcu(&dev->node);
}
