/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * NETNS_IMMUTABLE: a bit netns_immutable keeps an interface in its namespace
 * NETNS_LOCAL: a bit netns_local keeps an interface in its namespace
 * NETNS_FEATURE: a feature keeps an interface in its namespace
 */
#include <linux/netdevice.h>

void probe(struct net_device *dev)
{
#if defined(PAVO_HAS_NETNS_IMMUTABLE)
	dev->netns_immutable = true;
#elif defined(PAVO_HAS_NETNS_LOCAL)
	dev->netns_local = true;
#else
	dev->features |= NETIF_F_NETNS_LOCAL;
#endif
}
