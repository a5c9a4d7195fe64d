/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* dst.h - the one route of the engine, with the number of its references. */
#ifndef PAVO_SHIM_DST_H
#define PAVO_SHIM_DST_H

#include <linux/netdevice.h>

struct dst_entry {
	struct net_device *dev;
	int references;
};

/* A sent packet is gone, so none holds a route. */
#define skb_dst(skb) ((void)(skb), (struct dst_entry *)NULL)

static inline void dst_release(struct dst_entry *dst)
{
	if (dst)
		dst->references--;
}

#endif /* PAVO_SHIM_DST_H */
